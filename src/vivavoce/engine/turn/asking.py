"""What a response is asked of the brain, and what is said without asking it."""

from __future__ import annotations

from vivavoce.engine.turn import outputs
from vivavoce.engine.turn.configuration.all import ResponseSettings
from vivavoce.engine.turn.context import prompt
from vivavoce.engine.turn.items import Message
from vivavoce.engine.turn.orders import Answer, Interject, StartTimer
from vivavoce.engine.turn.state import SILENCE, UNHEARD, Draft, Response, State
from vivavoce.wire.realtime.commands import SAY


def question(response_id: str, settings: ResponseSettings, state: State) -> Answer | None:
    """What is put to the brain; where the user was not understood, what is said without it.
    None when it is too long."""
    voice = settings.voice if settings.speaks else None
    if given := (settings.metadata or {}).get(SAY, "").strip():
        return Answer(response_id, None, voice=voice, speed=settings.speed, words=given)
    manners = state.policy.manners
    unheard = state.notes.get(state.conversation.last_id or "") == UNHEARD
    if manners is not None and unheard and _waits(settings, state):
        words = manners.apology(state.unheard)
        return Answer(response_id, None, voice=voice, speed=settings.speed, words=words)
    asked = prompt(settings, state)
    return None if asked is None else Answer(response_id, asked, voice=voice, speed=settings.speed)


def be_patient(response: Response, draft: Draft) -> None:
    """Whoever spoke and hears nothing for a while is told that it takes a moment."""
    state, manners = draft.state, draft.state.policy.manners
    if SAY in (response.settings.metadata or {}):
        return  # these words are there already
    if manners is None or state.acknowledged or not _waits(response.settings, state):
        return
    draft.order(StartTimer(f"slow:{response.id}", manners.slow_after))


def slow(response_id: str, draft: Draft) -> None:
    """Nothing to hear yet: once a turn, and not while words are on their way."""
    state, manners = draft.state, draft.state.policy.manners
    response = state.responses.get(response_id)
    if manners is None or response is None or not response.spoken:
        return
    if state.acknowledged or response.outputs:
        return
    words = manners.acknowledgement(state.acknowledgements) + " "
    state.acknowledged, state.acknowledgements = True, state.acknowledgements + 1
    outputs.words(response, words, draft)
    draft.order(Interject(response_id, words))


def _waits(settings: ResponseSettings, state: State) -> bool:
    """Somebody said something, and listens for the answer."""
    if not settings.speaks or settings.input is not None or settings.conversation != "auto":
        return False
    # Tools may have come in between; whoever was told something does not wait any more.
    messages = (item for item in state.conversation.newest() if isinstance(item, Message))
    newest = next((item for item in messages if item.role != "system"), None)
    if newest is None or newest.role != "user" or newest.id not in state.transcripts:
        return False
    return state.notes.get(newest.id) != SILENCE
