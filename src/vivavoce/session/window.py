"""What the model of a call has before it, what that weighs, and what goes when it is too much.

Items are weighed as they join; the provider's own figures, where it gives any, say what all of it
comes to. Long results become short before turns go, and the oldest turns give way to a summary,
which has what the one before it had. Decides, and sends nothing: `trimming` does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson

from vivavoce.language.en.gist import Gist, Line, paths, summary, told
from vivavoce.session.context import (
    RESULT_CHARS,
    SUMMARY,
    estimate_tokens,
    shorten,
    summary_item,
    weigh,
)
from vivavoce.session.policy import Window
from vivavoce.wire.realtime.facts import Usage
from vivavoce.wire.values import Record

FULL = 0.8
"""Of the window: then something has to go."""
AFTER = 0.5
"""Of the window, what is left of it then: many turns pass until the next time, and a provider
that remembers what it has read begins anew only then."""
_SUMMARY_SHARE = 0.2  # of what is left
_CHARS = 4  # a token
_LATEST = 2  # turns whose results stay as they are
_SCALE = (0.25, 20.0)  # sound weighs more than its words; what is far beyond that is a mistake

Sort = Literal["user", "assistant", "system", "call", "result", "summary"]


class Part(Record):
    """One item that the model has."""

    item_id: str
    sort: Sort
    tokens: int = 0
    text: str = ""
    """Of a call its tool's name."""
    call_id: str = ""
    arguments: Mapping[str, Any] | None = None

    @property
    def line(self) -> Line | None:
        sort = self.sort
        return None if sort == "summary" else Line(sort, self.text, self.arguments)


class Trim(Record):
    """What is to go, and what comes in its place."""

    gone: tuple[str, ...] = ()
    """Items, oldest first."""
    short: tuple[tuple[Part, str], ...] = ()
    """Results that become short: what they are then."""
    summary: Mapping[str, Any] | None = None
    gist: Gist = field(default_factory=Gist)
    tokens: int = 0
    """What is left, as far as it can be known before the next answer."""


def part_of(item: Mapping[str, Any]) -> Part:
    """An item as it is sent."""
    item_id, tokens = str(item["id"]), weigh(item)
    match item["type"]:
        case "function_call":
            written = str(item.get("arguments") or "")
            return Part(
                item_id=item_id,
                sort="call",
                tokens=tokens,
                text=str(item.get("name") or ""),
                call_id=str(item["call_id"]),
                arguments=_arguments(written),
            )
        case "function_call_output":
            return Part(
                item_id=item_id,
                sort="result",
                tokens=tokens,
                text=str(item.get("output") or ""),
                call_id=str(item["call_id"]),
            )
    text = " ".join(part["text"] for part in item.get("content", ()) if "text" in part)
    sort: Sort = item["role"]
    if item_id.startswith(SUMMARY):
        sort = "summary"
    elif sort == "user" and not text:
        sort = "system"  # a picture begins no turn
    return Part(item_id=item_id, sort=sort, tokens=tokens, text=text)


def _arguments(written: str) -> Mapping[str, Any] | None:
    try:
        given = orjson.loads(written)
    except orjson.JSONDecodeError:
        return None
    return given if isinstance(given, dict) else None


def named(written: str) -> tuple[str, ...]:
    """The files that a call names."""
    return tuple(paths(_arguments(written) or {}))


