"""The conversation as the brain is told of it: what was said and heard, not what was generated.

Pure functions over items; `items_one` owns the items themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from vivavoce.brain.ports import Call, Result, Said, Turn
from vivavoce.engine.turn.items_one import FunctionCall, FunctionCallOutput, Item, Message
from vivavoce.engine.turn.manners import without_acknowledgement

_WORD = re.compile(r"\s*\S+")


def heard(segments: Iterable[tuple[str, int]], audio_end_ms: int) -> str:
    """The text heard until then: whole clauses, then whole words in proportion.

    `segments` are the clauses of an audio part with the length of their sound;
    put together, their texts are the transcript.
    """
    whole: list[str] = []
    left = max(0, audio_end_ms)
    for text, length in segments:
        if left < length:
            whole.append(_words_within(text, left / length))
            break
        whole.append(text)
        left -= max(0, length)
    return "".join(whole).rstrip()


def _words_within(text: str, share: float) -> str:
    """As many whole words as fit in that share of the text."""
    end = 0
    for word in _WORD.finditer(text):
        if word.end() > share * len(text):
            break
        end = word.end()
    return text[:end]


def as_turns(
    items: Iterable[Item],
    transcripts: Mapping[str, str] | None = None,
    notes: Mapping[str, str] | None = None,
) -> tuple[Turn, ...]:
    """What the brain sees.

    `transcripts`, by item id, is what the ears wrote of a user's sound or what
    was heard of the assistant's, where that is not in the item itself. `notes`,
    by item id, is what the brain is told in place of an item without words.

    A call is told with its result or not at all, since models trip over one
    without the other; a second result of a call is kept out. Of an assistant's
    message that nobody heard there is nothing to tell. What a user said and
    nobody understood is told only while it waits for an answer.
    """
    known = list(items)
    told, noted = transcripts or {}, notes or {}
    paired = _paired(known)
    turns: list[Turn] = []
    for item in known:
        match item:
            case Message() if item.id in noted:
                turns.append(Said("system", noted[item.id]))
            case Message():
                turns.append(Said(item.role, _words(item, told.get(item.id))))
            case FunctionCall() if item.id in paired:
                turns.append(Call(item.call_id, item.name, item.arguments))
            case FunctionCallOutput() if item.id in paired:
                turns.append(Result(item.call_id, item.output))
            case _:
                pass
    return tuple(turn for i, turn in enumerate(turns) if _worth(turn, i == len(turns) - 1))


def _worth(turn: Turn, last: bool) -> bool:
    match turn:
        case Said("user", ""):
            return last
        case Said(_, text):
            return bool(text)
        case _:
            return True


def _words(message: Message, told: str | None) -> str:
    said: list[str] = []
    for part in message.content:
        if not part.sounds:
            said.append(part.text or "")
        elif message.role == "assistant" and told is not None:
            said.append(told)  # what was heard, though more was generated
        else:
            said.append(part.transcript if part.transcript is not None else told or "")
    whole = " ".join(words for words in (piece.strip() for piece in said) if words)
    return without_acknowledgement(whole) if message.role == "assistant" else whole


def _paired(items: Sequence[Item]) -> set[str]:
    """The item ids of calls that have a result after them, and of those results."""
    open_calls: dict[str, str] = {}
    paired: set[str] = set()
    for item in items:
        match item:
            case FunctionCall(status="completed"):
                open_calls[item.call_id] = item.id
            case FunctionCallOutput() if item.call_id in open_calls:
                paired |= {open_calls.pop(item.call_id), item.id}
            case _:
                pass
    return paired


def shortened(result: Result, most: int) -> Result:
    """Head and tail of a long result: a small model would read it for longer than one waits."""
    text = result.output
    if len(text) <= most:
        return result
    head, tail = most * 2 // 3, most // 3
    left_out = len(text) - head - tail
    middle = f"\n[… {left_out} characters left out …]\n"
    return Result(result.call_id, text[:head] + middle + text[len(text) - tail :])


def within(
    turns: Sequence[Turn], count: Callable[[str], int], budget: int, *, step: int = 0
) -> tuple[Turn, ...]:
    """The newest turns that fit in so many tokens, never a result without its call.

    The newest turn is always told, and what belongs to it: without it there is
    no question. With a `step`, the oldest go so many tokens at a time, and the
    beginning stays the same for a while.
    """
    if step > 0:
        total = sum(_cost(turn, count) for turn in turns)
        over = max(0, total - budget)
        budget = total - -(-over // step) * step
    cost = 0
    awaited: set[str] = set()  # calls whose results are kept already
    start = len(turns)
    for place in range(len(turns) - 1, -1, -1):
        turn = turns[place]
        cost += _cost(turn, count)
        match turn:
            case Call(call_id, _, _):
                awaited.discard(call_id)
            case Result(call_id, _):
                awaited.add(call_id)
            case Said():
                pass
        if cost > budget and start < len(turns):
            break
        if not awaited:
            start = place
    return tuple(turns[start:])


def _cost(turn: Turn, count: Callable[[str], int]) -> int:
    match turn:
        case Said(_, text) | Result(_, text):
            return count(text)
        case Call(_, name, arguments):
            return count(name) + count(arguments)
