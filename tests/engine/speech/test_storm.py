"""Many calls at once, some given up, the process killed in between, on the loop of the server."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections import Counter
from pathlib import Path

import numpy as np
import psutil
import uvloop

from tests.engine.speech.stage import fakes, speaking
from vivavoce.engine.speech.process import Speech
from vivavoce.errors import EngineFault


def test_every_call_has_its_own_answer_or_an_error_and_nothing_is_left(tmp_path: Path) -> None:
    ends = uvloop.run(_storm(tmp_path))
    assert ends.keys() <= {"answered", "given up", "failed"}
    assert ends["answered"] > 100
    assert ends["given up"] > 20


async def _storm(folder: Path) -> Counter[str]:
    ends, dice = Counter[str](), random.Random(7)
    async with speaking(fakes(folder)) as speech:
        for killed in (False, True, True):
            assert speech.pid is not None
            if killed:
                os.kill(speech.pid, signal.SIGKILL)
            for _ in range(3):
                async with asyncio.TaskGroup() as group:
                    for _ in range(40):
                        group.create_task(_call(speech, dice, ends))
        last = (await speech.stats())["pid"]
        assert speech.load.busy("mouth", asyncio.get_running_loop().time()) < 1.0
    assert not psutil.pid_exists(last)
    return ends


async def _call(speech: Speech, dice: random.Random, ends: Counter[str]) -> None:
    length, lead_ms = dice.randrange(60_000), dice.randrange(3_000)
    patience = dice.choice((0.0005, 0.003, 30.0, 30.0, 30.0))
    try:
        async with asyncio.timeout(patience):
            if dice.random() < 0.5:
                sound = np.zeros(length, dtype=np.float32)
                assert (await speech.ears.transcribe(sound)).text.startswith(f"{length} ")
            else:
                said = await speech.mouth.speak(str(length), voice="marin", lead_ms=lead_ms)
                assert said.pcm == str(length).encode()
        ends["answered"] += 1
    except TimeoutError:
        ends["given up"] += 1
    except EngineFault:
        ends["failed"] += 1
