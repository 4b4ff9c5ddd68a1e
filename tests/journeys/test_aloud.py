"""Seed 001 §5.3 to §7.3 and the five endings, aloud: a spoken question over WebRTC, a server of its
own process with its ears and its mouth, and what came out of the loudspeaker written down again.

Who thinks is a script behind the chat API, so that it is seen what a model would be told. All talks
are with one server, some at a time, and are over when the first test begins.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from tests.brain.chat_server import ChatServer, Reply, call, event, open_to_all, stream
from tests.browser import sound
from tests.clients.serving import Served, serve
from tests.clients.talk import share, words
from tests.clients.voice import Voice
from tests.journeys.embedded import Browser, by_webrtc
from tests.journeys.stage import Stage, Watcher
from tests.journeys.test_endings import cut_off
from vivavoce.brain.script.script import Rule, Script, ToolUse, decide
from vivavoce.wire.brain import Ask, Call, Result, Said, Tool, Turn

pytestmark = pytest.mark.timeout(600)  # the first test waits for all the talks

STORY = (
    "Once there was a king who lived in a large house by the sea. Every morning he walked along "
    "the beach and counted the boats. One day a small boat came in with a red sail. A girl stepped "
    "out of it and asked him for a glass of water. He went to the kitchen and came back with two."
)
"""Told in about twenty seconds: nobody here hears it to its end."""


SAID = (
    "Please tell me a story.",
    "What was the king doing?",
    "We paint the door blue.",
    "Which colour was it?",
    "What files are in the source folder?",
    "Show me the first one.",
    "Add logging to it.",
    "Read the long list.",
    "Wait, who is the girl?",
    "Build the login page.",
)
"""Spoken before the talks begin: somebody who makes speech is late with his own microphone."""


PROMPT = "You keep a house."


# --- Who thinks -------------------------------------------------------------------------------


class Mind(ChatServer):
    """Answers by a script, and keeps what it was asked: `asked`."""

    def __init__(self, script: Script) -> None:
        super().__init__([])
        self._script, self._calls = script, 0
        self.reviewed = asyncio.Event()
        """Until then the last of those who work on the login page looks at it."""

    def reply(self, asked: dict[str, Any]) -> Reply:
        plan = decide(self._script, ask_of(asked))
        lines = [event(content=f"{word} ") for word in plan.say.split()]
        for index, (name, arguments) in enumerate(plan.calls):
            self._calls += 1
            given = json.dumps(dict(arguments))
            lines.append(call(index, id=f"call_{self._calls}", name=name, arguments=given))
        text = json.dumps(asked)
        reviewing = PROMPT not in text and "From the coder" in text and "login page" in text
        reason = "tool_calls" if plan.calls else "stop"
        return stream(*lines, reason=reason, until=self.reviewed if reviewing else None)

    def told(self, about: str) -> str:
        """All that it was told when a user last said this: others may have heard of it."""
        for one in reversed(self.asked):
            text, said = json.dumps(one), [m for m in one["messages"] if m["role"] == "user"]
            last = json.dumps(said[-1:])
            if PROMPT in text and re.search(about, last, re.IGNORECASE):  # no delegated agent's
                return text
        raise AssertionError(f"it was never asked about {about!r}")


def ask_of(asked: dict[str, Any]) -> Ask:
    turns: list[Turn] = []
    for message in asked.get("messages", []):
        match message:
            case {"role": "tool", "tool_call_id": call_id, "content": output}:
                turns.append(Result(call_id, output))
            case {"role": role, "content": content}:
                if content:
                    turns.append(Said(role, content))
                for made in message.get("tool_calls") or ():
                    function = made["function"]
                    turns.append(Call(made["id"], function["name"], function["arguments"]))
    if turns and isinstance(turns[0], Said) and turns[0].role == "system":
        del turns[0]  # the instructions
    tools = tuple(Tool(tool["function"]["name"]) for tool in asked.get("tools") or ())
    choice = asked.get("tool_choice")
    return Ask("", tuple(turns), tools, choice if isinstance(choice, str) else "auto")


# --- Talking ----------------------------------------------------------------------------------


@dataclass
class House:
    """The server, somebody who speaks and listens, and what the talks need of both."""

    served: Served
    mind: Mind
    folder: Path
    settings: dict[str, str]
    stage: Stage
    monkeypatch: pytest.MonkeyPatch
    voice: Voice = field(default_factory=Voice)

    @asynccontextmanager
    async def session(self, **wishes: Any) -> AsyncIterator[tuple[str, Browser, Watcher]]:
        opened = await self._opened(wishes)
        watcher = await self.stage.watch(opened["session_id"])
        key = opened["client_secret"]["value"]
        async with by_webrtc(self.stage, key, self.monkeypatch) as browser:
            await came(watcher, "session.started")
            yield opened["session_id"], browser, watcher

    async def _opened(self, wishes: dict[str, Any]) -> dict[str, Any]:
        """Where the machine has all it can do, a little later, as clients are told."""
        async with asyncio.timeout(120):
            answer = await self.stage.http.post("/session", json=wishes)
            while answer.status_code == 503:
                await asyncio.sleep(answer.json()["error"]["details"]["retry_after_ms"] / 1000)
                answer = await self.stage.http.post("/session", json=wishes)
        assert answer.status_code < 300, answer.text
        opened: dict[str, Any] = answer.json()
        return opened

    async def say(self, browser: Browser, text: str) -> int:
        """Until it was said; where in the sound of the loudspeaker that was."""
        browser.microphone.say(sound.silence(0.6) + await self.voice.say(text))
        while browser.microphone.speaking:
            await asyncio.sleep(0.02)
        return len(browser.sound)

    async def hears(self, browser: Browser, wanted: str, *, since: int = 0) -> str:
        """Until these words came out of the loudspeaker, by what our own ears make of it."""
        heard = ""
        with suppress(TimeoutError):
            async with asyncio.timeout(40):
                while share(wanted, heard) < 0.7:
                    await quiet(browser, since)
                    heard = await self.voice.hear(browser.sound[since:])
        said = [event["transcript"] for event in browser.seen if event.get("transcript")]
        assert share(wanted, heard) >= 0.7, (wanted, heard, said)
        return heard

    async def story(self, session_id: str) -> dict[str, Any]:
        """The entry of the answer that was cut off."""
        shown = await self.stage.get(f"/sessions/{session_id}")
        told = [entry for entry in shown["transcript"] if entry["entry_type"] == "assistant"]
        return cast("dict[str, Any]", next(e for e in told if "king" in e["generated_text"]))

    async def check_cut(self, session_id: str, browser: Browser) -> None:
        """What is stored as heard is where the story was when the sound stopped."""
        kept = await self.story(session_id)
        assert kept["interrupted"] is True
        assert STORY.startswith(kept["text"]), kept["text"]
        heard = await self.voice.hear(browser.sound)
        assert share(kept["text"], heard) >= 0.7, (kept["text"], heard)
        assert abs(len(words(kept["text"])) - reached(heard)) <= 2, (kept["text"], heard)


def reached(heard: str) -> int:
    """How many words of the story were heard: ears say the last ones twice where a voice stops."""
    story, said = words(STORY), words(heard)
    pairs = set(pairwise(said))
    return max((n + 2 for n, pair in enumerate(pairwise(story[:40])) if pair in pairs), default=0)


async def quiet(browser: Browser, since: int) -> None:
    """Something was heard since then, and nothing any more for more than half a second."""
    while True:
        await asyncio.sleep(0.05)
        levels = [level for _, level in browser.loud[since // 960 :]]
        if any(level > 200 for level in levels) and all(level < 200 for level in levels[-30:]):
            return


async def came(watcher: Watcher, kind: str) -> dict[str, Any]:
    await watcher.until(lambda: bool(watcher.all(kind)), 40)
    return watcher.all(kind)[0]


async def listening(house: House, browser: Browser) -> None:
    """Asks for the story and hears the first seconds of it."""
    await house.say(browser, "Please tell me a story.")
    await browser.until("output_audio_buffer.started", 30)
    await browser.hear(2.5)


# --- The five endings -------------------------------------------------------------------------


async def a_client_that_hangs_up_heard_what_it_heard(house: House) -> None:
    async with house.session() as (session_id, browser, watcher):
        await listening(house, browser)
    assert (await came(watcher, "session.ended"))["reason"] == "user_ended"
    await house.check_cut(session_id, browser)


async def an_end_by_the_api_keeps_what_was_heard(house: House) -> None:
    async with house.session() as (session_id, browser, _):
        await listening(house, browser)
        await house.stage.post(f"/sessions/{session_id}/end")
        await house.check_cut(session_id, browser)


async def a_takeover_keeps_what_the_first_device_heard_and_the_second_knows_it(
    house: House,
) -> None:
    async with house.session() as (session_id, browser, _):
        await listening(house, browser)
        second = await house.stage.post(f"/sessions/{session_id}/resume", {})
        await house.check_cut(session_id, browser)
        kept = (await house.story(session_id))["text"]
        assert kept in str(second["context_to_inject"])
        key = second["realtime"]["client_secret"]["value"]
        async with by_webrtc(house.stage, key, house.monkeypatch) as device:
            since = await house.say(device, "What was the king doing?")
            await house.hears(device, "He was counting the boats.", since=since)
        told = house.mind.told("What was the king doing")
        assert kept in told
        assert "glass of water" not in told, "nobody heard the rest of it"


async def a_line_that_is_cut_is_placed_anew_and_what_was_missed_is_said(house: House) -> None:
    """Seed 001 §5.3."""
    async with house.session() as (session_id, browser, watcher):
        await listening(house, browser)
        cut_off(browser)
        await asyncio.sleep(1.0)  # until the client knows
        again = await house.stage.get("/session/reconnect", params={"session_id": session_id})
        assert again["session_id"] == session_id
        key = again["ephemeral_key"]
        async with by_webrtc(house.stage, key, house.monkeypatch) as second:
            await house.check_cut(session_id, browser)
            await quiet(second, 0)
            since = await house.say(second, "What was the king doing?")
            await house.hears(second, "He was counting the boats.", since=since)
        kept = (await house.story(session_id))["text"]
        told = house.mind.told("king doing")
        assert kept in told
    states = [one["webrtc_state"] for one in watcher.all("connection.status")]
    assert states.count("connected") >= 2


async def kill_9_leaves_what_was_heard_and_the_next_server_knows_it(house: House) -> None:
    async with house.session() as (session_id, browser, _):
        await listening(house, browser)
        house.served.kill()
    async with another(house) as after:
        kept = await after.story(session_id)
        heard = await after.voice.hear(browser.sound)
        assert share(kept["text"], heard) >= 0.7, (kept["text"], heard)
        # It is stored twice a second: so much may be missing, and nothing may be too much.
        assert -3 <= len(words(kept["text"])) - reached(heard) <= 1, (kept["text"], heard)
        restored = await after.stage.post("/session/restore", {"prev_session_id": session_id})
        key = restored["ephemeral_key"]
        async with by_webrtc(after.stage, key, after.monkeypatch) as second:
            await quiet(second, 0)
            since = await after.say(second, "What was the king doing?")
            await after.hears(second, "He was counting the boats.", since=since)
        assert kept["text"] in after.mind.told("king doing")


async def a_task_goes_on_without_its_call_and_is_told_of_at_the_next(house: House) -> None:
    """Seed 001 §6.3."""
    async with house.session() as (session_id, browser, watcher):
        since = await house.say(browser, "Build the login page.")
        await house.hears(browser, "I sent somebody.", since=since)
        cut_off(browser)
        await asyncio.sleep(1.0)  # until the client knows
        await watcher.until(
            lambda: any(one.get("percentage") == 66 for one in watcher.all("task.progress")), 40
        )
        params = {"session_id": session_id}
        queued = await house.stage.get("/session/pending_updates", params=params)
        of_it = [one for one in queued["queued_updates"] if one["event"] == "task.progress"]
        assert of_it[-1]["data"]["percentage"] == 66
        again = await house.stage.get("/session/reconnect", params=params)
        assert again["session_id"] == session_id
        async with by_webrtc(house.stage, again["ephemeral_key"], house.monkeypatch) as second:
            heard = await house.hears(second, "Sorry, we were cut off. This is still running")
            assert share("build the login page", heard) >= 0.7, heard
            assert "66" in heard or "sixty-six" in heard.lower(), heard
            since = len(second.sound)
            house.mind.reviewed.set()
            await came(watcher, "task.completed")
            await house.hears(second, "It works now.", since=since)
    assert len(watcher.all("task.completed")) == 1


# --- Silence ----------------------------------------------------------------------------------


async def a_silence_is_warned_of_ends_it_and_a_click_later_it_is_known(house: House) -> None:
    """Seed 001 §6.1 and §6.2."""
    async with house.session() as (session_id, browser, watcher):
        since = await house.say(browser, "We paint the door blue.")
        await house.hears(browser, "Blue it is.", since=since)
        warned = await came(watcher, "session.warning")
        assert (warned["reason"], warned["seconds_remaining"]) == ("idle", 4)
        await came(watcher, "session.expired")
        assert (await came(watcher, "session.ended"))["reason"] == "timeout"
    restored = await house.stage.post("/session/restore", {"prev_session_id": session_id})
    assert restored["new_session_id"] != session_id
    key = restored["ephemeral_key"]
    async with by_webrtc(house.stage, key, house.monkeypatch) as second:
        await house.hears(second, "Welcome back.")
        since = await house.say(second, "Which colour was it?")
        await house.hears(second, "The door is blue.", since=since)
    told = house.mind.told("Which colou?r was it")
    assert re.search("paint the door.blue", told)
    assert "Blue it is" in told


# --- Many turns -------------------------------------------------------------------------------


async def what_it_and_the_first_one_are_is_known_from_the_turns_before(house: House) -> None:
    """Seed 001 §7.1."""
    async with house.session() as (_, browser, watcher):
        since = await house.say(browser, "What files are in the source folder?")
        await house.hears(browser, "I found three files.", since=since)
        since = await house.say(browser, "Show me the first one.")
        await house.hears(browser, "It has a main function.", since=since)
        since = await house.say(browser, "Add logging to it.")
        await house.hears(browser, "I sent somebody.", since=since)
        assert [one["tool_name"] for one in watcher.all("tool.started")][:2] == [
            "glob",
            "read_file",
        ]
    told = house.mind.told("Add logging to it")
    for known in ("src/main.py", "src/utils.py", "def main", "It has a main function"):
        assert known in told, known


async def a_decision_outlives_the_window_and_a_long_file_is_cut(house: House) -> None:
    """Seed 001 §7.2."""
    async with house.session() as (session_id, browser, _):
        since = await house.say(browser, "We paint the door blue.")
        await house.hears(browser, "Blue it is.", since=since)
        since = await house.say(browser, "Read the long list.")
        await house.hears(browser, "It is a long list.", since=since)
    read = house.mind.told("long list")
    assert "line 7 " in read
    assert "truncated" in read
    assert "line 4990" not in read
    shown = await house.stage.get(f"/sessions/{session_id}")
    path = f"/api/v1/conversations/{shown['session']['conversation_id']}/messages"
    for number in range(30):
        content = f"And number {number} is " + "a long, long " * 40 + "story."
        await house.stage.post(path, {"content": content, "wait_seconds": 30})
    again = await house.stage.post(f"/sessions/{session_id}/resume", {})
    key = again["realtime"]["client_secret"]["value"]
    async with by_webrtc(house.stage, key, house.monkeypatch) as second:
        since = await house.say(second, "Which colour was it?")
        await house.hears(second, "The door is blue.", since=since)
    told = house.mind.told("Which colou?r was it")
    assert re.search("paint the door.blue", told)
    assert "number 29 is" in told
    assert "line 7 " not in told
    assert told.count("a long, long") < 40 * 30, "the oldest gave way"


async def who_speaks_over_an_answer_has_heard_it_so_far_and_is_answered(house: House) -> None:
    """Seed 001 §7.3."""
    async with house.session() as (session_id, browser, _):
        await listening(house, browser)
        before = len(browser.sound)
        since = await house.say(browser, "Wait, who is the girl?")
        await house.hears(browser, "The girl is his daughter.", since=since)
        kept = await house.story(session_id)
        assert kept["interrupted"] is True
        assert STORY.startswith(kept["text"])
        heard = await house.voice.hear(browser.sound[: before + 2 * 24_000])
        assert share(kept["text"], heard) >= 0.7, (kept["text"], heard)
        assert abs(len(words(kept["text"])) - reached(heard)) <= 2, (kept["text"], heard)
    told = house.mind.told("who is the girl")
    assert kept["text"] in told
    assert "glass of water" not in told, "nobody heard the rest of it"


# --- All of them, with one server -------------------------------------------------------------

SCRIPT = Script(
    rules=(
        Rule(when="tell me a story", say=STORY),
        Rule(when="king doing", say="He was counting the boats."),
        Rule(when="door.blue", say="Blue it is."),
        Rule(when="colour|color", say="The door is blue."),
        Rule(when="who is the girl", say="The girl is his daughter."),
        Rule(when="source folder", calls=(ToolUse("glob", {"pattern": "src/*"}),)),
        Rule(result_of="glob", when="main.py", say="I found three files."),
        Rule(when="first one", calls=(ToolUse("read_file", {"path": "src/main.py"}),)),
        Rule(result_of="read_file", when="def main", say="It has a main function."),
        Rule(when="long list", calls=(ToolUse("read_file", {"path": "list.txt"}),)),
        Rule(result_of="read_file", when="line 7", say="It is a long list."),
        Rule(
            when="add logging",
            calls=(ToolUse("task", {"instruction": "{text}", "agent": "coder"}),),
        ),
        Rule(result_of="task", say="I sent somebody."),
        Rule(when="add logging", calls=(ToolUse("done", {"summary": "It logs now."}),)),
        Rule(
            when="log.?in page",
            calls=(ToolUse("task", {"instruction": "Build the login page", "agent": "team"}),),
        ),
        Rule(when="login page", calls=(ToolUse("done", {"summary": "The page is there."}),)),
        Rule(note=True, when=r"page is there", say="It works now."),
        Rule(note=True, when=r"is done\b", say="It logs now."),
    ),
    otherwise="All right.",
    nudge="Welcome back.",
    opening="Hello there.",
)
AGENT = """\
name: house
tools: [glob, read_file, task]
timeouts:
  idle_minutes: 0.24
  warning_seconds: 4
