"""The conversation that is played while something goes wrong, event by event, and what must be so
afterwards, whatever went wrong.

Owns the provider's mind: what the user and the model say in it. The user is a patient one: who gets
no answer asks again.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tests.faults.page import Page
from tests.faults.proxy import Fault, Kind, TcpProxy, UdpProxy, Way
from tests.faults.world import World
from tests.journeys.stage import frames
from vivavoce.testing.realtime.call import ScriptedCall
from vivavoce.testing.realtime.ledger import MS_PER_WORD

Json = dict[str, Any]
LONG = "one two three four five six seven eight nine ten eleven twelve"
HEARD_MS = 5 * MS_PER_WORD


@dataclass(frozen=True, slots=True)
class Case:
    """`python -m tests.faults LINK SEED` plays it alone."""

    seed: int
    link: str
    fault: Fault

    def event(self, events: int) -> int:
        """In which of them it goes wrong."""
        return self.seed // len(KINDS[self.link]) % events

    def __str__(self) -> str:
        return f"python -m tests.faults {self.link} {self.seed}: {self.fault}"


KINDS: dict[str, tuple[Kind, ...]] = {
    "client": ("cut", "reset", "half", "stall", "delay", "late"),
    "sideband": ("cut", "reset", "half", "stall", "delay", "late"),
    "database": ("cut", "reset", "half", "stall", "delay", "late"),
    "voice": ("cut", "reset", "half", "stall", "delay", "late"),
    "engine": ("cut", "reset", "half", "stall", "delay", "late"),
    "media": ("half", "stall", "delay", "loss"),
}


def case(seed: int, link: str) -> Case:
    """What goes wrong in it; always the same for a seed."""
    chance = random.Random(f"{link} {seed}")
    kind = KINDS[link][seed % len(KINDS[link])]
    way: Way = "up" if kind == "late" else chance.choice(("up", "down"))
    fault = Fault(
        kind=kind,
        way=way,
        after=chance.choice((0, 0, 1, 2, 3, 5, 8)),
        part=chance.choice((0.0, 0.0, 0.3, 0.7, 1.0)),
        all=chance.random() < 0.6,
        seconds=chance.choice((0.0, 0.02, 0.1, 0.3) if link != "media" else (0.3, 0.8, 1.5)),
    )
    return Case(seed, link, fault)


class Mind:
    """The provider's side of one conversation: answers what the server asks for."""

    def __init__(self, world: World, page: Page) -> None:
        self._world, self.page = world, page
        self._before = set(world.provider.calls)
        self.answers: Counter[str] = Counter()
        """How often each thing was answered: outputs by call id, messages by item id."""
        self.needless: list[str] = []
        self.speaking = asyncio.Lock()
        self._said = 0
        self.said: dict[str, tuple[str, str]] = {}
        """Each item, by whom, and its words."""

    @property
    def calls(self) -> list[ScriptedCall]:
        every = self._world.provider.calls
        return [call for name, call in every.items() if name not in self._before]

    @property
    def call(self) -> ScriptedCall:
        return self.calls[-1]

    async def run(self) -> None:
        while True:
            for call in self.calls:
                if call.conversation.assistant.active is not None and not self.speaking.locked():
                    async with self.speaking:
                        await self._answer(call)
            await asyncio.sleep(0.003)

    async def _answer(self, call: ScriptedCall) -> None:
        """`response.create` came."""
        if call.conversation.assistant.active is None:
            return
        frames = [f for f in call.received if f["type"] == "response.create"]
        told = str(((frames[-1].get("response") or {}) if frames else {}).get("instructions") or "")
        # What is to be said word for word answers nothing.
        asked = [] if "Say exactly this" in told else self.waiting(call)
        if not asked and not told:
            self.needless.append(f"{call.id}: {frames[-1] if frames else None}")
        for name in asked:
            self.answers[name] += 1
        self._said += 1
        words = f"Answer to {', '.join(asked)}." if asked else f"Well, {self._said}."
        await self.say(call, words)

    def waiting(self, call: ScriptedCall) -> list[str]:
        """What the model would answer now."""
        names = map(_asks, call.conversation.ledger.items.values())
        return [name for name in names if name is not None and self.answers[name] == 0]

    async def say(self, call: ScriptedCall, words: str) -> None:
        """Played to its end, and seen by the page."""
        await call.assistant_says(words)
        item_id = call.conversation.ledger.last_item
        assert item_id is not None
        self.page.shown(item_id, "assistant", words)
        self.said[item_id] = ("assistant", words)


