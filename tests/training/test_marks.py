"""The lines that readers are trained with can be read, and name what the agent has."""

from __future__ import annotations

from pathlib import Path

import pytest
from training.marks import Mark, Wrong, labels, lines, read

from vivavoce.brain.dialogue.marked import PLAIN, SET
from vivavoce.intents.registry.intents import load_intents
from vivavoce.wire.hints import hint_of

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


def test_every_line_has_marks_that_the_agent_knows() -> None:
    known = lines(ROOT / "training" / "lines")
    assert len(known) > 3000
    kinds, slots = labels(known)
    tools = load_intents(ROOT / "agents" / "flux").tools()
    hints = [hint for tool in tools if (hint := hint_of(tool.parameters)) is not None]
    assert set(kinds) - {SET, *PLAIN} == {hint.wish for hint in hints}
    assert set(slots) <= {slot.name or name for hint in hints for name, slot in hint.slots.items()}
