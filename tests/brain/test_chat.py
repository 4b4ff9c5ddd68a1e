"""A brain elsewhere: what is sent, what is made of the answer, and what is said when it fails."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from tests.brain.asking import Answer, answer, ask, returned
from tests.brain.chat_server import (
    DONE,
    ChatServer,
    Reply,
    call,
    data,
    event,
    refusal,
    serving,
    stream,
)
from vivavoce.brain.chat.brain import ChatBrain
from vivavoce.errors import BrainError
from vivavoce.wire.brain import Brain, Call, CallBegun, Finished, Result, Said, Tool, Words

HELLO = stream(event(role="assistant", content=""), event(content="Hello"), event(content=" you."))
CLOCK = Tool("clock", "Tells the time.", {"type": "object", "properties": {"zone": {}}})


@asynccontextmanager
async def brain_at(
    *replies: Reply, model: str = "m", **more: Any
) -> AsyncIterator[tuple[ChatBrain, ChatServer]]:
    async with serving(*replies) as server:
        brain = ChatBrain(server.url, model=model, **more)
        try:
            yield brain, server
        finally:
            await brain.close()


async def told(*lines: str, **more: Any) -> Answer:
    """What becomes of such an answer to someone who may use a clock and a lamp."""
    async with brain_at(stream(*lines, **more)) as (brain, _):
        return await answer(brain, ask("Hi.", tools=(CLOCK, "lamp")))


async def fault(*replies: Reply, **more: Any) -> BrainError:
    async with brain_at(*replies, **more) as (brain, _):
        with pytest.raises(BrainError) as raised:
            await answer(brain, ask("Hi.", tools=(CLOCK,)))
        return raised.value


# --- Words --------------------------------------------------------------------------


async def test_it_fills_the_port_and_streams_what_the_server_says() -> None:
    async with brain_at(HELLO) as (it, server):
        brain: Brain = it
        said = await answer(brain, ask("Hi."))
        await brain.warm(ask("Hi."))
        brain.forget("someone")
        assert (brain.name, brain.budget.context_tokens) == ("m", 8_000)
        assert brain.count("twelve chars") == 3
    assert said.pieces[:-1] == [Words("Hello"), Words(" you.")]
    assert said.end.reason == "stop"
    assert server.paths == ["/v1/chat/completions", "/v1/models"]  # how much does it read?


@pytest.mark.parametrize(
    ("listed", "tokens"),
    [
        ({"id": "m", "max_model_len": 32_768}, 32_768),  # vLLM
        ({"id": "m", "meta": {"n_ctx": 16_384}}, 16_384),  # llama.cpp
        ({"id": "m", "context_length": "many"}, 8_000),
        ({"id": "other", "context_length": 9_000, "max_model_len": -1}, 9_000),
    ],
)
async def test_it_asks_its_server_once_how_much_the_model_reads(
    listed: dict[str, object], tokens: int
) -> None:
    models = Reply(lines=(json.dumps({"data": [listed]}),), kind="application/json")
    async with brain_at(models) as (brain, server):
        assert brain.budget.context_tokens == 8_000
        await brain.warm(ask("Hi."))
        await brain.warm(ask("Hi."))
        assert brain.budget.context_tokens == tokens
        assert server.paths == ["/v1/models"]


async def test_what_the_operator_says_of_the_window_counts_and_nobody_is_asked() -> None:
    async with brain_at(HELLO, context_tokens=20_000) as (brain, server):
        await brain.warm(ask("Hi."))
        assert brain.budget.context_tokens == 20_000
        assert server.paths == []


async def test_models_that_are_known_by_name_need_not_be_listed() -> None:
    async with brain_at(HELLO, model="openai/gpt-4o-mini") as (brain, _):
        assert brain.budget.context_tokens == 128_000


async def test_one_connection_serves_many_questions() -> None:
    async with brain_at(HELLO) as (brain, server):
        for _ in range(3):
            await answer(brain, ask("Hi."))
        assert server.connections == 1


async def test_the_servers_own_count_is_told_and_a_guess_where_it_has_none() -> None:
    counted = {
        "prompt_tokens": 40,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 32},
    }
    lines = (event(content="Hello."), event(finish_reason="stop"))
    usage = data({"choices": [], "usage": counted})
    async with brain_at(Reply(lines=(*lines, usage, DONE))) as (brain, server):
        assert (await answer(brain, ask("Hi."))).end == Finished("stop", 40, 32, 5)
        assert server.asked[0]["stream_options"] == {"include_usage": True}
    guessed = (await told(event(content="Hello."))).end
    assert guessed.input_tokens > 10
    assert guessed.output_tokens == 2


@pytest.mark.parametrize(
    ("reason", "ours"),
    [
        ("stop", "stop"),
        ("tool_calls", "stop"),
        ("eos", "stop"),
        ("length", "length"),
        ("content_filter", "content_filter"),
    ],
)
async def test_why_it_stopped_is_told_in_our_words(reason: str, ours: str) -> None:
    assert (await told(event(content="So"), reason=reason)).end.reason == ours


@pytest.mark.parametrize(
    ("pieces", "heard"),
    [
        (("<think>Hm, ", "let me see.</think>\n\nHello."), "Hello."),
        (("<thi", "nk>a < b</th", "ink>", "Hi."), "Hi."),
        (("<thinking>never ends",), ""),
        (("</think>\n\nHello.",), "Hello."),
        (("Two < three", " and <b>bold</b>", " <"), "Two < three and <b>bold</b> <"),
        (("Good", "bye.<|im_", "end|>"), "Goodbye."),
        (("a <| b", " |> c"), "a <| b |> c"),
        (("  Hello.\n", "  World."), "Hello.\n  World."),
    ],
)
async def test_thoughts_and_control_tokens_are_not_said(pieces: Any, heard: str) -> None:
    assert (await told(*(event(content=piece) for piece in pieces))).text == heard


async def test_thoughts_in_a_field_of_their_own_are_not_said() -> None:
    said = await told(event(reasoning_content="Hm."), event(reasoning="Hm."), event(content="Yes."))
    assert said.text == "Yes."


async def test_a_server_that_does_not_stream_is_understood() -> None:
    whole = '{"choices": [{"message": {"content": "Hello."}, "finish_reason": "stop"}]}'
    async with brain_at(Reply(lines=(whole,), kind="application/json")) as (brain, _):
        assert (await answer(brain, ask("Hi."))).text == "Hello."


async def test_events_may_be_cut_anywhere_and_hold_any_character() -> None:
    text = event(content="Grüße\u2028und\x85mehr")
    pieces = [text[at : at + 3] for at in range(0, len(text), 3)]
    assert (await told(": a comment\n\n", *pieces)).text == "Grüße\u2028und\x85mehr"


async def test_a_mark_at_the_end_is_an_end_without_a_reason() -> None:
    async with brain_at(Reply(lines=(event(content="Hello."), DONE))) as (brain, _):
        assert (await answer(brain, ask("Hi."))).end.reason == "stop"


# --- Calls --------------------------------------------------------------------------


async def test_a_call_in_pieces_is_told_in_pieces() -> None:
    said = await told(
        event(content="Let me look."),
        call(0, id="c1", name="clock", arguments=""),
        call(0, arguments='{"zone": '),
        call(0, arguments='"Rome"}'),
        reason="tool_calls",
    )
    assert said.text == "Let me look."
    assert CallBegun("c1", "clock") in said.pieces
    assert said.calls == [("clock", {"zone": "Rome"})]


@pytest.mark.parametrize(
    "lines",
    [
        # As OpenAI does it.
        (
            call(0, id="a", name="clock", arguments=""),
            call(0, arguments='{"zone": 1}'),
            call(1, id="b", name="lamp", arguments=""),
            call(1, arguments="{}"),
        ),
        # Whole, and every one the first.
        (
            call(0, id="a", name="clock", arguments='{"zone": 1}'),
            call(0, id="b", name="lamp", arguments="{}"),
        ),
        # Without ids and numbers.
        (
            call(None, name="clock", arguments='{"zone": 1}'),
            call(None, name="lamp", arguments=""),
        ),
        # With the object itself.
        (call(0, name="clock", arguments={"zone": 1}), call(1, name="lamp", arguments={})),
        # Name and id in each piece.
        (
            call(0, id="a", name="clock", arguments='{"zone"'),
            call(0, id="a", name="clock", arguments=": 1}"),
            call(1, id="b", name="lamp", arguments=None),
        ),
        # As the model wrote them, when the server does not know its format.
        (
            event(content='<tool_call>\n{"name": "clock", "argum'),
            event(content='ents": {"zone": 1}}\n</tool_call>\n<tool_call>{"name": "lamp"}'),
            event(content="</tool_call>"),
        ),
        # Bare, in a fence, doubled, and again and again.
        (
            event(content='{"name": "clock", "arguments": {"zo'),
            event(content='ne": 1}}\n{"name": "lamp", "arguments": {}}\n{"na'),
        ),
        (
            event(content='```json\n{"name": "clock", "arguments": {"zone": 1}}\n```\n'),
            event(content='```json\n{"name": "lamp", "parameters": {}}\n```\n\n\n'),
        ),
        (
            event(content='<tool_call>{{"name": "clock", "arguments": {{"zone": 1}}}}</tool_call>'),
            call(0, id="b", name="lamp", arguments="{}"),
        ),
    ],
)
async def test_calls_are_understood_however_a_server_sends_them(lines: Any) -> None:
    said = await told(*lines, reason="tool_calls")
    assert said.calls == [("clock", {"zone": 1}), ("lamp", {})]
    ids = [piece.call_id for piece in said.pieces if isinstance(piece, CallBegun)]
    assert all(ids)
    assert len(set(ids)) == 2
    assert not said.text.strip()


@pytest.mark.parametrize(
    "text", ['{"name": "Ann", "age": 7}', "```python\nprint(1)\n```", "`ls` lists.", "{", "`"]
)
async def test_an_answer_that_only_begins_like_a_call_is_said(text: str) -> None:
    assert (await told(*(event(content=letter) for letter in text))).text == text


async def test_a_call_that_is_cut_at_the_limit_is_not_whole() -> None:
    said = await told(call(0, id="c", name="clock", arguments='{"zo'), reason="length")
    assert said.calls == []
    assert said.end.reason == "length"


@pytest.mark.parametrize("written", ["no JSON", '{"name": "bomb"}', "[]"])
async def test_what_only_looks_like_a_call_is_neither_called_nor_said(written: str) -> None:
    said = await told(event(content=f"Hm. <tool_call>{written}</tool_call>"))
    assert said.calls == []
    assert said.text == "Hm. "


async def test_who_may_call_once_or_never_does_so_whatever_the_server_sends() -> None:
    two = stream(call(0, id="a", name="clock", arguments="{}"), call(1, id="b", name="lamp"))
    async with brain_at(two) as (brain, server):
        once = await answer(brain, ask("Hi.", tools=(CLOCK,), parallel_calls=False))
        never = await answer(brain, ask("Hi.", tools=(CLOCK,), tool_choice="none"))
        assert server.asked[0]["parallel_tool_calls"] is False
        assert "tools" not in server.asked[1]
    assert [name for name, _ in once.calls] == ["clock"]
    assert never.calls == []


# --- What is asked ------------------------------------------------------------------


async def asked_of(question: Any) -> dict[str, Any]:
    async with brain_at(HELLO) as (brain, server):
        await answer(brain, question)
        return server.asked[0]


async def test_tools_their_choice_and_the_limit_are_asked_as_the_protocol_has_them() -> None:
    sent = await asked_of(ask("Hi.", tools=(CLOCK, "lamp"), max_tokens=9))
    assert (sent["model"], sent["stream"], sent["max_tokens"]) == ("m", True, 9)
    assert (sent["tool_choice"], sent["parallel_tool_calls"]) == ("auto", True)
    clock, lamp = (tool["function"] for tool in sent["tools"])
    assert clock["description"] == "Tells the time."
    assert lamp == {"name": "lamp", "parameters": {"type": "object", "properties": {}}}
    forced = await asked_of(ask("Hi.", tools=(CLOCK,), tool_choice="function:clock"))
    assert forced["tool_choice"] == {"type": "function", "function": {"name": "clock"}}
    assert "tools" not in await asked_of(ask("Hi."))


async def test_words_said_while_a_tool_runs_are_not_taken_for_the_answer() -> None:
    call = Call("a", "clock", "{}")
    turns = ("Time?", call, Said("assistant", "One moment."), Result("a", "Noon."))
    sent = (await asked_of(ask(*turns)))["messages"]
    assert [(m["role"], m["content"]) for m in sent] == [
        ("user", "Time?"),
        ("assistant", "One moment."),
        ("tool", "Noon."),
    ]
    asked = (*turns[:3], "Hurry up.", Said("assistant", "I do."), turns[3])
    sent = (await asked_of(ask(*asked)))["messages"]
    assert [m["content"] for m in sent][-2:] == ["Hurry up.", "I do."]


async def test_a_result_stands_right_behind_its_call_even_if_it_came_late() -> None:
    turns = (
        "Time?",
        Said("assistant", "Let me look."),
        Call("a", "clock", ""),
        Call("b", "lamp", "{}"),
        "Hurry up.",
        Said("assistant", " "),
        Result("a", "Noon."),
        *returned("lamp", "On.", "c"),
        Result("x", "Of a call long forgotten."),
    )
    sent = (await asked_of(ask(*turns)))["messages"]
    assert [(m["role"], m["content"]) for m in sent] == [
        ("user", "Time?"),
        ("assistant", "Let me look."),
        ("tool", "Noon."),
        ("tool", "There is no result yet."),
        ("user", "Hurry up."),
        ("assistant", None),
        ("tool", "On."),
    ]
    assert [made["id"] for made in sent[1]["tool_calls"]] == ["a", "b"]
    assert sent[1]["tool_calls"][0]["function"] == {"name": "clock", "arguments": "{}"}


@pytest.mark.parametrize(
    ("words", "field"),
    [
        ("Unknown field stream_options", "stream_options"),
        ("parallel_tool_calls is not supported", "parallel_tool_calls"),
        ("extra inputs: tool_choice", "tool_choice"),
        ("Use 'max_completion_tokens' instead of 'max_tokens'.", "max_tokens"),
    ],
)
async def test_a_field_that_a_server_refuses_is_left_out_from_then_on(
    words: str, field: str
) -> None:
    question = ask("Hi.", tools=(CLOCK,), max_tokens=9)
    async with brain_at(refusal(400, words), HELLO) as (brain, server):
        assert (await answer(brain, question)).text == "Hello you."
        await answer(brain, question)
        assert [field in sent for sent in server.asked] == [True, False, False]


async def test_without_a_name_the_only_model_is_asked_for() -> None:
    listed = Reply(lines=('{"data": [{"id": "only"}]}',), kind="application/json")
    async with brain_at(listed, HELLO, model="") as (brain, server):
        await answer(brain, ask("Hi."))
        await answer(brain, ask("Hi."))
        assert brain.name == "only"
        assert server.paths == ["/v1/models"] + 2 * ["/v1/chat/completions"]
        assert server.asked[-1]["model"] == "only"
    listed = Reply(lines=('{"data": [{"id": "a"}, {"id": "b"}]}',), kind="application/json")
    assert "2 language models" in (await fault(listed, model="")).message


# --- Faults -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (refusal(401, "Incorrect API key provided: sk-se**ret"), "does not accept the key"),
        (refusal(404, "The model `m` does not exist"), "has no language model 'm'"),
        (Reply(404, ("<html>not here</html>",), "text/html"), "no chat server at that address"),
        (refusal(429, "Slow down."), "too much to do"),
        (refusal(429, "x", code="insufficient_quota"), "used up"),
        (refusal(400, "x", code="context_length_exceeded"), "conversation is too long"),
        (refusal(400, "the request exceeds the available context size"), "too long"),
        (refusal(503, "Loading model"), "still being loaded"),
        (refusal(400, "bad sk-secret"), "refused the question (400): bad …"),
        (Reply(502, ("<html>",), "text/html"), "failed (502)."),
        (Reply(lines=(data({"error": {"message": "out of memory"}}),)), "(500): out of memory"),
        (Reply(lines=('error: {"code": 500, "message": "no slot"}\n',)), "(500): no slot"),
        (Reply(lines=("data: {\n\n",)), "cannot be read"),
        (Reply(lines=("data: 7\n\n",)), "cannot be read"),
        (Reply(lines=(event(content="Hel"),)), "in the middle"),
        (Reply(lines=(event(content="Hel"),), cut=True), "in the middle"),
    ],
)
async def test_what_goes_wrong_is_told_in_words_that_a_user_understands(
    reply: Reply, words: str
) -> None:
    told = await fault(reply, key="sk-secret")
    assert words in told.message
    assert "127.0.0.1" not in told.message


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (refusal(401, "Incorrect API key"), "invalid_api_key"),
        (refusal(429, "Slow down."), "rate_limit_exceeded"),
        (refusal(429, "x", code="insufficient_quota"), "insufficient_quota"),
        (refusal(400, "x", code="context_length_exceeded"), "context_length_exceeded"),
        (refusal(500, "x"), "engine_error"),
    ],
)
async def test_what_goes_wrong_has_the_code_that_says_what_can_be_done(
    reply: Reply, code: str
) -> None:
    assert (await fault(reply)).code == code


async def test_a_busy_server_says_when_to_come_back() -> None:
    assert (await fault(refusal(429, "x", headers={"Retry-After": "2"}))).retry_after_ms == 2000
    later = {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}
    assert (await fault(refusal(429, "x", headers=later))).retry_after_ms is None


async def test_nobody_there_is_told_at_once(caplog: pytest.LogCaptureFixture) -> None:
    brain = ChatBrain("http://127.0.0.1:9/v1", model="m", key="sk-secret")
    with caplog.at_level(logging.DEBUG), pytest.raises(BrainError, match="cannot be reached"):
        await answer(brain, ask("Hi."))
    await brain.close()
    assert "sk-secret" not in caplog.text + str([vars(record) for record in caplog.records])


async def test_a_connection_that_was_closed_meanwhile_is_opened_again() -> None:
    shut = Reply(lines=HELLO.lines, headers={"Connection": "keep-alive"}, cut=True)
    async with brain_at(shut, HELLO) as (brain, server):
        for _ in range(2):
            assert (await answer(brain, ask("Hi."))).text == "Hello you."
        assert server.connections == 2


async def test_a_server_that_falls_silent_is_given_up() -> None:
    stuck = Reply(lines=(event(content="Hel"),), hangs=True)
    assert "in time" in (await fault(stuck, patience=0.05)).message


async def test_closing_the_answer_hangs_up() -> None:
    async with brain_at(Reply(lines=(event(content="Once"),), hangs=True)) as (brain, server):
        async with aclosing(brain.answer(ask("A story."))) as pieces:
            assert await anext(pieces) == Words("Once")
        async with asyncio.timeout(5):
            await server.gone.wait()


async def test_the_key_is_sent_and_an_impossible_one_is_refused_without_repeating_it() -> None:
    async with brain_at(HELLO, key="sk-secret") as (brain, server):
        await answer(brain, ask("Hi."))
        assert server.keys == ["bearer sk-secret"]
    with pytest.raises(BrainError) as raised:
        ChatBrain("http://127.0.0.1:9/v1", key="sk\nsecret")
    assert "secret" not in raised.value.message
