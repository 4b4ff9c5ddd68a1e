"""What a shell command does, by its parsed form: does it only read, and what is it in words?

For asking: a command that only reads needs no yes. Decided by a grammar of bash, not by how the
command begins, and by lists of what is known to read: programs, and of those that could do more
the options too. Whatever is not understood is not read-only. It is not what keeps a command from
writing: one that only reads is run where nothing can be written (`bash.py`).

Nobody can judge shell code by ear. So a request for a yes says what a command is known to do, made
from the same parsed form; of one that is not known it says so, and the page shows it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_LONGEST = 4_096
_JOINTS = frozenset({"&&", "||", ";", "|", "\n"})
_PARTS = frozenset({"program", "list", "pipeline", "redirected_statement"})
_GLOB = re.compile(r"[*?\[{]|^~")
_FINE = re.compile(
    r"(?:[12]|&)?>>?\s*/dev/null|2>\s*&1|[12]>&[12]|<\s*(?:/dev/null|(?![/.]*/dev/)[\w./-]+)"
)
"""Redirections: to nowhere, to the other output, from a file. bash makes a connection of
`/dev/tcp/host/port`, which is none."""

_ANY = (
    "ls pwd cat head tail wc nl tac rev cut tr fold paste join comm cmp diff stat du df basename "
    "dirname realpath readlink echo true false seq md5sum sha1sum sha256sum whoami id uname "
    "printenv which type od strings expand unexpand free ps uptime cd"
)
"""Whatever they are given, these change nothing."""
_OPTIONS = {
    "grep egrep fgrep": "-[abcEFGHhiILlnoPqrRsvwxyzTUZ]+ -[ABCm]\\d* -e --include=.* --exclude=.* "
    "--exclude-dir=.* --color(=.*)? --context(=\\d+)? --regexp=.* --ignore-case --line-number "
    "--recursive --count --files-with-matches --only-matching --word-regexp --fixed-strings "
    "--extended-regexp --perl-regexp --invert-match --no-messages --with-filename",
    "rg": "-[cFiHhIlLnNopPqsSuUvwx0]+ -[ABCmgtTeEM]\\d* --glob=.* --type=.* --hidden --no-ignore "
    "--ignore-case --line-number --count --files --files-with-matches --only-matching "
    "--fixed-strings --word-regexp --json --stats --color=.* --context=\\d+ --max-count=\\d+ "
    "--sort=.* --no-heading --heading --smart-case --multiline",
    "sort": "-[bdfghinrRuVz]+ -k.* -t.* --reverse --numeric-sort --unique --key=.* "
    "--ignore-case --human-numeric-sort --version-sort --field-separator=.*",
    "tree": "-[adfpsugDhiFL]+ -I -P --du --dirsfirst --gitignore --noreport",
    "jq": "-[cnrjaSCMe]+ --raw-output --compact-output --slurp --null-input --sort-keys --arg",
    "file": "-[biLkhz]+ --brief --mime --mime-type",
    "find": "-(name|iname|path|ipath|type|size|mtime|mmin|newer|maxdepth|mindepth|empty|not|and|or"
    "|a|o|print|print0|regex|iregex|perm|user|ls|prune|readable|executable|L|P|H|xdev|depth"
    "|regextype|wholename|true|false) -\\d+[bcwkMG]? ! ",
}
"""By programs: the options that only read; others may run a program, or write a file."""
_SHOWING = (
    "--stat --shortstat --numstat --name-only --name-status --oneline --graph --all --patch -p -u "
    "--no-patch -s --cached --staged --color(=.*)? --no-color --word-diff(=.*)? -[0-9]+ -n\\d* "
    "--max-count=\\d+ --since=.* --until=.* --after=.* --before=.* --author=.* --grep=.* "
    "--format=(?!.*%G).* --pretty(=(?!.*%G).*)? --abbrev-commit --decorate(=.*)? --reverse "
    "--first-parent --merges "
    "--no-merges --follow --date=.* -w -b --ignore-all-space --summary -M -C -U\\d+ "
    "--unified=\\d+ -- -S.+ -G.+ --no-ext-diff --no-textconv --exit-code --quiet --check "
    "--diff-filter=\\w+ -i --left-right"
)
_GIT = {
    "status": "-[sbvz]+ --short --branch --porcelain(=.*)? -u\\w* --untracked-files(=.*)? "
    "--ignored --long --",
    "log": _SHOWING,
    "diff": _SHOWING,
    "show": _SHOWING,
    "shortlog": "-s -n -e -sn -sne --summary --numbered --email --all",
    "blame": "-L.* -w -e -l -s -C -M --date=.* --",
    "rev-parse": "--short(=\\d+)? --abbrev-ref --show-toplevel --verify HEAD --git-dir --is-.*",
    "ls-files": "-[cdomsktvz]+ --cached --others --modified --deleted --exclude-standard --stage "
    "--",
    "ls-tree": "-[rtdlz]+ --name-only --full-tree --long",
    "describe": "--tags --always --dirty(=.*)? --abbrev=\\d+ --long --all",
    "cat-file": "-[tspe]",
    "grep": "-[iIlnwcEFPhHvo]+ -[ABC]\\d* -e --cached --count --",
}
_GIT_LISTING = {
    "branch": "-a -r -v -vv -l --all --remotes --list --show-current --verbose --merged "
    "--no-merged --contains --sort=.* --format=.*",
    "tag": "-l --list -n\\d* --sort=.* --contains --merged --points-at --format=.*",
    "remote": "-v --verbose",
    "stash": "list show -p --stat",
    "reflog": "show -\\d+ -n\\d*",
    "worktree": "list --porcelain",
}
"""These list with such words alone; given a name, they would make or remove something."""
_TAKES = {
    "grep egrep fgrep": "-[^-]*[ABCme]|--context",
    "rg": "-[^-]*[ABCmgtTeEM]",
    "sort": "-[kt]",
    "tree": "-[^-]*[LIP]",
    "git": "-[^-]*[ABCeL]",
    "file": "-[^-]*[mfF]",
}
"""By programs: options that take the next word as it is, were it a `--` that would end them."""
_DATE = re.compile(r"-[uR]+|--utc|-I\w*|--iso-8601(=.*)?|--date=.*|\+.*")
_TEST = re.compile(r"-[a-zA-Z]{1,2}|[^\-\[$`][^\[$`]*|")
_RUNS_A_NAME = frozenset({"-v", "-R"})
"""Of `test`: bash takes what follows for a variable, and runs what stands in its index."""


def reads_only(command: str) -> bool:
    """Does it change nothing, whoever wrote it and whatever is in the folder?"""
    if len(command) > _LONGEST or "\0" in command:
        return False
    parser = _parser()
    if parser is None:  # without the grammar nothing is known to
        return False
    root = parser.parse(command.encode()).root_node
    return not root.has_error and bool(root.named_children) and _reads(root)


UNKNOWN = "run a command you should look at"
_STEPS = 3  # said of one command line
_SPOKEN = 48  # characters of a name
_PLAIN_NAME = re.compile(r"\w[\w./:=@+-]*(?: [\w./:=@+-]+){0,2}|\.(?:/[\w./-]*)?")
_TESTS = "pytest tox nox jest vitest mocha phpunit rspec ctest"
_RUNNERS = "make just npm yarn pnpm npx tox nox gradle mvn cargo go dotnet rake task bazel ninja"
_CHECKS = {
    "ruff": "check the code with ruff",
    "mypy": "check the types with mypy",
    "pyright": "check the types with pyright",
    "eslint": "check the code with eslint",
    "flake8": "check the code with flake8",
    "black": "format the code with black",
    "prettier": "format the code with prettier",
    "tsc": "compile with tsc",
    "cmake": "prepare a build with cmake",
}
_DEEDS = {
    "rm": "delete {}",
    "rmdir": "delete the folder {}",
    "unlink": "delete {}",
    "mkdir": "make the folder {}",
    "touch": "touch {}",
    "chmod": "change the rights of {}",
    "chown": "change the owner of {}",
    "kill": "end the process {}",
    "pkill": "end the processes {}",
    "truncate": "cut off {}",
    "tar": "pack or unpack an archive",
    "unzip": "unpack {}",
    "zip": "pack {}",
    "curl": "call a web address with curl",
    "wget": "fetch from the web with wget",
    "ssh": "log in to another machine with ssh",
    "scp": "copy to or from another machine",
    "docker": "use docker",
    "sleep": "wait",
}
_GIT_DEEDS = {
    "add": "add files to the next commit",
    "commit": "make a git commit",
    "push": "push to a git remote",
    "pull": "pull from a git remote",
    "fetch": "fetch from a git remote",
    "clone": "clone a git repository",
    "checkout": "check out another state with git",
    "switch": "switch the git branch",
    "restore": "throw away changes with git",
    "reset": "reset the git repository",
    "clean": "delete files that git does not know",
    "merge": "merge with git",
    "rebase": "rebase with git",
    "stash": "put changes aside with git",
    "branch": "change the git branches",
    "tag": "change the git tags",
    "init": "make a git repository",
    "rm": "delete files with git",
    "mv": "move files with git",
    "config": "change the settings of git",
    "revert": "revert a commit with git",
    "cherry-pick": "take over a commit with git",
}


def in_words(command: str) -> str:
    """What it is about to do, behind "I want to"; `UNKNOWN` where nobody can be sure of that."""
    if len(command) > _LONGEST or "\0" in command or (parser := _parser()) is None:
        return UNKNOWN
    root = parser.parse(command.encode()).root_node
    if root.has_error:
        return UNKNOWN
    steps: list[str] = []
    if not _tell(root, steps) or not 0 < len(steps) <= _STEPS:
        return UNKNOWN
    return ", then ".join(dict.fromkeys(steps))


def _tell(node: Node, steps: list[str]) -> bool:
    """Adds what is done, in its order; False where something is not understood."""
    match node.type:
        case "program" | "list":
            return all(_tell(child, steps) for child in node.children)
        case "&&" | ";" | "\n" | "comment":
            return True
        case "pipeline" | "redirected_statement" | "command" if _reads(node):
            steps.append("look at something" if node.type != "command" else _looking(node))
            return True
        case "redirected_statement":
            return _told_redirected(node, steps)
        case "command":
            words = _words_of(node)
            done = None if words is None else _deed(words)
            steps.append(done or "")
            return done is not None
        case _:
            return False


def _looking(node: Node) -> str:
    words = _words_of(node) or []
    inside = words[:1] == ["cd"] and len(words) > 1
    return f"go into {_name(words[1])}" if inside else "look at something"


def _told_redirected(node: Node, steps: list[str]) -> bool:
    """Into one file, by a command that is understood: that file is what it writes."""
    body, *rest = node.named_children
    targets = [one for one in rest if _FINE.fullmatch(_text(one)) is None]
    if len(targets) != 1 or targets[0].type != "file_redirect":
        return not targets and _tell(body, steps)
    written = re.fullmatch(r"[12]?>>?\s*([\w./-]+)", _text(targets[0]))
    if written is None or not (_reads(body) or _tell(body, [])):
        return False
    how = "add to" if ">>" in _text(targets[0]) else "write"
    steps.append(f"{how} the file {_name(written[1])}")
    return True


def _words_of(node: Node) -> list[str] | None:
    """A command as plain words; None where the shell makes something else of one."""
    words: list[str] = []
    for child in node.children:
        if child.type == "command_name":
            child = child.children[0] if child.children else child
        if (word := _word(child)) is None:
            return None
        words.append(word)
    return words or None


_HARMLESS = re.compile(r"-q+|-v+|-x|-s|-qx|-xq|--")
"""Of what runs tests and builds."""
_PLAIN = {
    "rm": "rRfivd",
    "rmdir mkdir": "pv",
    "touch": "acm",
    "chmod chown": "Rvfc",
    "cp": "rRafinpuvL",
    "mv": "finuv",
    "ln": "sfnvr",
    "unzip": "oqnj",
    "zip": "rqj",
    "curl": "sSfLOIv",
    "wget": "qcN",
    "sed": "iEr",
    "docker": "itd",
    "scp": "rqpC",
    "truncate": "sc",
    "apt apt-get brew": "yq",
}
"""By programs: letters that make no other thing of it than its words say."""
_GIT_RUNS = {"clone": "uc", "rebase": "xs", "merge": "s", "pull": "s", "cherry-pick": "s"}
"""By git's commands: letters that name a program to run."""
_HELPER = re.compile(r"[\w+-]*::.*", re.DOTALL)
"""An address that git hands to a program of that name: `ext::sh -c …` runs what follows."""
_REMOTES = frozenset({"clone", "fetch", "pull", "push"})
_SUBSTITUTION = re.compile(r"s([/|,#])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gI]*")
"""One of sed's, and nothing behind it: other commands and flags of it run programs and write."""
_WITH_OPTIONS = ", with options you should look at"


