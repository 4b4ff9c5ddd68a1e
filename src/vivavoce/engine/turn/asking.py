"""What the brain is asked: the conversation as it was heard, within its budget, and what is said
without asking it. Changes nothing.

What was generated and never heard is not told. A guess at what will be asked
when the turn ends is made from the same parts as the real question, so that the
two can be compared: what was prepared for another question is thrown away.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from vivavoce.engine.ports import Transcript
from vivavoce.engine.turn.configuration import ResponseSettings, response_settings
from vivavoce.engine.turn.conversation import user_audio, with_transcript
from vivavoce.engine.turn.manners import without_acknowledgement
from vivavoce.engine.turn.orders import Answer
from vivavoce.engine.turn.state import SILENCE, UNHEARD, State
from vivavoce.language.en.gist import Gist, Line, summary, told
from vivavoce.wire.brain import Ask, Awaited, Call, Result, Said, Tool, Turn
from vivavoce.wire.realtime.client import SAY
from vivavoce.wire.realtime.items import FunctionCall, FunctionCallOutput, Item, Message, Reference
from vivavoce.wire.realtime.session import RetentionRatio

_FOR_THE_ANSWER = 512
_SUMMARY_PART = 5  # of the room, for a summary of what is left out
_CHARS = 4  # a token, about


def question(response_id: str, settings: ResponseSettings, state: State) -> Answer | None:
    """What is put to the brain; where the user was not understood, what is said without it.
    None when it is too long."""
    answer = partial(
        Answer, response_id, voice=settings.voice if settings.speaks else None, speed=settings.speed
    )
    if given := (settings.metadata or {}).get(SAY, "").strip():
        return answer(None, words=given)
    manners = state.manners
    unheard = state.notes.get(state.conversation.last_id or "") == UNHEARD
    if manners is not None and unheard and waits(settings, state):
        return answer(None, words=manners.apology(state.unheard))
    asked = prompt(settings, state)
    return None if asked is None else answer(asked)


def waits(settings: ResponseSettings, state: State) -> bool:
    """Somebody said something, and listens for the answer."""
    if not settings.speaks or not settings.of_the_talk:
        return False
    # Tools may have come in between; whoever was told something does not wait any more.
    messages = (item for item in state.conversation.newest() if isinstance(item, Message))
    newest = next((item for item in messages if item.role != "system"), None)
    if newest is None or newest.role != "user" or newest.id not in state.transcripts:
        return False
    return state.notes.get(newest.id) != SILENCE


def sources(settings: ResponseSettings, state: State) -> list[Item]:
    """The items a response is about, without what was deleted while it waited for its words."""
    if settings.input is None:
        return list(state.conversation)
    return [
        state.conversation.get(entry.id) if isinstance(entry, Reference) else entry
        for entry in settings.input
        if not isinstance(entry, Reference) or entry.id in state.conversation
    ]


def prompt(settings: ResponseSettings, state: State) -> Ask | None:
    """None when it does not fit and the client wants nothing left out."""
    turns = _turns(settings, state)
    tools = tuple(Tool(t.name, t.description or "", t.parameters) for t in settings.tools)
    count, weigh = state.policy.count, state.policy.fixed
    before = count(settings.guidance) if weigh is None else weigh(settings.guidance, tools)
    room = state.policy.context_tokens - before - _FOR_THE_ANSWER
    truncation = state.configuration.truncation
    # In big steps: a model that remembers what it read begins anew with every other beginning.
    kept = within(turns, count, max(0, room), step=room // 3)
    if len(kept) < len(turns) and truncation == "disabled":
        return None
    if isinstance(truncation, RetentionRatio):
        limit = min(room, truncation.post_instructions or room)
        if len(within(turns, count, max(0, limit))) < len(turns):
            kept = within(turns, count, max(0, int(limit * truncation.retention_ratio)))
    elif len(kept) < len(turns):
        kept = within(turns, count, max(0, room - room // _SUMMARY_PART), step=room // 3)
    if len(kept) < len(turns):
        kept = (*_in_short(turns[: len(turns) - len(kept)], room // _SUMMARY_PART, state), *kept)
    return Ask(
        instructions=settings.guidance,
        turns=kept,
        tools=tools,
        tool_choice=settings.tool_choice,
        max_tokens=settings.max_tokens,
        parallel_calls=settings.parallel_tool_calls is not False,
        # What is aside of the conversation must not push out what the brain remembers of it.
        live=state.policy.session_id if settings.of_the_talk else "",
        spoken=settings.speaks,
    )


def _in_short(gone: tuple[Turn, ...], most: int, state: State) -> tuple[Said, ...]:
    """What is told in place of these turns, in at most so many tokens: their summary. What a
    client told as a system message may be a summary of its own: of that, the latest is told as it
    is, as far as half of the room goes."""
    if state.left_out is None or state.left_out[0] != gone:
        given = [turn.text for turn in gone if isinstance(turn, Said) and turn.role == "system"]
        before = "\n".join(given)[-most * _CHARS // 2 :] if given else ""
        words = summary(told(Gist(), map(_line, gone)), max(0, most * _CHARS - len(before)))
        text = "\n".join(part for part in (before, words) if part)
        while text and state.policy.count(text) > most:
            text = text[: len(text) * 3 // 4]
        state.left_out = gone, Said("system", text)
    short = state.left_out[1]
    return (short,) if short.text else ()


def _line(turn: Turn) -> Line:
    match turn:
        case Said(role, text):
            return Line(role, text)
        case Call(_, name, arguments):
            return Line("call", name, _arguments(arguments))
        case Result(_, output):
            return Line("result", output)


def _arguments(written: str) -> Mapping[str, object] | None:
    try:
        given = json.loads(written)
    except ValueError:
        return None
    return given if isinstance(given, dict) else None


def tokens(question: Ask, count: Callable[[str], int]) -> int:
    """How much the brain is asked, by its own count of text."""
    return count(question.instructions) + sum(_cost(turn, count) for turn in question.turns)


def seconds(settings: ResponseSettings, state: State) -> float:
    """How much of what it is asked was sound."""
    return sum(state.seconds.get(item.id, 0.0) for item in sources(settings, state))


def _turns(settings: ResponseSettings, state: State) -> tuple[Turn, ...]:
    """Where nothing was said or understood, the brain is told so in words."""
    told = {item_id: text for item_id, text in state.transcripts.items() if text}
    turns = as_turns(sources(settings, state), told, state.notes)
    most = state.policy.result_chars
    slow = () if state.manners is None else state.manners.slow
    return tuple(_as_read(turn, most, slow) for turn in turns)


def _as_read(turn: Turn, most: int, slow: Sequence[str]) -> Turn:
    match turn:
        case Result():
            return shortened(turn, most)
        case Said("assistant"):
            return replace(turn, text=without_acknowledgement(turn.text, slow))
        case _:
            return turn


def awaited(state: State) -> Awaited | None:
    """What the user was asked for last, as far as it is known."""
    if state.awaits is not None:
        return state.awaits
    messages = (item for item in state.conversation.newest() if isinstance(item, Message))
    newest = next((item for item in messages if item.role != "system"), None)
    if newest is None or newest.role != "assistant":
        return None
    return "words" if _words(newest, None).endswith("?") else None


# --- Ahead of time ------------------------------------------------------------------------


def foresee(item_id: str, heard: Transcript, state: State) -> Answer | None:
    """The answer that these words would get, without an id; None if none, or nobody can tell."""
    detection, speech = state.configuration.turn_detection, state.speech
    if state.configuration.kind == "transcription" or detection is None:
        return None
    if speech is None or speech.item_id != item_id or speech.held:
        return None
    if not detection.create_response or state.active is not None:
        return None
    settings = response_settings(state.configuration, None)
    if any(state.transcripts.get(item.id, "") is None for item in sources(settings, state)):
        return None
    return question("", settings, _told(item_id, heard, state))


def outlook(state: State) -> Ask | None:
    """How the next question will begin, as far as it is known."""
    if state.configuration.kind == "transcription":
        return None
    return prompt(response_settings(state.configuration, None), state)


def _told(item_id: str, heard: Transcript, state: State) -> State:
    """As it will be when these words are written down."""
    text = heard.text.strip()
    conversation = state.conversation.copy()
    conversation.append(with_transcript(user_audio(item_id), text))
    known = state.understood(heard.text, heard.confidence)
    return replace(
        state,
        conversation=conversation,
        transcripts={**state.transcripts, item_id: text},
        notes=state.notes if known else {**state.notes, item_id: UNHEARD},
        unheard=0 if known else state.unheard + 1,
    )


# --- The conversation in turns ------------------------------------------------------------


def as_turns(
    known: Sequence[Item], told: Mapping[str, str], noted: Mapping[str, str]
) -> tuple[Turn, ...]:
    """What the brain sees.

    `told`, by item id, is what the ears wrote of a user's sound or what
    was heard of the assistant's, where that is not in the item itself. `noted`,
    by item id, is what the brain is told in place of an item without words.

    A call is told with its result or not at all, since models trip over one
    without the other; a second result of a call is kept out. Of an assistant's
    message that nobody heard there is nothing to tell. What a user said and
    nobody understood is told only while it waits for an answer.
    """
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
    last = len(turns) - 1
    return tuple(
        turn
        for place, turn in enumerate(turns)
        if not isinstance(turn, Said) or turn.text or (turn.role == "user" and place == last)
    )


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
