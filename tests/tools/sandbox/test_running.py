from __future__ import annotations

import asyncio
import contextlib

import pytest

from tests.tools.sandbox.kinds import KINDS, made
from tests.tools.sandbox.world import a_world, outlived
from vivavoce.processes.bounded import Limits


@pytest.mark.parametrize("kind", KINDS)
async def test_a_command_tells_how_it_ended(kind: str) -> None:
    async with a_world() as world:
        done = await made(kind, world).run("echo out; echo err >&2; exit 3", cwd=world.workspace)
        assert (done.exit_code, done.killed_for, done.truncated) == (3, None, False)
        assert sorted(done.output.split()) == ["err", "out"]


@pytest.mark.parametrize("kind", KINDS)
async def test_cancelling_leaves_nothing_behind(kind: str) -> None:
    async with a_world() as world:
        begun = asyncio.Event()

        async def heard(text: str) -> None:
            begun.set()

        nap = f"sleep {world.names['nap']}"
        command = f"(setsid {nap} &); trap '' TERM; echo started; {nap}"
        async with asyncio.TaskGroup() as group:
            running = group.create_task(
                made(kind, world).run(command, cwd=world.workspace, on_output=heard)
            )
            await begun.wait()
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running
        assert await outlived(nap) == []


@pytest.mark.parametrize("kind", KINDS)
async def test_what_a_command_leaves_running_ends_with_it(kind: str) -> None:
    async with a_world() as world:
        nap = f"sleep {world.names['nap']}"
        command = f"setsid nohup {nap} > /dev/null 2>&1 & disown; echo gone"
        done = await made(kind, world).run(command, cwd=world.workspace)
        assert done.output == "gone\n"
        assert await outlived(nap) == []


async def test_cancelling_before_it_began_leaves_nothing_behind() -> None:
    async with a_world() as world:
        sandbox = made("bubblewrap", world)
        nap = f"sleep {world.names['nap']}"
        for rounds in range(8):
            async with asyncio.TaskGroup() as group:
                running = group.create_task(sandbox.run(nap, cwd=world.workspace))
                await asyncio.sleep(rounds / 1000)  # somewhere in its first moments
                running.cancel()
        assert await outlived(nap) == []


async def test_output_comes_while_the_command_runs() -> None:
    async with a_world() as world:
        heard: list[str] = []
        answered = world.workspace / "answered"

        async def hear(text: str) -> None:
            heard.append(text)
            answered.touch()

        command = "echo first; until [ -e answered ]; do sleep 0.01; done; echo second"
        done = await made("bubblewrap", world).run(command, cwd=world.workspace, on_output=hear)
        assert done.exit_code == 0
        assert "".join(heard) == done.output == "first\nsecond\n"


async def test_a_letter_cut_in_two_is_heard_whole() -> None:
    async with a_world() as world:
        heard: list[str] = []

        async def hear(text: str) -> None:
            heard.append(text)

        command = "printf '\\xc3'; sleep 0.1; printf '\\xa9'"
        await made("bubblewrap", world).run(command, cwd=world.workspace, on_output=hear)
        assert "".join(heard) == "é"


async def test_long_output_keeps_its_ends() -> None:
    async with a_world() as world:
        done = await made("bubblewrap", world).run(
            "seq 1 20000", cwd=world.workspace, limits=Limits(output=200)
        )
        assert done.truncated
        assert done.output.startswith("1\n2\n3\n")
        assert done.output.endswith("19999\n20000\n")
        assert "bytes left out" in done.output


async def test_the_network_is_there_when_it_is_allowed() -> None:
    async with a_world() as world:
        command = f"exec 3<>/dev/tcp/127.0.0.1/{world.names['port']} && echo connected"
        done = await made("bubblewrap", world).run(command, cwd=world.workspace, network=True)
        assert done.output == "connected\n"


async def test_a_virtualenv_of_the_workspace_works_by_itself() -> None:
    async with a_world() as world:
        sandbox = made("bubblewrap", world)
        done = await sandbox.run("python3 -m venv --without-pip .venv", cwd=world.workspace)
        assert done.exit_code == 0, done.output
        done = await sandbox.run("python -c 'import sys; print(sys.prefix)'", cwd=world.workspace)
        assert done.output.strip() == str(world.workspace / ".venv")


async def test_a_link_called_git_opens_no_door() -> None:
    async with a_world() as world:
        (world.workspace / ".git").rename(world.workspace / "was-git")
        (world.workspace / ".git").symlink_to(world.home / ".ssh")
        done = await made("bubblewrap", world).run("cat .git/id_rsa", cwd=world.workspace)
        assert done.exit_code != 0
        assert "SECRET" not in done.output


async def test_nothing_runs_when_what_must_be_hidden_was_moved() -> None:
    from vivavoce.errors import Unavailable

    async with a_world() as world:
        world.data.rename(world.workspace / "moved")
        try:
            with pytest.raises(Unavailable, match="cannot be hidden"):
                await made("bubblewrap", world).run("cat moved/*", cwd=world.workspace)
        finally:
            (world.workspace / "moved").rename(world.data)
