"""Our page in Chromium when a call is over and the conversation is not: a cap, a provider that
dies, a network that is gone, a silence that was too long. Real voices and real sound."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from tests.browser import sound
from tests.browser.scenes import Told, scene
from tests.clients.serving import Served, serve
from tests.clients.talk import share
from tests.clients.voice import Voice
from tests.journeys.process import free_port
from tests.journeys.stage import Watcher

pytestmark = pytest.mark.timeout(240)  # a browser, ears and a mouth on whatever cores there are
APPLES = "There are seven apples on the kitchen table."
ROSES = "The old garden behind the church is full of roses."
PIANO = "My sister plays the piano every evening."
LONG = (
    "There are seven apples on the kitchen table, and the old garden behind the church is full of "
    "roses."
)
WAYS = ["webrtc", "websocket"]
Step = tuple[str, Any]
Said = Sequence[str | float]


class Page:
    """What the page showed and played, and what the server told meanwhile."""

    def __init__(self, told: Told, watcher: Watcher, folder: Path) -> None:
        self.told, self.watcher = told, watcher
        page = told.one("page")
        self.shown: list[tuple[str, str, float]] = page["shown"]
        self.lines: list[tuple[str, str]] = page["lines"]
        self.transport: str | None = page["transport"]
        self.signs: list[float] = page["signs"]
        self._sound, self._since = sound.read(folder / "heard.wav"), page["since"]

    def all(self, kind: str) -> list[str]:
        return [words for name, words, _ in self.shown if name == kind]

    def since(self, state: str) -> list[str]:
        """The states after the first time that it was in this one."""
        states = self.all("state")
        return states[states.index(state) :]

    def at(self, state: str, after: float = 0.0) -> float:
        """The second at which it came into this state."""
        return next(
            t for kind, words, t in self.shown if (kind, words) == ("state", state) and t > after
        )

    def mark(self, name: str) -> float:
        return next(float(mark["moment"]) for mark in self.told.all("mark") if mark["name"] == name)

    def onset(self) -> float:
        """The second at which its loudspeaker made its first sound: by the recording, which has
        gaps less where the machine was busy."""
        (loud,) = np.nonzero(np.abs(np.frombuffer(self._sound, "<i2").astype(int)) > 300)
        return float(self._since) + float(loud[0]) / sound.RATE

    async def heard(self, voice: Voice, begin: float = 0.0, end: float | None = None) -> str:
        """The words in its loudspeaker between two of its seconds."""
        first = max(0, int((begin - self._since) * sound.RATE))
        last = None if end is None else max(0, int((end - self._since) * sound.RATE))
        return await voice.hear(self._sound[2 * first : None if last is None else 2 * last])


@asynccontextmanager
async def watching(served: Served) -> AsyncIterator[Watcher]:
    """All events of the user's, whatever session they are of."""
    watcher = Watcher()
    async with (
        httpx.AsyncClient(base_url=served.origin, timeout=None, trust_env=False) as http,
        http.stream("GET", "/events") as response,
        asyncio.TaskGroup() as group,
    ):
        reading = group.create_task(watcher.read(response))
        yield watcher
        reading.cancel()


async def visited(
    served: Served,
    voice: Voice,
    folder: Path,
    said: Said,
    steps: Sequence[Step],
    *,
    meanwhile: Callable[[Watcher], Coroutine[Any, Any, None]] | None = None,
) -> Page:
    """A visit to the page with a voice that says these sentences, with pauses in seconds."""
    pieces = [sound.silence(s) if isinstance(s, float) else await voice.say(s) for s in said]
    wav = sound.write(folder / "microphone.wav", b"".join(pieces) + sound.silence(120))
    given = {
        "wav": str(wav),
        "page": served.origin,
        "heard": str(folder / "heard.wav"),
        "screenshot": str(folder / "page.png"),
        "steps": [list(step) for step in steps],
    }
    async with watching(served) as watcher, asyncio.TaskGroup() as group:
        if meanwhile is not None:
            group.create_task(meanwhile(watcher))
        told = await scene("steps", given, seconds=150)
    return Page(told, watcher, folder)


