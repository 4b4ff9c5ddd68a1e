"""Words from outside stay words: what was read, and what is asked then. No I/O.

A page, a file, an answer of an MCP server or the result of a task may hold words that were put
there for a model to obey. Nobody can tell a model that obeys from one that does not, so the call
is judged: does it send something out, or write somewhere, that the user neither named nor said?
The facts are handed in: what was read, in which turn, and what the user said.

What was read counts as long as the model may know it: an order may be obeyed three turns later.
For writing, which can be undone, one more thing is let through: where only the user's own files
were read, the file that a turn began with is the one under discussion.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, Literal
from urllib.parse import urlsplit

import orjson

from vivavoce.language.en.answers import consent, plain, stops
from vivavoce.language.en.numbers import figures
from vivavoce.runtime.ports import ToolDefinition
from vivavoce.wire.clean import clean_line
from vivavoce.wire.records.talk import Entry, Kind
from vivavoce.wire.records.work import Task, TaskStatus
from vivavoce.wire.values import Value

LOOKED_BACK = 200
"""Entries of a conversation: about as much as a model may still know."""
WRITING = frozenset({"write_file", "edit_file"})
SENDING = frozenset({"web_fetch", "web_search", "task"})
"""And the tools of MCP servers."""

_NAME = 60  # characters of a source's name
_SEARCHED = 8  # files in the answer of one search: more is no discussion of a file
_RUN = 8  # words that may be one name: "p y p i dot org"
_SENTENCE = 4  # words in the name of a file, which is then no name

From = Literal["page", "search", "server", "described", "task", "tool", "file", "names", "command"]
_OWN = frozenset({"file", "names", "command"})
"""What the user's own folder brings."""
_BRINGS: Mapping[str, From] = {
    "web_search": "search",
    "read_file": "file",
    "grep": "file",
    "glob": "names",
    "bash": "command",
    "list_tasks": "task",
}
_NOTHING = frozenset(
    {"current_time", "calculate", "wait", "task", "cancel_task", "answer_task", "ask_user"}
    | {"write_file", "edit_file", "undo_change"}
)
"""Their answers are ours, or the user's own words."""


class Source(Value):
    """Where words came from."""

    kind: From
    name: str = ""

    @property
    def words(self) -> str:
        """As it is named to the user."""
        name = clean_line(self.name, _NAME)
        match self.kind:
            case "page":
                return f"the page {name}"
            case "search":
                return "the results of a web search"
            case "server":
                return f"an answer of the server {name}"
            case "described":
                return f"what the server {name} says of its tools"
            case "task":
                return f'the task "{name}"' if name else "what tasks have told"
            case "tool":
                return f"an answer of the tool {name}"
            case "file":
                return f"the file {name}" if name else "files"
            case "names":
                return "names of files"
            case "command":
                return "the output of a command"


class Read(Value):
    """Words that came in: from where, in this turn or before; of which files, or, for a search of
    the web, which addresses it found."""

    source: Source
    now: bool = True
    found: frozenset[str] = frozenset()


