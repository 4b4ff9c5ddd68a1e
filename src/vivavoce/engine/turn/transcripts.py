"""The words of what the user said: as they come, when they are whole, and when there are none."""

from __future__ import annotations

import re
from typing import Final

from vivavoce.engine.turn import answering, facts, listening
from vivavoce.engine.turn.conversation import with_transcript
from vivavoce.engine.turn.orders import Send
from vivavoce.engine.turn.state import UNHEARD, Draft
from vivavoce.wire.realtime import server

_DELTA: Final = "conversation.item.input_audio_transcription.delta"
_COMPLETED: Final = "conversation.item.input_audio_transcription.completed"
_WORD = re.compile(r"[^\w' -]+")


def bare(text: str) -> str:
    """The words alone, for comparing."""
    return " ".join(_WORD.sub(" ", text.lower()).split())


def so_far(fact: facts.HeardSoFar, draft: Draft) -> None:
    """While the user still speaks: only what will not change any more."""
    state = draft.state
    speech = state.speech
    spoken = speech is not None and speech.item_id == fact.item_id and not speech.held
    if (spoken or fact.item_id in state.transcripts) and state.configuration.transcription:
        _show(fact.item_id, fact.text, draft)


def heard_all(fact: facts.HeardAll, draft: Draft) -> None:
    state = draft.state
    if fact.item_id in state.probes:
        speech = state.probes.pop(fact.item_id)
        listening.judge_probe(speech, bare(fact.text), fact.position, draft)
    if fact.item_id not in state.transcripts:
        return
    text = fact.text.strip()
    state.transcripts[fact.item_id] = text
    state.seconds[fact.item_id] = fact.seconds
    _weigh(fact.item_id, state.understood(text, fact.confidence), draft)
    _keep(fact.item_id, text, draft)
    if state.configuration.transcription:
        _show(fact.item_id, text, draft)
        usage = server.transcription_usage(fact.seconds)
        where = {"item_id": fact.item_id, "content_index": 0}
        draft.send(_COMPLETED, where, transcript=text, usage=usage)
    state.shown.pop(fact.item_id, None)
    release(fact.item_id, draft)


def failed(fact: facts.HearingFailed, draft: Draft) -> None:
    state = draft.state
    if fact.item_id in state.probes:
        listening.judge_probe(state.probes.pop(fact.item_id), "", fact.position, draft)
    if fact.item_id not in state.transcripts:
        return
    state.transcripts[fact.item_id] = ""
    _weigh(fact.item_id, False, draft)
    state.shown.pop(fact.item_id, None)
    if state.configuration.transcription:
        draft.order(Send(server.transcript_failed(fact.item_id, fact.message)))
    release(fact.item_id, draft)


def unsay(draft: Draft) -> None:
    """What is being said is off: who saw the beginning of it learns that nothing follows."""
    speech = draft.state.speech
    if speech is not None and draft.state.shown.pop(speech.item_id, None) is not None:
        draft.order(
            Send(server.transcript_failed(speech.item_id, "The input audio buffer was cleared."))
        )


def release(item_id: str, draft: Draft) -> None:
    """Responses that only waited for these words go on."""
    for response in list(draft.state.responses.values()):
        if item_id in response.waiting:
            response.waiting.discard(item_id)
            answering.ask(response, draft)


def _weigh(item_id: str, known: bool, draft: Draft) -> None:
    """What was not understood is told to the brain as such, and counted."""
    state = draft.state
    if known:
        state.unheard = 0
    else:
        state.notes[item_id] = UNHEARD
        state.unheard += 1


def _show(item_id: str, text: str, draft: Draft) -> None:
    """The part that clients have not seen; where it was seen otherwise, the end puts it right."""
    shown = draft.state.shown.get(item_id, "")
    if len(text) > len(shown) and text.startswith(shown):
        new = text[len(shown) :]
        draft.send(_DELTA, item_id=item_id, content_index=0, delta=new)
        draft.state.shown[item_id] = text


def _keep(item_id: str, text: str, draft: Draft) -> None:
    conversation = draft.state.conversation
    if item_id in conversation:
        conversation.replace(with_transcript(conversation.get(item_id), text))