async def played(
    origin: str,
    way: str,
    voice: Voice,
    folder: Path,
    steps: Sequence[Step],
    *,
    seconds: float = 200,
    watcher: Watcher | None = None,
    **given: Any,
) -> Page:
    """A visit to the page; what is to be said is said when its turn comes."""
    for number, (what, argument) in enumerate(steps):
        if what == "say":
            (folder / f"{number}.pcm").write_bytes(await voice.say(argument))
    spoken = [
        [what, str(folder / f"{number}.pcm") if what == "say" else argument]
        for number, (what, argument) in enumerate(steps)
    ]
    wish = {
        "wav": str(sound.write(folder / "microphone.wav", sound.silence(1))),
        "page": f"{origin}/?transport={way}",
        "heard": str(folder / "heard.wav"),
        "screenshot": str(folder / "page.png"),
        "steps": spoken,
        **given,
    }
    return Page(await scene("steps", wish, seconds=seconds), watcher or Watcher(), folder)


def check_lines(page: Page, sentences: Sequence[str]) -> None:
    """Each was heard once and answered once, in this order."""
    assert [who for who, _ in page.lines] == ["user", "assistant"] * len(sentences), page.lines
    for number, sentence in enumerate(sentences):
        for _, line in page.lines[2 * number : 2 * number + 2]:
            assert share(sentence, line) >= 0.7, line


@pytest.mark.full
async def test_before_the_cap_the_page_goes_over_to_another_call_and_nobody_notices(
    voice: Voice, tmp_path: Path
) -> None:
    sentences = [APPLES, ROSES]
    said: Said = [2.0, APPLES, 10.0, ROSES]
    steps = [("click", "talk"), ("words", ["apples", "roses"]), ("speech", 2.0)]
    with serve(tmp_path / "server", VIVAVOCE_SESSION_CAP_SECONDS="14") as served:
        page = await visited(served, voice, tmp_path, said, steps)
    moved = page.watcher.all("call.moved")
    assert moved
    assert {one["reason"] for one in moved} == {"cap"}
    assert len({one["session_id"] for one in page.watcher.all("session.started")}) == 1
    assert page.transport == "webrtc"
    # Nothing of it is seen, and nothing is asked of anybody.
    assert set(page.since("listening")) <= {"listening", "hearing", "thinking", "speaking"}
    assert page.all("notice") == ["-"]
    assert page.all("button")[-1] == "Hang up"
    # Nor heard: every sentence was taken, and its answer came as soon as the first one's.
    assert page.signs == []
    check_lines(page, sentences)
    assert share(" ".join(sentences), await page.heard(voice)) >= 0.8
    waits = [at_once(page, number) for number in range(len(sentences))]
    assert max(waits) < waits[0] + 1.5, waits


def at_once(page: Page, turn: int) -> float:
    """Seconds from the end of what was said to the answer's first sound."""
    after = [t for kind, words, t in page.shown if (kind, words) == ("state", "hearing")][turn]
    return page.at("speaking", after) - page.at("thinking", after)


