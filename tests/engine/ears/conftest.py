"""The real models, loaded once."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.speech import clip, model_folder
from vivavoce.engine.ears.detecting import SileroVad, SmartTurn, load_silero
from vivavoce.engine.ears.moonshine import MoonshineEars
from vivavoce.engine.ports import Samples


@pytest.fixture(scope="session")
def jfk() -> Samples:
    return clip("jfk.wav")


@pytest.fixture(scope="session")
def beckett() -> Samples:
    return clip("beckett.wav")


@pytest.fixture(scope="session")
def new_vad() -> Callable[[], SileroVad]:
    return load_silero(model_folder("silero-vad") / "silero_vad.onnx")


@pytest.fixture(scope="session")
def ears() -> Iterator[MoonshineEars]:
    ears = MoonshineEars(model_folder("moonshine-base"))
    yield ears
    ears.close()


@pytest.fixture(scope="session")
def judge() -> Iterator[SmartTurn]:
    judge = SmartTurn(model_folder("smart-turn") / "smart_turn.onnx")
    yield judge
    judge.close()
