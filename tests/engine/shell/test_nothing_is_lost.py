"""A whole session in a time of its own: however late ears, judge, brain and mouth are, and
wherever somebody pauses, all that was said is in the conversation, once."""

from __future__ import annotations

import asyncio
import heapq
import random
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vivavoce.engine.ports import Manner, Samples, Transcript, Utterance
from vivavoce.engine.shell.session import Session
from vivavoce.engine.shell.work import Parts
from vivavoce.engine.turn.configuration import initial, updated
from vivavoce.engine.turn.manners import Manners
from vivavoce.engine.turn.state import Policy
from vivavoce.errors import EarsError
from vivavoce.testing.engine import VOICES, HummingMouth, LoudnessDetector
from vivavoce.wire.brain import (
    Ask,
    Budget,
    CallArguments,
    CallBegun,
    CallEnded,
    Finished,
    Piece,
    Words,
)

PHRASES = (
    *("nine", "in the morning", "what time is it?", "remind me to", "call Ann", "um", "because"),
    *("I was at the market yesterday", "move it to Friday", "one two three", "delete it please"),
)
WRITTEN = "conversation.item.input_audio_transcription.completed"
FAILED = "conversation.item.input_audio_transcription.failed"


class Hurried(asyncio.SelectorEventLoop):
    """Nobody waits: where nothing is to be done, it is as late as the next timer wants it."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 1000.0

    def time(self) -> float:
        return self._now

    def _run_once(self) -> None:
        inside: Any = self
        while inside._scheduled and inside._scheduled[0]._cancelled:
            heapq.heappop(inside._scheduled)._scheduled = False
            inside._timer_cancelled_count -= 1
        if not inside._ready and inside._scheduled:
            self._now = max(self._now, inside._scheduled[0]._when)
        super()._run_once()  # type: ignore[misc]


# --- The others, each as late as it likes -------------------------------------------------------


class Ears:
    """They know a phrase by how loud it is."""

    name = "ears"

    def __init__(self, dice: random.Random, said: Sequence[str], failing: float) -> None:
        self._dice, self._said, self._failing = dice, said, failing

    async def transcribe(self, speech: Samples, **manner: Unpack[Manner]) -> Transcript:
        await asyncio.sleep(self._dice.choice((0.0, 0.03, 0.08, 0.15, 0.3, 0.8)))
        if self._dice.random() < self._failing:
            raise EarsError("These ears failed.")
        steps = len(speech) // 160
        power = np.square(speech[: steps * 160].reshape(steps, 160)).mean(axis=1)
        heard: list[int] = []
        last, run = -1, 0
        for loud in np.sqrt(power) * 2**0.5:
            phrase = round((float(loud) - 0.1) / 0.04)
            run = run + 1 if phrase == last else 1
            last = phrase
            if run == 5 and 0 <= phrase < len(self._said):
                heard.append(phrase)
        return Transcript(" ".join(f"#{one}# {self._said[one]}" for one in heard), 0.9)


class Judge:
    def __init__(self, dice: random.Random) -> None:
        self._dice = dice

    async def finished(self, speech: Samples) -> float:
        await asyncio.sleep(self._dice.choice((0.0, 0.03, 0.06, 0.2, 0.5)))
        return self._dice.choice((0.02, 0.3, 0.6, 0.8, 0.98))


class Brain:
    name = "brain"
    budget = Budget()

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice

    def count(self, text: str) -> int:
        return len(text) // 4

    async def warm(self, ask: Ask) -> None:
        await asyncio.sleep(0.05)

    def forget(self, live: str) -> None: ...

    async def answer(self, ask: Ask) -> AsyncGenerator[Piece, None]:
        await asyncio.sleep(self._dice.choice((0.0, 0.05, 0.2, 0.6, 2.0)))
        kind = self._dice.random()
        if kind < 0.7:
            yield Words(self._dice.choice(("When? ", "Sure. ", "It is this and that. ")))
        if kind > 0.5:
            call = f"call_{self._dice.getrandbits(32)}"
            for piece in (CallBegun(call, "tool"), CallArguments(call, "{}"), CallEnded(call)):
                yield piece
        yield Finished(awaits=self._dice.choice((None, "time", "words", "yes_no", "name")))


class Mouth(HummingMouth):
    def __init__(self, dice: random.Random) -> None:
        super().__init__(40)
        self._dice = dice

    async def speak(self, text: str, **manner: Any) -> Utterance:
        await asyncio.sleep(self._dice.choice((0.0, 0.04, 0.3, 0.8)))
        return await super().speak(text, **manner)


class Watcher:
    """Has the microphone, and keeps what it was told."""

    id, peer, locked, ours = 1, True, False, False

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []

    def push(self, frame: bytes) -> None:
        self.told.append(orjson.loads(frame))

    def close(self, code: int, reason: str) -> None: ...


# --- One talk -----------------------------------------------------------------------------------


def spoken(dice: random.Random) -> tuple[list[str], bytes]:
    """Up to five turns with pauses in them: the phrases, and PCM16 at 24 kHz."""
    said: list[str] = []
    sound = [bytes(48 * 500)]
    for _ in range(dice.randint(1, 5)):
        for _ in range(dice.randint(1, 4)):
            wave = np.sin(np.arange(24 * dice.choice((150, 250, 400, 700, 1200))) * 0.2)
            sound.append((wave * (0.1 + 0.04 * len(said)) * 32767).astype("<i2").tobytes())
            said.append(dice.choice(PHRASES))
            sound.append(bytes(48 * dice.choice((100, 160, 200, 250, 300, 400, 600, 900, 1300))))
        sound.append(bytes(48 * dice.choice((200, 600, 1500, 3000, 5000))))
    return said, b"".join((*sound, bytes(48 * 9000)))


async def talk(seed: int, *, backchannel: bool, failing: float) -> None:
    dice = random.Random(seed)
    said, sound = spoken(dice)
    voices = frozenset(VOICES)
    vad = {"type": "semantic_vad", "eagerness": dice.choice(("auto", "high", "low"))}
    wanted = {"turn_detection": vad, "transcription": {"model": "whisper-1"}}
    first = initial("vivavoce", voice="marin", voices=voices)
    configuration = updated(first, {"audio": {"input": wanted}}, voices=voices)
    over = frozenset({"uh-huh"}) if backchannel else frozenset[str]()
    session = Session(
        Policy("sess", "conv", voices, 2_000_000_000, backchannel=over, manners=Manners()),
        replace(configuration, manners=True),
        Parts(Ears(dice, said, failing), Mouth(dice), Brain(dice), Judge(dice), LoudnessDetector),
    )
    watcher = Watcher()
    session.join(watcher, greet=False)
    async with asyncio.TaskGroup() as group:
        group.create_task(session.run(3600))
        await asyncio.sleep(0)
        for at in range(0, len(sound), 4800):
            pcm = np.frombuffer(sound[at : at + 4800], "<i2")
            session.audio(pcm, 24_000)
            await asyncio.sleep(len(pcm) / 24_000)
        await asyncio.sleep(30)
        session.end("said")
    state = session.machine.state
    assert (state.open, state.speech, state.active, state.suspected) == (None, None, None, False)
    assert not state.probes
    words = {e["item_id"]: e["transcript"] for e in watcher.told if e["type"] == WRITTEN}
    failed = {e["item_id"] for e in watcher.told if e["type"] == FAILED}
    kept = [item.id for item in state.conversation if item.id in state.transcripts]
    assert set(kept) <= words.keys() | failed, "every turn has its words, or none for certain"
    heard = " ".join(words.get(item_id, "") for item_id in kept)
    for number in range(len(said)):
        times = heard.count(f"#{number}#")
        assert times == 1 or (failed and times == 0), f"{said[number]!r} in {heard!r}"


def held(seed: int, *, backchannel: bool, failing: float) -> None:
    loop = Hurried()
    try:
        loop.run_until_complete(talk(seed, backchannel=backchannel, failing=failing))
    finally:
        loop.close()


seeds = st.integers(0, 1 << 32)


@settings(max_examples=30, deadline=None)
@given(seeds, st.booleans(), st.sampled_from((0.0, 0.05)))
def test_all_that_was_said_is_in_the_conversation_once(
    seed: int, backchannel: bool, failing: float
) -> None:
    held(seed, backchannel=backchannel, failing=failing)


@pytest.mark.full
@settings(max_examples=1500, deadline=None)
@given(seeds, st.booleans(), st.sampled_from((0.0, 0.05)))
def test_all_that_was_said_is_in_the_conversation_many_times(
    seed: int, backchannel: bool, failing: float
) -> None:
    held(seed, backchannel=backchannel, failing=failing)
