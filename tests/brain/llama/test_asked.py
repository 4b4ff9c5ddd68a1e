"""What the child process is asked for, and what becomes of its lines. Without a model."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.brain.asking import answer, ask
from vivavoce.brain.llama.brain import LlamaBrain
from vivavoce.brain.llama.server import Connection, Heard
from vivavoce.errors import BrainError


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
