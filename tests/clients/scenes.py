"""Other people's Python clients, and how one of their scenes is run.

They live in an environment of their own (`make clients` makes it), since each brings a
hundred packages. A scene is a script there that tells what happened as lines of JSON.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

import orjson

from tests.browser.scenes import Told, lines
from tests.clients import frames
from tests.clients.between import Between, Got, Opened, between
from tests.clients.serving import TIME, TIME_TOOL, Served
from tests.clients.talk import MODEL
from tests.clients.voice import Voice

ENVIRONMENT = Path(__file__).parents[2] / ".venv-clients"
SCRIPTS = Path(__file__).parent / "python"

SCENES = ("text", "spoken", "tool", "interruption", "update", "error", "reconnect")
SENTENCE = "The old garden behind the church is full of roses."
MOON, SUN, CLOCK = "The moon is bright.", "The sun is warm.", "What time is it?"
_ALOUD = {"speech": SENTENCE, "moon": MOON, "sun": SUN, "clock": CLOCK}
"""What a scene may say, and the name that it has there."""


@dataclass(frozen=True, slots=True)
class Client:
    name: str
    """Its script is `python/scene_<name>.py`, its recordings are in `frames/<name>/`."""
    package: str
    refusal: str
    """The code of the error that its scene `error` brings about."""
    harmless: frozenset[str] = field(default=frozenset())
    """Codes of errors that it provokes in passing, with OpenAI as here, and ignores."""


CLIENTS = (
    Client(
        "livekit",
        "livekit-plugins-openai",
        refusal="cannot_update_voice",
        # It cancels after the server has, and knows the answer by its first words.
        harmless=frozenset({"response_cancel_not_active"}),
    ),
    Client("pydantic_ai", "pydantic-ai-slim", refusal="input_audio_buffer_commit_empty"),
    Client("pydantic_ai_webrtc", "pydantic-ai-slim", refusal="HTTP 404"),
    Client("openai_agents", "openai-agents", refusal="item_truncate_invalid_item_id"),
    Client("pipecat", "pipecat-ai", refusal="item_retrieve_invalid_item_id"),
)


@dataclass(frozen=True, slots=True)
class Played:
    """One scene: what the client told, and what went by."""

    told: Told
    between: Between
    heard: bytes
    """The sound that the client played, PCM16 at 24 kHz."""

    def errors(self) -> list[str]:
        """Codes of error events, and `HTTP 404` for a WebSocket that was refused."""
        found = []
        for one in self.between.taken:
            if isinstance(one, Got) and one.event["type"] == "error":
                found.append(str(one.event["error"]["code"]))
            elif isinstance(one, Opened) and one.refused:
                found.append(f"HTTP {one.refused}")
        return found


async def played(client: Client, scene: str, served: Served, voice: Voice, folder: Path) -> Played:
    """The scene, from its beginning to its end."""
    python = ENVIRONMENT / "bin" / "python"
    assert python.exists(), "first: make clients"
    heard = folder / "heard.pcm"
    for name, words in _ALOUD.items():
        (folder / f"{name}.pcm").write_bytes(await voice.say(words))
    async with between(served.origin) as proxy:
        given: dict[str, Any] = {
            "scene": scene,
            "url": proxy.url,
            **proxy.controls,
            "key": served.key,
            "model": MODEL,
            "tool": TIME_TOOL,
            "time": TIME,
            "heard": str(heard),
            **{name: str(folder / f"{name}.pcm") for name in _ALOUD},
        }
        script = SCRIPTS / f"scene_{client.name}.py"
        told = await lines([str(python), str(script), orjson.dumps(given).decode()], 150)
    return Played(told, proxy, heard.read_bytes() if heard.exists() else b"")


def record(client: Client, scene: str, seen: Played, key: str) -> None:
    """Keep what the client sent, to be played without it."""
    steps = frames.condensed(seen.between.taken, key)
    frames.write(client.name, scene, _version(client.package), steps)


def _version(package: str) -> str:
    """As it is in their environment, not in ours."""
    (place,) = (ENVIRONMENT / "lib").glob("python*/site-packages")
    found: list[Distribution] = list(distributions(name=package, path=[str(place)]))
    return f"{package} {found[0].version}"
