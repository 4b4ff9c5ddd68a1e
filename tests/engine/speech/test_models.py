"""The real models in their own process."""

from __future__ import annotations

import asyncio

import numpy as np
import soxr

from tests.engine.speech.stage import speaking
from tests.speech import WORDS, clip, model_folder, word_errors
from vivavoce.engine.ports import EAR_RATE, MOUTH_RATE, Samples, Utterance
from vivavoce.engine.speech.protocol import SpeechFiles, SpeechPart


def test_what_it_says_and_what_people_say_is_understood_at_the_same_time() -> None:
    speech = clip("jfk.wav")  # which may have to be fetched first
    asyncio.run(_talk(speech))


async def _talk(jfk: Samples) -> None:
    files = SpeechFiles(
        ears=SpeechPart("moonshine-tiny", model_folder("moonshine-tiny")),
        mouth=SpeechPart("hibari", model_folder("hibari")),
        judge=SpeechPart("smart-turn", model_folder("smart-turn") / "smart_turn.onnx"),
    )
    async with speaking(files, nice=0) as speech:
        assert (speech.ears.name, speech.mouth.name) == ("moonshine-tiny", "hibari")
        assert "marin" in speech.mouth.voices
        assert speech.judge is not None
        async with asyncio.TaskGroup() as group:
            said = group.create_task(speech.mouth.speak("I found three files.", voice="marin"))
            heard = group.create_task(speech.ears.transcribe(jfk))
            over = group.create_task(speech.judge.finished(jfk))
        assert word_errors(WORDS["jfk.wav"], heard.result().text) <= 0.1
        assert 0.0 <= over.result() <= 1.0
        assert "".join(word for word, _ in said.result().words) == "I found three files."
        back = await speech.ears.transcribe(_heard(said.result()))
        assert word_errors("I found three files", back.text) == 0.0


def _heard(said: Utterance) -> Samples:
    pcm = np.frombuffer(said.pcm, dtype="<i2").astype(np.float32) / 32768
    sound: Samples = soxr.resample(pcm, MOUTH_RATE, EAR_RATE)
    return sound
