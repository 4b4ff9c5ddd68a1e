"""Does the local brain get intents right: the right one, the right values, and none too early?

The talks of `bench/intents/dialogues.py` shaped the prompt of the Flux agent;
those of `bench/intents/fresh.py` did not, and are the honest figure. As text
here, straight at the brain as the product runs it (led, with the agent's reader);
its calls go to the product's intent service, with a clock that stands still
(`bench/intents/world.py`). `bench/intents/spoken.py` puts them to the whole
engine by voice.

    python -m bench.intents.text [--quick] [--part even|odd] [--model NAME] [--ways N]
        [--only REGEX] [--fresh | --tuned] [--show]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench import size
from bench.intents.dialogues import TUNED, Dialogue
from bench.intents.fresh import FRESH
from bench.intents.judge import Outcome, figures, told
from bench.intents.world import NOW, World, opened
from vivavoce.app.settings.parts import LIKENESS
from vivavoce.brain.llama.brain import LlamaBrain
from vivavoce.runtime.agents.agent import readers
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
MOST_ASKED = 4
_QUICK = 9
_CACHE = Path.home() / ".cache" / "vivavoce"
NO_DATE = "No, there is no date for that."
ALL = (*TUNED, *FRESH)
_BY_WHEN = re.compile(r"\bby when\b|\bis there a date\b", re.IGNORECASE)
_HOUR = re.compile(r"\bwhen\b|\b(what|which) (time|hour)\b", re.IGNORECASE)


async def played(brain: Brain, dialogue: Dialogue, live: str) -> Outcome:
    """The whole talk; after the last line the user answers what is asked, if it can be answered."""
    async with opened(dialogue.tasks) as world:
        outcome = Outcome(dialogue, world)
        turns: list[Turn] = []
        for said, may in dialogue.lines:
            await _turn(brain, turns, said, may, outcome, live)
        left = list(dialogue.answers)
        for _ in range(MOST_ASKED):
            if outcome.complete or not outcome.asking:
                break
            if (reply := answer(dialogue, outcome.said, left)) is None:
                break
            await _turn(brain, turns, reply, "act", outcome, live)
    brain.forget(live)
    return outcome


def answer(dialogue: Dialogue, asked: str, left: list[str]) -> str | None:
    """What somebody says who is asked this; `left` are the answers that the talk still has."""
    question = asked.rpartition("?")[0]
    if _BY_WHEN.search(question):
        return NO_DATE
    if _HOUR.search(question):
        return dialogue.hour
    return left.pop(0) if left else None


async def _turn(
    brain: Brain, turns: list[Turn], said: str, may: str, outcome: Outcome, live: str
) -> None:
    world = outcome.world
    turns.append(Said("user", said))
    await world.hear(said)
    before, words = world.calls, ""
    for _ in range(_ROUNDS):
        begun = time.perf_counter()
        spoken, calls, first = await _answer(brain, world, tuple(turns), live)
        outcome.first_ms.append((first - begun) * 1000)
        if spoken:
            turns.append(Said("assistant", spoken))
            words = f"{words} {spoken}".strip()
        for call in calls:
            turns += (call, Result(call.call_id, await world.call(call.name, call.arguments)))
        if not calls:
            break
    await world.say(words)
    outcome.line(said, may, words, world.calls - before)


async def _answer(
    brain: Brain, world: World, turns: tuple[Turn, ...], live: str
) -> tuple[str, list[Call], float]:
    words, calls, first = "", dict[str, Call](), 0.0
    ask = Ask(world.instructions, turns, world.tools, max_tokens=150, live=live)
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
            place = f"{len(outcomes)}/{len(dialogues)}"
            print(f"  {place:>6} {told(done, whole=show)}", flush=True)

    async with brain.running():
        await brain.ready()
        begun = time.perf_counter()
        async with opened(()) as world:
            await brain.warm(Ask(world.instructions, (), world.tools))
        print(f"prompt read in {time.perf_counter() - begun:.1f} s", flush=True)
        async with asyncio.TaskGroup() as group:
            for way in range(ways):
                group.create_task(work(way))
    return [outcomes[index] for index in sorted(outcomes)]


def local_brain(model: str, ways: int, threads: int = 0) -> LlamaBrain:
    """As the product starts it, with what it learned of the agents; its clock stands still."""
    models = Path(os.environ.get("VIVAVOCE_MODELS_DIR") or _CACHE / "models")
    return LlamaBrain(
        models / model / "model.gguf",
        _CACHE / "brain",
        name=model,
        live_slots=ways,
        threads=threads,
        likeness=models / LIKENESS,
        readers=readers(),
        now=NOW.astimezone,
    )


def show(outcomes: Sequence[Outcome]) -> None:
    for name, among in (("tuned on", TUNED), ("fresh", FRESH), ("all", (*TUNED, *FRESH))):
        if some := [outcome for outcome in outcomes if outcome.dialogue in among]:
            print(f"  {name}: {figures(some)}")
    if times := sorted(ms for outcome in outcomes for ms in outcome.first_ms):
        print(f"  first piece: {times[len(times) // 2]:.0f} ms (p50)")


def run(report: Report) -> None:
    """Beside the least that is asked for."""
    talks = size(ALL, quick=ALL[::_QUICK])
    outcomes = asyncio.run(all_played(local_brain("qwen-1.5b", 1), talks, 1))
    show(outcomes)
    wrong = 100 * sum(not outcome.right for outcome in outcomes) / len(outcomes)
    report("intents: talks that went wrong, beside the most allowed", wrong, 15.0, "%")


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--model", default="qwen-1.5b")
    options.add_argument("--ways", type=int, default=2)
    options.add_argument("--threads", type=int, default=0)
    options.add_argument("--only", default="", help="a regular expression for kinds and words")
    options.add_argument("--fresh", action="store_true", help="only those nothing was tuned on")
    options.add_argument("--tuned", action="store_true", help="only the others")
    options.add_argument("--show", action="store_true", help="every talk, not only the wrong ones")
    options.add_argument("--part", choices=("even", "odd"), help="by their place among all")
    options.add_argument("--quick", action="store_true", help="a few of each kind")
    given = options.parse_args()
    among = FRESH if given.fresh else TUNED if given.tuned else ALL
    part = ALL[given.part == "odd" :: 2] if given.part else ALL
    wanted = [
        d
        for d in (ALL[::_QUICK] if given.quick else ALL)
        if d in among and d in part and re.search(given.only, f"{d.kind}: {d.lines[0][0]}")
    ]
    brain = local_brain(given.model, given.ways, given.threads)
    show(asyncio.run(all_played(brain, wanted, given.ways, given.show)))


if __name__ == "__main__":
    main()
