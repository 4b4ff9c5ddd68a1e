"""Writing to the agent instead of speaking to it, answered by the engine inside."""

from __future__ import annotations

from pathlib import Path

from tests.journeys.embedded import by_websocket, embedded
from vivavoce.brain.script.script import Rule, Script, ToolUse
from vivavoce.session.events import Flush
from vivavoce.testing.engine import ScriptedEars
from vivavoce.wire.hints import hint_of
from vivavoce.wire.records.talk import Conversation, PutConversation, new_id

SCRIPT = Script(
    rules=(
        Rule(when="six times seven", calls=(ToolUse("calculate", {"expression": "6*7"}),)),
        Rule(result_of="calculate", say="That makes {output}."),
    )
)


async def test_what_is_written_is_answered_by_the_engine_and_the_call_knows_of_it(
    tmp_path: Path,
) -> None:
    ears = ScriptedEars(["and now aloud"])
    async with embedded(tmp_path, script=SCRIPT, ears=ears) as st:
        voice, now = st.here.voice, st.here.clock.now()
        talk = Conversation(id=new_id(), user_id="local", created_at=now, updated_at=now)
        await st.here.store.commit([PutConversation(talk)])
        sum_ = await voice.say(talk.id, "local", "What is six times seven?", wait=20)
        assert sum_.reply is not None
        assert (sum_.reply.text, sum_.reply.modality) == ("That makes 42.", "text")
        more = await voice.say(talk.id, "local", "Thank you", wait=20)
        assert more.reply is not None
        assert more.reply.text == "You said: Thank you."
        assert more.message.session_id == sum_.message.session_id

        resumed = await st.post(f"/sessions/{sum_.message.session_id}/resume")
        session = resumed["realtime"]
        watcher = await st.watch(session["session_id"])
        async with by_websocket(st, session["client_secret"]["value"]) as line:
            await watcher.wait_for("session.started")
            assert len(resumed["context_to_inject"]) >= 4
            typed = await voice.say(talk.id, "local", "A word in between", wait=20)
            assert typed.reply is not None
            assert typed.message.session_id == session["session_id"]
            assert typed.reply.text == "You said: A word in between."
            await line.until("response.done")


async def test_a_full_engine_has_room_for_a_call_and_none_for_a_message_it_cannot_answer(
    tmp_path: Path,
) -> None:
    async with embedded(tmp_path, script=SCRIPT, engine_sessions=1) as st:
        begun = [await st.post("/api/v1/conversations") for _ in range(2)]
        here, there = (f"/api/v1/conversations/{one['id']}/messages" for one in begun)
        first = await st.http.post(here, json={"content": "Hello"})
        assert first.json()["reply"]["content"] == "You said: Hello."
        second = await st.http.post(there, json={"content": "Hello"})
        assert second.json()["reply"]["content"] == "You said: Hello."
        session = await st.post("/session")  # what was answered gives way
        async with by_websocket(st, session["client_secret"]["value"]):
            refused = await st.http.post(here, json={"content": "And now?"})
            assert refused.status_code == 503
            assert "as many as it serves at once" in refused.json()["error"]["message"]
            assert refused.headers["retry-after"]
        kept = (await st.http.get(here)).json()["messages"]
        assert [one["content"] for one in kept] == ["Hello", "You said: Hello."]


async def test_what_is_changed_elsewhere_is_known_to_the_talk_that_goes_on(tmp_path: Path) -> None:
    async with embedded(tmp_path, script=SCRIPT, agent="flux") as st:
        begun = await st.post("/api/v1/conversations")
        await st.here.voice.say(begun["id"], "local", "Hello", wait=20)
        [live] = st.here.registry.of_user("local")
        for title in ("Run", "Swim"):
            await st.post("/api/v1/tasks", {"title": title, "when": "tomorrow at noon"})
        assert await live.submit(Flush())  # whatever was posted before is done
        known = [hint_of(tool["parameters"]) for tool in live.setup.session["tools"]]
        [briefing] = [hint.briefing for hint in known if hint and hint.briefing]
        assert [thing.title for thing in briefing.things] == ["Run", "Swim"]
        again = await st.here.voice.say(begun["id"], "local", "And now?", wait=20)
        assert again.reply is not None  # the engine took the change
