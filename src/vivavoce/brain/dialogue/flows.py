"""Wishes that take several calls, carried out one call at a time. No I/O.

A flow is data (`wire.hints.Flow`): stages, each a tool with arguments made from what was said and
from what earlier stages found. `begin` and `resume` say which call comes next, or how it ended. To
the manager a flow is a tool: it answers with JSON, `told` being what its last reading made of the
result, or it says what is missing, with the files to choose from.

Names are resolved before a tool gets them: a slot of the kind `file` is looked up among the files of
the workspace, from a listing of this talk. Two that fit are asked about, never guessed.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from vivavoce.brain.dialogue.results import READINGS, joined, names_in, refusal, spoken_path
from vivavoce.language.en import naming
from vivavoce.language.en.dictation import dictated
from vivavoce.wire.hints import Flow, Hint, Slot, Stage
from vivavoce.wire.values import Record, Value

LOOK = "glob"
"""The tool that lists the files; a workspace without it has no names to resolve."""
_EVERYTHING = {"pattern": "**/*"}
_STEPS = 24
"""Calls of one flow, at most: whatever a flow says, it ends."""


class Scene(Record):
    """What this talk has seen of the workspace."""

    files: tuple[str, ...] = ()
    file: str = ""
    """The last one that something was done with: "it", "that file"."""


class Running(Record):
    """A flow that waits for a result."""

    flow: str
    known: Mapping[str, Any]
    """Slots as they were said, `said`, and what was made and found so far."""
    stage: int = 0
    attempt: int = 0
    """Which of the ways to search for it."""
    item: int = 0
    looking: str = ""
    """The slot whose file is looked for."""
    looked: bool = False
    soft: tuple[str, ...] = ()
    """Paths that were only mentioned: without them where they lead to nothing."""
    calls: int = 0
    scene: Scene = Scene()


class Next(Value):
    """A call to be made."""

    running: Running
    tool: str
    arguments: Mapping[str, Any]


class End(Value):
    """How it came out, as a tool would tell it."""

    result: Mapping[str, Any]
    scene: Scene


def flows_in(hints: Mapping[str, Hint | None]) -> dict[str, Flow]:
    """The flows that these tools bring, by name; only those whose tools are all there."""
    every = (flow for hint in hints.values() if hint is not None for flow in hint.flows)
    return {flow.name: flow for flow in every if all(s.do in hints for s in flow.stages)}


def begin(flow: Flow, words: Mapping[str, Any], said: str, scene: Scene) -> Next | End:
    """`words` by the flow's parameters: as the user said them, or paths that they chose."""
    known = {name: value for name, value in words.items() if value not in (None, "")}
    written = {f"{n}_written": naming.literal(str(known[n])) for n in known if _is_words(flow, n)}
    known = {"said": said, **written, **known}
    if "what_written" in known:
        known["what_line"] = f"{known['what_written']}\n"
    if _FILES.search(str(known.get("what") or "")):
        known["counts_files"] = True
    return _forward(flow, Running(flow=flow.name, known=known, scene=scene))


_FILES = re.compile(r"\b(?:files?|scripts?|documents?|modules?|pictures?|images?)\b", re.IGNORECASE)


def _is_words(flow: Flow, name: str) -> bool:
    return name in flow.slots and flow.slots[name].kind in ("words", "text")


def resume(flow: Flow, running: Running, output: str) -> Next | End:
    """After the result of the call that `begin` or `resume` asked for."""
    if running.looking:
        files = () if refusal(output) else names_in(output).there
        scene = replace(running.scene, files=files)
        return _forward(flow, replace(running, looking="", looked=True, scene=scene))
    stage = flow.stages[running.stage]
    if (why := refusal(output)) is not None:
        return _failed(running, why)
    reading = READINGS.get(stage.read)
    found = {"told": output} if reading is None else reading(output, running.known)
    if found is None:
        return _otherwise(flow, stage, running)
    known = {**running.known, **found}
    scene = replace(running.scene, file=str(found.get("path") or running.scene.file))
    running = replace(running, known=known, scene=scene, attempt=0)
    if "choices" in found:
        return _which(flow, running, list(found["choices"]))
    if stage.each and running.item + 1 < len(known[stage.each]):
        return _forward(flow, replace(running, item=running.item + 1))
    return _forward(flow, replace(running, stage=running.stage + 1, item=0))