@pytest.mark.full
async def test_where_the_provider_dies_the_engine_takes_over_in_a_sentence_and_nobody_clicks(
    voice: Voice, tmp_path: Path
) -> None:
    said: Said = [3.0, APPLES, 6.0, ROSES, 35.0, PIANO]
    steps = [
        ("click", "talk"),
        ("words", ["apples", "roses"]),
        ("seen", "reconnecting"),
        ("wait", 4.0),
        ("shot", str(tmp_path / "trying.png")),
        ("words", ["piano"]),
        ("speech", 2.0),
    ]
    with serve(tmp_path / "provider") as provider:

        async def in_the_second_answer(watcher: Watcher) -> None:
            await watcher.until(lambda: len(watcher.all("assistant.speaking")) >= 2, 60)
            await asyncio.sleep(1.2)  # of it is heard
            provider.kill()

        own = {"VIVAVOCE_PROVIDER_URL": provider.url, "VIVAVOCE_API_KEY": provider.key}
        with serve(tmp_path / "server", patience=240, **own) as served:
            page = await visited(
                served, voice, tmp_path, said, steps, meanwhile=in_the_second_answer
            )
    watcher = page.watcher
    assert watcher.all("session.started")[0]["provider"] == "127.0.0.1"
    assert watcher.all("provider.changed")[0]["provider"] == "embedded"
    assert len({one["session_id"] for one in watcher.all("connection.status")}) == 1
    # Seen: why it takes a moment. Heard: that it is tried, then who speaks now, and why.
    words = "127.0.0.1 does not answer."
    assert [one for one in page.all("notice") if one.startswith(words)]
    lost, back = page.at("reconnecting"), page.at("speaking", page.at("reconnecting"))
    assert [at for at in page.signs if lost < at < back], page.signs
    assert all(lost < at < back for at in page.signs), page.signs
    after = await page.heard(voice, back - 1, page.at("hearing", back))
    assert share("does not answer, so I go on with the voice of this server", after) >= 0.8, after
    # What was cut off is stored as far as it was heard, within a word or two.
    heard = await page.heard(voice, page.at("speaking", page.at("hearing", 9.0)), back - 1)
    [cut] = [e for e in watcher.all("transcription.completed") if e.get("replaces")][:1]
    assert "roses" not in cut["transcript"]
    assert abs(len(cut["transcript"].split()) - len(heard.split())) <= 2, (cut, heard)
    assert share(PIANO, page.lines[-1][1]) >= 0.7
    assert "evening" in (await page.heard(voice, page.at("hearing", back))).lower()


@pytest.mark.parametrize(
    "away", [3.0, *(pytest.param(s, marks=pytest.mark.full) for s in (15.0, 60.0))]
)
async def test_after_a_network_that_was_gone_the_page_is_back_and_says_what_was_missed(
    away: float, voice: Voice, tmp_path: Path
) -> None:
    """Seed 001 §5.3."""
    steps: list[Step] = [
        ("click", "talk"),
        ("state", "listening"),
        ("say", LONG),
        ("since", "speaking"),
        ("wait", 1.5),
        ("cut", None),
        ("mark", "cut"),
        ("state", "reconnecting"),
        ("wait", away),
        ("mend", None),
        ("mark", "mended"),
        ("state", "speaking"),
        ("state", "listening"),
    ]
    with serve(tmp_path / "server") as served:
        async with watching(served) as watcher:
            page = await played(served.origin, "webrtc", voice, tmp_path, steps, watcher=watcher)
    assert page.transport == "webrtc"
    assert len({one["session_id"] for one in page.watcher.all("connection.status")}) == 1
    assert page.all("button")[-1] == "Hang up"
    assert [at for at in page.signs if page.mark("cut") < at < page.mark("mended")]
    told = [words for words in page.all("banner") if "Retry now" in words]
    assert any(re.search(r"connection was lost.*Try 1 in \d+ s", words) for words in told), told
    # Seen: what of the answer was heard. Heard: the rest of it, and why only now.
    assert [who for who, _ in page.lines] == ["user", "assistant", "assistant"], page.lines
    asked, cut, again = (words for _, words in page.lines)
    assert share(APPLES, asked) >= 0.7
    assert re.search(r"interrupted(?:\d+ words? (?:was|were) not heard)?$", cut), cut
    assert "Sorry, we were cut off. I was saying" in again
    assert share(f"{again} {ROSES}", await page.heard(voice, page.mark("mended"))) >= 0.7
    [kept] = [e for e in page.watcher.all("transcription.completed") if e.get("interrupted")]
    heard = await page.heard(voice, end=page.mark("mended"))
    assert abs(len(kept["transcript"].split()) - len(heard.split())) <= 2, (kept, heard)


AGENT = """\
name: hurried
tools: [current_time]
timeouts:
  idle_minutes: 0.15
  warning_seconds: 4
"""


