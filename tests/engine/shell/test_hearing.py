"""Words while somebody still speaks."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.stage import engine_server, loud, quiet
from tests.engine.turn.scene import Scene, configured
from vivavoce.engine.ports import Samples, Transcript
from vivavoce.engine.shell.hearing import Partials, agreement
from vivavoce.engine.turn import facts
from vivavoce.errors import EarsError
from vivavoce.testing.engine import ScriptedEars
from vivavoce.wire.realtime import client

DELTA = "conversation.item.input_audio_transcription.delta"
COMPLETED = "conversation.item.input_audio_transcription.completed"


def hearing(ears: ScriptedEars) -> Callable[[Samples, str], Awaitable[Transcript]]:
    return lambda speech, hint: ears.transcribe(speech, hint=hint, urgent=False)


def test_only_what_two_hearings_agree_on_is_certain_and_not_the_last_word() -> None:
    assert agreement("What time is", "What time is it") == "What time"
    assert agreement("What time. Is it", "What time is it in") == "What time is"
    assert agreement("", "What time") == ""
    assert agreement("Watt time is", "What time is it") == ""
    assert agreement("I see. So", "I see. Some people") == "I see"


@given(st.lists(st.text("ab .", max_size=12), max_size=6))
def test_what_is_certain_only_ever_grows(hearings: list[str]) -> None:
    told: list[str] = []
    partials = Partials("i", hearing(ScriptedEars()), list, lambda _, certain: told.append(certain))  # type: ignore[arg-type]
    for text in hearings:
        partials._took(Transcript(text))
    for before, after in itertools.pairwise(told):
        assert after.startswith(before)


async def test_ears_that_fail_in_the_middle_are_left_alone() -> None:
    class Deaf(ScriptedEars):
        async def transcribe(
            self,
            speech: Samples,
            *,
            language: str | None = None,
            hint: str = "",
            urgent: bool = True,
            keywords: Sequence[str] = (),
        ) -> Transcript:
            raise EarsError("too loud")

    sound = np.ones(32_000, np.float32)
    async with asyncio.timeout(5):
        await Partials("i", hearing(Deaf()), lambda: sound, lambda *_: None).run()


def test_clients_see_words_before_the_turn_is_over_and_the_rest_at_its_end() -> None:
    scene = Scene(configured(transcription={"model": "whisper-1"}))
    scene.tell(facts.SpeechStarted(0))
    item = scene.last("input_audio_buffer.speech_started")["item_id"]
    assert scene.tell(facts.HeardSoFar(item, "What time")) == [DELTA]
    assert scene.tell(facts.HeardSoFar(item, "What time")) == []
    assert scene.tell(facts.HeardSoFar(item, "What time is it")) == [DELTA]
    scene.tell(facts.SpeechStopped(2000))
    scene.tell(facts.HeardAll(item, "What time is it in Paris?", 2.0))
    said = "".join(event["delta"] for event in scene.all(DELTA))
    assert said == scene.last(COMPLETED)["transcript"] == "What time is it in Paris?"


def test_a_change_of_mind_is_put_right_by_the_whole() -> None:
    scene = Scene(configured(transcription={"model": "whisper-1"}))
    scene.tell(facts.SpeechStarted(0))
    item = scene.last("input_audio_buffer.speech_started")["item_id"]
    scene.tell(facts.HeardSoFar(item, "Watt time"), facts.SpeechStopped(2000))
    assert scene.tell(facts.HeardAll(item, "What time is it?", 2.0))[0] == COMPLETED
    assert scene.last(COMPLETED)["transcript"] == "What time is it?"


def test_who_asked_for_no_transcription_sees_none() -> None:
    scene = Scene()
    scene.tell(facts.SpeechStarted(0))
    item = scene.last("input_audio_buffer.speech_started")["item_id"]
    assert scene.tell(facts.HeardSoFar(item, "What time")) == []


async def test_words_come_while_the_user_speaks() -> None:
    ears = ScriptedEars(["one two three four"])
    async with engine_server(ears=ears) as stage:
        line = await stage.line()
        await line.configure(audio={"input": {"transcription": {"model": "gpt-realtime-whisper"}}})
        await line.append(loud(1400))  # and no silence yet: they speak on
        await line.until(DELTA)
        await line.append(quiet(700))
        await line.until("response.done")
        said = "".join(event["delta"] for event in line.all(DELTA))
        assert said == line.all(COMPLETED)[0]["transcript"] == "one two three four"


def test_a_buffer_that_is_cleared_leaves_no_half_sentence() -> None:
    scene = Scene(configured(transcription={"model": "whisper-1"}))
    scene.tell(facts.SpeechStarted(0))
    item = scene.last("input_audio_buffer.speech_started")["item_id"]
    scene.tell(facts.HeardSoFar(item, "What time"))
    kinds = scene.ask(client.ClearInput(), end_ms=1000)
    assert kinds[0] == "conversation.item.input_audio_transcription.failed"


async def test_the_keywords_of_the_prompt_reach_the_ears_and_names_are_written() -> None:
    ears = ScriptedEars(["Please open main dot pie."])
    async with engine_server(ears=ears) as stage:
        line = await stage.line()
        prompt = "Keywords: pytest, git log"
        await line.configure(audio={"input": {"transcription": {"prompt": prompt}}})
        await line.append(loud(1000))
        await line.append(quiet(700))
        await line.until("response.done")
        assert line.all(COMPLETED)[0]["transcript"] == "Please open main.py."
        assert tuple(ears.keywords) == ("pytest", "git log")


def test_a_name_is_told_when_it_is_whole() -> None:
    told: list[tuple[str, str]] = []

    def tell(heard: Transcript, certain: str) -> None:
        told.append((heard.text, certain))

    partials = Partials("i", hearing(ScriptedEars()), lambda: np.zeros(0, np.float32), tell)
    for text in ("Open main dot", "Open main dot pie and", "Open main dot pie and tell me what is"):
        partials._took(Transcript(text))
        partials._took(Transcript(text))
    assert partials.newest == "Open main dot pie and tell me what is"  # a hint, as it was heard
    assert [certain for _, certain in told[1::2]] == ["Open main", "Open main", told[-1][1]]
    assert told[-1] == ("Open main.py and tell me what is", "Open main.py and tell me what")
