"""An agent that has a greeting speaks first."""

from __future__ import annotations

from pathlib import Path

from tests.journeys.stage import stage


def agent(folder: Path, greeting: str) -> Path:
    folder.mkdir()
    (folder / "agent.yaml").write_text(f"name: host\ngreeting: {greeting}\n")
    (folder / "prompt.md").write_text("You are a host.")
    return folder


async def test_the_greeting_of_the_agent_is_asked_for_when_the_call_is_ready(
    tmp_path: Path,
) -> None:
    folder = agent(tmp_path / "host", "Say hello in one sentence")
    async with stage(tmp_path, agent=str(folder)) as st:
        _, call, _ = await st.talk()
        wanted = await call.expect("response.create")
        words = wanted["response"]["instructions"]
        assert words.startswith("You are a host.")
        assert words.endswith("\n\nSay hello in one sentence")


async def test_an_agent_without_a_greeting_waits_for_the_user(tmp_path: Path) -> None:
    async with stage(tmp_path) as st:
        _, call, watcher = await st.talk()
        await call.user_says("Hello")
        await watcher.wait_for("transcription.completed")
        assert "response.create" not in [frame["type"] for frame in call.received]