def _asks(item: Json) -> str | None:
    """What an item wants answered, by name."""
    if item["type"] == "function_call_output":
        return str(item["call_id"])
    parts = item["content"] if item["type"] == "message" and item["role"] == "user" else []
    return str(parts[0]["text"]) if parts and parts[0]["type"] == "input_text" else None


@dataclass
class Played:
    """One case at work: its events, in order, and what must be so afterwards."""

    world: World
    case: Case
    trace: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    reached: str = ""

    def __post_init__(self) -> None:
        self.page = Page(self.world.url, self.note)
        self.world.noted = self.note
        self.world.runs.clear()

    def note(self, what: str) -> None:
        self.trace.append(f"{time.monotonic() - self.began:6.3f} {what}")

    def name(self, what: str) -> str:
        return f"{what} {self.case.link} {self.case.seed}"

    def events(self) -> Sequence[Callable[[], Awaitable[object]]]:
        raise NotImplementedError

    async def beside(self) -> None:
        """Goes on while the events happen."""

    async def wrong(self) -> list[str]:
        raise NotImplementedError

    def more(self) -> list[str]:
        """For the trace."""
        return [f"the page saw: {[kind for kind, _, _ in self.page.seen]}"]

    @property
    def link(self) -> TcpProxy | UdpProxy:
        return self.world.links[self.case.link]

    # --- What every talk begins and ends with

    async def begins(self) -> None:
        await self.page.open()

    async def ends(self) -> None:
        await self.page.end()
        await self.page.until(lambda: self.page.all("session.ended"), "session.ended")


async def play(talk: Played) -> list[str]:
    """What was not as it must be, with the trace; nothing where all was."""
    events = talk.events()
    strikes = talk.case.event(len(events))
    wrong: list[str] = []
    async with asyncio.TaskGroup() as group, talk.page:
        beside = group.create_task(talk.beside())
        try:
            for number, event in enumerate(events):
                talk.reached = event.__name__
                talk.note(f"event {number}: {talk.reached}")
                if number == strikes:
                    talk.link.arm(talk.case.fault)
                async with asyncio.timeout(60):
                    await event()
                if number == strikes:
                    talk.link.force()
            talk.link.heal()
            await talk.page.told_all()
            wrong += await talk.wrong()
        except (AssertionError, TimeoutError) as fault:
            wrong.append(f"{type(fault).__name__} in {talk.reached}: {fault}")
        finally:
            talk.link.heal()
            beside.cancel()
    return [*wrong, *(f"    {line}" for line in [*talk.trace, *talk.more()])] if wrong else []


