"""What is on the disk is used only when it is right, and found out cheaply."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.models.hub import NO_TOOLS, model, some_bytes
from vivavoce.errors import ModelUnavailable, NotFound
from vivavoce.models import checks
from vivavoce.models.manifest import Model, ModelFile, Web
from vivavoce.models.registries import Registries
from vivavoce.models.store import ModelStore

NOBODY = (Web("http://127.0.0.1:9/nobody"),)
DATA = some_bytes(10_000)
IT = model("m", {"f.bin": (DATA, NOBODY), "voices/v.bin": (DATA[:500], NOBODY)})


def offline(folder: Path, *models: Model) -> ModelStore:
    return ModelStore(folder, models=models or (IT,), registries=Registries(NO_TOOLS, python=[]))


def put(folder: Path) -> None:
    (folder / "m" / "voices").mkdir(parents=True)
    (folder / "m" / "f.bin").write_bytes(DATA)
    (folder / "m" / "voices" / "v.bin").write_bytes(DATA[:500])


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were hashed."""
    seen: list[str] = []
    real = checks.sha256_of

    def sha256_of(path: Path) -> str:
        seen.append(path.name)
        return real(path)

    monkeypatch.setattr(checks, "sha256_of", sha256_of)
    return seen


def test_what_is_missing_says_how_to_get_it(tmp_path: Path) -> None:
    store = offline(tmp_path)
    assert not store.have("m")
    with pytest.raises(ModelUnavailable) as raised:
        store.path("m", "f.bin")
    assert raised.value.message == "m/f.bin is missing: run `vivavoce models pull m`"
    (now,) = store.progress()
    assert (now.state, now.received, now.total) == ("missing", 0, 10_500)


@pytest.mark.parametrize(("name", "file"), [("n", "f.bin"), ("m", "g.bin")])
def test_a_name_that_is_in_no_manifest_is_not_found(tmp_path: Path, name: str, file: str) -> None:
    with pytest.raises(NotFound):
        offline(tmp_path).path(name, file)


async def test_with_everything_there_nobody_is_asked_and_nothing_written(tmp_path: Path) -> None:
    put(tmp_path)
    assert offline(tmp_path).have("m")
    before = sorted(path for path in tmp_path.rglob("*"))
    await offline(tmp_path).pull(["m"])
    assert sorted(path for path in tmp_path.rglob("*")) == before


def test_a_file_is_hashed_once_and_again_when_it_changed(tmp_path: Path, hashed: list[str]) -> None:
    put(tmp_path)
    assert offline(tmp_path).progress()[0].state == "verifying"
    assert hashed == []
    assert offline(tmp_path).have("m")
    assert hashed == ["f.bin", "v.bin"]
    assert offline(tmp_path).have("m")  # as after a restart
    assert offline(tmp_path).path("m", "f.bin") == tmp_path / "m" / "f.bin"
    assert offline(tmp_path).progress()[0].state == "ready"
    assert hashed == ["f.bin", "v.bin"]

    os.utime(tmp_path / "m" / "f.bin", (1, 1))
    assert offline(tmp_path).have("m")
    assert hashed == ["f.bin", "v.bin", "f.bin"]


@pytest.mark.parametrize("how", ["in place", "another file"])
def test_a_file_with_its_old_size_and_time_is_hashed_again_all_the_same(
    tmp_path: Path, how: str
) -> None:
    put(tmp_path)
    assert offline(tmp_path).have("m")
    path = tmp_path / "m" / "f.bin"
    found = path.stat()
    written = path if how == "in place" else tmp_path / "other"
    written.write_bytes(DATA[::-1])
    os.utime(written, ns=(found.st_atime_ns, found.st_mtime_ns))
    written.replace(path)
    assert path.stat().st_mtime_ns == found.st_mtime_ns
    with pytest.raises(ModelUnavailable, match="has another sha256"):
        offline(tmp_path).path("m", "f.bin")


@pytest.mark.parametrize("field", range(4))
def test_each_of_size_times_and_inode_counts(tmp_path: Path, hashed: list[str], field: int) -> None:
    put(tmp_path)
    assert offline(tmp_path).have("m")
    stamps = json.loads((tmp_path / "m" / checks.STAMPS).read_text())
    stamps["f.bin"][field] += 1
    (tmp_path / "m" / checks.STAMPS).write_text(json.dumps(stamps))
    hashed.clear()
    assert offline(tmp_path).have("m")
    assert hashed == ["f.bin"]


def test_a_file_that_changes_while_it_is_hashed_is_not_stamped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path)
    file = IT.files[0]
    path = tmp_path / "m" / file.name
    hash_of = checks.sha256_of

    def slowly(at: Path) -> str:
        found = hash_of(at)
        path.write_bytes(bytes(file.size))
        os.utime(path, ns=(1, 1))
        return found

    monkeypatch.setattr(checks, "sha256_of", slowly)
    checks.check(tmp_path / "m", file, trust_stamp=False)
    monkeypatch.undo()
    assert not offline(tmp_path).have("m")


def test_a_stamp_for_another_hash_does_not_count(tmp_path: Path) -> None:
    put(tmp_path)
    assert offline(tmp_path).have("m")
    newer = model("m", {"f.bin": (some_bytes(10_000, seed=2), NOBODY)})
    assert not offline(tmp_path, newer).have("m")


@pytest.mark.parametrize("stamps", ["", "[]", '{"f.bin": 1}'])
def test_a_broken_stamp_file_is_only_a_reason_to_hash(tmp_path: Path, stamps: str) -> None:
    put(tmp_path)
    (tmp_path / "m" / checks.STAMPS).write_text(stamps)
    assert offline(tmp_path).have("m")


def test_damage_of_the_same_size_is_noticed_before_use(tmp_path: Path) -> None:
    put(tmp_path)
    store = offline(tmp_path)
    assert store.have("m")
    (tmp_path / "m" / "f.bin").write_bytes(DATA[::-1])
    with pytest.raises(ModelUnavailable, match="has another sha256"):
        store.path("m", "f.bin")


def test_verify_hashes_everything_whatever_the_stamps_say(tmp_path: Path) -> None:
    put(tmp_path)
    store = offline(tmp_path)
    assert store.verify("m") == []
    path = tmp_path / "m" / "f.bin"
    path.write_bytes(DATA[::-1])
    checks._stamp(tmp_path / "m", IT.files[0], path.stat())  # as a bad disk would do it
    (tmp_path / "m" / "voices" / "v.bin").write_bytes(b"")
    assert store.path("m", "f.bin") == path
    assert store.verify("m") == [
        "m/f.bin has another sha256",
        "m/voices/v.bin has 0 bytes instead of 500",
    ]


def test_a_copied_folder_works_elsewhere(tmp_path: Path) -> None:
    put(tmp_path / "here")
    assert offline(tmp_path / "here").have("m")
    shutil.copytree(tmp_path / "here", tmp_path / "there", copy_function=shutil.copyfile)
    assert offline(tmp_path / "there").have("m")
    assert offline(tmp_path / "there").verify("m") == []


@pytest.mark.parametrize("name", ["../f", "/etc/f", "a/../../f", "a\\f"])
def test_a_file_of_the_manifest_lies_inside_its_model(name: str) -> None:
    with pytest.raises(ValueError, match="inside a folder"):
        ModelFile(name, 1, "", ())
