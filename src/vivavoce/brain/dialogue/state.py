"""What a talk is about, as values: the wishes, what was asked, what was done, and what comes next;
and what can be wished for: the hints of a session's tools, made up from the schema where a tool has
none, so that any tool of any agent can be talked about.

Everything here can be made again from the turns of an `Ask` (`following`): nothing is kept
elsewhere, so that a guess costs nothing and a restart forgets nothing that counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any, Literal

from vivavoce.brain.dialogue.flows.carrying import Point, Running, Scene, Story, flows_in
from vivavoce.wire.brain import Tool
from vivavoce.wire.hints import Briefing, Hint, Slot, SlotKind, Thing, hint_of
from vivavoce.wire.values import Record, Value


class World(Record):
    """What holds during one turn."""

    hints: Mapping[str, Hint]
    """By the tool's name; tools without hints have made-up ones (`hint`)."""
    plain: frozenset[str] = frozenset()
    """The tools without hints."""
    briefing: Briefing = Briefing()
    now: datetime
    """Aware, in the user's zone."""


class Wish(Record):
    """Something the user wants, with what is known of it so far."""

    number: int
    """Rises through the talk; no two wishes have the same."""
    tool: str
    values: Mapping[str, Any] = field(default_factory=dict)
    """By parameter: what would be submitted."""
    words: Mapping[str, str] = field(default_factory=dict)
    """By parameter: as the user said it, also what could not be made a value of."""
    said: str = ""
    """All that was said of it, with what the model copied nothing from."""
    many: tuple[str, ...] = ()
    """Ids, where the wish is about several things and the tool is called for each."""
    left: tuple[str, ...] = ()
    """Ids of which one is meant; empty where words were said and nothing fits them."""
    gone: tuple[str, ...] = ()
    """Ids of what its words name that is not there any more."""
    agreed: bool = False
    """The user said yes to doing it to all of them."""
    easy: tuple[str, ...] = ()
    """Parameters of which the user said that it does not matter."""
    asked: tuple[str, ...] = ()
    """Parameters that were asked for already: what is not needed is asked for once."""
    refused: int = 0
    """How often the tool did not take it."""
    refuted: Mapping[str, Any] = field(default_factory=dict)
    """By parameter: what it did not take, which may be right with what is said next."""
    problem: str = ""
    """The question that a refusal brought."""
    wanted: str = ""
    """The parameter that it is about."""
    amends: Deed | None = None
    """It corrects what this did: only what is said anew is in `values`."""
    retracts: Deed | None = None
    """It takes back what this did."""
    replaces: Deed | None = None
    """It is done instead of this, which is taken back first, once nothing is missing any more."""
    after: int = 0
    """Only once the wish of this number went through: it comes instead of what that takes back."""


class Asked(Record):
    """The question that waits for an answer."""

    wish: int
    kind: Literal["slot", "which", "sure"]
    """For words; for one of several things; for a yes."""
    slot: str = ""
    choices: tuple[str, ...] = ()
    """Ids of things."""
    text: str = ""


class Deed(Record):
    """What came of one call."""

    wish: Wish
    tool: str
    arguments: Mapping[str, Any]
    ok: bool
    result: Mapping[str, Any] = field(default_factory=dict)
    """As it was told; empty where it could not be read."""
    things: tuple[Thing, ...] = ()
    text: str = ""
    """The result of a tool that answers in words."""


class State(Record):
    agenda: tuple[Wish, ...] = ()
    """What is not done yet, the open wish first."""
    asked: Asked | None = None
    pending: tuple[Wish, str, Mapping[str, Any]] | None = None
    """Whose result is waited for: the wish, the tool, the arguments."""
    made: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    """Of this turn: all calls, whatever came of them."""
    running: Running | None = None
    """Of a flow: how far it is. `pending` has its name then."""
    scene: Scene = field(default_factory=Scene)
    """What flows have seen of the workspace."""
    done: tuple[Deed, ...] = ()
    """Of this turn: told when all of it is back."""
    last: tuple[Deed, ...] = ()
    """What was submitted last and went through, all of that turn: corrections and `undo` are about
    it."""
    last_turn: int = 0
    """When that was."""
    things: Mapping[str, Thing] = field(default_factory=dict)
    """Those of the briefing, as results changed them; gone ones are not `open`."""
    looked: Wish | None = None
    """The question that was answered last: "and on Friday?" is that of another day."""
    view: tuple[str, ...] = ()
    """Ids of what was last told or asked about, in that order: "the second one", "that"."""
    listed: tuple[str, ...] = ()
    """Ids of the last several that were told together: one of them may be spoken of later."""
    notes: tuple[str, ...] = ()
    """Of this turn: what else is to be told."""
    said: str = ""
    """The user's last words."""
    told: str = ""
    """The assistant's."""
    turn: int = 0
    wishes: int = 0
    """How many there have been."""
    unclear: int = 0
    """Turns in a row that nothing could be made of."""
    free: bool = False
    """Of this turn: it was small talk, and nothing else."""


class Say(Value):
    text: str
    free: bool = False
    """Small talk: whoever can may say something of its own instead (`claims` says what not)."""


class Do(Value):
    tool: str
    arguments: Mapping[str, Any]


Act = Say | Do | Point | Story
"""To point is to say which of some lines is meant: whoever can read does (`manager.pointed`)."""


class Step(Value):
    state: State
    acts: tuple[Act, ...]


