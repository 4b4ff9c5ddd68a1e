"""The first conversation: it is honest about what it is, and does what it can."""

from __future__ import annotations

import pytest

from tests.brain.asking import answer, ask, brain, returned
from vivavoce.brain.script.script import DEMO, load
from vivavoce.wire.brain import Said

SCRIPT = load(DEMO.read_text(encoding="utf-8"))
TOOLS = ("current_time", "calculate", "wait")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("Hello.", "Vivavoce"),
        ("Hey there!", "Vivavoce"),
        ("Who are you?", "script"),
        ("What can you do?", "language model"),
        ("How are you?", "well"),
        ("Thank you very much.", "welcome"),
        ("Goodbye.", "Goodbye"),
        ("Tell me a story.", "lighthouse"),
        ("Count to five.", "1, 2, 3, 4, 5."),
        ("Please count up to twenty-two for me.", "21, 22."),
        ("Count to thirty one.", "30, 31."),
        ("Count to infinity.", "I heard"),
        ("Can you count to twenty?", "19, 20."),
        ("Hello world is what programmers write.", "I heard you say Hello world is what"),
        ("What time is it?", "clock"),
        ("What is 12 times 7?", "calculator for 12 times 7"),
        ("What is love?", "I heard you say What is love."),
        ("", "didn't catch"),
    ],
)
async def test_without_tools_it_talks(said: str, words: str) -> None:
    assert words in (await answer(brain(script=SCRIPT), ask(said))).text


@pytest.mark.parametrize(
    ("said", "call"),
    [
        ("What time is it?", ("current_time", {})),
        ("What's the date today?", ("current_time", {})),
        ("What is 12 times 7?", ("calculate", {"expression": "12 * 7"})),
        ("what's twenty-one plus four", ("calculate", {"expression": "21 + 4"})),
        ("How much is 84.50 divided by two?", ("calculate", {"expression": "84.5 / 2"})),
        ("Calculate 3 - 1.", ("calculate", {"expression": "3 - 1"})),
        ("Wait for five seconds.", ("wait", {"seconds": 5})),
        ("Could you wait 10 seconds please?", ("wait", {"seconds": 10})),
    ],
)
async def test_with_tools_it_uses_them(said: str, call: tuple[str, object]) -> None:
    assert (await answer(brain(script=SCRIPT), ask(said, tools=TOOLS))).calls == [call]


@pytest.mark.parametrize(
    ("tool", "output", "words"),
    [
        (
            "current_time",
            "Saturday, January 31, 2026, 11:30 PM in Asia/Tokyo (2026-01-31T23:30:22+09:00)",
            "It's 11:30 PM, on Saturday, January 31.",
        ),
        ("calculate", "84", "That's 84."),
        ("wait", "Waited 5 seconds.", "There. Waited 5 seconds."),
        ("calculate", '{"success":false,"error":"Too big."}', "that didn't work. Too big."),
        ("other", "Done.", "Done."),
    ],
)
async def test_it_speaks_about_results(tool: str, output: str, words: str) -> None:
    said = await answer(brain(script=SCRIPT), ask("Go.", *returned(tool, output), tools=TOOLS))

    assert words in said.text


@pytest.mark.parametrize(
    ("note", "words"),
    [
        ("(The user said something that could not be understood.)", "didn't catch"),
        ("(The user has said nothing for a while.)", "still here"),
        ("A tool that was still running has finished. Its result: 84", "that is done. 84"),
        ("You are in a hurry.", "still here"),
    ],
)
async def test_it_minds_the_notes_it_is_given(note: str, words: str) -> None:
    turns = ("Hi.", Said("assistant", "Hello."), Said("system", note))

    assert words in (await answer(brain(script=SCRIPT), ask(*turns))).text


async def test_it_greets_whoever_comes() -> None:
    assert (await answer(brain(script=SCRIPT), ask())).text.startswith("Hello!")