@pytest.mark.full
async def test_a_conversation_that_fell_silent_goes_on_with_one_click(
    voice: Voice, tmp_path: Path
) -> None:
    """Seed 001 §6.1 and §6.2."""
    home = tmp_path / "hurried"
    home.mkdir()
    (home / "agent.yaml").write_text(AGENT)
    (home / "prompt.md").write_text("Be quick.\n")
    steps: list[Step] = [
        ("click", "talk"),
        ("state", "listening"),
        ("say", APPLES),
        ("words", ["apples"]),
        ("notice", "Still there?"),
        ("state", "ended"),
        ("mark", "ended"),
        ("click", "talk"),
        ("state", "speaking"),
        ("state", "listening"),
    ]
    with serve(tmp_path / "server", VIVAVOCE_AGENT=str(home)) as served:
        async with watching(served) as told:
            page = await played(served.origin, "webrtc", voice, tmp_path, steps, watcher=told)
    assert told.all("session.warning")[0]["seconds_remaining"] == 4
    assert told.all("session.ended")[0]["reason"] == "timeout"
    first, second = (one["session_id"] for one in told.all("session.started"))
    assert first != second
    assert "Ended, since nobody said a word for a while." in page.all("notice")
    assert "Reconnect" in page.all("button")
    assert "apples" in page.lines[0][1], "what was said is still there"
    assert [one["items"] for one in told.all("context.updated")][-1] >= 2
    assert "still here" in (await page.heard(voice, page.mark("ended"))).lower()


@pytest.mark.full
@pytest.mark.parametrize("way", WAYS)
async def test_a_server_that_is_killed_and_comes_back_goes_on_with_the_same_conversation(
    way: str, voice: Voice, tmp_path: Path
) -> None:
    port, folder = free_port(), tmp_path / "server"
    origin = f"http://127.0.0.1:{port}"
    steps: list[Step] = [
        ("click", "talk"),
        ("state", "listening"),
        ("say", APPLES),
        ("words", ["apples"]),
        ("seen", "reconnecting"),
        ("state", "speaking"),  # of what was missed
        ("state", "listening"),
        ("say", PIANO),
        ("words", ["piano"]),
        ("speech", 1.0),
    ]
    with serve(folder, VIVAVOCE_PORT=str(port)) as served:
        async with asyncio.TaskGroup() as group:
            playing = group.create_task(played(origin, way, voice, tmp_path, steps))
            await _said(served, 2)
            await asyncio.sleep(2)  # of the answer is heard
            await asyncio.to_thread(served.kill)
            with ExitStack() as stack:
                again = await asyncio.to_thread(
                    stack.enter_context, serve(folder, VIVAVOCE_PORT=str(port))
                )
                page = await playing
                found = await _conversations(again)
    assert page.transport == way
    lines = [words for _, words in page.lines]
    assert "apples" in lines[0].lower(), "what was said is still there"
    assert any("piano" in words.lower() for words in lines[1:])
    assert len(found) == 1, "it is one conversation"


async def _conversations(served: Served) -> list[dict[str, Any]]:
    async with httpx.AsyncClient(base_url=served.origin, trust_env=False) as http:
        found: list[dict[str, Any]] = (await http.get("/api/v1/conversations")).json()[
            "conversations"
        ]
    return found


async def _said(served: Served, messages: int) -> None:
    """Until so many messages are stored of a conversation."""
    async with asyncio.timeout(90):
        while not any(one["message_count"] >= messages for one in await _conversations(served)):
            await asyncio.sleep(0.3)


