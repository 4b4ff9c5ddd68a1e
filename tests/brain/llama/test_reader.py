"""The reader that ships with Flux, as it is: its weights, its labels, its words."""

from __future__ import annotations

from pathlib import Path

import pytest

from vivavoce.brain.llama.reader import Reader
from vivavoce.runtime.agents.agent import readers

FLUX = Path(__file__).parents[3] / "agents" / "flux" / "reader"
WISHES = ["remind", "goal", "move", "list", "done", "delete", "rename", "note"]


@pytest.fixture(scope="module")
def reader() -> Reader:
    return Reader(FLUX)


def test_it_knows_the_wishes_of_its_agent_and_no_others(reader: Reader) -> None:
    assert reader.knows(WISHES)
    assert not reader.knows([*WISHES, "order_pizza"])
    assert not reader.knows([])


async def test_it_marks_what_is_wished_for_and_when(reader: Reader) -> None:
    read = await reader.read("Remind me tomorrow at nine to ring the surgery.", "", [])
    (wish,) = read.wishes
    assert wish.kind == "remind"
    assert wish.slots == {"when": "tomorrow at nine", "what": "ring the surgery"}
    assert read.sure > 0.5


async def test_it_tells_several_wishes_apart(reader: Reader) -> None:
    things = ["Book club, Friday 7:30 pm", "Post the forms, tomorrow 1 pm"]
    said = "the forms are in the post, and cancel the book club, I can't face it"
    read = await reader.read(said, "", things)
    assert [wish.kind for wish in read.wishes] == ["done", "delete"]
    assert all(wish.slots["task"] for wish in read.wishes)


async def test_an_answer_is_one_only_where_something_was_asked(reader: Reader) -> None:
    asked = await reader.read("half past six in the evening", "Sure! When should that be?", [])
    assert [wish.kind for wish in asked.wishes] == ["set"]


@pytest.mark.parametrize("said", ["", "?", "a" * 5000, "\u200b", "🙂 " * 300])
async def test_it_reads_whatever_is_said(reader: Reader, said: str) -> None:
    await reader.read(said, said, [said])


def test_the_readers_of_all_agents_are_found() -> None:
    assert FLUX in readers()
