"""A talk against a whole server in this process, with ears that know what is said and a mouth that
hums: what is heard, cut off, lost and found again, and what the command says when it cannot be."""

from __future__ import annotations

import asyncio
import contextlib
import io
import re
import socket
import subprocess
import sys
import wave
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.browser.sound import RATE, tone, write
from tests.journeys.embedded import embedded
from tests.journeys.stage import Stage, stage
from tests.talk.between import Between
from vivavoce.brain.script.script import Rule, Script, ToolUse
from vivavoce.cli import main
from vivavoce.cli.talk.core import state as s
from vivavoce.cli.talk.core import words
from vivavoce.cli.talk.desk import Desk
from vivavoce.cli.talk.server import server_at
from vivavoce.cli.talk.sound import by_the_clock, read_wav
from vivavoce.cli.talk.store import Store
from vivavoce.cli.talk.talk import Talk
from vivavoce.errors import InvalidRequest
from vivavoce.testing.engine import HummingMouth, ScriptedEars

SPEECH = tone(0.8)
STORY = Script(otherwise="Once upon a time there was a king who walked along the beach. " * 6)
A_CHARACTER = 0.02
"""Seconds of humming."""


class Recording:
    """Fills `Recorder`."""

    def __init__(self) -> None:
        self.pcm = bytearray()

    def write(self, pcm: bytes) -> None:
        self.pcm += pcm

    @property
    def loud_seconds(self) -> float:
        blocks = np.frombuffer(bytes(self.pcm), "<i2")[: len(self.pcm) // 960 * 480]
        levels = np.abs(blocks.reshape(-1, 480).astype(np.int32)).max(axis=1)
        return 0.02 * float((levels > 300).sum())


class Talking:
    def __init__(self, talk: Talk, desk: Desk, recording: Recording) -> None:
        self.talk, self.desk, self.recording = talk, desk, recording
        self.store = talk.store

    @property
    def state(self) -> s.State:
        return self.store.state

    async def until(self, wanted: Any, seconds: float = 20.0) -> None:
        came = await self.store.until(lambda: wanted(self.store.state), seconds)
        assert came, (words.words(self.state), self.state)

    async def asks(self) -> None:
        """Speaks as soon as it listens, until it is being answered."""
        await self.until(words.may_speak)
        self.desk.say(SPEECH)
        await self.until(lambda state: state.sounding)

    def said(self, kind: str) -> list[str]:
        return [line.text for line in self.state.lines if line.kind == kind and line.done]


@asynccontextmanager
async def talking(url: str, conversation: str | None = None) -> AsyncIterator[Talking]:
    async with server_at(url, None) as server:
        desk, store, recording = Desk(), Store(), Recording()
        desk.scripted, desk.recorder = True, recording
        store.tell(s.Began("voice"))
        talk = Talk(server, store, desk)
        async with by_the_clock(desk), asyncio.TaskGroup() as group:
            running = group.create_task(talk.run(conversation))
            yield Talking(talk, desk, recording)
            talk.hang_up()
            await running


async def transcript(st: Stage, session: str | None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await st.get(f"/sessions/{session}"))["transcript"]
    return found


async def test_who_speaks_over_an_answer_silences_it_at_once_and_has_heard_it_so_far(
    tmp_path: Path,
) -> None:
    ears, mouth = ScriptedEars(["tell me", "wait"]), HummingMouth(20)
    async with embedded(tmp_path, script=STORY, ears=ears, mouth=mouth) as st:
        async with talking(st.url) as talk:
            await talk.asks()
            while talk.recording.loud_seconds < 1.5:
                await asyncio.sleep(0.02)
            talk.desk.say(SPEECH)
            await talk.until(lambda state: any(line.cut for line in state.lines))
            loud = talk.recording.loud_seconds
            session = talk.state.session
            (line,) = (line for line in talk.state.lines if line.cut)
            assert line.unheard
        answers = [e for e in await transcript(st, session) if e["entry_type"] == "assistant"]
        cut = answers[0]
        assert cut["interrupted"]
        assert not cut.get("heard_estimated"), "nobody reckoned: it was told"
        assert abs(len(cut["text"]) * A_CHARACTER - loud) < 0.4, (cut["text"], loud)


async def test_who_hangs_up_in_the_middle_has_heard_it_so_far(tmp_path: Path) -> None:
    mouth = HummingMouth(20)
    async with embedded(tmp_path, script=STORY, mouth=mouth) as st:
        async with talking(st.url) as talk:
            await talk.asks()
            while talk.recording.loud_seconds < 1.0:
                await asyncio.sleep(0.02)
            session = talk.state.session
        assert talk.state.stage == "ended"
        loud = talk.recording.loud_seconds
        (cut,) = [e for e in await transcript(st, session) if e["entry_type"] == "assistant"]
        assert cut["interrupted"]
        assert abs(len(cut["text"]) * A_CHARACTER - loud) < 0.4, (cut["text"], loud)
        assert (await st.get(f"/sessions/{session}"))["session"]["status"] != "active"


async def test_stop_is_a_key_and_the_talk_goes_on(tmp_path: Path) -> None:
    mouth = HummingMouth(20)
    async with embedded(tmp_path, script=STORY, mouth=mouth) as st, talking(st.url) as talk:
        await talk.asks()
        talk.talk.stop()
        await talk.until(words.may_speak)
        assert talk.recording.loud_seconds < 3
        await talk.until(lambda state: any(line.cut for line in state.lines))


async def test_a_muted_microphone_sends_silence(tmp_path: Path) -> None:
    async with embedded(tmp_path, mouth=HummingMouth(20)) as st, talking(st.url) as talk:
        await talk.until(words.may_speak)
        talk.talk.mute()
        talk.desk.say(SPEECH)
        while talk.desk.saying:
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.3)
        assert words.words(talk.state) == "Muted"
        assert talk.said("user") == []
        talk.talk.push_to_talk()
        talk.talk.talk_key()  # held down
        talk.desk.say(SPEECH)
        await talk.until(lambda state: len(talk.said("user")) == 1)


