"""Whatever one server does, the rest goes on: real processes that misbehave."""

from __future__ import annotations

import asyncio
import os
import signal

import psutil
import pytest

from tests.tools.mcp.support import QUICK, User, house, raw, until
from vivavoce.errors import OutcomeUnknown, ToolTimeout, Unavailable
from vivavoce.runtime.agents.mcp import McpServer
from vivavoce.runtime.ports import ToolContext, ToolDefinition
from vivavoce.tools import Registry
from vivavoce.tools.mcp import Patience


@pytest.mark.full
async def test_bad_servers_of_every_kind_leave_the_good_one_alone() -> None:
    bad = ["crash", "hang", "endless", "flood"]
    missing = McpServer(name="missing", command="/no/such/program")
    refused = McpServer(name="refused", url="http://127.0.0.1:9/mcp")
    patience = Patience(start=1.5, first_pause=0.1, longest_pause=60, tries=1)
    configs = [*map(raw, bad), missing, refused, raw("fine"), raw("garbage")]
    async with house(*configs, patience=patience) as here:
        await here.ready("fine", "garbage")
        for name in ("fine", "garbage"):
            assert (await here.run(f"{name}_echo", text="hello")).text == "hello"
        for name in (*bad, "missing", "refused"):
            await here.comes_to(name, "failed")
            assert here.status(name).tools == 0
        told = {name: here.status(name).problems[0] for name in (*bad, "missing", "refused")}
        assert "I cannot find my configuration" in told["crash"]
        assert "gives no answer" in told["hang"]
        assert "a line longer than" in told["endless"]
        assert "more than anyone can read" in told["flood"]
        assert "cannot be started" in told["missing"]
        assert "ConnectError" in told["refused"]
        assert here.status("fine").restarts == here.status("garbage").restarts == 0
        assert (await here.run("fine_echo", text="still here")).text == "still here"
    assert here.names() == []


async def test_one_bad_tool_does_not_cost_the_others_of_its_server() -> None:
    async with house(raw("broken")) as here:
        await here.ready("broken")
        assert here.names() == ["broken_regular", "broken_wrong_output"]
        problems = "\n".join(here.status("broken").problems)
        for name in ("no_schema", "no_object", "no_type", "fetches", "bomb", "huge"):
            assert f"'{name}'" in problems
        # A stranger's regular expression is never run by us, but one may be called that.
        schema = here.registry.definition("broken_regular").parameters
        assert schema["properties"] == {"pattern": {"type": "string"}}
        assert (await here.run("broken_wrong_output")).text == "fine all the same"


async def test_of_thousands_of_tools_a_hundred_are_taken_and_the_rest_is_told() -> None:
    async with house(raw("thousands")) as here:
        await here.ready("thousands")
        assert here.status("thousands").tools == 100
        assert "more than 100 tools" in here.status("thousands").problems[0]


async def test_names_are_cut_and_made_unique_and_never_take_anothers() -> None:
    async def mine(arguments: object, context: ToolContext) -> str:
        return "mine"

    registry = Registry()
    registry.register(ToolDefinition("collide_time", "Ours.", {"type": "object"}), mine)
    async with house(raw("collide"), registry=registry) as here:
        await here.ready("collide")
        names = here.names()
        assert len(names) == len(set(names)) == 6
        assert all(len(name) <= 64 for name in names)
        assert "collide_a_b" in names
        assert await registry.run("collide_time", {}, User().context) == "mine"
    assert here.names() == ["collide_time"]


async def test_a_server_that_dies_of_the_newer_greeting_gets_the_older_one() -> None:
    async with house(raw("picky", legacy=False)) as here:
        await here.ready("picky")
        assert here.status("picky").protocol == "2025-06-18"
        assert here.status("picky").restarts == 1


