"""Our page in Chromium: a WAV for a voice, the words on the page, an answer in the loudspeaker."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from tests.browser import sound
from tests.browser.alone import cut_off, namespaces
from tests.browser.scenes import Told, lines, scene, unpacked
from tests.clients.serving import Served
from tests.clients.talk import in_order, share
from tests.clients.voice import Voice

pytestmark = pytest.mark.timeout(240)  # a browser, ears and a mouth on whatever cores there are
SENTENCE = "There are seven apples on the kitchen table."
WORDS = ["apples", "kitchen", "table"]


async def wishes(voice: Voice, folder: Path, *, first: float = 6) -> dict[str, Any]:
    said = await voice.say(SENTENCE)
    return {
        "wav": str(sound.microphone(folder / "microphone.wav", said, first=first)),
        "words": WORDS,
        "heard": str(folder / "heard.wav"),
        "screenshot": str(folder / "page.png"),
    }


async def check(told: Told, voice: Voice, folder: Path) -> None:
    transcript, states = told.one("page")["transcript"], told.one("page")["states"]
    assert in_order(["hearing", "thinking", "speaking", "listening"], [name for name, _ in states])
    assert share(SENTENCE, transcript) >= 0.7, transcript
    spoken = await voice.hear(sound.read(folder / "heard.wav"))
    assert any(word in spoken.lower() for word in WORDS), spoken
    assert (folder / "page.png").stat().st_size > 0


async def test_the_page_shows_the_words_and_plays_an_answer_by_webrtc(
    served: Served, voice: Voice, tmp_path: Path
) -> None:
    wish = await wishes(voice, tmp_path) | {"page": served.origin}
    told = await scene("page", wish, seconds=200)
    await check(told, voice, tmp_path)
    assert told.one("page")["transport"] == "webrtc"


@pytest.mark.full
async def test_with_every_interface_but_loopback_down_the_page_talks_by_websocket(
    voice: Voice, tmp_path: Path
) -> None:
    # One way for the sound is tried in vain before the other.
    wish = await wishes(voice, tmp_path, first=15) | {"noWay": not namespaces()}
    await unpacked()
    inside = [sys.executable, "-m", "tests.clients.page_alone", str(tmp_path / "server")]
    told = await lines(cut_off(*inside, orjson.dumps(wish).decode()), 220)
    await check(told, voice, tmp_path)
    assert told.one("page")["transport"] == "websocket"


async def test_a_conversation_of_before_is_found_written_to_and_gone_on_with_by_voice(
    served: Served, tmp_path: Path
) -> None:
    silence = sound.microphone(tmp_path / "microphone.wav", b"")
    title = "Pears & plums"
    async with httpx.AsyncClient(base_url=served.origin, trust_env=False) as http:
        answer = await http.post("/api/v1/conversations", json={"title": title})
        assert answer.status_code == 201, answer.text
    wish = {
        "page": served.origin,
        "wav": str(silence),
        "title": title,
        "words": "What is six times seven?",
        "more": "Are there any zucchinis left?",
        "search": "zucch",
    }
    told = await scene("history", wish, seconds=200)
    written, again = told.one("written")["lines"], told.one("again")["lines"]
    assert written[0] == wish["words"]
    assert "42" in written[1]
    assert told.one("talking")["lines"][:2] == written
    assert again[:2] == written
    assert wish["more"] in again
    assert told.one("found") == {"kind": "found", "word": "zucchinis", "line": wish["more"]}


async def test_the_page_is_used_by_keyboard_and_shows_two_thousand_messages_at_once(
    served: Served, tmp_path: Path
) -> None:
    title = "A very long one"
    async with httpx.AsyncClient(base_url=served.origin, trust_env=False) as http:
        answer = await http.post("/api/v1/conversations", json={"title": title})
        assert answer.status_code == 201, answer.text
    silence = sound.microphone(tmp_path / "microphone.wav", b"")
    wish = {"page": served.origin, "wav": str(silence), "title": title}
    told = await scene("keys", wish, seconds=200)
    keys, long = told.one("keys"), told.one("long")
    assert keys["words"] == "Muted"
    assert (keys["written"], keys["kept"]) == ("a b", "a b")
    on, off = "true", "false"
    held, typed, pressed, button = [on, off, on], [on], [off, on], [off, on]
    assert keys["muted"] == [*held, *typed, *pressed, *button]
    assert keys["view"] == [True, False, True]
    # Those near the view are drawn, from the end; nothing that is scrolled keeps anybody waiting.
    assert 10 < long["drawn"] < 60
    assert long["left"] < 4
    assert long["first"]
    assert [task for task in long["scrolled"] if task[1] > 200] == [], long
