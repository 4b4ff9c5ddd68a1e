"""What docs/engine.md and the README say of the engine is so."""

from __future__ import annotations

import asyncio
import re
import textwrap
from contextlib import redirect_stdout
from io import StringIO
from typing import get_args

import pytest

from tests.docs_text import README, ROOT, read
from tests.engine.stage import KEY, engine_server
from tests.engine.strict import known_types
from vivavoce.brain.script import script as script_file
from vivavoce.brain.script.script import Script
from vivavoce.runtime.provider.known_models import OPENAI_VOICES, VOICES
from vivavoce.wire.realtime.client import CLIENT_EVENTS, PEER_EVENTS
from vivavoce.wire.realtime.events import SERVER_EVENTS
from vivavoce.wire.realtime.server import EventType
from vivavoce.wire.realtime.session import SemanticVad, ServerVad

PAGE = ROOT / "docs" / "engine.md"
EXAMPLE = ROOT / "docs" / "examples" / "script.yaml"
SOURCE = ROOT / "src" / "vivavoce" / "engine"


def test_the_page_has_a_line_for_every_client_event_and_no_other() -> None:
    table = re.search(r"^## Client events\n(.*?)^## ", read(PAGE), re.MULTILINE | re.DOTALL)
    assert table
    assert re.findall(r"^\| `([\w.]+)` \|", table[1], re.MULTILINE) == list(CLIENT_EVENTS)


def test_the_page_names_what_a_locked_peer_may_send() -> None:
    told = re.search(r"^A peer on a \*\*locked\*\* call.*?nothing else: (.*?)\. ", read(PAGE), re.M)
    assert told
    assert set(re.findall(r"`([\w.]+)`", told[1])) == PEER_EVENTS


def test_the_page_names_server_events_that_exist() -> None:
    table = re.search(r"^## Server events\n(.*?)^## ", read(PAGE), re.MULTILINE | re.DOTALL)
    assert table
    rows = "\n".join(line for line in table[1].splitlines() if line.startswith("| "))
    named = set(re.findall(r"`([a-z_]+(?:\.[a-z_]+)*)`", rows)) - {"transcription"}
    assert named == SERVER_EVENTS == set(get_args(EventType)) <= known_types()


def test_the_page_has_every_code_of_a_refusal() -> None:
    source = "\n".join(read(file) for file in SOURCE.rglob("*.py"))
    codes = set(re.findall(r'\bcode="([a-z_]+)"', source))
    assert len(codes) > 20
    assert [code for code in sorted(codes) if f"`{code}`" not in read(PAGE)] == []


def test_the_page_has_every_field_of_turn_detection() -> None:
    for shape in (ServerVad, SemanticVad):
        for name in shape.model_fields.keys() - {"type"}:
            assert f"`{name}`" in read(PAGE), name


def test_openais_voices_are_all_there() -> None:
    assert {voice.id for voice in VOICES} == set(OPENAI_VOICES)


def test_the_page_shows_the_script_as_it_is() -> None:
    assert f"```yaml\n{read(EXAMPLE)}```" in read(PAGE)


async def test_the_example_script_can_be_loaded_and_talked_to() -> None:
    script = script_file.load(read(EXAMPLE))
    async with engine_server(script=script) as stage:
        line = await stage.line()
        clock = {"type": "function", "name": "calculate", "parameters": {"type": "object"}}
        await line.configure(output_modalities=["text"], tools=[clock])
        await line.write("What is six times seven?")
        said, call = (await line.answer())["output"]
        assert said["content"][0]["text"] == "Let me see."
        assert (call["name"], call["arguments"]) == ("calculate", '{"expression": "6 * 7"}')
        item = {"type": "function_call_output", "call_id": call["call_id"], "output": "42"}
        await line.send("conversation.item.create", item=item)
        answer = (await line.answer())["output"][0]["content"][0]["text"]
        assert answer == "That makes 42."
        await line.write("Goodbye, Ada.")
        farewell = (await line.answer())["output"][0]["content"][0]["text"]
        assert farewell == "Goodbye! Ada is a nice name."
        await line.write("Now break down.")
        assert (await line.answer())["status_details"]["error"]["code"] == "engine_error"


async def test_the_example_offer_is_one_that_the_engine_takes() -> None:
    offer = read(ROOT / "docs" / "examples" / "offer.sdp")
    parts = {"sdp": (None, offer), "session": (None, '{"type": "realtime"}')}
    headers = {"Authorization": f"Bearer {KEY}"}
    async with engine_server() as stage:
        placed = await stage.http.post(f"{stage.url}/realtime/calls", files=parts, headers=headers)
        assert placed.status_code == 201, placed.text
        hang_up = placed.headers["location"].removeprefix("/v1") + "/hangup"
        assert (await stage.post(hang_up)).status_code == 200


# The SDK's own, with the newest websockets.
@pytest.mark.filterwarnings("ignore:connect.. must be used:DeprecationWarning")
async def test_the_readmes_client_is_answered_by_changing_the_base_url() -> None:
    found = re.search(r"<!-- example: sdk -->\n```python\n(.*?)```", read(README), re.DOTALL)
    assert found
    async with engine_server(script=Script(opening="Hello, you.")) as stage:
        code = found[1].replace("http://localhost:8080/v1", stage.url).replace('"any"', f'"{KEY}"')
        assert await asyncio.to_thread(_printed, textwrap.dedent(code)) == "Hello, you.\n"


def _printed(code: str) -> str:
    with redirect_stdout(StringIO()) as shown:
        exec(compile(code, "README.md", "exec"), {})
    return shown.getvalue()
