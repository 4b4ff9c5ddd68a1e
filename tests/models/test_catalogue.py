"""The manifest that ships."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from vivavoce.app.settings import BRAINS, Settings
from vivavoce.models.manifest import MODELS, Joined, Web
from vivavoce.models.terminal import megabytes

_NEEDED = ("silero-vad", "smart-turn", "moonshine-base", "qwen-1.5b", "minilm", "hibari", "kokoro")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "models.md"


def test_every_file_has_a_size_a_hash_and_a_mirror() -> None:
    for model in MODELS:
        assert model.licence
        names = [file.name for file in model.files]
        assert len(set(names)) == len(names)
        for file in model.files:
            assert file.size > 0
            assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
            assert list(file.packed())


def test_the_authors_own_place_comes_first_and_is_encrypted() -> None:
    for model in MODELS:
        for file in model.files:
            webs = [source for source in file.sources if isinstance(source, Web)]
            assert list(file.sources[: len(webs)]) == webs
            assert all(web.url.startswith("https://") for web in webs)


def test_the_settings_choose_among_the_models_of_each_role() -> None:
    roles = {model.name: model.role for model in MODELS}
    for name, role in (("ears", "ears"), ("mouth", "mouth")):
        choices = get_args(Settings.model_fields[name].annotation)
        assert {*choices} - {"auto"} == {name for name, its in roles.items() if its == role}
    assert {*BRAINS} - {"scripted"} == {name for name, its in roles.items() if its == "brain"}


def test_with_no_settings_one_model_a_role_is_needed_and_two_mouths(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("BRAIN", "EARS", "MOUTH", "SCRIPT"):
        monkeypatch.delenv(f"VIVAVOCE_{name}", raising=False)
    assert Settings(_env_file=None).needed_models == _NEEDED  # type: ignore[call-arg]
    roles = [model.role for model in MODELS if model.name in _NEEDED]
    roles.remove("mouth")  # the quick one, and the one with all other voices
    assert len(set(roles)) == len(roles)


def test_a_brain_in_parts_has_them_all_and_in_order() -> None:
    for model in MODELS:
        if model.role == "brain":
            (file,) = model.files
            (joined,) = (source for source in file.sources if isinstance(source, Joined))
            numbers = [re.findall(r"part(\d+)", str(part.member)) for part in joined.parts]
            wanted = range(1, len(joined.parts) + 1)
            assert [[int(n) for n in each] for each in numbers] == [[n, n] for n in wanted]


def test_kokoro_has_the_english_voices() -> None:
    (kokoro,) = (model for model in MODELS if model.name == "kokoro")
    voices = [f.name[7:-4] for f in kokoro.files if f.name.startswith("voices/")]
    assert len(voices) == 28
    assert {voice[:3] for voice in voices} == {"af_", "am_", "bf_", "bm_"}
    assert "af_heart" in voices


def test_the_document_has_the_same_table() -> None:
    rows = re.findall(
        r"^\| `([\w.-]+)` \| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$", PAGE.read_text(), re.M
    )
    assert [(name, role, licence, size) for name, role, _, licence, size in rows] == [
        (
            model.name,
            model.role + (", default" if model.name in _NEEDED else ""),
            model.licence,
            megabytes(model.size),
        )
        for model in MODELS
    ]
    for model, row in zip(MODELS, rows, strict=True):
        assert row[2].startswith(model.title)
