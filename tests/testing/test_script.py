"""Scripts: steps that a `ScriptedProvider` plays, and what it says when they fail."""

from __future__ import annotations

from typing import Any

import pytest

from tests.provider_lines import SESSION, connected, new_call, next_event, until_closed
from vivavoce.testing import ManualClock, Script, ScriptedProvider, ToolUse
from vivavoce.testing.realtime.faults import Delay, Reorder
from vivavoce.testing.realtime.script import (
    assistant_says,
    browser_hangs_up,
    calls_tool,
    calls_tools,
    emit,
    expect,
    misbehave,
    peer_sends,
    session_updated,
    transcripts_arrive,
    user_says,
)


async def test_a_script_is_played_to_its_end() -> None:
    output = {"item": {"type": "function_call_output", "call_id": "call_1"}}
    script = Script(
        [
            expect("session.update", where={"session": {"instructions": "Be brief."}}),
            user_says("What time is it, and where am I?", transcript="late"),
            calls_tool("current_time", {"zone": "UTC"}, "call_1"),
            expect("conversation.item.create", where=output),
            expect("response.create"),
            assistant_says("It's 2:30 PM."),
            transcripts_arrive(),
            calls_tools(ToolUse("a"), ToolUse("b"), saying="Both."),
            emit({"type": "rate_limits.updated", "rate_limits": []}),
            browser_hangs_up(),
        ]
    )
    async with ScriptedProvider(script) as fake, connected(fake) as provider:
        line = await provider.attach((await new_call(provider)).call_id)
        call = await fake.next_call()
        await line.send({"type": "session.update", "session": SESSION})
        while (await next_event(line))["type"] != "response.done":
            pass
        item = {"type": "function_call_output", "call_id": "call_1", "output": "14:30"}
        await line.send({"type": "conversation.item.create", "item": item})
        await line.send({"type": "response.create"})
        await fake.finished(call)
        assert (await until_closed(line)).hung_up
        transcripts = [e for e in call.emitted if e["type"].endswith("transcription.completed")]
        assert [e["transcript"] for e in transcripts] == ["What time is it, and where am I?"]


async def test_a_script_without_defaults_answers_nothing_by_itself() -> None:
    steps = [expect("session.update"), session_updated({"instructions": "Mine."})]
    async with ScriptedProvider(Script(steps, defaults=False)) as fake, connected(fake) as provider:
        line = await provider.attach((await new_call(provider)).call_id)
        await line.send({"type": "session.update", "session": SESSION})
        assert (await next_event(line))["session"]["instructions"] == "Mine."
        call = await fake.next_call()
        assert [event["type"] for event in call.emitted] == ["session.updated"]
        await line.close()


async def play(script: Script, *frames: dict[str, Any]) -> None:
    """A client that sends these and hangs on until the script is through, or not."""
    async with ScriptedProvider(script) as fake, connected(fake) as provider:
        line = await provider.attach((await new_call(provider)).call_id)
        try:
            call = await fake.next_call()
            await call.attached()
            for frame in frames:
                await line.send(frame)
                await call.expect(frame["type"])
            if script.timeout < 1:
                await fake.finished(call)
        finally:
            await line.close()


async def test_a_step_that_fails_is_named_with_what_was_received() -> None:
    script = Script([user_says("Hi"), expect("response.create")], timeout=0.05)
    with pytest.raises(AssertionError) as caught:
        await play(script, {"type": "session.update", "session": SESSION})
    assert "expected response.create" in str(caught.value)
    assert '1. {"type": "session.update"' in str(caught.value)
    assert caught.value.__notes__ == ["in step 2: expect response.create"]


async def test_a_script_that_is_not_through_fails_the_test() -> None:
    with pytest.raises(AssertionError, match=r"not played to its end: rtc_\w+ at step 1: expect"):
        await play(Script([expect("response.create")]))


async def test_the_error_of_the_test_itself_comes_first() -> None:
    with pytest.raises(KeyError):
        await play(Script([expect("response.create")]), {"no type": "at all"})


async def test_events_can_come_out_of_order() -> None:
    script = Script([misbehave(Reorder(3)), *(emit({"type": kind}) for kind in "abcd")])
    async with ScriptedProvider(script) as fake, connected(fake) as provider:
        line = await provider.attach((await new_call(provider)).call_id)
        assert [(await next_event(line))["type"] for _ in range(4)] == ["c", "b", "a", "d"]
        await line.close()


async def test_events_can_come_late() -> None:
    clock = ManualClock()
    script = Script([misbehave(Delay(30)), emit({"type": "late"})])
    async with ScriptedProvider(script, clock=clock) as fake, connected(fake) as provider:
        line = await provider.attach((await new_call(provider)).call_id)
        await clock.waiting()
        assert (await fake.next_call()).emitted == []
        await clock.advance(30)
        assert (await next_event(line))["type"] == "late"
        await line.close()


async def test_a_script_can_have_the_browser_meddle() -> None:
    update = {"type": "session.update", "session": {**SESSION, "instructions": "Obey."}}
    async with ScriptedProvider(Script([peer_sends(update)])) as fake, connected(fake) as provider:
        line = await provider.attach((await new_call(provider)).call_id)
        assert (await next_event(line))["session"]["instructions"] == "Obey."
        await line.close()
