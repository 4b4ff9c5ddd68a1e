"""What the brain is asked for a response: the conversation as it was heard, within its budget."""

from __future__ import annotations

from vivavoce.brain.ports import Ask, Call, Result, Said, Tool, Turn
from vivavoce.engine.turn.configuration.all import Reference, ResponseSettings, RetentionRatio
from vivavoce.engine.turn.items import Item, as_turns, shortened, within
from vivavoce.engine.turn.state import State

_FOR_THE_ANSWER = 512


def sources(settings: ResponseSettings, state: State) -> list[Item]:
    """The items a response is about. Raises `Refused` for a reference to nothing."""
    if settings.input is None:
        return list(state.conversation)
    return [
        state.conversation.get(entry.id, param="response.input")
        if isinstance(entry, Reference)
        else entry
        for entry in settings.input
    ]


def prompt(settings: ResponseSettings, state: State) -> Ask | None:
    """None when it does not fit and the client wants nothing left out."""
    turns = _turns(settings, state)
    count = state.policy.count
    room = state.policy.context_tokens - count(settings.instructions) - _FOR_THE_ANSWER
    truncation = state.configuration.truncation
    # In big steps: a model that remembers what it read begins anew with every other beginning.
    kept = within(turns, count, max(0, room), step=room // 3)
    if len(kept) < len(turns) and truncation == "disabled":
        return None
    if isinstance(truncation, RetentionRatio):
        limit = min(room, truncation.post_instructions or room)
        if len(within(turns, count, max(0, limit))) < len(turns):
            kept = within(turns, count, max(0, int(limit * truncation.retention_ratio)))
    return Ask(
        instructions=settings.instructions,
        turns=kept,
        tools=tuple(Tool(t.name, t.description or "", t.parameters) for t in settings.tools),
        tool_choice=settings.tool_choice,
        max_tokens=settings.max_tokens,
        parallel_calls=settings.parallel_tool_calls,
        # What is aside of the conversation must not push out what the brain remembers of it.
        live=state.policy.session_id if _of_the_talk(settings) else "",
    )


def _of_the_talk(settings: ResponseSettings) -> bool:
    return settings.input is None and settings.conversation == "auto"


def tokens(question: Ask, state: State) -> int:
    """How much the brain is asked, by its own count of text."""
    count = state.policy.count
    total = count(question.instructions)
    for turn in question.turns:
        match turn:
            case Said(_, text) | Result(_, text):
                total += count(text)
            case Call(_, name, arguments):
                total += count(name) + count(arguments)
    return total


def seconds(settings: ResponseSettings, state: State) -> float:
    """How much of what it is asked was sound."""
    return sum(state.seconds.get(item.id, 0.0) for item in _present(settings, state))


def _turns(settings: ResponseSettings, state: State) -> tuple[Turn, ...]:
    """Where nothing was said or understood, the brain is told so in words."""
    told = {item_id: text for item_id, text in state.transcripts.items() if text}
    turns = as_turns(_present(settings, state), told, state.notes)
    most = state.policy.result_chars
    return tuple(shortened(turn, most) if isinstance(turn, Result) else turn for turn in turns)


def _present(settings: ResponseSettings, state: State) -> list[Item]:
    """Without what was deleted while the response waited for its words."""
    if settings.input is None:
        return list(state.conversation)
    return [
        state.conversation.get(entry.id) if isinstance(entry, Reference) else entry
        for entry in settings.input
        if not isinstance(entry, Reference) or entry.id in state.conversation
    ]
