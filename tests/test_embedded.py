"""The engine inside: what it says while it cannot answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.server.serving import until
from vivavoce.app.engine import UPLOADS, EmbeddedEngine
from vivavoce.app.settings import Settings
from vivavoce.engine.shell.work import Parts
from vivavoce.errors import InvalidRequest, Unavailable


def settings(folder: Path, **more: object) -> Settings:
    return Settings(_env_file=None, data_dir=folder, models_dir=folder, **more)  # type: ignore[arg-type, call-arg] # as the environment would give them


async def test_models_that_cannot_be_loaded_are_told_and_their_paths_are_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> Parts:
        raise OSError("/srv/private/model.onnx is damaged")

    inside = EmbeddedEngine(settings(tmp_path), parts=broken)
    assert not inside.failed
    async with inside.running():
        await until(lambda: inside.failed)
        (words,) = inside.waiting_for()
        assert "cannot be fetched or loaded" in words
        assert "/srv" not in words
    assert "/srv/private/model.onnx" in caplog.text


def test_a_wrong_script_is_one_clear_complaint(tmp_path: Path) -> None:
    script = tmp_path / "mine.yaml"
    script.write_text("rules: [{say: hello}]")
    with pytest.raises(InvalidRequest, match=r"mine\.yaml"):
        EmbeddedEngine(settings(tmp_path, script=script))


def test_without_its_packages_it_says_how_to_get_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vivavoce.app.engine.PACKAGES", ("numpy", "no_such_package"))
    with pytest.raises(Unavailable, match=r"no_such_package.*vivavoce\[engine\]"):
        EmbeddedEngine(settings(tmp_path))


def test_the_gate_lets_a_whole_recording_through() -> None:
    from vivavoce.engine.api.audio import MAX_FILE

    assert UPLOADS["/v1/audio/transcriptions"] > MAX_FILE
