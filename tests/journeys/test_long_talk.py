"""A talk that is much longer than its model reads, at our own engine."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from tests.journeys.embedded import by_websocket, embedded
from tests.runtime.sessions.speaking import agent_folder
from vivavoce.brain.script.brain import ScriptedBrain
from vivavoce.brain.script.script import Script
from vivavoce.wire.brain import Ask, Piece, Said
from vivavoce.wire.events import ContextUpdated
from vivavoce.wire.records.talk import Conversation, PutConversation, new_id

DECISION = "Let's use the blue door."


class Noted(ScriptedBrain):
    """Keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__(Script())
        self.asked: list[Ask] = []

    async def answer(self, ask: Ask) -> AsyncGenerator[Piece, None]:
        self.asked.append(ask)
        async for piece in super().answer(ask):
            yield piece

    @property
    def told(self) -> str:
        """The words of the talk that the last question had."""
        return "\n".join(turn.text for turn in self.asked[-1].turns if isinstance(turn, Said))


async def test_the_first_decision_is_known_however_long_the_talk_and_after_a_return(
    tmp_path: Path,
) -> None:
    brain = Noted()
    agent = agent_folder(tmp_path, tools=["current_time"])
    limits: dict[str, Any] = {"user_messages_per_minute": 0, "context_tokens": 4_000}
    async with embedded(tmp_path, brain=brain, agent=agent, **limits) as st:
        voice, now = st.here.voice, st.here.clock.now()
        talk = Conversation(id=new_id(), user_id="local", created_at=now, updated_at=now)
        await st.here.store.commit([PutConversation(talk)])
        await voice.say(talk.id, "local", DECISION, wait=20)
        for number in range(60):
            words = (
                f"Then there is number {number}, of which I could tell " + "a long " * 40 + "story."
            )
            said = await voice.say(talk.id, "local", words, wait=20)
            assert said.reply is not None
            assert f"number {number}," in said.reply.text
            assert DECISION.rstrip(".") in brain.told
            assert brain.count(brain.told) < 4_000
        session_id = said.message.session_id or ""
        updates = await st.here.store.last_events(
            (ContextUpdated.type,), session_ids=(session_id,), user_id="local", limit=50
        )
        assert sum(b'"window"' in event.data for event in updates) in range(1, 12)
        errors = await st.here.store.last_events(
            ("error",), session_ids=(session_id,), user_id="local", limit=50
        )
        assert errors == []

        resumed = await st.post(f"/sessions/{session_id}/resume")
        session = resumed["realtime"]
        watcher = await st.watch(session["session_id"])
        async with by_websocket(st, session["client_secret"]["value"]):
            await watcher.wait_for("session.started")
            again = await voice.say(talk.id, "local", "Which door was it?", wait=20)
            assert again.reply is not None
            assert DECISION.rstrip(".") in brain.told
            assert "number 59," in brain.told