@dataclass(slots=True)
class Held:
    """The items of one call, in their order, and what is known of their weight."""

    gist: Gist = field(default_factory=Gist)
    """Of what is not among them any more."""
    parts: dict[str, Part] = field(default_factory=dict)
    _known: int = 0  # as the provider told with its last answer
    _since: int = 0  # what joined since then, by our estimate
    _idle: int = -1  # so many parts there were when nothing could go

    def expect(self, item_id: str, sort: Sort) -> None:
        """It has its place before its words are known."""
        self.parts.setdefault(item_id, Part(item_id=item_id, sort=sort))

    def words(self, item_id: str, sort: Sort, text: str) -> None:
        """What was said there, as far as it was heard."""
        self._put(Part(item_id=item_id, sort=sort, text=text, tokens=estimate_tokens(text) + 8))

    def called(self, item_id: str, call_id: str, name: str, written: str) -> None:
        call = {"id": item_id, "type": "function_call", "call_id": call_id, "name": name}
        self._put(part_of({**call, "arguments": written}))

    def joined(self, item: Mapping[str, Any]) -> None:
        """One of ours."""
        self._put(part_of(item))

    def follow(self, later: Held) -> None:
        """What joined before the history did comes after it."""
        for part in later.parts.values():
            self._put(part)

    def left(self, item_id: str) -> None:
        self.parts.pop(item_id, None)

    def _put(self, part: Part) -> None:
        before = self.parts.get(part.item_id)
        self._since += part.tokens - (0 if before is None else before.tokens)
        self.parts[part.item_id] = part

    def used(self, usage: Usage) -> None:
        """All of it, as the provider counts: what it read, and what it said."""
        self._known, self._since = usage.input + usage.output, 0

    def total(self, fixed: int) -> int:
        if self._known:
            return self._known + max(0, self._since)
        return fixed + self._weighed

    def full(self, window: Window) -> bool:
        return self.total(window.fixed) > window.tokens * FULL and self._idle != len(self.parts)

    # --- Making room ------------------------------------------------------------------------

    def trim(self, window: Window) -> Trim | None:
        """What should go now; None where nothing can."""
        left, scale = max(0, window.tokens - window.fixed), self._scale(window.fixed)
        after = max(window.tokens * AFTER - window.fixed, left * AFTER / 2)
        if window.again is not None:  # the beginning is another one: it is read anew
            after = min(after, window.again)
        most = max(window.tokens * FULL - window.fixed, left * FULL / 2)
        return self._down_to(int(after / scale), int(most / scale), window.fixed, window.turns)

    def halve(self, fixed: int) -> Trim | None:
        """The provider says that it is too much, whatever we thought of the window."""
        half = self._weighed // 2
        calls = {part.call_id for part in self.parts.values() if part.sort == "call"}
        over = {part.call_id for part in self.parts.values() if part.sort == "result"}
        return self._down_to(half, half, fixed, 1, calls - over)

    @property
    def _weighed(self) -> int:
        return sum(part.tokens for part in self.parts.values())

    def _scale(self, fixed: int) -> float:
        """What the provider counts for a token of ours."""
        scale = (self.total(fixed) - fixed) / max(1, self._weighed)
        return min(max(scale, _SCALE[0]), _SCALE[1])

    def _down_to(
        self, budget: int, most: int, fixed: int, least: int, pinned: Collection[str] = ()
    ) -> Trim | None:
        """To so many tokens of ours; the last turns may have as many as are the most. The results
        of the calls that are `pinned` are still to come."""
        parts = [part for part in self.parts.values() if part.sort != "summary"]
        turns = _turns(parts)
        short: dict[str, str] = {}
        for limit in RESULT_CHARS[1:]:
            if _weight(parts, short) <= budget:
                break
            short = _shortened(turns[:-_LATEST], limit)
        kept = _kept(turns, short, budget, most, least)
        if kept < min(least, len(turns)):  # then those of the latest too
            short = {**_shortened(turns[:-1], RESULT_CHARS[-2]), **short}
            kept = _kept(turns, short, budget, most, least)
        gone = _gone(parts, turns, kept, pinned)
        staying = [part for part in parts if part.item_id not in gone]
        changed = [(part, short[part.item_id]) for part in staying if part.item_id in short]
        if not gone and not changed:
            self._idle = len(self.parts)
            return None
        return self._trim(parts, staying, changed, gone, int(budget * _SUMMARY_SHARE), fixed)

    def _trim(
        self,
        parts: list[Part],
        staying: list[Part],
        changed: list[tuple[Part, str]],
        gone: set[str],
        room: int,
        fixed: int,
    ) -> Trim:
        old = [part.item_id for part in self.parts.values() if part.sort == "summary"]
        gist, item = self.gist, None
        if gone:
            lines = (part.line for part in parts if part.item_id in gone)
            gist = told(gist, (line for line in lines if line is not None))
            if text := summary(gist, room * _CHARS):
                item = summary_item(text)
        else:
            old = []
        short = {part.item_id: text for part, text in changed}
        kept = [self.parts[item_id] for item_id in self.parts if item_id not in {*gone, *old}]
        after = _weight(kept, short) + (weigh(item) if item else 0)
        return Trim(
            gone=(*old, *(part.item_id for part in parts if part.item_id in gone)),
            short=tuple(changed),
            summary=item,
            gist=gist,
            tokens=max(0, self.total(fixed) - int((self._weighed - after) * self._scale(fixed))),
        )

    def trimmed(self, trim: Trim, short: Mapping[str, Mapping[str, Any]]) -> None:
        """It is done; `short` are the items of short results, by those in whose place they are."""
        self.gist = trim.gist
        parts: dict[str, Part] = {}
        if trim.summary is not None:
            first = part_of(trim.summary)
            parts[first.item_id] = first
        for item_id, part in self.parts.items():
            if item_id in short:
                other = part_of(short[item_id])
                parts[other.item_id] = other
            elif item_id not in trim.gone:
                parts.setdefault(item_id, part)
        self.parts = parts
        self._known, self._since = (trim.tokens if self._known else 0), 0


def _turns(parts: Iterable[Part]) -> list[list[Part]]:
    """A turn begins with the user's words; what is before the first has one of its own."""
    turns: list[list[Part]] = []
    for part in parts:
        if part.sort == "user" or not turns:
            turns.append([])
        turns[-1].append(part)
    return turns


def _weight(parts: Iterable[Part], short: Mapping[str, str]) -> int:
    return sum(_tokens(part, short) for part in parts)


def _tokens(part: Part, short: Mapping[str, str]) -> int:
    text = short.get(part.item_id)
    return part.tokens if text is None else min(part.tokens, estimate_tokens(text) + 8)


def _shortened(turns: Sequence[Sequence[Part]], limit: int) -> dict[str, str]:
    return {
        part.item_id: shorten(part.text, limit)
        for turn in turns
        for part in turn
        # A little shorter is not worth an item of its own.
        if part.sort == "result" and len(part.text) > limit * 5 // 4
    }


def _kept(
    turns: Sequence[Sequence[Part]], short: Mapping[str, str], budget: int, most: int, least: int
) -> int:
    """How many of the last turns stay: as many as fit beside a summary; of the last ones that are
    told word for word, as many as fit at all."""
    weights = [_weight(turn, short) for turn in turns]
    if sum(weights) <= budget:
        return len(turns)
    beside = budget - int(budget * _SUMMARY_SHARE)
    kept = total = 0
    for weight in reversed(weights):
        total += weight
        if total > (beside if kept >= least else most - int(budget * _SUMMARY_SHARE)):
            break
        kept += 1
    return max(1, kept)


def _gone(
    parts: Sequence[Part], turns: Sequence[Sequence[Part]], kept: int, pinned: Collection[str]
) -> set[str]:
    """The items of the turns before; a call takes its result with it."""
    gone = [part for turn in turns[: len(turns) - kept] for part in turn]
    gone = [part for part in gone if part.call_id not in pinned]
    calls = {part.call_id for part in gone if part.call_id}
    also = (part.item_id for part in parts if part.call_id in calls)
    return {*(part.item_id for part in gone), *also}