def _deed(words: Sequence[str]) -> str | None:
    """Options may make another thing of it: those that are not known to be harmless are told."""
    done = _what(words)
    name, arguments = words[0], words[1:]
    if name in ("python", "python3") and arguments[:1] == ["-m"]:
        name, arguments = arguments[1] if len(arguments) > 1 else "", arguments[2:]
    tests = (*_TESTS.split(), "unittest")
    runs = name in (*tests, *_RUNNERS.split(), *_CHECKS, "pip", "pip3", "uv", "tar")
    plain = _HARMLESS if runs else _plain_options(name, arguments)
    odd = any(plain.fullmatch(one) is None for one in _options(arguments, ends=False))
    odd = odd or (runs and any("=" in one for one in arguments))
    return done + _WITH_OPTIONS if done and odd and "program" not in done else done


def _plain_options(name: str, arguments: Sequence[str]) -> re.Pattern[str]:
    if name == "git":
        runs = _GIT_RUNS.get(arguments[0], "") if arguments else ""
        return re.compile(
            rf"-(?![a-zA-Z]*[{runs}])[a-zA-Z]{{1,3}}|--" if runs else "-[a-zA-Z]{1,3}|--"
        )
    letters = [known for names, known in _PLAIN.items() if name in names.split()]
    return re.compile(rf"-[{letters[0]}]{{1,4}}|--" if letters else "--")


