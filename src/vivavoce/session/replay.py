"""A session played again: what its machine was told, and what it wanted done, as JSON and back.

A recording begins with what the machine was made of. Each step has the time, the event (a
frame of the provider's as it came, without sound; anything else as its fields) and the
effects; of what is said in pieces, only the pieces and their times are kept. `play` gives the
same events to a new machine and says where it first wants something else. The times are those
of the recording, so it is the same every time.

A session waits while its steps are written, so that is done in one go: `orjson` encodes, a frame
stays the bytes it was, and each step is a line. Secrets are redacted where a recording is stored,
line by line, and in what the new machine wants before the two are compared. What was cut out of
a text cannot be compared: it counts as the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from datetime import datetime
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
from vivavoce.wire.clean import clean_line
from vivavoce.wire.events import TranscriptionDelta
from vivavoce.wire.hints import Fixed
from vivavoce.wire.realtime import facts as rt
from vivavoce.wire.realtime.server import Malformed, decode
from vivavoce.wire.values import Record

Json = dict[str, Any]
Delta = rt.AssistantDelta | rt.UserTranscriptDelta

FORMAT = 1
_MOST_SHOWN = 600
CUT = "[redacted"
_IDS = (".item_id", "item_id", ".item_ids", ".id", "id")
_KINDS = {kind.__name__: kind for kind in get_args(own.SessionEvent)}
# Our items' ids look like keys of the engine, which are redacted: they go by another name.
_ITEM = re.compile(rb"\bvv_([0-9a-f]{28})(?![0-9a-f])")
_KEPT = re.compile(r"\bvvi_([0-9a-f]{28})(?![0-9a-f])")


class Unplayable(ValueError):
    """Not a recording, or one that another version made."""


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
        at = _line(str(self.at))
        head = f"Step {self.step}, {at}: effect {self.effect} is not what it was."
        lines = [head, f"  event: {_shown(self.event)}"]
        then, now = self.then, self.now
        # A file may have anything there.
        alike = isinstance(then, dict) and isinstance(now, dict)
        if then is None or now is None or not alike or then.get("is") != now.get("is"):
            return [*lines, f"  then: {_shown(then)}", f"  now:  {_shown(now)}"]
        lines.append(f"  both: {_line(str(then.get('is')))}")
        for where, before, after in _apart(then, now):
            lines += [
                f"  {_line(where)}",
                f"    then: {_shown(before)}",
                f"    now:  {_shown(after)}",
            ]
        return lines


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    text = orjson.dumps(_undotted(value)).decode()
    return _line(text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 1]}…")


def _line(text: str) -> str:
    """For a terminal: nothing that it obeys, and nothing that hides between the letters."""
    return clean_line("".join(sign for sign in text if unicodedata.category(sign) != "Cf"))


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


def beginning(identity: Identity, policy: Policy, setup: Setup, started_at: datetime) -> bytes:
    """The first line."""
    began = {
        "format": FORMAT,
        "identity": identity,
        "policy": policy,
        "setup": setup,
        "started_at": started_at,
    }
    return _written({"began": began})


class Steps:
    """What a machine of this session is told and wants, until it is taken as lines of JSON.

    A secret may come in pieces: what is said is looked at as one text, so as long as `saying`
    what is taken may hold half a secret."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._steps: list[bytes | _Pieces] = []
        self._last: _Pieces | None = None
        self._under_way = dict[str, str]()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def saying(self) -> bool:
        return bool(self._under_way)

    def add(
        self,
        at: datetime,
        event: own.SessionEvent,
        effects: Sequence[Effect],
        frame: bytes | None = None,
    ) -> None:
        """`frame` is the provider's, where it came from there."""
        self._count += 1
        match event:
            case rt.AssistantDelta():
                self._said(event, event.response_id, "assistant", at, effects)
                return
            case rt.UserTranscriptDelta():
                self._said(event, None, "user", at, effects)
                return
            case _:
                self._last = None
        self._steps.append(_written(_step(at, event, effects, frame)))
        if self._under_way:
            _heard_of(event, self._under_way)

    def take(self) -> list[bytes]:
        _cut_out([one for one in self._steps if isinstance(one, _Pieces)])
        done = [one if isinstance(one, bytes) else _written(one.told()) for one in self._steps]
        self.clear()
        return done

    def clear(self) -> None:
        self._steps, self._last, self._count = [], None, 0

    def _said(
        self, event: Delta, response: str | None, role: str, at: datetime, effects: Sequence[Effect]
    ) -> None:
        """By far the most, and all of a kind: only what differs is kept."""
        self._under_way[event.item_id] = response or ""
        last = self._last
        if not _only_told(event, role, self._session_id, at, effects):
            self._steps.append(_Pieces(event, response, at, effects))
            self._last = None
        elif last is None or last.event.item_id != event.item_id or last.response != response:
            self._last = _Pieces(event, response, at)
            self._steps.append(self._last)
        else:
            last.words.append(event.delta)
            last.times.append(at)