class Said:
    """All that the user said or typed, as words."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = tuple(texts)

    @cached_property
    def _words(self) -> list[str]:
        heard = " . ".join(self._texts)
        # "docs slash notes dot txt" names docs/notes.txt.
        return [one for one in plain(heard).replace("'", "").split() if one not in _SPOKEN_MARKS]

    @cached_property
    def _known(self) -> frozenset[str]:
        """Each word, each number as figures, and without the ending of a plural."""
        every = {*self._words, *(one for text in self._texts for one in _figured(text))}
        return frozenset(every | {_singular(one) for one in every})

    @cached_property
    def _runs(self) -> frozenset[str]:
        """Words that follow each other, as one: how a name or an address sounds."""
        words = self._words
        return frozenset(
            "".join(words[at : at + length])
            for at in range(len(words))
            for length in range(1, _RUN + 1)
        )

    def words(self, text: str) -> bool:
        """Does it hold no word beyond these? Those that say nothing do not count."""
        return all(
            one in _EMPTY_WORDS or _singular(one) in self._known or one in self._runs
            for one in _tokens(text)
        )

    def names(self, path: str) -> bool:
        """Was this file named, with or without its folder and its ending? One that other programs
        run or load must have been named as a whole."""
        place = PurePosixPath(_place(path))
        spellings = [str(place)]
        if not any(part.startswith(".") for part in place.parts[:-1]):
            spellings += [place.name]
            spellings += [] if loaded(path) else [place.stem]
        return any(_joined(one) in self._runs for one in spellings if _joined(one))

    def address(self, url: str) -> bool:
        """Was this address said, all of it?"""
        bare = re.sub(r"^\w+://|^www\.", "", url.strip().casefold())
        return _joined(re.sub(r"^www\.", "", bare)) in self._runs


_SPOKEN_MARKS = frozenset(
    {"dot", "slash", "dash", "hyphen", "underscore", "colon", "point", "http", "https", "www"}
)
_EMPTY_WORDS = frozenset(
    {"a", "an", "the", "of", "in", "on", "at", "to", "for", "and", "or", "is", "are", "was", "be"}
    | {"it", "its", "this", "that", "these", "those", "with", "from", "by", "as", "into", "about"}
    | {"then", "also", "please"}
)


def _tokens(text: str) -> list[str]:
    # A name in one word with capitals is as many words as it has.
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    return re.findall(r"[^\W_]+", parted.casefold())


def _figured(text: str) -> list[str]:
    return [word for one in figures(plain(text).split()) for word in _tokens(one)]


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


def _joined(text: str) -> str:
    return "".join(one for one in _tokens(text) if one not in _SPOKEN_MARKS)


class Facts(Value):
    """What a call is judged by. `delegated`: it is work that was handed over, whose subject are
    the user's files; what they say does not keep it from writing."""

    said: Said
    read: tuple[Read, ...] = ()
    delegated: bool = False
    edited: frozenset[tuple[str, str, str]] = frozenset()
    """What was put in the place of what, and where: it may be put back."""


# --- The decision


def concerns(tool: str, definition: ToolDefinition | None) -> bool:
    """Can it send or write at all? Of others nobody need know what was read."""
    of_server = definition is not None and bool(definition.server)
    return tool in WRITING or tool in SENDING or of_server


def source_to_name(
    tool: str,
    arguments: Mapping[str, Any],
    definition: ToolDefinition | None,
    facts: Facts,
    *,
    hosts: Sequence[str] = (),
) -> Source | None:
    """Whose words the user must be told of before this runs; None where there is no need to ask.

    `hosts` may be called whatever was read, with * in their names.
    """
    if tool in WRITING:
        return _of_writing(arguments, facts)
    of_server = definition is not None and bool(definition.server)
    if not facts.read or not (tool in SENDING or of_server):
        return None
    newest = facts.read[-1].source
    if of_server:
        assert definition is not None
        # The server's own answers and words do not make its own tools ask twice.
        others = [one.source for one in facts.read if one.source.name != definition.server]
        harmless = definition.trusted and not definition.changes
        return others[-1] if others and not harmless else None
    match tool:
        case "web_fetch":
            url = str(arguments.get("url", ""))
            # What a search found carries nothing but the search's own words.
            found = any(url in one.found for one in facts.read if one.source.kind == "search")
            fine = found or facts.said.address(url) or called(url, hosts)
            return None if fine else newest
        case "web_search":
            return None if facts.said.words(str(arguments.get("query", ""))) else newest
        case _:
            return None if facts.said.words(str(arguments.get("instruction", ""))) else newest


