"""Where models run: what is found is used, and what is wanted and not found is told."""

from __future__ import annotations

import onnxruntime as ort
import pytest

from vivavoce.brain.llama.server import ALL_LAYERS, layers
from vivavoce.engine.speech.inference import CPU, providers, run_on
from vivavoce.errors import ModelUnavailable

CUDA, DML = "CUDAExecutionProvider", "DmlExecutionProvider"


@pytest.mark.parametrize(
    ("device", "available", "taken"),
    [
        ("auto", [CPU], [CPU]),
        ("auto", ["AzureExecutionProvider", CPU], [CPU]),
        ("auto", [CUDA, CPU], [CUDA, CPU]),
        ("auto", [DML, CUDA, CPU], [CUDA, CPU]),
        ("gpu", [DML, CPU], [DML, CPU]),
        ("cpu", [CUDA, CPU], [CPU]),
    ],
)
def test_speech_runs_on_what_there_is(device: str, available: list[str], taken: list[str]) -> None:
    assert providers(device, available) == taken


def test_speech_without_the_gpu_that_is_wanted_says_what_there_is() -> None:
    with pytest.raises(ModelUnavailable, match=f"onnxruntime has none.*{CPU}"):
        providers("gpu", [CPU])


@pytest.mark.parametrize(
    ("device", "kinds", "count"),
    [
        ("auto", ["GGML_BACKEND_DEVICE_TYPE_CPU"], 0),
        ("auto", ["GGML_BACKEND_DEVICE_TYPE_GPU", "GGML_BACKEND_DEVICE_TYPE_CPU"], ALL_LAYERS),
        ("gpu", ["GGML_BACKEND_DEVICE_TYPE_IGPU"], ALL_LAYERS),
        ("cpu", ["GGML_BACKEND_DEVICE_TYPE_GPU", "GGML_BACKEND_DEVICE_TYPE_CPU"], 0),
    ],
)
def test_the_brain_runs_on_what_there_is(device: str, kinds: list[str], count: int) -> None:
    assert layers(device, kinds) == count


def test_a_brain_without_the_gpu_that_is_wanted_is_told() -> None:
    with pytest.raises(ModelUnavailable, match="finds none"):
        layers("gpu", ["GGML_BACKEND_DEVICE_TYPE_CPU"])


def test_the_cpu_can_always_be_chosen() -> None:
    assert CPU in ort.get_available_providers()
    assert run_on("cpu") == "cpu"
