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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from fnmatch import fnmatchcase, translate
from functools import cache
from pathlib import PurePosixPath
from typing import Any, Literal

import orjson

from vivavoce.language.en.addresses import read
from vivavoce.language.en.answers import answer as replied
from vivavoce.language.en.answers import chosen, consent, goes_back, plain, stops
from vivavoce.language.en.said import Said, tokens
from vivavoce.runtime.ports import ToolDefinition
from vivavoce.wire.clean import clean_line
from vivavoce.wire.records.talk import Entry, Kind
from vivavoce.wire.records.work import Task, TaskStatus
from vivavoce.wire.values import Value

LOOKED_BACK = 500  # entries that are read at once
FURTHEST = 4_000
"""Entries; of what lies behind them nobody knows what was read. However long ago it was: a long
call may still have all of it, and the gist of a talk keeps what was said of it."""
_EARLIER = timedelta(seconds=10)  # before the first entry: what was told as the talk began
TASKS = 100  # of the user's tasks, likewise
WRITING = frozenset({"write_file", "edit_file", "undo_change"})
SENDING = frozenset({"web_fetch", "web_search", "task", "answer_task"})
"""And the tools of MCP servers; and intents, which somebody acts on, and whose words every later
session is told as its user's goals and tasks."""

_NAME = 60  # characters of a source's name
_MORE = re.compile(r"\(\d+ more\)")
"""What `glob` says last of a long list."""
_SEARCHED = 8  # files in the answer of one search: more is no discussion of a file
_LONG_NAME = 40  # characters of a name that is none
_MANY_WORDS = 8  # in one name
_SENTENCE = 4  # words, parted by spaces or with one among them that is said to somebody

From = Literal[
    "page",
    "search",
    "server",
    "described",
    "task",
    "tool",
    "file",
    "names",
    "told names",
    "command",
    "earlier",
    "other key",
]
_OWN = frozenset({"file", "names", "told names", "command"})
"""What the user's own folder brings."""
_BRINGS: Mapping[str, From] = {
    "web_search": "search",
    "read_file": "file",
    "edit_file": "file",
    "grep": "file",
    "glob": "names",
    "bash": "command",
    "list_tasks": "task",
}
_NOTHING = frozenset(
    {"current_time", "calculate", "wait", "task", "cancel_task", "answer_task", "ask_user"}
    | {"write_file", "undo_change"}
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
            case "names" | "told names":
                return "names of files"
            case "command":
                return "the output of a command"
            case "earlier":
                return "what came earlier"
            case "other key":
                return "what was said with a lesser key"


class Read(Value):
    """Words that came in: from where, in this turn or before; of which files, or, for a search of
    the web, which addresses it found."""

    source: Source
    now: bool = True
    found: frozenset[str] = frozenset()


class Asked(Value):
    """What a task asks, and what the user said since."""

    task_id: str
    choices: tuple[str, ...]
    since: tuple[str, ...]


class Edit(Value):
    """What was put in the place of what, and where: it may be put back."""

    place: str
    old: str
    new: str
    everywhere: bool = False


class Facts(Value):
    """What a call is judged by. `delegated`: it is work that was handed over, whose subject are
    the user's files; what they say does not keep it from writing."""

    said: Said
    read: tuple[Read, ...] = ()
    delegated: bool = False
    edited: frozenset[Edit] = frozenset()
    turn: tuple[str, ...] = ()
    """What the user said in this turn, bare answers included."""
    asked: tuple[Asked, ...] = ()

    @property
    def goes_back(self) -> bool:
        return any(map(goes_back, self.turn))


# --- The decision


def concerns(tool: str, definition: ToolDefinition | None) -> bool:
    """Can it send or write at all? Of others nobody need know what was read."""
    harmless = definition is None or (definition.trusted and not definition.changes)
    if _is_foreign(definition):
        return not harmless
    return tool in WRITING or tool in SENDING or _is_intent(definition)


def _is_foreign(definition: ToolDefinition | None) -> bool:
    """A tool of somebody else's is no tool of ours, whatever it is called."""
    return definition is not None and bool(definition.server)


def _is_intent(definition: ToolDefinition | None) -> bool:
    return definition is not None and definition.category == "intents"


def source_to_name(
    tool: str,
    arguments: Mapping[str, Any],
    definition: ToolDefinition | None,
    facts: Facts,
    *,
    hosts: Sequence[str] = (),
    place: str | None = None,
) -> Source | None:
    """Whose words the user must be told of before this runs; None where there is no need to ask.

    `hosts` may be called whatever was read, with * in their names. `place` is where a file really
    is that is to be written, None where nobody knows.
    """
    if not facts.read:
        return None
    if definition is not None and _is_foreign(definition):
        return _of_server(definition, facts)
    if tool in WRITING:
        return _of_writing(tool, arguments, place, facts)
    match tool:
        case "web_fetch":
            fine = _may_open(str(arguments.get("url", "")), facts, hosts)
        case "web_search":
            fine = facts.said.words(str(arguments.get("query", "")))
        case "task":
            fine = facts.said.words(str(arguments.get("instruction", "")))
        case "answer_task":
            fine = _answered(arguments, facts)
        case _ if definition is not None and _is_intent(definition):
            fine = all(map(facts.said.words, _told(arguments, definition)))
        case _:
            fine = True
    return None if fine else facts.read[-1].source


def _of_server(definition: ToolDefinition, facts: Facts) -> Source | None:
    # The server's own answers and words do not make its own tools ask twice.
    own = (Source("server", definition.server), Source("described", definition.server))
    others = [one.source for one in facts.read if one.source not in own]
    harmless = definition.trusted and not definition.changes
    return others[-1] if others and not harmless else None


_COUNTED = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?(Z|[+-]\d\d:?\d\d)?|FREQ=[A-Z0-9;=,+-]+"
)
"""A time or a rule, as models write down what the user said in words."""
_ID = re.compile(r"\S{1,64}")


