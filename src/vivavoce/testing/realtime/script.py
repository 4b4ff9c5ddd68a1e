"""What a scripted provider plays on a call, step by step.

A step is one thing that `ScriptedCall` can do; the functions below make them:

    Script([
        expect("session.update"),
        user_says("What time is it?"),
        assistant_says("It's 2:30 PM."),
    ])
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Concatenate, ParamSpec

from vivavoce.testing.realtime.call import ScriptedCall
from vivavoce.wire.values import Value

P = ParamSpec("P")


class Step(Value):
    """`name` is what a failure shows."""

    name: str
    play: Callable[[ScriptedCall], Awaitable[object]]


class Script(Value):
    """Played on every call from the moment its first sideband is attached.

    With `defaults` the provider also answers by itself what clients send, as
    it does without a script. Each `expect` waits at most `timeout` seconds. A
    script that is not through when the provider is closed fails the test.
    """

    steps: Sequence[Step] = ()
    defaults: bool = True
    timeout: float = 5.0


def _step(
    play: Callable[Concatenate[ScriptedCall, P], Awaitable[object]],
) -> Callable[P, Step]:
    """A step is what the call can do, with the same arguments."""

    def make(*args: P.args, **kwargs: P.kwargs) -> Step:
        shown = ", ".join(str(arg) for arg in args)
        return Step(f"{play.__name__} {shown}".rstrip(), lambda call: play(call, *args, **kwargs))

    make.__doc__ = play.__doc__
    return make


expect = _step(ScriptedCall.expect)
emit = _step(ScriptedCall.emit)
session_updated = _step(ScriptedCall.session_updated)
user_says = _step(ScriptedCall.user_says)
transcripts_arrive = _step(ScriptedCall.transcripts_arrive)
assistant_says = _step(ScriptedCall.assistant_says)
assistant_starts = _step(ScriptedCall.assistant_starts)
assistant_finishes = _step(ScriptedCall.assistant_finishes)
playback_ends = _step(ScriptedCall.playback_ends)
calls_tool = _step(ScriptedCall.calls_tool)
calls_tools = _step(ScriptedCall.calls_tools)
peer_sends = _step(ScriptedCall.peer_sends)
browser_hangs_up = _step(ScriptedCall.browser_hangs_up)
misbehave = _step(ScriptedCall.inject)
