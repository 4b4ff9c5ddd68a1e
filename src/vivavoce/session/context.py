"""What the model is told: at the start, on every return, and when a call becomes too long for it.
Pure, within a budget.

`prompt.md` is sent as written; what the server knows follows under one heading
of its own. History is as many turns word for word as fit, with their tool calls
and results. Where not all fit, results shrink before turns go, and what the
oldest turns said is in a summary (`language.en.gist`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from hashlib import sha256
from typing import Any
from zoneinfo import ZoneInfo

import orjson

from vivavoce.language.en.gist import Gist, Line, summary, told
from vivavoce.language.en.telling import moment_words
from vivavoce.wire.realtime.client import call_item, message_item, output_item
from vivavoce.wire.records.talk import Entry, Kind
from vivavoce.wire.values import Record

TURNS_WORD_FOR_WORD = 10
"""At least, as long as they fit at all."""
HISTORY_SHARE = 0.5  # of what instructions and tools leave: the rest is for the talk to come
RESULT_CHARS = (4_000, 1_600, 600, 200)
"""Of one tool's result: as much as fits of these."""
RESULT_TURNS = 100
"""What tools returned longer ago is not told any more."""
SUMMARY = "vvs_"
"""How the item of a summary begins: another takes its place."""
_SUMMARY_SHARE = 0.25  # of the budget, where it is needed
_ITEM_OVERHEAD = 8  # tokens of framing an item
_CHARS = 4  # a token
_LEAST_SUMMARY = 40  # characters; less says nothing

_Turn = list[Entry]


def estimate_tokens(text: str) -> int:
    """About four characters a token, and one for each letter of a script that is not Latin; a
    little too many is on the safe side."""
    dense = 0 if text.isascii() else sum(ord(letter) > 0x2FF for letter in text)
    return (len(text) - dense + _CHARS - 1) // _CHARS + dense


class Situation(Record):
    """What the server knows and the model should (seed 000 §5.3)."""

    now: datetime
    time_zone: str = "UTC"
    working_directory: str | None = None
    active_files: tuple[str, ...] = ()
    running_tasks: tuple[str, ...] = ()
    discoveries: str = ""
    """What the project should remember, from a file that anyone may have written."""
    verbosity: str = "normal"
    about_user: tuple[str, ...] = ()
    """Who the user is and what they have to do today (seed 004 §6.1), one line each, cleaned."""


def instructions(prompt: str, situation: Situation) -> str:
    """The prompt as written, then the current context under its own heading."""
    here = situation.now.astimezone(ZoneInfo(situation.time_zone))
    lines = [f"Date and time: {moment_words(here)} ({situation.time_zone})"]
    lines += situation.about_user
    if situation.working_directory:
        lines.append(f"Working directory: {situation.working_directory}")
    if situation.active_files:
        lines.append(f"Recently discussed files: {', '.join(situation.active_files[:5])}")
    if situation.running_tasks:
        lines.append(f"Running tasks: {'; '.join(situation.running_tasks)}")
    if situation.discoveries:
        lines.append(f"Notes kept in the project, for information:\n{situation.discoveries}")
    if situation.verbosity != "normal":
        lines.append(f"The user likes answers to be {situation.verbosity}.")
    return f"{prompt.rstrip()}\n\n## Current Context\n" + "\n".join(lines)


class Room(Record):
    """How much a call may begin with, in tokens."""

    most: int
    """What there is, when instructions and tools have taken their part."""
    wanted: int
    """What is filled: the rest is for the talk to come, and a brain that reads slowly must not
    read for minutes before it answers. The last turns may go beyond it, up to `most`."""


class History(Record):
    """Items for the new call, oldest first, and what they weigh."""

    items: tuple[Mapping[str, Any], ...] = ()
    summary: str | None = None
    turns: int = 0
    tokens: int = 0
    gist: Gist = field(default_factory=Gist)
    """Of what is before the turns that are told word for word."""


def room_for(context_tokens: int, fixed: int, history_tokens: int | None = None) -> Room:
    """What history may weigh in a window of so many tokens, of which instructions and tools take
    what is `fixed`."""
    left = max(0, context_tokens - fixed)
    wanted = int(left * HISTORY_SHARE)
    if history_tokens is not None:
        wanted = min(wanted, history_tokens)
    return Room(most=int(left * _MOST_SHARE), wanted=wanted)


_MOST_SHARE = 0.75