def _told(arguments: Mapping[str, Any], definition: ToolDefinition) -> Iterator[str]:
    """The words in it, without what is one of a few values, and without names of what there is."""
    schemas = definition.parameters.get("properties")
    for name, value in arguments.items():
        schema = schemas.get(name) if isinstance(schemas, Mapping) else None
        few = schema.get("enum") if isinstance(schema, Mapping) else None
        if few and value in few:
            continue
        for text in _strings(value):
            named = name.endswith("_id") and _ID.fullmatch(text)
            if text.strip() and not named and not _COUNTED.fullmatch(text):
                yield text


def _strings(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for one in value.values():
                yield from _strings(one)
        case list() | tuple():
            for one in value:
                yield from _strings(one)


def _may_open(url: str, facts: Facts, hosts: Sequence[str]) -> bool:
    # What a search found carries nothing but the search's own words.
    found = any(url in one.found for one in facts.read if one.source.kind == "search")
    return found or facts.said.address(url) or called(url, hosts)


_BARE_NO = frozenset({"no", "nope", "no thanks", "no thank you", "don't", "do not"})


def _answered(arguments: Mapping[str, Any], facts: Facts) -> bool:
    """Is this what the user said to what was asked? What they said before it was no answer, and a
    yes is theirs to give."""
    answer, task_id = str(arguments.get("answer", "")), str(arguments.get("task_id", ""))
    asking = [one for one in facts.asked if one.task_id == task_id] or facts.asked
    # A question of a running call is kept nowhere: the turn is what was said to it.
    since = asking[0].since if len(asking) == 1 else facts.turn
    if consent(answer) == "yes" or plain(answer) in _BARE_NO:
        return any(replied(one) == consent(answer) for one in since)
    choices = asking[0].choices if len(asking) == 1 else ()
    picked = {choices[at] for one in since for at in chosen(choices, one)}
    return answer in picked or Said(since).words(answer)


def _of_writing(
    tool: str, arguments: Mapping[str, Any], place: str | None, facts: Facts
) -> Source | None:
    foreign = [one.source for one in facts.read if one.source.kind not in _OWN]
    own = [] if facts.delegated else [one.source for one in facts.read]
    found = foreign or own
    if not found or (tool == "undo_change" and facts.goes_back):
        return None
    if tool == "undo_change" or place is None:
        return found[-1]
    program = loaded(place)
    if facts.said.names(place, whole=program):
        return None
    # Names alone are little to obey, but enough for what is run later.
    names_only = all(one.kind == "names" for one in found)
    begun_with = not foreign and place in _under_discussion(facts.read)
    if not program and (names_only or begun_with):
        return None
    fine = tool == "edit_file" and _edits_as_said(arguments, place, facts)
    return None if fine else found[-1]


def _edits_as_said(arguments: Mapping[str, Any], place: str, facts: Facts) -> bool:
    old, new = arguments.get("old_string"), arguments.get("new_string")
    if not isinstance(old, str) or not isinstance(new, str):
        return False
    back = {Edit(place, new, old, everywhere=True)}
    if arguments.get("replace_all") is not True:
        back.add(Edit(place, new, old))
    put_back = facts.goes_back and bool(back & facts.edited)
    return put_back or _put_in(old, new, facts.said)


_LOADED = """
    makefile gnumakefile makefile.* *.mk *.mak *.am justfile taskfile taskfile.y*ml rakefile
    gruntfile* gulpfile* vagrantfile procfile jenkinsfile* dockerfile* containerfile* *.dockerfile
    docker-compose* compose.y*ml compose.*.y*ml earthfile tiltfile brewfile guardfile capfile
    fastfile podfile* berksfile gemfile* pipfile* build workspace build.bazel workspace.bazel
    module.bazel *.bzl *.bazel sconstruct sconscript wscript configure configure.* cmakelists.txt
    *.cmake meson.build meson_options.txt *.gradle *.gradle.kts gradle* gradlew* mvnw* pom.xml
    build.xml build.sbt build.rs build.zig build.clj build.pl makefile.pl cpanfile *.nix flake.lock
    cargo.toml cargo.lock go.mod go.sum go.work package.swift mix.exs mix.lock rebar.config
    project.clj deps.edn stack.yaml *.cabal dune dune-project config.ru *.gemspec *.podspec
    *.csproj *.vbproj *.fsproj *.vcxproj *.sln *.props *.targets
    package.json package-lock.json npm-shrinkwrap.json yarn.lock pnpm-*.yaml bun.lock* deno.json*
    deno.lock composer.json composer.lock nx.json turbo.json lerna.json angular.json vercel.json
    tsconfig*.json jsconfig*.json pubspec.y*ml *.config.js *.config.cjs *.config.mjs *.config.ts
    *.config.cts *.config.mts *.setup.js *.setup.ts
    pyproject.toml setup.py setup.cfg sitecustomize.py usercustomize.py *.pth conftest.py
    noxfile.py fabfile.py dodo.py manage.py wsgi.py asgi.py hatch_build.py conf.py *.conf.py
    tox.ini pytest.ini mypy.ini alembic.ini uwsgi.ini pylintrc pyvenv.cfg poetry.lock uv.lock
    pdm.lock *requirements*.txt *requirements*.in *constraints*.txt environment.y*ml
    azure-pipelines.y*ml bitbucket-pipelines.y*ml appveyor.y*ml cloudbuild.y*ml buildspec.y*ml
    serverless.y*ml skaffold.y*ml render.y*ml mkdocs.y*ml chart.y*ml helmfile.y*ml playbook.y*ml
    lefthook.y*ml netlify.toml fly.toml mise.toml book.toml wrangler.toml ansible.cfg crontab
    discoveries.md agents.md agents.*.md agent.md claude.md claude.*.md gemini.md memory.md
    skill.md warp.md conventions.md copilot-instructions.md *.prompt.md *.mdc llms*.txt
    agent.y*ml mcp*.json opencode.json*
    *.sh *.bash *.zsh *.fish *.csh *.ksh *.bat *.cmd *.ps1 *.psm1 *.vbs *.command *.service
    *.timer *.socket *.desktop *.plist *.code-workspace *.so *.dll *.dylib *.pyd *.jar *.exe
"""
"""By name, * as in a shell: builds and what they take in, package managers, interpreters, services
that run what a repository says, agents that take a file for orders (ourselves among them)."""


@cache
def _loaded() -> re.Pattern[str]:
    return re.compile("|".join(map(translate, _LOADED.split())))


def loaded(path: str) -> bool:
    """Do other programs run or load it by its name: a build, a test, a shell, git, ourselves?"""
    place = PurePosixPath(placed(path))
    hidden = any(part.startswith(".") and part != ".." for part in place.parts)
    return hidden or _loaded().match(place.name.casefold()) is not None


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
    return few and _PLAIN.fullmatch(put) is not None and bool(tokens(put)) and said.words(put)


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
    """Is it at one of these hosts? By the reading that it would be opened by."""
    address = read(url)
    return address is not None and any(
        fnmatchcase(address.host, pattern.casefold()) for pattern in hosts
    )


# --- The facts


Known = Callable[[str], ToolDefinition | None]


def read_by(
    tool: str,
    arguments: Mapping[str, Any],
    output: str,
    known: Known,
    *,
    success: bool = True,
) -> Read | None:
    """What a call that ran brought in; None where it was nothing of others."""
    definition = known(tool)
    if definition is not None and _is_foreign(definition):
        return Read(Source("server", definition.server))
    if tool in _NOTHING or _is_intent(definition):
        return None
    there: frozenset[str] = frozenset()
    kind, name = _BRINGS.get(tool, "tool"), ""
    match tool:
        case "web_fetch":
            url = str(arguments.get("url", ""))
            address = read(url)
            kind, name = "page", url if address is None else address.host
        case "read_file" | "edit_file":
            name = str(arguments.get("path", ""))
            there = frozenset({placed(name)})
        case "grep":
            found = dict.fromkeys(re.findall(r"^([^\s:][^:\n]*?)[:-]\d+[:-]", output, re.MULTILINE))
            there = frozenset(map(placed, found)) if len(found) <= _SEARCHED else there
            name = next(iter(found)) if len(found) == 1 else ""
        case "glob":
            names = [line for line in output.splitlines()[1:] if not _MORE.fullmatch(line)]
            if not names:
                return None
            kind = "told names" if any(map(tells, names)) else "names"
        case "web_search":
            there = frozenset(re.findall(r"^   (https?://\S+)$", output, re.MULTILINE))
        case _ if kind == "tool":
            name = tool
    # What our own tools say of a failure is ours; but an edit shows what is there instead.
    if not success and kind not in ("server", "tool") and tool != "edit_file":
        return None
    return Read(Source(kind, name), found=there)


_ORDINARY = re.compile(r"[\w.,@+~()\[\]&#=' -]+")
_TO_SOMEBODY = frozenset(
    {"please", "the", "this", "that", "these", "you", "your", "me", "must", "should", "now", "into"}
    | {"then", "ignore", "instead", "send", "write", "open", "put", "tell", "user", "assistant"}
)


def tells(path: str) -> bool:
    """Does the name of a file say something? Spaces are not needed for that."""
    parts = path.rstrip("/").split("/")
    if len(path.split()) >= _SENTENCE:
        return True
    if any(len(one) > _LONG_NAME or not _ORDINARY.fullmatch(one) for one in parts):
        return True
    words = tokens(path)
    to_somebody = len(words) >= _SENTENCE and not _TO_SOMEBODY.isdisjoint(words)
    return to_somebody or any(len(tokens(one)) > _MANY_WORDS for one in parts)


def placed(path: str) -> str:
    """A path as it is given, in one spelling."""
    return str(PurePosixPath(path.strip().removeprefix("./")))


def of_conversation(
    entries: Sequence[Entry],
    tasks: Sequence[Task],
    known: Known,
    described: Sequence[str] = (),
    *,
    whole: bool = True,
    lesser: Collection[str] = (),
    plans: bool = False,
) -> Facts:
    """`entries` in their order; `tasks` are the user's; `described` are servers whose words about
    their tools nobody has agreed to. Not `whole`: there was more, and nobody knows what. `lesser`
    are sessions in which nobody speaks for whoever asks now: all of them is from outside; and
    `plans`: so is some of what every session is told of its user."""
    entries = [one for one in entries if one.session_id not in lesser]
    begun = _turn_began(entries)
    calls = {
        str(one.data.get("tool_call_id")): one.data.get("tool_arguments")
        for one in entries
        if one.kind is Kind.TOOL_CALL
    }
    read = _under_way(entries, begun, known)
    edited: set[Edit] = set()
    for at, entry in enumerate(entries):
        if entry.kind is not Kind.TOOL_RESULT or entry.data.get("ran") is False:
            continue
        arguments = calls.get(str(entry.data.get("tool_call_id")))
        given = arguments if isinstance(arguments, dict) else {}
        name = str(entry.data.get("tool_name", ""))
        success = _succeeded(entry)
        one = read_by(name, given, entry.text, known, success=success is not False)
        again = name == "read_output" and given.get("call_id") in calls
        if one is not None and not again:
            read.append((entry.created_at, Read(one.source, at >= begun, one.found)))
        if name == "edit_file" and success and "old_string" in given:
            edited.add(_edit(given))
    since = entries[0].created_at - _EARLIER if entries else None
    turn = entries[begun].created_at if begun < len(entries) else None
    for task in tasks:
        waits = task.told_at is None  # told at the beginning of every talk, until it was told
        for told_at in _told_at(task):
            if waits or (since is not None and told_at >= since):
                now = turn is not None and told_at >= turn
                read.append((told_at, Read(Source("task", task.title), now)))
    read.sort(key=lambda one: one[0])
    spoken = [one for one in entries if one.kind is Kind.USER]
    before = [Read(Source("described", name)) for name in described]
    if not whole:
        before.append(Read(Source("earlier"), now=False))
    if lesser or plans:
        before.append(Read(Source("other key")))
    return Facts(
        Said(one.text for one in spoken),
        (*before, *(one for _, one in read)),
        edited=frozenset(edited),
        turn=tuple(one.text for one in entries[begun:] if one.kind is Kind.USER),
        asked=tuple(_asked(one, spoken) for one in tasks if one.question is not None),
    )


def _edit(given: Mapping[str, Any]) -> Edit:
    old, new = str(given["old_string"]), str(given.get("new_string"))
    return Edit(placed(str(given.get("path"))), old, new, given.get("replace_all") is True)


def _asked(task: Task, spoken: Sequence[Entry]) -> Asked:
    assert task.question is not None
    asked_at = task.question.asked_at
    since = tuple(one.text for one in spoken if one.created_at >= asked_at)
    return Asked(task.id, task.question.choices, since)


def _succeeded(entry: Entry) -> bool | None:
    """Did it bring in what it was to bring? None where nobody wrote it down."""
    result = entry.data.get("tool_result")
    if isinstance(result, dict) and result.get("output"):
        return True  # a command that failed was read all the same
    success = result.get("success") if isinstance(result, dict) else None
    return success if isinstance(success, bool) else None


def _under_way(entries: Sequence[Entry], begun: int, known: Known) -> list[tuple[datetime, Read]]:
    """Calls of others' tools without a result: what they ask the user, the model is told."""
    over = {one.data.get("tool_call_id") for one in entries if one.kind is Kind.TOOL_RESULT}
    found: list[tuple[datetime, Read]] = []
    for at, one in enumerate(entries):
        if one.kind is Kind.TOOL_CALL and one.data.get("tool_call_id") not in over:
            read = read_by(str(one.data.get("tool_name", "")), {}, "", known)
            if read is not None and read.source.kind in ("server", "tool"):
                found.append((one.created_at, Read(read.source, at >= begun)))
    return found


def _told_at(task: Task) -> list[datetime]:
    """When its words came to the model: what it asked last, answered or not, and how it ended."""
    asked = task.asked_at if task.question is None else task.question.asked_at
    over = task.status in (TaskStatus.COMPLETED, TaskStatus.FAILED)
    ended = (task.told_at or task.finished_at) if over else None
    return [at for at in (asked, ended) if at is not None]


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
