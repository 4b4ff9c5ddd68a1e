"""The whole engine from outside: end of speech to the first word of the answer itself.

`python -m bench.engine.answers [--brains a,b] [--turns N] [--minutes M] [--quick]
[--transport ws,webrtc] [--vad server,semantic]`. Questions are spoken in real
time to `vivavoce serve`; what is measured, and how, is told in
`bench.engine.turn` and `bench.engine.client`. The peer is the straight sum of the
same parts: the same questions to the same server with VIVAVOCE_SPECULATION=off,
where ears, brain and mouth start one after the other when the silence is over.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import uvloop

from bench import report as report_line
from bench import size
from bench.engine.call import by_call
from bench.engine.client import Line, by_socket
from bench.engine.questions import INSTRUCTIONS, RESULTS, Question, declared, made, mixed
from bench.engine.server import REMOTE, Server, brain_settings, serving
from bench.engine.table import middle, show
from bench.engine.turn import NoAnswer, Turn, ask
from vivavoce.app.settings import Settings

Report = Callable[[str, float, float, str], None]

TARGETS = {"qwen-1.5b": 950, "qwen-0.5b": 650, REMOTE: 650, "scripted": 600}
VADS = {
    "server": {"type": "server_vad", "silence_duration_ms": 500},
    "semantic": {"type": "semantic_vad"},
}
TURNS = size(12, quick=2)
MINUTES = size(6.0, quick=2.0)
LEAST = 2
_BETWEEN = 0.6
_WARMING = size(5, quick=1)
"""Seconds between an answer and the next question."""
_PEER_SHARE = 1.5
"""What the peer gets of a brain's time, where a transport with one VAD gets 1: it has to start."""


@dataclass(frozen=True)
class Plan:
    brains: tuple[str, ...] = size(tuple(TARGETS), quick=("scripted",))
    turns: int = TURNS
    minutes: float = MINUTES
    transports: tuple[str, ...] = ("ws", "webrtc")
    vads: tuple[str, ...] = tuple(VADS)
    peer: bool = True


@dataclass
class Talk:
    """The turns of one brain by one transport with one way to find the end."""

    name: str
    turns: list[Turn] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def run(report: Report, plan: Plan | None = None) -> None:
    plan = plan or Plan()
    known = [
        brain for brain in plan.brains if brain == "scripted" or "brain" in Settings.model_fields
    ]
    for brain in set(plan.brains) - set(known):
        print(f"   {brain}: left out, this server has no VIVAVOCE_BRAIN")
    questions = made(mixed(plan.turns + 1))
    end = time.monotonic() + plan.minutes * 60
    for number, brain in enumerate(known):
        until = time.monotonic() + (end - time.monotonic()) / (len(known) - number)
        try:
            _brain(brain, plan, questions, until, report)
        except RuntimeError as fault:
            print(f"   {brain}: {fault}", flush=True)


def _brain(brain: str, plan: Plan, questions: list[Question], until: float, report: Report) -> None:
    ways = [(transport, vad) for transport in plan.transports for vad in plan.vads]
    shares = len(ways) + (_PEER_SHARE if plan.peer else 0)
    talks: list[Talk] = []
    with brain_settings(brain) as settings:
        print(f"   {brain}: starting", flush=True)
        with serving(settings) as server:
            # Right after its start a server reads prompts and makes openings: not part of a turn.
            _talk(server, *ways[0], questions[:_WARMING], until)
            for number, (transport, vad) in enumerate(ways):
                left = until - time.monotonic()
                limit = time.monotonic() + left / (shares - number)
                talks.append(_talk(server, transport, vad, questions, limit))
        peer = None
        if plan.peer:
            with serving({**settings, "VIVAVOCE_SPECULATION": "off"}) as server:
                peer = _talk(server, *ways[0], questions, until)
                peer.name += ", speculation off"
    shown = talks if peer is None else [*talks, peer]
    show(brain, TARGETS.get(brain), [(talk.name, talk.turns, talk.failures) for talk in shown])
    _beside(brain, talks, peer, report)


def _talk(
    server: Server, transport: str, vad: str, questions: list[Question], until: float
) -> Talk:
    talk = Talk(f"{transport}, {vad}_vad")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_converse(server, transport, vad, questions, until, talk))
    print(f"   {talk.name}: {len(talk.turns)} turns", flush=True)
    return talk


async def _converse(
    server: Server, transport: str, vad: str, questions: list[Question], until: float, talk: Talk
) -> None:
    async with opened(server, transport, vad) as line:
        for number, question in enumerate(questions):
            if number > LEAST and time.monotonic() > until:
                break
            try:
                turn = await ask(line, question, RESULTS)
            except NoAnswer as fault:
                talk.failures.append(str(fault))
                if line.closed is not None or len(talk.failures) > LEAST:
                    break
            else:
                if number:  # the first one warms everything up
                    talk.turns.append(turn)
            await asyncio.sleep(_BETWEEN)


@asynccontextmanager
async def opened(server: Server, transport: str, vad: str) -> AsyncIterator[Line]:
    """A session that has its tools and its way to find the end of a turn."""
    way = (
        by_socket(server.realtime, server.headers)
        if transport == "ws"
        else by_call(server.calls, server.headers)
    )
    async with way as line:
        await _event(line, "session.created")
        # As the server's own sessions do: what was heard is written down for the transcript.
        sound = {"input": {"turn_detection": VADS[vad], "transcription": {"model": "vivavoce"}}}
        session = {"type": "realtime", "instructions": INSTRUCTIONS, "tools": declared()}
        line.send({"type": "session.update", "session": {**session, "audio": sound}})
        await _event(line, "session.updated")
        yield line


async def _event(line: Line, kind: str, seconds: float = 30.0) -> None:
    async with asyncio.timeout(seconds):
        while not any(event["type"] == kind for _, event in line.events):
            if line.closed is not None:
                raise NoAnswer(line.closed)
            await asyncio.sleep(0.02)


def _beside(brain: str, talks: Sequence[Talk], peer: Talk | None, report: Report) -> None:
    name = f"engine: {brain}, own words p50"
    for talk in talks:
        if (ours := middle(talk.turns)) is None:
            continue
        if (target := TARGETS.get(brain)) is not None:
            report(f"{name}, {talk.name}, beside the target", ours, target, "ms")
    if peer is not None and talks:
        ours, theirs = middle(talks[0].turns), middle(peer.turns)
        if ours is not None and theirs is not None:
            report(f"{name}, beside the straight sum", ours, theirs, "ms")


def plan_of(arguments: Sequence[str] | None = None) -> Plan:
    parser = argparse.ArgumentParser(prog="python -m bench.engine.answers")
    parser.add_argument("--brains", default=",".join(TARGETS), help="or the URL of one")
    parser.add_argument("--turns", type=int, default=TURNS, help="of each kind, at most")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="for all of it")
    parser.add_argument("--transport", default="ws,webrtc")
    parser.add_argument("--vad", default=",".join(VADS))
    parser.add_argument("--quick", action="store_true", help="the scripted brain, two turns each")
    parser.add_argument("--no-peer", action="store_true", help="without the straight sum")
    given = parser.parse_args(arguments)
    return Plan(
        brains=("scripted",) if given.quick else tuple(given.brains.split(",")),
        turns=2 if given.quick else given.turns,
        minutes=given.minutes,
        transports=tuple(given.transport.split(",")),
        vads=tuple(given.vad.split(",")),
        peer=not given.no_peer,
    )


if __name__ == "__main__":
    run(report_line, plan_of())
