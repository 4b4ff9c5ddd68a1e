"""Tool choice by speech: every request said aloud, through the whole engine, to a call or to words.

A server of its own with the real ears and brain; each request is a session of
its own, by WebSocket, with the tools of `bench/tool_choice/requests.py`. What the ears
made of a request is shown beside what went wrong.

    python -m bench.tool_choice.spoken [--brain NAME] [--fresh] [--only REGEX]
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import orjson
from websockets.asyncio.client import ClientConnection, connect

from bench import size
from bench.engine.server import Server, serving
from bench.tool_choice.fresh import FRESH
from bench.tool_choice.requests import REQUESTS, TOOLS, Request, Verdict, judge
from bench.tool_choice.text import Report, instructions
from vivavoce.app.settings import load_settings
from vivavoce.engine.mouth.kokoro import KokoroMouth
from vivavoce.models.store import ModelStore
from vivavoce.runtime.agents.agent import load_agent

VOICES = ("am_michael", "bf_emma", "af_sarah", "bm_george")
_PIECE = 4_800  # bytes: 100 ms
_FASTER = 4.0
_SILENCE = bytes(48 * 900)
_PATIENCE = 120.0


@dataclass
class Outcome:
    request: Request
    heard: str = ""
    words: str = ""
    calls: list[tuple[str, Any]] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        return judge(self.request, self.calls, self.words)


# --- Saying ---------------------------------------------------------------------------


async def spoken(requests: Sequence[Request]) -> list[bytes]:
    """PCM16 at 24 kHz of each, by several voices; kept beside the models for the next time."""
    folder = Path(load_settings().models_dir) / "bench-requests"
    folder.mkdir(parents=True, exist_ok=True)
    mouth: KokoroMouth | None = None
    clips = []
    for number, request in enumerate(requests):
        # As a name is written, so that the mouth says it as people do: "pie", not "pee why".
        said = re.sub(r"\s+dot\s+", ".", re.sub(r"\s+slash\s+", "/", request.said))
        voice = VOICES[number % len(VOICES)]
        name = hashlib.sha256(f"{voice} {said}".encode()).hexdigest()[:16]
        file = folder / f"{name}.pcm"
        if not file.exists():
            if mouth is None:
                mouth = KokoroMouth(ModelStore(load_settings().models_dir).folder / "kokoro")
            file.write_bytes((await mouth.speak(said, voice=voice)).pcm)
        clips.append(file.read_bytes())
    if mouth is not None:
        mouth.close()
    return clips


# --- Asking ---------------------------------------------------------------------------


@cache
def _keywords() -> str:
    """Those of the workbench, whose tools these are."""
    agent = load_agent("workbench")
    return f"Keywords: {', '.join(agent.transcription.keywords)}"


def _session() -> dict[str, Any]:
    return {
        "type": "realtime",
        "instructions": instructions(),
        "output_modalities": ["text"],  # what is said is not the question here
        "tools": [
            {"type": "function", "name": name, "description": about, "parameters": schema}
            for name, about, schema in TOOLS
        ],
        "audio": {"input": {"transcription": {"model": "vivavoce", "prompt": _keywords()}}},
    }


async def ask(server: Server, request: Request, pcm: bytes, patience: float = _PATIENCE) -> Outcome:
    async with connect(
        server.realtime, additional_headers=server.headers, max_size=None, proxy=None
    ) as socket:
        await _send(socket, type="session.update", session=_session())
        async with asyncio.timeout(patience), asyncio.TaskGroup() as group:
            saying = group.create_task(_say(socket, bytes(48 * 300) + pcm + _SILENCE))
            outcome = await _outcome(socket, request)
            saying.cancel()
        return outcome


async def _say(socket: ClientConnection, pcm: bytes) -> None:
    for at in range(0, len(pcm), _PIECE):
        audio = base64.b64encode(pcm[at : at + _PIECE]).decode()
        await _send(socket, type="input_audio_buffer.append", audio=audio)
        await asyncio.sleep(0.1 / _FASTER)


async def _outcome(socket: ClientConnection, request: Request) -> Outcome:
    outcome = Outcome(request)
    while True:
        event = orjson.loads(await socket.recv())
        match event["type"]:
            case "conversation.item.input_audio_transcription.completed":
                outcome.heard = f"{outcome.heard} {event['transcript']}".strip()
            case "response.done" if event["response"]["status"] != "cancelled":
                for item in event["response"]["output"]:
                    if item["type"] == "function_call":
                        outcome.calls.append((item["name"], json.loads(item["arguments"])))
                    else:
                        outcome.words += "".join(p.get("text", "") for p in item["content"])
                return outcome
            case "error":
                raise RuntimeError(f"the server says: {event['error']}")


async def _send(socket: ClientConnection, **event: Any) -> None:
    await socket.send(orjson.dumps(event).decode())


# --- Telling --------------------------------------------------------------------------


async def outcomes(brain: str, requests: Sequence[Request]) -> list[Outcome]:
    clips = await spoken(requests)
    with serving({"VIVAVOCE_BRAIN": brain}) as server:
        # The first question waits for the prompt to be read, which is no part of this.
        await ask(server, Request("Hello."), clips[0], patience=5 * _PATIENCE)
        done = []
        for request, clip in zip(requests, clips, strict=True):
            outcome = await ask(server, request, clip)
            shown = outcome.calls or outcome.words
            print(f"  {outcome.verdict}: {request.said} ({outcome.heard}) → {shown}", flush=True)
            done.append(outcome)
        return done


def show(done: Sequence[Outcome]) -> tuple[float, float]:
    """Per cent wrong of those that want a tool, and of needless calls among the others."""
    wrong = needless = 0.0
    for name, group in (("tuned on", REQUESTS), ("fresh", FRESH), ("all", (*REQUESTS, *FRESH))):
        some = [outcome for outcome in done if outcome.request in group]
        wanting = [o for o in some if o.request.wants]
        others = [o for o in some if not o.request.wants]
        if not some:
            continue
        wrong = 100 * sum(o.verdict != "right" for o in wanting) / max(1, len(wanting))
        needless = 100 * sum(o.verdict == "needless call" for o in others) / max(1, len(others))
        print(f"  {name}: {len(some)}, {100 - wrong:.1f} % right, {needless:.1f} % needless calls")
    return wrong, needless


def run(report: Report) -> None:
    wanted = size((*REQUESTS, *FRESH), quick=REQUESTS[:3])
    wrong, needless = show(asyncio.run(outcomes("qwen-1.5b", wanted)))
    report("brain, by speech: wrong tool or arguments, beside the most allowed", wrong, 15.0, "%")
    report("brain, by speech: needless calls, beside the most allowed", needless or 0.1, 5.0, "%")


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--brain", default="qwen-1.5b")
    options.add_argument("--fresh", action="store_true", help="only those nothing was tuned on")
    options.add_argument("--only", default="", help="a regular expression")
    given = options.parse_args()
    among = FRESH if given.fresh else (*REQUESTS, *FRESH)
    wanted = [request for request in among if re.search(given.only, request.said)]
    show(asyncio.run(outcomes(given.brain, wanted)))


if __name__ == "__main__":
    main()
