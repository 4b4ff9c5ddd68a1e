"""What git's own files in a repository say, read as git reads them: its settings, and its index.
No I/O.

Git checks the names it adds to an index, not those it reads from one: an entry
`.git/hooks/post-checkout` is written by the user's next `git checkout`. So an index that a
command made is read here, in the way git does (gitformat-index, versions 2 to 4), and whatever
is not exactly as git writes it is refused. Git may read the entries in several threads, by a
table of offsets at the end (IEOT, found by EOIE): that has to tell the same entries.
"""

from __future__ import annotations

import os
import re
import shlex
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from vivavoce.tools.repositories.spelling import canonical

# --- Its settings -----------------------------------------------------------------------

_SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\\n]|\\.)*)")?\s*\]\s*(.*)', re.ASCII)
_VARIABLE = re.compile(r"([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?", re.ASCII)
_PLAIN = re.compile(
    r"core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase"
    r"|precomposeunicode|symlinks|autocrlf|eol|safecrlf)|user\.(?:name|email)"
    r"|remote\.[^.]+\.(?:url|fetch)|branch\..+\.(?:remote|merge|rebase)"
    r"|init\.defaultbranch|extensions\.objectformat"
)
"""Settings that name no program, no further settings, and no other place."""
_ODD = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\\]")
"""Where our reading and git's may part: a backslash joins lines, but not after a comment; a
return or a form feed is no end of a line. Who means well needs none of them."""


def settings(text: str) -> Iterator[tuple[str, str]]:
    """Each `section.key` with its value, in lower case but for the value. Liberal: what cannot be
    read is given without a name, and so is the rest of a value that goes on in the next line."""
    section = ""
    for line in text.split("\n"):
        line = line.strip(" \t\r")
        if (found := _SECTION.match(line)) is not None:
            section = ".".join(filter(None, (found[1].lower(), found[2])))
            line = found[3].strip(" \t")
        if not line or line[0] in "#;":
            continue
        variable = _VARIABLE.fullmatch(line)
        if variable is None or not section:
            yield "", line
        else:
            yield f"{section}.{variable[1].lower()}", variable[2] or ""


def harmless(text: str) -> bool:
    return _ODD.search(text) is None and all(
        _PLAIN.fullmatch(name) and _plain_value(value) for name, value in settings(text)
    )


def _plain_value(value: str) -> bool:
    """`ext::…` is a program, and quotes within it are not read by git; `-…` is an option."""
    bare = value.replace('"', "")
    return "::" not in bare and not bare.startswith("-")


def hash_size(text: str) -> int | None:
    """Of the repository's object names, in bytes; None where it is told in more than one way. Git
    looks at extensions only in repositories of version 1."""
    told = {value.lower() for name, value in settings(text) if name == "extensions.objectformat"}
    version = {value for name, value in settings(text) if name == "core.repositoryformatversion"}
    match sorted(told):
        case [] | ["sha1"]:
            return 20
        case ["sha256"] if version == {"1"}:
            return 32
        case _:
            return None


def named_words(text: str) -> Iterator[str]:
    """What the settings name that may be a file: a program, or further settings."""
    for setting, value in settings(text):
        if setting.split(".")[0] not in ("remote", "branch", "submodule", "user", "url"):
            yield from _words(value)


def _words(value: str) -> Iterator[str]:
    try:
        words = shlex.split(value)
    except ValueError:
        words = value.split()
    for word in words:
        plain = word.lstrip("!").strip()
        # One word without a slash or a dot is a number, a yes, a program of the system.
        if plain and ("/" in plain or "." in plain) and not plain.startswith(("-", "~", "$")):
            yield plain


# --- Its index: where a checkout would write by it ----------------------------------------

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
