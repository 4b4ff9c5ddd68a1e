"""Our page beside the talk, in Chromium: goals, tasks and conversations, against a real server."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.browser import sound
from tests.browser.scenes import scene
from tests.clients.serving import serve

pytestmark = pytest.mark.timeout(240)
SCRIPT = Path(__file__).parents[1] / "journeys" / "flux_script.yaml"


async def test_goals_tasks_and_talks_are_kept_as_the_page_shows_them(tmp_path: Path) -> None:
    wish = {
        "wav": str(sound.microphone(tmp_path / "microphone.wav", b"")),
        "says": ["I want to learn Spanish.", "I'm going to Mexico in three months."],
        "tonight": f"{datetime.now(UTC).astimezone():%Y-%m-%d}T23:59",
        "name": "Spanish & Mexico",
        "search": "mexi",
    }
    folder = tmp_path / "server"
    with serve(folder, VIVAVOCE_AGENT="flux", VIVAVOCE_SCRIPT=str(SCRIPT)) as served:
        told = await scene("panes", wish | {"page": served.origin}, seconds=200)

    assert len(told.one("hints")["hints"]) >= 3
    assert told.one("asked")["goals"] == 0
    assert told.one("goal")["words"] == "Learn Spanish"
    reloaded = told.one("reloaded")
    assert reloaded["today"] == ["Call the insurance"]
    assert reloaded["later"] == ["Buy stamps"]
    assert reloaded["done"] == ["Water the plants"]
    assert told.one("hit")["name"] == wish["name"]
    assert told.one("hit")["word"].lower() == "mexico"

    markdown, whole = told.one("markdown"), told.one("json")
    assert markdown["name"].endswith("-spanish-mexico.md")
    for words in (wish["name"], *wish["says"]):
        assert words in markdown["text"]
    assert whole["name"].endswith("-spanish-mexico.json")
    assert wish["says"][0] in json.dumps(json.loads(whole["text"]), ensure_ascii=False)
    shared, instead = told.one("shared"), told.one("instead")
    assert instead["name"] == markdown["name"]
    assert shared["name"] == markdown["name"].replace(".md", ".txt")
    assert shared["type"] == "text/plain"
    assert wish["name"] in shared["text"]

    with closing(sqlite3.connect(folder / "vivavoce.db")) as database:
        rows = dict(database.execute("SELECT title, status FROM tasks").fetchall())
        assert rows == {
            "Water the plants": "completed",
            "Buy stamps": "rescheduled",
            "Call the insurance": "active",
            "Sell the bike": "retracted",
        }
        goals = database.execute("SELECT statement, status FROM goals").fetchall()
        assert goals == [("Learn Spanish", "active")]
        assert database.execute("SELECT COUNT(*) FROM conversations").fetchone() == (0,)
