"""The page: how much of it is loaded first, when it is seen, how a long conversation scrolls.

    python -m bench.page

On loopback, in the browser of the tests, from the real server. Beside it stand what somebody else
ships (the element), what was promised (the first load and the first picture), and the same entries
as a list without any thought (the scrolling). Run `make page` and `make clients` first.
"""

from __future__ import annotations

import asyncio
import gzip
import re
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

from tests.browser.scenes import Told, scene
from tests.clients.serving import serve

from bench import report as report_line
from bench import size
from vivavoce.server.page import BUILT
from vivavoce.store import open_store
from vivavoce.wire.records.talk import (
    DEFAULT_USER,
    Change,
    Conversation,
    Entry,
    Kind,
    PutConversation,
    PutEntry,
    new_id,
)

Report = Callable[[str, float, float, str], None]

ENTRIES = size(2000, quick=150)
TIMES = size(5, quick=1)
PROMISED_SCRIPT_KB, PROMISED_PAINT_MS = 200.0, 1000.0
WIDGET_KB = 190.9
"""The script of @elevenlabs/convai-widget-embed 0.5.4 as gzip -9, which is no part of ours."""
TITLE = "A very long talk"
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
SAID = (
    "What is on my list for today?",
    "Three things: call the plumber, water the fern, and finish the letter to Ada.",
    "Move the letter to Friday.",
    "The letter is on Friday now, at nine in the morning.\n\nShall I remind you the day before?",
    "Yes. And what did we say about the garden behind the church, the last time that we spoke?",
    "You wanted to ask for the key.\n\n- The key is with Mr Brown\n- He is there from two to five",
)


def run(report: Report) -> None:
    report("first load: script as gzip", _first_load(), PROMISED_SCRIPT_KB, "kB")
    report("element: script as gzip", _packed(BUILT / "element.js"), WIDGET_KB, "kB")
    with tempfile.TemporaryDirectory(prefix="vivavoce-bench-") as folder:
        told = asyncio.run(_browsed(Path(folder) / "server"))
    for visit in ("first", "second"):
        paints = [one["ms"] for one in told.all("painted") if one["visit"] == visit]
        report(f"largest contentful paint, {visit} visit", median(paints), PROMISED_PAINT_MS, "ms")
    for name, what in (
        ("longest frame", "frame"),
        ("longest task", "task"),
        ("long tasks", "tasks"),
    ):
        ours, plain = (
            median(one[what] for one in told.all("scrolled") if one["whose"] == whose)
            for whose in ("ours", "plain")
        )
        unit = "" if what == "tasks" else "ms"
        report(f"scrolling {ENTRIES} entries: {name}", ours, plain, unit)


def _packed(file: Path) -> float:
    return len(gzip.compress(file.read_bytes(), 9)) / 1000


def _first_load() -> float:
    page = (BUILT / "index.html").read_text(encoding="utf-8")
    scripts = re.findall(r'(?:src|href)="\./(assets/[^"]+\.js)"', page)
    return sum(_packed(BUILT / name) for name in scripts)


async def _browsed(folder: Path) -> Told:
    folder.mkdir()
    await _fill(f"sqlite:///{folder / 'vivavoce.db'}")
    with serve(folder) as served:
        given = {
            "wav": "",
            "page": served.origin,
            "title": TITLE,
            "entries": ENTRIES,
            "rounds": ENTRIES // 20,
            "times": TIMES,
        }
        return await scene("measure", given, seconds=600)


async def _fill(url: str) -> None:
    store = open_store(url)
    await store.open()
    of = new_id()
    conversation = Conversation(
        id=of, user_id=DEFAULT_USER, title=TITLE, created_at=BEGAN, updated_at=BEGAN
    )
    changes: list[Change] = [PutConversation(conversation)]
    changes += [
        PutEntry(
            Entry(
                id=new_id(),
                conversation_id=of,
                user_id=DEFAULT_USER,
                kind=Kind.ASSISTANT if number % 2 else Kind.USER,
                text=SAID[number % len(SAID)],
                created_at=BEGAN + timedelta(seconds=number),
                ordinal=BEGAN.timestamp() * 1000 + 1000 * number,
            )
        )
        for number in range(ENTRIES)
    ]
    await store.commit(changes)
    await store.close()


if __name__ == "__main__":
    run(report_line)
