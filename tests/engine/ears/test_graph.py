"""The changed decoder: the same model, and no token scores otherwise in company."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper

from tests.speech import model_folder
from vivavoce.engine.ears.decoding import Decoder, Decoding
from vivavoce.engine.ears.moonshine import MoonshineEars, rowwise
from vivavoce.engine.ports import EAR_RATE, Samples
from vivavoce.engine.speech.inference import open_model


@pytest.fixture(scope="module")
def light() -> ort.InferenceSession:
    return open_model(model_folder("moonshine-tiny") / "decoder.onnx", threads=2, edit=rowwise)


def test_a_token_scores_the_same_in_any_company(light: ort.InferenceSession) -> None:
    hidden = np.random.default_rng(7).normal(size=(1, 80, 288)).astype(np.float32)
    tokens = [1, 1126, 577, 590, 10404, 23035, 2244, 451, 3, 9000, 12, 451]

    def scores(count: int) -> np.ndarray:
        decoding = Decoding(Decoder(light, 2), hidden, tokens[:count], 40, (), ort.RunOptions())
        return decoding._run(tokens[:count])

    whole = scores(len(tokens))
    for count in (2, 3, 7, 11):
        assert np.abs(scores(count) - whole[:count]).max() < 1e-4


def test_what_was_changed_hears_what_the_file_hears(ears: MoonshineEars, jfk: Samples) -> None:
    speech = jfk[: 4 * EAR_RATE]
    plain = open_model(model_folder("moonshine-base") / "decoder.onnx", threads=2)
    found = []
    for decoder in (Decoder(plain, 2), ears._decoder):
        decoding = ears.begin(speech, "", ort.RunOptions())
        decoding._decoder = decoder
        decoding.step(40)
        found.append(ears.text(decoding))
    assert found[0] == found[1] != ""


def test_a_graph_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "decoder.onnx"
    onnx.save(helper.make_model(helper.make_graph([], "empty", [], [])), str(path))
    with pytest.raises(ValueError, match="8 bits"):
        rowwise(path)
