"""The state in words, for whoever draws it. No I/O; the time is given."""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from vivavoce.cli.talk.core.state import Approval, State

Situation = Literal[
    "loading",
    "connecting",
    "listening",
    "hearing",
    "thinking",
    "speaking",
    "tool",
    "reconnecting",
    "leaving",
    "ended",
    "failed",
]

_VOICES: dict[str, Situation] = {
    "disconnected": "connecting",
    "initializing": "connecting",
    "ready": "listening",
    "listening": "hearing",
    "processing": "thinking",
    "speaking": "speaking",
    "executing_tool": "tool",
    "waiting_task": "listening",
    "reconnecting": "reconnecting",
    "terminated": "ended",
}


def situation(state: State) -> Situation:
    if state.stage != "live":
        return state.stage
    if not state.streaming:
        return "reconnecting"
    if state.mode == "text" and state.voice in ("disconnected", "initializing", "terminated"):
        return "listening"  # a written session comes with the first words, and ends by itself
    now = _VOICES.get(state.voice, "listening")
    # The server only reckons when the sound ends that is played here.
    return "speaking" if now == "listening" and state.sounding else now


def may_speak(state: State) -> bool:
    """Does it listen, with nothing on its mind? A question for a yes waits for an answer too."""
    if state.sounding or state.stage != "live":
        return False
    now = situation(state)
    return now == "listening" or (now == "tool" and bool(state.approvals))


def at_rest(state: State) -> bool:
    """Nothing is under way and nothing is asked: whoever has no more to say may leave."""
    busy = state.tools or state.approvals or any(line.pending for line in state.lines)
    if state.mode == "text":  # its session may begin a moment after the words
        said = [line for line in state.lines if line.kind in ("user", "assistant")]
        busy = busy or (bool(said) and (said[-1].kind == "user" or not said[-1].done))
    return may_speak(state) and not busy


def words(state: State) -> str:
    match situation(state):
        case "loading":
            return state.loading or "One moment"
        case "connecting":
            return "Connecting"
        case "listening":
            return _listening(state)
        case "hearing":
            return "You speak"
        case "thinking":
            return "Thinking"
        case "speaking":
            return "Speaking"
        case "tool":
            running = _running(state)
            if running:
                return f"Running {running}"
            return "Waiting for your yes" if state.approvals else "Running a tool"
        case "reconnecting":
            return "Connection lost, reconnecting"
        case "leaving":
            return "Hanging up"
        case "ended" | "failed":
            return state.ending.words if state.ending else "The conversation has ended."


def _listening(state: State) -> str:
    if state.mode == "text":
        return "Ready: write something"
    base = "Listening"
    if state.muted:
        base = "Muted"
    elif state.held:
        base = "Hold space to talk"
    running = _running(state)
    return f"{base}, while {running} runs" if running else base


def _running(state: State) -> str:
    """Those that run: one that waits for a yes does not."""
    asking = {one.call_id for one in state.approvals}
    return ", ".join(
        one.name if one.percentage is None else f"{one.name} ({one.percentage:.0f} %)"
        for one in state.tools
        if one.call_id not in asking
    )


# --- Approvals --------------------------------------------------------------------


def argument_rows(given: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Every argument, whole. What is not text is shown as JSON."""
    return [
        (
            visible(name),
            visible(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)),
        )
        for name, value in given.items()
    ]


def visible(text: str) -> str:
    """What has no shape of its own could hide in what is approved, and what steers a terminal
    could draw over it: both are spelt out."""
    return "".join(_spelt(sign) for sign in text)


_FILLERS = "\u115f\u1160\u3164\uffa0"


_KEPT = "\n\t\u200c\u200d"
"""The joiners too: scripts and pictures are written with them."""


def _hidden(sign: str) -> bool:
    return unicodedata.category(sign) in ("Cf", "Cc", "Zl", "Zp") or sign in _FILLERS


def _spelt(sign: str) -> str:
    return f"\\u{{{ord(sign):04x}}}" if sign not in "\n\t" and _hidden(sign) else sign


def harmless(text: str) -> str:
    """Words of others for a terminal: without what would steer it, turn their order round or hide
    in them."""
    return "".join(sign for sign in text if sign in _KEPT or not _hidden(sign))


def seconds_left(approval: Approval, now: datetime) -> int | None:
    """Until nobody's answer counts as a no."""
    try:
        end = datetime.fromisoformat(approval.expires_at.replace("Z", "+00:00"))
    except ValueError:
        return None
    return max(0, math.ceil((end - now.astimezone(UTC)).total_seconds()))


# --- The end ----------------------------------------------------------------------

_EXPIRED = {
    "idle": "Ended, since nobody said a word for a while.",
    "cap": "Ended: it was as long as it may be.",
    "never connected": "Ended: no call came about.",
}
_ENDED = {
    "user_ended": "You hung up.",
    "taken_over": "It goes on in another window or on another device.",
    "completed": "Ended: the server was shut down.",
    "budget": "Ended: the day's budget is used up.",
    "timeout": "Ended: the time was over.",
}


def ended_words(reason: str, expired: str | None) -> str:
    return _EXPIRED.get(expired or "") or _ENDED.get(reason) or f"Ended: {reason}."
