"""What a tool tells a brain that is not trusted to hold the thread of a talk by itself.

A tool's JSON Schema may have the key `x-vivavoce` (`KEY`): how a wish for the tool sounds, what its
slots are, how they are asked for, how what came of it is told. One tool of a session carries the
*briefing* too: the agent's own words, and what is known of the user. Providers that are not ours
never see the key. A tool without one gets defaults from its schema (`brain.dialogue`).

A tool that has such hints answers with JSON. Where it did something: `status`, the values that can
be told (`title`, `when`, …, in resolved words), and `things`, those of the user's that it changed,
as they are now. What names it later (`intent_id`) is there under the name that it has as a
parameter of the tools that `amend` and `retract`; a tool that amends takes the new values as
`changes`, by the parameters of what is corrected. Where it did nothing: `success: false` with
`error`, and, if the user can help, `question`, `missing` (names of parameters) and `choices`
(things to choose from).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from vivavoce.errors import SAID

KEY = "x-vivavoce"

SlotKind = Literal["words", "time", "repeat", "place", "thing", "choice", "number", "file", "text"]
"""`words` are the user's own; `time` and `repeat` are read by the clock; `thing` is one of the
user's things (`Thing`); `file` is a name in the workspace; `text` is written, not said."""


OCCASIONS: Mapping[str, str] = {
    "cannot": "it does not do such a thing",
    "chat": "small talk",
    "unclear": "nothing to go by",
    "unclear_again": "and once more",
    "dropped": "what was begun is let go",
    "bye": "thanks, or a goodbye",
    "more": "asked now and then once something went through",
    "nothing": "there is nothing on the list, or not then",
    "which": "several could be meant: {choices}",
    "none": "none is called that; there are {choices}",
    "closed": "what is meant was done or deleted in this talk: {title}",
    "conditional": "it shall be done only if something is so, which nobody checks",
    "same_time": "it is to be when it is already: {title}, {when}",
    "take_time": "they ask for a moment",
    "none_at_all": "none is called that, and there are no others",
    "sure": "before several are changed at once: {count}, {choices}",
    "undone": "what was submitted last is taken back",
    "nothing_to_undo": "there is nothing to take back",
    "nothing_to_change": "a correction of nobody knows what",
    "failed": "it did not work: {error}",
    "unknown": "no result came",
    "slow": "said to who waits",
    "unheard": "nothing was heard, first the first time, last from then on",
    "typing": "added to the last of `unheard` where the user can type",
    **dict.fromkeys(SAID, "a fault: the first while it is tried again, the last when not"),
}
"""When an agent has a sentence of its own to say, and what is in braces then besides `{name}`."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)


class Slot(_Part):
    """One parameter of the tool, as a user fills it."""

    name: str = ""
    """How commands call it, in one short word (`what`, `when`); by default the parameter's name."""
    kind: SlotKind = "words"
    about: str = ""
    required: bool = False
    required_when: dict[str, tuple[Any, ...]] = {}
    """Needed where each of these parameters has one of these values."""
    worth_asking: bool = False
    """Not needed, and still worth one question."""
    questions: tuple[str, ...] = ()
    """How it is asked for; `{title}` and the like are filled with what is known already."""
    of: str = ""
    """Of a `thing`: which kind, such as `task`."""
    many: bool = False
    """Of a `thing`: several may be meant at once; the tool is then called for each."""
    choices: dict[str, tuple[str, ...]] = {}
    """Of a `choice`: its values, each with the words that people call it by; without them those
    of the schema's `enum`, by their own names."""
    boolean: bool = False
    """Of a `choice` between `true` and `false`: they are handed over as such, not as words."""
    exact: Literal["", "date-time", "date"] = ""
    """Of a `time`: handed over as ISO 8601 has it, and not in the user's words."""
    derived: dict[str, Any] = {}
    """Never said: it has this value where that other parameter is filled."""


