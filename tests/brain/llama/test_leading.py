"""Talks that are led, with a model that writes what the test says."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

import pytest

from tests.brain.asking import Answer
from vivavoce.brain.dialogue import marked
from vivavoce.brain.llama.leading import Free, Leading, Write
from vivavoce.brain.llama.reader import Read
from vivavoce.brain.llama.server import Heard
from vivavoce.wire.brain import Ask, Call, Piece, Result, Said, Tool, Turn
from vivavoce.wire.hints import KEY

ADD = Tool(
    "add_plant",
    "Write down a plant.",
    {
        "type": "object",
        "properties": {"title": {"type": "string"}},
        "required": ["title"],
        KEY: {
            "wish": "plant",
            "about": "a plant is to be written down",
            "slots": {"title": {"name": "what", "required": True, "questions": ["Which plant?"]}},
            "confirm": ["Written down: {title}."],
            "briefing": {"user": "Ann", "time_zone": "Europe/Berlin"},
        },
    },
)
PLAIN = Tool("water", "Water the plants.", {"type": "object", "properties": {}})


class _Model:
    """Each word is a token of its own; the first of a line is the likeliest."""

    def __init__(self, *lines: str) -> None:
        self.lines = list(lines)
        self.prompts: list[str] = []
        self.grammars: list[str] = []
        self.ahead = 1_000_000

    def begun(self, live: str, text: str) -> int:
        return self.ahead

    @asynccontextmanager
    async def writing(self, live: str, text: str) -> AsyncIterator[_Model]:
        self.prompts.append(text)
        yield self

    async def tokenize(self, text: str) -> list[int]:
        return [sum(map(ord, text))]

    async def likely(self, text: str) -> tuple[Mapping[int, float], Heard]:
        word = self.lines[0].partition(" ")[0]
        return {sum(map(ord, word)): -0.1}, Heard("", input_tokens=9)

    async def line(self, text: str, grammar: str, most: int) -> tuple[str, Heard]:
        self.grammars.append(grammar)
        return self.lines.pop(0), Heard("", output_tokens=3)


def _leading(*lines: str) -> tuple[Leading, _Model]:
    model = _Model(*lines)
    return Leading(model, now=lambda zone: datetime(2026, 3, 2, 9, tzinfo=zone)), model


def _ask(*turns: Turn | str, tools: tuple[Tool, ...] = (ADD,), **more: Any) -> Ask:
    said = tuple(Said("user", turn) if isinstance(turn, str) else turn for turn in turns)
    return Ask("You know plants.", said, tools, live="a", **more)


async def _answer(leading: Leading, ask: Ask) -> Answer:
    pieces: list[Piece] = []
    async for piece in leading.answer(ask):
        assert not isinstance(piece, Free | Write)
        pieces.append(piece)
    return Answer(pieces)


def test_only_a_talk_with_hints_that_is_left_to_the_brain_is_led() -> None:
    leading, _ = _leading()
    assert leading.leads(_ask("hello"))
    assert not leading.leads(_ask("hello", tools=(PLAIN,)))
    assert not leading.leads(_ask("hello", tool_choice="required"))
    assert not leading.leads(_ask("hello", tool_choice="none"))


async def test_what_was_said_becomes_a_call_and_its_result_words_without_the_model() -> None:
    leading, model = _leading('plant what="the blue fern"')
    said = "please write down the blue fern"
    called = await _answer(leading, _ask(said))
    assert called.calls == [("add_plant", {"title": "the blue fern"})]
    assert called.end.input_tokens == 9
    result = json.dumps({"status": "ok", "title": "The blue fern"})
    call = Call("1", "add_plant", json.dumps({"title": "the blue fern"}))
    told = await _answer(leading, _ask(said, call, Result("1", result)))
    assert "Written down: The blue fern" in told.text
    assert len(model.prompts) == 1


async def test_the_same_words_are_understood_once_whoever_asks() -> None:
    leading, model = _leading('plant what="the fern"')
    for _ in range(3):
        assert (await _answer(leading, _ask("the fern please, write it down"))).calls
    assert len(model.prompts) == 1
    leading.forget("a")
    model.lines = ["thanks"]
    await _answer(leading, _ask("the fern please, write it down"))
    assert len(model.prompts) == 2


async def test_what_is_missing_is_asked_for_and_the_answer_is_an_answer() -> None:
    leading, model = _leading("plant", 'set what="the fern"')
    asked = await _answer(leading, _ask("write down a plant for me would you"))
    assert asked.text == "Which plant?"
    assert asked.end.awaits == "words"
    talk = ("write down a plant for me would you", Said("assistant", asked.text), "the fern")
    assert (await _answer(leading, _ask(*talk))).calls == [("add_plant", {"title": "the fern"})]
    assert '"set"' in model.grammars[-1]
    assert "Bot: Which plant?\nPerson: the fern" in model.prompts[-1]


async def test_a_short_plain_answer_costs_one_look_at_the_model() -> None:
    leading, model = _leading("thanks")
    assert (await _answer(leading, _ask("thank you"))).text
    assert model.grammars == []


async def test_silence_needs_no_model() -> None:
    leading, model = _leading()
    assert (await _answer(leading, _ask(" "))).text
    assert model.prompts == []


async def test_small_talk_is_in_the_models_words_unless_the_agent_has_its_own() -> None:
    leading, _ = _leading("chat", "chat")
    pieces = [piece async for piece in leading.answer(_ask("do you like ferns"))]
    (free,) = [piece for piece in pieces if isinstance(piece, Free)]
    assert "You know plants." in free.prompt
    assert free.instead
    hint = {**(ADD.parameters or {})[KEY], "briefing": {"words": {"chat": ["Plants only."]}}}
    own = Tool("add_plant", "", {**(ADD.parameters or {}), KEY: hint})
    assert (await _answer(leading, _ask("do you like cats", tools=(own,)))).text == "Plants only."


def test_what_it_is_told_to_say_by_itself_comes_last() -> None:
    leading, _ = _leading()
    news = _ask("thanks", Said("assistant", "Any time."))
    assert not leading.answers(news)
    text = leading.freely(news)
    assert text.index("Any time.") < text.index("You know plants.")


async def test_what_is_read_ahead_is_how_the_question_will_begin() -> None:
    leading, model = _leading("chat")
    head = await leading.ahead(_ask())
    ahead = await leading.ahead(_ask("do you like"))
    assert ahead.startswith(head)
    [piece async for piece in leading.answer(_ask("do you like ferns"))]
    assert model.prompts[0].startswith(ahead)


async def test_who_comes_before_the_prompt_is_read_waits_for_its_beginning_only() -> None:
    shown = [{"said": f"a fern, number {n}", "slots": {}} for n in range(9)]
    hint = {**(ADD.parameters or {})[KEY], "examples": shown}
    taught = Tool("add_plant", "", {**(ADD.parameters or {}), KEY: hint})
    counts = []
    for part in (0.0, 0.9, 1.0):
        leading, model = _leading("chat")
        head = await leading.ahead(_ask(tools=(taught,)))
        model.ahead = int(len(head) * part)
        await _pieces(leading, _ask("do you like ferns", tools=(taught,)))
        counts.append(model.prompts[0].count("a fern, number"))
        assert model.prompts[0].startswith(head[: model.ahead]) or counts[-1] < 9
    assert counts[0] == 4
    assert counts[0] < counts[1] < counts[2] == 9


async def _pieces(leading: Leading, ask: Ask) -> list[Any]:
    return [piece async for piece in leading.answer(ask)]


async def test_a_tool_of_others_is_wished_for_by_its_name_and_its_words_are_the_persons() -> None:
    named = Tool("find_pot", "Find a pot.", _needs(size={"type": "string"}))
    leading, _ = _leading('find pot size="a big one"')
    called = await _answer(leading, _ask("find me a pot, a big one", tools=(ADD, named)))
    assert called.calls == [("find_pot", {"size": "a big one"})]


@pytest.mark.parametrize(
    ("schema", "said", "value"),
    [
        ({"type": "boolean"}, "on", True),
        ({"type": "boolean"}, "off", False),
        ({"type": "integer"}, "twenty five", 25),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "five", 5),
        ({"type": ["integer", "null"]}, "five", 5),
        ({"$ref": "#/$defs/Way"}, "the low one", "low"),
        ({"type": "string", "format": "date-time"}, "Friday at five", "2026-03-06T17:00:00+01:00"),
        ({"type": "string", "format": "date"}, "on Friday", "2026-03-06"),
        ({"type": "string"}, "Friday", "Friday"),
    ],
)
async def test_a_tool_of_others_gets_what_its_schema_takes(
    schema: dict[str, Any], said: str, value: object
) -> None:
    defs = {"Way": {"enum": ["low", "high"], "type": "string"}}
    lamp = Tool("lamp", "Set the lamp.", {**_needs(level=schema), "$defs": defs})
    leading, _ = _leading(f'lamp level="{said}"')
    called = await _answer(leading, _ask(f"set the lamp {said}", tools=(ADD, lamp)))
    assert called.calls == [("lamp", {"level": value})]


async def test_a_tool_of_others_asks_for_the_hour_only_where_it_takes_one() -> None:
    day = Tool("lamp", "Set the lamp.", _needs(at={"type": "string", "format": "date-time"}))
    leading, _ = _leading('lamp at="on Friday"')
    asked = await _answer(leading, _ask("set the lamp on Friday", tools=(ADD, day)))
    assert not asked.calls
    assert "time" in asked.text


async def test_arguments_that_nobody_can_say_are_written_by_the_model() -> None:
    listed = Tool("mix", "Mix soils.", _needs(parts={"type": "array", "items": {}}))
    leading, _ = _leading("mix")
    pieces = [piece async for piece in leading.answer(_ask("mix some soil", tools=(ADD, listed)))]
    assert pieces == [Write(listed)]


class _Reader:
    """Knows plants, and takes everything else for nothing."""

    def __init__(self, kind: str = "cannot") -> None:
        self.kind = kind

    def knows(self, wishes: Collection[str]) -> bool:
        return set(wishes) == {"plant"}

    async def read(self, said: str, *about: object) -> Read:
        if said.startswith("write down "):
            begin = len("write down ")
            slots = {"what": ((begin, len(said)),)}
            return Read((marked.Wish("plant", 0, len(said), slots),), 1.0)
        return Read((marked.Wish(self.kind, 0, len(said), {}),), 1.0)


class _Near:
    """How near everything is to each word that can be meant."""

    def __init__(self, **near: float) -> None:
        self.asked: Mapping[str, Sequence[str]] = {}
        self._near = near

    async def near(
        self, said: Sequence[str], lines: Mapping[str, Sequence[str]]
    ) -> dict[str, float]:
        self.asked = lines
        return {word: self._near.get(word.replace(" ", "_"), 0.1) for word in lines}


POT = Tool("find_pot", "Find a pot.", {"type": "object", "properties": {}})


def _read(near: _Near, reader: _Reader, *lines: str) -> tuple[Leading, _Model]:
    leading, model = _leading(*lines)
    leading._readers, leading._likeness = [reader], near  # type: ignore[list-item, assignment]
    return leading, model


async def test_a_reader_goes_on_beside_tools_of_others() -> None:
    near = _Near(plant=0.6)
    leading, model = _read(near, _Reader())
    called = await _answer(leading, _ask("write down the fern", tools=(ADD, POT)))
    assert called.calls == [("add_plant", {"title": "the fern"})]
    assert model.prompts == []
    assert near.asked["find pot"] == ["find pot", "Find a pot."]


@pytest.mark.parametrize(
    ("near", "said"),
    [({"find_pot": 0.3}, "is there a pot"), ({"find_pot": 0.9}, "write down pots")],
)
async def test_what_is_nearer_to_one_of_theirs_is_asked_of_the_model(
    near: dict[str, float], said: str
) -> None:
    leading, model = _read(_Near(plant=0.6, **near), _Reader(), "find pot")
    assert (await _answer(leading, _ask(said, tools=(ADD, POT)))).calls == [("find_pot", {})]
    assert model.prompts


async def test_what_is_near_to_none_of_theirs_is_left_to_the_reader() -> None:
    leading, model = _read(_Near(find_pot=0.2), _Reader())
    assert not (await _answer(leading, _ask("play some jazz", tools=(ADD, POT)))).calls
    assert model.prompts == []


async def test_the_answer_to_a_question_of_theirs_is_the_models_to_read() -> None:
    pot = Tool("find_pot", "Find a pot.", _needs(size={"type": "string"}))
    leading, _ = _read(_Near(find_pot=0.5), _Reader(), "find pot", 'set size="the big one"')
    asked = await _answer(leading, _ask("find a pot", tools=(ADD, pot)))
    assert "size" in asked.text
    talk = ("find a pot", Said("assistant", asked.text), "the big one")
    called = await _answer(leading, _ask(*talk, tools=(ADD, pot)))
    assert called.calls == [("find_pot", {"size": "the big one"})]


def _needs(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


async def test_an_order_that_the_model_passed_over_is_asked_about_once_more() -> None:
    leading, model = _leading('plant what="the fern"', 'plant what="the moss"')
    said = "write down the fern please, and then write down the moss"
    called = await _answer(leading, _ask(said))
    assert called.calls == [("add_plant", {"title": "the fern"})]
    assert len(model.prompts) == 2
    assert "Person: write down the moss" in model.prompts[-1]


async def test_each_wish_of_one_breath_is_asked_about_by_itself() -> None:
    leading, model = _leading('plant what="the fern"', 'plant what="the moss"')
    said = "on Monday at nine write down the fern, and on Friday at ten write down the moss"
    called = await _answer(leading, _ask(said))
    assert called.calls == [("add_plant", {"title": "the fern"})]
    assert [prompt.rpartition("Person: ")[2].partition("<")[0] for prompt in model.prompts] == [
        "on Monday at nine write down the fern",
        "on Friday at ten write down the moss",
    ]
    assert "moss" not in model.grammars[0]


async def test_the_other_of_two_is_of_the_same_kind() -> None:
    leading, model = _leading('plant what="the fern"', 'plant what="the moss"')
    said = "I have two for you, write down the fern, the other is, it's silly, the moss"
    await _answer(leading, _ask(said))
    assert "Person: the other is, it's silly, the moss" in model.prompts[-1]
    assert "start: (c0)" in model.grammars[-1]


# --- Lines that the model reads

READ = Tool(
    "read_file",
    "Reads a file.",
    {
        "type": "object",
        "properties": {"path": {"type": "string"}},
        KEY: {
            "flows": [
                {
                    "name": "tell_file",
                    "wish": "read",
                    "does": "tell",
                    "slots": {"file_path": {"name": "file"}},
                    "stages": [
                        {"do": "read_file", "given": {"path": "{file_path}"}, "read": "content"}
                    ],
                    "confirm": ["{told}"],
                }
            ]
        },
    },
)
ROTA = "week,person\nthis,Amira\nnext,Tomasz\n"


def _rota(said: str) -> Ask:
    call = Call("1", "read_file", json.dumps({"path": "rota.csv"}))
    return _ask(said, call, Result("1", ROTA), tools=(READ,))


async def test_the_model_answers_and_the_words_are_the_line_that_says_so() -> None:
    leading, model = _leading('read file="rota.csv"', "Amira")
    said = "who has the phone, according to rota.csv"
    await _answer(leading, _ask(said, tools=(READ,)))
    told = await _answer(leading, _rota(said))
    assert "this, Amira" in told.text
    assert "Tomasz" not in told.text
    assert "this,Amira" in model.prompts[-1]


async def test_questions_about_lines_are_read_ahead_where_some_are_asked() -> None:
    leading, model = _leading('read file="rota.csv"', "Barbara", "A")
    said = "who has the phone, according to rota.csv"
    await _answer(leading, _ask(said, tools=(READ,)))
    await _answer(leading, _rota(said))
    begun = leading.besides(_ask(tools=(READ,)))
    assert [text.startswith(begun) for text in model.prompts[-2:]] == [True, True]
    assert len(begun) == 3
    assert leading.besides(_ask()) == ()


async def test_where_no_line_has_the_answer_the_model_points_at_one() -> None:
    leading, model = _leading('read file="rota.csv"', "Barbara", "A")
    said = "who has the phone, according to rota.csv"
    await _answer(leading, _ask(said, tools=(READ,)))
    told = await _answer(leading, _rota(said))
    assert "Amira" in told.text
    assert "Tomasz" not in told.text
    assert "A this,Amira" in model.prompts[-1]
    assert said in model.prompts[-1]
    assert '"A"' in model.grammars[-1]


async def test_lines_are_read_once_whoever_asks_again() -> None:
    leading, model = _leading('read file="rota.csv"', "Tomasz")
    said = "who has the phone, according to rota.csv"
    await _answer(leading, _ask(said, tools=(READ,)))
    first = await _answer(leading, _rota(said))
    asked = len(model.prompts)
    assert (await _answer(leading, _rota(said))).text == first.text
    assert len(model.prompts) == asked


async def test_a_line_that_is_none_is_not_told() -> None:
    leading, _ = _leading('read file="rota.csv"', "none")
    said = "who has the phone, according to rota.csv"
    await _answer(leading, _ask(said, tools=(READ,)))
    told = await _answer(leading, _rota(said))
    assert told.text
    assert told.text.startswith("I don't find that")
