"""Pages of others, as the quickstart for apps has them, on an origin of their own in Chromium: a
call by hand, an app made with the client's package, and the element. Real voices and real sound."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.browser import sound
from tests.browser.scenes import scene
from tests.clients.conductor import npm, packed
from tests.clients.serving import Served, serve
from tests.clients.voice import Voice
from tests.docs_text import ROOT
from tests.journeys.process import free_port
from vivavoce.server.page import BUILT

pytestmark = pytest.mark.timeout(240)  # a browser, ears and a mouth on whatever cores there are
EXAMPLES = ROOT / "docs" / "examples" / "app"
SENTENCE = "There are seven apples on the kitchen table."
LONG = f"{SENTENCE[:-1]}, and the old garden behind the church is full of red and white roses."
WORDS = ["apples", "kitchen"]
TOKEN = "a-token-that-is-long-enough"


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A server that lets an app's pages in, and the app's own backend."""

    served: Served
    origin: str
    home: Path


@contextmanager
def elsewhere(folder: Path) -> Iterator[Elsewhere]:
    port = free_port()
    origin = f"http://127.0.0.1:{port}"
    with serve(
        folder / "server",
        VIVAVOCE_ALLOWED_ORIGINS=origin,
        VIVAVOCE_AUTH="token",
        VIVAVOCE_AUTH_TOKEN=TOKEN,
    ) as served:
        home = folder / "app"
        shutil.copytree(EXAMPLES, home, ignore=shutil.ignore_patterns("tsconfig.json"))
        for file in (one for one in home.rglob("*") if one.suffix in (".html", ".js", ".tsx")):
            said = file.read_text(encoding="utf-8")
            file.write_text(said.replace("https://voice.example.org", served.origin))
        with _backend(home, port, served.origin):
            yield Elsewhere(served, origin, home)


