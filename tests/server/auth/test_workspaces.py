"""Two users of one server, through its doors: files, commands and memories are each their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.server.doors import Doors, doors
from tests.server.tokens import ADA, EVE, SETTINGS, bearer
from tests.server.v1 import client as v1

NOTE = "marigold"


async def _execute(d: Doors, tool: str, **arguments: Any) -> str:
    answer = await d.http.post(f"/execute/{tool}", json={"arguments": arguments})
    return answer.text


async def test_files_and_memories_are_each_their_own(tmp_path: Path) -> None:
    workspace = tmp_path / "work"
    workspace.mkdir()
    given = {**SETTINGS, "agent": "workbench", "workspace": workspace}
    async with doors(tmp_path / "data", **given) as d:
        d.http.headers.update(bearer(ADA, "developer"))
        wrote = await _execute(d, "write_file", path="DISCOVERIES.md", content=NOTE)
        assert "Wrote 8 characters" in wrote
        assert (workspace / ADA / "DISCOVERIES.md").read_text() == NOTE
        assert NOTE in await _instructions(d)
        d.http.headers.update(bearer(EVE, "developer"))
        path = f"../{ADA}/DISCOVERIES.md"
        for asked in (path, "DISCOVERIES.md", str(workspace / ADA / "DISCOVERIES.md")):
            assert NOTE not in await _execute(d, "read_file", path=asked)
        assert NOTE not in await _execute(d, "grep", pattern="mari")
        assert "DISCOVERIES" not in await _execute(d, "glob", pattern="**/*")
        told = await _instructions(d)
        assert NOTE not in told
        assert str(workspace / EVE) in told
        assert ADA not in told


async def _instructions(d: Doors) -> str:
    """What the model is told at the beginning of a call."""
    opened = await d.post(v1.SESSIONS, {})
    response = await v1.sdp(d, opened["session_id"], opened["ephemeral_key"])
    assert response.status_code == 200, response.text
    call = await d.provider.next_call()
    update = await call.expect("session.update")
    return str(update["session"]["instructions"])