class Talk(Played):
    """At a provider, whose mind is ours."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.mind = Mind(self.world, self.page)

    def events(self) -> Sequence[Callable[[], Awaitable[object]]]:
        return (
            self.begins,
            self.calls,
            self.user_asks,
            self.is_answered,
            self.writes,
            self.needs_tool,
            self.needs_a_yes,
            self.interrupts,
            self.acts,
            self.hands_in,
            self.ends,
        )

    async def beside(self) -> None:
        await self.mind.run()

    async def wrong(self) -> list[str]:
        return await _after(self)

    def more(self) -> list[str]:
        sent = [
            f"{call.id} was sent: {[_short(frame) for frame in call.received]}"
            for call in self.mind.calls
        ]
        return [*super().more(), *sent]

    @property
    def call(self) -> ScriptedCall:
        return self.mind.call

    # --- What happens -----------------------------------------------------------------------

    async def calls(self) -> None:
        await self.page.place()
        await self.page.until(lambda: self.page.all("session.started"), "session.started")

    async def user_asks(self) -> str:
        return await self.user(self.name("What time is it"))

    async def user(self, text: str, heard_ms: int | None = None) -> str:
        async with self.mind.speaking:
            item_id = await self.call.user_says(text, heard_ms=heard_ms)
        self.mind.said[item_id] = ("user", text)
        self.page.shown(item_id, "user", text)
        await self.page.knows(item_id, text)
        return item_id

    async def is_answered(self) -> None:
        await self.says(self.name("It is noon"))

    async def says(self, words: str) -> None:
        async with self.mind.speaking:
            await self.mind.say(self.call, words)
            item_id = self.call.conversation.ledger.last_item
        assert item_id is not None
        await self.page.knows(item_id, words)

    async def writes(self) -> None:
        text = self.name("written")
        await self.page.write(text)
        await self.answered(text)

    async def answered(self, name: str) -> None:
        await self.page.until(lambda: self.mind.answers[name], f"an answer to {name}")

    async def needs_tool(self) -> None:
        await self._tool("count", "call")

    async def needs_a_yes(self) -> None:
        await self._tool("stamp", "asks")

    async def _tool(self, name: str, kind: str) -> None:
        call_id, what = f"{kind}_{self.case.link}_{self.case.seed}", self.name(kind)
        async with self.mind.speaking:
            await self.call.calls_tool(name, {"what": what}, call_id=call_id)
        agreed = False
        for tried in range(200):
            with suppress(AssertionError):
                await self.page.until(lambda: self.mind.answers[call_id], "", 0.1)
                return
            asked = self.page.all("approval.requested")
            if asked and not agreed:
                agreed = True
                await self.page.agree(asked[0]["approval_id"])
            if tried % 10 == 9:  # a provider tells of an item when there is another one
                await self.user(f"{what}: are you there? {tried}")
                for name in self.mind.waiting(self.call):  # it answers all that is there
                    self.mind.answers[name] += 1
                await self.says(f"{what}: I am. {tried}")
        raise AssertionError(f"{call_id} was never answered")

    async def interrupts(self) -> None:
        async with self.mind.speaking:
            await self.call.assistant_starts(LONG)
            self.mind.said[self.call.conversation.ledger.last_item or ""] = ("cut", LONG)
        await self.user(self.name("Stop"), heard_ms=HEARD_MS)
        await self.says(self.name("As you like"))

    async def acts(self) -> None:
        call_id, what = f"by_{self.case.link}_{self.case.seed}", self.name("by hand")
        answer = await self.page.execute("count", call_id, what=what)
        assert answer["success"], answer

    async def hands_in(self) -> None:
        name = self.name("note")
        at = "2026-01-31T14:30:22Z"
        await self.page.hand_in({"id": name, "entry_type": "user", "text": name, "timestamp": at})


def _short(frame: Json) -> str:
    item = frame.get("item") or {}
    told = str((frame.get("response") or {}).get("instructions") or "")[-60:]
    return f"{frame['type']} {item.get('type', '')} {item.get('call_id', '')} {told}".strip()


async def kept(talk: Played) -> tuple[list[Json], list[str]]:
    """The transcript as it is stored; and where the client's view is not the log, something is
    stored twice, or what it was told is stored is not."""
    page, http, wrong = talk.page, talk.world.stage.http, list[str]()
    detail = (await http.get(f"/sessions/{page.session_id}")).json()
    entries: list[Json] = detail["transcript"]
    query: dict[str, str | int] = {
        "session_id": page.session_id,
        "follow": "false",
        "last_event_id": page.first,
    }
    log: list[tuple[str, Json, int]] = []
    async with http.stream("GET", "/events", params=query) as response:
        async for kind, data, position in frames(response):
            if position is not None:
                log.append((kind, data, position))
    last = log[-1][2] if log else 0
    with suppress(AssertionError):
        await page.until(lambda: page.last >= last, "the end of the log", 2.0)
    # A conversation may have gone on in another session.
    here = [event for event in page.seen if event[1].get("session_id") == page.session_id]
    seen = [event for event in here if event[2] <= last]
    if seen != log:
        have, want = [(k, p) for k, _, p in seen], [(k, p) for k, _, p in log]
        wrong.append(f"the client saw {have}, the log is {want}")
    stored = {
        entry.get("item_id") or entry["id"]: (
            entry["entry_type"],
            (entry.get("text") or "").strip(),
            bool(entry.get("interrupted")),
        )
        for entry in entries
        if entry["entry_type"] in ("user", "assistant")
    }
    handed = {name.removeprefix("entry ") for name in page.acknowledged if name[:6] == "entry "}
    view = {k: v for k, v in page.lines.items() if k not in handed}
    mine = {k: v for k, v in stored.items() if k not in handed}
    if view != mine:
        wrong.append(f"the client's lines {view} are not what is stored, {mine}")
    wrong += [f"handed in and not stored: {name}" for name in handed - stored.keys()]
    ids = Counter((entry.get("item_id"), entry["entry_type"]) for entry in entries)
    wrong += [f"{key} is stored {n} times" for key, n in ids.items() if key[0] and n > 1]
    calls = Counter(
        (entry["tool_call_id"], entry["entry_type"])
        for entry in entries
        if entry.get("tool_call_id")
    )
    wrong += [f"{key} is stored {n} times" for key, n in calls.items() if n > 1]
    return entries, wrong


async def _after(talk: Talk) -> list[str]:
    world, page, mind = talk.world, talk.page, talk.mind
    entries, wrong = await kept(talk)
    texts = Counter(entry.get("text") for entry in entries if entry["entry_type"] == "user")
    texts += Counter(entry.get("text") for entry in entries if entry["entry_type"] == "assistant")
    # What was played while the line was down ended nobody knows when: it is marked.
    texts += Counter(
        entry.get("generated_text")
        for entry in entries
        if entry.get("heard_estimated") and entry["text"] != entry.get("generated_text")
    )
    for item_id, (role, words) in mind.said.items():
        if role != "cut" and texts[words] != 1:
            wrong.append(f"{role} {words!r} ({item_id}) is stored {texts[words]} times")
    for name in page.acknowledged:
        match name.split(" ", 1):
            case ["typed", text] if texts[text] != 1:
                wrong.append(f"typed {text!r} is stored {texts[text]} times")
    # No tool ran twice; what was told as done ran.
    for what in (talk.name("call"), talk.name("asks"), talk.name("by hand")):
        if world.runs[what] != 1:
            wrong.append(f"the tool for {what!r} ran {world.runs[what]} times")
    # No call was answered twice.
    for call in mind.calls:
        items = call.conversation.ledger.items.values()
        outputs = Counter(i["call_id"] for i in items if i["type"] == "function_call_output")
        wrong += [f"{name} has {n} outputs" for name, n in outputs.items() if n > 1]
        written = Counter(_asks(i) for i in items if _asks(i))
        wrong += [f"{name!r} is in the talk {n} times" for name, n in written.items() if n > 1]
    wrong += [f"{name} was answered {n} times" for name, n in mind.answers.items() if n > 1]
    wrong += [f"asked for an answer to nothing: {needless}" for needless in mind.needless]
    # No more is claimed as heard than was.
    for entry in entries:
        of_it = LONG in (entry.get("text"), entry.get("generated_text"))
        if entry["entry_type"] == "assistant" and of_it and not entry.get("heard_estimated"):
            words = " ".join(LONG.split()[: HEARD_MS // MS_PER_WORD])
            if not words.startswith(entry["text"]):
                wrong.append(f"heard is said to be {entry['text']!r}, and was {words!r}")
    return wrong