class View(Record):
    """What whoever understands the next utterance needs to know."""

    things: Sequence[Thing]
    """Those that may be meant, the likelier first."""
    told: str
    """The assistant's last line."""
    wishes: Mapping[str, Sequence[str]]
    """The wishes that can be begun, by their word, with the short names of their slots."""
    answers: Sequence[str]
    """Short names of the slots that `Fill` can have now: of what was asked, or what was last
    submitted."""
    asked: str = ""
    """The short name of the slot that was asked for."""
    yes_no: bool = False
    """A yes or a no would answer."""
    undo: bool = False
    drop: bool = False


_DEEPEST, _NULL = 8, {"type": "null"}
_FILES = frozenset({"path", "file", "filename", "file_path", "filepath"})


_FAILED = frozenset({"failed", "error", "refused", "rejected", "cancelled", "denied", "timeout"})


def worked(result: Mapping[str, Any]) -> bool:
    """Whether a tool that answered this did what it was called for."""
    return (
        bool(result)
        and result.get("success", True) is True
        and not result.get("error")
        and str(result.get("status", "")).casefold() not in _FAILED
    )


def world(tools: Iterable[Tool], now: datetime) -> World:
    tools = tuple(tools)
    given = {tool.name: hint(tool) for tool in tools}
    plain = frozenset(tool.name for tool in tools if hint_of(tool.parameters) is None)
    hints = {name: one for name, one in given.items() if one.wish} | flows_in(given)
    told = [one.briefing for one in given.values() if one.briefing is not None]
    taught = [one.lessons for one in given.values() if one.lessons is not None]
    if taught and hints:  # whoever carried them may be there only for flows
        first = next(iter(hints))
        hints[first] = hints[first].model_copy(update={"lessons": taught[0]})
    briefing = told[0] if told else Briefing()
    return World(hints=hints, plain=plain & set(hints), briefing=briefing, now=now)


def makes(hint: Hint) -> bool:
    """Something new, in the user's words; not about what is there."""
    kinds = {slot.kind for slot in hint.slots.values() if slot.required}
    return hint.does == "act" and "words" in kinds and "thing" not in kinds


def moves(hint: Hint) -> bool:
    """Something of the user's gets another time."""
    kinds = {(slot.kind, slot.required) for slot in hint.slots.values()}
    timed = ("time", True) in kinds or ("time", False) in kinds
    return hint.does == "act" and timed and ("thing", True) in kinds


def makers(world: World) -> frozenset[str]:
    """The wishes for something new."""
    return frozenset(hint.wish for hint in world.hints.values() if makes(hint))


def changers(world: World) -> frozenset[str]:
    """The wishes that something is done to one of the user's things."""
    return frozenset(
        hint.wish
        for hint in world.hints.values()
        if hint.does == "act" and any(s.kind == "thing" and s.required for s in hint.slots.values())
    )


def hint(tool: Tool) -> Hint:
    """The tool's own, completed by its schema; else one that its schema makes up."""
    schema = tool.parameters or {}
    given = hint_of(schema)
    properties: Mapping[str, Any] = schema.get("properties") or {}
    required = set(schema.get("required") or ())
    if given is None:
        made = {n: _slot(n, plain(of, schema), n in required) for n, of in properties.items()}
        wish = tool.name.replace("_", " ").replace("-", " ").strip() or tool.name
        about = (tool.description.strip().splitlines() or [""])[0]
        # Nobody knows whether it changes something: its result is told, and nothing beside it.
        return Hint(wish=wish, about=about, does="tell", slots=made)
    slots = {}
    for name, slot in given.slots.items():
        of = plain(properties.get(name, {}), schema)
        chosen = slot.choices or _choices(of)
        changes: dict[str, Any] = {"name": slot.name or name}
        if slot.kind == "choice" and not slot.choices:
            changes["choices"] = chosen
            changes["boolean"] = _boolean(of)
        if name in required and not slot.required_when:
            changes["required"] = True
        slots[name] = slot.model_copy(update=changes)
    if given.does in ("amend", "retract"):  # their parameters come from what was submitted
        every = {n: _slot(n, plain(of, schema), False) for n, of in properties.items()}
        slots = every | slots
    return given.model_copy(update={"slots": slots})


def _slot(name: str, schema: Mapping[str, Any], required: bool) -> Slot:
    choices = _choices(schema)
    kind: SlotKind = "words"
    if choices:
        kind = "choice"
    elif schema.get("type") in ("integer", "number"):
        kind = "number"
    elif schema.get("format") in ("date-time", "date"):
        kind = "time"
    elif name in _FILES:
        kind = "file"
    about = str(schema.get("description") or "")
    return Slot(
        name=name,
        kind=kind,
        about=about,
        required=required,
        choices=choices,
        boolean=_boolean(schema),
        exact=schema["format"] if kind == "time" else "",
    )


def plain(schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is meant by a schema that only refers to one, or lets its value be none."""
    of = schema if isinstance(schema, Mapping) else {}
    for _ in range(_DEEPEST):
        kinds = of.get("type")
        either = [one for one in of.get("anyOf") or of.get("oneOf") or () if one != _NULL]
        if isinstance(where := of.get("$ref"), str):
            inner: Any = root
            for part in where.removeprefix("#/").split("/"):
                inner = inner.get(part) if isinstance(inner, Mapping) else None
        elif len(either) == 1:
            inner = either[0]
        elif isinstance(kinds, list) and len(left := [one for one in kinds if one != "null"]) == 1:
            return {**of, "type": left[0]}
        else:
            return of
        beside = {key: of[key] for key in ("description",) if key in of}
        of = {**inner, **beside} if isinstance(inner, Mapping) else beside
    return of


def _boolean(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "boolean"


def _choices(schema: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    if _boolean(schema):
        return {"true": ("yes", "true", "on"), "false": ("no", "false", "off")}
    values = [one for one in schema.get("enum") or () if isinstance(one, str)]
    return {one: (one.replace("_", " "),) for one in values}
