"""A provider that only sends: a talk of many turns, as fast as the reader takes it.

Runs as a process of its own, so that its work is not counted as the reader's.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from websockets.asyncio.server import ServerConnection, serve

from bench import size

TURNS = size(300, quick=20)
DELTAS = 30


def turn(n: int) -> list[dict[str, Any]]:
    """One question and its answer, in the order of the real service."""
    user, said, response = f"item_u{n}", f"item_a{n}", f"resp_{n}"
    message = {"id": said, "type": "message", "role": "assistant", "status": "in_progress"}
    base = {"response_id": response, "item_id": said, "output_index": 0, "content_index": 0}
    words = [f"word{k} " for k in range(DELTAS)]
    frames: list[dict[str, Any]] = [
        {"type": "input_audio_buffer.speech_started", "item_id": user, "audio_start_ms": 100},
        {"type": "input_audio_buffer.speech_stopped", "item_id": user, "audio_end_ms": 900},
        {"type": "input_audio_buffer.committed", "item_id": user, "previous_item_id": None},
        {
            "type": "conversation.item.added",
            "previous_item_id": None,
            "item": {
                "id": user,
                "type": "message",
                "role": "user",
                "status": "completed",
                "content": [{"type": "input_audio", "transcript": None}],
            },
        },
        {"type": "response.created", "response": _response(response, "in_progress")},
        {
            "type": "response.output_item.added",
            "response_id": response,
            "output_index": 0,
            "item": {**message, "content": []},
        },
        {
            "type": "conversation.item.added",
            "previous_item_id": user,
            "item": {**message, "content": []},
        },
        {"type": "output_audio_buffer.started", "response_id": response},
    ]
    frames += [
        {"type": "response.output_audio_transcript.delta", **base, "delta": word} for word in words
    ]
    frames += [
        {
            "type": "conversation.item.input_audio_transcription.completed",
            "item_id": user,
            "content_index": 0,
            "transcript": f"Question {n}",
            "usage": {"type": "duration", "seconds": 1.0},
        },
        {
            "type": "response.output_audio_transcript.done",
            **base,
            "transcript": "".join(words),
        },
        {"type": "response.done", "response": _response(response, "completed")},
        {"type": "output_audio_buffer.stopped", "response_id": response},
    ]
    return [{"event_id": f"event_{n}_{k}", **frame} for k, frame in enumerate(frames)]


def _response(response_id: str, status: str) -> dict[str, Any]:
    usage = {"total_tokens": 30, "input_tokens": 20, "output_tokens": 10}
    return {
        "object": "realtime.response",
        "id": response_id,
        "status": status,
        "output": [],
        "usage": usage if status == "completed" else None,
    }


EVENTS = TURNS * len(turn(0))


async def _answer(line: ServerConnection) -> None:
    update = json.loads(await line.recv())
    session = {"object": "realtime.session", "id": "sess_1", **update.get("session", {})}
    updated = {"type": "session.updated", "event_id": "event_0", "session": session}
    await line.send(json.dumps(updated))
    for n in range(TURNS):
        for frame in turn(n):
            await line.send(json.dumps(frame))
    await line.close(1000)


async def _main() -> None:
    async with serve(_answer, "127.0.0.1", 0, compression=None) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        print(port, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


@contextmanager
def feeding() -> Iterator[str]:
    """The base URL of a feed that runs meanwhile."""
    with subprocess.Popen(
        [sys.executable, "-m", "bench.material.feed"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stdin is not None
        try:
            yield f"http://127.0.0.1:{int(child.stdout.readline())}/v1"
        finally:
            child.stdin.close()


if __name__ == "__main__":
    asyncio.run(_main())
