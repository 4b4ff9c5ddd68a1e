"""Wishes that take several calls, carried out one call at a time. No I/O.

A flow is data (`wire.hints.Flow`): stages, each a tool with arguments made from what was said and
from what earlier stages found. `begin` and `resume` say which call comes next, or how it ended. To
the manager a flow is a tool: it answers with JSON, `told` being what its last reading made of the
result, or it says what is missing, with the files to choose from.

Which of several lines answers, or is the one to be changed, code cannot always say, nor which sum a
story asks for. Then a flow stops at a `Point` or a `Story`: whoever can read says what is meant
(`pointed`, `reckoned`), and what is told or written is made of that line or that sum.

Names are resolved before a tool gets them: a slot of the kind `file` is looked up among the files
of the workspace, from a listing of this talk. Two that fit are asked about, never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from vivavoce.brain.dialogue.flows.arguments import Missing, made
from vivavoce.brain.dialogue.flows.readings import POINTED, READINGS, answered
from vivavoce.brain.dialogue.flows.results import (
    Match,
    is_prose,
    joined,
    left_out,
    names_in,
    overlap,
    refusal,
    spoken_path,
)
from vivavoce.brain.dialogue.flows.tables import TABLES
from vivavoce.language.en import naming, reckoning
from vivavoce.language.en.dictation import dictated
from vivavoce.wire.hints import Flow, Hint, Slot, Stage
from vivavoce.wire.values import Record, Value

LOOK = "glob"
"""The tool that lists the files; a workspace without it has no names to resolve."""
_EVERYTHING = {"pattern": "**/*"}
_NUMBERS = 8
_NOT_CLEAR = "I'm not sure what you'd like to know there. Could you say it another way?"
_NO_SUM = "I'm not sure how these numbers go together. Could you say it as a sum?"
_STEPS = 24
"""Calls of one flow, at most: whatever a flow says, it ends."""


class Scene(Record):
    """What this talk has seen of the workspace."""

    files: tuple[str, ...] = ()
    file: str = ""
    """The last one that something was done with: "it", "that file"."""
    choices: tuple[str, ...] = ()
    """Those that were just asked about."""
    listed: tuple[str, ...] = ()
    """Those that were told last, in that order: "the second one", "the other file"."""
    name: str = ""
    """What was last looked for: "it", "that function"."""
    numbers: tuple[str, ...] = ()
    """What came of sums and counts, the last at the end: "and that times two", "the total"."""
    asked: str = ""
    """What was asked last of something in the files."""
    folder: str = ""
    """The last one that was made: "in there"."""
    value: str = ""
    """What was told last as an answer, as it is written there: "that name", "that number"."""


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
    tool: str = ""
    """Which is called now."""
    scene: Scene = Scene()


class Next(Value):
    """A call to be made."""

    running: Running
    tool: str
    arguments: Mapping[str, Any]


class Point(Value):
    """Which of these lines is meant, somebody has to say who can read. None of them may be."""

    running: Running
    question: str
    lines: tuple[Match, ...]

    @property
    def key(self) -> str:
        """The same question about the same lines is the same, whenever it is asked."""
        return "\n".join([self.question, *(f"{m.path}:{m.number}:{m.text}" for m in self.lines)])

    def overlap(self) -> list[float]:
        """By line: how much of what was asked it has, word by word. From 0 to 1."""
        return overlap(self.question, self.lines)

    def likeliest(self) -> tuple[int, ...]:
        """By words alone, where nobody can be asked: the one line that has the most, if it has at
        least half of what was asked."""
        rates = self.overlap()
        best = max(rates, default=0.0)
        fits = [at for at, rate in enumerate(rates) if rate == best]
        return tuple(fits) if best >= _HALF and len(fits) == 1 else ()


class Story(Value):
    """Which sum this story asks for, somebody has to say who can read."""

    running: Running
    text: str

    @property
    def key(self) -> str:
        return f"sum\n{self.text}"

    def likeliest(self) -> str:
        """By words alone, where nobody can be asked."""
        return naming.expression(self.text)


_HALF = 0.5


class End(Value):
    """How it came out, as a tool would tell it."""

    result: Mapping[str, Any]
    scene: Scene


Step = Next | Point | Story | End


def flows_in(hints: Mapping[str, Hint | None]) -> dict[str, Flow]:
    """The flows that these tools bring, by name, the first of a name; only those whose tools are
    all there."""
    found: dict[str, Flow] = {}
    for flow in (flow for hint in hints.values() if hint is not None for flow in hint.flows):
        if all(stage.do in hints for stage in flow.stages):
            found.setdefault(flow.name, flow)
    return found


_WORKSPACE = frozenset({LOOK, "grep", "read_file", "edit_file", "write_file", "bash", "task"})


def of_workspace(flow: Flow) -> bool:
    """Whether it is about the user's files and work: what is out in the world is not in it."""
    return all(stage.do in _WORKSPACE for stage in flow.stages)


