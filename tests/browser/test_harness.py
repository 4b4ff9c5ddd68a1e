"""The browser of the tests speaks what it is given and hears what its page plays."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.browser import sound
from tests.browser.alone import cut_off, namespaces
from tests.browser.scenes import NODE, lines, scene


@pytest.mark.parametrize("way", ["track", pytest.param("context", marks=pytest.mark.full)])
async def test_what_the_page_plays_is_what_the_microphone_heard(way: str, tmp_path: Path) -> None:
    heard = tmp_path / "heard.wav"
    wav = sound.write(tmp_path / "tone.wav", sound.silence(1) + sound.tone(1.5) + sound.silence(8))
    await scene("echo", {"wav": str(wav), "way": way, "heard": str(heard)})
    assert sound.pitch(sound.read(heard)) == pytest.approx(440, abs=10)


async def test_a_machine_that_is_cut_off_reaches_itself_and_nothing_else(tmp_path: Path) -> None:
    """Where namespaces are refused, it is the browser that is held back: see `alone`."""
    script = tmp_path / "look.py"
    script.write_text(
        "import json, socket\n"
        "socket.create_server(('127.0.0.1', 0)).close()\n"
        "print(json.dumps({'kind': 'seen', 'names': [n for _, n in socket.if_nameindex()]}))\n"
    )
    told = await lines(cut_off(sys.executable, str(script)), 20)
    assert told.one("seen")["names"] == ["lo"] or not namespaces()


async def test_webrtc_finds_no_way_in_a_browser_held_back(tmp_path: Path) -> None:
    wav = sound.write(tmp_path / "tone.wav", sound.tone(1.5) + sound.silence(3))
    given = {"wav": str(wav), "way": "track", "noWay": True, "seconds": 5}
    with pytest.raises(AssertionError, match="no answer was heard"):
        await scene("echo", given | {"heard": str(tmp_path / "heard.wav")})


def test_the_lock_file_names_no_registry() -> None:
    lock = (NODE / "package-lock.json").read_text()
    assert '"resolved"' not in lock
    assert "https://registry" not in lock
