"""A session played again: what its machine was told, and what it wanted done, as JSON and back.

A recording begins with what the machine was made of. Each step has the time, the event (a
frame of the provider's as it came, without sound; anything else as its fields) and the
effects; a piece of what is said, only itself. `play` gives the same events to a new machine
and says where it first wants something else. The times are those of the recording, so it is
the same every time.

Secrets are redacted where a recording is stored, and in what the new machine wants before the
two are compared. What was cut out of a text cannot be compared: it counts as the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, get_args

import orjson
from pydantic import BaseModel, TypeAdapter, ValidationError

from vivavoce.language.en.numbers import redact_said
from vivavoce.redaction import redacted
from vivavoce.session import events as own
from vivavoce.session.effects import Effect, Tell
from vivavoce.session.machine import Machine
from vivavoce.session.policy import Identity, Policy, Setup
from vivavoce.wire.events import TranscriptionDelta
from vivavoce.wire.realtime import facts as rt
from vivavoce.wire.realtime.server import Malformed, decode
from vivavoce.wire.values import Record, Value

Json = dict[str, Any]
Delta = rt.AssistantDelta | rt.UserTranscriptDelta

FORMAT = 1
_MOST_SHOWN = 600
CUT = "[redacted"
_IDS = (".item_id", "item_id", ".item_ids", ".id", "id")
_KINDS = {kind.__name__: kind for kind in get_args(own.SessionEvent)}
# Our items' ids look like keys of the engine, which are redacted: they go by another name.
_ITEM = re.compile(r"\bvv_([0-9a-f]{28})(?![0-9a-f])")
_KEPT = re.compile(r"\bvvi_([0-9a-f]{28})(?![0-9a-f])")


class Unplayable(ValueError):
    """Not a recording, or one that another version made."""


class Step(Value):
    """One event. `frame` is the provider's, where it is of use."""

    at: datetime
    event: own.SessionEvent
    effects: Sequence[Effect]
    frame: bytes | None = None


class Difference(Record):
    """Where a machine first wants something else. `then` and `now` are one effect each, or None
    where there is no more."""

    step: int
    at: str
    event: Json
    effect: int
    then: Json | None
    now: Json | None

    def told(self) -> list[str]:
        """For a person to read: of two effects of a kind, only what differs."""
        head = f"Step {self.step}, {self.at}: effect {self.effect} is not what it was."
        lines = [head, f"  event: {_shown(self.event)}"]
        then, now = self.then, self.now
        if then is None or now is None or then.get("is") != now.get("is"):
            return [*lines, f"  then: {_shown(then)}", f"  now:  {_shown(now)}"]
        lines.append(f"  both: {then['is']}")
        for where, before, after in _apart(then, now):
            lines += [f"  {where}", f"    then: {_shown(before)}", f"    now:  {_shown(after)}"]
        return lines


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    text = orjson.dumps(_undotted(value)).decode()
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 1]}…"


def _undotted(value: Any) -> Any:
    match value:
        case dict():
            return {key.removeprefix("."): _undotted(one) for key, one in value.items()}
        case list():
            return [_undotted(one) for one in value]
        case _:
            return value


def _apart(one: Any, other: Any, where: str = "") -> Iterator[tuple[str, Any, Any]]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in dict.fromkeys((*one, *other)):
            name = key.removeprefix(".")
            below = f"{where}.{name}" if where else name
            yield from _apart(one.get(key), other.get(key), below)
    elif not _same(one, other, blind=False):
        yield where, one, other


# --- Writing --------------------------------------------------------------------------


def beginning(identity: Identity, policy: Policy, setup: Setup, started_at: datetime) -> Json:
    return _named(
        {
            "format": FORMAT,
            "identity": _plain(identity),
            "policy": _plain(policy),
            "setup": _plain(setup),
            "started_at": started_at.isoformat(),
        }
    )


def written(steps: Sequence[Step]) -> list[Json]:
    """As they are kept. A secret may come in pieces: each item's are looked at as one text, so
    what is being said when the steps end must not be under way."""
    cut = _cut(steps)
    return [_named(_step(step, cut)) for step in steps]


def said_on(event: own.SessionEvent, under_way: dict[str, str]) -> None:
    """Keeps account of the items whose words are coming, and of which response they are."""
    match event:
        case rt.AssistantDelta():
            under_way[event.item_id] = event.response_id
        case rt.UserTranscriptDelta():
            under_way[event.item_id] = ""
        case rt.AssistantTranscript() | rt.UserTranscript() | rt.UserTranscriptFailed():
            under_way.pop(event.item_id, None)
        case rt.ItemDeleted():
            under_way.pop(event.item_id, None)
        case rt.ResponseDone():
            for item in [one for one, of in under_way.items() if of == event.response_id]:
                del under_way[item]
        case own.CallPlaced() | own.SidebandLost() | own.End():
            under_way.clear()


