"""What models are told of the workbench's tools, as plain data: nothing here runs.

In one place, since a small model chooses by these words alone: the benchmark
of its choice and the tools that ship must not differ in a letter. The examples
are what people say, spelled as ears write it ("notes.txt" and "notes dot txt"
both), and show what is easily mixed up: names of files (glob) and text inside
them (grep), a page whose address is given (web_fetch) and anything else online
(web_search). Every example costs half a second of reading, once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from vivavoce.runtime.ports import ToolExample


@dataclass(frozen=True, slots=True)
class Wording:
    description: str
    examples: tuple[ToolExample, ...]
    parameters: Mapping[str, str] = field(default_factory=dict)
    """What is told of those whose name does not say it."""


WORDING: Mapping[str, Wording] = {
    "read_file": Wording(
        "Read a file that is named.",
        (
            ToolExample("What does utils dot py do?", {"path": "utils.py"}, "def clamp(x): …"),
            ToolExample("What's in settings.ini?", {"path": "settings.ini"}, "[server] …"),
            ToolExample("Bring up draft dot text.", {"path": "draft.txt"}, "Dear all, …"),
            ToolExample("Let me hear the install notes.", {"path": "INSTALL.md"}, "# Installing …"),
        ),
    ),
    "glob": Wording(
        "List the files of a folder, or files by name or type.",
        (
            ToolExample("Find all the Rust files.", {"pattern": "**/*.rs"}, "src/main.rs"),
            ToolExample(
                "What is in the assets folder?",
                {"pattern": "*", "path": "assets"},
                "assets/logo.svg",
            ),
            ToolExample(
                "Is there a file called index dot js?", {"pattern": "**/index.js"}, "web/index.js"
            ),
            ToolExample("Where are the log files?", {"pattern": "**/*.log"}, "var/app.log"),
            ToolExample(
                "List what files there are in the fonts folder.",
                {"pattern": "*", "path": "fonts"},
                "fonts/inter.woff2",
            ),
        ),
        {"pattern": "* is all, or such as **/*.py", "path": "folder to look in"},
    ),
    "grep": Wording(
        "Find a word or text inside files.",
        (
            ToolExample(
                "Where is load model used?",
                {"pattern": "load_model"},
                "src/app.py:9:load_model(path)",
            ),
            ToolExample(
                "Which files mention Kafka in the lib folder?",
                {"pattern": "Kafka", "path": "lib"},
                "lib/bus.py:3:# Kafka",
            ),
            ToolExample(
                "Find the text disk full in the code.",
                {"pattern": "disk full"},
                'src/disk.py:40:    raise OSError("disk full")',
            ),
            ToolExample(
                "Where is the class Invoice?",
                {"pattern": "class Invoice"},
                "src/bill.py:12:class Invoice:",
            ),
            ToolExample(
                "Find each place where we import pandas.",
                {"pattern": "import pandas"},
                "src/table.py:1:import pandas as pd",
            ),
            ToolExample(
                "Search for the string no route in the lib folder.",
                {"pattern": "no route", "path": "lib"},
                'lib/net.py:7:    raise OSError("no route")',
            ),
        ),
        {"pattern": "the text", "path": "folder to look in"},
    ),
    "write_file": Wording(
        "Create a file with the given content.",
        (
            ToolExample(
                "Write feed the cat into chores dot txt.",
                {"path": "chores.txt", "content": "feed the cat"},
                "Wrote 12 characters to chores.txt.",
            ),
            ToolExample(
                "Save the text release 7 to release.txt.",
                {"path": "release.txt", "content": "release 7"},
                "Wrote 9 characters to release.txt.",
            ),
            ToolExample(
                "Make a new file colors.md with the word teal in it.",
                {"path": "colors.md", "content": "teal"},
                "Wrote 4 characters to colors.md.",
            ),
        ),
        {"content": "word for word"},
    ),
    "edit_file": Wording(
        "Replace one text by another in a file.",
        (
            ToolExample(
                "In app dot css change red to blue.",
                {"path": "app.css", "old_string": "red", "new_string": "blue"},
                "Replaced 1 place in app.css.",
            ),
            ToolExample(
                "Change the speed from 3 to 5 in robot.toml.",
                {"path": "robot.toml", "old_string": "3", "new_string": "5"},
                "Replaced 1 place in robot.toml.",
            ),
        ),
    ),
    "bash": Wording(
        "Run a shell command or program.",
        (
            ToolExample("What changed in git?", {"command": "git diff"}, "+ a new line"),
            ToolExample("Show me the newest commit.", {"command": "git log -1"}, "a1b2c3 Fix"),
            ToolExample("How much memory is free?", {"command": "free -h"}, "Mem: 15Gi"),
            ToolExample("Start the formatter with black.", {"command": "black ."}, "All done!"),
            ToolExample("Is Node installed?", {"command": "node --version"}, "v22.12.0"),
        ),
    ),
    "web_search": Wording(
        "Search the web for news, weather, prices, current facts.",
        (
            ToolExample(
                "What is new in space travel?",
                {"query": "space travel news"},
                "1. A rocket that lands …",
            ),
            ToolExample(
                "How did the Lakers play yesterday?",
                {"query": "Lakers game yesterday"},
                "1. Lakers win …",
            ),
        ),
    ),
    "web_fetch": Wording(
        "Read a web page or website whose address is given.",
        (
            ToolExample(
                "What is on the website bbc dot com?", {"url": "https://bbc.com"}, "BBC Home …"
            ),
            ToolExample("Summarize the website nasa.gov.", {"url": "https://nasa.gov"}, "NASA …"),
        ),
    ),
    "task": Wording(
        "Hand a big job to an agent: a feature, a refactoring, a review, an investigation.",
        (
            ToolExample(
                "Build a small chess game.",
                {"instruction": "build a small chess game"},
                "Started: task_7",
            ),
            ToolExample(
                "Have somebody look into the memory leak.",
                {"instruction": "look into the memory leak"},
                "Started: task_8",
            ),
        ),
    ),
}
