"""A server that always asks: nobody can have everything allowed, by session or as a user."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.server.doors import doors, refused


async def test_auto_approve_is_refused_where_the_server_always_asks(tmp_path: Path) -> None:
    async with doors(tmp_path, auto_approve=False) as d:
        error = refused(
            await d.http.post("/session", json={"auto_approve": True}), 403, "forbidden"
        )
        assert "always asks" in error["message"]
        await d.post("/session", {})


async def test_a_command_that_only_reads_is_not_asked_and_another_is(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    given: dict[str, Any] = {
        "agent": "workbench",
        "workspace": tmp_path / "work",
        "auto_approve": False,
    }
    async with doors(tmp_path / "data", **given) as d, asyncio.TaskGroup() as group:
        (tmp_path / "work/note.txt").write_text("x")
        done = await d.http.post("/execute/bash", json={"arguments": {"command": "ls -l | wc -l"}})
        assert "Succeeded" in done.text
        body = {"arguments": {"command": "ls; touch made"}}
        asking = group.create_task(d.http.post("/execute/bash", json=body))
        async with asyncio.timeout(10):
            while not (asked := (await d.get("/approvals"))["approvals"]):
                await asyncio.sleep(0.01)
        assert asked[0]["arguments"]["command"] == "ls; touch made"
        await d.post(f"/approvals/{asked[0]['id']}", {"granted": False})
        assert (await asking).status_code == 403
        assert not (tmp_path / "work/made").exists()