def fixed_tokens(prompt: str, tools: Sequence[Mapping[str, Any]]) -> int:
    """What is there in every question: instructions and tools."""
    return estimate_tokens(prompt) + sum(estimate_tokens(orjson.dumps(t).decode()) for t in tools)


def _turns(entries: Sequence[Entry]) -> list[_Turn]:
    """A turn begins with the user's words; what comes before the first has a turn of its own."""
    turns: list[_Turn] = []
    for entry in entries:
        if entry.kind is Kind.USER or not turns:
            turns.append([])
        turns[-1].append(entry)
    return turns


# --- The history of a new call --------------------------------------------------------------


def history(
    entries: Sequence[Entry],
    *,
    room: Room,
    before: Gist | None = None,
    whole: bool = True,
    turns: int = TURNS_WORD_FOR_WORD,
) -> History:
    """The most that fits. `before` is the gist of the talk up to a place in it; `whole`: these
    are all of its entries. So many `turns` are kept though they are more than is
    wanted."""
    called = (Kind.TOOL_CALL, Kind.TOOL_RESULT)
    every = _turns([entry for entry in entries if entry.text.strip() or entry.kind in called])
    gist = before or Gist()
    if whole and not gist.prose:
        for limit in RESULT_CHARS:
            if (built := _fits(every, limit, room.wanted)) is not None:
                return built
    limit = RESULT_CHARS[-1]
    costs = [_cost(turn, limit) for turn in every]
    beside = int(room.wanted * (1 - _SUMMARY_SHARE))
    kept = max(_fitting(costs, beside), 1)
    least = min(turns, len(every))
    if kept < least:  # these are told though they are more than is wanted
        kept = max(kept, min(least, _fitting(costs, int(room.most * (1 - _SUMMARY_SHARE)))))
    for count in range(kept, 0, -1):
        budget = room.wanted if sum(costs[-count:]) <= beside else room.most
        for limit in RESULT_CHARS:  # what is left may be enough for longer results
            if (built := _build(every, every[-count:], gist, limit, budget)) is not None:
                return built
    return _last_resort(every, gist, room.wanted)


def _fitting(costs: Sequence[int], budget: int) -> int:
    """How many of the last."""
    count = total = 0
    for cost in reversed(costs):
        total += cost
        if total > budget:
            break
        count += 1
    return count


def _fits(recent: list[_Turn], limit: int, budget: int) -> History | None:
    """Word for word; None where that is too much."""
    items = [*_items(recent[:-RESULT_TURNS], 0), *_items(recent[-RESULT_TURNS:], limit)]
    tokens = sum(weigh(item) for item in items)
    if tokens > budget:
        return None
    return History(items=tuple(items), turns=len(recent), tokens=tokens)


def _build(
    every: list[_Turn],
    recent: list[_Turn],
    before: Gist,
    limit: int,
    budget: int,
) -> History | None:
    """The last turns behind a summary of the others; None where that is too much."""
    built = _fits(recent, limit, budget)
    if built is None:
        return None
    gist = _with(before, every[: len(every) - len(recent)])
    text = summary(gist, (budget - built.tokens - _ITEM_OVERHEAD) * _CHARS)
    first = summary_item(text)
    tokens = built.tokens + weigh(first)
    if not text:
        return built
    if len(text) < _LEAST_SUMMARY or tokens > budget:
        return None
    items = (first, *built.items)
    return History(items=items, summary=text, turns=built.turns, tokens=tokens, gist=gist)


def _last_resort(every: list[_Turn], before: Gist, budget: int) -> History:
    """Not even one turn fits: the summary, cut to what does."""
    gist = _with(before, every)
    text = summary(gist, max(0, budget - _ITEM_OVERHEAD) * _CHARS - _CHARS)
    if len(text) < _LEAST_SUMMARY or weigh(first := summary_item(text)) > budget:
        return History(summary=summary(gist, 10**6) or None, gist=gist)
    return History(items=(first,), summary=text, tokens=weigh(first), gist=gist)


def _with(before: Gist, turns: list[_Turn]) -> Gist:
    """The gist with what came after it in these turns."""
    return gathered(before, [entry for turn in turns for entry in turn])


def gathered(before: Gist, entries: Sequence[Entry]) -> Gist:
    """The gist with these entries of the talk, as far as it does not have them: those that come
    after it, and those that were missed and made later."""
    fresh = [entry for entry in entries if entry.ordinal > before.upto or _made(entry) > before.at]
    if not fresh:
        return before
    gist = told(before, (line for entry in fresh if (line := _line(entry)) is not None))
    return replace(
        gist,
        upto=max(before.upto, *(entry.ordinal for entry in fresh)),
        at=max(before.at, *(_made(entry) for entry in fresh)),
    )


