"""Other people's Python clients, unchanged: only the address and the key are ours.

Real models, real speech. Between client and server is a proxy that changes nothing, so
that every event can be held to the types, and the network can be lost. With `--record` what the
clients sent goes into `frames/`, for the light form in `test_client_frames.py`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.clients.between import Closed, Opened
from tests.clients.scenes import CLIENTS, MOON, SENTENCE, SUN, Client, Played, played, record
from tests.clients.serving import Served
from tests.clients.talk import share
from tests.clients.voice import Voice
from tests.engine.strict import strict

pytestmark = [
    pytest.mark.full,
    pytest.mark.timeout(300),  # ears and a mouth on whatever cores there are
    pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name),
]
Play = Callable[[Client, str], Awaitable[Played]]


@pytest.fixture
def play(served: Served, voice: Voice, tmp_path: Path, request: pytest.FixtureRequest) -> Play:
    async def run(client: Client, scene: str) -> Played:
        seen = await played(client, scene, served, voice, tmp_path)
        for event in seen.between.events():
            strict(event)
        wanted = {client.refusal} if scene == "error" else client.harmless
        assert set(seen.errors()) <= wanted, seen.errors()
        if request.config.getoption("--record", default=False):
            record(client, scene, seen, served.key)
        return seen

    return run


async def test_a_written_turn_is_answered(client: Client, play: Play) -> None:
    seen = await play(client, "text")
    assert share(MOON, seen.told.one("text")["answer"]) == 1


async def test_a_spoken_turn_is_heard_and_answered_aloud(
    client: Client, play: Play, voice: Voice
) -> None:
    seen = await play(client, "spoken")
    spoken = seen.told.one("spoken")
    assert share(SENTENCE, spoken["user"]) >= 0.7, spoken
    assert share(spoken["answer"], await voice.hear(seen.heard)) >= 0.7


async def test_a_tool_is_called_and_its_result_is_used(client: Client, play: Play) -> None:
    seen = await play(client, "tool")
    assert seen.told.one("called")
    assert "9:30" in seen.told.one("tool")["answer"]


async def test_an_answer_is_interrupted_and_the_next_one_is_whole(
    client: Client, play: Play
) -> None:
    seen = await play(client, "interruption")
    events = seen.between.events()
    done = [event["response"] for event in events if event["type"] == "response.done"]
    # An answer is made faster than it sounds: it may be whole, and only its sound cut off.
    cut_off = [event for event in events if event["type"] == "conversation.item.truncated"]
    assert cut_off or "cancelled" in [response["status"] for response in done]
    assert share(SENTENCE, seen.told.one("spoken")["user"]) >= 0.7
    assert share(MOON, seen.told.one("text")["answer"]) == 1
    assert done[-1]["status"] == "completed"


async def test_the_session_is_changed_in_the_middle(client: Client, play: Play) -> None:
    seen = await play(client, "update")
    events = seen.between.events()
    changed = [event["session"] for event in events if event["type"] == "session.updated"]
    assert changed[-1]["instructions"] == "Speak of boats."
    assert changed[-1]["tools"] == []
    assert "nobody gave me a clock" in seen.told.one("text")["answer"]


async def test_a_refusal_is_told_and_the_session_lives_on(client: Client, play: Play) -> None:
    seen = await play(client, "error")
    assert seen.errors() == [client.refusal]
    assert seen.told.one("refused")["code"] == client.refusal
    assert share(SUN, seen.told.one("text")["answer"]) == 1


async def test_a_lost_connection_is_made_anew_and_the_talk_goes_on(
    client: Client, play: Play
) -> None:
    seen = await play(client, "reconnect")
    taken = seen.between.taken
    assert next(one.by for one in taken if isinstance(one, Closed)) == "network"
    assert len([one for one in taken if isinstance(one, Opened)]) == 2
    assert share(MOON, seen.told.one("before")["answer"]) == 1
    assert share(SUN, seen.told.one("text")["answer"]) >= 0.7  # one of them says it aloud
