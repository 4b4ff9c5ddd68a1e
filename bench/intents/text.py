"""Does the local brain get intents right: the right one, the right values, and none too early?

The talks of `bench/intents/dialogues.py` shaped the prompt of the Flux agent;
those of `bench/intents/fresh.py` did not, and are the honest figure. As text
here, straight at the brain, with the checks of the server between the model and
a submission; `bench/intents/spoken.py` puts them to the whole engine by voice.

    python -m bench.intents.text [--model NAME] [--ways N] [--only REGEX] [--fresh] [--show]
"""

from __future__ import annotations

import argparse
import asyncio
import re
import time
from collections.abc import Callable, Sequence

from bench import size
from bench.intents.dialogues import TUNED, Dialogue
from bench.intents.fresh import FRESH
from bench.intents.judge import Outcome, figures, told
from bench.intents.world import World, instructions, tools
from bench.tool_choice.text import _brain as local_brain
from vivavoce.brain.llama.brain import LlamaBrain
from vivavoce.wire.brain import (
    Ask,
    Brain,
    Call,
    CallArguments,
    CallBegun,
    CallEnded,
    Result,
    Said,
    Turn,
    Words,
)

Report = Callable[[str, float, float, str], None]
_ROUNDS = 4
"""Answers to one thing said: calls, and what is said to their results."""


async def played(brain: Brain, dialogue: Dialogue, live: str) -> Outcome:
    """The whole talk; after the last line the user answers what is asked, if it can be answered."""
    world = World(dialogue.tasks)
    outcome = Outcome(dialogue, world)
    turns: list[Turn] = []
    for said, may in dialogue.lines:
        await _turn(brain, world, turns, said, may, outcome, live)
    for said in dialogue.answers:
        if outcome.complete or not outcome.asking:
            break
        await _turn(brain, world, turns, said, "act", outcome, live)
    brain.forget(live)
    return outcome


async def _turn(
    brain: Brain,
    world: World,
    turns: list[Turn],
    said: str,
    may: str,
    outcome: Outcome,
    live: str,
) -> None:
    turns.append(Said("user", said))
    world.hear(said)
    submitted, corrected, words = len(world.submitted), world.corrected, ""
    for _ in range(_ROUNDS):
        begun = time.perf_counter()
        spoken, calls, first = await _answer(brain, world, tuple(turns), live)
        outcome.first_ms.append((first - begun) * 1000)
        if spoken:
            turns.append(Said("assistant", spoken))
            words = f"{words} {spoken}".strip()
        for call in calls:
            turns += (call, Result(call.call_id, world.call(call.name, call.arguments)))
        if not calls:
            break
    world.say(words)
    done = len(world.submitted) - submitted + world.corrected - corrected
    outcome.line(said, may, words, done)


async def _answer(
    brain: Brain, world: World, turns: tuple[Turn, ...], live: str
) -> tuple[str, list[Call], float]:
    words, calls, first = "", dict[str, Call](), 0.0
    ask = Ask(instructions(world.tasks), turns, tools(), max_tokens=150, live=live)
    async for piece in brain.answer(ask):
        first = first or time.perf_counter()
        match piece:
            case Words(text):
                words += text
            case CallBegun(call_id, name):
                calls[call_id] = Call(call_id, name, "")
            case CallArguments(call_id, delta):
                calls[call_id] = Call(
                    call_id, calls[call_id].name, calls[call_id].arguments + delta
                )
            case CallEnded():
                pass
    return words.strip(), list(calls.values()), first or time.perf_counter()


async def all_played(
    brain: LlamaBrain, dialogues: Sequence[Dialogue], ways: int, show: bool = False
) -> list[Outcome]:
    """Several at a time, each in a slot of its own, in the order given."""
    outcomes: dict[int, Outcome] = {}
    left = iter(enumerate(dialogues))

    async def work(way: int) -> None:
        for index, dialogue in left:
            outcomes[index] = done = await played(brain, dialogue, f"{way} {index}")
            print(told(done, whole=show), flush=True)

    async with brain.running():
        await brain.ready()
        begun = time.perf_counter()
        await brain.warm(Ask(instructions(()), (), tools()))
        print(f"prompt read in {time.perf_counter() - begun:.1f} s", flush=True)
        async with asyncio.TaskGroup() as group:
            for way in range(ways):
                group.create_task(work(way))
    return [outcomes[index] for index in sorted(outcomes)]


def show(outcomes: Sequence[Outcome]) -> None:
    for name, among in (("tuned on", TUNED), ("fresh", FRESH), ("all", (*TUNED, *FRESH))):
        if some := [outcome for outcome in outcomes if outcome.dialogue in among]:
            print(f"  {name}: {figures(some)}")
    if times := sorted(ms for outcome in outcomes for ms in outcome.first_ms):
        print(f"  first piece: {times[len(times) // 2]:.0f} ms (p50)")


def run(report: Report) -> None:
    """Beside the least that is asked for."""
    talks = size((*TUNED, *FRESH), quick=TUNED[:2])
    for model in size(("qwen-1.5b", "qwen-0.5b"), quick=("qwen-1.5b",)):
        outcomes = asyncio.run(all_played(local_brain(model, 1), talks, 1))
        print(f"  {model}")
        show(outcomes)
        wrong = 100 * sum(not outcome.right for outcome in outcomes) / len(outcomes)
        report(f"{model}: talks that went wrong, beside the most allowed", wrong, 15.0, "%")


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--model", default="qwen-1.5b")
    options.add_argument("--ways", type=int, default=2)
    options.add_argument("--threads", type=int, default=0)
    options.add_argument("--only", default="", help="a regular expression for kinds and words")
    options.add_argument("--fresh", action="store_true", help="only those nothing was tuned on")
    options.add_argument("--tuned", action="store_true", help="only the others")
    options.add_argument("--show", action="store_true", help="every talk, not only the wrong ones")
    options.add_argument("--every", type=int, default=1)
    given = options.parse_args()
    among = FRESH if given.fresh else TUNED if given.tuned else (*TUNED, *FRESH)
    wanted = [d for d in among if re.search(given.only, f"{d.kind}: {d.lines[0][0]}")]
    brain = local_brain(given.model, given.ways, given.threads)
    show(asyncio.run(all_played(brain, wanted[:: given.every], given.ways, given.show)))


if __name__ == "__main__":
    main()
