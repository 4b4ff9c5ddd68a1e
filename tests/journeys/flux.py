"""The talks of seed 004 §5, all of them held with one server, and what they left behind.

`vivavoce serve --agent flux` as a user starts it; a few people talk to it at a time, each under a
name of their own. What is said is data; what has to come of it is in the tests.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import httpx
import numpy as np

from tests.clients.serving import Served, serve
from tests.clients.voice import Voice
from tests.journeys.flux_call import Visit, visiting
from tests.store.stores import opened
from vivavoce.wire.records.plans import Todo
from vivavoce.wire.records.talk import Put

Row = dict[str, Any]

SCRIPT = Path(__file__).with_name("flux_script.yaml")
GYM, GROCERIES = "5f0c9a4e-6f0e-4f5e-9a57-3a1c6e3d7b10", "b1d7f3a2-08c4-4a7b-8f7e-92d4c5a6e011"
GARBLED = "I want to learn guitar, from behind a door"
"""Not these words: the sound of them, with all that makes them words taken out."""

SPANISH, MEXICO = "I want to learn Spanish.", "I'm going to Mexico in three months."
MILK = "Remind me to buy milk when I leave home."
GUITAR = "I want to learn guitar."

TALKS: Mapping[str, Sequence[Sequence[str]]] = {
    # One list for each session of the conversation.
    "goal": [[SPANISH, MEXICO]],
    "task": [["Remind me to call my mom.", "This evening around seven, please."]],
    "location": [[MILK]],
    "recurring": [["I want to meditate every morning at six a.m.", "Weekdays only."]],
    "reschedule": [["Could you move my gym session?", "Push it to Friday at the same time."]],
    "two_intents": [
        [
            "I want to start running, and remind me to buy running shoes this weekend.",
            "I want to run a five K in two months.",
            "On Saturday morning.",
        ]
    ],
    "resumed": [[SPANISH], [MEXICO]],
    "garbled": [[GARBLED, GUITAR]],
    "off_topic": [["What's the weather like today?"]],
    "ambiguous": [
        [
            "I need to do something about my fitness.",
            "A long-term goal, I want to run a marathon.",
            "In six months.",
        ]
    ],
    "amended": [["Remind me to buy stamps on Friday at nine a.m.", "No, Saturday."]],
    "retracted": [[MILK, "Forget that reminder."]],
}


@dataclass(slots=True)
class Told:
    """One conversation: what its client saw, and its rows."""

    user: str
    zone: ZoneInfo
    database: Path
    visits: list[Visit] = field(default_factory=list)
    fault: BaseException | None = None

    @property
    def now(self) -> datetime:
        return datetime.now(self.zone)

    @property
    def conversation(self) -> Row:
        """One, however many sessions it had."""
        (key,) = {visit.opened["conversation_id"] for visit in self.visits}
        return next(row for row in self.rows("conversations") if row["id"] == key)

    def rows(self, table: str) -> list[Row]:
        """Those of this user, oldest first; JSON and instants as what they are."""
        mine = "user_id = ?"
        if table == "messages":
            mine = "conversation_id IN (SELECT id FROM conversations WHERE user_id = ?)"
        query = f"SELECT * FROM {table} WHERE {mine} ORDER BY created_at, rowid"
        with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            found = [dict(row) for row in connection.execute(query, (self.user,))]
        return [{key: self._value(key, value) for key, value in row.items()} for row in found]

    def _value(self, key: str, value: Any) -> Any:
        if value is None:
            return None
        if key.endswith("_at"):
            return datetime.fromisoformat(value).replace(tzinfo=UTC).astimezone(self.zone)
        if key in ("payload", "intent_payload", "evidence", "previous", "metadata"):
            return json.loads(value)
        return value

    def one(self, table: str) -> Row:
        (row,) = self.rows(table)
        return row

    def said(self, role: str) -> list[Row]:
        return [row for row in self.rows("messages") if row["role"] == role]


class Talks:
    """What everybody told, by the name of the talk."""

    def __init__(self, told: Mapping[str, Told]) -> None:
        self._told = told

    def of(self, name: str) -> Told:
        """What went wrong in a talk goes wrong in the test that wants to know of it."""
        told = self._told[name]
        if told.fault is not None:
            raise told.fault
        return told


def early() -> ZoneInfo:
    """A place where it is past eight in the morning: "this evening" is to come, whenever we ask."""
    ahead = (8 - datetime.now(UTC).hour + 11) % 24 - 11
    return ZoneInfo(f"Etc/GMT{-ahead:+d}" if ahead else "Etc/GMT")


@contextmanager
def told_by(folder: Path, brain: str) -> Iterator[Talks]:
    """Everybody has talked, and the server is still up."""
    folder.mkdir(exist_ok=True)
    database, zone = folder / "vivavoce.db", early()
    told = {name: Told(f"{name}@{brain}", zone, database) for name in TALKS}
    asyncio.run(plan_today(database, told["reschedule"].user, zone))
    script = {"VIVAVOCE_SCRIPT": str(SCRIPT)} if brain == "scripted" else {}
    own = {"VIVAVOCE_AGENT": "flux", "VIVAVOCE_BRAIN": brain, **script}
    with serve(folder, patience=900, **own) as served:
        # A brain that really thinks takes both cores; a script leaves them to ears and mouth.
        asyncio.run(_all(served, told, at_once=2 if script else 1))
        yield Talks(told)


async def plan_today(database: Path, user: str, zone: ZoneInfo) -> None:
    now = datetime.now(UTC)
    today = now.astimezone(zone).replace(minute=0, second=0, microsecond=0)
    tasks = [
        Todo(
            id=task_id,
            user_id=user,
            title=title,
            trigger_type="time",
            created_at=now - timedelta(days=1),
            updated_at=now - timedelta(days=1),
            scheduled_at=today.replace(hour=hour).astimezone(UTC),
            time_zone=zone.key,
        )
        for task_id, title, hour in ((GYM, "Gym", 18), (GROCERIES, "Groceries", 17))
    ]
    async with opened(f"sqlite:///{database}") as store:
        await store.commit([Put(task) for task in tasks])


async def _all(served: Served, told: Mapping[str, Told], at_once: int) -> None:
    voice, places = Voice(), asyncio.Semaphore(at_once)
    async with (
        httpx.AsyncClient(base_url=served.origin, trust_env=False, timeout=60) as http,
        asyncio.TaskGroup() as group,
    ):
        for name, one in told.items():
            group.create_task(_guarded(http, voice, TALKS[name], one, places))


async def _guarded(
    http: httpx.AsyncClient,
    voice: Voice,
    sessions: Sequence[Sequence[str]],
    one: Told,
    places: asyncio.Semaphore,
) -> None:
    """What goes wrong in one talk is the matter of its own test."""
    async with places:
        try:
            await _talk(http, voice, sessions, one)
        except Exception as fault:  # told by `Talks.of`
            one.fault = fault


async def _talk(
    http: httpx.AsyncClient, voice: Voice, sessions: Sequence[Sequence[str]], one: Told
) -> None:
    user = {"x-user-id": one.user}
    about = {"name": "Sam", "time_zone": one.zone.key, "chronotype": "early"}
    (await http.patch("/api/v1/profile", json=about, headers=user)).raise_for_status()
    conversation: str | None = None
    for lines in sessions:
        async with visiting(http, user, conversation_id=conversation) as (caller, visit):
            one.visits.append(visit)
            if conversation is None:
                visit.greeting = await caller.reply()
            conversation = visit.opened["conversation_id"]
            for line in lines:
                visit.replies.append(await caller.say(await _sound(voice, line)))


async def _sound(voice: Voice, line: str) -> bytes:
    if line is not GARBLED:
        return await voice.say(line)
    samples = np.frombuffer(await voice.say(GUITAR), dtype="<i2").astype(np.float64)
    tones = np.fft.rfft(samples)
    tones[round(300 * samples.size / 24_000) :] = 0  # a door lets through what is below 300 Hz
    muffled = np.clip(2 * np.fft.irfft(tones, samples.size), -32_768, 32_767)
    return muffled.astype("<i2").tobytes()