def _what(words: Sequence[str]) -> str | None:
    name, *arguments = words
    names = list(_names(arguments))
    if name in ("python", "python3") and arguments[:1] == ["-m"] and len(arguments) > 1:
        return _what(arguments[1:])
    if name in _TESTS.split() or name == "unittest":
        return f"run the tests with {name}"
    if name in ("pip", "pip3", "uv", "apt", "apt-get", "brew") and "install" in names:
        rest = names[names.index("install") + 1 :]
        return f"install {_listed(rest) or 'packages'} with {name}"
    if name in _RUNNERS.split():
        return _run(name, names)
    if name in _CHECKS:
        return _CHECKS[name]
    if name in ("mv", "cp", "ln") and len(names) == 2 and not _turned(arguments):
        done = {"mv": "move {} to {}", "cp": "copy {} to {}", "ln": "link {} as {}"}[name]
        return done.format(*map(_name, names))
    if name == "git":
        known = [one for one in names if one in _GIT_DEEDS]
        if known[:1] and known[0] in _REMOTES and any(map(_HELPER.fullmatch, arguments)):
            return None
        return _GIT_DEEDS[known[0]] if known and arguments[0] == known[0] else None
    if name in ("python", "python3", "node", "ruby", "perl", "bash", "sh"):
        # With code on the line it is that code, and nothing that has a name.
        return f"run the program {_name(names[0])}" if names[:1] == arguments[:1] != [] else None
    if name == "sed":
        return _substituted(arguments)
    if name.startswith("./") or name.endswith(".sh"):
        return f"run the program {_name(name)}"
    if name in ("chmod", "chown"):
        names = names[1:]
    if name in _DEEDS:
        if "{}" in _DEEDS[name] and not names:
            return None
        whole = " and all that is in it" if name == "rm" and _deep(arguments) else ""
        return _DEEDS[name].format(_listed(names)) + whole
    return None


