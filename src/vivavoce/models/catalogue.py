"""Which models there are. Sizes and hashes were taken from the files themselves.

The author's own place comes first. The packages are mirrors for machines that
reach a package index but no model hub; most are other people's uploads and may
vanish, which is why nothing here is ever installed.
"""

from __future__ import annotations

from vivavoce.models.catalogue_brains import BRAINS
from vivavoce.models.catalogue_ears import EARS
from vivavoce.models.catalogue_mouths import MOUTHS
from vivavoce.models.manifest import Model, ModelFile, Web, Wheel

_HUB = "https://huggingface.co"
_SILERO = "https://raw.githubusercontent.com/snakers4/silero-vad/v6.2.1/src/silero_vad/data"
_SMART_TURN = "pipecat-ai/smart-turn-v3/resolve/f766f81d3cfdf7737ac64aad813d91bbfd56bf93"

_DETECTOR = Model(
    name="silero-vad",
    role="speech detection",
    title="Silero VAD 6",
    licence="MIT",
    default=True,
    files=(
        ModelFile(
            "silero_vad.onnx",
            1_289_603,
            "7ed98ddbad84ccac4cd0aeb3099049280713df825c610a8ed34543318f1b2c49",
            (
                Web(f"{_SILERO}/silero_vad_16k_op15.onnx"),
                Wheel("silero-vad", "6.2.3", "silero_vad/data/silero_vad_16k_op15.onnx"),
            ),
        ),
    ),
)

_JUDGE = Model(
    name="smart-turn",
    role="end of turn",
    title="Smart Turn 3.2",
    licence="BSD-2-Clause",
    default=True,
    files=(
        ModelFile(
            "smart_turn.onnx",
            8_679_182,
            "2bb026316b14a660486a75b1733cd3fbab8c2fd0314dc9af7be49f8cca967e4f",
            (
                Web(f"{_HUB}/{_SMART_TURN}/smart-turn-v3.2-cpu.onnx"),
                Wheel(
                    "pipecat-ai",
                    "1.14.0",
                    "pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx",
                ),
            ),
        ),
    ),
)

MODELS: tuple[Model, ...] = (_DETECTOR, _JUDGE, *EARS, *BRAINS, *MOUTHS)

DEFAULTS: tuple[str, ...] = tuple(model.name for model in MODELS if model.default)
