"""Attacks on the workspace by paths, links, names and options; and honest uses beside them.

Data only. `tests/tools/workspace/test_attacks.py` lays out the folders of
`layout.py` and tries each: an attack is refused, or where nothing is wrong with
asking (a pattern may look like an option) answered with nothing of what is
outside. `{ws}` and `{outside}` stand for the folders' absolute paths.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Attack:
    why: str
    tool: str
    arguments: Mapping[str, Any]
    answered: bool = False
    """It may be answered, since the answer gives nothing away."""


@dataclass(frozen=True, slots=True)
class Honest:
    why: str
    tool: str
    arguments: Mapping[str, Any]
    says: str = field(default="")


def _read(why: str, path: str) -> Attack:
    return Attack(f"read: {why}", "read_file", {"path": path})


def _write(why: str, path: str) -> Attack:
    return Attack(f"write: {why}", "write_file", {"path": path, "content": "owned"})


def _edit(why: str, path: str, old: str) -> Attack:
    arguments = {"path": path, "old_string": old, "new_string": "owned", "replace_all": True}
    return Attack(f"edit: {why}", "edit_file", arguments)


def _glob(why: str, pattern: str, path: str = "", answered: bool = False) -> Attack:
    return Attack(f"glob: {why}", "glob", {"pattern": pattern, "path": path}, answered)


def _grep(why: str, pattern: str, answered: bool = False, **more: Any) -> Attack:
    return Attack(f"grep: {why}", "grep", {"pattern": pattern, **more}, answered)


READING = (
    _read("one step up", "../outside/secret.txt"),
    _read("many steps up", "../" * 40 + "etc/passwd"),
    _read("up from a folder inside", "src/../../outside/secret.txt"),
    _read("up behind a dot", "./src/./.././../outside/secret.txt"),
    _read("up behind doubled slashes", "src//..//..//outside//secret.txt"),
    _read("absolute", "{outside}/secret.txt"),
    _read("absolute, of the system", "/etc/passwd"),
    _read("absolute with two slashes", "//etc/passwd"),
    _read("absolute through the workspace and up", "{ws}/../outside/secret.txt"),
    _read("a folder whose name begins as ours does", "{ws}-evil/secret.txt"),
    _read("the same, by a step up", "../ws-evil/secret.txt"),
    _read("a link to a file", "out_file"),
    _read("an absolute link to a file", "out_file_abs"),
    _read("a link to a folder", "out_dir/secret.txt"),
    _read("an absolute link to a folder", "out_dir_abs/folder/inner.txt"),
    _read("a chain of links", "chain1"),
    _read("a link to a link in a folder", "chain_dir/secret.txt"),
    _read("a link, then up", "out_dir/../outside/secret.txt"),
    _read("a link inside, then up and up", "inside_dir/../../outside/secret.txt"),
    _read("a link that leaves and comes back", "boomerang"),
    _read("a link to a folder beside ours", "sibling/secret.txt"),
    _read("a link to the root", "root/etc/passwd"),
    _read("a link to /etc", "etc/passwd"),
    _read("a magic link to the root", "proc_root/etc/passwd"),
    _read("a magic link to the current folder", "proc_cwd/secret.txt"),
    _read("our environment", "proc_environ"),
    _read("our environment, absolute", "/proc/self/environ"),
    _read("an open file of ours", "/proc/self/fd/0"),
    _read("a circle of two links", "loop_a"),
    _read("a link to itself", "loop_self"),
    _read("a circle of folders", "loop_a/x"),
    _read("a pipe, which would never answer", "pipe"),
    _read("a link to a pipe", "pipe_link"),
    _read("a socket", "socket"),
    _read("an endless device", "/dev/zero"),
    _read("an endless device by a link", "zero"),
    _read("a terminal", "/dev/tty"),
    _read("a huge file", "huge.bin"),
    _read("a NUL that hides the end", "src/main.py\0/../../../outside/secret.txt"),
    _read("a NUL at the end", "../outside/secret.txt\0.py"),
    _read("a lone surrogate", "\ud800"),
    _read("fullwidth dots and slash", "\uff0e\uff0e\uff0foutside\uff0fsecret.txt"),
    _read("dots and a slash of another script", "\u2025\u2215outside\u2215secret.txt"),
    _read("percent signs", "%2e%2e%2foutside%2fsecret.txt"),
    _read("a backslash", "..\\outside\\secret.txt"),
    _read("the home folder", "~/.ssh/id_rsa"),
    _read("a user's home folder", "~root/.bashrc"),
    _read("a variable", "$HOME/.bashrc"),
    _read("a URL", "file:///etc/passwd"),
    _read("a command", "$(cat /etc/passwd)"),
    _read("a very long name", "a" * 5000),
    _read("a very long name of one part", "a" * 300),
    _read("our own data", ".vivavoce/vivavoce.db"),
    _read("our own data by a link", "data_link/vivavoce.db"),
    _read("our own data in another case", ".VivaVoce/vivavoce.db"),
    _read("our own data by a detour", "src/../.vivavoce/./vivavoce.db"),
    _read("a data folder named by its path", "private/data/key"),
    _read("a file as if it were a folder", "src/main.py/../../../outside/secret.txt"),
)

WRITING = (
    _write("one step up", "../outside/new.txt"),
    _write("over what is there", "../outside/secret.txt"),
    _write("absolute", "{outside}/new.txt"),
    _write("through a link to a file", "out_file"),
    _write("through an absolute link to a file", "out_file_abs"),
    _write("through a link to a folder", "out_dir/new.txt"),
    _write("into new folders behind a link", "out_dir/a/b/new.txt"),
    _write("through a chain", "chain1"),
    _write("through a link to what is not there yet", "dangling_out"),
    _write("through a link that leads nowhere", "dangling_in"),
    _write("up from a folder that is not there", "nowhere/../../outside/new.txt"),
    _write("a hook", ".git/hooks/pre-commit"),
    _write("a new hook", ".git/hooks/post-merge"),
    _write("git's configuration", ".git/config"),
    _write("git's attributes", ".git/info/attributes"),
    _write("a submodule's hook", "sub/.git/hooks/pre-commit"),
    _write("a new repository's hook", "fresh/.git/hooks/pre-commit"),
    _write("a hook by a link", "hooks_link/pre-commit"),
    _write("git's configuration by a link", "config_link"),
    _write("a hook by a link and a detour", "git_link/../.git/hooks/pre-commit"),
    _write("a hook in another case", ".GIT/hooks/pre-commit"),
    _write("a hook with an invisible character", ".g\u200cit/hooks/pre-commit"),
    _write("a hook with fullwidth letters", ".\uff47\uff49\uff54/hooks/pre-commit"),
    _write("a hook with a dot behind", ".git./hooks/pre-commit"),
    _write("a hook by its short name", "GIT~1/hooks/pre-commit"),
    _write("a file that says where git is", "fresh/.git"),
    _write("git's configuration in capitals", ".GIT/config"),
    _write("git's configuration with an invisible character", ".g\u200cit/config"),
    _write("git's configuration with a dot behind", ".git./config"),
    _write("git's configuration by its short name", "git~1/config"),
    _write("git's configuration with a space behind", "a/b/.git /config"),
    _write("git's configuration with a fullwidth dot", "\uff0egit/config"),
    _write("git's configuration with a leader for a dot", "\u2024git/config"),
    _write("git's configuration by a detour", ".git/../.git/config"),
    _write("a new repository's configuration", "x/.git/config"),
    _write("a submodule's hook in capitals", "sub/.GIT/hooks/x"),
    _write("absolute, of the system", "/etc/x"),
    _write("up from a folder that is to be made", "a/../../x"),
    _write("our own data, new", ".vivavoce/x"),
    _write("our own data with an invisible character", ".\u200bvivavoce/x"),
    _write("a NUL in a name", "x\x00y"),
    _write("our environment", "/proc/self/environ"),
    _write("absolute through the workspace and up", "{ws}/../outside/x"),
    _write("a folder whose name begins as ours does", "{ws}-evil/y"),
    _write("our own data", ".vivavoce/vivavoce.db"),
    _write("our own data by a link", "data_link/new.db"),
    _write("a pipe", "pipe"),
    _write("a device", "/dev/null"),
    _write("a folder", "src"),
    _write("the workspace itself", "."),
    _write("a folder above", "src/.."),
    _write("a NUL", "src/a\0.txt"),
    _write("a read-only file", "read_only.txt"),
    _write("too much", "huge_new.txt"),
    _edit("through a link", "out_file", "TOP"),
    _edit("absolute", "{outside}/secret.txt", "TOP"),
    _edit("a hook", ".git/hooks/pre-commit", "echo"),
    _edit("git's configuration by a link", "config_link", "core"),
    _edit("a pipe", "pipe", "x"),
)

FINDING = (
    _glob("a pattern that goes up", "../**"),
    _glob("a pattern that goes up in the middle", "src/../../outside/*"),
    _glob("an absolute pattern", "/etc/*"),
    _glob("an absolute folder", "*", "/etc"),
    _glob("a folder above", "*", ".."),
    _glob("a link to a folder", "*", "out_dir"),
    _glob("a magic link", "*", "proc_root"),
    _glob("our own data", "*", ".vivavoce"),
    _glob("a pattern through a link", "out_dir/*", answered=True),
    _glob("everything, through links", "**/*", answered=True),
    _glob("up in braces", "{../outside,src}/*", answered=True),
    _glob("stars without end", "**/" * 80 + "*a" * 40 + "b", answered=True),
    _glob("a NUL", "*\0"),
    _grep("a folder above", "SECRET", path=".."),
    _grep("an absolute folder", "SECRET", path="{outside}"),
    _grep("a link to a folder", "SECRET", path="out_dir"),
    _grep("a link to a file", "SECRET", path="out_file"),
    _grep("a magic link", "root:", path="proc_root"),
    _grep("our own data", "SECRET", path=".vivavoce"),
    _grep("a pipe", "x", path="pipe"),
    _grep("all links", "SECRET", answered=True),
    _grep("an option as pattern that runs a program", "--pre={ws}/run.sh", answered=True),
    _grep("an option as pattern that reads patterns", "-f{outside}/secret.txt", answered=True),
    _grep("an option as pattern that follows links", "--follow", answered=True),
    _grep("options behind a dash", "-- SECRET {outside}", answered=True),
    _grep("an option as path", "x", path="--pre={ws}/run.sh"),
    _grep("an option as path that reads patterns", "x", path="-f/etc/passwd"),
    _grep("an option as glob", "x", glob="--pre={ws}/run.sh", answered=True),
    _grep("a glob that goes up", "SECRET", glob="../**"),
    _grep("an absolute glob", "SECRET", glob="/etc/*"),
    _grep("a glob that includes what is hidden", "SECRET", glob="**/.vivavoce/**", answered=True),
    _grep("a glob that is a list of types", "SECRET", glob="include:all", answered=True),
    _grep("a NUL", "SECRET\0"),
    _grep("lines in the pattern", "SECRET\nroot"),
    _grep("a huge repetition", "(a{{1000}}){{1000}}", answered=True),
)

ATTACKS = (*READING, *WRITING, *FINDING)

HONEST = (
    Honest("a file", "read_file", {"path": "README.md"}, "Hello"),
    Honest("a file in a folder", "read_file", {"path": "src/main.py"}, "def main"),
    Honest("a dot before", "read_file", {"path": "./src/main.py"}, "def main"),
    Honest("up and down inside", "read_file", {"path": "src/util/../main.py"}, "def main"),
    Honest("an absolute path inside", "read_file", {"path": "{ws}/src/main.py"}, "def main"),
    Honest("a link to a file inside", "read_file", {"path": "inside_file"}, "def main"),
    Honest("a link to a folder inside", "read_file", {"path": "inside_dir/main.py"}, "def main"),
    Honest(
        "a new file by a link inside",
        "write_file",
        {"path": "inside_dir/n", "content": "x"},
        "src/n",
    ),
    Honest("an absolute link inside", "read_file", {"path": "inside_abs"}, "def main"),
    Honest("a link with steps up inside", "read_file", {"path": "inside_up"}, "def main"),
    Honest("a link, then up inside", "read_file", {"path": "deep_link/../main.py"}, "def main"),
    Honest("a name with a space", "read_file", {"path": "my notes.txt"}, "milk"),
    Honest("a name with letters of its own", "read_file", {"path": "größe/Ñandú.txt"}, "bird"),
    Honest("a name with dots", "read_file", {"path": "..odd..name"}, "odd"),
    Honest("git's configuration, to read", "read_file", {"path": ".git/config"}, "core"),
    Honest("some lines", "read_file", {"path": "src/main.py", "offset": 2, "limit": 1}, "2  "),
    Honest("an empty file", "read_file", {"path": "empty.txt"}, "is empty"),
    Honest("a new file", "write_file", {"path": "new.txt", "content": "hi"}, "Wrote 2"),
    Honest("new folders", "write_file", {"path": "a/b/c.txt", "content": "hi"}, "a/b/c.txt"),
    Honest("over a file", "write_file", {"path": "README.md", "content": "x"}, "replacing"),
    Honest(
        "through a link inside", "write_file", {"path": "inside_file", "content": "x"}, "src/main"
    ),
    Honest(
        "a file named .gitignore", "write_file", {"path": ".gitignore", "content": "x"}, "Wrote"
    ),
    Honest("a folder named github", "write_file", {"path": ".github/a", "content": "x"}, "Wrote"),
    Honest(
        "an edit",
        "edit_file",
        {"path": "src/main.py", "old_string": "main", "new_string": "start"},
        "+def start",
    ),
    Honest("all of a kind", "glob", {"pattern": "**/*.py"}, "src/util/deep.py"),
    Honest("a folder", "glob", {"pattern": "*", "path": "src"}, "src/util/"),
    Honest("a folder by a link", "glob", {"pattern": "*.py", "path": "inside_dir"}, "src/main.py"),
    Honest("braces", "glob", {"pattern": "**/*.{py,md}"}, "README.md"),
    Honest("a name in another case", "glob", {"pattern": "readme*"}, "README.md"),
    Honest("an absolute pattern inside", "glob", {"pattern": "{ws}/src/*.py"}, "src/main.py"),
    Honest("a word", "grep", {"pattern": "main"}, "src/main.py:1:def main"),
    Honest("in a folder", "grep", {"pattern": "deep", "path": "src/util"}, "src/util/deep.py:1:"),
    Honest("in a file", "grep", {"pattern": "DEF", "path": "src/main.py"}, "src/main.py:1:"),
    Honest("by a link inside", "grep", {"pattern": "deep", "path": "inside_dir"}, "deep.py:1:"),
    Honest("in some files", "grep", {"pattern": "e", "glob": "*.md"}, "README.md:1:"),
    Honest("what looks like an option", "grep", {"pattern": "--help"}, "options.txt:1:use --help"),
    Honest("what is no pattern", "grep", {"pattern": "main("}, "src/main.py:1:"),
)
