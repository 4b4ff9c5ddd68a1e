"""An index that a command made: git's own are fine, one that leads a checkout elsewhere is not."""

from __future__ import annotations

import hashlib
import os
import struct
import subprocess
from pathlib import Path

import pytest

from vivavoce.tools.repositories.files import hash_size, writes_only_files

FILE, LINK, FOLDER = 0o100644, 0o120000, 0o040000
Entry = tuple[bytes, int]


def _entry(name: bytes, mode: int, version: int, before: bytes, length: int | None = None) -> bytes:
    made = struct.pack(">10I", *[0] * 6, mode, 0, 0, 0) + bytes(20)
    made += struct.pack(">H", min(len(name), 0xFFF) if length is None else length)
    if version == 4:
        assert len(before) < 128
        return made + bytes([len(before)]) + name + b"\0"
    made += name
    return made + bytes(8 - len(made) % 8)


def made(*entries: Entry, version: int = 2, more: bytes = b"", length: int | None = None) -> bytes:
    body = b"DIRC" + struct.pack(">II", version, len(entries))
    before = b""
    for name, mode in entries:
        body += _entry(name, mode, version, before, length)
        before = name
    body += more
    return body + hashlib.sha1(body).digest()


def extension(name: bytes, content: bytes) -> bytes:
    return name + struct.pack(">I", len(content)) + content


def end_of_entries(offset: int) -> bytes:
    return extension(b"EOIE", struct.pack(">I", offset) + bytes(20))


ODD_NAMES = [
    *(b".git/hooks/x", b".GIT/config", b"a/.git/config", b".git", b"a/.Git", b".git./config"),
    *(b".git /config", b"git~1/config", b"GIT~1/hooks/x", b".git::$INDEX_ALLOCATION/config"),
    *("g\u200cit".encode(), ".g\u200cit/config".encode(), "\uff0egit/config".encode()),
    *(b"../x", b"a/../../x", b"..", b".", b"a/./b", b"/etc/x", b"//x", b"a//b", b"a/", b""),
    *(b".git\\hooks\\x", b"a\\..\\x", b"x" * 5000 + b"/.git/config"),
]


@pytest.mark.parametrize("version", [2, 3, 4])
@pytest.mark.parametrize("name", [name for name in ODD_NAMES if name != "g\u200cit".encode()])
def test_an_index_with_such_a_name_is_refused(name: bytes, version: int) -> None:
    assert not writes_only_files(made((b"a0", FILE), (name, FILE), version=version), 20)
    assert not writes_only_files(made((name, FILE), version=version), 20)


@pytest.mark.parametrize("version", [2, 3, 4])
def test_names_that_only_look_alike_are_fine(version: int) -> None:
    names = [b".gitignore", b".github/x", b"a.git", b"b/.gitkeep", b"c..d", b"git", b"x~1"]
    names += ["größe/Ñandú".encode(), b"\xff\xfe", b"z" * 120]
    entries = [(name, FILE) for name in sorted(names)]
    assert writes_only_files(made(*entries, version=version), 20)
    assert writes_only_files(made((b"y" * 5000, FILE)), 20)
    assert writes_only_files(made((b"folder/", FOLDER)), 20), "of a sparse index"


