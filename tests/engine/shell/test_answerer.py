"""An answer on its way from the brain to the mouth."""

from __future__ import annotations

from tests.brain.asking import ask
from vivavoce.brain.script.brain import ScriptedBrain
from vivavoce.brain.script.script import Script
from vivavoce.engine.ports import MOUTH_RATE
from vivavoce.engine.shell.work import Answerer
from vivavoce.engine.turn import facts
from vivavoce.engine.turn.orders import Answer
from vivavoce.testing.engine import HummingMouth


async def test_the_clauses_of_an_answer_add_up_to_all_of_its_sound() -> None:
    told: list[facts.Fact] = []
    brain = ScriptedBrain(Script(otherwise="One sentence more. " * 20))
    order = Answer("r", ask("Go on."), voice="marin", speed=1.27)  # no clause in whole milliseconds
    await Answerer(order, brain, HummingMouth(3), told.append).run()
    spoken = [fact for fact in told if isinstance(fact, facts.Spoken)]
    sent = sum(len(fact.pcm) for fact in spoken)
    assert len(spoken) == 20
    assert sum(fact.ms for fact in spoken) == sent * 1000 // (2 * MOUTH_RATE)