"""
Flow = Callable[[House], Coroutine[Any, Any, None]]
FLOWS: tuple[Flow, ...] = (
    who_speaks_over_an_answer_has_heard_it_so_far_and_is_answered,
    a_client_that_hangs_up_heard_what_it_heard,
    an_end_by_the_api_keeps_what_was_heard,
    a_takeover_keeps_what_the_first_device_heard_and_the_second_knows_it,
)
LONGER: tuple[Flow, ...] = (
    a_silence_is_warned_of_ends_it_and_a_click_later_it_is_known,
    what_it_and_the_first_one_are_is_known_from_the_turns_before,
    a_decision_outlives_the_window_and_a_long_file_is_cut,
    a_line_that_is_cut_is_placed_anew_and_what_was_missed_is_said,
    a_task_goes_on_without_its_call_and_is_told_of_at_the_next,
    kill_9_leaves_what_was_heard_and_the_next_server_knows_it,
)
AT_ONCE = 2
ALONE: tuple[Flow, ...] = (
    a_task_goes_on_without_its_call_and_is_told_of_at_the_next,  # where its user is now
    kill_9_leaves_what_was_heard_and_the_next_server_knows_it,
)
"""After the others, one after the other."""


def project(folder: Path) -> dict[str, str]:
    """A workspace and an agent; the server's settings."""
    source = folder / "server-workspace" / "src"
    source.mkdir(parents=True)
    for name in ("main", "utils", "config"):
        (source / f"{name}.py").write_text(f"def {name}():\n    pass\n")
    lines = "".join(f"line {number} of the list\n" for number in range(5000))
    (source.parent / "list.txt").write_text(lines)
    home = folder / "house"
    home.mkdir()
    (home / "agent.yaml").write_text(AGENT)
    (home / "prompt.md").write_text(PROMPT)
    return {
        "VIVAVOCE_AGENT": str(home),
        "VIVAVOCE_CONTEXT_TOKENS": "6000",
        "VIVAVOCE_SESSIONS_PER_10_MINUTES": "0",
        "VIVAVOCE_USER_MESSAGES_PER_MINUTE": "0",
    }