def _forward(flow: Flow, running: Running) -> Next | End:
    """To the next call."""
    if running.calls >= _STEPS:
        return _failed(running, "that took too many steps")
    settled = _settled(flow, running)
    if not isinstance(settled, Running):
        return settled
    running = settled
    while running.stage < len(flow.stages):
        stage = flow.stages[running.stage]
        if _wanted(stage, running.known):
            return _call(flow, stage, running)
        running = replace(running, stage=running.stage + 1)
    told = running.known.get("told")
    if not told:
        return _failed(running, "nothing came of that")
    kept = {k: running.known[k] for k in ("told", "path", "undo") if k in running.known}
    return End({"status": "done", **kept}, running.scene)


def _wanted(stage: Stage, known: Mapping[str, Any]) -> bool:
    name = stage.when.removeprefix("!")
    return not stage.when or bool(known.get(name)) != stage.when.startswith("!")


def _call(flow: Flow, stage: Stage, running: Running) -> Next | End:
    item = {"item": known[running.item]} if (known := running.known.get(stage.each)) else {}
    try:
        ways = {
            name: _made(flow, value, {**running.known, **item, "files": running.scene.files})
            for name, value in stage.given.items()
        }
    except Missing as missing:
        return _ask(flow, running, missing.slot)
    given = {
        name: values[min(running.attempt, len(values) - 1)]
        for name, values in ways.items()
        if values
    }
    made = {f"{stage.do}_command": given["command"]} if "command" in given else {}
    if str(given.get("command", "")).startswith("git "):
        made["git_command"] = given["command"]
    known_ = {**running.known, **made, "tries": max(map(len, ways.values()), default=1)}
    return Next(replace(running, calls=running.calls + 1, known=known_), stage.do, given)


def _otherwise(flow: Flow, stage: Stage, running: Running) -> Next | End:
    """Nothing of that in the result: another way, another place, or the truth."""
    if running.attempt + 1 < running.known["tries"]:
        return _forward(flow, replace(running, attempt=running.attempt + 1))
    if running.soft:
        known = {k: v for k, v in running.known.items() if k not in running.soft}
        known |= {name.replace("_path", "_none"): True for name in running.soft}
        return _forward(flow, replace(running, known=known, soft=(), attempt=0))
    words = stage.none[0] if stage.none else "I find nothing of that."
    known = dict(running.known)
    paths = [str(path) for name, path in known.items() if name.endswith("_path")]
    known["in_file"] = f"in {spoken_path(paths[0])}" if paths else "in the files"
    return End({"status": "nothing", "told": filled(words, known)}, running.scene)


def _failed(running: Running, why: str) -> End:
    return End({"success": False, "error": why}, running.scene)


def _ask(flow: Flow, running: Running, slot: str) -> End:
    hint = flow.slots.get(slot, Slot())
    question = hint.questions[0] if hint.questions else f"Which {hint.name or slot}?"
    result = {
        "success": False,
        "error": "",
        "question": filled(question, running.known),
        "missing": [slot],
    }
    return End(result, running.scene)


def _which(flow: Flow, running: Running, paths: list[str]) -> End:
    slot = next((name for name, one in flow.slots.items() if one.kind == "file"), "")
    shown = [spoken_path(path, paths) for path in paths[:4]]
    choices = [
        {"id": path, "kind": "file", "title": name}
        for path, name in zip(paths[:4], shown, strict=True)
    ]
    question = f"Which one do you mean, {joined(shown, 'or')}?"
    result = {"success": False, "error": "", "question": question, "missing": [slot]}
    return End({**result, "choices": choices}, running.scene)


def filled(template: str, known: Mapping[str, Any]) -> str:
    """`{what}` as it was said, without what leads to it."""

    def value(found: re.Match[str]) -> str:
        given = known.get(found[1])
        if found[1].endswith("_path") and given:
            return spoken_path(str(given))
        if found[1] == "in_file":
            return str(given)
        return naming.bare(str(given)) if given else found[2] or "that"

    return re.sub(r"\{(\w+)(?:\|([^}]*))?\}", value, template)


# --- Names in the workspace

