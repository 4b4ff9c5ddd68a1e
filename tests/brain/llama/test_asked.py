"""What the child process is asked for, and what becomes of its lines. Without a model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.brain.asking import Answer, answer, ask
from vivavoce.brain.llama.brain import LlamaBrain
from vivavoce.brain.llama.server import Connection, Heard
from vivavoce.errors import BrainError
from vivavoce.wire.brain import Ask, Call, Result, Said, Turn


class _Recorded(Connection):
    """Writes what it was given, and keeps the request."""

    def __init__(self, folder: Path, *pieces: str) -> None:
        super().__init__(folder / "none.sock", "key")
        self._pieces = pieces
        self.request: Mapping[str, Any] = {}

    async def write(self, request: Mapping[str, Any]) -> AsyncGenerator[Heard, None]:
        self.request = request
        for piece in self._pieces:
            yield Heard(piece)
        yield Heard("", last=True)


def _brain(folder: Path, connection: Connection) -> LlamaBrain:
    brain = LlamaBrain(folder / "none.gguf", folder, name="none")
    brain._connection = connection
    return brain


async def test_an_answer_is_one_line_after_the_users(tmp_path: Path) -> None:
    connection = _Recorded(tmp_path, "Hello", " Ann.")
    said = await answer(_brain(tmp_path, connection), ask("I am Ann."))
    assert said.text == "Hello Ann."
    assert connection.request["stop"] == ["\n"]
    assert connection.request["prompt"].endswith("\n> I am Ann\n")


@pytest.mark.parametrize(
    ("choice", "reluctant"),
    [("auto", True), ("none", False), ("required", False), ("function:bash", False)],
)
async def test_only_a_call_that_is_left_to_the_model_must_be_likelier_than_words(
    tmp_path: Path, choice: str, reluctant: bool
) -> None:
    connection = _Recorded(tmp_path, "Well.")
    await answer(_brain(tmp_path, connection), ask("List.", tools=("bash",), tool_choice=choice))
    bias = connection.request["logit_bias"]
    assert [mark for mark, _ in bias] == (["@"] if reluctant else [])
    assert all(weight < 0 for _, weight in bias)


async def test_a_call_in_pieces_is_a_call_and_one_of_no_tool_is_refused(tmp_path: Path) -> None:
    connection = _Recorded(tmp_path, "Let me", " see.@ba", "sh {", "}")
    said = await answer(_brain(tmp_path, connection), ask("List.", tools=("bash",)))
    assert (said.text, said.calls) == ("Let me see.", [("bash", {})])
    with pytest.raises(BrainError):
        await answer(_brain(tmp_path, connection), ask("List.", tools=("read",)))


class _Forced(_Recorded):
    """Says the tool's name, until it is told to call it."""

    async def write(self, request: Mapping[str, Any]) -> AsyncGenerator[Heard, None]:
        if not request["logit_bias"]:
            self._pieces = ("@bash {}",)
        async for heard in super().write(request):
            yield heard


@pytest.mark.parametrize("pieces", [("bash()",), ("ba", "sh", "(", ")"), ("bash",)])
async def test_a_tool_whose_name_is_said_is_called(tmp_path: Path, pieces: tuple[str, ...]) -> None:
    said = await answer(_brain(tmp_path, _Forced(tmp_path, *pieces)), ask("List.", tools=("bash",)))
    assert (said.text, said.calls) == ("", [("bash", {})])


@pytest.mark.parametrize("text", ["bash is a shell.", "ba", "Well, bash() does it.", "bashful."])
async def test_words_about_a_tool_stay_words(tmp_path: Path, text: str) -> None:
    connection = _Forced(tmp_path, *text)
    said = await answer(_brain(tmp_path, connection), ask("What is it?", tools=("bash",)))
    assert (said.text, said.calls) == (text, [])


class _Near:
    """Knows how near everything is to each tool's name."""

    def __init__(self, **near: float) -> None:
        self._near = near

    async def near(self, said: list[str], lines: Mapping[str, list[str]]) -> dict[str, float]:
        return {name: self._near[name] for name in lines}


