"""The questions that are put to the engine, as sound: made once, by voices that never answer.

A clip's end of speech is its last sample above two hundredths of its loudest,
so it is known to the sample.
"""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vivavoce.app.settings import load_settings
from vivavoce.models.store import ModelStore

RATE = 24_000
_LEVEL = 0.02
_PEAK = 0.4
VOICES = ("am_michael", "bf_emma", "am_puck", "bm_george")

Pcm = npt.NDArray[np.int16]

PLAIN = (
    "How are you today?",
    "What is the capital of France?",
    "Tell me something nice about cats.",
    "Why is the sky blue?",
    "Can you recommend a good book?",
    "What do bees do in winter?",
    "Who wrote Romeo and Juliet?",
    "How many legs does a spider have?",
    "Is it better to walk or to run?",
    "What should I cook for dinner tonight?",
    "How do I say good morning in Spanish?",
    "What is your favorite color?",
    "Where do penguins live?",
    "How long does it take to boil an egg?",
    "Give me one tip for sleeping better.",
    "What is the largest ocean on Earth?",
    "Do you think it is too late for coffee?",
    "What rhymes with orange?",
    "How do I get a stain out of a shirt?",
    "Thank you, that was helpful.",
)
TOOLS = (
    "What time is it?",
    "What is seven times eight?",
    "What is the weather like in Berlin?",
    "What is the date today?",
    "Please read the file notes dot text.",
    "What is forty two plus seventeen?",
    "Will it rain in London tomorrow?",
    "Tell me the time, please.",
    "What is one hundred divided by four?",
    "How cold is it in Oslo?",
)
RESULTS = {
    "current_time": "Monday, November 16, 2026, 9:30 AM",
    "calculate": "56",
    "get_weather": "12 degrees and light rain",
    "read_file": "Buy milk and bread.",
}
INSTRUCTIONS = "You are a friendly voice assistant. Answer in one short sentence."


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    pcm: Pcm
    """At `RATE`, without silence in front."""
    ends: float
    """Seconds from the first sample to the end of speech."""


def declared() -> list[dict[str, Any]]:
    """The tools as `session.update` takes them."""
    fields = {"calculate": "expression", "get_weather": "city", "read_file": "path"}
    told = {
        "current_time": "The time and the date now.",
        "calculate": "The value of an arithmetic expression.",
        "get_weather": "The weather in a city.",
        "read_file": "The text of a file.",
    }
    tools = []
    for name, description in told.items():
        names = [fields[name]] if name in fields else []
        schema = {
            "type": "object",
            "properties": {field: {"type": "string"} for field in names},
            "required": names,
        }
        tool = {"type": "function", "name": name, "description": description}
        tools.append({**tool, "parameters": schema})
    return tools


def mixed(count: int, tools: float = 1 / 3, skip: int = 0) -> list[str]:
    """So many questions, of which a share needs a tool; always the same ones, in the same order."""
    chosen, due = [], 0.5
    plain, other = skip, skip
    for _ in range(count):
        due += tools
        if due >= 1:
            due -= 1
            chosen.append(TOOLS[other % len(TOOLS)])
            other += 1
        else:
            chosen.append(PLAIN[plain % len(PLAIN)])
            plain += 1
    return chosen


def made(texts: list[str]) -> list[Question]:
    """The clips, from the cache beside the models or from the mouth. Not from a running loop."""
    settings = load_settings()
    cache = settings.models_dir / "bench-questions"
    cache.mkdir(parents=True, exist_ok=True)
    wanted = {text: cache / f"{_name(text)}.npy" for text in texts}
    missing = [text for text, path in wanted.items() if not path.is_file()]
    if missing:
        print(f"   making {len(missing)} questions, once", flush=True)
        asyncio.run(_make(settings.models_dir, {text: wanted[text] for text in missing}))
    return [_question(text, np.load(wanted[text])) for text in texts]


def _voice(text: str) -> str:
    return VOICES[int(_digest(text), 16) % len(VOICES)]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _name(text: str) -> str:
    return f"{_voice(text)}-{_digest(text)}"


async def _make(models: Path, wanted: dict[str, Path]) -> None:
    # Late: who has all clips need not load a mouth.
    from vivavoce.engine.mouth.kokoro import KokoroMouth

    await ModelStore(models).pull(["kokoro"])
    mouth = await asyncio.to_thread(KokoroMouth, models / "kokoro")
    try:
        for text, path in wanted.items():
            said = await mouth.speak(text, voice=_voice(text))
            np.save(path, np.frombuffer(said.pcm, "<i2"))
    finally:
        mouth.close()


def _question(text: str, pcm: Pcm) -> Question:
    wave = pcm.astype(np.float64)
    loudest = np.abs(wave).max()
    (loud,) = np.nonzero(np.abs(wave) > loudest * _LEVEL)
    even = (wave[loud[0] :] * (_PEAK * 32767 / loudest)).astype(np.int16)
    return Question(text, even, float(loud[-1] - loud[0] + 1) / RATE)