_IT = re.compile(
    r"(?:it|that|this|there|here|the same|same|that one|this one|(?:that|this|the|the same) (?:file|one|script))[.!?]*",
    re.IGNORECASE,
)


def _settled(flow: Flow, running: Running) -> Running | Next | End:
    """Every file that the flow speaks of is a path, or is nowhere."""
    for name, slot in flow.slots.items():
        if (
            slot.kind != "file"
            or f"{name}_path" in running.known
            or f"{name}_none" in running.known
        ):
            continue
        said = str(running.known.get(name) or "")
        found = _path(flow, name, said, running)
        if not isinstance(found, Running):
            return found
        running = found
    return running


def _path(flow: Flow, name: str, said: str, running: Running) -> Running | Next | End:
    scene, slot = running.scene, flow.slots[name]
    if said and _IT.fullmatch(said.strip()):
        if scene.file:
            return _with(running, {f"{name}_path": scene.file})
        said = ""
    if said and naming.everywhere(said):
        return _with(running, {f"{name}_none": True})
    if said in scene.files:
        return _with(running, {f"{name}_path": said})
    if not said:
        return _mentioned(flow, name, running)
    choice = naming.chosen(said, scene.files, folders=slot.many)
    if not choice.fits and not running.looked:
        return _look(running, name)
    if choice.only:
        return _with(running, {f"{name}_path": choice.only.rstrip("/")})
    if choice.fits and (_needed(flow, name) or slot.of == "new"):
        return _which(flow, running, list(choice.fits))
    if choice.fits:
        return _with(running, {f"{name}_none": True, "among": choice.fits})
    if _needed(flow, name) and slot.of != "new":
        told = f"I don't find a file called {naming.bare(dictated(said))} here."
        return End({"status": "nothing", "told": told}, scene)
    return _with(running, {f"{name}_none": True})


def _look(running: Running, name: str) -> Next:
    return Next(replace(running, looking=name, calls=running.calls + 1), LOOK, dict(_EVERYTHING))


def _mentioned(flow: Flow, name: str, running: Running) -> Running | Next | End:
    """Not in its slot, but perhaps in the sentence; or the file that the talk is about."""
    scene, said, needed = running.scene, running.known["said"], _needed(flow, name)
    choice = naming.mentioned(said, scene.files)
    if not choice.fits and not running.looked and (needed or naming.leads_to_place(said)):
        return _look(running, name)
    if len(choice.fits) > 1 and needed:
        return _which(flow, running, list(choice.fits))
    path = choice.only or ""
    if not path and needed and re.search(r"\b(?:it|that|this|the file|there)\b", said, re.I):
        path = scene.file
    if path:
        soft = replace(running, soft=(*running.soft, f"{name}_path"))
        return _with(soft, {f"{name}_path": path})
    return _with(running, {f"{name}_none": True})


def _with(running: Running, values: Mapping[str, Any]) -> Running:
    return replace(running, known={**running.known, **values})


def _needed(flow: Flow, name: str) -> bool:
    """Some stage cannot do without it."""
    given = (str(value) for stage in flow.stages for value in stage.given.values())
    return any(re.search(rf"\{{{name}_path[!:]", one) for one in given)


# --- Arguments

_PART = re.compile(r"\{(?P<name>\w+)(?P<must>!)?(?::(?P<way>\w+))?\}")


class Missing(Exception):
    """Something that nobody said, and that the call needs."""

    def __init__(self, slot: str) -> None:
        self.slot = slot


def _made(flow: Flow, template: Any, known: Mapping[str, Any]) -> tuple[Any, ...]:
    """What an argument can be, the likeliest first; nothing where it is left out."""
    if not isinstance(template, str):
        return (template,)
    whole = _PART.fullmatch(template)
    if whole is None:
        texts = {one["name"]: _values(flow, one, known) for one in _PART.finditer(template)}
        if not all(texts.values()):
            return ()
        return (_PART.sub(lambda one: str(texts[one["name"]][0]), template),)
    return _values(flow, whole, known)


def _values(flow: Flow, part: re.Match[str], known: Mapping[str, Any]) -> tuple[Any, ...]:
    name, way = part["name"], part["way"]
    slot = name.removesuffix("_path")
    given = known.get(name)
    if way is None:
        if given in (None, "") and part["must"]:
            raise Missing(slot)
        return () if given in (None, "") else (given,)
    made = WAYS[way](str(given or ""), known)
    if not made:
        raise Missing(slot)
    return made


