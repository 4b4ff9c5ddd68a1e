"""One answer under way: the brain's words as they come, and the mouth a clause behind.

Owns the two tasks of it. Tells facts and knows nothing of the protocol;
cancelling it is how an answer is interrupted.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing

from vivavoce.brain.ports import Brain, Finished, Words
from vivavoce.engine import facts
from vivavoce.engine.clauses import Clauses, pause_ms
from vivavoce.engine.orders import Answer
from vivavoce.engine.ports import MOUTH_RATE, Mouth
from vivavoce.errors import VivavoceError

log = logging.getLogger(__name__)

_CLAUSES_AHEAD = 64  # the brain may run ahead of the mouth by so many


class Answerer:
    """Puts one question to the brain and has the words spoken."""

    def __init__(
        self, order: Answer, brain: Brain, mouth: Mouth, post: Callable[[facts.Fact], None]
    ) -> None:
        self._order, self._brain, self._mouth, self._post = order, brain, mouth, post

    async def run(self) -> None:
        response_id = self._order.response_id
        try:
            if self._order.voice is None:
                await self._think(None)
            else:
                await self._think_and_speak(self._order.voice)
        except Exception as fault:  # the boundary of this task: the session lives on
            known = _first(fault)
            if isinstance(known, VivavoceError):
                code, message = known.code, known.message
            else:
                log.exception("An answer failed")
                code, message = "server_error", "Something went wrong while answering."
            self._post(facts.AnswerFailed(response_id, code, message))

    async def _think_and_speak(self, voice: str) -> None:
        clauses: asyncio.Queue[str | None] = asyncio.Queue(_CLAUSES_AHEAD)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._speak(clauses, voice), name="mouth")
            await self._think(clauses)
            await clauses.put(None)

    async def _think(self, clauses: asyncio.Queue[str | None] | None) -> None:
        response_id = self._order.response_id
        cutter = Clauses()
        finished = Finished()
        pieces = self._brain.answer(self._order.ask)
        async with aclosing(pieces):
            async for piece in pieces:
                if isinstance(piece, Finished):
                    finished = piece
                    break
                self._post(facts.Thought(response_id, piece))
                if clauses is not None and isinstance(piece, Words):
                    for clause in cutter.feed(piece.text):
                        await clauses.put(clause)
        if clauses is not None:
            for clause in cutter.finish():
                await clauses.put(clause)
        self._post(facts.Thought(response_id, finished))

    async def _speak(self, clauses: asyncio.Queue[str | None], voice: str) -> None:
        response_id, pause, made, told = self._order.response_id, b"", 0, 0
        while (clause := await clauses.get()) is not None:
            pcm = await self._mouth.speak(clause, voice=voice, speed=self._order.speed)
            if pcm:
                # The mouth trims its clauses; a pause belongs between two, not after the last.
                pcm, pause = pause + pcm, bytes(2 * MOUTH_RATE * pause_ms(clause) // 1000)
            # Of the whole so far: rounded one by one, clauses would add up to less than was sent,
            # and a client that truncates near the end would be refused.
            made += len(pcm)
            ms = made * 1000 // (2 * MOUTH_RATE) - told
            told += ms
            self._post(facts.Spoken(response_id, clause, pcm, ms))
        self._post(facts.AllSpoken(response_id))


def _first(fault: BaseException) -> BaseException:
    """What really happened, inside the groups it came through."""
    while isinstance(fault, BaseExceptionGroup):
        fault = fault.exceptions[0]
    return fault