class Watching:
    """A group whose tasks end with what they watch."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group, self.tasks = group, list[asyncio.Task[None]]()

    def create_task(self, watched: Coroutine[Any, Any, None]) -> None:
        self.tasks.append(self._group.create_task(watched))


@asynccontextmanager
async def at(served: Served) -> AsyncIterator[Stage]:
    nothing: Any = None
    async with (
        httpx.AsyncClient(base_url=served.origin, timeout=60.0, trust_env=False) as http,
        asyncio.TaskGroup() as group,
    ):
        watching = Watching(group)
        yield Stage(nothing, nothing, served.origin, http, cast("Any", watching), nothing)
        for task in watching.tasks:
            task.cancel()


@asynccontextmanager
async def another(house: House) -> AsyncIterator[House]:
    """A server with what the one before left behind."""
    with serve(house.folder / "server", patience=240, **house.settings) as served:
        async with at(served) as stage:
            yield House(served, house.mind, house.folder, house.settings, stage, house.monkeypatch)


async def talked(folder: Path, flows: list[Flow]) -> dict[Flow, BaseException | None]:
    """What went wrong in each; what goes wrong in one is the matter of its own test."""
    outcome: dict[Flow, BaseException | None] = dict.fromkeys(flows)
    places = asyncio.Semaphore(AT_ONCE)

    async def one(flow: Flow, house: House) -> None:
        async with places:
            try:
                await flow(house)
            except Exception as fault:
                outcome[flow] = fault

    with pytest.MonkeyPatch.context() as monkeypatch:
        async with open_to_all(Mind(SCRIPT)) as mind:
            settings = project(folder) | {"VIVAVOCE_BRAIN": mind.url, "VIVAVOCE_BRAIN_MODEL": "m"}
            with serve(folder / "server", patience=240, **settings) as served:
                async with at(served) as stage:
                    house = House(served, mind, folder, settings, stage, monkeypatch)
                    await house.voice.hear(b"".join([await house.voice.say(one) for one in SAID]))
                    async with asyncio.TaskGroup() as group:
                        for flow in flows:
                            if flow not in ALONE:
                                group.create_task(one(flow, house))
                    for flow in ALONE:
                        if flow in flows:
                            await one(flow, house)
                    mind.reviewed.set()  # nobody waits for an answer to nobody
    return outcome


@pytest.fixture(scope="module")
def outcome(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[Flow, BaseException | None]:
    items = [item for item in request.session.items if getattr(item, "module", 0) is request.module]
    flows = [cast("Any", item).callspec.params["flow"] for item in items]
    return asyncio.run(talked(tmp_path_factory.mktemp("house"), flows))


@pytest.mark.parametrize(
    "flow",
    [*FLOWS, *(pytest.param(flow, marks=pytest.mark.full) for flow in LONGER)],
    ids=lambda flow: flow.__name__,
)
def test_aloud(flow: Flow, outcome: dict[Flow, BaseException | None]) -> None:
    if (fault := outcome[flow]) is not None:
        raise fault