def _spelt(text: str, known: Mapping[str, Any]) -> tuple[str, ...]:
    return naming.patterns(text) if text else ()


def _settings(text: str, known: Mapping[str, Any]) -> tuple[str, ...]:
    old = str(known.get("from_written") or "")
    made = naming.settings(text) if text else ()
    return (*made, *naming.patterns(old)[:2]) if old else made


_KINDS = {
    "test": r"^\s*(?:(?:async )?def test_|(?:it|test)\(|func Test|#\[test\])",
    "function": r"^\s*(?:export )?(?:async )?(?:def|function|func|fn) ",
    "method": r"^\s+(?:async )?(?:def|function|func|fn) ",
    "class": r"^\s*(?:export )?class ",
    "import": r"^\s*(?:import|from|use|require)\b",
    "line": r"^",
    "comment": r"^\s*(?:#|//)",
}


def _counted(text: str, known: Mapping[str, Any]) -> tuple[str, ...]:
    """A kind of line that code has, or a text."""
    said = naming.pieces(text)
    rest = naming.telling(text)
    for word in said:
        kind = naming.stem(word)
        pattern = next((p for name, p in _KINDS.items() if naming.stem(name) == kind), None)
        if pattern and all(
            naming.stem(one) == kind or one in ("unit", "case", "cases") for one in rest
        ):
            return (pattern,)
    return naming.patterns(text) if text else ()


def _literal(text: str, known: Mapping[str, Any]) -> tuple[str, ...]:
    made = naming.literal(text)
    return (made,) if made else ()


def _git(text: str, known: Mapping[str, Any]) -> tuple[str, ...]:
    said = f"{text} {known['said']}".lower()
    if re.search(r"\bcommit(?:s|ted)?\b|\blog\b|\bhistory\b", said) and "uncommitted" not in said:
        return ("git log --oneline -5",)
    if re.search(r"\bbranch(?:es)?\b", said):
        return ("git branch --show-current",)
    return (
        ("git diff --stat",) if re.search(r"\bdiff(?:erences?)?\b", said) else ("git status -sb",)
    )


_PROGRAMS = (
    "pytest ls pwd wc git make npm npx yarn pnpm node python python3 pip uv ruff mypy black isort "
    "flake8 cargo rustc go docker kubectl curl cat echo df du free date uname whoami env which ps "
    "top uptime head tail sort grep rg find tree java mvn gradle tsc eslint prettier jest tox nox "
    "sqlite3 psql redis-cli bash sh hostname"
).split()
_STARTERS = {".py": "python3", ".sh": "bash", ".js": "node", ".ts": "npx tsx", ".rb": "ruby"}
_JOBS = (
    (r"\b(?:lint(?:er|ing)?|ruff)\b", "ruff check ."),
    (r"\btype[ -]?check(?:er|ing|s)?\b|\bmypy\b", "mypy ."),
    (r"\b(?:build)\b", "make build"),
    (r"\bdisk (?:space|usage)\b|\bspace (?:is )?left\b", "df -h ."),
    (r"\bfree memory\b|\bmemory\b|\bram\b", "free -h"),
    (r"\bformatter\b", "ruff format ."),
)


def _program(text: str, known: Mapping[str, Any]) -> tuple[str, ...]:
    """A command as it was dictated, or the one by which such a job is done."""
    if path := known.get("file_path"):
        start = _STARTERS.get(PurePosixPath(str(path)).suffix)
        if start:
            return (f"{start} {shlex.quote(str(path))}",)
    said = _command_words(text)
    first = said.split(" ", 1)[0].lower()
    if first in _PROGRAMS:
        return (said[: len(first)].lower() + said[len(first) :],)
    for sounds, line in _JOBS:
        if re.search(sounds, text or known["said"], re.IGNORECASE):
            return (line,)
    return ()


def _command_words(text: str) -> str:
    said = dictated(text).strip().strip(".!?\"'`")
    said = re.sub(r"^(?:the )?(?:command|program)\s+", "", said, flags=re.IGNORECASE)
    said = re.sub(r"\b(?:dash|minus) (?:dash|minus) (?=\w)", "--", said, flags=re.IGNORECASE)
    said = re.sub(r"\b(?:dash|minus) (?=\w\b)", "-", said, flags=re.IGNORECASE)
    return re.sub(r"\s+(?:for me|please|again|now)$", "", said, flags=re.IGNORECASE)


