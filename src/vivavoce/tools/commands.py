"""What a shell command does, by its parsed form: does it only read?

For asking: a command that only reads needs no yes. Decided by a grammar of bash, not by how the
command begins, and by lists of what is known to read: programs, and of those that could do more
the options too. Whatever is not understood is not read-only. It is not what keeps a command from
writing: one that only reads is run where nothing can be written (`bash.py`).
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
_FINE = re.compile(r"(?:[12]|&)?>>?\s*/dev/null|2>\s*&1|[12]>&[12]|<\s*[\w./-]+")
"""Redirections: to nowhere, to the other output, from a file."""

_ANY = (
    "ls pwd cat head tail wc nl tac rev cut tr fold paste join comm cmp diff stat du df basename "
    "dirname realpath readlink echo true false test [ seq md5sum sha1sum sha256sum whoami id uname "
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
    "date": "-u --utc -I\\w* --iso-8601(=.*)? -R -d --date=.* \\+.*",
    "tree": "-[adfpsugDhiFL]+ -I -P --du --dirsfirst --gitignore --noreport",
    "jq": "-[cnrjaSCMe]+ --raw-output --compact-output --slurp --null-input --sort-keys --arg",
    "file": "-[biLkhz]+ --brief --mime --mime-type",
    "find": "-(name|iname|path|ipath|type|size|mtime|mmin|newer|maxdepth|mindepth|empty|not|and|or"
    "|a|o|print|print0|regex|iregex|perm|user|ls|prune|readable|executable|L|P|H|xdev|depth"
    "|regextype|wholename|true|false) ! ",
}
"""By programs: the options that only read; others may run a program, or write a file."""
_SHOWING = (
    "--stat --shortstat --numstat --name-only --name-status --oneline --graph --all --patch -p -u "
    "--no-patch -s --cached --staged --color(=.*)? --no-color --word-diff(=.*)? -[0-9]+ -n\\d* "
    "--max-count=\\d+ --since=.* --until=.* --after=.* --before=.* --author=.* --grep=.* "
    "--format=.* --pretty(=.*)? --abbrev-commit --decorate(=.*)? --reverse --first-parent --merges "
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


def reads_only(command: str) -> bool:
    """Does it change nothing, whoever wrote it and whatever is in the folder?"""
    if len(command) > _LONGEST or "\0" in command:
        return False
    parser = _parser()
    if parser is None:  # without the grammar nothing is known to
        return False
    root = parser.parse(command.encode()).root_node
    return not root.has_error and bool(root.named_children) and _reads(root)


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
    bare = False
    for child in node.children:
        if child.type == "command_name":
            child = child.children[0] if child.children else child
        word = _word(child)
        if word is None:
            return False
        # A name in the folder may look like an option: what the shell fills in is not known.
        bare = bare or (child.type == "word" and _GLOB.search(word) is not None)
        words.append(word)
    if not words:
        return False
    name, *arguments = words
    if name in _ANY.split():
        return True
    if bare and "--" not in arguments:
        return False
    return _known(name, arguments)


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


def _known(name: str, arguments: Sequence[str]) -> bool:
    if name == "git":
        return _git(arguments)
    if name == "command":
        return arguments[:1] == ["-v"]
    if name in ("uniq", "xxd"):  # the second name is written
        plain = all(re.fullmatch(r"-[cdiuprs]|-[lcsg]\d+", one) for one in _options(arguments))
        return plain and "-r" not in arguments and sum(1 for _ in _names(arguments)) <= 1
    for programs, options in _OPTIONS.items():
        if name in programs.split():
            return _within(arguments, options, single=name == "find")
    return False


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
