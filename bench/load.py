"""Several sessions at once: latency, pacing, refusals and CPU by load.

`python -m bench.load [--levels 1,2,4,8] [--seconds 75] [--brain scripted]
[--transport ws] [--vad server] [--quick]`. Everybody asks, hears the whole answer,
thinks for a while and asks again. A level is good when its p95 is at most twice
that of one session and nobody's sound broke off inside a clause; the highest
good level, divided by the cores, is what "sessions a core" means here. While the
last level talks, one more session knocks, and what it is told is shown.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import psutil
import uvloop
from websockets.exceptions import InvalidStatus

from bench import report as report_line
from bench import size
from bench.engine.answers import opened
from bench.engine.call import Refusal
from bench.engine.client import Line
from bench.engine.questions import RESULTS, Question, made, mixed
from bench.engine.server import Family, Server, brain_settings, serving
from bench.engine.table import counted, percentile
from bench.engine.turn import NoAnswer, Turn, ask

Report = Callable[[str, float, float, str], None]

LEVELS = size((1, 2, 4, 8), quick=(1, 2))
SECONDS = size(75.0, quick=15.0)
QUESTIONS = size(12, quick=3)
_THINKING = (1.0, 3.0)
_WARM_SECONDS = 180.0
_SHORT = 300.0
"""Milliseconds that a pause between two clauses may be longer without being noticed much."""


@dataclass(frozen=True)
class Plan:
    levels: tuple[int, ...] = LEVELS
    seconds: float = SECONDS
    brain: str = size("qwen-1.5b", quick="scripted")
    transport: str = "ws"
    vad: str = "server"


@dataclass
class Level:
    """What a number of sessions at once came to."""

    sessions: int
    turns: list[Turn] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    cpu: float = 0.0
    """Cores that were busy."""
    below: float = 0.0
    """Of these, in the server's children."""
    memory_mib: float = 0.0

    def latency(self, share: float) -> float:
        """Of questions that need no tool, to the answer's own words."""
        values = [turn.own_words for turn in counted(self.turns) if not turn.called]
        return percentile(values, share) if values else float("nan")

    def gaps(self, *, between: bool) -> list[float]:
        return [gap.ms for turn in self.turns for gap in turn.gaps if gap.between is between]

    def is_good(self, alone: Level) -> bool:
        if not self.turns or self.failures or self.refused:
            return False
        return self.latency(95) <= 2 * alone.latency(95) and not self.gaps(between=False)


def run(report: Report, plan: Plan | None = None) -> None:
    plan = plan or Plan()
    questions = made(mixed(QUESTIONS))
    found: list[Level] = []
    with brain_settings(plan.brain) as settings, serving(settings) as server:
        for sessions in plan.levels:
            last = sessions == plan.levels[-1]
            found.append(_level(server, plan, sessions, questions, knock=last))
    show(plan, found)
    alone = found[0]
    for level in found[1:]:
        for share in (50, 95):
            name = f"load: {level.sessions} sessions, own words p{share}, beside {alone.sessions}"
            if np.isfinite(level.latency(share) + alone.latency(share)):
                report(name, level.latency(share), alone.latency(share), "ms")


def _level(
    server: Server, plan: Plan, sessions: int, questions: list[Question], *, knock: bool
) -> Level:
    level = Level(sessions)
    print(f"   {sessions} at once", flush=True)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_together(server, plan, level, questions, knock=knock))
    return level


async def _together(
    server: Server, plan: Plan, level: Level, questions: list[Question], *, knock: bool
) -> None:
    # Everyone is warm before anyone is timed.
    warm = asyncio.Barrier(level.sessions + 1)
    async with asyncio.TaskGroup() as group:
        for seat in range(level.sessions):
            group.create_task(_one(server, plan, level, questions, seat, warm))
        await warm.wait()
        before, began = await asyncio.to_thread(server.family), time.monotonic()
        await asyncio.sleep(plan.seconds / 2)
        if knock:
            await _knock(server, plan, level)
        await asyncio.sleep(plan.seconds / 2)
        took = time.monotonic() - began
        _spent(level, before, await asyncio.to_thread(server.family), took)


def _spent(level: Level, before: Family, after: Family, seconds: float) -> None:
    level.cpu = (after.cpu_seconds - before.cpu_seconds) / seconds
    level.below = (after.children_cpu_seconds - before.children_cpu_seconds) / seconds
    level.memory_mib = after.memory_mib