async def test_what_is_written_during_a_call_is_answered_in_it(tmp_path: Path) -> None:
    async with embedded(tmp_path, mouth=HummingMouth(5)) as st, talking(st.url) as talk:
        await talk.until(words.may_speak)
        talk.talk.write("In between")
        await talk.until(lambda state: "You said: In between." in talk.said("assistant"))
        assert talk.said("user") == ["In between"]


async def test_a_lost_line_comes_back_to_the_same_session(tmp_path: Path) -> None:
    async with embedded(tmp_path, mouth=HummingMouth(5)) as st:
        with Between(st.url) as between:
            async with talking(between.origin) as talk:
                await talk.until(words.may_speak)
                session = talk.state.session
                between.cut()
                await talk.until(lambda state: state.stage == "reconnecting")
                await talk.until(words.may_speak)
                assert talk.state.session == session
                talk.desk.say(SPEECH)
                await talk.until(lambda state: bool(talk.said("assistant")))


async def test_a_session_that_is_over_for_the_server_goes_on_in_a_new_one(tmp_path: Path) -> None:
    mouth = HummingMouth(5)
    async with embedded(tmp_path, mouth=mouth) as st, talking(st.url) as talk:
        await talk.until(words.may_speak)
        talk.desk.say(SPEECH)
        await talk.until(lambda state: bool(talk.said("assistant")))
        await talk.until(words.may_speak)
        session, conversation = talk.state.session, talk.state.conversation
        await st.post(f"/sessions/{session}/end", {"status": "error"})
        await talk.until(lambda state: state.session != session)
        await talk.until(words.may_speak)
        found = await st.get("/session", params={"session_id": talk.state.session})
        assert found["conversation_id"] == conversation


