"""The slow work of a session: words from sound, answers from words, verdicts on pauses.

Owns the tasks of it, all in the session's group. Tells facts, decides nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from vivavoce.brain.ports import Brain
from vivavoce.engine import facts, orders
from vivavoce.engine.answerer import Answerer
from vivavoce.engine.audio import Inbound
from vivavoce.engine.ports import EAR_RATE, Detector, Ears, Judge, Mouth, Position, Samples
from vivavoce.errors import VivavoceError

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Parts:
    """The models that all sessions share, and how to get the ones that they do not."""

    ears: Ears
    mouth: Mouth
    brain: Brain
    judge: Judge
    detector: Callable[[], Detector]


class Work:
    """Nothing starts before `begin` or after `end`, and nothing outlives `end`."""

    def __init__(
        self,
        parts: Parts,
        post: Callable[[facts.Fact], None],
        position: Callable[[], Position | None],
    ) -> None:
        self._parts, self._post, self._position = parts, post, position
        self._group: asyncio.TaskGroup | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._answers: dict[str, asyncio.Task[None]] = {}

    def begin(self, group: asyncio.TaskGroup) -> None:
        self._group = group

    def end(self) -> None:
        self._group = None
        for task in self._tasks:
            task.cancel()

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None] | None:
        if self._group is None:
            work.close()
            return None
        task = self._group.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # --- Answers --------------------------------------------------------------------------

    def answer(self, order: orders.Answer) -> None:
        worker = Answerer(order, self._parts.brain, self._parts.mouth, self._post)
        task = self._spawn(worker.run(), f"answer {order.response_id}")
        if task is not None:
            self._answers[order.response_id] = task
            task.add_done_callback(lambda _: self._answers.pop(order.response_id, None))

    def stop(self, response_id: str) -> None:
        if (task := self._answers.pop(response_id, None)) is not None:
            task.cancel()

    # --- Words ----------------------------------------------------------------------------

    def transcribe(self, item_id: str, speech: Samples, language: str | None) -> None:
        self._spawn(self._transcribe(item_id, speech, language), f"ears {item_id}")

    def transcribe_clip(self, item_id: str, audio: bytes, form: str, language: str | None) -> None:
        """Sound that came whole, in the wire's own format: minutes of it, perhaps."""

        async def work() -> None:
            speech = await asyncio.to_thread(Inbound(form).feed, audio)
            await self._transcribe(item_id, speech, language)

        self._spawn(work(), f"ears {item_id}")

    async def _transcribe(self, item_id: str, speech: Samples, language: str | None) -> None:
        text: list[str] = []
        try:
            pieces = self._parts.ears.transcribe(speech, language=language)
            async with aclosing(pieces):
                async for piece in pieces:
                    text.append(piece)
                    self._post(facts.HeardPiece(item_id, piece))
        except Exception as fault:  # the boundary of this task: the turn goes on without words
            known = isinstance(fault, VivavoceError)
            if not known:
                log.exception("The ears failed")
            message = str(fault) if known else "The ears failed."
            self._post(facts.HearingFailed(item_id, message, self._position()))
            return
        seconds = len(speech) / EAR_RATE
        self._post(facts.HeardAll(item_id, "".join(text), seconds, self._position()))

    # --- Verdicts -------------------------------------------------------------------------

    def judge(self, asked_ms: int, speech: Samples, verdict: Callable[[float, int], None]) -> None:
        self._spawn(self._judge(asked_ms, speech, verdict), "judge")

    async def _judge(
        self, asked_ms: int, speech: Samples, verdict: Callable[[float, int], None]
    ) -> None:
        try:
            probability = await self._parts.judge.finished(speech)
        except Exception:  # the boundary of this task: the longest wait decides
            log.exception("The judge failed")
            return
        verdict(probability, asked_ms)
