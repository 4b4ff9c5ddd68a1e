"""What would be asked if the turn ended now: the machine's look ahead. Changes nothing.

A guess is made from the same parts as the real question, so that the two can
be compared: what was prepared for another question is thrown away.
"""

from __future__ import annotations

from dataclasses import replace

from vivavoce.brain.ports import Ask
from vivavoce.engine.ports import Transcript
from vivavoce.engine.turn import asking
from vivavoce.engine.turn.configuration.all import response_settings
from vivavoce.engine.turn.context import prompt, sources
from vivavoce.engine.turn.made import user_audio, with_transcript
from vivavoce.engine.turn.orders import Answer
from vivavoce.engine.turn.state import UNHEARD, State
from vivavoce.engine.turn.transcripts import understood


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
    return asking.question("", settings, _told(item_id, heard, state))


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
    known = understood(heard.text, heard.confidence, state)
    return replace(
        state,
        conversation=conversation,
        transcripts={**state.transcripts, item_id: text},
        notes=state.notes if known else {**state.notes, item_id: UNHEARD},
        unheard=0 if known else state.unheard + 1,
    )