def begin(flow: Flow, words: Mapping[str, Any], said: str, scene: Scene) -> Step:
    """`words` by the flow's parameters: as the user said them, or paths that they chose."""
    known = {name: value for name, value in words.items() if value not in (None, "")}
    # The same words twice are one thing: what is meant, and no file of that name.
    known = {
        name: value
        for name, value in known.items()
        if name not in flow.slots or flow.slots[name].kind != "file" or value != known.get("what")
    }
    if "from" in flow.slots and "what" not in known and "from" in known:
        known["what"] = known["from"]
    if "from" in flow.slots and (wrong := naming.misspelt_word(said)):
        known["what"] = wrong
    spoken = [n for n, v in known.items() if _is_words(flow, n) and not isinstance(v, list)]
    known |= {name: naming.amended(str(known[name]), said) for name in spoken}
    known |= {name: naming.whole_figure(str(known[name]), said) for name in spoken}
    if "what" in known:
        known["what"] = naming.pointed(str(known["what"]), said)
        pointing = _IT_NAMED.fullmatch(str(known["what"]).strip(" .!?")) is not None
        # "Rename it to apply voucher": what it becomes was copied for what it is.
        only_new = known["what"] == known.get("to") and _IT_BECOMES.search(said) is not None
        stays = "to" in known and naming.left_as_it_is(str(known["what"]), said)
        if scene.name and (pointing or only_new or stays):
            known["what"] = scene.name
        elif stays:
            del known["what"]
            spoken = [name for name in spoken if name != "what"]
    if ":content}" in flow.makes.get("what", "") and "what" in known:
        known["what"] = naming.dictated_part(str(known["what"]), said)
    if scene.value and flow.does == "act":
        known |= {name: naming.told_before(str(known[name]), scene.value) for name in spoken}
    written = {f"{name}_written": naming.literal(str(known[name])) for name in spoken}
    if flow.careful and _TAKEN_BACK.search(said):
        return End({"status": "dropped", "told": "All right, I leave it."}, scene)
    last = {"numbers": scene.numbers, "last": scene.name, "last_folder": scene.folder}
    known = {"said": said, **last, **written, **known}
    for name, template in flow.makes.items():
        with suppress(Missing):
            if found := made(template, known):
                known[name] = found[0]
    running = Running(flow=flow.name, known=known, scene=scene)
    if "what" in flow.slots and flow.slots["what"].required and "what" not in known:
        return _ask(flow, running, "what")
    if flow.does == "act" and _POINTS.fullmatch(str(known.get("what") or "").strip(" .!?")):
        return _ask(flow, running, "what")
    return _forward(flow, running)


