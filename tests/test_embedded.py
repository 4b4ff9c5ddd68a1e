"""The engine inside: what it says while it cannot answer."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from tests.server.serving import until
from tests.speech import model_folder
from vivavoce.app.engine import UPLOADS, EmbeddedEngine, led
from vivavoce.app.lifecycle import running
from vivavoce.app.server import assemble, build_app
from vivavoce.app.settings import Settings
from vivavoce.brain.llama.brain import Figures
from vivavoce.brain.script import script as script_file
from vivavoce.brain.script.brain import ScriptedBrain
from vivavoce.engine.shell.work import Parts
from vivavoce.errors import InvalidRequest, MouthError, Unavailable
from vivavoce.models.gguf import Gguf
from vivavoce.testing.engine import HummingMouth, LoudnessDetector, ScriptedEars, SureJudge
from vivavoce.wire.brain import Ask, Brain


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


async def test_a_server_whose_engine_cannot_start_is_not_healthy(tmp_path: Path) -> None:
    def broken() -> Parts:
        raise ImportError("libgomp.so.1: cannot open shared object file")

    wanted = settings(tmp_path, workspace=tmp_path)
    inside = EmbeddedEngine(wanted, parts=broken)
    here = assemble(wanted, engine=inside)
    transport = httpx.ASGITransport(build_app(here))
    async with (
        running(here),
        httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8080") as http,
    ):
        assert (await http.get("/health")).json()["status"] == "healthy"  # it has not begun
        here.listening.set()
        await until(lambda: inside.failed, seconds=60)  # its libraries are loaded before
        health, ready = await http.get("/health"), await http.get("/ready")
        assert (health.status_code, health.json()["status"]) == (503, "unhealthy")
        assert (ready.status_code, ready.json()["failed"]) == (503, True)


class SlowReader(ScriptedBrain):
    """Reads its instructions for as long as nobody lets it go on."""

    def __init__(self) -> None:
        super().__init__(script_file.load("otherwise: Hello."))
        self.read: list[bool] = []
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()
        self.broken = False

    async def warm(self, ask: Ask) -> None:
        self.begun.set()
        if self.broken:
            raise RuntimeError("no memory left")
        await self.go_on.wait()
        self.read.append(ask.spoken)


def parts(brain: Brain) -> Parts:
    return Parts(ScriptedEars(), HummingMouth(), brain, SureJudge(), LoudnessDetector)


async def test_it_is_ready_to_talk_before_the_brain_has_read_its_instructions(
    tmp_path: Path,
) -> None:
    brain = SlowReader()
    inside = EmbeddedEngine(settings(tmp_path), parts=lambda: parts(brain))
    inside.expect("You are Ada.", [])
    async with inside.running():
        await until(lambda: not inside.waiting_for(), seconds=60)
        await brain.begun.wait()
        assert brain.read == []  # and it answers meanwhile
        assert inside.brain is brain
        assert inside.reading
        brain.go_on.set()
        await until(lambda: len(brain.read) == 2)
        await until(lambda: not inside.reading)
        assert brain.read == [True, False]  # those who talk first


async def test_the_agents_voice_is_got_ready_before_anybody_calls(tmp_path: Path) -> None:
    prepared: list[str] = []

    async def prepare(voice: str) -> None:
        prepared.append(voice)
        raise MouthError("It cannot be loaded.")  # which keeps nothing else from being done

    brain = SlowReader()
    ready = replace(parts(brain), prepare=prepare)
    inside = EmbeddedEngine(settings(tmp_path), parts=lambda: ready)
    inside.expect("You are Ada.", [], "alloy")
    async with inside.running():
        await asyncio.wait_for(brain.begun.wait(), 60)
    assert prepared == ["alloy"]


async def test_the_status_says_who_thinks(tmp_path: Path) -> None:
    wanted = settings(tmp_path, workspace=tmp_path)
    brain = Figured()
    inside = EmbeddedEngine(wanted, parts=lambda: parts(brain))
    here = assemble(wanted, engine=inside)
    transport = httpx.ASGITransport(build_app(here))
    async with (
        running(here),
        httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8080") as http,
    ):
        assert "brain" not in (await http.get("/status")).json()["engine"]
        here.listening.set()
        await until(lambda: not inside.waiting_for(), seconds=60)
        await until(lambda: brain.measured)
        told = (await http.get("/status")).json()["engine"]["brain"]
    assert told == {
        "name": "scripted",
        "device": "cpu",
        "size": 5,
        "context": 6,
        "reads_per_second": 70.5,
    }


class Figured(ScriptedBrain):
    """As a local one tells of itself."""

    def __init__(self) -> None:
        super().__init__(script_file.load("otherwise: Hello."))
        self.measured = False

    def figures(self) -> Figures:
        return Figures(5, 6, "cpu", 70.5, None)

    async def measure(self) -> None:
        self.measured = True


@pytest.mark.parametrize(
    ("brain", "words"),
    [
        ("gone.gguf", "There is no model file"),
        ("text.gguf", "is no GGUF file"),
    ],
)
async def test_a_brain_of_ones_own_that_is_none_is_told_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, brain: str, words: str
) -> None:
    (tmp_path / "text.gguf").write_text("hello")
    for name in ("silero-vad", "smart-turn", "moonshine-base", "hibari", "kokoro"):
        (tmp_path / name).symlink_to(model_folder(name))
    inside = EmbeddedEngine(settings(tmp_path, brain=str(tmp_path / brain)))
    async with inside.running():
        await until(lambda: inside.failed, seconds=60)
    assert words in caplog.text


@pytest.mark.parametrize(
    ("wanted", "gigabytes", "is_led"),
    [("auto", 1, True), ("auto", 20, False), ("on", 20, True), ("off", 1, False)],
)
def test_a_small_brain_is_led_unless_somebody_trusts_it(
    tmp_path: Path, wanted: str, gigabytes: int, is_led: bool
) -> None:
    model = Gguf("a", "qwen2", gigabytes * 10**9, 4096, "", 1)
    assert led(settings(tmp_path, brain_led=wanted), model) is is_led


async def test_it_ends_in_the_middle_of_reading(tmp_path: Path) -> None:
    brain = SlowReader()
    inside = EmbeddedEngine(settings(tmp_path), parts=lambda: parts(brain))
    inside.expect("You are Ada.", [])
    async with asyncio.timeout(60), inside.running():
        await brain.begun.wait()
    assert brain.read == []


async def test_a_brain_that_cannot_read_ahead_stays_in_service(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    brain = SlowReader()
    brain.broken = True
    inside = EmbeddedEngine(settings(tmp_path), parts=lambda: parts(brain))
    inside.expect("You are Ada.", [])
    async with inside.running():
        await until(lambda: "no memory left" in caplog.text, seconds=60)
        assert inside.waiting_for() == []


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
