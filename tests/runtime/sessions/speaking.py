"""A server with an agent whose limits a test chooses, and its `Voice`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.offers import OFFER
from tests.server.doors import Doors, doors
from vivavoce.runtime.ports import Store
from vivavoce.runtime.sessions.voice import Opened, Voice
from vivavoce.testing import ScriptedCall
from vivavoce.wire.records.talk import Status


def agent_folder(folder: Path, **said: Any) -> str:
    place = folder / "agents" / "tester"
    place.mkdir(parents=True, exist_ok=True)
    (place / "agent.yaml").write_text(yaml.safe_dump({"name": "tester", **said}))
    (place / "prompt.md").write_text("Be brief.\n")
    return str(place)


@asynccontextmanager
async def speaking(
    folder: Path,
    *,
    limits: dict[str, Any] | None = None,
    agent: dict[str, Any] | None = None,
    **more: Any,
) -> AsyncIterator[tuple[Doors, Voice]]:
    chosen = agent_folder(folder, limits=limits or {}, **(agent or {}))
    async with doors(folder, agent=chosen, **more) as d:
        yield d, d.here.voice


async def call(d: Doors, opened: Opened, user: str = "ada") -> ScriptedCall:
    """The session's call, configured."""
    await d.here.voice.connector.sdp(opened.session.id, user, OFFER)
    made = await d.provider.next_call()
    await made.expect("session.update")
    return made


async def statuses(store: Store, user: str = "ada") -> list[tuple[Status, bool]]:
    """Of all sessions, newest first: how they are, and whether they count."""
    found = await store.sessions(user_id=user, limit=50)
    return [(one.session.status, one.session.counted) for one in found]
