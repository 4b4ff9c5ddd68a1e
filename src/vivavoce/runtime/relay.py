"""What arrives at one server and is another's to do: it is asked there, through the database, and
the answer is given here as if it were our own. Where the other does not answer in time, whoever
asked is told its name.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Any

import orjson

from vivavoce.errors import InternalError, OwnedElsewhere, VivavoceError
from vivavoce.runtime.ports import Asked, Leases
from vivavoce.wire.records.talk import new_id

log = logging.getLogger(__name__)

PATIENCE = 5.0  # seconds for an answer; beyond what the question itself takes
LOOK_SECONDS = 0.2
MOST = 50  # questions of others at work at once
_ANSWER_SECONDS = 0.05

Json = dict[str, Any]
Do = Callable[[str, Json, str], Awaitable[tuple[Json, str]]]
"""For this user, with what is given and what is plain; the answer, and what is plain in it."""


class Relay:
    def __init__(self, store: Leases) -> None:
        self._store = store
        self._doing: dict[str, Do] = {}
        self._at_work: set[str] = set()

    def serve(self, what: str, do: Do) -> None:
        """How this server answers such questions of others."""
        self._doing[what] = do

    async def held(self, owner: str | None, epoch: int | None) -> bool:
        """Does another server, which is there, look after it?"""
        return await self._store.is_held(owner, epoch)

    async def others(self) -> list[tuple[str, int]]:
        """Every other server that is there."""
        seen = [(one.name, one.epoch) for one in await self._store.instances() if one.lease_until]
        return [one for one in seen if await self._store.is_held(*one)]

    async def tell(self, what: str, of: tuple[str, int], user_id: str, given: Json) -> None:
        """As `ask`, and nobody waits for what comes of it."""
        owner, epoch = of
        text = orjson.dumps(given).decode()
        await self._store.ask(Asked(new_id(), user_id, owner, epoch, what, text))

    async def ask(
        self,
        what: str,
        of: tuple[str | None, int | None],
        user_id: str,
        given: Json,
        *,
        plain: str = "",
        wait: float = 0.0,
    ) -> tuple[Json, str]:
        """Raises what the other one raised, and `OwnedElsewhere` where it says nothing."""
        owner, epoch = of
        assert owner is not None
        assert epoch is not None
        text = orjson.dumps(given).decode()
        asked = Asked(new_id(), user_id, owner, epoch, what, text, plain)
        await self._store.ask(asked)
        try:
            async with asyncio.timeout(wait + PATIENCE):
                found = await self._answer_to(asked)
        except TimeoutError:
            await self._store.drop_ask(asked.id)
            raise elsewhere(owner) from None
        answer: Json = orjson.loads(found.answer or "{}")
        if (fault := answer.get("fault")) is not None:
            raise _raised(fault)
        return answer["done"], found.plain

    async def _answer_to(self, asked: Asked) -> Asked:
        while True:
            if (found := await self._store.take_answer(asked.id)) is not None:
                return found
            await asyncio.sleep(_ANSWER_SECONDS)

    async def run(self) -> None:
        """Answers others until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                await asyncio.sleep(LOOK_SECONDS)
                with suppress(VivavoceError):  # we look again in a moment
                    for asked in await self._store.asked():
                        if asked.id not in self._at_work and len(self._at_work) < MOST:
                            self._at_work.add(asked.id)
                            group.create_task(self._answer(asked), name=f"asked {asked.what}")

    async def _answer(self, asked: Asked) -> None:
        plain = ""
        answer: Json
        try:
            do = self._doing[asked.what]
            done, plain = await do(asked.user_id, orjson.loads(asked.given), asked.plain)
            answer = {"done": done}
        except VivavoceError as fault:
            told = {"message": fault.message, "details": fault.details}
            answer = {"fault": {"kind": type(fault).__name__, **told}}
        except Exception:  # the boundary of one question: another server waits for an answer
            log.exception("What another server asked could not be done")
            answer = {"fault": {"kind": "", "message": "It failed there.", "details": {}}}
        with suppress(VivavoceError):  # whoever asked is told who we are, and may ask us
            await self._store.answer(asked.id, orjson.dumps(answer, default=str).decode(), plain)
        self._at_work.discard(asked.id)


def elsewhere(owner: str) -> OwnedElsewhere:
    return OwnedElsewhere(
        f"The server '{owner}' looks after this, and does not answer now.",
        owner=owner,
        retry_after_ms=2000,
    )


def _raised(fault: Json) -> VivavoceError:
    """As it was raised there."""
    kinds = {kind.__name__: kind for kind in _below(VivavoceError)}
    kind = kinds.get(str(fault["kind"]), InternalError)
    return kind(str(fault["message"]), **fault["details"])


def _below(kind: type[VivavoceError]) -> Iterator[type[VivavoceError]]:
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)