def _substituted(arguments: Sequence[str]) -> str | None:
    """In files, by one expression; `-e` and `-f` bring others."""
    options = [one for one in arguments if one.startswith("-")]
    expression, *files = list(_names(arguments)) or [""]
    plain = options[:1] == ["-i"] and all(one in ("-E", "-r") for one in options[1:])
    if not plain or not files or _SUBSTITUTION.fullmatch(expression) is None:
        return None
    return f"change {_listed(files)} with sed"


def _run(name: str, names: Sequence[str]) -> str:
    tests = bool({"test", "tests", "check"} & set(names)) and name != "npx"
    if tests:
        return f"run the tests with {name}"
    what = " ".join(map(_name, [one for one in names if one != "run"][:2]))
    return f"run {what} with {name}" if what else f"run {name}"


def _turned(arguments: Sequence[str]) -> bool:
    """Does an option name the target first?"""
    return any(re.fullmatch(r"-\w*t\w*|--target-.*", one) for one in arguments)


def _deep(arguments: Sequence[str]) -> bool:
    return any(re.fullmatch(r"-\w*[rR]\w*|--recursive", one) for one in arguments)


def _listed(names: Sequence[str]) -> str:
    shown = [_name(one) for one in names[:_STEPS]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _name(text: str) -> str:
    """A name as it is, where it is one; whatever else it says is not said."""
    if len(text) <= _SPOKEN and _PLAIN_NAME.fullmatch(text):
        return text
    return (
        "what a pattern finds"
        if re.fullmatch(r"[\w./*?-]+", text)
        else "something with an odd name"
    )


@functools.cache
def _parser() -> Parser | None:
    try:
        import tree_sitter_bash
        from tree_sitter import Language, Parser
    except ImportError:  # vivavoce[tools] has them
        return None
    return Parser(Language(tree_sitter_bash.language()))


def _reads(node: Node) -> bool:
    match node.type:
        case kind if kind in _PARTS:
            return all(_reads(child) for child in node.children)
        case kind if kind in _JOINTS:
            return True
        case "command":
            return _command(node)
        case "test_command":
            return False
        case "file_redirect":
            return _FINE.fullmatch(_text(node)) is not None
        case "comment":
            return True
        case _:  # a background job, a loop, an assignment, a function, something from elsewhere
            return False


def _command(node: Node) -> bool:
    words: list[str] = []
    filled: list[bool] = []
    for child in node.children:
        if child.type == "command_name":
            child = child.children[0] if child.children else child
        word = _word(child)
        if word is None:
            return False
        words.append(word)
        filled.append(_may_be_an_option(child))
    if not words:
        return False
    name, *arguments = words
    if name in _ANY.split():
        return True
    if any(filled) and not _behind_the_options(name, arguments, filled[1:]):
        return False
    return _known(name, arguments, globs=any(_GLOB.search(_seen(one)) for one in node.children))


def _may_be_an_option(node: Node) -> bool:
    """What the shell fills in is not known, and a name in the folder may look like an option:
    unless what is written begins it otherwise."""
    seen = _seen(node)
    return _GLOB.search(seen) is not None and re.match(r"[\w./]", seen) is None


def _seen(node: Node) -> str:
    """As the shell looks for patterns in it: what is quoted has none."""
    match node.type:
        case "raw_string" | "string":
            return re.sub(r"[*?\[{~]", "_", _text(node)[1:-1])
        case "concatenation":
            return "".join(map(_seen, node.children))
        case _:
            return _text(node)


def _behind_the_options(name: str, arguments: Sequence[str], filled: Sequence[bool]) -> bool:
    """Does all that the shell fills in stand behind a `--` that ends the options?"""
    if name not in " ".join(_TAKES).split() or "--" not in arguments:
        return False
    return not any(filled[: arguments.index("--")])


def _word(node: Node) -> str | None:
    """What it says, where the shell does nothing to it; None where it does."""
    match node.type:
        case "word" | "number":
            text = _text(node)
            return None if "\\" in text or "$" in text or "`" in text else text
        case "raw_string":
            return _text(node)[1:-1]
        case "string":
            if any(child.type != "string_content" for child in node.named_children):
                return None
            text = _text(node)[1:-1]
            return None if "\\" in text or "$" in text or "`" in text else text
        case "concatenation":
            parts = [_word(child) for child in node.named_children]
            return None if None in parts else "".join(filter(None, parts))
        case _:
            return None


def _text(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")


def _known(name: str, arguments: Sequence[str], *, globs: bool) -> bool:
    if _misread(name, arguments):
        return False
    if name == "git":
        return _git(arguments)
    if name == "command":
        return arguments[:1] == ["-v"]
    if name == "test":
        return not globs and _tests(arguments)
    if name == "date":
        return not globs and _tells_the_date(arguments)
    if name in ("uniq", "xxd"):  # the second name is written, and a pattern may be two
        plain = all(re.fullmatch(r"-[cdiuprs]|-[lcsg]\d+", one) for one in _options(arguments))
        one = not globs and sum(1 for _ in _names(arguments)) <= 1
        return plain and "-r" not in arguments and one
    for programs, options in _OPTIONS.items():
        if name in programs.split():
            return _within(arguments, options, single=name in ("find", "jq"))
    return False


def _misread(name: str, arguments: Sequence[str]) -> bool:
    """Is the `--` that seems to end the options only what one of them takes?"""
    for programs, taking in _TAKES.items():
        if name in programs.split() and "--" in arguments:
            before = arguments[: arguments.index("--")]
            return bool(before) and re.fullmatch(taking, before[-1]) is not None
    return False


def _tests(arguments: Sequence[str]) -> bool:
    return all(_TEST.fullmatch(one) and one not in _RUNS_A_NAME for one in arguments)


def _tells_the_date(arguments: Sequence[str]) -> bool:
    """Any other word than these would set it."""
    rest = list(arguments)
    while rest:
        one = rest.pop(0)
        if one == "-d" and rest:
            rest.pop(0)
        elif _DATE.fullmatch(one) is None:
            return False
    return True


def _git(arguments: Sequence[str]) -> bool:
    """Nothing before its command but what says how it is shown: `-c` could name a program."""
    rest = list(arguments)
    while rest[:1] == ["--no-pager"]:
        rest = rest[1:]
    if not rest:
        return False
    name, *given = rest
    if name in _GIT:
        return _within(given, _GIT[name])
    if name in _GIT_LISTING:
        allowed = _matcher(_GIT_LISTING[name])
        listing = name in ("branch", "tag", "remote") or bool(given)
        return listing and all(allowed(one) for one in given)
    return False


def _within(arguments: Sequence[str], options: str, *, single: bool = False) -> bool:
    """Are all options among these? `single`: names and options may stand in any order."""
    allowed = _matcher(options)
    return all(allowed(one) for one in _options(arguments, ends=not single))


def _options(arguments: Sequence[str], *, ends: bool = True) -> Iterator[str]:
    for one in arguments:
        if one == "--" and ends:
            return
        if one.startswith("-") and one != "-":
            yield one


def _names(arguments: Sequence[str]) -> Iterator[str]:
    return (one for one in arguments if not one.startswith("-"))


@functools.cache
def _matcher(options: str) -> Callable[[str], object]:
    return re.compile("|".join(f"(?:{one})" for one in options.split())).fullmatch
