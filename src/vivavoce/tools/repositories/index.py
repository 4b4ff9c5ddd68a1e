"""Git's index: where a checkout would write by it. No I/O.

Git checks the names it adds to an index, not those it reads from one: an entry
`.git/hooks/post-checkout` is written by the user's next `git checkout`. So an index that a
command made is read here, in the way git does (gitformat-index, versions 2 to 4), and whatever
is not exactly as git writes it is refused. Git may read the entries in several threads, by a
table of offsets at the end (IEOT, found by EOIE): that has to tell the same entries.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from vivavoce.tools.repositories.spelling import canonical

_LONG = 0xFFF
"""A name of this length or more; its end is a NUL."""
_EXTENDED = 0x4000
_STAGE = 0x3000
"""Not 0: one side of a conflict."""
_FOLDER, _LINK = 0o040000, 0o120000
"""A folder is of a sparse index; its name ends with a slash."""


_MAY_BE_ODD = re.compile(rb"\.git|~|\\", re.IGNORECASE)


class _Odd(ValueError):
    """Not as git writes it."""


@dataclass(frozen=True, slots=True)
class _Entry:
    start: int
    end: int
    name: bytes
    mode: int
    stage: int
    whole: bool
    """Its name takes nothing from the one before."""


def writes_only_files(data: bytes, hash_size: int) -> bool:
    """Is it an index, and would a checkout by it write to the project's own files alone?"""
    try:
        entries = list(_entries(data, hash_size))
        extensions = _extensions(data, hash_size, entries)
    except (_Odd, struct.error, IndexError):
        return False
    # Where the entries are split between two files, one without a name replaces one of the other.
    nameless = b"link" in extensions
    if not all(_fine(each) or (nameless and not each.name) for each in entries):
        return False
    links = {each.name for each in entries if each.mode == _LINK and not each.stage}
    return not links or not any(above in links for each in entries for above in _above(each.name))


def _fine(entry: _Entry) -> bool:
    name = entry.name.removesuffix(b"/") if entry.mode == _FOLDER else entry.name
    if name.isascii() and not _MAY_BE_ODD.search(name):  # nearly all, and quickly
        parts = name.split(b"/")
        return b"" not in parts and b"." not in parts and b".." not in parts
    words = os.fsdecode(name).replace("\\", "/").split("/")
    return not {"", ".", ".."} & set(words) and not any(
        # `.git::$INDEX_ALLOCATION` is `.git` to Windows.
        canonical(word.partition(":")[0]) == ".git"
        for word in words
    )


def _above(name: bytes) -> Iterator[bytes]:
    at = name.find(b"/")
    while at > 0:
        yield name[:at]
        at = name.find(b"/", at + 1)


def _entries(data: bytes, hash_size: int) -> Iterator[_Entry]:
    signature, version, count = struct.unpack_from(">4sII", data)
    if signature != b"DIRC" or version not in (2, 3, 4):
        raise _Odd
    at, before = 12, b""
    for _ in range(count):
        entry = _entry(data, at, hash_size, before if version == 4 else None)
        at, before = entry.end, entry.name
        if at > len(data) - hash_size:
            raise _Odd
        yield entry


def _entry(data: bytes, start: int, hash_size: int, before: bytes | None) -> _Entry:
    """`before`: the name that this one's is told from, in version 4."""
    (mode,) = struct.unpack_from(">I", data, start + 24)
    at = start + 42 + hash_size
    (flags,) = struct.unpack_from(">H", data, at - 2)
    at += 2 if flags & _EXTENDED else 0
    kept = b""
    if before is not None:
        strip, at = _varint(data, at)
        if strip > len(before):
            raise _Odd
        kept = before[: len(before) - strip]
    until = data.find(b"\0", at)
    if until < 0:
        raise _Odd
    name = kept + data[at:until]
    # The length that is told, or at least that much.
    if len(name) != flags & _LONG if flags & _LONG < _LONG else len(name) < _LONG:
        raise _Odd
    padded = start + ((at - start + len(name) + 8) & ~7)
    end = padded if before is None else until + 1
    return _Entry(start, end, name, mode, flags & _STAGE, not kept)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    value = byte & 127
    while byte & 128:
        at += 1
        byte = data[at]
        value = ((value + 1) << 7) | (byte & 127)
    return value, at + 1


def _extensions(data: bytes, hash_size: int, entries: list[_Entry]) -> set[bytes]:
    begin = at = entries[-1].end if entries else 12
    end = len(data) - hash_size
    tail = end - 12 - hash_size
    # Where git takes the extensions from, whatever else is there.
    told = data[tail + 8 : tail + 12] if tail >= 0 and data[tail : tail + 4] == b"EOIE" else None
    if told is not None and told != struct.pack(">I", begin):
        raise _Odd
    found: set[bytes] = set()
    while at < end:
        name, size = struct.unpack_from(">4sI", data, at)
        if at + 8 + size > end:
            raise _Odd
        if name == b"IEOT":
            _blocks(data[at + 8 : at + 8 + size], entries)
        found.add(name)
        at += 8 + size
    return found


def _blocks(table: bytes, entries: list[_Entry]) -> None:
    """Each block of the table begins with the entry that it would be by counting."""
    number = 0
    for offset, count in struct.iter_unpack(">II", table[4:]):
        if number >= len(entries) or entries[number].start != offset or not entries[number].whole:
            raise _Odd
        number += count
    if number != len(entries):
        raise _Odd