class Shown(_Part):
    """What somebody says and what it means: teaches the brain, and is near to what is like it."""

    said: str
    asked: str = ""
    """What the assistant had said before."""
    things: tuple[str, ...] = ()
    """The user's things at that time, each as it is shown to the brain."""
    slots: dict[str, str] = {}
    """By a slot's short name, in words of `said`."""


class Told(_Part):
    """What somebody says and what it means, in the notation of commands (`brain.dialogue`): for
    what a tool's own examples cannot show, such as several wishes in one breath, or a yes."""

    said: str
    asked: str = ""
    things: tuple[str, ...] = ()
    means: str


class Fixed(dict[str, Any]):
    """What is the same in every session of an agent, as it is told: made once and shared, so nobody
    may change it. A recording names it by its digest; nothing is decided by what is in it."""

    @cached_property
    def digest(self) -> str:
        return sha256(json.dumps(self, sort_keys=True).encode()).hexdigest()[:16]


class Lessons(_Part):
    """How people speak to an agent, carried by one of its tools."""

    shown: tuple[Told, ...] = ()
    """The brain reads them, with the examples of the tools, before every talk."""
    heard: dict[str, tuple[str, ...]] = {}
    """By wish, or by what else is meant: what is near to one of these counts towards it."""

    @cached_property
    def told(self) -> Fixed:
        return Fixed(_dumped(self))


class Thing(_Part):
    """Something of the user's that a wish can be about."""

    id: str
    kind: str = "task"
    title: str
    at: datetime | None = None
    """Its next time, aware."""
    when: str = ""
    """The same in spoken words, with its repetition."""
    rule: str | None = None
    place: str | None = None
    open: bool = True
    notes: str = ""


class Briefing(_Part):
    """What holds for the whole session, carried by one of its tools."""

    agent: str = ""
    user: str = ""
    """The name to call them by."""
    time_zone: str = "UTC"
    things: tuple[Thing, ...] = ()
    words: dict[str, tuple[str, ...]] = {}
    """The agent's own sentences by occasion, several to vary: `cannot`, `unclear`, `dropped`,
    `bye`, `chat`, `nothing`, `more`, `which`, `failed`, … (the manager has defaults)."""

    @cached_property
    def told(self) -> dict[str, Any]:
        """Whoever has the same briefing has the same one of these: nobody may change it."""
        return _dumped(self)


class Stage(_Part):
    """One step of a flow: one call of one tool, and what is taken from its result."""

    do: str
    """The tool."""
    given: dict[str, Any] = {}
    """Its arguments. `{what}` is a slot or a value of an earlier stage; `{what:spelt}` is the same,
    made into what the tool takes (`brain.dialogue.flows` lists the ways)."""
    read: str = ""
    """What is taken from its result (`brain.dialogue.results` lists the readings)."""
    when: str = ""
    """Only where these values are known, or, with `!` before one, where it is not."""
    each: str = ""
    """A list among the known values: it is done for each of them, as `{item}`."""
    story: str = ""
    """A value with numbers of which a sum is to be made: who can read says which, as `reckoned`."""
    none: tuple[str, ...] = ()
    """Told where there is nothing of that in the result; it is the end then. Without it the next
    stage is tried."""


class Hint(_Part):
    wish: str = ""
    """One short word or two for commands and prompts: `remind`, `move`, `read`. None where nobody
    wishes for the tool as such: it is used by flows."""
    about: str = ""
    """When it is meant, in one line."""
    does: Literal["act", "tell", "amend", "retract"] = "act"
    """`tell`: it changes nothing, its result is the answer. `amend` and `retract` are about what
    was submitted last."""
    becomes: Literal["", "done", "gone"] = ""
    """Of the thing it is about: it is ticked off, or not there any more. What people say became of
    something is then no other wish."""
    careful: bool = False
    """Nobody should lose several things by a word that was misheard: with more than one thing it
    is asked about first."""
    slots: dict[str, Slot] = {}
    """By the parameter's name, in the order in which they are asked for."""
    confirm: tuple[str, ...] = ()
    """Told when it went through; `{title}`, `{when}` … come from the result, not from the call."""
    examples: tuple[Shown, ...] = ()
    lessons: Lessons | None = None
    flows: tuple[Flow, ...] = ()
    """Wishes that take several steps, or a tool with an argument that nobody says. They are there
    where all the tools of their stages are."""
    briefing: Briefing | None = None