@contextmanager
def _backend(home: Path, port: int, voice: str) -> Iterator[None]:
    process = subprocess.Popen(
        [sys.executable, str(home / "backend.py"), str(port), voice],
        env={**os.environ, "VOICE_TOKEN": TOKEN},
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait(f"http://127.0.0.1:{port}/element.html")
        yield
    finally:
        process.terminate()
        process.wait(10)


def _wait(url: str) -> None:
    end = time.monotonic() + 20
    while True:
        try:
            httpx.get(url, trust_env=False).raise_for_status()
            return
        except httpx.TransportError:
            assert time.monotonic() < end, "the app's backend did not start"
            time.sleep(0.1)


async def talked(
    there: Elsewhere,
    page: str,
    voice: Voice,
    folder: Path,
    *,
    said: str = SENTENCE,
    quiet: bool = True,
    **more: Any,
) -> tuple[list[str], str]:
    """What the page was told, and what was heard of it."""
    heard = folder / "heard.wav"
    wish = {
        "wav": str(sound.microphone(folder / "microphone.wav", await voice.say(said))),
        "words": WORDS,
        "heard": str(heard),
        "page": f"{there.origin}/{page}",
        "told": "#told",
        **more,
    }
    told = await scene("elsewhere", wish, seconds=200)
    one = told.one("page")
    assert one["refused"] == []
    if quiet:  # before anybody pressed anything, nobody was asked for anything but the page itself
        assert told.one("quiet")["requests"] == [f"{there.origin}/{page}"]
    return one["told"], await voice.hear(sound.read(heard))


REACT_PAGE = """<!doctype html>
<html lang="en"><head><title>React</title></head>
<body><div id="root"></div><script type="module" src="react.jsx"></script></body></html>
"""
REACT_ROOT = """import { createElement } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App.tsx";
createRoot(document.getElementById("root")).render(createElement(App));
"""
VITE = """export default {
  base: "./",
  build: { rolldownOptions: { input: ["index.html", "react.html"] } },
};
"""
IN_THE_ELEMENT: dict[str, Any] = {
    "talk": "vivavoce-voice [part=button]",
    "write": "vivavoce-voice [part=input]",
    "hangUp": "vivavoce-voice [part=button]",
}


@pytest.mark.parametrize("way", ["webrtc", pytest.param("websocket", marks=pytest.mark.full)])
async def test_the_element_holds_a_conversation_on_a_page_of_another_origin(
    way: str, voice: Voice, tmp_path: Path
) -> None:
    """Under a policy that lets the page load and ask nobody but itself and the server."""
    with elsewhere(tmp_path) as there:
        page = there.home / "element.html"
        tag = "<vivavoce-voice "
        text = page.read_text(encoding="utf-8")
        assert tag in text
        page.write_text(text.replace(tag, f'{tag}transport="{way}" '))
        shots: dict[str, Any] = {
            "during": str(tmp_path / "during.png"),
            "after": str(tmp_path / "after.png"),
        }
        told, heard = await talked(
            there, "element.html", voice, tmp_path, **IN_THE_ELEMENT, **shots
        )
        kept = httpx.get(
            f"{there.served.origin}/api/v1/conversations",
            headers={"authorization": f"Bearer {TOKEN}"},
            trust_env=False,
        ).json()
    assert any(word in heard.lower() for word in WORDS), heard
    situations = [one for one in told if ":" not in one]
    assert situations[:2] == ["asking", "connecting"]
    assert {"listening", "thinking", "speaking"} <= set(situations)
    assert situations[-1] == "idle"
    assert "user: What is six times seven?" in told
    assert kept["conversations"] == [], "it is the app's user's, and nobody else's"


@pytest.mark.full
@pytest.mark.parametrize("way", ["webrtc", "websocket"])
async def test_an_answer_stops_at_a_press_of_the_button(
    way: str, voice: Voice, tmp_path: Path
) -> None:
    with elsewhere(tmp_path) as there:
        page = there.home / "element.html"
        text = page.read_text(encoding="utf-8")
        page.write_text(text.replace("<vivavoce-voice ", f'<vivavoce-voice transport="{way}" '))
        wish: dict[str, Any] = {
            "talk": "vivavoce-voice [part=button]",
            "interrupt": "vivavoce-voice [part=interrupt]",
            "interrupted": "vivavoce-voice .line.assistant .remark",
        }
        told, heard = await talked(there, "element.html", voice, tmp_path, said=LONG, **wish)
    [answer] = [one for one in told if one.startswith("assistant:")][-1:]
    assert "rose" not in answer, "what was not heard is not told as said"
    assert "rose" not in heard.lower()


@pytest.mark.full
async def test_a_call_by_hand_shows_the_words_and_plays_an_answer(
    voice: Voice, tmp_path: Path
) -> None:
    with elsewhere(tmp_path) as there:
        told, heard = await talked(there, "by-hand.html", voice, tmp_path, talk="#talk")
    assert "connected" in told
    assert any(word in heard.lower() for word in WORDS), heard


@pytest.mark.full
async def test_the_packages_in_a_fresh_project_make_the_app_of_the_quickstart(
    voice: Voice, tmp_path: Path
) -> None:
    """`npm install` of the tarballs, `vite build`, and the app in a browser."""
    with elsewhere(tmp_path) as there:
        app = there.home / "vite"
        (app / "package.json").write_text('{"private": true, "type": "module"}')
        tarballs = packed(tmp_path / "packed")
        wanted = ["vite@8", "react@19", "react-dom@19"]
        wanted += [str(tarballs[name]) for name in ("client", "react", "element")]
        npm("install", "--prefer-offline", "--no-audit", "--no-fund", *wanted, cwd=app)
        (app / "react.html").write_text(REACT_PAGE)
        (app / "react.jsx").write_text(REACT_ROOT)
        (app / "vite.config.js").write_text(VITE)
        shutil.copy(there.home / "react" / "App.tsx", app)
        npm("exec", "--", "vite", "build", cwd=app)
        wish: dict[str, Any] = {"talk": "#talk", "write": "#words", "hangUp": "#talk"}
        told, heard = await talked(there, "vite/dist/index.html", voice, tmp_path, **wish)
        own: dict[str, Any] = {"talk": "main > button", "write": "main input", "told": "main ul"}
        page = "vite/dist/react.html"
        shown, again = await talked(there, page, voice, tmp_path, quiet=False, **own)
    for lines, spoken in ((told, heard), (shown, again)):
        assert any(word in spoken.lower() for word in WORDS), spoken
        assert "user: What is six times seven?" in lines


async def test_the_element_is_for_everybody_in_every_state_on_a_narrow_page(tmp_path: Path) -> None:
    axe = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
    wav = sound.write(tmp_path / "silence.wav", sound.silence(1))
    wish = {"element": str(BUILT / "element.js"), "axe": str(axe), "wav": str(wav)}
    told = (await scene("element", wish)).all("state")
    assert len(told) == 36
    assert [(one["name"], one["wrong"]) for one in told if one["wrong"]] == []
    assert {one["width"] for one in told} == {320}
    shown = {one["name"]: one["shown"] for one in told if one["layout"] == "card"}
    assert shown["asking"] == "Waiting for your yes"
    assert shown["muted"] == "Your microphone is off"
    assert shown["reconnecting"] == "Connection lost"