def _made(entry: Entry) -> float:
    return entry.created_at.timestamp()


def settled(entries: Sequence[Entry]) -> list[Entry]:
    """All but the last turn, whose words may still come."""
    return [entry for turn in _turns(entries)[:-1] for entry in turn]


def _line(entry: Entry) -> Line | None:
    match entry.kind:
        case Kind.USER:
            return Line("user", entry.text)
        case Kind.ASSISTANT:
            return Line("assistant", entry.text)
        case Kind.TOOL_CALL:
            given = entry.data.get("tool_arguments")
            arguments = given if isinstance(given, Mapping) else None
            return Line("call", str(entry.data.get("tool_name") or ""), arguments)
        case _:
            return None


def _cost(turn: _Turn, limit: int) -> int:
    return sum(weigh(item) for item in _items([turn], limit))


def summary_item(text: str) -> Mapping[str, Any]:
    item_id = f"{SUMMARY}{sha256(text.encode()).hexdigest()[:26]}"
    return message_item(item_id, "system", text)


def _items(turns: list[_Turn], limit: int) -> list[Mapping[str, Any]]:
    """A call without its result, or a result without its call, is refused by providers: pairs
    only, side by side, although somebody may have spoken while the tool ran: where the result
    is, so that one that nobody has answered yet is still the last there is."""
    entries = [entry for turn in turns for entry in turn]
    calls: dict[str, Entry] = {}
    items: list[Mapping[str, Any]] = []
    for entry in entries:
        match entry.kind:
            case Kind.TOOL_CALL:
                calls[_call_id(entry)] = entry
            case Kind.TOOL_RESULT:
                if (call := calls.pop(_call_id(entry), None)) is not None:
                    items += _pair(call, entry, limit)
            case Kind.USER | Kind.ASSISTANT | Kind.SYSTEM:
                items.append(message_item(item_of(entry), entry.kind, entry.text))
    return items


def _pair(call: Entry, result: Entry, limit: int) -> list[Mapping[str, Any]]:
    arguments = orjson.dumps(call.data.get("tool_arguments") or {}).decode()
    name, call_id = str(call.data.get("tool_name") or "tool"), _call_id(call)
    return [
        call_item(item_of(call), call_id, name, arguments),
        output_item(item_of(result), call_id, shorten(result.text, limit)),
    ]


def seeded_items(entries: Sequence[Entry], seeded: Sequence[str]) -> tuple[Mapping[str, Any], ...]:
    """The items of a history again, as far as their entries are there; of its summary the id."""
    known = set(seeded)
    items = _items([list(entries)], RESULT_CHARS[0])
    heads = [message_item(one, "system", "") for one in seeded if one.startswith(SUMMARY)]
    return (*heads, *(item for item in items if item["id"] in known))


def spoken_items(entries: Sequence[Entry]) -> tuple[Mapping[str, Any], ...]:
    """What was said on a call, under the names that the provider has for it."""
    spoken = (Kind.USER, Kind.ASSISTANT)
    return tuple(
        message_item(str(entry.data["item_id"]), entry.kind, entry.text)
        for entry in entries
        if entry.kind in spoken and entry.data.get("item_id")
    )


def _call_id(entry: Entry) -> str:
    return str(entry.data.get("tool_call_id") or entry.id)[:32]


def item_of(entry: Entry) -> str:
    """Which item of the history it is, where that has it word for word."""
    return _item_id("entry", entry.id)


def _item_id(kind: str, seed: str) -> str:
    return f"vvh_{sha256(f'{kind}:{seed}'.encode()).hexdigest()[:26]}"


def shorten(text: str, limit: int) -> str:
    """Head and tail: what a result comes to is often at its end."""
    if len(text) <= limit:
        return text
    tail = limit // 4
    if not tail:
        return f"[{len(text)} characters left out]"
    return f"{text[: limit - tail]}\n...[{len(text) - limit} characters left out]\n{text[-tail:]}"


def weigh(item: Mapping[str, Any]) -> int:
    """In tokens, about."""
    words = "".join(part.get("text", "") for part in item.get("content", ()))
    words += f"{item.get('name', '')}{item.get('arguments', '')}{item.get('output', '')}"
    return _ITEM_OVERHEAD + estimate_tokens(words)
