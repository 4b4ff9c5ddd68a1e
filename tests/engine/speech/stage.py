"""A speech process with parts that need no models, or few."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from vivavoce.engine.speech.process import NICE, Speech
from vivavoce.engine.speech.protocol import SpeechFiles, SpeechPart

FAKES = "tests.engine.speech.fakes"


def fakes(folder: Path) -> SpeechFiles:
    return SpeechFiles(
        ears=SpeechPart(f"{FAKES}:TellingEars", folder),
        mouth=SpeechPart(f"{FAKES}:HeldMouth", folder),
        judge=SpeechPart(f"{FAKES}:LengthJudge", folder),
    )


@asynccontextmanager
async def speaking(
    files: SpeechFiles, *, patience: float = 20.0, nice: int = NICE
) -> AsyncIterator[Speech]:
    speech = Speech(files, patience=patience, nice=nice)
    async with speech.running():
        await asyncio.wait_for(speech.ready(), 60)
        yield speech


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.005)