async def _asked(folder: Path, near: _Near) -> Mapping[str, Any]:
    connection = _Recorded(folder, "Well.")
    brain = _brain(folder, connection)
    brain._near = near  # type: ignore[assignment]
    await answer(brain, ask("What time is it?", tools=("current_time", "bash")))
    return connection.request


async def test_what_is_near_to_a_tools_purpose_makes_its_call_likelier(tmp_path: Path) -> None:
    far = await _asked(tmp_path, _Near(current_time=0.1, bash=0.1))
    near = await _asked(tmp_path, _Near(current_time=0.6, bash=0.1))
    assert far["logit_bias"][0][1] < 0 < near["logit_bias"][0][1]
    assert '"bash "' in far["grammar"]
    assert '"bash "' not in near["grammar"]


async def test_of_two_tools_that_are_both_near_the_model_chooses(tmp_path: Path) -> None:
    request = await _asked(tmp_path, _Near(current_time=0.6, bash=0.5))
    assert '"bash "' in request["grammar"]


# --- Held to results


async def _told(folder: Path, question: Ask, *pieces: str) -> Answer:
    return await answer(_brain(folder, _Recorded(folder, *pieces)), question)


def _after(*outputs: str) -> Ask:
    turns: list[Turn] = [Said("user", "Set a timer.")]
    for at, output in enumerate(outputs):
        turns += [Call(f"{at}", "bash", "{}"), Result(f"{at}", output)]
    return replace(ask("", tools=("bash",)), turns=tuple(turns))


CLAIM = ("Sure", ", I", "'ve", " set", " the", " timer", ".", " It", " rings", " at", " nine.")


async def test_a_deed_is_not_claimed_where_nothing_was_called(tmp_path: Path) -> None:
    said = await _told(tmp_path, ask("Set a timer.", tools=("bash",)), *CLAIM)
    assert said.text == "Sure, I have not done that."


async def test_nor_where_the_call_failed(tmp_path: Path) -> None:
    failed = _after('{"success": false, "error": "no clock"}')
    assert (await _told(tmp_path, failed, *CLAIM)).text == "Sure, that did not work."
    assert (await _told(tmp_path, _after(""), "Done", ".")).text == "That did not work."


@pytest.mark.parametrize("output", ["ok", '{"status": "set"}', "12", '["a"]'])
async def test_a_result_that_went_through_shows_it(tmp_path: Path, output: str) -> None:
    assert (await _told(tmp_path, _after(output), *CLAIM)).text == "".join(CLAIM)
    later = replace(_after(output), turns=(*_after(output).turns, Said("user", "Is it on?")))
    assert (await _told(tmp_path, later, *CLAIM)).text == "".join(CLAIM)


HARMLESS = "It's half past nine. You are right, your train is late. I can set that if you like."


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, len(HARMLESS)), max_size=12))
def test_other_words_come_as_they_are_however_they_are_cut(cuts: list[int]) -> None:
    ends = sorted({0, len(HARMLESS), *cuts})
    pieces = [HARMLESS[begin:end] for begin, end in pairwise(ends)]
    with TemporaryDirectory() as folder:
        said = asyncio.run(_told(Path(folder), ask("And?", tools=("bash",)), *pieces))
    assert said.text == HARMLESS


async def test_words_before_their_call_are_no_claim(tmp_path: Path) -> None:
    said = await _told(
        tmp_path, ask("Set it.", tools=("bash",)), "I've set", " it.", "@bash {", "}"
    )
    assert (said.text, said.calls) == ("", [("bash", {})])


async def test_who_has_no_tools_is_left_alone(tmp_path: Path) -> None:
    assert (await _told(tmp_path, ask("Tell a story."), *CLAIM)).text == "".join(CLAIM)


async def test_what_it_is_told_to_say_by_itself_is_so(tmp_path: Path) -> None:
    news = replace(ask("", tools=("bash",)), turns=(Said("system", "The timer is set. Say so."),))
    assert (await _told(tmp_path, news, *CLAIM)).text == "".join(CLAIM)
