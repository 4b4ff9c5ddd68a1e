"""Both clients of the conductor at a whole server, answered by the engine inside with a scripted
brain; and the runtime of the examples, whose author had the schema and nothing else."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.browser.scenes import _node
from tests.clients.conductor import (
    Runs,
    Told,
    by_node,
    by_python,
    cut_after,
    installed,
    packed,
    plain,
)
from tests.docs_text import ROOT
from tests.journeys.embedded import embedded
from tests.journeys.process import free_port
from tests.journeys.stage import Stage
from vivavoce import __version__
from vivavoce.brain.script.script import Rule, Script, ToolUse
from vivavoce.conductor import FileMemory
from vivavoce.conductor.core.calls import Entry
from vivavoce.session.policy import Policy

EXAMPLES = ROOT / "docs" / "examples" / "conductor"
STORY = "Once upon a time there was a king who had a dog and a cat and a very long story to tell."
ONE_MOMENT = Policy().interim_words
SCRIPT = Script(
    rules=(
        Rule(when="^Hello$", say="Hi there!"),
        Rule(when="battery", calls=(ToolUse("battery_level", {}),)),
        Rule(result_of="battery_level", say="The battery is at 80 percent."),
        Rule(when="story", say=STORY),
        Rule(when="light", calls=(ToolUse("light_switch", {"room": "hall", "on": True}),)),
        Rule(result_of="light_switch", say="The light is on."),
    )
)
both = pytest.mark.parametrize("runs", [by_python, by_node])


@pytest.fixture(scope="session")
def tarball(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packed(tmp_path_factory.mktemp("packed"))["conductor"]


@pytest.fixture(scope="session")
def app(tarball: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed(tarball, tmp_path_factory.mktemp("app") / "app")


def address(st: Stage) -> str:
    return f"{st.url.replace('http', 'ws', 1)}/conductor"


def talk(url: str, app: Path, *sentences: str, **more: Any) -> dict[str, Any]:
    session = {"session": str(uuid4()), "waits": [0.05] * 5}
    return {"url": url, "app": str(app), "do": sentences, **session, **more}


async def history(st: Stage, session: str) -> list[tuple[str, str]]:
    answer = await st.get(f"/api/v1/conversations/{session}/messages")
    return [(one["role"], one["content"]) for one in answer["messages"]]


async def said(st: Stage, session: str) -> list[tuple[str, str]]:
    """Without what is said when a tool takes its time, as it does on a busy machine."""
    return [
        one for one in await history(st, session) if one[0] != "function" and one[1] != ONE_MOMENT
    ]


# --- The package ----------------------------------------------------------------------------


def test_the_package_has_our_version_its_types_and_no_dependency(tarball: Path, app: Path) -> None:
    assert tarball.name == f"vivavoce-conductor-{__version__}.tgz"
    inside = app / "node_modules" / "@vivavoce" / "conductor"
    told = json.loads((inside / "package.json").read_text())
    assert {"dependencies", "peerDependencies", "optionalDependencies"}.isdisjoint(told)
    for entry in (told["exports"]["."]["node"], told["exports"]["."]):
        assert (inside / entry["types"]).is_file()
        assert (inside / entry["default"]).is_file()
    assert sorted(path.name for path in inside.iterdir()) == ["README.md", "dist", "package.json"]


CONSUMER = """
import { Client, tool, type Seen } from "@vivavoce/conductor";
const add = tool<{ a: number; b: number }>({ name: "add", run: ({ a, b }) => a + b });
const client = new Client("ws://here/conductor", { tools: [add], speak: async () => {} });
client.start();
for await (const one of client) {
  const seen: Seen = one;
  if ("speech" in seen) console.log(seen.speech.length, seen.final);
  // @ts-expect-error there is no such field
  if ("phase" in seen) console.log(seen.speech);
}
"""


@pytest.mark.parametrize("module", ["nodenext", "esnext"])
def test_its_types_hold_in_an_app_of_others(module: str, app: Path) -> None:
    """As Node sees it, and as a bundler for browsers; without types of Node's."""
    (app / "consumer.ts").write_text(CONSUMER)
    tsc = ROOT / "web" / "node_modules" / "typescript" / "bin" / "tsc"
    resolution = module if module == "nodenext" else "bundler"
    options = ["--module", module, "--moduleResolution", resolution, "--target", "es2022"]
    strict = ["--strict", "--exactOptionalPropertyTypes", "--noEmit", "--types", ""]
    done = subprocess.run(
        [_node(), str(tsc), *options, *strict, "consumer.ts"],
        cwd=app, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_what_a_browser_gets_asks_for_nothing_of_node(app: Path) -> None:
    dist = app / "node_modules" / "@vivavoce" / "conductor" / "dist"
    waiting, seen = ["index.js"], set[str]()
    while waiting:
        name = waiting.pop()
        text = (dist / name).read_text()
        assert "node:" not in text, name
        assert "Buffer" not in text, name
        found = {line.split('"./')[1].split('"')[0] for line in text.splitlines() if '"./' in line}
        waiting += found - seen
        seen |= found
    assert "client.js" in seen


# --- Both, at a whole server ----------------------------------------------------------------


async def test_both_are_told_the_same(app: Path, tmp_path: Path) -> None:
    cut = {"text": "Once", "position": {"positionCharacters": 16}}
    async with embedded(tmp_path, script=SCRIPT) as st:
        told: list[Told] = []
        for runs in (by_python, by_node):
            wanted = talk(
                address(st), app, "Hello", "How full is the battery?", "A story", "Hello",
                interrupt=cut,
            )  # fmt: skip
            all_told = await runs(wanted)
            told.append(plain(all_told))
            said = await history(st, wanted["session"])
            assert said[0] == ("user", "Hello")
            assert ("assistant", "The battery is at 80 percent.") in said
            assert ("assistant", "Once upon a time") in said
            assert said[-1] == ("assistant", "Hi there!")
            assert [one["aloud"] for one in all_told if "aloud" in one] == [
                "Hi there!", "The battery is at 80 percent.", STORY, "Hi there!",
            ]  # fmt: skip
        assert [one for one in told[0] if "fault" in one] == []
        assert told[0] == told[1]


@both
async def test_the_line_cut_at_every_message_changes_nothing_that_is_said_or_done(
    runs: Runs, app: Path, tmp_path: Path
) -> None:
    async def cut(st: Stage, messages: int) -> bool:
        """Was that more than there are?"""
        async with cut_after(address(st), messages) as url:
            wanted = talk(url, app, "How full is the battery?", "Hello")
            told = await runs(wanted)
        assert await said(st, wanted["session"]) == EXPECTED, messages
        assert told.count({"ran": "battery.level"}) == 1, messages
        return not any("fault" in one for one in told)

    whole = 0
    # Some together, since each waits for its line to be there again; and as many as one engine
    # serves, where a call that was cut off is still there for a while.
    for first in range(1, 40, 3):
        async with (
            embedded(tmp_path / str(first), script=SCRIPT) as st,
            asyncio.TaskGroup() as group,
        ):
            talks = {
                messages: group.create_task(cut(st, messages))
                for messages in range(first, first + 3)
            }
        if over := [messages for messages, one in talks.items() if one.result()]:
            whole = min(over)
            break
    assert whole > 12


@both
async def test_a_server_that_restarts_while_the_app_speaks_is_met_again(
    runs: Runs, app: Path, tmp_path: Path
) -> None:
    port = free_port()
    url = f"ws://127.0.0.1:{port}/conductor"
    wanted = talk(url, app, "How full is the battery?", "Hello", waits=[0.1] * 100, slow=1_500)
    async with asyncio.TaskGroup() as group:
        async with embedded(tmp_path, script=SCRIPT, port=port) as st:
            talking = group.create_task(runs(wanted))
            await answered(st, wanted["session"])
        async with embedded(tmp_path, script=SCRIPT, port=port) as st:
            told = await talking
            kept = await said(st, wanted["session"])
    assert kept == EXPECTED
    assert [one for one in told if "ran" in one or "aloud" in one] == [
        {"ran": "battery.level"},
        {"aloud": "The battery is at 80 percent."},
        {"aloud": "Hi there!"},
    ]
    faults = [one["message"] for one in told if one.get("fault") == "ws_error"]
    assert "1012" in "".join(faults), told


async def answered(st: Stage, session: str) -> None:
    """In this conversation, and it is being spoken."""
    async with asyncio.timeout(20):
        while True:
            answer = await st.http.get(f"/api/v1/conversations/{session}/messages")
            if answer.status_code == 200 and "80 percent" in answer.text:
                return
            await asyncio.sleep(0.005)


EXPECTED = [
    ("user", "How full is the battery?"),
    ("assistant", "The battery is at 80 percent."),
    ("user", "Hello"),
    ("assistant", "Hi there!"),
]


@both
async def test_a_call_that_the_app_had_run_before_it_died_is_not_run_again(
    runs: Runs, app: Path, tmp_path: Path
) -> None:
    """Both read what the other has written."""
    memory = tmp_path / "calls.jsonl"
    other = by_node if runs is by_python else by_python
    async with embedded(tmp_path / "data", script=SCRIPT) as st:
        wanted = talk(address(st), app, "How full is the battery?", memory=str(memory))
        await runs(wanted)
        ((call_id, over),) = [
            (entry.call_id, entry.over)
            for entry in FileMemory(memory).load(wanted["session"])
            if entry.result == '{"percent":80}'
        ]
        assert over
        before = memory.read_text()
        await other({**wanted, "do": ["Hello"]})
        assert memory.read_text().startswith(before)
        assert Entry(call_id, True, '{"percent":80}') in FileMemory(memory).load(wanted["session"])


# --- The examples ---------------------------------------------------------------------------


@pytest.fixture
def battery_commands(app: Path) -> Iterator[list[list[str]]]:
    shutil.copy(EXAMPLES / "battery.mjs", app)
    yield [
        [sys.executable, str(EXAMPLES / "battery.py")],
        [_node(), str(app / "battery.mjs")],
    ]
    (app / "battery.mjs").unlink()


async def test_the_examples_of_the_page_say_how_full_the_battery_is(
    battery_commands: list[list[str]], tmp_path: Path
) -> None:
    async with embedded(tmp_path, script=SCRIPT) as st:
        for command in battery_commands:
            child = await asyncio.create_subprocess_exec(
                *command, address(st), "How full is the battery?",
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
            async with asyncio.timeout(30):
                said, wrong = await child.communicate()
            assert child.returncode == 0, wrong.decode()
            assert said.decode().splitlines()[:4] == [
                "connection: connecting",
                "connection: connected",
                "tool: battery.level",
                "aloud: The battery is at 80 percent.",
            ]


class Terminal:
    """`runtime.ts` as its user has it: what they type, and what they read."""

    def __init__(self, child: asyncio.subprocess.Process) -> None:
        self._child = child
        self.lines: list[str] = []

    async def type(self, line: str) -> None:
        assert self._child.stdin is not None
        self._child.stdin.write(f"{line}\n".encode())
        await self._child.stdin.drain()

    async def until(self, wanted: str) -> str:
        """The first line from now on that begins so."""
        assert self._child.stdout is not None
        try:
            async with asyncio.timeout(15):
                while line := (await self._child.stdout.readline()).decode().rstrip("\n"):
                    self.lines.append(line)
                    if line.startswith(wanted):
                        return line
        except TimeoutError:
            pass
        raise AssertionError(f"no {wanted!r} in {self.lines}")


@asynccontextmanager
async def terminal(url: str, session: str, folder: Path) -> AsyncIterator[Terminal]:
    """Compiled, since an old Node reads no types, and run by Node alone."""
    tsc = ROOT / "web" / "node_modules" / "typescript" / "bin" / "tsc"
    project = ["-p", str(EXAMPLES), "--noEmit", "false", "--outDir", str(folder)]
    subprocess.run([_node(), str(tsc), *project], check=True)
    (folder / "package.json").write_text('{"type":"module"}')
    old = subprocess.run([_node(), "--version"], capture_output=True, text=True, check=True)
    flags = ["--experimental-websocket"] if old.stdout.startswith("v20.") else []
    child = await asyncio.create_subprocess_exec(
        _node(), *flags, str(folder / "runtime.js"), url, session,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        yield Terminal(child)
        assert child.stdin is not None
        child.stdin.close()
        async with asyncio.timeout(10):
            assert await child.wait() == 0
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()


async def test_a_runtime_by_someone_with_the_schema_alone_holds_a_conversation(
    tmp_path: Path,
) -> None:
    (tmp_path / "runtime").mkdir()
    session = str(uuid4())
    async with (
        embedded(tmp_path / "data", script=SCRIPT) as st,
        terminal(address(st), session, tmp_path / "runtime") as user,
    ):
        await user.until("connection: open")
        await user.type("How full is the battery?")
        await user.until("state: thinking")
        await user.until("spoken: The battery is at 80 percent.")
        await user.until("state: idle")
        await user.type("Tell me a story")
        await user.until("speaking: Once upon a time")
        await user.until("word: upon")
        await user.type("")
        heard = (await user.until("interrupted: ")).removeprefix("interrupted: ")
        assert STORY.startswith(heard)
        assert 0 < len(heard) < len(STORY)
        await user.until("state: listening")
        await user.type("The light, please")
        assert "light.switch" in await user.until("question: ")
        while not any(line.startswith("shown: ") and "approval" in line for line in user.lines):
            await user.until("shown: ")
        await user.type("y")
        await user.until("light: hall on")
        await user.until("spoken: The light is on.")
        assert ("assistant", heard.rstrip()) in await history(st, session)


@pytest.mark.parametrize("messages", [2, 5, 8, 11])
async def test_it_loses_nothing_when_the_line_breaks(messages: int, tmp_path: Path) -> None:
    (tmp_path / "runtime").mkdir()
    session = str(uuid4())
    async with (
        embedded(tmp_path / "data", script=SCRIPT) as st,
        cut_after(address(st), messages) as url,
        terminal(url, session, tmp_path / "runtime") as user,
    ):
        await user.until("connection: open")
        await user.type("How full is the battery?")
        await user.until("spoken: The battery is at 80 percent.")
        await user.type("Hello")
        await user.until("spoken: Hi there!")
        await user.until("state: idle")
        assert "connection: closed with 1006" in user.lines
        assert await said(st, session) == EXPECTED
