"""The client in Python over real sockets, and as an app has it."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from tests.conductor.server import far
from tests.journeys.process import free_port
from vivavoce.conductor import (
    Client,
    ClientTool,
    Connection,
    Document,
    Fault,
    FileMemory,
    Missed,
    Phase,
    Seen,
    Speech,
    ToolError,
    tool,
)
from vivavoce.conductor.core.calls import MOST, STOPPED, Entry
from vivavoce.conductor.core.machine import WAITS

FAST = (0.01, 0.02, 0.03)
SESSION = "3F0C9F3E-51A6-4F3B-9A1D-6D2B7C8E9F10"


async def until(client: Client, wanted: type[Seen], **fields: Any) -> list[Seen]:
    """All that it told until then, the wanted one last."""
    seen: list[Seen] = []
    async with asyncio.timeout(10):
        async for one in client:
            seen.append(one)
            if isinstance(one, wanted) and all(getattr(one, k) == v for k, v in fields.items()):
                return seen
    raise AssertionError(f"it was closed: {seen}")


def codes(seen: list[Seen]) -> list[str]:
    return [one.code for one in seen if isinstance(one, Fault)]


# --- The line -------------------------------------------------------------------------------


async def test_it_connects_with_its_session_its_key_and_a_fresh_token() -> None:
    asked: list[str] = []

    async def token(session_id: str) -> str:
        asked.append(session_id)
        return f"t&{len(asked)}"

    async with (
        far() as end,
        Client(end.url, session_id=SESSION, key="k", token=token, waits=FAST) as client,
    ):
        line = await end.line()
        assert (await line.next("sessionStart"))["sessionId"] == SESSION.lower()
        line.cut()
        await end.line()
        await until(client, Connection, state="connected", attempt=1)
    assert asked == [SESSION.lower()] * 2
    assert [request.path for request in end.requests] == [
        f"/conductor?sessionId={SESSION.lower()}&token=t%26{n}" for n in (1, 2)
    ]
    assert end.requests[0].headers["authorization"] == "Bearer k"


async def test_the_waits_are_those_of_the_protocol() -> None:
    assert WAITS == (1, 2, 4, 8, 16)


async def test_a_line_that_is_cut_comes_back_and_nothing_said_is_lost() -> None:
    async with far() as end, Client(end.url, waits=FAST) as client:
        line = await end.line()
        await line.next("sessionStart")
        line.cut()
        seen = await until(client, Connection, state="waiting")
        assert codes(seen) == ["ws_error"]
        await client.say("Still there?")
        line = await end.line()
        await line.next("sessionStart")
        assert await line.next("userAudioTranscriptFinal") == {"text": "Still there?"}


async def test_what_is_said_before_it_begins_waits_for_the_connection() -> None:
    async with far() as end:
        client = Client(end.url)
        await client.say("Hello")
        async with client:
            line = await end.line()
            await line.next("sessionStart")
            assert await line.next("userAudioTranscriptFinal") == {"text": "Hello"}


async def test_a_server_that_ends_with_a_reason_is_told_with_it() -> None:
    async with far() as end, Client(end.url, waits=FAST) as client:
        line = await end.line()
        await line.next("sessionStart")
        await line.connection.close(4409, "A newer connection has the session.")
        (*_, fault, closed) = await until(client, Connection, state="closed")
        assert isinstance(fault, Fault)
        assert fault.code == "ws_error"
        assert closed == Connection(
            "closed", code=4409, reason="A newer connection has the session."
        )


async def test_who_is_not_let_in_is_told_so_and_does_not_knock_again() -> None:
    async with far() as end:
        end.refuses = HTTPStatus.UNAUTHORIZED
        async with Client(end.url, waits=FAST) as client:
            seen = await until(client, Connection, state="closed", code=401)
            assert codes(seen) == ["ws_connect_failed"]
        assert len(end.requests) == 1


async def test_where_nobody_listens_it_tries_and_then_its_own_stub_answers() -> None:
    async def stub(text: str) -> str:
        return f"Nobody hears '{text}'."

    async with Client(f"ws://127.0.0.1:{free_port()}", stub=stub, waits=FAST) as client:
        seen = await until(client, Connection, state="local")
        assert codes(seen) == ["ws_connect_failed"] * 4 + ["reconnect_failed"]
        await client.say("Hello")
        await until(client, Speech, text="Nobody hears 'Hello'.", final=True)
        await until(client, Phase, state="idle")
        assert client.connection == "local"


async def test_a_stub_that_fails_is_a_fault_and_the_next_sentence_is_asked(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def stub(text: str) -> str:
        if text == "one":
            raise RuntimeError("out of words")
        return text

    url = f"ws://127.0.0.1:{free_port()}"
    async with Client(url, stub=stub, waits=()) as client:
        await client.say("one")
        await client.say("two")
        seen = await until(client, Speech, text="two")
        assert codes(seen) == ["ws_connect_failed", "reconnect_failed", "handler_error"]


async def test_a_token_that_the_app_cannot_give_is_a_failed_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def token(session_id: str) -> str:
        raise RuntimeError("logged out")

    async with Client("ws://127.0.0.1:1", token=token, waits=()) as client:
        seen = await until(client, Connection, state="closed")
    assert codes(seen) == ["ws_connect_failed", "reconnect_failed"]


async def test_what_cannot_be_read_is_told_and_the_talk_goes_on() -> None:
    async with far() as end, Client(end.url) as client:
        line = await end.line()
        await line.connection.send("{")
        await line.connection.send(b"{}")
        await line.send("assistantSpeechFinal", text="Hello")
        seen = await until(client, Speech)
        assert codes(seen) == ["decode_error"] * 2


async def test_large_messages_arrive_whole_or_in_pieces_and_there_is_a_bound() -> None:
    async with far() as end, Client(end.url) as client:
        line = await end.line()
        words = "a" * 1_000_000
        await line.send("assistantUIPatch", patch=f'{{"op":"replace","path":"","value":"{words}"}}')
        await until(client, Document, document=words)
        assert client.document == words
        event = {"id": SESSION, "timestamp": "2025-01-15T10:30:00Z"}
        whole = json.dumps({**event, "kind": {"assistantSpeechFinal": {"text": "in pieces"}}})
        await line.connection.send(iter(whole))
        await until(client, Speech, text="in pieces")
        await line.connection.send(" " * (4 * 1024 * 1024 + 1))
        await until(client, Connection, state="closed", code=1009)


async def test_it_can_be_left_while_it_connects_waits_and_runs() -> None:
    started = asyncio.Event()

    async def forever() -> None:
        started.set()
        await asyncio.Event().wait()

    async with far() as end, Client(end.url, tools=[tool(forever)], speak=forever_speaking) as app:
        line = await end.line()
        await line.call("a", "forever")
        await line.call("b", "tts.speak", text="Hm")
        await started.wait()
        await until(app, Connection, state="connected")
    async with Client(f"ws://127.0.0.1:{free_port()}") as app:
        await until(app, Connection, state="waiting")
    async with asyncio.timeout(5):
        await until_closed(app)


async def forever_speaking(text: str) -> None:
    await asyncio.Event().wait()


async def until_closed(client: Client) -> None:
    async for _ in client:
        pass


async def test_an_app_that_breaks_takes_its_client_with_it() -> None:
    async with far() as end:

        async def app() -> None:
            async with Client(end.url):
                await end.line()
                raise RuntimeError("the app")

        with pytest.raises(RuntimeError, match="the app"):
            await app()


# --- What the app is told -------------------------------------------------------------------


async def test_an_app_that_does_not_listen_misses_the_oldest_and_knows_how_many() -> None:
    async with far() as end, Client(end.url) as client:
        line = await end.line()
        for n in range(1_100):
            await line.send("assistantSpeechPartial", text=str(n))
        await line.call("a", "convo.setState", state="idle")
        await line.next("sessionStart")
        await line.next("toolResult")
        seen = await until(client, Phase, state="idle")
        assert isinstance(seen[0], Missed)
        assert seen[0].count + len(seen) - 1 == 1_100 + 3  # connecting, connected, idle


async def test_what_cannot_be_said_is_refused_at_once() -> None:
    client = Client("ws://127.0.0.1:1")
    with pytest.raises(ValueError, match="8000"):
        await client.say("a" * 8_001)
    with pytest.raises(ValueError, match="surrogates"):
        await client.say("\ud800")
    with pytest.raises(ValueError, match="below 0"):
        await client.interrupt(position_ms=-1)
    with pytest.raises(ValueError, match="version 4"):
        Client("ws://x", session_id="6ba7b810-9dad-11d1-80b4-00c04fd430c8")


# --- Tools ----------------------------------------------------------------------------------


@tool(name="light.switch")
async def switch(room: str, on: bool = True) -> dict[str, Any]:
    """Switches a light."""
    if room == "attic":
        raise ToolError("There is no light in the attic.")
    return {"room": room, "on": on}


@tool(read_only=True)
def battery() -> float:
    return 0.8


def test_a_tool_is_told_by_its_name_its_words_and_its_types() -> None:
    assert switch.told.model_dump(by_alias=True, exclude_unset=True) == {
        "name": "light.switch",
        "description": "Switches a light.",
        "inputSchema": {
            "title": "light.switch arguments",
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "room": {"title": "Room", "type": "string"},
                "on": {"title": "On", "type": "boolean", "default": True},
            },
            "required": ["room"],
        },
        "annotations": {"readOnlyHint": False},
    }
    assert battery.told.annotations == {"readOnlyHint": True}


def test_what_cannot_be_a_tool_is_refused_when_it_is_made() -> None:
    def untold(room) -> None:  # type: ignore[no-untyped-def]
        pass

    def many(*rooms: str) -> None:
        pass

    for function in (untold, many):
        with pytest.raises(TypeError):
            tool(function)


async def test_a_tool_is_given_what_its_types_say() -> None:
    assert await switch.run('{"room":"hall"}') == '{"room":"hall","on":true}'
    assert await switch.run('{"room":"hall","on":false}') == '{"room":"hall","on":false}'


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ('{"room":"attic"}', "There is no light in the attic."),
        ("{}", "Wrong arguments: room: Field required"),
        ('{"room":"hall","x":1}', "Wrong arguments: x: Extra inputs are not permitted"),
    ],
)
async def test_a_tool_says_what_is_wrong(given: str, words: str) -> None:
    with pytest.raises(ToolError, match=words):
        await switch.run(given)


async def test_results_and_failures_of_tools_reach_the_server(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken() -> None:
        raise KeyError("x")

    def long() -> str:
        return "a" * 200_001

    def strange() -> object:
        return object()

    tools: list[ClientTool | Callable[..., Any]] = [switch, battery, broken, long, strange]
    with caplog.at_level(logging.ERROR):
        async with far() as end, Client(end.url, tools=tools):
            line = await end.line()
            await line.next("sessionStart")
            wanted = {
                "battery": ("0.8", None),
                "broken": (None, "KeyError: 'x'"),
                "long": (None, "The result is too long."),
            }
            for name, (result, error) in wanted.items():
                await line.call(name, name)
                told = await line.next("toolResult")
                assert (told["result"], told["error"]) == (result, error)
            await line.call("strange", "strange")
            assert "The result is no JSON" in (await line.next("toolResult"))["error"]
    assert [record.message for record in caplog.records] == ["the app's code failed"]


# --- Memory ---------------------------------------------------------------------------------


def test_a_file_remembers_each_sessions_calls(tmp_path: Path) -> None:
    memory = FileMemory(tmp_path / "deep" / "calls.jsonl")
    assert list(memory.load("one")) == []
    told = Entry("a", True, '{"x":1}', None, {"code": "c", "message": "m"})
    memory.keep("one", Entry("a", False))
    memory.keep("one", told)
    memory.keep("two", Entry("b", False))
    assert FileMemory(tmp_path / "deep" / "calls.jsonl").load("one") == [told]
    assert memory.load("two") == [Entry("b", False)]


def test_a_line_that_was_cut_off_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    memory = FileMemory(path)
    memory.keep("one", Entry("a", True, "1"))
    with path.open("ab") as file:
        file.write(b'{"session":"one","ca')
    assert memory.load("one") == [Entry("a", True, "1")]
    memory.keep("one", Entry("b", True, "2"))
    assert memory.load("one") == [Entry("a", True, "1"), Entry("b", True, "2")]


def test_a_file_does_not_grow_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    line = b'{"session":"one","call":"%d","over":true,"result":"1","error":null}\n'
    path.write_bytes(b"".join(line % n for n in range(2 * MOST + 1)))
    kept = FileMemory(path).load("one")
    assert len(kept) == len(path.read_bytes().splitlines()) == MOST
    assert kept[-1].call_id == str(2 * MOST)


async def test_no_call_runs_twice_though_the_app_dies_in_the_middle(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    ran: list[str] = []
    begun = asyncio.Event()

    async def pay() -> str:
        ran.append("pay")
        begun.set()
        await asyncio.Event().wait()
        return "paid"

    async with far() as end:
        for life in range(2):
            async with Client(
                end.url, session_id=SESSION, tools=[pay], memory=FileMemory(path)
            ) as client:
                line = await end.line()
                await line.next("sessionStart")
                await line.call("a", "pay")
                if life == 0:
                    await begun.wait()
                else:
                    told = await line.next("toolResult")
                    assert told["error"] == STOPPED
                await until(client, Connection, state="connected")
    assert ran == ["pay"]


async def test_a_memory_that_cannot_be_written_is_told_and_the_tool_runs(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    memory = FileMemory(tmp_path / "file" / "calls.jsonl")  # below a file there is nothing
    async with far() as end, Client(end.url, tools=[battery], memory=memory) as client:
        line = await end.line()
        await line.next("sessionStart")
        await line.call("a", "battery")
        assert (await line.next("toolResult"))["result"] == "0.8"
        assert "handler_error" in codes(await until(client, Fault))


async def test_a_memory_that_cannot_be_read_is_told_and_the_client_begins(tmp_path: Path) -> None:
    async with far() as end, Client(end.url, memory=FileMemory(tmp_path)) as client:  # a folder
        await (await end.line()).next("sessionStart")
        seen = await until(client, Connection, state="connected")
        assert codes(seen) == ["handler_error"]


# --- What it costs --------------------------------------------------------------------------


def test_it_brings_little_with_it() -> None:
    heavy = "fastapi starlette uvicorn sqlalchemy openai jsonschema numpy alembic prometheus_client"
    code = (
        "import sys, vivavoce.conductor\n"
        f"print([name for name in '{heavy}'.split() if name in sys.modules])\n"
        "ours = [name.split('.') for name in sys.modules if name.startswith('vivavoce.')]\n"
        "print(sorted({name[1] for name in ours}))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.splitlines() == ["[]", "['conductor', 'wire']"]
