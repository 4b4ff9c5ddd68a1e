"""Real traffic of OpenAI's Realtime API, replayed through the sideband (where it is to be had)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.journeys.stage import stage
from tests.recordings import frames

# What each recording says, in the order of the conversation, and the states it goes through.
RECORDINGS: dict[str, tuple[list[tuple[str, str | None]], list[str]]] = {
    "test_audio_in_server_vad_turn": (
        [
            ("user", "Hello, my name is Marcelo."),
            ("assistant", "Hello, Marcelo! Great to meet you. How can I help you today?"),
        ],
        ["listening", "processing", "speaking", "ready"],
    ),
    "test_text_in_audio_out_turn": (
        [("user", None), ("assistant", "Hi there!")],
        ["processing", "speaking", "ready"],
    ),
    "test_webrtc_sideband_text_turn": (
        [("user", "Say hello."), ("assistant", "Hello there!")],
        ["processing", "ready"],
    ),
}


@pytest.mark.parametrize("name", RECORDINGS)
async def test_a_recording_is_stored_in_order_and_goes_through_the_right_states(
    name: str, tmp_path: Path
) -> None:
    recorded = frames(name)
    # The configuration is ours; everything after it is theirs.
    replayed = [frame for frame in recorded if not frame["type"].startswith("session.")]
    if not replayed:
        return  # no recordings beside this checkout: nothing to replay
    async with stage(tmp_path, peer_text="allow") as st:
        session, call, watcher = await st.talk()
        await call.emit(*replayed)
        said, states = RECORDINGS[name]
        await watcher.until(lambda: len(watcher.all("transcription.completed")) >= len(said))
        await watcher.until(lambda: watcher.all("session.status")[-1]["state"] == "ready")
        detail = await st.get(f"/sessions/{session['session_id']}")
        stored = [(entry["entry_type"], entry["text"]) for entry in detail["transcript"]]
        assert [kind for kind, _ in stored] == [kind for kind, _ in said]
        for (_, text), (_, expected) in zip(stored, said, strict=True):
            assert expected is None or text == expected
        seen = [data["state"] for data in watcher.all("session.status")]
        assert seen == ["initializing", "ready", *states]
        assert not watcher.all("error")