_POINTS = re.compile(
    r"(?:the |that |this )?(?:(?:first|last|next|same|whole|other) )?"
    r"(?:line|one|thing|bit|part|text|file|it|that|this)(?: of (?:it|that|the file))?",
    re.IGNORECASE,
)
"""Words that point at something and are nothing to be written themselves."""
_IT_BECOMES = re.compile(
    r"\b(?:it|that|this)(?: one| function| name)?,? (?:to|as|into|be|should be|called)\b", re.I
)
_IT_NAMED = re.compile(
    r"(?:it|that|this|this one|that one|the same|"
    r"(?:that|this|the|the same) (?:function|method|class|name|constant|variable|setting|value))",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(
    r"\b(?:no,? (?:wait|hang on|don't|leave)|wait,? (?:no|wait)|leave it|don't|never mind|"
    r"actually,? no|scratch that|keep it)\b",
    re.IGNORECASE,
)
"""In the same breath as something that cannot be undone: then it is not done."""


def _is_words(flow: Flow, name: str) -> bool:
    return name in flow.slots and flow.slots[name].kind in ("words", "text")


def resume(flow: Flow, running: Running, output: str) -> Step:
    """After the result of the call that `begin` or `resume` asked for."""
    if running.looking:
        files = () if refusal(output) else names_in(output).there
        scene = replace(running.scene, files=files)
        return _forward(flow, replace(running, looking="", looked=True, scene=scene))
    stage = flow.stages[running.stage]
    if (why := refusal(output)) is not None:
        return _failed(running, why)
    reading = READINGS.get(stage.read)
    known = {**running.known, "files": running.scene.files}
    found = {"told": output} if reading is None else reading(output, known)
    if found is None:
        return _otherwise(flow, stage, running)
    return _found(flow, running, found)


def pointed(flow: Flow, running: Running, chosen: Sequence[int]) -> Step:
    """After a `Point`: which of its lines, by their places. None: it goes on without."""
    lines = [running.known["point"][at] for at in chosen]
    stage = flow.stages[running.stage]
    if "picked" in running.known:  # a command of the menu
        return _forward(flow, _with(running, {"picked": lines[0].path if lines else ""}))
    known = {k: v for k, v in running.known.items() if k not in ("point", "instead")}
    instead = running.known.get("instead")
    made = POINTED.get(stage.read, answered)(lines, known) if lines else instead
    running = replace(running, known=known)
    return _otherwise(flow, stage, running) if made is None else _found(flow, running, made)


def reckoned(flow: Flow, running: Running, expression: str) -> Step:
    """After a `Story`: the sum, if it has the numbers that were said and no others."""
    if not reckoning.holds(expression, str(running.known[flow.stages[running.stage].story])):
        return End({"status": "nothing", "told": _NO_SUM}, running.scene)
    return _forward(flow, _with(running, {"reckoned": expression}))


def _found(flow: Flow, running: Running, found: Mapping[str, Any]) -> Step:
    """On with what a reading made of a result."""
    stage = flow.stages[running.stage]
    known = {**running.known, **found}
    scene = _seen(running, found)
    running = replace(running, known=known, scene=scene)
    if "point" in found:
        return Point(running, _question(running), tuple(found["point"]))
    running = replace(running, attempt=0)
    if "ask" in found:
        return _ask(flow, running, str(found["ask"]))
    if "choices" in found:
        return _which(flow, running, list(found["choices"]))
    if stage.each and running.item + 1 < len(known[stage.each]):
        return _forward(flow, replace(running, item=running.item + 1))
    return _forward(flow, replace(running, stage=running.stage + 1, item=0))


_ELLIPTIC = 9
"""Words; more than that are a sentence that says what it is about."""


def _question(running: Running) -> str:
    """What is asked of some lines, with the question before it where it only goes on from there:
    "where is Maud based", "and what does she do?"."""
    said, before = str(running.known["said"]), running.scene.asked
    short = len(said.split()) <= _ELLIPTIC and _POINTS_BACK.search(said) is not None
    return f"{before} {said}" if before and short else said


def _seen(running: Running, found: Mapping[str, Any]) -> Scene:
    """What later turns can point at."""
    scene = running.scene
    listed = tuple(found.get("paths") or ())
    number = found.get("number", found.get("count"))
    named = bool(found.get("path")) and "what" in running.known
    return replace(
        scene,
        file=str(found.get("path") or scene.file),
        listed=listed if len(listed) > 1 else scene.listed,
        name=str(found.get("called") or "")
        or (naming.bare(str(running.known["what"])) if named else scene.name),
        numbers=scene.numbers if number is None else (*scene.numbers, str(number))[-_NUMBERS:],
        folder=str(found.get("made_folder") or scene.folder),
        value=str(found.get("value") or scene.value),
    )


def _forward(flow: Flow, running: Running) -> Step:
    """To the next call."""
    if running.calls >= _STEPS:
        return _failed(running, "that took too many steps")
    settled = _settled(flow, running)
    if not isinstance(settled, Running):
        return settled
    running = settled
    if str(running.known.get("file_path") or "").endswith(TABLES):
        running = _with(running, {"table": True})
    if str(running.known.get("where_path") or "").endswith(TABLES):
        running = _with(running, {"where_table": True})
    while running.stage < len(flow.stages):
        stage = flow.stages[running.stage]
        if _wanted(stage, running.known):
            return _call(flow, stage, running)
        running = replace(running, stage=running.stage + 1)
    told = running.known.get("told")
    if not told and (first := running.known.get("at_first")):
        return End({"status": "nothing", "told": str(first)}, running.scene)
    if not told and flow.does == "tell":
        said = running.known["said"]
        world = naming.of_the_world(said) or not naming.of_theirs(said)
        return End({"status": "general" if world else "nothing", "told": _NOT_CLEAR}, running.scene)
    if not told:
        lost = flow.does == "retract"
        return _failed(running, "that cannot be taken back" if lost else "nothing came of that")
    kept = {
        k: v for k, v in running.known.items() if k in ("told", "path") or k.startswith("undo_")
    }
    asked = str(running.known["said"]) if flow.does == "tell" else running.scene.asked
    return End({"status": "done", **kept}, replace(running.scene, choices=(), asked=asked))


def _wanted(stage: Stage, known: Mapping[str, Any]) -> bool:
    return all(
        bool(known.get(name.removeprefix("!"))) != name.startswith("!")
        for name in stage.when.split()
    )


def _call(flow: Flow, stage: Stage, running: Running) -> Step:
    known = {**running.known, "files": running.scene.files}
    if stage.each:
        known["item"] = known[stage.each][running.item]
    if known.get(stage.story) and "reckoned" not in known:
        return Story(running, str(known[stage.story]))
    try:
        ways = {name: made(value, known) for name, value in stage.given.items()}
    except Missing as missing:
        if flow.does == "retract":
            return _failed(running, "that cannot be taken back")
        if flow.menu and "picked" not in running.known:
            lines = tuple(Match(command, 0, use) for command, use in flow.menu.items())
            running = _with(running, {"point": lines, "picked": ""})
            return Point(running, str(running.known["said"]), lines)
        return _ask(flow, running, missing.slot)
    given = {n: w[min(running.attempt, len(w) - 1)] for n, w in ways.items() if w}
    tries = max(map(len, ways.values()), default=1)
    final = running.attempt + 1 >= tries
    now = {**running.known, "tries": tries, "final": final, "command": given.get("command", "")}
    now["pattern"] = given.get("pattern", "")
    running = replace(running, calls=running.calls + 1, known=now, tool=stage.do)
    return Next(running, stage.do, given)


def _otherwise(flow: Flow, stage: Stage, running: Running) -> Step:
    """Nothing of that in the result: another way, another place, or the truth."""
    if running.attempt + 1 < running.known["tries"]:
        return _forward(flow, replace(running, attempt=running.attempt + 1))
    if running.soft and not any(_needed(flow, one.removesuffix("_path")) for one in running.soft):
        known = {k: v for k, v in running.known.items() if k not in running.soft}
        known |= {name.replace("_path", "_none"): True for name in running.soft}
        return _forward(flow, replace(running, known=known, soft=(), attempt=0))
    if not stage.none and running.stage + 1 < len(flow.stages):
        return _forward(flow, replace(running, stage=running.stage + 1, attempt=0))
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
    return End({**result, "choices": choices}, replace(running.scene, choices=tuple(paths[:4])))


def filled(template: str, known: Mapping[str, Any]) -> str:
    """`{what}` as it was said, without what leads to it."""

    def value(found: re.Match[str]) -> str:
        given = known.get(found[1])
        if found[1].endswith("_path") and given:
            return spoken_path(str(given))
        if found[1] in ("in_file", "at_first"):
            return str(given)
        return naming.bare(str(given)) if given else found[2] or "that"

    return re.sub(r"\{(\w+)(?:\|([^}]*))?\}", value, template)


# --- Names in the workspace

_IT = re.compile(
    r"(?:in )?(?:it|that|this|there|here|the same|same|that one|this one|"
    r"(?:that|this|the|the same) (?:file|one|script))[.!?]*",
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
    if said and (_IT.fullmatch(said.strip()) or naming.part_of_it(said)):
        if scene.file:
            return _with(running, {f"{name}_path": scene.file})
        said = ""
    if said and (naming.everywhere(said) or left_out(said)):
        return _with(running, {f"{name}_none": True})
    if said in scene.files:
        return _with(running, {f"{name}_path": said})
    if said and (one := naming.picked(said, scene.choices).only):
        return _with(running, {f"{name}_path": one})
    if one := naming.pointed_file(said, scene.listed, scene.file):
        return _with(running, {f"{name}_path": one})
    if not said:
        return _mentioned(flow, name, running)
    if naming.points_at_one(said):
        needed = _needed(flow, name)
        return _ask(flow, running, name) if needed else _with(running, {f"{name}_none": True})
    if slot.of == "several" and not running.looked:
        return _look(running, name)
    if slot.of == "several" and (several := naming.several(said, scene.files)):
        return _with(running, {f"{name}_path": several[0], f"{name}_paths": list(several)})
    choice = naming.chosen(said, scene.files, folders=slot.many)
    if flow.careful and choice.only and not naming.names_it(said, choice.only):
        choice = naming.Choice(())  # nothing is lost that was not named
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
        # "Who wrote Things Fall Apart": it was never about a file.
        world = flow.does == "tell" and naming.of_the_world(running.known["said"], said)
        return End({"status": "general" if world else "nothing", "told": told}, scene)
    return _with(running, {f"{name}_none": True})


def _look(running: Running, name: str) -> Next:
    running = replace(running, looking=name, calls=running.calls + 1, tool=LOOK)
    return Next(running, LOOK, dict(_EVERYTHING))


def _mentioned(flow: Flow, name: str, running: Running) -> Running | Next | End:
    """Not in its slot, but perhaps in the sentence; or the file that the talk is about."""
    scene, said, needed = running.scene, running.known["said"], _needed(flow, name)
    if flow.slots[name].of in ("table", "beside") and not running.looked:
        return _look(running, name)
    if flow.slots[name].of == "table":
        return _table_meant(flow, name, running)
    if flow.slots[name].of == "beside":
        first = PurePosixPath(str(running.known.get("file_path") or ""))
        there = [PurePosixPath(one) for one in scene.files if one != str(first)]
        alike = [one for one in there if one.parent == first.parent and one.suffix == first.suffix]
        if len(alike) == 1:
            return _with(running, {f"{name}_path": str(alike[0])})
        return _ask(flow, running, name)
    if one := naming.pointed_file(said, scene.listed, scene.file):
        return _with(running, {f"{name}_path": one})
    anywhere = needed or flow.slots[name].of == "any"
    choice = naming.mentioned(said, scene.files, anywhere=anywhere)
    if not choice.fits and not running.looked and (anywhere or naming.leads_to_place(said)):
        return _look(running, name)
    if len(choice.fits) > 1 and needed:
        return _which(flow, running, list(choice.fits))
    path = choice.only or ""
    points = _POINTS_BACK.search(said)
    if not path and ((anywhere and points) or flow.slots[name].of == "last"):
        path = scene.file
    if path and flow.slots[name].of == "new" and not (is_prose(path) or path.endswith(TABLES)):
        path = ""  # nobody adds a line to a program by the way: "run the report and tell me …"
    if path:
        soft = replace(running, soft=(*running.soft, f"{name}_path"))
        return _with(soft, {f"{name}_path": path})
    return _with(running, {f"{name}_none": True})


def _table_meant(flow: Flow, name: str, running: Running) -> Running | End:
    """The one table that there is, that is named, or that was just spoken of."""
    scene, said = running.scene, running.known["said"]
    there = [one for one in scene.files if one.endswith(TABLES)]
    spoken = set(map(naming.stem, naming.pieces(said)))
    named = [
        one for one in there if {*map(naming.stem, naming.pieces(PurePosixPath(one).stem))} & spoken
    ]
    for fits in (naming.mentioned(said, there, anywhere=True).fits, named, there):
        if len(fits) == 1:
            return _with(running, {f"{name}_path": fits[0]})
    if scene.file in there and not named:
        return _with(running, {f"{name}_path": scene.file})
    return _which(flow, running, list(named or there)) if there else _ask(flow, running, name)


_POINTS_BACK = re.compile(
    r"(?i)\b(?:it|that|this|the file|there|he|she|they|him|her|them|his|hers?|their)\b"
)


def _with(running: Running, values: Mapping[str, Any]) -> Running:
    return replace(running, known={**running.known, **values})


def _needed(flow: Flow, name: str) -> bool:
    """Some stage cannot do without it."""
    given = (str(value) for stage in flow.stages for value in stage.given.values())
    return any(re.search(rf"\{{{name}_path[!:]", one) for one in given)
