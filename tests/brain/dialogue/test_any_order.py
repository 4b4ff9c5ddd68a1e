"""Whatever is understood, in whatever order, and whatever comes back: nothing is submitted twice,
nothing with a required value missing, no wish is lost, and it always ends in words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.brain.dialogue.talking import NOW, PLANS, ZONE, thing
from vivavoce.app.agent import open_agent
from vivavoce.brain.dialogue.commands import Begin, Command, Fill, Plain
from vivavoce.brain.dialogue.manager import heard, returned, view
from vivavoce.brain.dialogue.state import Do, Say, State, Step, World, world
from vivavoce.brain.dialogue.wording import unsupported
from vivavoce.intents.service import AMENDING, RETRACTING
from vivavoce.wire.brain import Tool
from vivavoce.wire.hints import Briefing, Hint

THINGS = (
    thing("bank", "Call with the bank", "tomorrow at 10 am"),
    thing("mum", "Call Mum", "tomorrow at 6 pm"),
    thing("hair", "Haircut", "Thursday at half past twelve"),
)
BRIEFING = Briefing(user="Rosa", time_zone=ZONE, things=THINGS)
WORLD = World(hints=PLANS, briefing=BRIEFING, now=NOW)


def shipped() -> World:
    """The agent that people have, with all that it can be asked for."""
    every = [*open_agent("flux").intents.tools(), AMENDING, RETRACTING]
    tools = [Tool(one.name, one.description, one.parameters) for one in every]
    return replace(world(tools, NOW), briefing=BRIEFING)


FLUX = shipped()
WORDS = st.sampled_from(
    ["ring Mum", "the bank", "my call", "tomorrow at five", "Thursday", "half past six", "it",
     "everything tomorrow", "the second one", "at the chemist's", "learn Welsh", "", "um", "ten",
     "every morning at eight", "an hour before that", "both", "no", "same time", "{title}"]
)  # fmt: skip
PLAIN = st.sampled_from(["yes", "no", "undo", "drop", "thanks", "cannot", "chat", "unclear"])
Turns = list[tuple[str, list[Command]]]


def turns(world: World) -> st.SearchStrategy[Turns]:
    shorts = {slot.name or name for h in world.hints.values() for name, slot in h.slots.items()}
    slots = st.dictionaries(st.sampled_from([*sorted(shorts), "nonsense"]), WORDS, max_size=3)
    wishes = st.sampled_from([*(h.wish for h in world.hints.values()), "dance"])
    begin, fill = st.builds(Begin, wishes, slots), st.builds(Fill, slots)
    commands = st.lists(st.one_of(begin, fill, st.builds(Plain, PLAIN)), max_size=3)
    return st.lists(st.tuples(WORDS, commands), min_size=1, max_size=6)


OUTCOMES = st.lists(
    st.sampled_from(["ok", "ok", "ok", "refused", "asks", "garbage", "empty", "none"]), max_size=25
)


def result(kind: str, number: int, given: Mapping[str, Any], hint: Hint) -> str:
    match kind:
        case "ok":
            made = {"id": f"n{number}", "title": "Something", "when": "tomorrow"}
            return json.dumps({"status": "ok", "intent_id": f"i{number}", "things": [made]})
        case "refused":
            return json.dumps({"success": False, "error": "It is full."})
        case "asks":
            missing = [name for name in given if name in hint.slots]
            asks = {"question": "Which?", "missing": missing, "choices": []}
            return json.dumps({"success": False, "error": "Not clear.", **asks})
        case "garbage":
            return "<html>Bad gateway</html>"
        case _:
            return ""


def complete(hint: Hint, arguments: Mapping[str, Any]) -> bool:
    for name, slot in hint.slots.items():
        needed = slot.required
        if slot.required_when:
            needed = all(arguments.get(k) in v for k, v in slot.required_when.items())
        if needed and arguments.get(name) in (None, ""):
            return False
    return True


# The correction of what a third command of the same breath takes back.
@example(
    [
        ("ring Mum", [Fill({"when": "tomorrow at five", "task": "ring Mum"})]),
        ("my call", [Fill({"task": "both"}), Begin("undo", {})]),
        ("ring Mum", []),
    ],
    [],
)
@settings(max_examples=300, deadline=None)
@given(turns(WORLD), OUTCOMES)
def test_any_order_of_commands_and_results(said: Turns, outcomes: list[str]) -> None:
    talked(WORLD, said, outcomes)


@settings(max_examples=300, deadline=None)
@given(turns(FLUX), OUTCOMES)
def test_any_order_with_the_agent_that_ships(said: Turns, outcomes: list[str]) -> None:
    talked(FLUX, said, outcomes)


def talked(world: World, turns: Turns, outcomes: list[str]) -> None:
    state, coming = State(), iter(outcomes)
    number = 0
    succeeded: list[tuple[str, str]] = []
    for said, commands in turns:
        open_before = {wish.number: wish.tool for wish in state.agenda}
        made: list[tuple[str, Mapping[str, Any]]] = []
        step: Step = heard(state, said, commands, world)
        accounted: set[int] = set()
        for _ in range(60):
            assert len(step.acts) == 1
            (act,) = step.acts
            if isinstance(act, Say):
                break
            assert isinstance(act, Do)
            assert (act.tool, act.arguments) not in made, "submitted twice"
            assert complete(world.hints[act.tool], act.arguments), "a required value is missing"
            made.append((act.tool, act.arguments))
            number += 1
            assert step.state.pending is not None
            accounted.add(step.state.pending[0].number)
            if world.hints[act.tool].does == "retract":
                name = ("retract", str(act.arguments.get("intent_id")))
                assert name not in succeeded, "taken back twice"
            kind = next(coming, "ok")
            if kind == "ok":
                succeeded.append((act.tool, str(act.arguments.get("intent_id"))))
            output = result(kind, number, act.arguments, world.hints[act.tool])
            step = returned(step.state, act.tool, act.arguments, output, world)
        else:
            raise AssertionError("It never comes to words")
        assert act.text.strip(), "it ends in words"
        if not made:
            assert not unsupported(act.text.replace("{", ""), [], world), act.text
        state = step.state
        there = {wish.number for wish in state.agenda}
        again = {tool for tool, _ in made}  # the same as another one of this turn
        gone = {
            number
            for number, tool in open_before.items()
            if number not in there | accounted and tool not in again
        }
        dropping = any(c in (Plain("drop"), Plain("no"), Plain("undo")) for c in commands) or any(
            isinstance(c, Begin) and c.wish == "undo" for c in commands
        )
        spoken = ("nothing like that here", "is not there any more", "is at that time already")
        # What could not be taken back is not done once more, and that is said.
        told = any(words in act.text for words in spoken) or "retract" in again
        assert not gone or dropping or told or said == "no", "a wish is lost"
        assert len(gone) <= max(len(commands), 1)
        assert view(state, world).wishes
        if state.agenda:
            assert state.asked is not None
            assert act.text.rstrip().endswith("?"), "what is open is asked about"
