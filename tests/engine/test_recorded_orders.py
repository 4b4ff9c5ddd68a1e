"""The recorded flows of the real service, played again: the same types in the same order."""

from __future__ import annotations

import pytest

from tests.engine.stage import Line, engine_server
from tests.recordings import frames
from vivavoce.testing.engine import ScriptedEars

# As recorded; a test where the recordings are compares them with these.
OPENING = ["session.created", "session.updated"]
TYPED = ["conversation.item.added", "conversation.item.done", "response.created"]
SPOKEN_TURN = [
    "input_audio_buffer.speech_started",
    "input_audio_buffer.speech_stopped",
    "input_audio_buffer.committed",
    *TYPED,
]
ANSWER = [
    "response.output_item.added",
    "conversation.item.added",
    "response.content_part.added",
]
SOUND = [
    "response.output_audio_transcript.delta",
    "response.output_audio.delta",
    "response.output_audio.done",
    "response.output_audio_transcript.done",
]
TEXT = ["response.output_text.delta", "response.output_text.done"]
CLOSING = [
    "response.content_part.done",
    "conversation.item.done",
    "response.output_item.done",
    "response.done",
]
FLOWS = {
    "test_text_in_audio_out_turn": [*OPENING, *TYPED, *ANSWER, *SOUND, *CLOSING],
    "test_audio_in_server_vad_turn": [*OPENING, *SPOKEN_TURN, *ANSWER, *SOUND, *CLOSING],
    "test_webrtc_sideband_text_turn": ["session.updated", *TYPED, *ANSWER, *TEXT, *CLOSING],
}


def order(types: list[str]) -> list[str]:
    """Deltas come as many as they come and mixed with one another: each kind counts once, where
    it first came. The transcript of the question comes when it comes."""
    kept: list[str] = []
    for kind in types:
        if ".input_audio_transcription." in kind:
            continue
        if not (kind.endswith(".delta") and kind in kept):
            kept.append(kind)
    return kept


@pytest.mark.parametrize("name", FLOWS)
def test_the_orders_are_those_of_the_recordings(name: str) -> None:
    recorded = [frame["type"] for frame in frames(name)]
    if recorded:  # a clone without the recordings has the lists above
        assert order(recorded) == FLOWS[name]


async def test_text_in_and_audio_out() -> None:
    async with engine_server() as stage:
        line = await stage.line()
        await line.configure(instructions="Reply briefly.", output_modalities=["audio"])
        await line.write("Say a short greeting.")
        await line.answer()
        assert order(line.types()) == FLOWS["test_text_in_audio_out_turn"]


async def test_audio_in_with_server_vad() -> None:
    async with engine_server(ears=ScriptedEars(["Hello, my name is Marcelo."])) as stage:
        line = await stage.line()
        await line.configure(audio={"input": {"transcription": {"model": "gpt-realtime-whisper"}}})
        await line.speak()
        await line.until("response.done")
        assert order(line.types()) == FLOWS["test_audio_in_server_vad_turn"]
        mine = [kind for kind in line.types() if ".input_audio_transcription." in kind]
        assert [kind.rpartition(".")[2] for kind in mine] == ["delta", "completed"]


async def test_a_text_turn_seen_and_asked_for_from_the_sideband() -> None:
    async with engine_server() as stage:
        body = {"transport": "websocket", "session": {"type": "realtime"}}
        call = (await stage.post("/realtime/calls", body)).json()
        sideband: Line = await stage.line(f"call_id={call['id']}", greeted=False)
        await sideband.configure(instructions="Answer in two words.", output_modalities=["text"])
        await sideband.write("Say hello.")
        await sideband.answer()
        assert order(sideband.types()) == FLOWS["test_webrtc_sideband_text_turn"]
