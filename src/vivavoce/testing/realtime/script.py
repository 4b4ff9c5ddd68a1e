"""What a scripted provider plays on a call, step by step.

A step is one thing that `ScriptedCall` can do; the functions below make them:

    Script([
        expect("session.update"),
        user_says("What time is it?"),
        assistant_says("It's 2:30 PM."),
    ])
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vivavoce.testing.realtime.call import ScriptedCall, Where
from vivavoce.testing.realtime.conversation import Transcript
from vivavoce.testing.realtime.faults import CallFault
from vivavoce.testing.realtime.response import ToolUse


@dataclass(frozen=True, slots=True)
class Step:
    """`name` is what a failure shows."""

    name: str
    play: Callable[[ScriptedCall], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Script:
    """Played on every call from the moment its first sideband is attached.

    With `defaults` the provider also answers by itself what clients send, as
    it does without a script. Each `expect` waits at most `timeout` seconds. A
    script that is not through when the provider is closed fails the test.
    """

    steps: Sequence[Step] = ()
    defaults: bool = True
    timeout: float = 5.0


def expect(kind: str, where: Where | None = None) -> Step:
    """Wait for the client to send this."""
    return Step(f"expect {kind}", lambda call: call.expect(kind, where=where))


def emit(*events: Mapping[str, Any]) -> Step:
    """Send these as they are; an `event_id` is added where there is none."""
    kinds = ", ".join(str(event.get("type")) for event in events)
    return Step(f"emit {kinds}", lambda call: call.emit(*events))


def session_updated(patch: Mapping[str, Any] | None = None) -> Step:
    return Step("session_updated", lambda call: call.session_updated(patch))


def user_says(text: str, *, transcript: Transcript = "now", heard_ms: int | None = None) -> Step:
    def play(call: ScriptedCall) -> Awaitable[object]:
        return call.user_says(text, transcript=transcript, heard_ms=heard_ms)

    return Step(f"user_says {text!r}", play)


def transcripts_arrive() -> Step:
    """All that are still to come."""
    return Step("transcripts_arrive", lambda call: call.transcripts_arrive())


def assistant_says(text: str, *, played: bool = True) -> Step:
    return Step(f"assistant_says {text!r}", lambda call: call.assistant_says(text, played=played))


def assistant_starts(text: str) -> Step:
    return Step(f"assistant_starts {text!r}", lambda call: call.assistant_starts(text))


def assistant_finishes(*, played: bool = True) -> Step:
    return Step("assistant_finishes", lambda call: call.assistant_finishes(played=played))


def playback_ends() -> Step:
    return Step("playback_ends", lambda call: call.playback_ends())


def calls_tool(
    name: str,
    arguments: Mapping[str, Any] | str | None = None,
    call_id: str | None = None,
    *,
    saying: str | None = None,
) -> Step:
    """One response with one call; `arguments` may be a string that is no JSON."""
    return calls_tools(
        ToolUse(name, {} if arguments is None else arguments, call_id), saying=saying
    )


def calls_tools(*calls: ToolUse, saying: str | None = None) -> Step:
    """One response with several calls."""
    names = ", ".join(call.name for call in calls)
    return Step(f"calls_tools {names}", lambda call: call.calls_tools(*calls, saying=saying))


def peer_sends(event: Mapping[str, Any]) -> Step:
    """The browser sends this over its data channel."""
    return Step(f"peer_sends {event.get('type')}", lambda call: call.peer_sends(event))


def browser_hangs_up() -> Step:
    return Step("browser_hangs_up", lambda call: call.browser_hangs_up())


def misbehave(fault: CallFault) -> Step:
    return Step(f"misbehave {fault}", lambda call: call.inject(fault))
