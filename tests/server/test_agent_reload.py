"""A running server takes up what changes in its agent's folder, with the next session."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from tests.runtime.agents.test_agents_reload import rewrite
from tests.server.doors import Doors, doors

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