class Flow(Hint):
    """A wish that is carried out by calls, one after the other. To those who lead the talk it is
    a tool like any other: its slots are its parameters, and its result has the field `told`, which
    the last stage's reading filled."""

    name: str
    makes: dict[str, str] = {}
    """Values made before the first stage, by templates as in `Stage.given`; one of which nothing
    can be made is not there."""
    sounds: str = ""
    """A template of `said`: where something can be made of it, namely slots by their short names,
    this is the wish, whatever a brain took it for."""
    plainly: str = ""
    """As `sounds`, of questions: even where somebody is sure that another question was asked."""
    instead: dict[str, str] = {}
    """By another wish, a template of its slots, by their short names: where slots can be made of
    it, it is this one ("a folder called old" is no new file)."""
    menu: dict[str, str] = {}
    """Commands that only look, with what they are for: one of them is taken where a command is
    needed and none was said."""
    otherwise: str = ""
    """The flow that goes on, with the same words, where this one found nothing to tell."""
    stages: tuple[Stage, ...]


Hint.model_rebuild()


def bare(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The schema alone, for who is not led by hints."""
    return {key: value for key, value in parameters.items() if key != KEY}


def bare_tools(tools: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Function tools as the Realtime API has them, without hints."""
    return [
        {**tool, "parameters": bare(tool["parameters"])}
        if isinstance(tool.get("parameters"), Mapping)
        else dict(tool)
        for tool in tools
    ]


def briefed(tools: Iterable[Mapping[str, Any]], briefing: Briefing) -> list[dict[str, Any]]:
    """The same tools; the first that has hints carries the briefing."""
    return carried(tools, "briefing", briefing)


def carried(
    tools: Iterable[Mapping[str, Any]], name: str, part: Briefing | Lessons
) -> list[dict[str, Any]]:
    """The same tools; the first that has hints carries this."""
    return _first_with_hints(tools, lambda hint: {**hint, name: part.told})


def with_flows(tools: Iterable[Mapping[str, Any]], flows: Sequence[Flow]) -> list[dict[str, Any]]:
    """The same tools; the first that has hints brings these flows too, before its own."""
    told = [_dumped(flow) for flow in flows]
    return _first_with_hints(
        tools, lambda hint: {**hint, "flows": [*told, *hint.get("flows", ())]} if told else hint
    )


def _first_with_hints(
    tools: Iterable[Mapping[str, Any]], change: Callable[[Mapping[str, Any]], Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """The same tools, and no copies of them, but for the first that has hints."""
    made = [tool if isinstance(tool, dict) else dict(tool) for tool in tools]
    for at, tool in enumerate(made):
        parameters = tool.get("parameters") or {}
        if isinstance(hint := parameters.get(KEY), Mapping):
            made[at] = {**tool, "parameters": {**parameters, KEY: change(hint)}}
            break
    return made


def fixed(tool: dict[str, Any]) -> dict[str, Any]:
    """The same tool; its hints are the same in every session."""
    parameters = tool["parameters"]
    if not isinstance(hint := parameters.get(KEY), Mapping):
        return tool
    return {**tool, "parameters": {**parameters, KEY: Fixed(hint)}}


def _dumped(part: _Part) -> dict[str, Any]:
    return part.model_dump(mode="json", exclude_defaults=True)


def hint_of(parameters: Mapping[str, Any] | None) -> Hint | None:
    """Whatever is wrong with it, it is only a hint: then there is none."""
    given = (parameters or {}).get(KEY)
    if given is None:
        return None
    try:
        return Hint.model_validate(given)
    except ValidationError:
        return None
