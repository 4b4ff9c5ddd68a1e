"""The judge of the intent benchmark is fair, and its talks can be had."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from bench.intents.dialogues import GOAL, GYM, MOVE, TASK, TODAY, TUNED, Dialogue, move, task
from bench.intents.fresh import FRESH
from bench.intents.judge import Outcome
from bench.intents.text import ALL, NO_DATE, answer
from bench.intents.world import opened, registry

REMIND = Dialogue(
    "x",
    (("Remind me to call mom.", "a"), ("At seven.", "c")),
    (task("mom", "7|seven", due=r"\+0 Mon 2 Mar 19:00"),),
)
CALL = {"title": "Call mom", "trigger_type": "time", "scheduled_at": "at seven"}


async def test_there_are_enough_talks_and_each_wants_intents_that_exist() -> None:
    assert len(TUNED) >= 60
    assert len(FRESH) >= 25
    assert {want.name for talk in ALL for want in talk.wants} == {GOAL, TASK, MOVE}
    async with opened(TODAY) as world:
        assert {GOAL, TASK, MOVE} <= {tool.name for tool in world.tools}
    parameters = {p.name for one in registry().definitions for p in one.parameters}
    slots = {key for talk in ALL for want in talk.wants for key in want.slots}
    assert slots - {"due"} <= parameters


async def test_no_fresh_talk_has_a_line_of_the_tuned_ones_or_of_the_examples() -> None:
    known = {said for talk in TUNED for said, _ in talk.lines}
    assert not known & {said for talk in FRESH for said, _ in talk.lines if len(said) > 20}
    async with opened(()) as world:
        shown = "\n".join(tool.description for tool in world.tools).lower()
    for talk in ALL:
        assert talk.lines[0][0].rstrip(".?!").lower() not in shown


async def _played(
    dialogue: Dialogue, *steps: tuple[str, str, Mapping[str, object] | None]
) -> Outcome:
    """Each step is what the agent says and what it submits."""
    async with opened(dialogue.tasks) as world:
        outcome = Outcome(dialogue, world)
        for (said, may), (words, name, given) in zip(dialogue.lines, steps, strict=True):
            await world.hear(said)
            before = world.calls
            if given is not None:
                await world.call(name, json.dumps(given))
            await world.say(words)
            outcome.line(said, may, words, world.calls - before)
        return outcome


async def test_asking_and_then_submitting_is_right() -> None:
    assert (await _played(REMIND, ("When?", "", None), ("Done.", TASK, CALL))).verdict == "right"


async def test_a_claim_in_place_of_a_question_is_wrong() -> None:
    played = await _played(REMIND, ("I will.", "", None), ("Done.", TASK, CALL))
    assert played.verdict == "not asked"


async def test_what_nobody_said_is_refused_and_not_counted() -> None:
    played = await _played(REMIND, ("When?", TASK, CALL), ("Done.", TASK, CALL))
    assert played.verdict == "right"
    assert "refused" in played.lines[0][1]


async def test_wrong_values_and_missing_submissions_are_told_apart() -> None:
    other = CALL | {"title": "Call at seven"}
    assert (
        await _played(REMIND, ("When?", "", None), ("Ok.", TASK, other))
    ).verdict == "wrong values"
    assert (
        await _played(REMIND, ("When?", "", None), ("Ok.", "", None))
    ).verdict == "not submitted"


async def test_an_invented_id_is_counted() -> None:
    talk = Dialogue(
        "x",
        (("Move the gym to Friday.", "c"),),
        (move(GYM, "friday", due=r"\+4 Fri .* 18:00"),),
        TODAY,
    )
    wrong = {"task_id": "abcdefgh-0", "preferred_new_time": "Friday"}
    played = await _played(talk, ("Hm.", MOVE, wrong))
    assert played.world.invented == 1
    assert played.verdict == "not submitted"
    assert (await _played(talk, ("Done.", MOVE, wrong | {"task_id": GYM.id}))).verdict == "right"


async def test_a_correction_changes_what_was_submitted() -> None:
    talk = Dialogue("x", (("Remind me to call mom at seven.", "c"), ("No, at eight.", "c")),
                    (task("mom", "eight", due="20:00"),))  # fmt: skip
    change = {"field": "scheduled_at", "value": "at eight"}
    played = await _played(talk, ("Done.", TASK, CALL), ("Changed.", "amend_intent", change))
    assert played.verdict == "right"
    again = await _played(
        talk, ("Done.", TASK, CALL), ("Ok.", TASK, CALL | {"scheduled_at": "at eight"})
    )
    assert again.verdict == "wrong intent"


async def test_the_wrong_half_of_the_day_is_a_wrong_value() -> None:
    early = CALL | {"scheduled_at": "tomorrow at seven in the morning"}
    talk = replace(REMIND, lines=(("Call mom at seven, tomorrow at seven in the morning.", "c"),))
    assert (await _played(talk, ("Done.", TASK, early))).verdict == "wrong values"


async def test_a_deed_that_was_told_and_not_done_is_a_lie() -> None:
    talk = replace(REMIND, lines=REMIND.lines[:1])
    played = await _played(talk, ("I've added it to your list.", "", None))
    assert played.verdict == "a lie"


async def test_what_became_of_their_things_otherwise_is_a_wrong_intent() -> None:
    talk = Dialogue("x", (("Oh no, the gym.", "c"),), (), TODAY)
    assert (await _played(talk, ("Ok.", "", None))).verdict == "right"
    gone = await _played(talk, ("Gone.", "delete_thing", {"thing_id": GYM.id}))
    assert gone.verdict == "wrong intent"


async def test_nobody_is_told_their_list_who_asked_for_something_else() -> None:
    talk = Dialogue("off topic", (("Who won?", "at"),))
    played = await _played(talk, ("There is nothing.", "list_things", {}))
    assert played.verdict == "looked needlessly"


def test_who_is_asked_answers_what_was_asked() -> None:
    left = ["Yes."]
    assert answer(REMIND, "Noted. At what time?", left) == REMIND.hour
    assert answer(REMIND, "By when would you like to get there?", left) == NO_DATE
    assert answer(REMIND, "Is there anything else?", left) == "Yes."
    assert answer(REMIND, "Is there anything else?", left) is None
