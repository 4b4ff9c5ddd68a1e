"""How near what was said is to lines whose meaning is known, with vectors in place of the model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from vivavoce.brain.llama.likeness import Likeness, Vectors

LINES = {"tea": ["tatty", "tea"], "cat": ["ccc"]}


class _Counted(Likeness):
    """A text points where its letters t and c do."""

    def __init__(self, folder: Path) -> None:
        (folder / "model.onnx").touch()
        super().__init__(folder, folder)
        self.embedded: list[str] = []

    def _embedded(self, texts: Sequence[str]) -> Vectors:
        self.embedded += texts
        made = np.array([[0.1 + t.count("t"), 0.1 + t.count("c")] for t in texts], np.float32)
        return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), np.float32)


async def test_what_is_near_by_its_lines_is_nearest(tmp_path: Path) -> None:
    near = await _Counted(tmp_path).near(["tttt"], LINES)
    assert near.keys() == LINES.keys()
    assert near["tea"] > near["cat"]


async def test_the_nearest_of_several_sentences_counts(tmp_path: Path) -> None:
    likeness = _Counted(tmp_path)
    one, both = await likeness.near(["tttt"], LINES), await likeness.near(["tttt", "tc"], LINES)
    assert both["tea"] == one["tea"]
    assert both["cat"] > one["cat"]


async def test_lines_are_embedded_once_even_for_a_later_process(tmp_path: Path) -> None:
    first = _Counted(tmp_path)
    await first.prepare(LINES)
    await first.near(["t"], LINES)
    assert first.embedded == ["tatty", "tea", "ccc", "t"]
    later = _Counted(tmp_path)
    await later.near(["t"], LINES)
    assert later.embedded == ["t"]


async def test_without_the_model_nothing_is_near(tmp_path: Path) -> None:
    assert await Likeness(tmp_path, tmp_path).near(["tea"], LINES) == {}
    await Likeness(tmp_path, tmp_path).prepare(LINES)


SORTED = {
    "drink": ["pour the tea", "pour me a cup", "some tea please", "a cup of tea"],
    "pet": ["feed the cat", "feed it now", "where is the cat", "the cat is hungry"],
}


async def test_what_tells_lines_apart_is_learned_from_them(tmp_path: Path) -> None:
    likeness = _Counted(tmp_path)
    made = await likeness.sort("could you feed something", SORTED)
    assert made["pet"] > made["drink"]
    made = await likeness.sort("pour it out", SORTED)
    assert made["drink"] > made["pet"]
    assert abs(sum(np.exp(one) for one in made.values()) - 1) < 1e-5


async def test_it_is_learned_once_even_for_a_later_process(tmp_path: Path) -> None:
    first = await _Counted(tmp_path).sort("feed her", SORTED)
    (kept,) = tmp_path.glob("sorting-*.npz")
    before = kept.stat().st_mtime_ns
    assert await _Counted(tmp_path).sort("feed her", SORTED) == first
    assert kept.stat().st_mtime_ns == before
    kept.write_bytes(b"broken")
    assert await _Counted(tmp_path).sort("feed her", SORTED) == first


async def test_each_of_some_texts_is_near_or_not_and_none_is_kept(tmp_path: Path) -> None:
    likeness = _Counted(tmp_path)
    near = await likeness.nearness("tttt", ["tt", "cc"])
    assert near[0] > near[1]
    assert [one.name for one in tmp_path.iterdir()] == ["model.onnx"]
    assert await Likeness(tmp_path / "none", tmp_path).nearness("t", ["t"]) == []
    assert await Likeness(tmp_path / "none", tmp_path).sort("t", SORTED) == {}
