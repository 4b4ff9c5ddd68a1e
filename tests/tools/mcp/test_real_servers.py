"""Real servers of both generations: a published one over stdio, our own over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from tests.tools.mcp.support import SERVERS, User, house, until
from vivavoce.errors import InvalidArguments, ToolFailed, Unavailable
from vivavoce.runtime.agents.mcp import McpServer
from vivavoce.tools.mcp import Patience

MODERN, BEFORE = "2026-07-28", "2025-11-25"


@pytest.fixture(scope="module")
def helper() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    process = start_helper(port)
    try:
        answering(port)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait()


def answering(port: int) -> None:
    for _ in range(600):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    raise AssertionError("the server never listened")


def start_helper(port: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, str(SERVERS / "helper.py"), str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


async def test_a_published_server_over_stdio_tells_the_time() -> None:
    args = ("-m", "mcp_server_time")
    published = McpServer(name="time", command=sys.executable, args=args, trust=True)
    async with house(published) as here:
        await here.ready("time")
        assert here.status("time").protocol == MODERN
        assert here.names() == ["time_get_current_time", "time_convert_time"]
        assert not here.registry.definition("time_convert_time").changes
        told = await here.run(
            "time_convert_time",
            source_timezone="Asia/Tokyo",
            time="12:00",
            target_timezone="Asia/Kolkata",
        )
        assert told.kind == "json"
        assert "T08:30:00+05:30" in told.text
        with pytest.raises(InvalidArguments, match="Missing required parameter 'timezone'"):
            await here.run("time_get_current_time")
        with pytest.raises(ToolFailed, match=r"Atlantis/Center"):
            await here.run("time_get_current_time", timezone="Atlantis/Center")


async def test_over_http_both_generations_call_ask_and_report(helper: str) -> None:
    configs = [
        McpServer(name="new", url=helper),
        McpServer(name="old", url=helper, legacy=True),
    ]
    async with house(*configs) as here:
        await here.ready("new", "old")
        assert here.status("new").protocol == MODERN
        assert here.status("old").protocol == BEFORE
        for name in ("new", "old"):
            assert (await here.run(f"{name}_add", a=2, b=3)).text == "5"

            user = User(answers=["four of us, please", "the garden"])
            booked = await here.run(f"{name}_book", user, day="Friday")
            assert booked.text == "Booked for 4 in the garden on Friday"
            first, second = user.asked
            assert first[0].startswith(f"{name} asks: Which table would you like?")
            assert "For how many?" in first[0]
            assert second[1] == ("inside", "garden")

            counting = User()
            assert (await here.run(f"{name}_count", counting, upto=50)).text == "counted"
            assert ("50 of 50 counted", 100) in counting.reports

            picture = await here.run(f"{name}_dot")
            assert [one.mime_type for one in picture.pictures] == ["image/png"]
            with pytest.raises(ToolFailed, match="fail"):
                await here.run(f"{name}_fail")


async def test_a_wrong_answer_is_asked_again_and_a_stop_is_respected(helper: str) -> None:
    async with house(McpServer(name="inn", url=helper)) as here:
        await here.ready("inn")
        user = User(answers=["many", "99", "3", "inside"])
        assert "for 3 in the inside" in (await here.run("inn_book", user, day="Monday")).text
        assert user.asked[1][0].startswith("I need a number. inn asks:")
        assert user.asked[2][0].startswith("It should be at most 12.")
        stopping = User(answers=["never mind"])
        with pytest.raises(ToolFailed):
            await here.run("inn_book", stopping, day="Monday")
        assert len(stopping.asked) == 1


async def test_before_2026_a_question_never_reaches_another_persons_ears(helper: str) -> None:
    async with house(McpServer(name="old", url=helper, legacy=True)) as here:
        await here.ready("old")
        ada, bob = User(answers=["2", "inside"]), User(answers=["2", "inside"], name="bob")
        calls = [here.run("old_book", who, day="Sunday") for who in (ada, bob)]
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        # Both run at the same time, so whoever is asked first may be neither.
        for who, outcome in zip((ada, bob), outcomes, strict=True):
            booked = not isinstance(outcome, BaseException)
            assert booked == (len(who.asked) == 2)


async def test_new_tools_are_found_when_the_server_says_so(helper: str) -> None:
    configs = [
        McpServer(name="new", url=helper),
        McpServer(name="only", url=helper, tools=("add", "gone")),
    ]
    async with house(*configs) as here:
        await here.ready("new", "only")
        assert here.status("only").tools == 1
        assert here.status("only").problems == ("there is no tool 'gone'",)
        assert "new_added" not in here.names()
        await here.run("new_grow")
        await until(lambda: "new_added" in here.names(), here.servers)
        assert here.status("only").tools == 1


@pytest.mark.full
async def test_a_server_behind_a_url_is_found_again_when_it_comes_back() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/mcp"
    configs = [McpServer(name="new", url=url), McpServer(name="old", url=url, legacy=True)]
    patient = Patience(first_pause=0.1, longest_pause=0.5, tries=1000, check=0.2)
    first = start_helper(port)
    try:
        async with house(*configs, patience=patient) as here:
            await here.ready("new", "old")
            first.kill()
            first.wait()
            for name in ("new", "old"):
                await here.comes_to(name, "restarting")
                with pytest.raises(Unavailable, match="is restarting"):
                    await here.run(f"{name}_add", a=1, b=1)
            second = start_helper(port)
            try:
                await here.ready("new", "old")
                assert here.status("new").protocol == MODERN
                for name in ("new", "old"):
                    assert (await here.run(f"{name}_add", a=1, b=1)).text == "2"
            finally:
                second.kill()
                second.wait()
    finally:
        first.kill()
        first.wait()
