"""Recordings through the whole engine: a server, a socket, its turns, its transcripts."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson
import soxr
from websockets.asyncio.client import ClientConnection, connect

from bench.engine.server import serving
from vivavoce.engine.ports import EAR_RATE, Samples

_RATE = 24_000
_PIECE_S = 0.1
_FASTER = 4.0
"""Than people talk: turns go by the sound, not by the clock."""
_BEFORE_S, _AFTER_S = 0.5, 1.2
"""Silence around a recording; long enough for its turn to end."""
_PATIENCE = 120.0
_SESSION = {
    "type": "realtime",
    "audio": {
        "input": {
            "format": {"type": "audio/pcm", "rate": _RATE},
            "transcription": {"model": "vivavoce"},
            # Nobody answers: this is about what was heard.
            "turn_detection": {
                "type": "server_vad",
                "create_response": False,
                "interrupt_response": False,
            },
        }
    },
}

Json = dict[str, Any]


async def through_engine(clips: Sequence[Samples], **settings: str) -> list[str]:
    """What a server with these settings writes down of each clip, its turns joined."""
    with serving({"VIVAVOCE_BRAIN": "scripted", **settings}) as server:
        async with connect(
            server.realtime, additional_headers=server.headers, max_size=None, proxy=None
        ) as socket:
            await _send(socket, type="session.update", session=_SESSION)
            await _until(socket, "session.updated")
            return [await _hear(socket, clip) for clip in clips]


@dataclass
class _Turns:
    """What became of the turns of one clip, in their order."""

    texts: dict[str, str | None] = field(default_factory=dict)
    all_sent: bool = False

    def take(self, event: Json) -> None:
        match event["type"]:
            case "input_audio_buffer.committed":
                self.texts.setdefault(event["item_id"], None)
            case "conversation.item.input_audio_transcription.completed":
                self.texts[event["item_id"]] = event["transcript"]
            case "conversation.item.input_audio_transcription.failed":
                self.texts[event["item_id"]] = ""
            case "input_audio_buffer.cleared":
                self.all_sent = True
            case "error":
                raise RuntimeError(f"the server says: {event['error']}")

    @property
    def known(self) -> bool:
        return self.all_sent and None not in self.texts.values()


async def _hear(socket: ClientConnection, clip: Samples) -> str:
    turns = _Turns()
    async with asyncio.timeout(_PATIENCE), asyncio.TaskGroup() as group:
        group.create_task(_speak(socket, clip))
        while not turns.known:
            turns.take(orjson.loads(await socket.recv()))
    return " ".join(text for text in turns.texts.values() if text)


async def _speak(socket: ClientConnection, clip: Samples) -> None:
    quiet = [np.zeros(int(seconds * EAR_RATE), np.float32) for seconds in (_BEFORE_S, _AFTER_S)]
    sound = soxr.resample(np.concatenate([quiet[0], clip, quiet[1]]), EAR_RATE, _RATE)
    pcm = (np.clip(sound, -1, 1) * 32767).astype("<i2")
    piece = int(_PIECE_S * _RATE)
    for at in range(0, len(pcm), piece):
        audio = base64.b64encode(pcm[at : at + piece].tobytes()).decode()
        await _send(socket, type="input_audio_buffer.append", audio=audio)
        await asyncio.sleep(_PIECE_S / _FASTER)
    # Its answer comes after whatever the sound before it has caused.
    await _send(socket, type="input_audio_buffer.clear")


async def _until(socket: ClientConnection, kind: str) -> None:
    async with asyncio.timeout(_PATIENCE):
        while (event := orjson.loads(await socket.recv()))["type"] != kind:
            if event["type"] == "error":
                raise RuntimeError(f"the server says: {event['error']}")


async def _send(socket: ClientConnection, **event: Any) -> None:
    await socket.send(orjson.dumps(event).decode())