def _of_writing(arguments: Mapping[str, Any], facts: Facts) -> Source | None:
    foreign = [one.source for one in facts.read if one.source.kind not in _OWN]
    found = foreign or ([] if facts.delegated else [one.source for one in facts.read])
    if not found:
        return None
    path = str(arguments.get("path", ""))
    begun_with = not foreign and _place(path) in _under_discussion(facts.read)
    if facts.said.names(path) or (begun_with and not loaded(path)):
        return None
    old, new = arguments.get("old_string"), arguments.get("new_string")
    if isinstance(old, str) and isinstance(new, str):
        back = (_place(path), new, old) in facts.edited
        if back or _put_in(old, new, facts.said):
            return None
    return found[-1]


_LOADED = re.compile(
    r"(?:(?:gnu)?makefile|justfile|dockerfile|rakefile|gruntfile|gulpfile|vagrantfile|procfile|"
    r"package(?:-lock)?\.json|pyproject\.toml|setup\.(?:py|cfg)|conftest\.py|noxfile\.py|"
    r"(?:tox|pytest)\.ini|cargo\.toml|build\.rs|go\.mod|cmakelists\.txt|discoveries\.md|"
    r"[\w.-]+\.config\.[cm]?[jt]s|[\w.-]+\.(?:sh|bash|mk|bat|ps1|service|desktop))",
    re.IGNORECASE,
)


def loaded(path: str) -> bool:
    """Do other programs run or load it by its name: a build, a test, a shell, git, ourselves?"""
    place = PurePosixPath(_place(path))
    hidden = any(part.startswith(".") and part != ".." for part in place.parts)
    return hidden or _LOADED.fullmatch(place.name) is not None


_PLAIN = re.compile(r"[\w .,:'\"\n*\[\]-]{1,200}")
_TAKEN_OUT = 80  # characters


def _put_in(old: str, new: str, said: Said) -> bool:
    """Is all that is new what the user said, in the place of a few words? No sign that means
    something to a shell or a program may come with it."""
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    last = 0
    while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
        last += 1
    while first and new[first - 1].isalnum():  # whole words
        first -= 1
    while last and new[len(new) - last].isalnum():
        last -= 1
    put, gone = new[first : len(new) - last], old[first : len(old) - last]
    few = len(gone) <= _TAKEN_OUT and "\n" not in gone
    return few and _PLAIN.fullmatch(put) is not None and bool(_tokens(put)) and said.words(put)


def _under_discussion(read: Sequence[Read]) -> frozenset[str]:
    """The files that the turn began with. What is opened after the first words from outside may
    have been opened because of them."""
    first: frozenset[str] | None = None
    for one in read:
        if not one.now or one.source.kind == "names":
            continue
        if first is None:
            first = one.found if one.source.kind == "file" else frozenset()
        elif not one.found or not one.found <= first:
            break
    return first or frozenset()


def called(url: str, hosts: Sequence[str]) -> bool:
    """Is it at one of these hosts?"""
    try:
        host = (urlsplit(url if "://" in url else f"https://{url}").hostname or "").casefold()
    except ValueError:
        return False
    return any(fnmatchcase(host, pattern.casefold()) for pattern in hosts)


# --- The facts


Known = Callable[[str], ToolDefinition | None]


def read_by(tool: str, arguments: Mapping[str, Any], output: str, known: Known) -> Read | None:
    """What a call brought in; None where it was nothing of others."""
    definition = known(tool)
    if tool in _NOTHING or (definition is not None and definition.category == "intents"):
        return None
    there: frozenset[str] = frozenset()
    kind, name = _BRINGS.get(tool, "tool"), ""
    match tool:
        case "web_fetch":
            url = str(arguments.get("url", ""))
            kind, name = "page", urlsplit(url if "//" in url else f"//{url}").hostname or url
        case "read_file":
            name = str(arguments.get("path", ""))
            there = frozenset({_place(name)})
        case "grep":
            found = dict.fromkeys(re.findall(r"^([^\s:][^:\n]*?)[:-]\d+[:-]", output, re.MULTILINE))
            there = frozenset(map(_place, found)) if len(found) <= _SEARCHED else there
            name = next(iter(found)) if len(found) == 1 else ""
        case "glob":
            lines = output.splitlines()[1:]
            if not any(len(line.split()) >= _SENTENCE for line in lines if line[:1] != "("):
                return None  # names, and no more
            kind, name = "file", "whose name is a sentence"
        case "web_search":
            there = frozenset(re.findall(r"^   (https?://\S+)$", output, re.MULTILINE))
        case _ if definition is not None and definition.server:
            kind, name = "server", definition.server
        case _ if kind == "tool":
            name = tool
    return Read(Source(kind, name), found=there)