async def test_a_killed_server_comes_back_and_its_tools_say_so_meanwhile() -> None:
    slow = Patience(first_pause=0.3, longest_pause=0.3)
    async with house(raw("fine"), patience=slow) as here:
        await here.ready("fine")
        first = here.status("fine").pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        await until(lambda: here.status("fine").state == "restarting", here.servers)
        assert "fine_echo" in here.names()
        with pytest.raises(Unavailable, match="is restarting"):
            await here.run("fine_echo", text="anyone?")
        await here.ready("fine")
        assert here.status("fine").pid not in (None, first)
        assert (await here.run("fine_echo", text="back")).text == "back"


async def test_that_a_tool_only_reads_is_believed_of_a_server_that_is_trusted() -> None:
    async with house(raw("fine"), raw("fine", "known", trust=True)) as here:
        await here.ready("fine")
        await here.ready("known")
        assert here.registry.definition("fine_die").changes
        assert not here.registry.definition("known_die").changes
        assert here.registry.definition("known_die_changing").changes


async def test_a_call_cut_short_is_unknown_if_it_may_have_changed_something() -> None:
    async with house(raw("fine", trust=True)) as here:
        await here.ready("fine")
        assert here.registry.definition("fine_die_changing").changes
        assert not here.registry.definition("fine_die").changes
        with pytest.raises(OutcomeUnknown, match="look whether"):
            await here.run("fine_die_changing")
        await until(lambda: here.status("fine").restarts == 1, here.servers)
        await here.ready("fine")
        with pytest.raises(Unavailable, match="is restarting"):
            await here.run("fine_die")


async def test_a_call_without_an_answer_times_out_and_the_server_stays() -> None:
    async with house(raw("fine", timeout=0.2)) as here:
        await here.ready("fine")
        with pytest.raises(ToolTimeout):
            await here.run("fine_sleep")
        assert (await here.run("fine_echo", text="next")).text == "next"
        assert here.status("fine").restarts == 0


async def test_a_server_sees_nothing_of_our_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    monkeypatch.setenv("VIVAVOCE_AUTH_TOKEN", "also-secret")
    config = raw("fine")
    named = McpServer(name="fine", command=config.command, args=config.args, env={"MY_KEY": "1"})
    async with house(named) as here:
        await here.ready("fine")
        text = (await here.run("fine_environment")).text
        assert "secret" not in text
        assert '"MY_KEY": "1"' in text


async def test_a_server_ends_with_everything_it_started() -> None:
    async with house(raw("fine")) as here:
        await here.ready("fine")
        text = (await here.run("fine_spawn")).text
        family = [psutil.Process(int(pid)) for pid in text.split()]
        leader = psutil.Process(here.status("fine").pid or 0)
        assert os.getsid(leader.pid) == leader.pid != os.getsid(0)
    _, alive = await asyncio.to_thread(psutil.wait_procs, [leader, *family], timeout=10)
    assert not [one for one in alive if one.status() != psutil.STATUS_ZOMBIE]


async def test_what_a_dead_server_left_behind_is_ended_too() -> None:
    async with house(raw("fine"), patience=QUICK) as here:
        await here.ready("fine")
        text = (await here.run("fine_spawn")).text
        family = [psutil.Process(int(pid)) for pid in text.split()]
        leader = here.status("fine").pid
        assert leader is not None
        os.kill(leader, signal.SIGKILL)
        await until(lambda: here.status("fine").restarts == 1, here.servers)
        _, alive = await asyncio.to_thread(psutil.wait_procs, family, timeout=10)
        assert not [one for one in alive if one.status() != psutil.STATUS_ZOMBIE]


async def test_running_ends_at_once_while_servers_are_still_being_started() -> None:
    async with house(raw("hang"), raw("endless", "loud")) as here:
        await until(lambda: all(s.pid for s in here.servers.status()), here.servers)
        assert {status.state for status in here.servers.status()} == {"connecting"}
    assert {status.state for status in here.servers.status()} == {"ended"}
