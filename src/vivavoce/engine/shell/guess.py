"""What the user may have said, and what would be answered: made ready, and held back.

A guess begins at the first silence. Its words are taken if the turn ends
there; its answer, if the question turns out to be the same. Until then
nobody knows of either.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

from vivavoce.engine.ports import Ears, Samples, Transcript
from vivavoce.engine.shell.answerer import Answerer
from vivavoce.engine.shell.hearing import written
from vivavoce.engine.turn.orders import Answer
from vivavoce.errors import VivavoceError

log = logging.getLogger(__name__)


class Guess:
    """`run` is one task; cancelling it throws everything away."""

    def __init__(
        self,
        item_id: str,
        foresee: Callable[[str, Transcript], Answer | None],
        answerer: Callable[[Answer], Answerer],
    ) -> None:
        self.item_id = item_id
        self.answerer: Answerer | None = None
        self._foresee, self._make = foresee, answerer
        self._order: Answer | None = None
        self._heard: Transcript | None = None
        self._listened = asyncio.Event()

    async def run(
        self,
        ears: Ears,
        speech: Samples,
        language: str | None,
        hint: str,
        keywords: Sequence[str] = (),
    ) -> None:
        try:
            heard = await ears.transcribe(speech, language=language, hint=hint, keywords=keywords)
            self._heard = written(heard)
        except VivavoceError as fault:
            log.debug("A guess at what was said failed: %s", fault)
        except Exception:  # the boundary of this task: whoever needs the words asks again
            log.exception("A guess at what was said failed")
        finally:
            self._listened.set()
        # Where the turn is over by now the words go the usual way: nothing is foreseen any more.
        if self._heard is None:
            return
        self._order = self._foresee(self.item_id, self._heard)
        if self._order is not None:
            self.answerer = self._make(self._order)
            await self.answerer.run()

    def dropped(self) -> None:
        """Nothing comes of it any more, even if it never began."""
        self._listened.set()

    async def words(self) -> Transcript | None:
        """None where the ears failed, or the guess was dropped: whoever needs them asks again."""
        await self._listened.wait()
        return self._heard

    def fits(self, order: Answer) -> bool:
        """Is this the question that was foreseen, and did the answer to it get anywhere?"""
        if self._order is None or self.answerer is None or self.answerer.failed:
            return False
        return replace(order, response_id=self._order.response_id) == self._order
