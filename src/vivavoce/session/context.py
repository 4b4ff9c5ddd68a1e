"""What the model is told: at the start, after a resume, after a restore. Pure, within a budget.

`prompt.md` is sent as written; what the server knows follows under one heading
of its own. History is the last turns word for word, with their tool calls and
results; what lies before them is a summary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any
from zoneinfo import ZoneInfo

import orjson

from vivavoce.language.en.telling import moment_words
from vivavoce.wire.realtime.client import call_item, message_item, output_item
from vivavoce.wire.records.talk import Entry, Kind
from vivavoce.wire.values import Record

TURNS_WORD_FOR_WORD = 10
HISTORY_SHARE = 0.5  # of what instructions and tools leave: the rest is for the talk to come
_RESULT_CHARS = 4_000
_SHORT_RESULT_CHARS = 400
_ITEM_OVERHEAD = 8  # tokens of framing an item

_Turn = list[Entry]


def estimate_tokens(text: str) -> int:
    """About four characters a token; a little too many is on the safe side."""
    return (len(text) + 3) // 4


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
        lines.append(f"Running tasks: {'; '.join(situation.running_tasks[:3])}")
    if situation.discoveries:
        lines.append(f"Notes kept in the project, for information:\n{situation.discoveries}")
    if situation.verbosity != "normal":
        lines.append(f"The user likes answers to be {situation.verbosity}.")
    return f"{prompt.rstrip()}\n\n## Current Context\n" + "\n".join(lines)


class History(Record):
    """Items for the new call, oldest first, and what they weigh."""

    items: tuple[Mapping[str, Any], ...] = ()
    summary: str | None = None
    turns: int = 0
    tokens: int = 0


def _turns(entries: Sequence[Entry]) -> list[_Turn]:
    """A turn begins with the user's words; what comes before the first has a turn of its own."""
    turns: list[_Turn] = []
    for entry in entries:
        if entry.kind is Kind.USER or not turns:
            turns.append([])
        turns[-1].append(entry)
    return turns


def history(
    entries: Sequence[Entry],
    *,
    budget: int,
    summary: str | None = None,
    turns: int = TURNS_WORD_FOR_WORD,
    began: str | None = None,
) -> History:
    """The most that fits: whole recent turns; then with short results; then fewer turns.

    `began` is what the conversation began with, where these are only the last of its entries.
    """
    called = (Kind.TOOL_CALL, Kind.TOOL_RESULT)
    every = _turns([entry for entry in entries if entry.text.strip() or entry.kind in called])
    if began is not None:
        summary = f"{summary} {_began(began)}" if summary else _began(began)
    recent = every[-turns:]
    fewer = ((recent[at:], _SHORT_RESULT_CHARS) for at in range(max(1, len(recent))))
    for kept, limit in ((recent, _RESULT_CHARS), *fewer):
        built = _build(every, kept, summary, limit)
        if built.tokens <= budget:
            return built
    return _last_resort(every, summary, budget)


def _build(every: list[_Turn], recent: list[_Turn], summary: str | None, limit: int) -> History:
    older = every[: len(every) - len(recent)]
    told = _summary_text(summary, older)
    items: list[Mapping[str, Any]] = []
    if told:
        items.append(message_item(_item_id("summary", told), "system", told))
    items += _items(recent, limit)
    return History(
        items=tuple(items),
        summary=told,
        turns=len(recent),
        tokens=sum(_weigh(item) for item in items),
    )


def _last_resort(every: list[_Turn], summary: str | None, budget: int) -> History:
    """Not even one turn fits: the summary, cut to what does."""
    told = _summary_text(summary, every)
    room = max(0, (budget - _ITEM_OVERHEAD) * 4 - 3)
    if not told or room < 40:
        return History(summary=told)
    text = told[:room]
    item = message_item(_item_id("summary", text), "system", text)
    return History(items=(item,), summary=told, turns=0, tokens=_weigh(item))


def _items(turns: list[_Turn], limit: int) -> list[Mapping[str, Any]]:
    """A call without its result, or a result without its call, is refused by providers: pairs
    only, side by side, although the user may have spoken while the tool ran."""
    entries = [entry for turn in turns for entry in turn]
    results = {_call_id(e): e for e in entries if e.kind is Kind.TOOL_RESULT}
    items: list[Mapping[str, Any]] = []
    for entry in entries:
        match entry.kind:
            case Kind.TOOL_CALL:
                result = results.pop(_call_id(entry), None)
                if result is not None:
                    items += _pair(entry, result, limit)
            case Kind.USER | Kind.ASSISTANT | Kind.SYSTEM:
                items.append(message_item(item_of(entry), entry.kind, entry.text))
            case Kind.TOOL_RESULT:
                pass  # beside its call
    return items


def _pair(call: Entry, result: Entry, limit: int) -> list[Mapping[str, Any]]:
    arguments = orjson.dumps(call.data.get("tool_arguments") or {}).decode()
    name, call_id = str(call.data.get("tool_name") or "tool"), _call_id(call)
    return [
        call_item(item_of(call), call_id, name, arguments),
        output_item(item_of(result), call_id, _shorten(result.text, limit)),
    ]


def _call_id(entry: Entry) -> str:
    return str(entry.data.get("tool_call_id") or entry.id)[:32]


def item_of(entry: Entry) -> str:
    """Which item of the history it is, where that has it word for word."""
    return _item_id("entry", entry.id)


def _item_id(kind: str, seed: str) -> str:
    return f"vvh_{sha256(f'{kind}:{seed}'.encode()).hexdigest()[:26]}"


def _shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}\n...[truncated]"


def _weigh(item: Mapping[str, Any]) -> int:
    words = "".join(part.get("text", "") for part in item.get("content", ()))
    words += f"{item.get('name', '')}{item.get('arguments', '')}{item.get('output', '')}"
    return _ITEM_OVERHEAD + estimate_tokens(words)


def _summary_text(summary: str | None, older: list[_Turn]) -> str | None:
    words = [text for text in (summary, _digest(older)) if text]
    return f"Previous conversation summary: {' '.join(words)}" if words else None


def _digest(older: list[_Turn]) -> str | None:
    """Without a model: how it began, what was used, where it stood (seed 001 §7.2)."""
    entries = [entry for turn in older for entry in turn]
    asked = [_short(e.text) for e in entries if e.kind is Kind.USER]
    said = [_short(e.text) for e in entries if e.kind is Kind.ASSISTANT]
    tools = sorted({str(e.data["tool_name"]) for e in entries if e.data.get("tool_name")})
    parts = [f"{len(asked)} earlier turns." if asked else ""]
    parts += [_began(asked[0]) if asked else ""]
    parts += [f"Then, among others: {'; '.join(asked[1:][-5:])}." if len(asked) > 1 else ""]
    parts += [f"Tools used: {', '.join(tools)}." if tools else ""]
    parts += [f"The assistant last said: “{said[-1]}”" if said else ""]
    return " ".join(part for part in parts if part) or None


def _began(words: str) -> str:
    return f"It began with the user saying: “{words}”"


def _short(text: str, limit: int = 120) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def history_budget(context_tokens: int, prompt: str, tools: Sequence[Mapping[str, Any]]) -> int:
    """What history may weigh, once instructions and tools have taken their part."""
    fixed = estimate_tokens(prompt) + sum(estimate_tokens(orjson.dumps(t).decode()) for t in tools)
    return max(0, int((context_tokens - fixed) * HISTORY_SHARE))
