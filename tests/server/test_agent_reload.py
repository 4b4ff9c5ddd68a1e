"""A running server takes up what changes in its agent's folder, with the next session."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import httpx

from tests.runtime.agents.test_agents_reload import rewrite
from tests.server.doors import Doors, doors, refused
from vivavoce.testing import ScriptedProvider
from vivavoce.testing.realtime.faults import HttpError

FLUX = Path(__file__).resolve().parents[2] / "agents" / "flux"
MORE = """
  - name: submit_mood
    route: GOAL
    description: Hand in how the user feels.
    parameters:
      - {name: mood, required: true}
"""


async def configured(d: Doors) -> dict[str, Any]:
    """What the model of a new session is told."""
    _, call = await d.talk()
    session: dict[str, Any] = next(
        frame["session"] for frame in call.received if frame["type"] == "session.update"
    )
    return session


async def test_a_new_prompt_and_a_new_intent_are_there_for_the_next_session(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "agents" / "flux"
    shutil.copytree(FLUX, folder)
    limits = "limits: {concurrent_sessions: 0}\n"
    rewrite(folder / "agent.yaml", f"name: flux\ntools: []\n{limits}")
    async with doors(tmp_path / "data", agent=str(folder)) as d:
        before = await configured(d)
        assert before["instructions"].startswith("You are Flux")
        assert [tool["name"] for tool in before["tools"]] == [
            "submit_goal_intent",
            "submit_new_task_intent",
            "submit_reschedule_intent",
            "list_things",
            "complete_thing",
            "delete_thing",
            "rename_thing",
            "note_goal",
            "amend_intent",
            "retract_intent",
        ]
        rewrite(folder / "prompt.md", "You are a mood ring.")
        rewrite(folder / "intents.yaml", (folder / "intents.yaml").read_text() + MORE)
        after = await configured(d)
        assert after["instructions"].startswith("You are a mood ring.")
        assert "submit_mood" in [tool["name"] for tool in after["tools"]]
        rewrite(folder / "intents.yaml", "intents: [")
        again = await configured(d)
        assert again["tools"] == after["tools"]


async def test_who_takes_over_is_as_the_file_says_for_the_next_session(tmp_path: Path) -> None:
    folder = tmp_path / "agents" / "flux"
    shutil.copytree(FLUX, folder)
    said = "name: flux\ntools: []\nlimits: {concurrent_sessions: 0}\n"
    rewrite(folder / "agent.yaml", f"{said}fallbacks: []\n")
    async with ScriptedProvider(key="sk-backup-key", models=("other-model",)) as backup:
        others = {"backup": {"url": backup.base_url, "key": backup.key, "model": "other-model"}}
        settings: dict[str, Any] = {"agent": str(folder), "other_providers": others}
        async with doors(tmp_path / "data", fallbacks=None, **settings) as d:
            first, _ = await d.talk()
            refused(await _wish(d, first), 404, "not_found")
            rewrite(folder / "agent.yaml", f"{said}fallbacks: [backup]\n")
            d.provider.inject(HttpError(401))
            opened = await d.post("/session")
            assert opened["provider"] == "backup"
            assert (await d.sdp(opened["client_secret"]["value"])).status_code == 200
            assert [one["name"] for one in (await d.get("/status"))["fallbacks"]] == ["backup"]
            assert (await _wish(d, first)).status_code == 200
            rewrite(folder / "agent.yaml", f"{said}fallbacks: [nobody-we-know]\n")
            await d.post("/session")
            assert [one["name"] for one in (await d.get("/status"))["fallbacks"]] == ["backup"]
            rewrite(folder / "agent.yaml", f"{said}fallbacks: []\n")
            await d.post("/session")
            assert (await d.get("/status"))["fallbacks"] == []
            assert (await d.state(opened["session_id"]))["provider"] == "backup"


async def _wish(d: Doors, session_id: str) -> httpx.Response:
    return await d.http.post(f"/sessions/{session_id}/provider", json={"provider": "backup"})
