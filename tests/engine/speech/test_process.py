"""The speech process: what is asked comes back, in the right order, and it survives its death."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest

from tests.engine.speech.stage import fakes, speaking, until
from vivavoce.engine.ports import Transcript, Utterance
from vivavoce.engine.speech import protocol
from vivavoce.engine.speech.process import NICE, Speech
from vivavoce.engine.speech.protocol import SpeechFiles, SpeechPart
from vivavoce.errors import EarsError, ModelUnavailable, MouthError

SERVER = """
import asyncio, sys
from pathlib import Path
from tests.engine.speech.stage import fakes, speaking, until

async def main(folder):
    async with speaking(fakes(folder)) as speech, asyncio.TaskGroup() as group:
        group.create_task(speech.mouth.speak("hold", voice="marin"))
        await until((folder / "begun").exists)
        print(speech.pid, flush=True)

asyncio.run(main(Path(sys.argv[1])))
"""
SPEECH = np.linspace(-0.5, 0.25, 700, dtype=np.float32)


async def test_numpy_has_one_thread_there(tmp_path: Path) -> None:
    async with speaking(fakes(tmp_path)) as speech:
        given = psutil.Process(speech.pid).environ()
        assert given["OPENBLAS_NUM_THREADS"] == "1"


async def test_ears_judge_and_mouth_answer_from_the_other_process(tmp_path: Path) -> None:
    async with speaking(fakes(tmp_path)) as speech:
        assert (speech.ears.name, speech.mouth.name) == ("telling", "held")
        assert speech.mouth.voices == ("marin",)
        heard = await speech.ears.transcribe(SPEECH, language="en", hint="so", urgent=False)
        assert heard == Transcript("700 0.500 en so False", 0.5)
        heard = await speech.ears.transcribe(SPEECH, keywords=("Redis", "git log"))
        assert heard.text == "700 0.500 None  True Redis git log"
        assert speech.judge is not None
        assert await speech.judge.finished(SPEECH[::2]) == 0.35
        said = await speech.mouth.speak("one two", voice="marin")
        assert said == Utterance(b"one two", (("one", 10), ("two", 10)))
        await speech.mouth.prepare("marin", ["Sure.", "Okay."])
        assert (tmp_path / "prepared").read_text() == "marin: Sure., Okay."
        # What a library prints, and what goes wrong, concern only the log.
        assert (await speech.ears.transcribe(SPEECH[:0], language="print")).text.startswith("0 ")
        with pytest.raises(EarsError, match="Nobody speaks that"):
            await speech.ears.transcribe(SPEECH, language="xx")
        with pytest.raises(EarsError, match="failed"):
            await speech.ears.transcribe(SPEECH, language="fail")
        with pytest.raises(MouthError, match="too long"):
            await speech.mouth.speak("x" * protocol.LONGEST_WORDS, voice="marin")
        assert speech.crowded is None
        stats = await speech.stats()
        pid = stats["pid"]
        assert (pid, stats["jobs"], stats["done"]) == (speech.pid, 0, 8)
        assert psutil.Process(pid).nice() == psutil.Process().nice() + NICE
    assert not psutil.pid_exists(pid)


async def test_the_clause_with_the_least_sound_before_it_is_said_first(tmp_path: Path) -> None:
    said: list[str] = []

    async with speaking(fakes(tmp_path)) as speech:

        async def say(text: str, lead_ms: int) -> None:
            await speech.mouth.speak(text, voice="marin", lead_ms=lead_ms)
            said.append(text)

        async with asyncio.TaskGroup() as group:
            group.create_task(say("hold", 0))
            await until((tmp_path / "begun").exists)
            for text, lead_ms in (("late", 60_000), ("soon", 15_000), ("now", 0)):
                group.create_task(say(text, lead_ms))
            await _jobs(speech, 4)
            (tmp_path / "go").touch()
    assert said == ["hold", "now", "soon", "late"]


async def test_a_cancelled_call_stops_its_job_over_there(tmp_path: Path) -> None:
    async with speaking(fakes(tmp_path)) as speech, asyncio.TaskGroup() as group:
        held = group.create_task(speech.mouth.speak("hold", voice="marin"))
        await until((tmp_path / "begun").exists)
        held.cancel()
        await until((tmp_path / "stopped").exists)
        assert (await speech.mouth.speak("next", voice="marin")).pcm == b"next"


async def test_a_killed_process_fails_what_was_under_way_and_is_back_by_itself(
    tmp_path: Path,
) -> None:
    async with speaking(fakes(tmp_path)) as speech:
        first = speech.pid
        async with asyncio.TaskGroup() as group:
            held = group.create_task(_fails(speech, "hold"))
            await until((tmp_path / "begun").exists)
            assert first is not None
            os.kill(first, signal.SIGKILL)
            assert "lost" in await held
        # Nobody has to wait for it knowingly: a new call does.
        assert (await speech.mouth.speak("back", voice="marin")).pcm == b"back"
        assert speech.pid != first
        await speech.ready()
        assert "lost" in await _fails(speech, "die")
        assert (await speech.ears.transcribe(SPEECH)).text.startswith("700 ")


async def test_a_call_while_there_is_no_process_has_patience_but_not_for_ever(
    tmp_path: Path,
) -> None:
    async with speaking(fakes(tmp_path), patience=0.05) as speech:
        assert "lost" in await _fails(speech, "die")
        assert "being started" in await _fails(speech, "anyone?")


async def test_models_that_cannot_be_loaded_are_told_in_words_and_tried_again(
    tmp_path: Path,
) -> None:
    (tmp_path / "broken").touch()
    speech = Speech(fakes(tmp_path))
    async with speech.running():
        with pytest.raises(ModelUnavailable, match="This mouth is broken"):
            await asyncio.wait_for(speech.ready(), 60)
        (tmp_path / "broken").unlink()
        assert (await speech.mouth.speak("well", voice="marin")).pcm == b"well"


async def test_a_kind_that_nobody_knows_is_told_in_words(tmp_path: Path) -> None:
    good, bad = fakes(tmp_path), SpeechPart("telepathy", tmp_path)
    speech = Speech(SpeechFiles(ears=bad, mouth=good.mouth))
    async with speech.running():
        with pytest.raises(ModelUnavailable, match="nothing to run telepathy"):
            await asyncio.wait_for(speech.ready(), 60)


def test_nothing_is_left_of_it_when_the_server_is_killed_in_the_middle_of_a_job(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-c", SERVER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        orphan = psutil.Process(int(server.stdout.readline()))
        server.kill()
    assert not psutil.wait_procs([orphan], timeout=20)[1]


async def _fails(speech: Speech, text: str) -> str:
    with pytest.raises(MouthError) as caught:
        await speech.mouth.speak(text, voice="marin")
    return caught.value.message


async def _jobs(speech: Speech, count: int) -> None:
    """Until so many are under way over there."""
    async with asyncio.timeout(20):
        while (await speech.stats())["jobs"] < count:
            await asyncio.sleep(0.005)