def _step(step: Step, cut: Mapping[int, str]) -> Json:
    event, effects = step.event, step.effects
    if isinstance(event, Delta) and (words := cut.get(id(step))) is not None:
        event = replace(event, delta=words)
        effects = [_cut_too(effect, words) for effect in effects]
    told: Json = {"at": step.at.isoformat()}
    if isinstance(event, Delta) and list(effects) == [_told_on(event, step.at, effects)]:
        # By far the most, and all of a kind: only what differs is kept.
        of = event.response_id if isinstance(event, rt.AssistantDelta) else None
        return {**told, "said": [event.item_id, of, event.delta]}
    kept = step.frame is not None and not isinstance(event, Delta | rt.AudioReceived | rt.Unhandled)
    if kept and not isinstance(event, own.BadFrame):
        told["frame"] = orjson.loads(step.frame or b"")
    else:
        told["event"] = _plain(event)
    return {**told, "effects": [_plain(effect) for effect in effects]}


def _told_on(event: Delta, at: datetime, effects: Sequence[Effect]) -> Effect | None:
    """What is done about a piece of what is said, where nothing else is."""
    match effects:
        case [Tell(event=TranscriptionDelta(session_id=session_id))]:
            return Tell(_delta_of(event, at, session_id))
        case _:
            return None


def _delta_of(event: Delta, at: datetime, session_id: str | None) -> TranscriptionDelta:
    role = "assistant" if isinstance(event, rt.AssistantDelta) else "user"
    return TranscriptionDelta(
        session_id=session_id, timestamp=at, item_id=event.item_id, delta=event.delta, role=role
    )


def _cut(steps: Sequence[Step]) -> dict[int, str]:
    """Of the items with a secret in them: all of their words with the first piece, none after."""
    pieces: dict[str, list[tuple[int, str]]] = {}
    for step in steps:
        if isinstance(step.event, Delta):
            pieces.setdefault(step.event.item_id, []).append((id(step), step.event.delta))
    found: dict[int, str] = {}
    for told in pieces.values():
        whole = "".join(words for _, words in told)
        if (kept := redact_said(whole)) != whole:
            found |= dict.fromkeys((number for number, _ in told), "") | {told[0][0]: kept}
    return found


def _cut_too(effect: Effect, words: str) -> Effect:
    if isinstance(effect, Tell) and isinstance(effect.event, TranscriptionDelta):
        return replace(effect, event=replace(effect.event, delta=words))
    return effect


def _plain(value: Any) -> Any:
    """As JSON: a dataclass with its name, its fields with a dot before theirs. So a field that is
    called `key` is not taken for a secret."""
    if is_dataclass(value) and not isinstance(value, type):
        given = {f".{field.name}": _plain(getattr(value, field.name)) for field in fields(value)}
        return {"is": type(value).__name__, **given}
    match value:
        case BaseModel():
            return value.model_dump(mode="json")
        case Enum():
            return value.value
        case datetime():
            return value.isoformat()
        case Mapping():
            return {str(key): _plain(one) for key, one in value.items()}
        case set() | frozenset():
            return sorted(_plain(one) for one in value)
        case list() | tuple():
            return [_plain(one) for one in value]
        case _:
            return value


def _named(value: Json) -> Json:
    found: Json = orjson.loads(_ITEM.sub(r"vvi_\1", orjson.dumps(value).decode()))
    return found


# --- Playing --------------------------------------------------------------------------


def play(began: Json, steps: Iterable[Json]) -> Iterator[Difference | None]:
    """One for each step; whoever only wants the first difference stops there. Raises
    `Unplayable`."""
    machine, cut = _machine(_with_items(began)), set[str]()
    for number, kept in enumerate(steps, 1):
        told = _whole(_with_items(kept), machine.state.identity.session_id)
        cut |= _with_a_cut(told.get("frame") or told.get("event"))
        event = _event(told)
        effects = machine.receive(event, _moment(told))
        wanted = [_redacted(_plain(effect)) for effect in effects]
        yield _compared(number, told, wanted, cut)


def runs(kept: Sequence[Json]) -> Iterator[tuple[int, Difference | None]]:
    """Of a session that was restarted, one after the other; steps are counted through."""
    number = 0
    for run in kept:
        for found in play(run["began"], run["steps"]):
            number += 1
            yield number, found and replace(found, step=number)


def first_difference(began: Json, steps: Iterable[Json]) -> Difference | None:
    return next((found for found in play(began, steps) if found is not None), None)


def _redacted(effect: Any) -> Any:
    return _with_items(redacted(_named(effect), redact_said))


