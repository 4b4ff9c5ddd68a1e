"""What is made of a talk beside it, in the words of whatever brain is there."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, Literal

from tests.runtime.sessions.test_long_talks import until_transcribed
from tests.server.doors import Doors, doors
from vivavoce.brain.script.brain import ScriptedBrain
from vivavoce.brain.script.script import Script
from vivavoce.errors import BrainError
from vivavoce.language.en.gist import Gist, gist_of
from vivavoce.runtime.sessions.summaries import Summaries
from vivavoce.testing import ScriptedCall
from vivavoce.wire.brain import (
    Ask,
    Budget,
    CallArguments,
    CallBegun,
    CallEnded,
    Finished,
    Piece,
    Said,
)
from vivavoce.wire.records.talk import Conversation

NOTE = {
    "title": "Bird house for the garden",
    "topic": "Building a bird house for the garden",
    "decisions": ["Green paint for the roof", "The stock market goes up"],
    "open_work": [],
    "preferences": [],
}


class Minutes(ScriptedBrain):
    """Notes down what it is told to; what it was asked is kept."""

    def __init__(self, note: dict[str, Any], aside: Literal["any", "quiet", "never"]) -> None:
        super().__init__(Script())
        self._note, self._aside = note, aside
        self.asked: list[Ask] = []
        self.fails = False

    @property
    def budget(self) -> Budget:
        return Budget(aside=self._aside)

    async def answer(self, ask: Ask) -> AsyncGenerator[Piece, None]:
        self.asked.append(ask)
        if self.fails:
            raise BrainError("It is gone.")
        yield CallBegun("c", "note")
        yield CallArguments("c", json.dumps(self._note))
        yield CallEnded("c")
        yield Finished()


def summaries(d: Doors, brain: Minutes) -> Summaries:
    here = d.here
    return Summaries(here.store, here.journal, here.clock, here.registry, lambda: brain)


async def talked(d: Doors) -> tuple[str, ScriptedCall]:
    session_id, theirs = await d.talk()
    for words, reply in (
        ("I would like to build a bird house for the garden.", "Lovely, how big should it be?"),
        ("Big enough for two. Let's take oak.", "Oak lasts long outside, that is a good choice."),
        ("The roof gets green paint, I think.", "Green paint for the roof, and the rest stays."),
        ("Fine.", "Then I wish you luck with it."),
    ):
        await theirs.user_says(words)
        await theirs.assistant_says(reply)
    await until_transcribed(d, session_id, 8)
    return session_id, theirs


async def kept(d: Doors, session_id: str) -> Conversation:
    of = (await d.state(session_id))["conversation_id"]
    found = await d.here.store.conversation(of, user_id="local")
    assert found is not None
    return found


async def test_a_brain_names_the_talk_and_adds_what_was_said_and_nothing_else(
    tmp_path: Path,
) -> None:
    async with doors(tmp_path) as d:
        session_id, _ = await talked(d)
        brain = Minutes(NOTE, "any")
        await summaries(d, brain).keep_up(session_id)
        found = await kept(d, session_id)
        assert found.title == "Bird house for the garden"
        decisions = gist_of(found.gist).decisions
        assert "Let's take oak." in decisions
        assert "Green paint for the roof" in decisions
        assert "The stock market goes up" not in decisions
        (asked,) = brain.asked
        assert (asked.live, asked.forced) == ("", "note")
        assert isinstance(asked.turns[0], Said)
        assert "bird house" in asked.turns[0].text
        await summaries(d, brain).keep_up(session_id)
        assert len(brain.asked) == 1, "there is nothing new"


async def test_a_brain_that_would_take_from_the_talk_is_asked_when_nobody_talks(
    tmp_path: Path,
) -> None:
    async with doors(tmp_path) as d:
        session_id, _ = await talked(d)
        brain = Minutes(NOTE, "quiet")
        beside = summaries(d, brain)
        await beside.keep_up(session_id)
        assert brain.asked == []
        assert "Let's take oak." in gist_of((await kept(d, session_id)).gist).decisions
        await d.post(f"/sessions/{session_id}/end")
        await beside.keep_up(session_id)
        assert len(brain.asked) == 1
        assert (await kept(d, session_id)).title == "Bird house for the garden"


async def test_a_brain_that_fails_costs_nothing_that_was_gathered_without_it(
    tmp_path: Path,
) -> None:
    async with doors(tmp_path) as d:
        session_id, _ = await talked(d)
        brain = Minutes(NOTE, "any")
        brain.fails = True
        await summaries(d, brain).keep_up(session_id)
        found = await kept(d, session_id)
        assert "Let's take oak." in gist_of(found.gist).decisions
        assert found.title == "Build a bird house for the garden"


async def test_a_scripted_brain_is_not_asked(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        session_id, _ = await talked(d)
        brain = Minutes(NOTE, "never")
        await summaries(d, brain).keep_up(session_id)
        assert brain.asked == []
        assert gist_of((await kept(d, session_id)).gist) != Gist()


async def test_a_file_that_the_talk_has_read_and_others_change_is_told_at_once(
    tmp_path: Path,
) -> None:
    (tmp_path / "notes.md").write_text("Beech.")
    async with doors(tmp_path) as d:
        session_id, theirs = await d.talk(auto_approve=True)
        await theirs.calls_tool("read_file", {"path": "notes.md"}, "call_1")
        await theirs.expect("conversation.item.create")
        await theirs.expect("response.create")
        await theirs.assistant_starts("It says beech, and that")
        given = {"arguments": {"path": "notes.md", "content": "Oak."}}
        await d.post("/execute/write_file", given, headers={"x-session-id": session_id})
        told = await theirs.expect("conversation.item.create", {"item": {"role": "system"}})
        assert "notes.md" in told["item"]["content"][0]["text"]
        assert theirs.conversation.assistant.active is not None, "it still speaks"
        await theirs.assistant_finishes()


async def test_files_that_others_change_are_told_at_the_next_pause(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        session_id, theirs = await d.talk(auto_approve=True)
        await theirs.assistant_starts("Let me think about that for a")
        given = {"arguments": {"path": "notes.md", "content": "Oak."}}
        headers = {"x-session-id": session_id}
        await d.post("/execute/write_file", given, headers=headers)
        before = [frame["type"] for frame in theirs.received]
        assert "conversation.item.create" not in before
        await theirs.assistant_finishes()
        told = await theirs.expect("conversation.item.create")
        assert told["item"]["role"] == "system"
        assert "notes.md" in told["item"]["content"][0]["text"]
