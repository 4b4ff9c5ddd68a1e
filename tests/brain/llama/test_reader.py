"""The readers that ship, as they are: their weights, their labels, their words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from vivavoce.brain.dialogue import marked
from vivavoce.brain.dialogue.commands import Begin, Command, Fill, Plain
from vivavoce.brain.dialogue.flows.carrying import flows_in
from vivavoce.brain.llama.reader import Reader
from vivavoce.runtime.agents.agent import readers
from vivavoce.tools import wording
from vivavoce.wire.hints import Hint

AGENTS = Path(__file__).parents[3] / "agents"
FLUX, WORKBENCH = AGENTS / "flux" / "reader", AGENTS / "workbench" / "reader"
WISHES = {
    "remind": ["what", "when", "place", "event"],
    "goal": ["what", "by"],
    "move": ["task", "to", "scope"],
    "list": ["when", "kind", "task"],
    "done": ["task"],
    "delete": ["task", "scope"],
    "rename": ["task", "called"],
    "note": ["goal", "note"],
    "set": ["what", "when"],
}
KINDS = {"what": "words", "when": "time", "task": "thing"}


@pytest.fixture(scope="module")
def reader() -> Reader:
    return Reader(FLUX)


async def commands(
    reader: Reader, said: str, told: str = "", things: Sequence[str] = ()
) -> tuple[Command, ...]:
    read = await reader.read(said, told, things, WISHES)
    assert read.sure > 0.5
    return marked.commands(said, read.wishes, WISHES, WISHES["set"], KINDS)


def test_it_knows_the_wishes_of_its_agent_and_no_others(reader: Reader) -> None:
    own = set(WISHES) - {"set"}
    assert reader.knows(own)
    assert not reader.knows([*own, "order_pizza"])
    assert not reader.knows([])


async def test_it_marks_what_is_wished_for_and_when(reader: Reader) -> None:
    (made,) = await commands(reader, "Remind me tomorrow at nine to ring the surgery.")
    slots = {"when": "tomorrow at nine", "what": "ring the surgery"}
    assert made == Begin("remind", slots, sure=True)


async def test_it_tells_several_wishes_apart(reader: Reader) -> None:
    things = ["Book club, Friday 7:30 pm", "Post the forms, tomorrow 1 pm"]
    said = "the forms are in the post, and cancel the book club, I can't face it"
    made = await commands(reader, said, "", things)
    assert [one.wish for one in made if isinstance(one, Begin)] == ["done", "delete"]


async def test_an_answer_is_one_where_something_was_asked(reader: Reader) -> None:
    said = "half past six in the evening"
    (made,) = await commands(reader, said, "Sure! When should that be?")
    assert made == Fill({"when": said}, sure=True)


async def test_what_cannot_be_is_not_marked(reader: Reader) -> None:
    told, said = "Hello! What can I do for you?", "the dentist on Friday at nine"
    read = await reader.read(said, told, (), WISHES, without=["set"])
    assert "set" not in [one.kind for one in read.wishes]
    assert read.wishes


@pytest.mark.parametrize("said", ["", "?", "a" * 5000, "\u200b", "🙂 " * 300])
async def test_it_reads_whatever_is_said(reader: Reader, said: str) -> None:
    await reader.read(said, said, [said], WISHES)


def test_the_readers_of_all_agents_are_found() -> None:
    assert {FLUX, WORKBENCH} <= set(readers())


# --- The workbench's ---------------------------------------------------------------------

FLOWS = flows_in({name: Hint.model_validate(hint) for name, hint in wording.WISHES.items()})
ABLE = {
    flow.wish: [slot.name or name for name, slot in flow.slots.items()]
    for flow in FLOWS.values()
    if flow.wish
}


@pytest.mark.parametrize(
    ("said", "told", "meant"),
    [
        (
            "what's the batch size in the trainer yaml",
            "",
            [Begin("value", {"what": "the batch size", "where": "the trainer yaml"}, sure=True)],
        ),
        ("run the tests for me please", "", [Begin("test", {})]),
        ("how do you feel about semicolons", "", [Plain("chat")]),
        ("please phone Hanna and tell her I'm late", "", [Plain("cannot")]),
        (
            "the one in the docs folder",
            "Which file should I read?",
            [Fill({"file": "the one in the docs folder"}, sure=True)],
        ),
    ],
)
async def test_the_workbench_has_one_too(said: str, told: str, meant: Sequence[Command]) -> None:
    reader = Reader(WORKBENCH)
    assert reader.knows({*ABLE, "answer"} - {"take back"})
    read = await reader.read(said, told, (), {**ABLE, "set": ["file"]})
    kinds = {"what": "words", "where": "file", "file": "file"}
    assert list(marked.commands(said, read.wishes, ABLE, ["file"], kinds)) == meant