class _Pieces:
    """What is said of one item, one piece after the other. `effects` are those of a piece about
    which more is done than to tell it: that is alone."""

    def __init__(
        self,
        event: Delta,
        response: str | None,
        at: datetime,
        effects: Sequence[Effect] | None = None,
    ) -> None:
        self.event, self.response, self.effects = event, response, effects
        self.words, self.times = [event.delta], [at]

    def told(self) -> Json:
        if self.effects is None:
            return {"said": (self.event.item_id, self.response, self.words, self.times)}
        event, effects = self.event, self.effects
        if [event.delta] != self.words:
            event = replace(event, delta=self.words[0])
            effects = [_cut_too(effect, event.delta) for effect in effects]
        return _step(self.times[0], event, effects)


def _cut_out(pieces: Sequence[_Pieces]) -> None:
    """Of the items with a secret in them: all of their words with the first piece, none after."""
    items: dict[str, list[_Pieces]] = {}
    for one in pieces:
        items.setdefault(one.event.item_id, []).append(one)
    for told in items.values():
        whole = "".join("".join(one.words) for one in told)
        if (kept := redact_said(whole)) != whole:
            for one in told:
                one.words = [""] * len(one.words)
            told[0].words[0] = kept


def _cut_too(effect: Effect, words: str) -> Effect:
    if isinstance(effect, Tell) and isinstance(effect.event, TranscriptionDelta):
        return replace(effect, event=replace(effect.event, delta=words))
    return effect


def _step(
    at: datetime, event: own.SessionEvent, effects: Sequence[Effect], frame: bytes | None = None
) -> Json:
    told: Json = {"at": at}
    fact = event
    if isinstance(event, own.Beside):
        fact = event.event
        if isinstance(fact, _WORDS_AND_SOUND):  # nobody heeds those of a call beside
            event = own.Beside(rt.Unhandled(type(fact).__name__))
            frame = None
    if frame is None or isinstance(fact, _AS_FACTS):
        told["event"] = event
    else:
        # An escape could hide where a secret begins.
        if b"\\u" in frame or b"\\/" in frame or b"\n" in frame:
            frame = orjson.dumps(orjson.loads(frame))
        told["frame"] = orjson.Fragment(frame)
        if fact is not event:
            told["beside"] = True
    told["effects"] = effects
    return told


_WORDS_AND_SOUND = (rt.AssistantDelta, rt.UserTranscriptDelta, rt.AudioReceived)
_AS_FACTS = (*_WORDS_AND_SOUND, rt.Unhandled, own.BadFrame)


_LOOKED_AT = 5  # fields: one more, and pieces are kept whole until that is looked at too


def _only_told(
    event: Delta, role: str, session_id: str, at: datetime, effects: Sequence[Effect]
) -> bool:
    """Whether it was passed on, and nothing else done."""
    if len(effects) != 1 or not isinstance(effect := effects[0], Tell):
        return False
    told = effect.event
    return (
        isinstance(told, TranscriptionDelta)
        and told.delta == event.delta
        and told.timestamp is at
        and told.item_id == event.item_id
        and told.role == role
        and told.session_id == session_id
        and len(vars(told)) == _LOOKED_AT
    )


def _heard_of(event: own.SessionEvent, under_way: dict[str, str]) -> None:
    """Which of the items whose words were coming are whole now; each with its response."""
    match event:
        case rt.AssistantTranscript() | rt.UserTranscript() | rt.UserTranscriptFailed():
            under_way.pop(event.item_id, None)
        case rt.ItemDeleted():
            under_way.pop(event.item_id, None)
        case rt.ResponseDone():
            for item in [one for one, of in under_way.items() if of == event.response_id]:
                del under_way[item]
        case own.CallPlaced() | own.SidebandLost() | own.End():
            under_way.clear()


_AS_THEY_ARE = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_SUBCLASS


def _written(value: Any) -> bytes:
    data = orjson.dumps(value, default=_opened, option=_AS_THEY_ARE)
    return _ITEM.sub(rb"vvi_\1", data) if b"vv_" in data else data