async def _one(
    server: Server,
    plan: Plan,
    level: Level,
    questions: list[Question],
    seat: int,
    warm: asyncio.Barrier,
) -> None:
    waited = False
    try:
        async with opened(server, plan.transport, plan.vad) as line:
            await ask(line, questions[seat % len(questions)], RESULTS, _WARM_SECONDS)
            waited = True
            await warm.wait()
            await _talk(line, plan, level, questions, seat)
    except (InvalidStatus, Refusal) as refused:
        level.refused[_words(refused)] += 1
    except (NoAnswer, TimeoutError, OSError) as fault:
        level.failures.append(str(fault) or "no answer")
    finally:
        if not waited:
            await warm.wait()


async def _talk(line: Line, plan: Plan, level: Level, questions: list[Question], seat: int) -> None:
    dice = np.random.default_rng(seat)
    until = time.monotonic() + plan.seconds
    number = seat * 5
    while time.monotonic() < until:
        await asyncio.sleep(float(dice.uniform(*_THINKING)))
        number += 1
        level.turns.append(await ask(line, questions[number % len(questions)], RESULTS))


async def _knock(server: Server, plan: Plan, level: Level) -> None:
    """One more than there are: is it let in, and what is it told?"""
    try:
        async with opened(server, plan.transport, plan.vad):
            print(f"   one more than {level.sessions} is let in", flush=True)
    except (InvalidStatus, Refusal) as refused:
        print(f"   one more than {level.sessions} is refused: {_words(refused)}", flush=True)
    except (NoAnswer, TimeoutError, OSError) as fault:
        print(f"   one more than {level.sessions} comes to nothing: {fault}", flush=True)


def _words(refused: InvalidStatus | Refusal) -> str:
    if isinstance(refused, Refusal):
        return str(refused)
    body = (refused.response.body or b"").decode(errors="replace")
    return f"{refused.response.status_code} {body[:200]}"


# --- Telling --------------------------------------------------------------------------


def show(plan: Plan, found: Sequence[Level]) -> None:
    print(f"\n   {plan.brain}, {plan.transport}, {plan.vad}_vad; ms to the answer's own words")
    late = "ran dry" if plan.transport == "ws" else "off beat"
    print(
        f"   {'sessions':>8}{'turns':>7}{'p50':>8}{'p95':>8}{late + ' in a clause':>24}"
        f"{'between clauses':>20}{'acknowledged':>14}{'cores':>7}{'children':>10}{'MiB':>7}  good"
    )
    for level in found:
        inside, between = level.gaps(between=False), level.gaps(between=True)
        long = sum(ms > _SHORT for ms in between)
        print(
            f"   {level.sessions:>8}{len(level.turns):>7}"
            f"{level.latency(50):>8,.0f}{level.latency(95):>8,.0f}"
            f"{f'{len(inside)}, {sum(inside):,.0f} ms':>24}"
            f"{f'{len(between)}, {long} long':>20}"
            f"{sum(turn.acknowledged for turn in level.turns):>14}"
            f"{level.cpu:>7.2f}{level.below:>10.2f}{level.memory_mib:>7,.0f}"
            f"  {'yes' if level.is_good(found[0]) else 'no'}"
        )
    for level in found:
        for words, times in level.refused.items():
            print(f"   {level.sessions} at once: refused {times} times: {words}")
        for failure in level.failures:
            print(f"   {level.sessions} at once: {failure}")
    good = [level.sessions for level in found if level.is_good(found[0])]
    most, cores = max(good, default=0), os.cpu_count() or 1
    physical = psutil.cpu_count(logical=False) or cores
    print(
        f"   {most} sessions are good on {cores} cores ({physical} of metal): "
        f"{most / cores:.1f} a core\n",
        flush=True,
    )


def plan_of(arguments: Sequence[str] | None = None) -> Plan:
    parser = argparse.ArgumentParser(prog="python -m bench.load")
    parser.add_argument("--levels", default=",".join(map(str, LEVELS)))
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each level")
    parser.add_argument("--brain", default="qwen-1.5b")
    parser.add_argument("--transport", choices=("ws", "webrtc"), default="ws")
    parser.add_argument("--vad", choices=("server", "semantic"), default="server")
    parser.add_argument("--quick", action="store_true", help="scripted, 1 and 2, 15 s each")
    given = parser.parse_args(arguments)
    if given.quick:
        return Plan((1, 2), 15.0, "scripted", given.transport, given.vad)
    levels = tuple(int(level) for level in given.levels.split(","))
    return Plan(levels, given.seconds, given.brain, given.transport, given.vad)


if __name__ == "__main__":
    run(report_line, plan_of())
