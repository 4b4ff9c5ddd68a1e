"""The lines that readers are trained with can be read, and name what the agent has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from training.marks import Mark, Wrong, labels, lines, read

from vivavoce.brain.dialogue.marked import PLAIN, SET
from vivavoce.intents.registry.intents import load_intents
from vivavoce.tools.wording import WISHES
from vivavoce.wire.hints import KEY, Hint, hint_of

ROOT = Path(__file__).parents[2]


def test_marks_are_taken_out_of_the_text() -> None:
    line = read("right, {remind [what:ring Vera], [when:at ten]}, bye")
    assert line.text == "right, ring Vera, at ten, bye"
    assert line.wishes == (Mark(7, 24, "remind"),)
    assert [line.text[m.start : m.end] for m in line.slots] == ["ring Vera", "at ten"]


@pytest.mark.parametrize(
    "wrong", ["{remind a", "a}", "{a {b c}}", "[what:a]", "{remind [what:a}", "no mark at all"]
)
def test_marks_that_do_not_fit_are_refused(wrong: str) -> None:
    with pytest.raises(Wrong):
        read(wrong)


def of_flux() -> list[Hint]:
    tools = load_intents(ROOT / "agents" / "flux").tools()
    return [hint for tool in tools if (hint := hint_of(tool.parameters)) is not None]


def of_workbench() -> list[Hint]:
    every = [hint_of({KEY: told}) for told in WISHES.values()]
    known = [hint for hint in every if hint is not None]
    return [one for hint in known for one in (hint, *hint.flows) if one.does in ("act", "tell")]


@pytest.mark.parametrize(("agent", "known"), [("flux", of_flux), ("workbench", of_workbench)])
def test_every_line_has_marks_that_the_agent_knows(
    agent: str, known: Callable[[], list[Hint]]
) -> None:
    read = lines(ROOT / "training" / "lines" / agent)
    assert len(read) > 3000
    kinds, slots = labels(read)
    hints = known()
    assert set(kinds) - {SET, *PLAIN} == {hint.wish for hint in hints if hint.wish}
    assert set(slots) <= {slot.name or name for hint in hints for name, slot in hint.slots.items()}
