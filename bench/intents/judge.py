"""What came of a talk, and whether that was right. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from bench.intents.dialogues import Dialogue, Want
from bench.intents.world import World

Verdict = Literal[
    "right",
    "a lie",
    "too early",
    "looked needlessly",
    "not asked",
    "wrong intent",
    "wrong values",
    "not submitted",
]
_APART = ("off topic", "greeting", "thanks", "garbled")
"""Talks in which nobody asks for what is on their list."""


@dataclass
class Outcome:
    dialogue: Dialogue
    world: World
    lines: list[tuple[str, str]] = field(default_factory=list)
    early: int = 0
    """Submissions in lines that allow none."""
    unasked: int = 0
    """Lines after which a question had to come, and none came."""
    first_ms: list[float] = field(default_factory=list)
    said: str = ""
    """By the agent, last."""

    def line(self, said: str, may: str, words: str, done: int) -> None:
        """`done`: how many calls changed something."""
        there = [f"{one.name} {one.arguments}" for one in self.world.standing]
        shown = f" [{done} done; {'; '.join(there) or 'nothing there'}]" if done else ""
        self.said = words
        self.lines.append((said, f"{words}{shown}{self._refusals()}"))
        self.early += done if "c" not in may else 0
        self.unasked += may == "a" and not done and "?" not in words

    def _refusals(self) -> str:
        refused, self.world.refused = self.world.refused, []
        return "".join(f" [refused: {one}]" for one in refused)

    @property
    def asking(self) -> bool:
        return "?" in self.said

    @property
    def complete(self) -> bool:
        return len(self.world.standing) >= len(self.dialogue.wants)

    @property
    def right_intents(self) -> bool:
        given = sorted(one.name for one in self.world.standing)
        return given == sorted(want.name for want in self.dialogue.wants)

    @property
    def right_values(self) -> bool:
        """Each wanted one is among them, in any order."""
        left = list(self.world.standing)
        for want in self.dialogue.wants:
            found = next((one for one in left if fits(want, one.name, one.arguments)), None)
            if found is None:
                return False
            left.remove(found)
        return not left

    @property
    def verdict(self) -> Verdict:
        if self.world.lies:
            return "a lie"
        if self.early:
            return "too early"
        if self.world.looked and self.dialogue.kind in _APART:
            return "looked needlessly"
        if not self.right_intents:
            few = len(self.world.standing) < len(self.dialogue.wants)
            return "not submitted" if few else "wrong intent"
        if not self.right_values:
            return "wrong values"
        return "not asked" if self.unasked else "right"

    @property
    def right(self) -> bool:
        return self.verdict == "right"


def fits(want: Want, name: str, given: dict[str, Any]) -> bool:
    return name == want.name and all(_holds(given, key, how) for key, how in want.slots.items())


def _holds(given: dict[str, Any], key: str, how: str | None) -> bool:
    text = str(given.get(key) or "")
    return not text if how is None else re.search(how, text, re.IGNORECASE) is not None


def figures(outcomes: Sequence[Outcome]) -> str:
    count = len(outcomes)
    right = sum(outcome.right for outcome in outcomes)
    intents = sum(outcome.right_intents for outcome in outcomes)
    wanting = [outcome for outcome in outcomes if outcome.dialogue.wants]
    values = sum(outcome.right_values for outcome in wanting)
    early = sum(outcome.early for outcome in outcomes)
    invented = sum(outcome.world.invented for outcome in outcomes)
    lies = sum(len(outcome.world.lies) for outcome in outcomes)
    missing = sum(outcome.world.missing for outcome in outcomes)
    return (
        f"{count} talks, {100 * right / count:.1f} % right "
        f"(intents {100 * intents / count:.1f} %, "
        f"values {100 * values / max(1, len(wanting)):.1f} %); "
        f"{early} submitted too early or needlessly, {missing} with a required value missing, "
        f"{invented} invented ids, {lies} lies"
    )


def told(outcome: Outcome, *, whole: bool) -> str:
    head = f"{outcome.verdict}: {outcome.dialogue.kind}"
    if outcome.right and not whole:
        return f"{head}: {outcome.dialogue.lines[0][0]}"
    lines = (f"      > {said}\n      {done}" for said, done in outcome.lines)
    return "\n".join([head, *lines])
