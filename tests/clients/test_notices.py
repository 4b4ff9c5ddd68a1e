"""Notices to our page in Chromium, from the real server by a push service of our own, with the page
closed: they are shown, their buttons work, and a click begins a talk about what was due."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.browser import sound
from tests.browser.scenes import Told, scene
from tests.clients.serving import Served, serve
from tests.runtime.push.services import PushService, push_service

pytestmark = pytest.mark.timeout(240)  # a browser, ears and a mouth on whatever cores there are
Steps = Sequence[Sequence[Any]]
SUBSCRIBED: Steps = [["open"], ["subscribe"], ["close"]]

PAINTING = """\
otherwise: "All right."
rules:
  - when: paint
    call: {bash: {command: "touch painted"}}
"""


@dataclass
class House:
    """A server, and the push service that it sends by."""

    served: Served
    service: PushService
    folder: Path

    async def scene(self, steps: Steps, locale: str = "en-US") -> Told:
        silence = sound.microphone(self.folder / "microphone.wav", b"")
        given = {
            "wav": str(silence),
            "page": self.served.origin,
            "push": self.service.url,
            "browser": self.service.browser(),
            "screenshot": str(self.folder / "page.png"),
            "steps": list(steps),
            "locale": locale,
        }
        return await scene("notices", given, seconds=150)

    async def get(self, path: str) -> Any:
        async with httpx.AsyncClient(base_url=self.served.origin, trust_env=False) as http:
            answer = await http.get(path)
            assert answer.status_code == 200, answer.text
            return answer.json()


@asynccontextmanager
async def house(tmp_path: Path, **settings: str) -> AsyncIterator[House]:
    async with push_service() as service:
        settings["VIVAVOCE_PUSH_ALLOWED_HOSTS"] = service.url.removeprefix("http://")
        with serve(tmp_path / "server", patience=240, **settings) as served:
            yield House(served, service, tmp_path)


async def test_what_is_due_is_shown_with_the_page_closed_and_its_buttons_work(
    tmp_path: Path,
) -> None:
    steps: Steps = [
        *SUBSCRIBED,
        ["due", "Call mum", 1],
        ["arrives"],
        ["press", "done"],
        ["due", "Water the fern", 1],
        ["arrives"],
        ["press", "snooze"],
    ]
    async with house(tmp_path, VIVAVOCE_AGENT="flux") as h:
        told = await h.scene(steps)
        first, second = [await h.get(f"/api/v1/tasks/{todo['id']}") for todo in told.all("todo")]
    [shown] = told.all("shown")[0]["desktop"]
    assert (shown["title"], shown["body"]) == ("Call mum", "It is due now.")
    assert [one["title"] for one in shown["actions"]] == ["Done", "Snooze 10 min"]
    assert [one["badge"] for one in told.all("shown")] == [1, 1]
    assert first["status"] == "completed"
    assert second["status"] == "rescheduled"
    assert second["scheduled_at"] > told.all("todo")[1]["scheduled_at"]
    assert [one["left"] for one in told.all("pressed")] == [[], []], "nothing is left to read"


async def test_a_notice_has_the_words_of_the_page_that_was_closed(tmp_path: Path) -> None:
    async with house(tmp_path, VIVAVOCE_AGENT="flux") as h:
        told = await h.scene([*SUBSCRIBED, ["due", "Call mum", 1], ["arrives"]], "de-DE")
    [shown] = told.one("shown")["desktop"]
    assert (shown["title"], shown["body"]) == ("Call mum", "Es ist jetzt fällig.")
    assert [one["title"] for one in shown["actions"]] == ["Erledigt", "In 10 Minuten"]


async def test_a_click_on_a_notice_opens_the_page_and_the_talk_begins_with_that_task(
    tmp_path: Path,
) -> None:
    steps: Steps = [
        *SUBSCRIBED,
        ["due", "Call mum", 1],
        ["arrives"],
        # Nobody allowed the microphone yet: one press.
        ["into", False],
        ["sees", "preloaded", "Call mum"],
        ["address"],
        ["click", "talk-about"],
        ["state", "listening"],
        ["close"],
        ["due", "Water the fern", 1],
        ["arrives"],
        ["into", True],
        ["state", "listening"],  # and nobody pressed anything
    ]
    async with house(tmp_path, VIVAVOCE_AGENT="flux") as h:
        told = await h.scene(steps)
    todos = [one["id"] for one in told.all("todo")]
    assert [one["url"] for one in told.all("opened")] == [
        f"{h.served.origin}/?task_id={name}" for name in todos
    ]
    assert told.one("address")["search"] == "", "loaded anew it is an ordinary page"
    assert [one["body"].get("task_id") for one in told.all("session")] == todos


@pytest.mark.full  # a page that is open has ten seconds to show it first
async def test_a_click_on_a_notice_goes_to_the_page_that_is_open(tmp_path: Path) -> None:
    steps: Steps = [
        ["open"],
        ["subscribe"],
        ["due", "Call mum", 1],
        ["arrives"],
        ["forward"],
        ["sees", "preloaded", "Call mum"],
    ]
    async with house(tmp_path, VIVAVOCE_AGENT="flux") as h:
        told = await h.scene(steps)
    assert told.one("forward")["windows"] == 0
    assert told.all("session") == [], "nobody asked for the microphone"


@pytest.mark.parametrize(
    ("button", "done"), [("yes", True), pytest.param("no", False, marks=pytest.mark.full)]
)
async def test_what_waits_for_a_yes_has_it_with_the_page_closed(
    tmp_path: Path, button: str, done: bool
) -> None:
    script = tmp_path / "painting.yaml"
    script.write_text(PAINTING)
    steps: Steps = [*SUBSCRIBED, ["write", "Paint it."], ["arrives"], ["press", button]]
    async with house(tmp_path, VIVAVOCE_SCRIPT=str(script)) as h:
        told = await h.scene(steps)
        assert (await h.get("/approvals"))["approvals"] == []
        [shown] = told.one("shown")["desktop"]
        assert [one["action"] for one in shown["actions"]] == ["yes", "no"]
        assert "touch painted" in shown["body"]
    # The server has ended by now, and with it whatever it ran.
    assert (Path(f"{tmp_path / 'server'}-workspace") / "painted").exists() is done