_OPEN: dict[type, tuple[str, tuple[str, ...]]] = {}


def _opened(value: Any) -> Any:
    """What JSON does not know: a dataclass with its name, its fields with a dot before theirs. So
    a field that is called `key` is not taken for a secret."""
    known = _OPEN.get(type(value))
    if known is not None:
        name, names = known
        return dict(zip(names, (name, *vars(value).values()), strict=False))
    match value:
        case Fixed():
            return {"digest": value.digest}
        case BaseModel():
            return value.model_dump(mode="json")
        case Mapping():
            return dict(value)
        case set() | frozenset():
            return sorted(value)
        case str():
            return str(value)
        case int():
            return int(value)
        case list():
            return list(value)
        case _ if is_dataclass(value):
            names = tuple(f".{field.name}" for field in fields(value))
            _OPEN[type(value)] = type(value).__name__, ("is", *names)
            return _opened(value)
        case _:
            raise TypeError(f"{type(value).__name__} has no place in a recording")


# --- Playing --------------------------------------------------------------------------


def play(began: Json, steps: Iterable[Json]) -> Iterator[Difference | None]:
    """One for each step; whoever only wants the first difference stops there. Raises
    `Unplayable`."""
    machine, cut = _machine(_with_items(began)), set[str]()
    for number, kept in enumerate(_each(steps), 1):
        told = _whole(_with_items(kept), machine.state.identity.session_id)
        cut |= _with_a_cut(told.get("frame") or told.get("event"))
        event = _event(told)
        effects = machine.receive(event, _moment(told))
        wanted = _with_items(redacted(orjson.loads(_written(effects)), redact_said))
        yield _compared(number, told, wanted, cut)


def runs_of(parts: Iterable[bytes]) -> list[Json]:
    """What was kept of a session, put together: each run with how it began. Without its beginning
    nothing can be played: that has gone."""
    found: list[Json] = []
    for line in (line for part in parts for line in part.split(b"\n")):
        told: Json = orjson.loads(line)
        if "began" in told:
            found.append({"began": told["began"], "steps": []})
        if found:  # at first a part was one line
            steps = [told] if "effects" in told or "said" in told else told.get("steps", [])
            found[-1]["steps"] += steps
    return found


def runs(kept: Sequence[Json]) -> Iterator[tuple[int, Difference | None]]:
    """Of a session that was restarted, one after the other; steps are counted through."""
    number = 0
    try:
        for run in kept:
            for found in play(run["began"], run["steps"]):
                number += 1
                yield number, found and replace(found, step=number)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError) as fault:
        raise _foreign(fault) from fault  # anybody may have written it
    except ValueError as fault:
        raise fault if isinstance(fault, Unplayable) else _foreign(fault) from fault


def first_difference(began: Json, steps: Iterable[Json]) -> Difference | None:
    return next((found for found in play(began, steps) if found is not None), None)


def _each(steps: Iterable[Json]) -> Iterator[Json]:
    """Pieces that were kept together are steps of their own."""
    for step in steps:
        match step:
            case {"said": [item_id, of, [*words], [*times]]}:
                for words_, at in zip(words, times, strict=False):
                    yield {"at": at, "said": [item_id, of, words_]}
            case _:
                yield step


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
    plain: Json = _with_items(orjson.loads(_written({"event": event, "effects": [effect]})))
    return {"at": told["at"], **plain}


def _delta_of(event: Delta, at: datetime, session_id: str | None) -> TranscriptionDelta:
    role = "assistant" if isinstance(event, rt.AssistantDelta) else "user"
    return TranscriptionDelta(
        session_id=session_id, timestamp=at, item_id=event.item_id, delta=event.delta, role=role
    )


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
            found = decode(orjson.dumps(frame))
            return own.Beside(found) if told.get("beside") else found
        return _own(told["event"])
    except (KeyError, TypeError, ValueError, Malformed) as fault:
        raise _foreign(fault) from fault


def _own(told: Json) -> own.SessionEvent:
    kind = _KINDS[told["is"]]
    if kind is own.Beside:
        return own.Beside(_own(told[".event"]))
    # A fact's annotations are about frames: what is kept of its fields is taken as it is.
    read = _fact(told) if kind.__module__ == rt.__name__ else _read(kind, told)
    found: own.SessionEvent = read
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
            kind = vars(rt)[name]
            if not (isinstance(kind, type) and is_dataclass(kind)):  # whoever made the file
                raise ValueError(f"{name} is no fact")
            return kind(**told)
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
