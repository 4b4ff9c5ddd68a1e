"""What is drawn, and what the keys do."""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from textual.pilot import Pilot

from vivavoce.cli.talk.core import state as s
from vivavoce.cli.talk.desk import Desk
from vivavoce.cli.talk.screen import TalkScreen
from vivavoce.cli.talk.server import server_at
from vivavoce.cli.talk.store import Store
from vivavoce.cli.talk.talk import Talk

ASKED = {
    "approval_id": "p1",
    "tool_name": "bash",
    "question": "I want to run the tests. May I?",
    "arguments": {"command": "pytest -x\nrm \u202e-rf"},
    "expires_at": "2036-01-31T14:31:00Z",
    "timestamp": "2026-01-31T14:30:00Z",
}


class Noting(Talk):
    """Keeps what the keys wanted; nobody is called."""

    stops = 0
    over = False

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.answers: list[bool] = []

    def answer(self, *, granted: bool) -> None:
        self.answers.append(granted)

    def stop(self) -> None:
        self.stops += 1

    def hang_up(self) -> None:
        self.over = True


@asynccontextmanager
async def drawn(*, aloud: bool = True) -> AsyncIterator[tuple[Noting, Pilot[Any]]]:
    async with server_at("http://127.0.0.1:9", None) as server:
        store = Store()
        talk = Noting(server, store, Desk() if aloud else None)
        sound = ("a microphone", "a speaker") if aloud else ()
        store.tell(s.Began("voice" if aloud else "text", "workbench", *sound))
        store.tell(s.Call("up"))
        store.tell(s.VoiceRead("ready"))
        async with TalkScreen(talk).run_test(size=(100, 32)) as pilot:
            yield talk, pilot


async def shown(pilot: Pilot[Any], *words: str) -> str:
    """What somebody sees, as text, once all of these words are there."""
    seen = _picture(pilot)
    with suppress(TimeoutError):  # then it is told what there is
        async with asyncio.timeout(20):
            while any(one not in seen for one in words):
                await pilot.pause(0.02)
                seen = _picture(pilot)
    assert [one for one in words if one not in seen] == [], seen
    return seen


def _picture(pilot: Pilot[Any]) -> str:
    drawing = pilot.app.export_screenshot()
    rows = re.findall(r"<text[^>]*>(.*?)</text>", drawing)
    return html.unescape(" ".join(rows)).replace("\xa0", " ")


async def test_it_shows_who_said_what_and_what_was_not_heard() -> None:
    async with drawn() as (talk, pilot):
        for role, item, text in (("user", "u", "What is this?"), ("assistant", "a", "A test of")):
            talk.store.tell(
                s.Event(
                    "transcription.completed", {"item_id": item, "transcript": text, "role": role}
                )
            )
        talk.store.tell(
            s.Event("tool.started", {"call_id": "c", "tool_name": "t", "description": "Looking"})
        )
        await shown(pilot, "Listening", "workbench · a microphone → a speaker")
        await shown(pilot, "You", "What is this?", "Assistant", "A test of", "Looking")


async def test_the_microphone_is_muted_by_a_key_and_opened_while_another_is_held() -> None:
    async with drawn() as (talk, pilot):
        await pilot.press("m")
        await shown(pilot, "Muted")
        assert talk.desk is not None
        assert not talk.desk.open
        await pilot.press("m", "p")
        await shown(pilot, "Hold space to talk")
        assert not talk.desk.open
        await pilot.press("space")
        assert talk.microphone_open


async def test_what_needs_a_yes_is_shown_whole_with_nothing_hidden_and_keys_answer() -> None:
    async with drawn() as (talk, pilot):
        await pilot.press("y")
        assert talk.answers == [], "nothing was asked"
        talk.store.tell(s.Event("approval.requested", ASKED))
        await shown(
            pilot, "bash needs your yes", "pytest -x", "rm \\u{202e}-rf", "no answer is a no"
        )
        await pilot.press("y", "n")
        assert talk.answers == [True, False]


async def test_while_one_writes_letters_are_letters() -> None:
    async with drawn() as (talk, pilot):
        talk.store.tell(s.Event("approval.requested", ASKED))
        await pilot.press("t", *"yes, no, quit", "enter")
        assert talk.answers == []
        assert [line.text for line in talk.store.state.lines] == ["yes, no, quit"]
        await shown(pilot, "Ctrl-Y")
        await pilot.press("ctrl+y")
        assert talk.answers == [True]
        await pilot.press("escape", "s", "q")
        assert (talk.stops, talk.over) == (1, True)


@pytest.mark.parametrize("key", ["ctrl+c", "ctrl+q"])
async def test_in_writing_the_place_to_write_is_there_at_once(key: str) -> None:
    async with drawn(aloud=False) as (talk, pilot):
        await pilot.press(*"Hello", "enter")
        assert [line.text for line in talk.store.state.lines] == ["Hello"]
        await shown(pilot, "in writing")
        await pilot.press(key)
        assert talk.over


async def test_words_of_others_cannot_steer_the_terminal() -> None:
    async with drawn() as (talk, pilot):
        data = {"item_id": "u", "transcript": "a\x1b[2J[bold]b[/bold]", "role": "user"}
        talk.store.tell(s.Event("transcription.completed", data))
        talk.store.tell(s.Told("\x1b]0;title\x07[red]careful[/red]"))
        seen = await shown(pilot, "a[2J[bold]b[/bold]", "[red]careful[/red]")
        assert "\x1b" not in seen
