"""Spoken requests for the tools of a workbench, with what a good brain does about each.

Our own words, as people say them: file names spelled with "dot" and "slash",
polite detours, and chit-chat in between. The wording of the brain's prompt was
found with these; `requests_fresh` has more, which were held back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from vivavoce.runtime.ports import ToolDefinition
from vivavoce.tools.wording import WORDING

Verdict = Literal["right", "wrong tool", "wrong arguments", "no call", "needless call"]


@dataclass(frozen=True, slots=True)
class Want:
    """A call that would do. Of each argument one of the texts must be in it."""

    tool: str
    arguments: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Request:
    said: str
    wants: tuple[Want, ...] = ()
    """Any of them is right; none means that no tool is wanted."""


def judge(request: Request, calls: Sequence[tuple[str, Any]], words: str) -> Verdict:
    """`calls` are names with their arguments, `words` what was said beside them."""
    if not request.wants:
        return "needless call" if calls else ("right" if words.strip() else "no call")
    if not calls:
        return "no call"
    if not all(any(name == want.tool for want in request.wants) for name, _ in calls):
        return "wrong tool"
    good = all(any(_fits(want, name, given) for want in request.wants) for name, given in calls)
    return "right" if good else "wrong arguments"


def _fits(want: Want, name: str, given: Any) -> bool:
    if name != want.tool or not isinstance(given, Mapping):
        return False
    return all(
        any(_says(str(given.get(key, "")), text) for text in texts)
        for key, texts in want.arguments.items()
    )


def _says(value: str, text: str) -> bool:
    """`=*` is exactly that; otherwise it need only be in it."""
    return value == text[1:] if text.startswith("=") else plain(text) in plain(value)


def plain(text: str) -> str:
    """As it sounds: case, quotes, spaces and spelled-out dots and slashes do not count."""
    text = re.sub(r"\s+dot\s+", ".", text.lower())
    text = re.sub(r"\s+slash\s+", "/", text)
    return re.sub(r"[\s'\"`_-]+", "", text)


def _tool(name: str, required: str, optional: str = "") -> tuple[str, str, dict[str, Any]]:
    """In the words of the tools that ship; none of their examples is a request."""
    wording = WORDING[name]
    about = wording.parameters
    schema = {
        "type": "object",
        "properties": {
            name: {"type": "string"} | ({"description": about[name]} if name in about else {})
            for name in (*required.split(), *optional.split())
        },
        "required": required.split(),
        "additionalProperties": False,
    }
    definition = ToolDefinition(name, wording.description, schema, examples=wording.examples)
    return name, definition.described, schema


TOOLS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    _tool("read_file", "path"),
    _tool("glob", "pattern", "path"),
    _tool("grep", "pattern", "path"),
    _tool("write_file", "path content"),
    _tool("edit_file", "path old_string new_string"),
    _tool("bash", "command"),
    _tool("web_search", "query"),
    _tool("web_fetch", "url"),
    _tool("task", "instruction"),
)


def _want(tool: str, **arguments: str | Sequence[str]) -> Want:
    lists = {key: (one,) if isinstance(one, str) else one for key, one in arguments.items()}
    return Want(tool, lists)


def read(said: str, *paths: str) -> Request:
    """Several, where they sound the same: people say "source" and mean "src"."""
    cat = [f"cat {path}" for path in paths]
    return Request(said, (_want("read_file", path=paths), _want("bash", command=cat)))


def glob(said: str, *patterns: str, command: Sequence[str] = ("find", "ls")) -> Request:
    return Request(said, (_want("glob", pattern=patterns), _want("bash", command=command)))


def grep(said: str, text: str) -> Request:
    return Request(said, (_want("grep", pattern=text), _want("bash", command=f"grep {text}")))


def bash(said: str, *commands: str) -> Request:
    return Request(said, (_want("bash", command=commands),))


def write(said: str, path: str, *content: str) -> Request:
    """Several, where a list may be written in a line or in lines."""
    return Request(said, (_want("write_file", path=path, content=content),))


def edit(said: str, path: str, old: str, new: str) -> Request:
    return Request(said, (_want("edit_file", path=path, old_string=old, new_string=new),))


def search(said: str, *words: str) -> Request:
    return Request(said, (_want("web_search", query=words),))


def fetch(said: str, url: str) -> Request:
    return Request(said, (_want("web_fetch", url=url),))


def task(said: str, *words: str) -> Request:
    return Request(said, (_want("task", instruction=words),))


REQUESTS: tuple[Request, ...] = (
    read("Read the file src slash main dot py.", "src/main.py", "source/main.py"),
    read("Can you open readme dot md for me?", "readme.md"),
    Request("Hello, how are you today?"),
    read("What's in config dot yaml?", "config.yaml"),
    read("Show me what's inside package dot json, please.", "package.json"),
    Request("Thanks, that was really helpful."),
    read("I'd like to know what the makefile says.", "makefile"),
    read("Take a look at tests slash test login dot py and tell me what it does.", "test_login.py"),
    Request("What's your name?"),
    read("Go through docker compose dot yml, would you?", "docker-compose.yml"),
    read("Read me the change log.", "changelog"),
    read("Please pull up notes dot txt.", "notes.txt"),
    Request("Tell me a joke."),
    read("Could you check what pyproject dot toml contains?", "pyproject.toml"),
    read("Have a look at the license file.", "license"),
    glob("Find all the Python files.", ".py"),
    glob("Which markdown files do we have?", ".md"),
    Request("Good morning!"),
    glob("List all TypeScript files in the web folder.", ".ts"),
    glob("Are there any JSON files in this project?", ".json"),
    Request("How do you feel about Mondays?"),
    glob("Show me every test file.", "test"),
    glob("Find files ending in dot css.", ".css"),
    glob("What files are in the docs folder?", "=*", "=**", "=**/*", "docs/*", "docs/**/*"),
    Request("I'm a bit tired today."),
    glob("Where are the image files, the PNGs I mean?", ".png"),
    glob("Give me a list of all YAML files.", ".yaml", ".yml"),
    glob("Is there a file called settings dot py somewhere?", "settings.py"),
    Request("Okay, never mind."),
    glob("Look for shell scripts in the repository.", ".sh"),
    glob("What SQL files are there?", ".sql"),
    grep("Search the code for the word deprecated.", "deprecated"),
    grep("Where do we use the function parse date?", "parse_date"),
    Request("What's the capital of France?"),
    grep("Look for the text to do in the source folder.", "todo"),
    grep("Which files mention Redis?", "redis"),
    Request("You're doing a great job."),
    grep("Find every place where we import requests.", "requests"),
    grep("Search for the string connection refused in the logs folder.", "connection refused"),
    grep("Does anything in the code still say localhost?", "localhost"),
    Request("Can you hear me?"),
    grep("Grep for password in the config folder.", "password"),
    grep("Where is the class User Service defined?", "userservice"),
    grep("Find the error message invalid token in our source.", "invalid token"),
    Request("What can you do?"),
    grep("Who calls send email in the code?", "send_email"),
    grep("Look for fix me comments in the Python code.", "fixme"),
    write("Create a file called hello dot txt that says hello world.", "hello.txt", "hello world"),
    write(
        "Put eggs and butter into shopping dot txt.",
        "shopping.txt",
        "eggs and butter",
        "eggs butter",
    ),
    Request("Do you like music?"),
    write("Make a new file notes dot md with the title Meeting Notes.", "notes.md", "meeting"),
    write("Save the text version one point zero to version dot txt.", "version.txt", "version"),
    Request("See you later."),
    write(
        "Please create an empty to do list in todo dot md with the heading Tasks.", "todo", "task"
    ),
    write("Put call Anna at noon in a new file named reminder dot txt.", "reminder.txt", "anna"),
    write("Create a Python script greet dot py that prints hello.", "greet.py", "print"),
    Request("That's funny."),
    write("Start a file ideas dot txt and write voice garden in it.", "ideas.txt", "voice garden"),
    edit("In config dot py replace debug true with debug false.", "config.py", "true", "false"),
    edit(
        "Change the port from 8080 to 9090 in settings dot yaml.", "settings.yaml", "8080", "9090"
    ),
    Request("What's two plus two?"),
    edit("In readme dot md change autumn to winter.", "readme.md", "autumn", "winter"),
    edit(
        "Please rename the variable count to total in stats dot py.", "stats.py", "count", "total"
    ),
    Request("I had a lovely weekend."),
    edit("Replace foo with bar in main dot js.", "main.js", "foo", "bar"),
    edit("Swap the word staging for production in deploy dot sh.", "deploy.sh", "staging", "prod"),
    edit("Correct the year from 2024 to 2025 in mail dot py.", "mail.py", "2024", "2025"),
    Request("Why is the sky blue?"),
    edit("Set the timeout from 30 to 60 in client dot py.", "client.py", "30", "60"),
    edit(
        "In index dot html replace the title Welcome with Hello.", "index.html", "welcome", "hello"
    ),
    bash("Run the tests.", "test"),
    bash("What's the git status?", "git status"),
    Request("Who wrote Romeo and Juliet?"),
    bash("Install the package numpy with pip.", "pip install numpy", "pip3 install numpy"),
    bash("How much disk space is left?", "df"),
    Request("Sorry, I was talking to someone else."),
    bash("Show me the last five git commits.", "git log"),
    bash("Run npm install, please.", "npm install"),
    bash("Which branch am I on?", "git branch", "git rev-parse", "git status", "git symbolic"),
    Request("How old are you?"),
    bash("Execute make build.", "make build"),
    bash("Start the linter with ruff check.", "ruff check"),
    bash("Check which Python version is installed.", "python"),
    Request("Hm, let me think for a moment."),
    bash("Show the running processes.", "ps", "top"),
    bash("Commit everything with the message fix login.", "git commit"),
    search("Search the web for the latest Python release.", "python"),
    search("What's the weather in Berlin right now?", "berlin"),
    Request("Yes, exactly."),
    search("Look up the current price of bitcoin online.", "bitcoin"),
    search("Find news about electric cars on the internet.", "electric car"),
    Request("What does the word serendipity mean?"),
    search("Who won the football match last night?", "football"),
    search("Google how to sharpen a kitchen knife.", "knife"),
    search("Can you find out online when the next solar eclipse is?", "eclipse"),
    Request("Good night, talk to you tomorrow."),
    search("Search for good pasta recipes on the web.", "pasta"),
    search("What are people saying online about the new iPhone?", "iphone"),
    fetch("Open the page example dot com.", "example.com"),
    fetch("Fetch https colon slash slash news dot ycombinator dot com.", "news.ycombinator.com"),
    Request("Are you a robot?"),
    fetch("Summarize the website docs dot python dot org for me.", "docs.python.org"),
    fetch("What does the page at github dot com slash features say?", "github.com/features"),
    Request("My dog is called Bruno."),
    fetch("Read the web page wikipedia dot org slash wiki slash tea.", "wikipedia.org/wiki/tea"),
    fetch("Go to fastapi dot tiangolo dot com and tell me what's there.", "fastapi.tiangolo.com"),
    task("Have an agent refactor the authentication module.", "auth"),
    task("Build me a login page with password reset.", "login"),
    Request("I think that's a good idea."),
    task("Delegate a full security review of the code base.", "security"),
    task("Get someone to investigate why the build has become so slow.", "build"),
    Request("Say something nice."),
    task("Implement dark mode for the whole app.", "dark mode"),
    task("Hand over the migration from Flask to FastAPI to an agent.", "fastapi"),
    task("I need a complete test suite for the payment service, please get it built.", "payment"),
    Request("How's it going?"),
    task("Start an agent that rewrites the documentation.", "documentation"),
    Request("No, I don't need anything else."),
)
