"""Speech to text with Moonshine (English). Owns the model's files, tokens and limits.

Its decoder's graph is changed as it is loaded, so that a token's scores do not
depend on its company. The file rounds what goes into a product by the largest
value of the whole run, so that several tokens looked at together score otherwise
than one by one, and a hint might change the text. Here every token is rounded for
itself, 32 values at a time, which is also nearer the truth. And the scores come
from the vocabulary's 8 bits, instead of from a copy of it in floats. The files stay
as they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

from vivavoce.engine.ears.decoding import Decoder, Decoding
from vivavoce.engine.ears.keywords import Floats
from vivavoce.engine.ears.recogniser import USUAL, ModelEars, Way
from vivavoce.engine.ports import EAR_RATE, Samples

_START, _END = 1, 2
_TOKENS_PER_S = 6.5
"""People say fewer. A clip cut in the middle of a word would otherwise loop."""
_NOTHING = 0.8
"""How sure it must be that nothing was said. Chosen on a handful of clips: noise gave 0.93 and
more, two of speech 0.35 and 0.70. It is no clean line: one of speech with long pauses, behind
half a second of silence, gave 0.98 and is still lost."""
_BLOCK = 32
_DOMAIN = "com.microsoft"
Array = npt.NDArray[Any]
Made = dict[str, onnx.NodeProto]


class MoonshineEars(ModelEars):
    def __init__(self, folder: Path, *, threads: int = 2) -> None:
        super().__init__(folder, threads, edit=rowwise)
        self._decoder = Decoder(self._session, _END, _weigh, least=2, marks=self._marks)
        self._warm()

    def begin(self, speech: Samples, guess: str, run: ort.RunOptions, way: Way = USUAL) -> Decoding:
        hidden = self._encoder.run(None, {"input_values": speech[np.newaxis]}, run)[0]
        tokens = self._tokenizer.encode(guess, add_special_tokens=False).ids
        limit = max(3, math.ceil(len(speech) / EAR_RATE * _TOKENS_PER_S))
        likely = self._trees.of(way.keywords)
        return Decoding(self._decoder, hidden, (_START,), limit, tokens, run, likely)


def _weigh(scores: Floats, before: int) -> Floats:
    if before or 1.0 / np.exp(scores - scores[_END]).sum() >= _NOTHING:
        return scores
    weighed = scores.copy()
    weighed[_END] = -np.inf
    return weighed


# --- The graph


def rowwise(path: Path) -> bytes:
    """For `open_model`. Raises `ValueError` for a graph that is not as expected."""
    model = onnx.load(str(path))
    weights = _Weights(model.graph)
    for branch in _branches(model.graph):
        _change(branch, weights)
    if not weights.packed:
        raise ValueError("there is no product in 8 bits")
    weights.store()
    model.opset_import.append(helper.make_opsetid(_DOMAIN, 1))
    return bytes(model.SerializeToString())


def _branches(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """With memory and without: both are inside one `If`."""
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield attribute.g


def _change(branch: onnx.GraphProto, weights: _Weights) -> None:
    made = {output: node for node in branch.node for output in node.output}
    nodes = [
        _product(node, made, weights) or _scores(node, made, weights) or node
        for node in branch.node
    ]
    wanted = {output.name for output in branch.output}
    kept = []
    for node in reversed(nodes):  # in the order of the work, as ONNX asks
        if not wanted.isdisjoint(node.output):
            wanted.update(node.input)
            kept.append(node)
    del branch.node[:]
    branch.node.extend(reversed(kept))
    weights.used |= wanted


def _product(node: onnx.NodeProto, made: Made, weights: _Weights) -> onnx.NodeProto | None:
    """The last node of a product in 8 bits: round, multiply, make floats, scale."""
    if node.op_type != "Mul" or not all(name in made for name in node.input):
        return None
    cast, scales = (made[name] for name in node.input)
    product = made.get(cast.input[0]) if cast.op_type == "Cast" else None
    if product is None or product.op_type != "MatMulInteger" or scales.op_type != "Mul":
        return None
    rounded = made[product.input[0]]
    if rounded.input[0] == "encoder_hidden_states":
        return None  # the same for all tokens, and once for all of them
    weight, zero, scale = product.input[1], product.input[3], scales.input[1]
    rows = weights.read(weight).T
    packed = weights.pack(weight, rows, weights.read(zero), weights.read(scale))
    return _node(node, rounded.input[0], packed, rows.shape)


def _scores(node: onnx.NodeProto, made: Made, weights: _Weights) -> onnx.NodeProto | None:
    """The product with the vocabulary: turn, make floats, multiply."""
    floats = made.get(node.input[1]) if node.op_type == "MatMul" else None
    if floats is None or floats.op_type != "DequantizeLinear":
        return None
    turned = made.get(floats.input[0])
    if turned is None or turned.op_type != "Transpose":
        return None
    rows = weights.read(turned.input[0])
    scale, zero = weights.read(floats.input[1]), weights.read(floats.input[2])
    packed = weights.pack(turned.input[0], rows, zero, scale)
    return _node(node, node.input[0], packed, rows.shape)


def _node(
    old: onnx.NodeProto, values: str, packed: list[str], shape: tuple[int, ...]
) -> onnx.NodeProto:
    return helper.make_node(
        "MatMulNBits",
        [values, *packed],
        list(old.output),
        name=f"{old.name}_rowwise",
        domain=_DOMAIN,
        N=shape[0],
        K=shape[1],
        bits=8,
        block_size=_BLOCK,
        accuracy_level=4,  # products in 8 bits, as they were
    )


class _Weights:
    """What the graph holds. The branches share it, so each weight is packed once."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self._graph = graph
        self._tensors = {tensor.name: tensor for tensor in graph.initializer}
        self.packed: dict[str, list[str]] = {}
        self.used: set[str] = set()

    def read(self, name: str) -> Array:
        if name not in self._tensors:
            raise ValueError(f"{name} is no constant")
        return numpy_helper.to_array(self._tensors[name])

    def pack(self, name: str, rows: Array, zero: Array, scale: Array) -> list[str]:
        """The names of its rows in blocks, their scales and their zeros."""
        if name in self.packed:
            return self.packed[name]
        if rows.shape[1] % _BLOCK or rows.dtype != np.uint8 or zero.size != 1 or scale.size != 1:
            raise ValueError(f"{name} has an unknown shape")
        blocks = (rows.shape[0], rows.shape[1] // _BLOCK)
        parts = {
            f"{name}_rows": np.ascontiguousarray(rows).reshape(*blocks, _BLOCK),
            f"{name}_scales": np.full(blocks, scale.item(), dtype=np.float32),
            f"{name}_zeros": np.full(blocks, zero.item(), dtype=np.uint8),
        }
        for part, value in parts.items():
            self._tensors[part] = numpy_helper.from_array(value, part)
        self.packed[name] = list(parts)
        return self.packed[name]

    def store(self) -> None:
        """Keep what is still used, and what came."""
        del self._graph.initializer[:]
        self._graph.initializer.extend(
            tensor for name, tensor in self._tensors.items() if name in self.used
        )