def _whole(told: Json, session_id: str) -> Json:
    """A piece of what was said, with all that goes without saying."""
    if "said" not in told:
        return told
    try:
        item_id, of, words = told["said"]
        event: Delta = (
            rt.UserTranscriptDelta(item_id, words)
            if of is None
            else rt.AssistantDelta(of, item_id, words)
        )
        effect = Tell(_delta_of(event, _moment(told), session_id))
    except (KeyError, TypeError, ValueError) as fault:
        raise _foreign(fault) from fault
    return {"at": told["at"], "event": _plain(event), "effects": [_plain(effect)]}


def _with_a_cut(event: Any) -> set[str]:
    """The items of an event in which something was cut out: how much of what is left of their
    words was heard cannot be compared."""
    if CUT not in orjson.dumps(event).decode():
        return set()
    return {str(name) for name in _ids(event)}


def _ids(value: Any) -> Iterator[Any]:
    match value:
        case dict():
            for key in _IDS:
                found = value.get(key, ())
                yield from found if isinstance(found, list | tuple) else [found]
            for one in value.values():
                yield from _ids(one)
        case list():
            for one in value:
                yield from _ids(one)


def _compared(number: int, told: Json, now: Sequence[Any], cut: set[str]) -> Difference | None:
    then = told["effects"]
    for place in range(max(len(then), len(now))):
        before = then[place] if place < len(then) else None
        after = now[place] if place < len(now) else None
        blind = bool(cut) and not cut.isdisjoint(map(str, _ids([before, after])))
        if not _same(before, after, blind=blind):
            return Difference(
                step=number,
                at=told["at"],
                event=told.get("frame") or told["event"],
                effect=place + 1,
                then=before,
                now=after,
            )
    return None


def _same(one: Any, other: Any, *, blind: bool) -> bool:
    """`blind`: only the form is looked at."""
    match one, other:
        case str(), str():
            return blind or one == other or CUT in one or CUT in other
        case dict(), dict():
            return one.keys() == other.keys() and all(
                _same(one[key], other[key], blind=blind) for key in one
            )
        case list(), list():
            pairs = zip(one, other, strict=False)
            return len(one) == len(other) and all(_same(*pair, blind=blind) for pair in pairs)
        case float(), int() | float():
            return abs(one - other) < 1e-6
        case _:
            return blind or bool(one == other)


def _machine(began: Json) -> Machine:
    if began.get("format") != FORMAT:
        raise Unplayable("This is no recording of a session that this version can play.")
    try:
        identity = _read(Identity, began["identity"])
        policy, setup = _read(Policy, began["policy"]), _read(Setup, began["setup"])
        started_at = datetime.fromisoformat(began["started_at"])
    except (KeyError, TypeError, ValueError) as fault:
        raise _foreign(fault) from fault
    return Machine(identity, policy, setup, started_at=started_at)


def _event(told: Json) -> own.SessionEvent:
    try:
        if (frame := told.get("frame")) is not None:
            return decode(orjson.dumps(frame))
        kind = _KINDS[told["event"]["is"]]
        # A fact's annotations are about frames: what is kept of its fields is taken as it is.
        fact = kind.__module__ == rt.__name__
        read = _fact(told["event"]) if fact else _read(kind, told["event"])
        found: own.SessionEvent = read
    except (KeyError, TypeError, ValueError, Malformed) as fault:
        raise _foreign(fault) from fault
    return found


def _moment(told: Json) -> datetime:
    try:
        return datetime.fromisoformat(told["at"])
    except (KeyError, TypeError, ValueError) as fault:
        raise _foreign(fault) from fault


def _foreign(fault: Exception) -> Unplayable:
    first = fault.errors()[0]["msg"] if isinstance(fault, ValidationError) else repr(fault)
    return Unplayable(f"The recording was made by another version: {first[:200]}")


@cache
def _adapter(kind: type) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _read(kind: type, value: Any) -> Any:
    return _adapter(kind).validate_python(_bare(value), by_alias=False, by_name=True)


def _fact(value: Any) -> Any:
    match value:
        case {"is": str(name), **given}:
            told = {str(key).removeprefix("."): _fact(one) for key, one in given.items()}
            return vars(rt)[name](**told)
        case list():
            return tuple(map(_fact, value))
        case _:
            return value


def _bare(value: Any) -> Any:
    match value:
        case dict() if "is" in value:
            named = ((key, one) for key, one in value.items() if key != "is")
            return {key.removeprefix("."): _bare(one) for key, one in named}
        case dict():
            return {key: _bare(one) for key, one in value.items()}
        case list():
            return [_bare(one) for one in value]
        case _:
            return value


def _with_items(value: Any) -> Any:
    return orjson.loads(_KEPT.sub(r"vv_\1", orjson.dumps(value).decode()))
