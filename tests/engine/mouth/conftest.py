"""The real models, loaded once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.speech import model_folder
from vivavoce.engine.ears.moonshine import MoonshineEars
from vivavoce.engine.mouth.hibari import HibariMouth
from vivavoce.engine.mouth.kokoro import KokoroMouth
from vivavoce.engine.mouth.piper import PiperMouth


@pytest.fixture(scope="session")
def mouth() -> Iterator[KokoroMouth]:
    mouth = KokoroMouth(model_folder("kokoro"))
    yield mouth
    mouth.close()


@pytest.fixture(scope="session")
def hibari() -> Iterator[HibariMouth]:
    mouth = HibariMouth(model_folder("hibari"))
    yield mouth
    mouth.close()


@pytest.fixture(scope="session")
def piper() -> Iterator[PiperMouth]:
    mouth = PiperMouth(model_folder("piper-joe"))
    yield mouth
    mouth.close()


@pytest.fixture(scope="session")
def ears() -> Iterator[MoonshineEars]:
    ears = MoonshineEars(model_folder("moonshine-base"))
    yield ears
    ears.close()
