"""A2A agents over real HTTP: how a remote task goes, and what a restart does to it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator

import pytest

from tests.tools.delegation.a2a_agent import Remote, serving
from tests.tools.delegation.others_stage import Deciding, Ledger, order
from vivavoce.runtime.agents.work import A2aAgent
from vivavoce.runtime.tasks.ports import GOES_ON, Done, GaveUp
from vivavoce.tools.delegation.a2a.backend import A2aBackend
from vivavoce.tools.delegation.a2a.words import Bounds, origin

QUICK = Bounds(poll_seconds=0.02, retries=2)


@pytest.fixture(scope="module")
def far() -> Iterator[tuple[Remote, str]]:
    remote = Remote()
    with serving(remote) as base:
        yield remote, base


@pytest.fixture
def remote(far: tuple[Remote, str]) -> Remote:
    for kept in (far[0].started, far[0].messages, far[0].cancelled, far[0].keys):
        kept.clear()
    far[0].go.clear()
    return far[0]


@pytest.fixture
def base(far: tuple[Remote, str]) -> str:
    return far[1]


async def run(
    url: str, what: str, listener: Deciding | None = None, ledger: Ledger | None = None
) -> Done:
    agent = A2aAgent(type="a2a", url=url, headers={"X-Key": "k1"})
    backend = A2aBackend({"remote": agent}, bounds=QUICK)
    context = (ledger or Ledger()).context(listener or Deciding())
    return await backend.run(order("remote", what), context)


@pytest.mark.parametrize("path", ["/live", "/slow", "/live/.well-known/agent-card.json"])
async def test_a_remote_agent_works_asks_and_delivers(remote: Remote, base: str, path: str) -> None:
    listener, ledger = Deciding(), Ledger(answers={"task_1:3": "GraphQL"})
    done = await run(base + path, "ask me", listener, ledger)
    assert done == Done(summary="Built with GraphQL.")
    if "slow" not in path:
        assert ("Looking around", "remote") in listener.progress
    assert len(remote.started) == 1
    assert remote.messages == ["task_1-1", "task_1-2"]
    assert remote.keys == {"k1"}
    # Everything is noted: nothing is asked of the remote agent again.
    assert await run("http://127.0.0.1:9", "ask me", Deciding(), ledger) == done


async def test_an_agent_may_just_answer(remote: Remote, base: str) -> None:
    assert await run(f"{base}/live", "hello") == Done(summary="Hello yourself.")


async def test_what_goes_wrong_is_told(remote: Remote, base: str) -> None:
    for path, what, error, hint in [
        ("/live", "fail", "The agent remote failed: No disk left", ""),
        ("/slow", "reject", "The agent remote did not take the task: Not my job", ""),
        ("/live", "auth", "The agent remote needs to be let in first", "Give remote access"),
        ("/astray", "do", "its card points to http://127.0.0.2:1, not to", "See whether"),
        ("/huge", "do", "it sent more than", "See whether"),
        ("/nowhere", "do", "could not be asked", "See whether"),
        ("http://127.0.0.1:1", "do", "could not be asked", "See whether"),
    ]:
        with pytest.raises(GaveUp, match=re.escape(error)) as fault:
            await run(path if "://" in path else base + path, what)
        assert "".join(fault.value.suggestions).startswith(hint), path


async def test_a_cancelled_task_is_cancelled_there_too(remote: Remote, base: str) -> None:
    listener = Deciding()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(run(f"{base}/live", "wait", listener))
        await listener.until(lambda: listener.progress)
        running.cancel()
    assert len(remote.cancelled) == 1


@pytest.mark.parametrize("path", ["/live", "/slow"])
async def test_after_a_restart_the_same_remote_task_is_followed(
    remote: Remote, base: str, path: str
) -> None:
    listener, ledger = Deciding(), Ledger()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(run(base + path, "wait", listener, ledger))
        await listener.until(lambda: listener.progress)
        running.cancel(GOES_ON)
    assert not remote.cancelled
    remote.go.set()
    done = await run(base + path, "wait", listener, ledger)
    assert done == Done(summary="Waited long enough.")
    assert len(remote.started) == 1


async def test_a_task_that_was_stopped_meanwhile_is_begun_again(remote: Remote, base: str) -> None:
    listener, ledger = Deciding(), Ledger()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(run(f"{base}/live", "wait", listener, ledger))
        await listener.until(lambda: listener.progress)
        running.cancel()
    remote.go.set()
    done = await run(f"{base}/live", "wait", listener, ledger)
    assert done == Done(summary="Waited long enough.")
    assert "Look at what is done already" in remote.started[1]


def test_an_origin_is_a_scheme_a_host_and_a_port() -> None:
    assert origin("https://Agent.Example/a?b") == "https://agent.example:443"
    assert origin("http://[::1]:8080/") == "http://[::1]:8080"


def test_a_remote_agent_is_listed_without_being_asked() -> None:
    agent = A2aAgent(type="a2a", url="http://10.0.0.1/agent")
    (card,) = A2aBackend({"far:away": agent}).agents()
    assert (card.name, card.available) == ("far:away", True)
    assert card.description == "A remote agent at http://10.0.0.1:80"
