"""Talks with the manager: what was said and understood, and what it does about it."""

from __future__ import annotations

import json
from datetime import datetime
from zoneinfo import ZoneInfo

from vivavoce.brain.dialogue.commands import Begin, Fill
from vivavoce.brain.dialogue.manager import heard, returned
from vivavoce.brain.dialogue.state import Do, Say, State, World
from vivavoce.wire.hints import Briefing, Hint, Slot

NOW = datetime(2026, 11, 17, 10, 0, tzinfo=ZoneInfo("Europe/London"))
REMIND = Hint(
    wish="remind",
    slots={
        "title": Slot(name="what", required=True, questions=("What should I remind you of?",)),
        "at": Slot(
            name="when",
            kind="time",
            required=True,
            questions=("When should I remind you to {title}?", "When?"),
        ),
    },
    confirm=("It is on your list: {title}, {when}.",),
)


def test_a_wish_is_asked_for_what_is_missing_done_and_confirmed() -> None:
    world = World(hints={"add": REMIND}, briefing=Briefing(time_zone="Europe/London"), now=NOW)
    step = heard(State(), "remind me to ring Mum", [Begin("remind", {"what": "ring Mum"})], world)
    assert isinstance(step.acts[0], Say)
    assert step.acts[0].text.startswith("When")
    step = heard(step.state, "tomorrow at five", [Fill({"when": "tomorrow at five"})], world)
    assert step.acts == (Do("add", {"title": "Ring Mum", "at": "tomorrow at five"}),)
    result = json.dumps({"status": "created", "title": "Ring Mum", "when": "tomorrow at 5 PM"})
    step = returned(step.state, "add", step.acts[0].arguments, result, world)
    assert isinstance(step.acts[0], Say)
    assert step.acts[0].text.startswith("It is on your list: Ring Mum, tomorrow at 5 PM.")
