"""One question and its answer, and what the times of it were.

Three figures after the end of speech: the first sound at all; the first sound
of the answer's own words, an acknowledgement ("One moment.") and what is said
before a call of a tool apart; and, stricter, the first word of content, after
an opening such as "Sure,". Where something stands in front, its end in the
sound is estimated by its share of the letters, and moved to the nearest pause.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.engine.client import LOUD, PIECE, Frame, Gap, Json, Line
from bench.engine.questions import Question

TURN_SECONDS = 60.0
_PAUSE = 0.08
_SNAP = 0.4

_LITTLE = r"(?:a|one) (?:moment|second|minute|sec)"
ACKNOWLEDGEMENT = re.compile(
    rf"\s*(?:{_LITTLE}(?: please)?|just {_LITTLE}|give me {_LITTLE}|hold on|hang on|hmm|"
    r"let me (?:see|check|think|look)[^.,!?…]*|still (?:working|thinking|looking)[^.,!?…]*|"
    r"bear with me)[.,!…]+\s*",
    re.IGNORECASE,
)
"""The engine's manners, and what models say of themselves."""
OPENING = re.compile(
    r"\s*(?:sure(?: thing)?|ok|okay|of course|certainly|absolutely|well|great(?: question)?|"
    r"all ?right|right|got it|i see|definitely|happy to help)[.,!…:]+\s*",
    re.IGNORECASE,
)
UNHEARD = re.compile(r"didn[’']t catch that|trouble hearing you", re.IGNORECASE)


class NoAnswer(Exception):
    """The turn did not come to an end in time, or the line went down."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Milliseconds after the end of speech. `marks` are the server's events on our clock."""

    question: str
    heard: str
    said: str
    first_sound: float
    own_words: float
    content: float
    marks: Mapping[str, float]
    called: bool
    acknowledged: bool
    cut_in: bool
    """The turn was taken before the speech was over."""
    understood: bool
    gaps: tuple[Gap, ...]


@dataclass
class _Answer:
    """What the events of a turn come to."""

    before: str = ""
    """Said in responses that called a tool."""
    said: str = ""
    heard: str = ""
    called: bool = False
    cut_in: bool = False
    marks: dict[str, float] = field(default_factory=dict)
    final: str = ""
    """The id of the response that answers."""


MARKS = {
    "input_audio_buffer.speech_stopped": "turn over",
    "conversation.item.input_audio_transcription.completed": "transcript",
    "response.created": "response",
    "response.output_audio_transcript.delta": "first text",
    "response.output_audio.delta": "first audio",
    "output_audio_buffer.started": "first audio",
}


async def ask(
    line: Line, question: Question, results: Mapping[str, str] | None, patience: float | None = None
) -> Turn:
    """Say it, hear the whole answer. `results` are those of tools; None, where the server calls
    them itself. Raises `NoAnswer`."""
    line.clear()
    line.mic.say(question)
    began = time.monotonic()
    while line.mic.speaking or time.monotonic() < line.mic.ended:
        _up(line)
        await asyncio.sleep(0.01)
    answer, seen = _Answer(), 0
    limit = began + (patience or TURN_SECONDS)
    while not (answer.final and line.heard(answer.final)):
        for at, event in line.events[seen:]:
            _take(answer, at, event, line, results)
        seen = len(line.events)
        _up(line)
        if time.monotonic() > limit:
            kinds = [event["type"] for _, event in line.events]
            raise NoAnswer(f"no answer to {question.text!r}; saw {kinds[-12:]}")
        line.changed.clear()
        try:
            async with asyncio.timeout(0.05):
                await line.changed.wait()
        except TimeoutError:
            continue
    return _turn(line, question, answer)


def _up(line: Line) -> None:
    if line.closed is not None:
        raise NoAnswer(line.closed)


# --- Events -----------------------------------------------------------------------------


def _take(
    answer: _Answer, at: float, event: Json, line: Line, results: Mapping[str, str] | None
) -> None:
    ended = line.mic.ended
    kind = event["type"]
    if kind == "input_audio_buffer.speech_stopped" and at < ended:
        answer.cut_in = True
    if kind in MARKS and at >= ended:
        # With a tool, the marks of a response are those of the one that answers.
        answer.marks.setdefault(MARKS[kind], (at - ended) * 1000)
    if kind == "conversation.item.input_audio_transcription.completed":
        answer.heard = f"{answer.heard} {event['transcript']}".strip()
    if kind == "response.done" and at >= ended:
        _done(answer, event["response"], line, results)


def _done(answer: _Answer, response: Json, line: Line, results: Mapping[str, str] | None) -> None:
    if response["status"] == "failed":
        raise NoAnswer(f"the response failed: {response.get('status_details')}")
    if response["status"] == "cancelled":
        return
    calls = [item for item in response["output"] if item["type"] == "function_call"]
    said = " ".join(_said(item) for item in response["output"]).strip()
    if calls:
        answer.called = True
        answer.before = f"{answer.before} {said}".strip()
        for name in ("response", "first text", "first audio"):
            answer.marks.pop(name, None)
        if results is not None:
            _settle(calls, line, results)
    elif said and ACKNOWLEDGEMENT.sub("", said + " ").strip():
        answer.said, answer.final = said, response["id"]


def _said(item: Json) -> str:
    parts: list[Any] = item.get("content") or []
    return "".join(part.get("transcript") or part.get("text") or "" for part in parts)


def _settle(calls: list[Json], line: Line, results: Mapping[str, str]) -> None:
    for call in calls:
        output = results.get(call["name"], "done")
        item = {"type": "function_call_output", "call_id": call["call_id"], "output": output}
        line.send({"type": "conversation.item.create", "item": item})
    line.send({"type": "response.create"})


# --- Sound ------------------------------------------------------------------------------


def _turn(line: Line, question: Question, answer: _Answer) -> Turn:
    ended = line.mic.ended
    frames = [frame for frame in line.frames if frame.at >= ended - PIECE]
    acknowledged = lead(ACKNOWLEDGEMENT, answer.said)
    opening = acknowledged + lead(OPENING, answer.said[acknowledged:])
    before, whole = len(answer.before), len(answer.before) + len(answer.said)
    if not any(frame.peak >= LOUD for frame in frames):
        raise NoAnswer(f"no sound in the answer to {question.text!r}")
    first, own, content = (
        (onset(frames, share) - ended) * 1000
        for share in (0.0, (before + acknowledged) / whole, (before + opening) / whole)
    )
    return Turn(
        question.text,
        answer.heard,
        answer.said,
        first,
        own,
        content,
        answer.marks,
        answer.called,
        before + acknowledged > 0,
        answer.cut_in,
        UNHEARD.search(answer.said) is None,
        tuple(line.gaps),
    )


def lead(pattern: re.Pattern[str], text: str) -> int:
    """How many letters at the beginning are such words."""
    at = 0
    while (found := pattern.match(text, at)) and at < found.end() < len(text):
        at = found.end()
    return at


def onset(frames: list[Frame], share: float) -> float:
    """When the listener hears what comes after this share of the speech."""
    loud = [frame for frame in frames if frame.peak >= LOUD]
    if share <= 0:
        return loud[0].at
    after = share * len(loud) * PIECE
    starts = [
        (number * PIECE, frame.at)
        for number, frame in enumerate(loud)
        if number and frame.at - loud[number - 1].at > PIECE + _PAUSE
    ]
    if starts:
        place, at = min(starts, key=lambda start: abs(start[0] - after))
        if abs(place - after) < _SNAP:
            return at
    return loud[min(len(loud) - 1, int(after / PIECE))].at
