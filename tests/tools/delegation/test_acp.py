"""ACP agents as real child processes: what they may, what they tell, and how they end."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

import psutil
import pytest
from acp import RequestError

from tests.tools.delegation.others_stage import Deciding, Ledger, order
from vivavoce.runtime.agents.work import AcpAgent
from vivavoce.runtime.tasks.ports import Done, GaveUp
from vivavoce.tools.delegation.acp import Account, AcpBackend, Bounds, Host
from vivavoce.tools.delegation.window import Window
from vivavoce.tools.workspace.root import Workspace, Workspaces

HERE = Path(__file__).parent


def backend(workspace: Path, script: str, *args: str, bounds: Bounds | None = None) -> AcpBackend:
    agent = AcpAgent(
        type="acp",
        command=sys.executable,
        args=[str(HERE / script), *args],
        env={"MY_KEY": "1"},
    )
    return AcpBackend({"claude": agent}, workspaces=Workspaces(workspace), bounds=bounds)


async def run(at: AcpBackend, listener: Deciding, what: str, ledger: Ledger | None = None) -> Done:
    return await at.run(order("claude", what), (ledger or Ledger()).context(listener))


async def gone(pid: int) -> None:
    """It was killed: the kernel may take a moment."""
    async with asyncio.timeout(10):
        while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
            await asyncio.sleep(0.01)


async def test_an_agent_plans_asks_reads_and_writes_only_what_it_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUR_SECRET", "x")
    (tmp_path / "notes.txt").write_text("one\ntwo\nthree\n")
    listener = Deciding(refuse=frozenset({"delete_file"}))
    done = await run(backend(tmp_path, "acp_agent.py"), listener, "build it")
    # Yes was for once, never for always; no was no; the environment has what was named.
    assert done.summary == ("two once once no cancelled ['-32602', '-32602', '-32601'] ['MY_KEY']")
    assert done.files_changed == ("edited.py", "made.py")
    assert (tmp_path / "made.py").read_text() == "print(1)\n"
    assert listener.progress == [
        ("Read the notes", "claude"),
        ("Run the tests", "claude"),
        ("Edit edited.py", "claude"),
    ]
    assert [(tool, given) for tool, given, _ in listener.asked_for] == [
        ("bash", {"command": "pytest -q"}),
        ("edit_file", {"path": "edited.py"}),
        ("delete_file", {"path": "edited.py"}),
        ("bash", {"command": "make"}),
        ("write_file", {"path": "made.py", "content": "print(1)\n"}),
        ("write_file", {"path": "/etc/made", "content": "x"}),
    ]
    assert listener.asked_for[0][2] == "claude: Running the tests"


async def test_a_cancelled_agent_ends_with_all_it_started_and_goes_on_when_it_is_wanted_again(
    tmp_path: Path,
) -> None:
    listener, ledger = Deciding(unanswered=frozenset({"bash"})), Ledger()
    at = backend(tmp_path, "acp_agent.py")
    async with asyncio.TaskGroup() as group:
        running = group.create_task(run(at, listener, "hang", ledger))
        await listener.until(lambda: listener.progress and listener.asked_for)
        running.cancel()
    found = re.search(r"\d+", listener.progress[0][0])
    assert found is not None
    await gone(int(found[0]))
    # It was told, and the question it was waiting for was taken back.
    assert (tmp_path / "stopped").read_text() == "cancelled"

    done = await run(at, listener, "hang", ledger)
    assert done == Done(summary="I went on, and it is finished.", files_changed=("early.py",))
    again = await run(
        AcpBackend(at._agents, workspaces=Workspaces(tmp_path / "gone")), listener, "", ledger
    )
    assert again == done  # what is finished needs no process


async def test_an_agent_that_fails_says_why(tmp_path: Path) -> None:
    for how, error in [
        ("version", "speaks version 99 of ACP"),
        ("auth", "is not logged in"),
        ("refusal", "refused to do it"),
        ("tokens", "ran out of room"),
        ("crash", "ended unexpectedly, with code 3"),
        ("fails", "failed: The model is away"),
    ]:
        with pytest.raises(GaveUp, match=re.escape(error)):
            await run(backend(tmp_path, "acp_odd.py", how), Deciding(), "do it")


async def test_what_is_hidden_or_could_not_be_shown_whole_is_refused_without_a_question(
    tmp_path: Path,
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "vivavoce.db").write_text("ours")
    listener = Deciding()
    window = Window(Ledger().context(listener))
    room = Workspace(tmp_path, hidden=(tmp_path / "data",))
    host = Host("claude", room, window, Account(lambda *_: None, str))
    async with window.open():
        with pytest.raises(RequestError) as refused:
            await host.read_text_file("s", "data/vivavoce.db")
        assert "not for tools" in str(refused.value.data)
        with pytest.raises(RequestError):
            await host.write_text_file("s", "big.txt", "x" * 1_000_001)
    assert listener.asked_for == []
    with pytest.raises(RequestError):  # nobody is at the context any more
        await host.write_text_file("s", "late.txt", "x")
    assert [each.name for each in tmp_path.iterdir()] == ["data"]


async def test_what_is_not_understood_is_left_out(tmp_path: Path) -> None:
    done = await run(backend(tmp_path, "acp_odd.py", "noise"), Deciding(), "do it")
    assert done == Done(summary="Well.")


async def test_an_agent_that_does_not_answer_is_given_up(tmp_path: Path) -> None:
    agent = AcpAgent(type="acp", command="sleep", args=["60"])
    bounds = Bounds(start_seconds=0.2)
    at = AcpBackend({"claude": agent}, workspaces=Workspaces(tmp_path), bounds=bounds)
    with pytest.raises(GaveUp, match="did not start in time"):
        await run(at, Deciding(), "do it")


def test_an_agent_whose_command_is_missing_is_listed_with_the_reason(tmp_path: Path) -> None:
    agent = AcpAgent(type="acp", command="no-such-agent", description="Codes")
    (card,) = AcpBackend({"codex": agent}, workspaces=Workspaces(tmp_path)).agents()
    assert (card.name, card.description, card.backend) == ("codex", "Codes", "acp")
    assert not card.available
    assert card.why_not == "there is no command no-such-agent here"


def test_a_change_that_failed_is_no_change() -> None:
    account = Account(lambda *_: None, lambda path: path)
    diff = {"type": "diff", "path": "a.py", "newText": ""}
    call = {"sessionUpdate": "tool_call", "toolCallId": "1", "kind": "edit", "content": [diff]}
    account.update(call)
    account.update({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "failed"})
    assert account.files == []


async def test_no_program_of_the_workspace_is_an_agent_or_is_taken_for_one(tmp_path: Path) -> None:
    """A launcher such as npx takes a program from the folder it is started in."""
    workspace = tmp_path / "work"
    planted = workspace / "node_modules/.bin/agent"
    planted.parent.mkdir(parents=True)
    planted.write_text(f"#!/bin/sh\ntouch {tmp_path}/owned\n")
    planted.chmod(0o755)
    launcher = AcpAgent(type="acp", command="sh", args=["-c", "node_modules/.bin/agent"])
    by_name = AcpAgent(type="acp", command="agent", env={"PATH": str(planted.parent)})
    by_path = AcpAgent(type="acp", command=str(planted))
    for agent in (launcher, by_name, by_path):
        at = AcpBackend({"claude": agent}, workspaces=Workspaces(workspace))
        with pytest.raises(GaveUp):
            await run(at, Deciding(), "do it")
    assert not (tmp_path / "owned").exists()
