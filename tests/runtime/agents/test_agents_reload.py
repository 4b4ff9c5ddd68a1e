"""A folder that changes is read again for the next session; one with mistakes changes nothing."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from tests.runtime.agents.test_agents import folder
from vivavoce.runtime.agents.agent import Agent, AgentError, load_agent
from vivavoce.runtime.agents.source import AgentSource
from vivavoce.runtime.ports import Capabilities
from vivavoce.runtime.sessions.profile import Defaults, Profile
from vivavoce.tools.registry import Registry


@dataclass(frozen=True)
class Book:
    tool_names: tuple[str, ...]


def names(made: Path) -> Book:
    """Intents for a test: a name a line, and "bad" is a mistake."""
    file = made / "intents.yaml"
    lines = file.read_text().split() if file.exists() else []
    if "bad" in lines:
        raise AgentError([f"{file}:{lines.index('bad') + 1}: bad"])
    return Book(tuple(lines))


def source(made: Path) -> AgentSource[Book]:
    return AgentSource(partial(load_agent, made), names, folder=made)


def rewrite(file: Path, text: str, after: list[int] = [10**9]) -> None:  # noqa: B006
    """Every change has a time of its own, however coarse the file system's clock is."""
    file.write_text(text)
    after[0] += 10**9
    os.utime(file, ns=(after[0], after[0]))


async def test_a_change_is_there_for_the_next_session(tmp_path: Path) -> None:
    made = folder(tmp_path)
    agents = source(made)
    profile = Profile(agents, Defaults(), Capabilities(8_000, 60.0, ()), Registry())
    heard: list[str] = []
    agents.listen(lambda: heard.append(agents.current.voice))
    assert not await agents.refresh()
    rewrite(made / "prompt.md", "Be short.")
    rewrite(made / "agent.yaml", "name: mine\nvoice: ash\n")
    rewrite(made / "intents.yaml", "submit_it")
    await profile.refresh()
    assert (profile.agent.prompt, profile.agent.voice) == ("Be short.", "ash")
    assert profile.agent.intents == agents.intents.tool_names == ("submit_it",)
    assert heard == ["ash"]
    assert not await agents.refresh()


@pytest.mark.parametrize(
    ("file", "text"),
    [("agent.yaml", "name: mine\nvoise: x\n"), ("prompt.md", " "), ("intents.yaml", "bad")],
)
async def test_a_change_with_a_mistake_keeps_the_last_good_agent_and_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, file: str, text: str
) -> None:
    made = folder(tmp_path)
    agents = source(made)
    before = agents.current
    rewrite(made / file, text)
    assert not await agents.refresh()
    assert not await agents.refresh()
    assert agents.current is before
    [told] = [record.getMessage() for record in caplog.records]
    assert told.startswith(f"The agent stays as it was: {made / file}:")
    rewrite(made / "agent.yaml", "name: mine\nvoice: ash\n")
    rewrite(made / "prompt.md", "Fine again.")
    rewrite(made / "intents.yaml", "")
    assert await agents.refresh()
    assert agents.current.prompt == "Fine again."


async def test_a_folder_that_is_gone_keeps_its_agent(tmp_path: Path) -> None:
    made = folder(tmp_path)
    agents = source(made)
    (made / "agent.yaml").unlink()
    assert not await agents.refresh()
    assert agents.current.name == "mine"


async def test_what_takes_a_restart_stays_and_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = folder(tmp_path)
    agents = source(made)
    before = agents.current
    said = "name: other\nvoice: ash\napproval: {changes: allow}\nmcp: {x: {command: y}}\n"
    rewrite(made / "agent.yaml", said)
    assert await agents.refresh()
    assert agents.current.voice == "ash"
    assert (agents.current.name, agents.current.mcp) == (before.name, {})
    assert agents.current.approval == before.approval
    assert "Takes effect after a restart: name, mcp, approval" in caplog.text


async def test_a_new_agent_is_looked_at_as_the_first_one_was(tmp_path: Path) -> None:
    made = folder(tmp_path)
    agents = source(made)

    def no_kermit(agent: Agent, intents: Book) -> None:
        if agent.voice == "kermit":
            raise AgentError(["there is no voice 'kermit'"])

    agents.check(no_kermit)
    rewrite(made / "agent.yaml", "name: mine\nvoice: kermit\n")
    assert not await agents.refresh()
    assert agents.current.voice == "marin"
    rewrite(made / "agent.yaml", "name: mine\nvoice: ash\n")
    assert await agents.refresh()


def test_a_folder_with_mistakes_does_not_begin(tmp_path: Path) -> None:
    made = folder(tmp_path, "name: mine\nvoise: x\n")
    (made / "intents.yaml").write_text("bad")
    with pytest.raises(AgentError) as caught:
        source(made)
    assert len(caught.value.problems) == 2
