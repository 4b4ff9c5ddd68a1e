"""The graphs of the voices, changed as they are loaded: what they know inside comes out.

All kinds of voice predict so many frames for each phoneme and then draw the
sound over them; that number becomes an output, so that words have their time.
Kokoro also predicts how loud each frame will be: the silence before and after
the speech is left undrawn, which is a third of a clause and half of a word.
(To cap the frames themselves is no way: the melody runs over them, and words
lose their ends.) Knows ONNX; the files stay as they are.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

log = logging.getLogger(__name__)

DURATIONS, START = "vivavoce_durations", "vivavoce_start"
"""Outputs: the frames of each phoneme, and the first frame that was drawn."""

QUIET = -4.0
"""Kokoro's loudness: speech is above, the softest consonants near 0, silence at -6 to -10."""
MARGIN = 2
"""Frames drawn before and after."""

Edit = Callable[[onnx.GraphProto], bool]


def edited(edit: Edit) -> Callable[[Path], bytes | None]:
    """For `open_model`; a graph that is not as expected is left as it is."""

    def load(path: Path) -> bytes | None:
        model = onnx.load(str(path))
        if edit(model.graph):
            return bytes(model.SerializeToString())
        log.warning("unknown graph: word times are estimated", extra={"model": path.parent.name})
        return None

    return load


def piper(graph: onnx.GraphProto) -> bool:
    """Durations come out."""
    if _maker(graph, "/Ceil_output_0") is None:
        return False
    _give(graph, "/Ceil_output_0", DURATIONS)
    return True


def hibari(graph: onnx.GraphProto) -> bool:
    """Durations come out. Its names are those of its exporter, and say little: so what feeds them
    is looked at as well."""
    durations = _maker(graph, "/Clip_output_0")
    if durations is None or _maker(graph, "/Round_output_0") is None:
        return False
    if "/Round_output_0" not in durations.input:
        return False
    _give(graph, "/Clip_output_0", DURATIONS)
    return True


def kokoro(graph: onnx.GraphProto) -> bool:
    """Durations come out, and only what will be heard is drawn."""
    durations, sound = "/encoder/Clip_output_0", "/encoder/MatMul_1_output_0"
    pitch, loudness = "/encoder/Reshape_output_0", "/encoder/Reshape_1_output_0"
    makers = [_maker(graph, name) for name in (sound, pitch, loudness, durations)]
    if None in makers:
        return False
    for name in (sound, pitch, loudness):
        maker = _maker(graph, name)
        assert maker is not None
        maker.output[0] = f"{name}_whole"
    _give(graph, durations, DURATIONS)
    _find_speech(graph, f"{loudness}_whole")
    # Pitch and loudness have two values a frame.
    for name, half, axis in ((sound, "", 2), (pitch, "_half", 1), (loudness, "_half", 1)):
        bounds = (START + half, "vivavoce_end" + half, _constant(graph, f"axis_{axis}", [axis]))
        # At the end, though used before: onnxruntime puts nodes in order itself.
        graph.node.append(helper.make_node("Slice", [f"{name}_whole", *bounds], [name]))
    graph.output.append(helper.make_tensor_value_info(START, TensorProto.INT64, [1]))
    return True


def _find_speech(graph: onnx.GraphProto, loudness: str) -> None:
    """Nodes for the first and the last frame to draw. Where nothing is loud, all of them."""

    def node(kind: str, inputs: list[str], output: str, **settings: Any) -> str:
        name = f"vivavoce_{output}"
        graph.node.append(helper.make_node(kind, inputs, [name], **settings))
        return name

    quiet = _constant(graph, "quiet", QUIET)
    two, none = _constant(graph, "two", [2]), _constant(graph, "none", [0])
    before, after = _constant(graph, "before", [MARGIN]), _constant(graph, "after", [MARGIN + 1])
    loud = node("Greater", [loudness, quiet], "loud")
    loud = node("Cast", [loud], "loud_number", to=TensorProto.INT32)
    first = node("ArgMax", [loud], "first", axis=1, keepdims=0)
    last = node("ArgMax", [loud], "last", axis=1, keepdims=0, select_last_index=1)
    first = node("Sub", [node("Div", [first, two], "first_frame"), before], "early")
    start = node("Max", [first, none], START.removeprefix("vivavoce_"))
    end = node("Add", [node("Div", [last, two], "last_frame"), after], "end")
    node("Mul", [start, two], "start_half")
    node("Mul", [end, two], "end_half")


def _maker(graph: onnx.GraphProto, output: str) -> onnx.NodeProto | None:
    return next((node for node in graph.node if output in node.output), None)


def _give(graph: onnx.GraphProto, inside: str, output: str) -> None:
    graph.node.append(helper.make_node("Identity", [inside], [output]))
    graph.output.append(helper.make_tensor_value_info(output, TensorProto.FLOAT, None))


def _constant(graph: onnx.GraphProto, name: str, value: float | list[int]) -> str:
    name = f"vivavoce_{name}"
    if all(known.name != name for known in graph.initializer):
        kind = np.float32 if isinstance(value, float) else np.int64
        graph.initializer.append(numpy_helper.from_array(np.array(value, dtype=kind), name))
    return name
