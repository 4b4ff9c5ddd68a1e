"""The judge of the intent benchmark is fair, and its talks can be had."""

from __future__ import annotations

import json

from bench.intents.dialogues import GOAL, GYM, MOVE, TASK, TODAY, TUNED, Dialogue, move, task
from bench.intents.fresh import FRESH
from bench.intents.judge import Outcome
from bench.intents.world import World, registry, tools

REMIND = Dialogue(
    "x", (("Remind me to call mom.", "a"), ("At seven.", "c")), (task("mom", "7|seven"),)
)
CALL = {"title": "Call mom", "trigger_type": "time", "scheduled_at": "at seven"}


def test_there_are_enough_talks_and_each_wants_intents_that_exist() -> None:
    assert len(TUNED) >= 60
    assert len(FRESH) >= 25
    talks = (*TUNED, *FRESH)
    assert {want.name for talk in talks for want in talk.wants} == {GOAL, TASK, MOVE}
    assert {GOAL, TASK, MOVE} <= {tool.name for tool in tools()}
    parameters = {p.name for one in registry().definitions for p in one.parameters}
    slots = {key for talk in talks for want in talk.wants for key in want.slots}
    assert {name for key in slots for name in key.split("+")} <= parameters


def test_no_fresh_talk_has_a_line_of_the_tuned_ones_or_of_the_examples() -> None:
    known = {said for talk in TUNED for said, _ in talk.lines}
    assert not known & {said for talk in FRESH for said, _ in talk.lines if len(said) > 20}
    shown = "\n".join(tool.description for tool in tools()).lower()
    for talk in (*TUNED, *FRESH):
        assert talk.lines[0][0].rstrip(".?!").lower() not in shown


def _played(dialogue: Dialogue, *steps: tuple[str, str, dict[str, str] | None]) -> Outcome:
    """Each step is what the agent says and what it submits."""
    world = World(dialogue.tasks)
    outcome = Outcome(dialogue, world)
    for (said, may), (words, name, given) in zip(dialogue.lines, steps, strict=True):
        world.hear(said)
        before = len(world.submitted) + world.corrected
        if given is not None:
            world.call(name, json.dumps(given))
        outcome.line(said, may, words, len(world.submitted) + world.corrected - before)
    return outcome


def test_asking_and_then_submitting_is_right() -> None:
    assert _played(REMIND, ("When?", "", None), ("Done.", TASK, CALL)).verdict == "right"


def test_a_claim_in_place_of_a_question_is_wrong() -> None:
    played = _played(REMIND, ("I will.", "", None), ("Done.", TASK, CALL))
    assert played.verdict == "not asked"


def test_what_nobody_said_is_refused_and_not_counted() -> None:
    played = _played(REMIND, ("When?", TASK, CALL), ("Done.", TASK, CALL))
    assert played.verdict == "right"
    assert "refused" in played.lines[0][1]


def test_wrong_values_and_missing_submissions_are_told_apart() -> None:
    other = CALL | {"title": "Call at seven"}
    assert _played(REMIND, ("When?", "", None), ("Ok.", TASK, other)).verdict == "wrong values"
    assert _played(REMIND, ("When?", "", None), ("Ok.", "", None)).verdict == "not submitted"


def test_an_invented_id_is_counted() -> None:
    talk = Dialogue("x", (("Move the gym to Friday.", "c"),), (move(GYM, "friday"),), TODAY)
    wrong = {"task_id": "abcdefgh-0", "preferred_new_time": "Friday"}
    played = _played(talk, ("Done.", MOVE, wrong))
    assert played.world.invented == 1
    assert played.verdict == "not submitted"
    assert _played(talk, ("Done.", MOVE, wrong | {"task_id": GYM.id})).verdict == "right"


def test_a_correction_changes_what_was_submitted() -> None:
    talk = Dialogue("x", (("Remind me to call mom at seven.", "c"), ("No, at eight.", "c")),
                    (task("mom", "eight"),))  # fmt: skip
    change = {"field": "scheduled_at", "value": "at eight"}
    played = _played(talk, ("Done.", TASK, CALL), ("Changed.", "amend_intent", change))
    assert played.verdict == "right"
    again = _played(talk, ("Done.", TASK, CALL), ("Ok.", TASK, CALL | {"scheduled_at": "at eight"}))
    assert again.verdict == "wrong intent"