def _new_path(text: str, known: Mapping[str, Any]) -> tuple[str, ...]:
    """A name for a file that is not there yet."""
    if path := known.get("file_path"):
        return (str(path),)
    said = naming.bare(dictated(text))
    if written := re.search(r"[\w./-]*\w\.\w+", said):
        return (written[0],)
    words = naming.pieces(said)
    return ("_".join(words) + ".txt",) if words else ()


def _instruction(text: str, known: Mapping[str, Any]) -> tuple[str, ...]:
    said = (text or known["said"]).strip()
    return (said,) if len(said) > 2 else ()


def _globs(text: str, known: Mapping[str, Any]) -> tuple[str, ...]:
    return naming.globs(text) if text else ("**/*",)


_ZONES = {
    "london": "Europe/London", "new york": "America/New_York", "tokyo": "Asia/Tokyo",
    "paris": "Europe/Paris", "berlin": "Europe/Berlin", "sydney": "Australia/Sydney",
    "los angeles": "America/Los_Angeles", "san francisco": "America/Los_Angeles",
    "california": "America/Los_Angeles", "chicago": "America/Chicago", "delhi": "Asia/Kolkata",
    "india": "Asia/Kolkata", "mumbai": "Asia/Kolkata", "singapore": "Asia/Singapore",
    "hong kong": "Asia/Hong_Kong", "dubai": "Asia/Dubai", "toronto": "America/Toronto",
    "dublin": "Europe/Dublin", "madrid": "Europe/Madrid", "rome": "Europe/Rome",
    "amsterdam": "Europe/Amsterdam", "warsaw": "Europe/Warsaw", "lagos": "Africa/Lagos",
    "nairobi": "Africa/Nairobi", "beijing": "Asia/Shanghai", "shanghai": "Asia/Shanghai",
    "seoul": "Asia/Seoul", "moscow": "Europe/Moscow", "boston": "America/New_York",
    "seattle": "America/Los_Angeles", "denver": "America/Denver", "auckland": "Pacific/Auckland",
    "utc": "UTC", "germany": "Europe/Berlin", "japan": "Asia/Tokyo", "lisbon": "Europe/Lisbon",
}  # fmt: skip


def _zone(text: str, known: Mapping[str, Any]) -> tuple[str, ...]:
    low = f"{text}".lower()
    return tuple(zone for place, zone in _ZONES.items() if re.search(rf"\b{place}\b", low))[:1]


def _single(make: Callable[[str], str]) -> Callable[[str, Mapping[str, Any]], tuple[str, ...]]:
    def way(text: str, known: Mapping[str, Any]) -> tuple[str, ...]:
        made = make(text) or make(str(known["said"]))
        return (made,) if made else ()

    return way


def _quoted(text: str, known: Mapping[str, Any]) -> tuple[str, ...]:
    return (shlex.quote(text),) if text else ()


def _moved(text: str, known: Mapping[str, Any]) -> tuple[str, ...]:
    """Where a file goes: another name beside it, or a folder."""
    old = PurePosixPath(str(known.get("file_path") or ""))
    said = naming.bare(dictated(text))
    folder = naming.chosen(text, known.get("files") or (), folders=True).only or ""
    if folder.endswith("/"):
        return (shlex.quote(f"{folder}{old.name}"),)
    written = re.search(r"[\w./-]*\w\.\w+", said)
    name = written[0] if written else "_".join(naming.pieces(said)) + old.suffix
    return (shlex.quote(name if "/" in name else str(old.parent / name)),) if said else ()


WAYS: Mapping[str, Callable[[str, Mapping[str, Any]], tuple[Any, ...]]] = {
    "spelt": _spelt,
    "setting": _settings,
    "counted": _counted,
    "literal": _literal,
    "glob": _globs,
    "git": _git,
    "program": _program,
    "new": _new_path,
    "instruction": _instruction,
    "zone": _zone,
    "sum": _single(naming.expression),
    "url": _single(naming.address),
    "quoted": _quoted,
    "moved": _moved,
}
"""How words become an argument: by the name that a template gives after the colon."""
