"""What a GGUF file says of itself: who it is, how much it can read at once, what it will need.

Reads the head of the file and none of its weights. Everything wrong with it is said in
words that help whoever chose the file.
"""

from __future__ import annotations

import mmap
import re
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from vivavoce.errors import ModelUnavailable
from vivavoce.wire.values import Value

_MAGIC = b"GGUF"
_STRING, _ARRAY = 8, 9
_NUMBERS: Final[Mapping[int, str]] = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q",
    12: "<d",
}  # fmt: skip
_SHORT = 1024
"""Numbers of an array that are worth reading: a vocabulary is not."""
_LONGEST = 1 << 22
"""Letters of a string that is read."""
PART = re.compile(r"-\d{5}-of-(\d{5})\.gguf$")
"""How the name of a piece of a model ends."""
_HALF = 2
"""Bytes of a number in the model's memory of a talk."""
_BESIDES = 400_000_000
"""Bytes for reading itself, and for the process."""
_CGROUP = Path("/sys/fs/cgroup/memory.max")


class Gguf(Value):
    """`size` is of all its parts, in bytes. `context` is what it was trained for, 0 where it does
    not say; `template` is how it wants a chat written, empty where it does not say."""

    name: str
    architecture: str
    size: int
    context: int
    template: str
    kept_bytes: int
    """That it keeps of each token of a talk."""

    def needs(self, tokens: int) -> int:
        """Bytes of memory, with a context of so many tokens in all."""
        return self.size + self.kept_bytes * tokens + _BESIDES


def read_gguf(path: Path) -> Gguf:
    """Raises `ModelUnavailable`. Takes a tenth of a second: vocabularies are stepped over."""
    try:
        parts = _parts(path)
        size = sum(part.stat().st_size for part in parts)
        with path.open("rb") as file:
            if file.read(4) != _MAGIC:
                raise ModelUnavailable(_no_gguf(path))
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as head:
                told = dict(_told(head))
    except FileNotFoundError as fault:
        raise ModelUnavailable(f"There is no model file {fault.filename or path}.") from None
    except OSError as fault:
        raise ModelUnavailable(f"{path} cannot be read: {fault.strerror or fault}.") from fault
    except (struct.error, ValueError, KeyError, OverflowError) as fault:
        words = f"{path} begins like a GGUF file, but is damaged or was not fetched whole."
        raise ModelUnavailable(words) from fault
    architecture = str(told.get("general.architecture", ""))
    return Gguf(
        name=str(told.get("general.name") or path.stem),
        architecture=architecture,
        size=size,
        context=_number(told.get(f"{architecture}.context_length")),
        template=str(told.get("tokenizer.chat_template", "")),
        kept_bytes=_kept(architecture, told),
    )


def check_fits(model: Gguf, tokens: int, memory: int) -> None:
    """Raises `ModelUnavailable` where it is larger than the machine."""
    if (needed := model.needs(tokens)) > memory:
        raise ModelUnavailable(
            f"{model.name} needs about {needed / 1e9:.1f} GB of memory, and this machine has "
            f"{memory / 1e9:.1f} GB: choose a smaller model, or one with fewer bits."
        )


def memory_here() -> int:
    """Bytes that this machine has, or that its container may use."""
    import psutil  # the settings name files too, and have no use for it

    total = int(psutil.virtual_memory().total)
    try:
        return min(total, int(_CGROUP.read_text()))
    except (OSError, ValueError):
        return total


def _parts(path: Path) -> list[Path]:
    if (found := PART.search(path.name)) is None:
        return [path]
    stem, count = path.name[: found.start()], found.group(1)
    return [path.with_name(f"{stem}-{n:05}-of-{count}.gguf") for n in range(1, int(count) + 1)]


def _no_gguf(path: Path) -> str:
    head = path.read_bytes()[:200] if path.stat().st_size < 10_000 else b""
    if b"git-lfs" in head:
        return f"{path} is a pointer of git LFS and no model: run `git lfs pull` in its folder."
    return f"{path} is no GGUF file. Other formats have to be converted, with llama.cpp's tools."


# --- The head of the file


def _told(head: mmap.mmap) -> Iterator[tuple[str, Any]]:
    version, _, count = struct.unpack_from("<IQQ", head, 4)
    if version not in (2, 3):
        raise ValueError(f"version {version}")
    at = 24
    for _ in range(count):
        key, at = _string(head, at)
        (kind,) = struct.unpack_from("<I", head, at)
        value, at = _value(head, at + 4, kind)
        yield key, value


def _value(head: mmap.mmap, at: int, kind: int) -> tuple[Any, int]:
    if kind == _STRING:
        return _string(head, at)
    if kind == _ARRAY:
        return _array(head, at)
    form = _NUMBERS[kind]
    return struct.unpack_from(form, head, at)[0], at + struct.calcsize(form)


def _string(head: mmap.mmap, at: int) -> tuple[str, int]:
    (length,) = struct.unpack_from("<Q", head, at)
    end = at + 8 + length
    if end > len(head) or length > _LONGEST:
        raise ValueError("a string runs out of the file")
    return head[at + 8 : end].decode("utf-8", errors="replace"), end


def _array(head: mmap.mmap, at: int) -> tuple[list[Any], int]:
    kind, count = struct.unpack_from("<IQ", head, at)
    at += 12
    if kind == _STRING:
        for _ in range(count):
            at += 8 + struct.unpack_from("<Q", head, at)[0]
        return [], at
    if kind == _ARRAY:
        raise ValueError("arrays of arrays")
    step = struct.calcsize(_NUMBERS[kind])
    few = range(count if count <= _SHORT else 0)
    return [_value(head, at + n * step, kind)[0] for n in few], at + count * step


def _kept(architecture: str, told: Mapping[str, Any]) -> int:
    def of(name: str) -> int:
        return _number(told.get(f"{architecture}.{name}"))

    heads = of("attention.head_count") or 1
    sharing = of("attention.head_count_kv") or heads
    wide = of("attention.key_length") or of("embedding_length") // heads
    return of("block_count") * 2 * sharing * wide * _HALF


def _number(told: object) -> int:
    """Of all layers, where they differ: the largest."""
    if isinstance(told, list):
        return max((_number(each) for each in told), default=0)
    return int(told) if isinstance(told, int) else 0
