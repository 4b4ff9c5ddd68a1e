"""One answer under way: the brain's words as they come, and the mouth a clause behind.

Owns the two tasks of it. Tells facts and knows nothing of the protocol;
cancelling it is how an answer is interrupted. One that is held makes its
first clauses and keeps everything to itself until it is released.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace

from vivavoce.engine.ports import MOUTH_RATE, Mouth, Utterance
from vivavoce.engine.turn import facts
from vivavoce.engine.turn.clauses import Clauses, pause_ms
from vivavoce.engine.turn.orders import Answer
from vivavoce.errors import VivavoceError
from vivavoce.wire.brain import Brain, Finished, Piece, Words

log = logging.getLogger(__name__)

Told = facts.Thought | facts.Spoken | facts.AllSpoken | facts.AnswerFailed

_CLAUSES_AHEAD = 64  # the brain may run ahead of the mouth by so many
_HELD_CLAUSES = 2  # are made of an answer that nobody may want


class Answerer:
    """Puts one question to the brain and has the words spoken."""

    def __init__(
        self,
        order: Answer,
        brain: Brain,
        mouth: Mouth,
        post: Callable[[facts.Fact], None],
        *,
        held: bool = False,
    ) -> None:
        self._order, self._brain, self._mouth, self._post = order, brain, mouth, post
        self._response_id = order.response_id
        self._held: list[Told] | None = [] if held else None
        self._released = asyncio.Event()
        if not held:
            self._released.set()
        self._clauses: asyncio.Queue[str | None] = asyncio.Queue(_CLAUSES_AHEAD)
        self._sound = _Sound()
        self.failed = False

    # --- From outside ---------------------------------------------------------------------

    def release(self, response_id: str) -> None:
        """It is wanted after all: what was made is told now, and the rest as it comes."""
        self._response_id = response_id
        told, self._held = self._held or [], None
        self._sound.starts(asyncio.get_running_loop().time())
        for fact in told:
            self._tell(fact)
        self._released.set()

    def interject(self, words: str) -> None:
        """Say this first. Only before the first words of the answer itself."""
        if self._order.voice is not None and self._clauses.empty():
            self._clauses.put_nowait(words)

    # --- The work -------------------------------------------------------------------------

    async def run(self) -> None:
        try:
            if (voice := self._order.voice) is None:
                await self._think()
            else:
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._speak(voice), name="mouth")
                    await self._think()
                    await self._clauses.put(None)
        except Exception as fault:  # the boundary of this task: the session lives on
            known = _first(fault)
            if isinstance(known, VivavoceError):
                code, message = known.code, known.message
            else:
                log.exception("An answer failed")
                code, message = "server_error", "Something went wrong while answering."
            self.failed = True
            self._tell(facts.AnswerFailed(self._response_id, code, message))

    async def _think(self) -> None:
        cutter, finished = Clauses(), Finished()
        speaks, asked = self._order.voice is not None, self._order.ask
        answer = _only(self._order.words) if asked is None else self._brain.answer(asked)
        async with aclosing(answer) as pieces:
            async for piece in pieces:
                if isinstance(piece, Finished):
                    finished = piece
                    break
                self._tell(facts.Thought(self._response_id, piece))
                if speaks and isinstance(piece, Words):
                    for clause in cutter.feed(piece.text):
                        await self._clauses.put(clause)
        if speaks:
            for clause in cutter.finish():
                await self._clauses.put(clause)
        self._tell(facts.Thought(self._response_id, finished))

    async def _speak(self, voice: str) -> None:
        made, loop = 0, asyncio.get_running_loop()
        while (clause := await self._clauses.get()) is not None:
            if made >= _HELD_CLAUSES:
                await self._released.wait()
            lead = self._sound.lead_ms(loop.time())
            said = await self._mouth.speak(
                clause, voice=voice, speed=self._order.speed, lead_ms=lead
            )
            made += 1
            self._tell(self._sound.add(self._response_id, clause, said))
            if self._held is None:
                self._sound.starts(loop.time())
        self._tell(facts.AllSpoken(self._response_id))

    def _tell(self, fact: Told) -> None:
        if self._held is not None:
            self._held.append(fact)
        else:
            self._post(replace(fact, response_id=self._response_id))


class _Sound:
    """The sound of one answer so far: how long, and how much of it is still ahead."""

    def __init__(self) -> None:
        self._pause = b""
        self._bytes = self._told_ms = 0
        self._began: float | None = None

    def starts(self, now: float) -> None:
        if self._began is None and self._bytes:
            self._began = now

    def lead_ms(self, now: float) -> int:
        if self._began is None:
            return self._told_ms
        return max(0, self._told_ms - int((now - self._began) * 1000))

    def add(self, response_id: str, clause: str, said: Utterance) -> facts.Spoken:
        pcm, before = said.pcm, 0
        if pcm:
            # The mouth trims its clauses; a pause belongs between two, not after the last.
            before = _ms(len(self._pause))
            pcm = self._pause + pcm
            self._pause = bytes(2 * MOUTH_RATE * pause_ms(clause) // 1000)
        # Of the whole so far: rounded one by one, clauses would add up to less than was sent,
        # and a client that truncates near the end would be refused.
        self._bytes += len(pcm)
        ms = _ms(self._bytes) - self._told_ms
        self._told_ms += ms
        return facts.Spoken(response_id, clause, pcm, ms, _lengths(said, before, ms))


def _lengths(said: Utterance, before: int, ms: int) -> tuple[tuple[str, int], ...]:
    """How long each word sounds, the pause in front with the first, all together `ms`."""
    lengths, at = [], 0
    for number, (word, end) in enumerate(said.words, 1):
        until = ms if number == len(said.words) else min(ms, max(at, before + end))
        lengths.append((word, until - at))
        at = until
    return tuple(lengths)


def _ms(size: int) -> int:
    return size * 1000 // (2 * MOUTH_RATE)


async def _only(words: str) -> AsyncGenerator[Piece, None]:
    yield Words(words)
    yield Finished()


def _first(fault: BaseException) -> BaseException:
    """What really happened, inside the groups it came through."""
    while isinstance(fault, BaseExceptionGroup):
        fault = fault.exceptions[0]
    return fault