def _place(path: str) -> str:
    return str(PurePosixPath(path.strip().removeprefix("./")))


def of_conversation(
    entries: Sequence[Entry], tasks: Sequence[Task], known: Known, described: Sequence[str] = ()
) -> Facts:
    """`entries` in their order; `tasks` are the user's; `described` are servers whose words about
    their tools nobody has agreed to."""
    begun = _turn_began(entries)
    calls = {
        str(one.data.get("tool_call_id")): one.data.get("tool_arguments")
        for one in entries
        if one.kind is Kind.TOOL_CALL
    }
    read: list[tuple[datetime, Read]] = []
    for at, entry in enumerate(entries):
        if entry.kind is not Kind.TOOL_RESULT:
            continue
        arguments = calls.get(str(entry.data.get("tool_call_id")))
        given = arguments if isinstance(arguments, dict) else {}
        name = str(entry.data.get("tool_name", ""))
        one = read_by(name, given, entry.text, known)
        again = name == "read_output" and given.get("call_id") in calls
        if one is not None and not again and not _failed(entry, one):
            read.append((entry.created_at, Read(one.source, at >= begun, one.found)))
    since = entries[0].created_at if entries else None
    turn = entries[begun].created_at if begun < len(entries) else None
    for task in tasks:
        told_at = _told_at(task)
        if told_at is not None and since is not None and told_at >= since:
            now = turn is not None and told_at >= turn
            read.append((told_at, Read(Source("task", task.title), now)))
    read.sort(key=lambda one: one[0])
    said = Said(one.text for one in entries if one.kind is Kind.USER)
    words = [Read(Source("described", name)) for name in described]
    edits = [one for one in calls.values() if isinstance(one, dict) and "old_string" in one]
    edited = {
        (_place(str(one.get("path"))), str(one["old_string"]), str(one.get("new_string")))
        for one in edits
    }
    return Facts(said, (*words, *(one for _, one in read)), edited=frozenset(edited))


def _failed(entry: Entry, read: Read) -> bool:
    """What our own tools say of a failure is ours."""
    result = entry.data.get("tool_result")
    failed = isinstance(result, dict) and result.get("success") is False
    return failed and read.source.kind not in ("server", "tool")


def _told_at(task: Task) -> datetime | None:
    """When its words came to the model: how it ended, or what it asks."""
    if task.status in (TaskStatus.COMPLETED, TaskStatus.FAILED):
        return task.told_at or task.finished_at
    return None if task.question is None else task.question.asked_at


def _turn_began(entries: Sequence[Entry]) -> int:
    """Where the user last said something that is more than a yes, a no or a stop."""
    for at in range(len(entries) - 1, -1, -1):
        one = entries[at]
        if one.kind is Kind.USER and one.text and not consent(one.text) and not stops(one.text):
            return at
    return 0


# --- What a server says of its tools


def described_by(server: str, definitions: Iterable[ToolDefinition]) -> str:
    """One mark of all that it says: another word, another mark."""
    every = [
        [one.name, one.description, dict(one.parameters), one.changes]
        for one in definitions
        if one.server == server
    ]
    every.sort(key=lambda one: str(one[0]))
    return hashlib.sha256(orjson.dumps(every, option=orjson.OPT_SORT_KEYS)).hexdigest()
