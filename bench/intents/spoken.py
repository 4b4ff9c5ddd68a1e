"""Intents by speech: every talk said aloud, through the whole engine, to submissions.

A server of its own with the real ears, turn taking and brain; each talk is a
session, by WebSocket, with what the Flux agent tells and does (`bench/intents/world.py`).
Its clock is the real one, so the user lives where it is morning now. What the
ears made of a line is shown with it.

    python -m bench.intents.spoken [--brain NAME] [--fresh] [--only REGEX] [--show]
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import orjson
from websockets.asyncio.client import ClientConnection, connect

from bench import size
from bench.engine.server import Server, serving
from bench.intents.dialogues import TUNED, Dialogue
from bench.intents.fresh import FRESH
from bench.intents.judge import Outcome, told
from bench.intents.text import MOST_ASKED, NO_DATE, Report, answer, show
from bench.intents.world import opened
from bench.tool_choice.requests import Request
from bench.tool_choice.spoken import spoken

_PIECE = 4_800  # bytes: 100 ms
_FASTER = 4.0
_BEFORE, _AFTER = bytes(48 * 300), bytes(48 * 900)
_PATIENCE = 120.0
_ROUNDS = 4


class Talk:
    """One session, and the server's side of it."""

    def __init__(self, socket: ClientConnection, outcome: Outcome) -> None:
        self._socket, self._outcome = socket, outcome
        self._heard = ""

    async def begin(self) -> None:
        world = self._outcome.world
        session = {
            "type": "realtime",
            "instructions": world.instructions,
            "output_modalities": ["text"],  # what is said is not the question here
            "max_output_tokens": 300,
            "tools": [
                {
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": dict(tool.parameters or {}),
                }
                for tool in world.tools
            ],
            "audio": {"input": {"transcription": {"model": "vivavoce"}}},
        }
        await self._send(type="session.update", session=session)

    async def line(self, pcm: bytes, may: str) -> None:
        """Say it, and let the agent do what it does until it has only words."""
        world, words, self._heard = self._outcome.world, "", ""
        before = world.calls
        async with asyncio.TaskGroup() as group:
            saying = group.create_task(self._say(_BEFORE + pcm + _AFTER))
            output = await self._response()
            saying.cancel()
        await world.hear(self._heard)
        for _ in range(_ROUNDS):
            words += "".join(_text(item) for item in output)
            calls = [item for item in output if item["type"] == "function_call"]
            if not calls:
                break
            for call in calls:
                await self._answer(call, await world.call(call["name"], call["arguments"]))
            await self._send(type="response.create")
            output = await self._response()
        await world.say(words.strip())
        self._outcome.line(self._heard, may, words.strip(), world.calls - before)

    async def _answer(self, call: Mapping[str, Any], output: str) -> None:
        item = {"type": "function_call_output", "call_id": call["call_id"], "output": output}
        await self._send(type="conversation.item.create", item=item)

    async def _response(self) -> list[dict[str, Any]]:
        """What the next whole response consists of."""
        async with asyncio.timeout(_PATIENCE):
            while True:
                event = orjson.loads(await self._socket.recv())
                match event["type"]:
                    case "conversation.item.input_audio_transcription.completed":
                        self._heard = f"{self._heard} {event['transcript']}".strip()
                    case "response.done" if event["response"]["status"] != "cancelled":
                        output: list[dict[str, Any]] = event["response"]["output"]
                        return output
                    case "error":
                        raise RuntimeError(f"the server says: {event['error']}")

    async def _say(self, pcm: bytes) -> None:
        for at in range(0, len(pcm), _PIECE):
            audio = base64.b64encode(pcm[at : at + _PIECE]).decode()
            await self._send(type="input_audio_buffer.append", audio=audio)
            await asyncio.sleep(0.1 / _FASTER)

    async def _send(self, **event: Any) -> None:
        await self._socket.send(orjson.dumps(event).decode())


def _text(item: Mapping[str, Any]) -> str:
    return "".join(part.get("text", "") for part in item.get("content", ()))


async def talked(server: Server, dialogue: Dialogue, clips: Mapping[str, bytes]) -> Outcome:
    now = datetime.now(UTC)
    async with (
        opened(dialogue.tasks, now, _morning(now)) as world,
        connect(
            server.realtime, additional_headers=server.headers, max_size=None, proxy=None
        ) as socket,
    ):
        outcome = Outcome(dialogue, world)
        talk = Talk(socket, outcome)
        await talk.begin()
        for said, may in dialogue.lines:
            await talk.line(clips[said], may)
        left = list(dialogue.answers)
        for _ in range(MOST_ASKED):
            if outcome.complete or not outcome.asking:
                break
            if (reply := answer(dialogue, outcome.said, left)) is None:
                break
            await talk.line(clips[reply], "act")
    return outcome


def _morning(now: datetime) -> str:
    """Where it is some minutes past nine."""
    ahead = (9 - now.hour + 11) % 24 - 11  # 11 hours behind to 12 ahead
    return f"Etc/GMT{-ahead:+}" if ahead else "UTC"


async def outcomes(
    brain: str, dialogues: Sequence[Dialogue], *, whole: bool = False
) -> list[Outcome]:
    said = [
        line
        for d in dialogues
        for line in (*(one for one, _ in d.lines), *d.answers, d.hour, NO_DATE)
    ]
    lines = list(dict.fromkeys(said))
    clips = dict(zip(lines, await spoken([Request(line) for line in lines]), strict=True))
    with serving({"VIVAVOCE_BRAIN": brain}) as server:
        done = []
        for dialogue in dialogues:
            done.append(await talked(server, dialogue, clips))
            print(told(done[-1], whole=whole), flush=True)
        return done


def run(report: Report) -> None:
    done = asyncio.run(outcomes("qwen-1.5b", size((*TUNED, *FRESH), quick=TUNED[:1])))
    show(done)
    wrong = 100 * sum(not outcome.right for outcome in done) / len(done)
    report("intents by speech: talks that went wrong, beside the most allowed", wrong, 15.0, "%")


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--brain", default="qwen-1.5b")
    options.add_argument("--fresh", action="store_true", help="only those nothing was tuned on")
    options.add_argument("--only", default="", help="a regular expression for kinds and words")
    options.add_argument("--show", action="store_true", help="every talk, not only the wrong ones")
    given = options.parse_args()
    among = FRESH if given.fresh else (*TUNED, *FRESH)
    wanted = [d for d in among if re.search(given.only, f"{d.kind}: {d.lines[0][0]}")]
    show(asyncio.run(outcomes(given.brain, wanted, whole=given.show)))


if __name__ == "__main__":
    main()
