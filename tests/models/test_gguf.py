"""What a GGUF file says of itself, and what is said where it is none."""

from __future__ import annotations

import contextlib
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vivavoce.errors import ModelUnavailable
from vivavoce.models.gguf import check_fits, memory_here, read_gguf

HEAD: dict[str, Any] = {
    "general.architecture": "tiny",
    "general.name": "Tiny Talker",
    "tokenizer.ggml.tokens": ["a", "b", "é" * 50],
    "tokenizer.ggml.scores": [0.5] * 3000,
    "tiny.context_length": 2048,
    "tiny.block_count": 4,
    "tiny.embedding_length": 64,
    "tiny.attention.head_count": 8,
    "tiny.attention.head_count_kv": [2, 2, 4, 2],
    "tokenizer.chat_template": "{{ messages }}",
    "tokenizer.ggml.add_bos_token": True,
}


def string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def value(told: Any) -> tuple[int, bytes]:
    match told:
        case bool():
            return 7, struct.pack("<?", told)
        case int():
            return 4, struct.pack("<I", told)
        case float():
            return 6, struct.pack("<f", told)
        case str():
            return 8, string(told)
        case list():
            kind = value(told[0])[0]
            packed = b"".join(value(each)[1] for each in told)
            return 9, struct.pack("<IQ", kind, len(told)) + packed
    raise AssertionError(told)


def packed(told: dict[str, Any]) -> bytes:
    entries = b""
    for key, each in told.items():
        kind, data = value(each)
        entries += string(key) + struct.pack("<I", kind) + data
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(told)) + entries + b"\0" * 500


def written(folder: Path, name: str = "tiny.gguf", **other: Any) -> Path:
    path = folder / name
    path.write_bytes(packed(HEAD | other))
    return path


def test_it_says_who_it_is_and_what_it_can_read(tmp_path: Path) -> None:
    path = written(tmp_path)
    model = read_gguf(path)
    assert (model.name, model.architecture, model.context) == ("Tiny Talker", "tiny", 2048)
    assert model.template == "{{ messages }}"
    assert model.size == path.stat().st_size
    # Layers, keys and values, heads of the widest layer, numbers of a head, bytes of a number.
    assert model.kept_bytes == 4 * 2 * 4 * 8 * 2


def test_a_file_that_says_little_has_its_own_name(tmp_path: Path) -> None:
    path = tmp_path / "mine.gguf"
    path.write_bytes(packed({"general.architecture": "tiny"}))
    model = read_gguf(path)
    assert (model.name, model.context, model.template) == ("mine", 0, "")


def test_a_model_in_parts_is_as_large_as_all_of_them(tmp_path: Path) -> None:
    one = written(tmp_path, "big-00001-of-00002.gguf")
    with pytest.raises(ModelUnavailable, match="big-00002-of-00002"):
        read_gguf(one)
    written(tmp_path, "big-00002-of-00002.gguf")
    assert read_gguf(one).size == 2 * one.stat().st_size


def test_a_file_that_is_not_there_is_told_by_its_path(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"There is no model file .*gone\.gguf"):
        read_gguf(tmp_path / "gone.gguf")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"PK\x03\x04" + b"\0" * 100, "is no GGUF file"),
        (b"", "is no GGUF file"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0", "git lfs pull"),
        (b"GGUF" + b"\0" * 100, "damaged or was not fetched whole"),
        (packed(HEAD)[:300], "damaged or was not fetched whole"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_words(
    tmp_path: Path, data: bytes, words: str
) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(data)
    with pytest.raises(ModelUnavailable, match=words):
        read_gguf(path)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_no_damage_is_anything_but_words(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    whole = bytearray(packed(HEAD | {"tokenizer.ggml.scores": [0.5]}))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 501))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("damaged") / "model.gguf"
    path.write_bytes(bytes(whole))
    with contextlib.suppress(ModelUnavailable):  # and nothing else is ever raised
        read_gguf(path)


def test_one_that_is_too_large_for_the_machine_is_refused_with_both_sizes(tmp_path: Path) -> None:
    model = read_gguf(written(tmp_path))
    check_fits(model, 1000, model.needs(1000))
    with pytest.raises(ModelUnavailable, match=r"Tiny Talker needs about 0\.4 GB.*has 0\.3 GB"):
        check_fits(model, 1000, 300_000_000)


def test_this_machine_has_memory() -> None:
    assert memory_here() > 100_000_000