@pytest.mark.full
@pytest.mark.parametrize("way", WAYS)
async def test_a_page_that_is_loaded_anew_in_the_middle_goes_on_with_the_same_conversation(
    way: str, voice: Voice, tmp_path: Path
) -> None:
    steps: list[Step] = [
        ("click", "talk"),
        ("state", "listening"),
        ("say", APPLES),
        ("state", "speaking"),
        ("words", ["apples"]),
        ("state", "listening"),
        ("reload", None),
        ("state", "listening"),  # and nobody clicked
        ("say", PIANO),
        ("words", ["apples", "piano"]),
        ("speech", 1.0),
    ]
    with serve(tmp_path / "server") as served:
        page = await played(served.origin, way, voice, tmp_path, steps)
        [conversation] = await _conversations(served)
    assert page.transport == way
    assert conversation["message_count"] >= 4
    assert page.all("button")[-1] == "Hang up"


@pytest.mark.full
@pytest.mark.parametrize("away", [3.0, 15.0, 60.0])
async def test_over_a_websocket_too_the_page_is_back_after_a_network_that_was_gone(
    away: float, voice: Voice, tmp_path: Path
) -> None:
    steps: list[Step] = [
        ("click", "talk"),
        ("state", "listening"),
        ("say", APPLES),
        ("since", "speaking"),
        ("words", ["apples"]),
        ("state", "listening"),
        ("cut", None),
        ("mark", "cut"),
        ("state", "reconnecting"),
        ("wait", away),
        ("mend", None),
        ("mark", "mended"),
        ("state", "listening"),
        ("say", PIANO),
        ("words", ["apples", "piano"]),
        ("speech", 1.0),
    ]
    with serve(tmp_path / "server") as served:
        page = await played(served.origin, "websocket", voice, tmp_path, steps)
        found = await _conversations(served)
    assert page.transport == "websocket"
    assert len(found) == 1
    assert page.all("button")[-1] == "Hang up"
    assert "apples" in page.lines[0][1].lower()
    assert "reconnecting" in page.all("state")
    assert [at for at in page.signs if page.mark("cut") < at < page.mark("mended")], "it is heard"


@pytest.mark.parametrize("way", [WAYS[0], pytest.param(WAYS[1], marks=pytest.mark.full)])
async def test_a_second_tab_takes_over_openly_and_the_first_one_takes_it_back_when_asked_to(
    way: str, voice: Voice, tmp_path: Path
) -> None:
    elsewhere = "It goes on in another window"
    steps: list[Step] = [
        ("click", "talk"),
        ("state", "listening"),
        ("say", APPLES),
        ("words", ["apples"]),
        ("state", "listening"),
        ("tab", None),
        ("conversation", "apples"),
        ("click", "talk"),
        ("state", "listening"),
        ("turn", 0),
        ("state", "ended"),
        ("notice", elsewhere),
        ("stays", ["ended", 4]),  # and does not take it back by itself
        ("turn", 0),
        ("state", "listening"),
        ("turn", 0),
        ("click", "talk"),
        ("state", "listening"),
        ("turn", 0),
        ("state", "ended"),
        ("notice", elsewhere),
    ]
    with serve(tmp_path / "server") as served:
        async with watching(served) as watcher:
            page = await played(served.origin, way, voice, tmp_path, steps, watcher=watcher)
        found = await _conversations(served)
    assert len(found) == 1, "it is one conversation"
    assert "Continue here" in page.all("button")
    assert "apples" in page.lines[0][1].lower(), "what was said is still there"
    reasons = [one["reason"] for one in page.watcher.all("session.ended")]
    assert reasons[:2] == ["taken_over", "taken_over"]


async def test_without_a_network_the_page_opens_all_the_same_and_goes_on_when_it_is_back(
    served: Served, tmp_path: Path
) -> None:
    steps = [
        ("state", "idle"),
        ("kept", None),
        ("cut", None),
        ("reload", None),
        ("state", "loading"),
        ("stays", ["loading", 1]),  # nobody claims that it is ready
        ("shot", str(tmp_path / "offline.png")),
        ("mend", None),
        ("state", "idle"),
    ]
    given = {
        "wav": str(sound.microphone(tmp_path / "microphone.wav", b"")),
        "page": served.origin,
        "steps": [list(step) for step in steps],
    }
    told = await scene("steps", given, seconds=120)
    assert ["button", "Start talking"] in [one[:2] for one in told.one("page")["shown"]]
