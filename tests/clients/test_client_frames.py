"""The light form of other people's clients: what they send is played to the engine without them.

How the files come about, and how to make them anew, is in `docs/testing.md`.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import aioice.ice
import pytest

from tests.clients import frames
from tests.clients.replay import Replay
from tests.clients.scenes import CLIENTS, SCENES
from tests.clients.serving import TIME_TOOL
from tests.engine.stage import KEY, engine_server
from vivavoce.brain.script.brain import ScriptedBrain
from vivavoce.brain.script.script import Rule, Script, ToolUse
from vivavoce.engine.api.control import EngineOptions
from vivavoce.engine.media.options import MediaOptions

_SCRIPT = Script(
    rules=(
        Rule(when="what time", calls=(ToolUse(TIME_TOOL),)),
        Rule(when="story", say="word, " * 500),
    )
)


def test_every_client_has_a_recording_of_every_scene() -> None:
    wanted = {(client.name, scene) for client in CLIENTS for scene in SCENES}
    assert set(frames.recorded()) == wanted


@pytest.mark.parametrize(("client", "scene"), frames.recorded())
async def test_what_the_client_sends_is_taken_and_answered_as_it_was(
    client: str, scene: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # aioice leaves loopback out; here it is the only way there should be.
    monkeypatch.setattr(aioice.ice, "get_host_addresses", lambda use_ipv4, use_ipv6: ["127.0.0.1"])
    # Slow enough that there is something to interrupt.
    brain = ScriptedBrain(_SCRIPT, pause=asyncio.sleep, word_delay=0.01)
    options = EngineOptions(media=MediaOptions(loopback=True))
    async with (
        engine_server(brain=brain, options=options) as stage,
        AsyncExitStack() as stack,
    ):
        replay = Replay(stage.origin, KEY, stage.http, stack)
        await replay.play(frames.read(client, scene))
        assert replay.events, "the engine said nothing"