LONG = made((b"a", FILE), (b"b", FILE), more=extension(b"TREE", b"x"))
OFFSETS = struct.pack(">I", 1)
HIDDEN = _entry(b".git/hooks/x", FILE, 2, b"")
BROKEN = {
    "nothing": b"",
    "another file": b"PACK" + bytes(100),
    "of a version to come": LONG[:4] + struct.pack(">I", 5) + LONG[8:],
    "cut off": LONG[:90],
    "with fewer entries than it says": LONG[:8] + struct.pack(">I", 900) + LONG[12:],
    "a length that is not the name's": made((b"abc", FILE), length=2),
    "a length that goes beyond the name": made((b"abc", FILE), length=9),
    "a name said to be long that is short": made((b"abc", FILE), length=0xFFF),
    "a link with something beneath it": made((b"a", LINK), (b"a/b", FILE)),
    "a link with something deep beneath it": made((b"a", LINK), (b"a.b", FILE), (b"a/b/c", FILE)),
    "an extension that goes on too far": made((b"a", FILE), more=b"TREE" + struct.pack(">I", 99)),
    "extensions that begin elsewhere": made((b"a", FILE), more=end_of_entries(13)),
    "entries that begin elsewhere": made(
        (b"a", FILE),
        more=extension(b"IEOT", OFFSETS + struct.pack(">II", 104, 1)) + extension(b"ZZZZ", HIDDEN),
    ),
    "entries that are told too few": made(
        (b"a", FILE), (b"b", FILE), more=extension(b"IEOT", OFFSETS + struct.pack(">II", 12, 1))
    ),
    "an entry without a name": made((b"", FILE)),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_git_would_not_have_written_is_refused(what: str) -> None:
    assert not writes_only_files(BROKEN[what], 20)


def test_tables_that_tell_the_same_entries_are_fine() -> None:
    blocks = OFFSETS + struct.pack(">IIII", 12, 1, 76, 1)
    table = extension(b"IEOT", blocks)
    size = len(made((b"a", FILE), (b"b", FILE))) - 20
    assert size == 12 + 2 * 64
    assert writes_only_files(
        made((b"a", FILE), (b"b", FILE), more=table + end_of_entries(size)), 20
    )
    split = made((b"", FILE), more=extension(b"link", bytes(20)))
    assert writes_only_files(split, 20), "its name is in the file that it shares"


@pytest.mark.parametrize(
    ("told", "size"),
    [
        ("", 20),
        ("objectFormat = sha1", 20),
        ("objectFormat = sha256", 32),
        ("objectFormat = sha256\n objectformat = sha1", None),
        ("objectFormat = sha1 # sha256", None),
        ("objectFormat = sha256 ; x", None),
        ("objectFormat = sha\\\n256", None),
    ],
)
def test_an_index_is_read_with_the_size_that_git_takes(told: str, size: int | None) -> None:
    core = "[core]\n repositoryformatversion = 1\n"
    assert hash_size(f"{core}[extensions]\n {told}\n") == size


@pytest.mark.parametrize(
    "version",
    [
        "",
        " repositoryformatversion = 0\n",
        " repositoryformatversion = 1\n repositoryformatversion = 0\n",
    ],
)
def test_extensions_count_only_where_git_looks_at_them(version: str) -> None:
    assert hash_size(f"[core]\n{version}[extensions]\n objectformat = sha256\n") is None


HONEST = {
    "a plain one": "git add .",
    "one of a version": "git add .; git update-index --index-version 4",
    "one in two files": "git add .; git update-index --split-index; echo n > n; git add n",
    "one with what is not tracked": "git add .; git update-index --untracked-cache; git status",
    "one for several threads": "git -c index.threads=2 add .; seq 1 25000 | sed "
    "'s/.*/100644 e69de29bb2d1d6434b8b29ae775ad8c2e48c5391 0\\tdir&\\/f&/' | "
    "git -c index.threads=2 -c index.recordOffsetTable=true -c index.recordEndOfIndexEntries=true "
    "update-index --index-info",
    "one of version 4 for several threads": "git update-index --index-version 4; seq 1 25000 | sed "
    "'s/.*/100644 e69de29bb2d1d6434b8b29ae775ad8c2e48c5391 0\\tdir&\\/f&/' | "
    "git -c index.threads=2 -c index.recordOffsetTable=true -c index.recordEndOfIndexEntries=true "
    "-c index.version=4 update-index --index-info",
    "one with a conflict": "git add .; git commit -qm a; git checkout -qb x; echo 1 > a; "
    "git commit -qam 1; git checkout -q -; echo 2 > a; git commit -qam 2; git merge x",
    "one with what is to come": "git add -N .",
    "one with links": "ln -s a link; git add .",
}


@pytest.mark.parametrize("what", HONEST)
@pytest.mark.parametrize("hashes", ["sha1", "sha256"])
def test_what_git_writes_is_fine(what: str, hashes: str, tmp_path: Path) -> None:
    if hashes == "sha256" and "threads" in what:
        pytest.skip("the names in it are SHA-1's")
    house = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    for who in ("AUTHOR", "COMMITTER"):
        house |= {f"GIT_{who}_NAME": "U", f"GIT_{who}_EMAIL": "u@x"}
    begin = f"git init -q --object-format={hashes} .; mkdir -p d/e; echo a > a; echo b > d/e/b"
    command = ["/bin/bash", "-c", f"{begin}; {HONEST[what]}"]
    subprocess.run(command, cwd=tmp_path, env=house, capture_output=True)
    found = [tmp_path / ".git/index", *(tmp_path / ".git").glob("sharedindex.*")]
    assert (len(found) > 1) == ("two files" in what)
    assert (b"IEOT" in found[0].read_bytes()) == ("threads" in what)
    for one in found:
        assert writes_only_files(one.read_bytes(), 20 if hashes == "sha1" else 32), what