async def test_before_a_cap_it_goes_over_to_the_next_call_without_a_word(tmp_path: Path) -> None:
    mouth = HummingMouth(5)
    async with (
        embedded(tmp_path, mouth=mouth, session_cap_seconds=6.0) as st,
        talking(st.url) as talk,
    ):
        await talk.until(words.may_speak)
        session = talk.state.session
        watcher = await st.watch(session or "")
        talk.desk.say(SPEECH)
        await talk.until(lambda state: bool(talk.said("assistant")))
        await watcher.until(lambda: bool(watcher.all("call.moved")), 20)
        assert (talk.state.stage, talk.state.session) == ("live", session)
        assert talk.state.notice == ""
        await talk.until(words.may_speak)
        talk.desk.say(SPEECH)
        await talk.until(lambda state: len(talk.said("assistant")) == 2)


async def test_somebody_else_who_ends_the_session_ends_the_talk(tmp_path: Path) -> None:
    async with embedded(tmp_path) as st, server_at(st.url, None) as server:
        desk, store = Desk(), Store()
        desk.scripted = True
        async with by_the_clock(desk), asyncio.TaskGroup() as group:
            running = group.create_task(Talk(server, store, desk).run(None))
            assert await store.until(lambda: words.may_speak(store.state), 20)
            await st.post(f"/sessions/{store.state.session}/end")
            ending = await running
        assert (ending.words, ending.broken) == ("You hung up.", False)


# --- The command --------------------------------------------------------------------------------


async def command(*argv: str | Path, typed: str = "") -> tuple[int, str, str]:
    """`vivavoce talk` in a thread of this process: its code, stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()

    def run() -> int:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.stdin", io.StringIO(typed))
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                return main(["talk", *map(str, argv)])

    code = await asyncio.to_thread(run)
    return code, out.getvalue(), err.getvalue()


SUMS = Script(
    rules=(
        Rule(when="six times seven", calls=(ToolUse("calculate", {"expression": "6*7"}),)),
        Rule(result_of="calculate", say="That makes {output}."),
    )
)


async def test_a_pipe_writes_and_reads_lines(tmp_path: Path) -> None:
    async with embedded(tmp_path, script=SUMS) as st:
        typed = "What is six times seven?\nThank you\n"
        code, out, err = await command(st.url, "--text", typed=typed)
        assert code == 0, err
        assert out.splitlines() == [
            "you: What is six times seven?",
            "tool: Calculating 6*7: 42",
            "assistant: That makes 42.",
            "you: Thank you",
            "assistant: You said: Thank you.",
        ]
        assert re.search(r"--resume [0-9a-f-]{36}", err)


async def test_a_session_names_the_conversation_that_goes_on(tmp_path: Path) -> None:
    async with embedded(tmp_path, script=SUMS) as st:
        talk = await st.post("/api/v1/conversations")
        path = f"/api/v1/conversations/{talk['id']}/messages"
        answered = await st.post(path, {"content": "Hello"})
        code, out, _ = await command(
            st.url, "--text", "--resume", answered["session_id"], typed="Again\n"
        )
        assert code == 0
        assert out.splitlines() == [
            "you: Hello",
            "assistant: You said: Hello.",
            "you: Again",
            "assistant: You said: Again.",
        ]


async def test_recordings_are_spoken_one_after_the_other_and_all_is_recorded(
    tmp_path: Path,
) -> None:
    one, heard = write(tmp_path / "one.wav", SPEECH), tmp_path / "heard.wav"
    async with embedded(tmp_path, mouth=HummingMouth(10)) as st:
        code, out, err = await command(st.url, "--say", one, "--say", one, "--hear", heard)
    assert code == 0, err
    assert out.splitlines() == [
        "you: hello",
        "assistant: You said: hello.",
        "you: hello",
        "assistant: You said: hello.",
    ]
    samples = np.frombuffer(read_wav(heard), "<i2")
    assert 0.2 < float((np.abs(samples) > 300).sum()) / RATE < 2


def test_what_a_sound_library_says_is_not_in_the_middle_of_the_screen() -> None:
    code = """
