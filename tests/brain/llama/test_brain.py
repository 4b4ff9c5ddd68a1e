"""The real thing: a small model in its child process. Long, so only in the full run."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.brain.asking import Answer, answer
from vivavoce.brain.llama.brain import LlamaBrain
from vivavoce.errors import BrainError
from vivavoce.wire.brain import Ask, Call, Piece, Result, Said, Tool, Words

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

_STORE = Path(os.environ.get("VIVAVOCE_MODELS_DIR") or Path.home() / ".cache/vivavoce/models")
_LONG = "You are Ada, a calm colleague at the next desk who likes plain words. " * 12
_TOOLS = (
    Tool(
        "set_light",
        "Switch the light in a room.",
        {
            "type": "object",
            "properties": {
                "room": {"enum": ["kitchen", "hall"]},
                "level": {"type": "integer", "minimum": 0, "maximum": 100},
                "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
            },
            "required": ["room", "level"],
        },
    ),
    Tool("open_door", "Open the front door.", {"type": "object", "properties": {}}),
)


@asynccontextmanager
async def _brain(cache: Path, **more: Any) -> AsyncIterator[LlamaBrain]:
    model = _STORE / "qwen-0.5b" / "model.gguf"
    brain = LlamaBrain(model, cache, name="qwen-0.5b", context=2_048, threads=1, **more)
    async with brain.running():
        async with asyncio.timeout(120):
            await brain.ready()
        yield brain


def _ask(said: str, *before: Any, tools: tuple[Tool, ...] = (), **more: Any) -> Ask:
    return Ask(_LONG, (*before, Said("user", said)), tools, **more)


async def _to_the_end(pieces: AsyncIterator[Piece]) -> None:
    async for _ in pieces:
        pass


def _child() -> psutil.Process:
    mine = psutil.Process().children()
    return next(one for one in mine if "vivavoce.brain.llama.server" in one.cmdline())


async def test_it_answers_in_words_piece_by_piece_and_counts_them(tmp_path: Path) -> None:
    async with _brain(tmp_path) as brain:
        said = await answer(brain, _ask("Say hello to Anna.", live="a", max_tokens=30))
        assert sum(isinstance(piece, Words) for piece in said.pieces) > 1
        assert said.text.strip()
        assert said.end.input_tokens > 100
        assert 0 < said.end.output_tokens <= 30
        cut = await answer(brain, _ask("Tell me a long story.", live="a", max_tokens=4))
        assert cut.end.reason == "length"
        assert cut.end.output_tokens == 4


async def test_a_call_is_valid_whatever_the_model_thinks(tmp_path: Path) -> None:
    async with _brain(tmp_path) as brain:
        for choice in ("required", "function:set_light"):
            question = _ask("The kitchen at half.", tools=_TOOLS, tool_choice=choice, live="a")
            said = await answer(brain, question)
            assert said.text == ""
            for name, arguments in said.calls:
                assert name in {"set_light", "open_door"}
                if name == "set_light":
                    assert arguments["room"] in {"kitchen", "hall"}
                    assert 0 <= arguments["level"] <= 100
            assert said.calls
        assert [name for name, _ in said.calls if name != "set_light"] == []
        plain = await answer(brain, _ask("Open the door!", tools=_TOOLS, tool_choice="none"))
        assert plain.calls == []


async def test_without_parallel_calls_there_is_one(tmp_path: Path) -> None:
    async with _brain(tmp_path) as brain:
        question = _ask(
            "Kitchen and hall, both full.",
            tools=_TOOLS,
            tool_choice="required",
            parallel_calls=False,
        )
        assert len((await answer(brain, question)).calls) == 1


async def test_closing_an_answer_stops_the_work(tmp_path: Path) -> None:
    async with _brain(tmp_path, live_slots=1) as brain:
        async with aclosing(brain.answer(_ask("Count to a hundred.", live="a"))) as pieces:
            assert isinstance(await anext(pieces), Words)
        # Its only slot is free again: the next answer would otherwise wait for 300 tokens.
        async with asyncio.timeout(60):
            next_one = await answer(brain, _ask("Say yes.", live="b", max_tokens=3))
        assert next_one.text


async def test_what_was_read_ahead_is_not_read_again_even_by_a_later_process(
    tmp_path: Path,
) -> None:
    prefix = Ask(_LONG, (), _TOOLS)
    async with _brain(tmp_path) as brain:
        await brain.warm(prefix)
        said = await answer(brain, _ask("Hello.", tools=_TOOLS, live="a", max_tokens=4))
        assert said.end.cached_tokens > 0.9 * said.end.input_tokens - 20
    async with _brain(tmp_path) as brain:
        said = await answer(brain, _ask("Hello.", tools=_TOOLS, live="a", max_tokens=4))
        assert said.end.cached_tokens > 0.9 * said.end.input_tokens - 20
        ahead = _ask("What do you think of", tools=_TOOLS, live="b")
        await brain.warm(ahead)
        whole = _ask("What do you think of tea?", tools=_TOOLS, live="b", max_tokens=4)
        said = await answer(brain, whole)
        assert said.end.input_tokens - said.end.cached_tokens < 12


async def test_it_goes_on_after_a_tools_result(tmp_path: Path) -> None:
    talk = (
        Said("user", "Open the door."),
        Call("1", "open_door", json.dumps({})),
        Result("1", "The door is open."),
    )
    async with _brain(tmp_path) as brain:
        question = Ask(_LONG, talk, _TOOLS, tool_choice="none", live="a", max_tokens=30)
        assert (await answer(brain, question)).text.strip()


async def test_a_conversation_that_lost_its_slot_comes_back_with_what_it_had_read(
    tmp_path: Path,
) -> None:
    async with _brain(tmp_path, live_slots=1) as brain:
        for live in ("a", "b"):
            await answer(brain, _ask(f"I am {live}.", live=live, max_tokens=2))
        said = await answer(brain, _ask("I am a.", live="a", max_tokens=2))
        assert said.end.input_tokens - said.end.cached_tokens < 5
        brain.forget("a")
        brain.forget("b")
        assert list(tmp_path.glob("live-*")) == []


async def test_killed_in_the_middle_it_says_so_and_comes_back_by_itself(tmp_path: Path) -> None:
    async with _brain(tmp_path) as brain:
        async with aclosing(brain.answer(_ask("Count to a hundred.", live="a"))) as pieces:
            await anext(pieces)
            _child().send_signal(signal.SIGKILL)
            with pytest.raises(BrainError):
                await _to_the_end(pieces)
        async with asyncio.timeout(120):
            while True:
                await brain.ready()
                try:
                    said = await answer(brain, _ask("Say yes.", live="a", max_tokens=3))
                    break
                except BrainError:  # its death is noticed a moment later
                    await asyncio.sleep(0.05)
        assert isinstance(said, Answer)
        assert said.text


async def test_nobody_else_can_reach_it_and_its_key_is_in_no_command_line(tmp_path: Path) -> None:
    async with _brain(tmp_path):
        child = _child()
        assert child.net_connections(kind="inet") == []
        assert child.cmdline()[-2:] == ["-m", "vivavoce.brain.llama.server"]
        sockets = [str(one.laddr) for one in child.net_connections(kind="unix")]
        path = next(Path(name) for name in sockets if name.endswith("llama.sock"))
        assert path.parent.stat().st_mode & 0o077 == 0
    assert not path.parent.exists()


async def test_a_question_before_the_model_is_there_is_an_error_and_reading_ahead_is_none(
    tmp_path: Path,
) -> None:
    brain = LlamaBrain(tmp_path / "none.gguf", tmp_path, name="none")
    await brain.warm(_ask("Hello."))
    with pytest.raises(BrainError):
        await answer(brain, _ask("Hello."))


async def test_who_comes_while_its_instructions_are_read_goes_on_from_there(
    tmp_path: Path,
) -> None:
    prefix = Ask(_LONG * 3, (), _TOOLS)
    question = Ask(_LONG * 3, (Said("user", "Hello."),), _TOOLS, live="a", max_tokens=4)
    async with _brain(tmp_path) as brain, asyncio.TaskGroup() as group:
        reading = group.create_task(brain.warm(prefix))
        async with asyncio.timeout(120):
            while len(brain._seats._places[0].held) < len(_LONG) * 1.5:
                await asyncio.sleep(0.05)
            said = await answer(brain, question)
        assert not reading.done()  # it waits until the talk is over
        assert 0.3 * said.end.input_tokens < said.end.cached_tokens
        brain.forget("a")
        async with asyncio.timeout(240):
            await reading


async def test_it_is_measured_once_and_tells_its_figures(tmp_path: Path) -> None:
    async with _brain(tmp_path, device="auto") as brain:
        assert brain.figures().reads_per_second is None
        await brain.measure()
        figures = brain.figures()
        assert figures.device
        assert figures.size > 1e8
        assert figures.context == 2_048
        assert figures.reads_per_second
        assert figures.writes_per_second
        assert brain._markup.is_chatml  # as its file says
    async with _brain(tmp_path) as brain:
        assert brain.figures().writes_per_second == figures.writes_per_second


async def test_a_gpu_that_is_wanted_and_not_there_is_told(tmp_path: Path) -> None:
    import xllamacpp

    if any("GPU" in each["type"].name for each in xllamacpp.get_device_info()):
        pytest.skip("there is one")
    with pytest.raises(BaseExceptionGroup) as raised:
        async with _brain(tmp_path, device="gpu"):
            pass
    assert raised.group_contains(BrainError, match="VIVAVOCE_DEVICE is gpu")