import os, sys
from vivavoce.cli.talk.sound import quiet_libraries
with quiet_libraries():
    os.write(2, b"underrun occurred")
    print("ours", file=sys.stderr)
    sys.__stderr__.write("drawn ")
print("after", file=sys.stderr)
os.write(2, b"and of others")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "ours\ndrawn after\nand of others"


def test_a_recording_whose_length_nobody_wrote_down_is_read_to_its_end(tmp_path: Path) -> None:
    whole = write(tmp_path / "whole.wav", SPEECH)
    written = bytearray(whole.read_bytes())
    written[4:8] = written[40:44] = b"\xff\xff\xff\xff"  # as it is sent while it is spoken
    streamed = tmp_path / "streamed.wav"
    streamed.write_bytes(bytes(written) + b"\0")
    assert read_wav(streamed) == read_wav(whole)
    with wave.open(str(tmp_path / "long.wav"), "wb") as long:
        long.setparams((1, 1, 8000, 0, "NONE", ""))
        long.writeframes(bytes(8000 * 601))
    with pytest.raises(InvalidRequest, match="longer than 10 minutes"):
        read_wav(tmp_path / "long.wav")


async def test_a_provider_without_such_a_line_is_written_to_in_words_that_say_why(
    tmp_path: Path,
) -> None:
    said = write(tmp_path / "said.wav", SPEECH)
    async with stage(tmp_path) as st:
        code, _, err = await command(st.url, "--say", said, "--hear", tmp_path / "heard.wav")
    assert code == 4
    assert "takes no sound over a WebSocket; try --text" in err


async def test_where_nobody_answers_one_sentence_says_so_and_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        url = f"127.0.0.1:{probe.getsockname()[1]}"
    code, _, err = await command(url, "--text")
    assert code == 3
    assert err == (
        f"vivavoce: No server answers at http://{url}. Start one with `vivavoce serve`, or say "
        "where it is: vivavoce talk URL\n"
    )


async def test_who_has_no_token_or_a_wrong_one_is_told(tmp_path: Path) -> None:
    token = "a-long-enough-token-of-ours"
    async with embedded(tmp_path, script=SUMS, auth="token", auth_token=token) as st:
        code, _, err = await command(st.url, "--text")
        assert (code, err) == (
            4,
            f"vivavoce: The server at {st.url} wants a token: --token, or VIVAVOCE_AUTH_TOKEN.\n",
        )
        code, _, err = await command(st.url, "--text", "--token", "wrong")
        assert code == 4
        assert "does not take this token" in err
        code, out, err = await command(st.url, "--text", "--token", token, typed="Hello\n")
        assert (code, out.splitlines()[-1:]) == (0, ["assistant: You said: Hello."]), err


async def test_another_agent_than_the_one_that_is_served_is_refused(tmp_path: Path) -> None:
    async with embedded(tmp_path) as st:
        code, _, err = await command(st.url, "--text", "--agent", "flux")
        assert code == 4
        assert "serves the agent 'workbench', not 'flux'" in err


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        (["ftp://here", "--text"], "'ftp://here' is no http or https address"),
        (["--say", "missing.wav"], "--say: there is no file missing.wav"),
        (["--text", "--say", "missing.wav"], "--text is without sound"),
    ],
)
async def test_a_wrong_option_is_one_clear_line(argv: list[str], why: str) -> None:
    code, _, err = await command(*argv)
    assert code == 2
    assert why in err
    assert err.count("\n") == 1


async def test_a_conversation_of_nobodys_is_one_clear_line(tmp_path: Path) -> None:
    async with embedded(tmp_path) as st:
        for name, why in (("what", "is no id"), ("vs_20260131_143022_a3f2", "not found")):
            code, _, err = await command(st.url, "--text", "--resume", name)
            assert code in (2, 4)
            assert why in err
            assert err.count("\n") == 1
