"""`vivavoce talk` as people use it: in a terminal, with a recording for a microphone, against a
server of its own process with its ears and its mouth. Who thinks is a script."""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.browser import sound
from tests.clients.serving import Served, serve
from tests.clients.talk import share
from tests.clients.voice import Voice
from tests.talk.between import Between
from tests.talk.terminal import COMMAND, environment, terminal

pytestmark = pytest.mark.timeout(300)

AGENT = """\
name: talker
tools: [calculate, write_file]
approval:
  changes: ask
"""
SCRIPT = """\
rules:
  - when: six times seven
    call: {calculate: {expression: "6*7"}}
  - result_of: calculate
    say: "That makes {output}."
  - when: write a note
    call: {write_file: {path: note.txt, content: "Buy milk."}}
  - result_of: write_file
    when: '"success": ?false'
    say: "I did not write it."
  - result_of: write_file
    say: "The note is written."
otherwise: "You said: {text}."
"""
SUM, NOTE = "What is six times seven?", "Please write a note."


@dataclass
class House:
    served: Served
    folder: Path
    voice: Voice

    @property
    def note(self) -> Path:
        return Path(f"{self.folder}/server-workspace/note.txt")

    def said(self, text: str) -> Path:
        """A recording of somebody who says this."""
        path = self.folder / f"{abs(hash(text))}.wav"
        return sound.write(path, asyncio.run(self.voice.say(text)))

    def heard(self, recording: Path) -> str:
        """What our ears make of it."""
        return asyncio.run(self.voice.hear(sound.read(recording)))


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("talker")
    home = folder / "agent"
    home.mkdir()
    (home / "agent.yaml").write_text(AGENT)
    (home / "prompt.md").write_text("You are helpful.")
    (folder / "script.yaml").write_text(SCRIPT)
    settings = {
        "VIVAVOCE_AGENT": str(home),
        "VIVAVOCE_SCRIPT": str(folder / "script.yaml"),
        "VIVAVOCE_SESSIONS_PER_10_MINUTES": "0",
    }
    voice = Voice()
    for text in (SUM, NOTE):
        asyncio.run(voice.say(text))
    with serve(folder / "server", patience=240, **settings) as served:
        yield House(served, folder, voice)


def test_a_spoken_question_is_answered_with_a_tool_and_the_answer_can_be_heard(
    house: House, tmp_path: Path
) -> None:
    answer = tmp_path / "answer.wav"
    with terminal(house.served.origin, "--say", house.said(SUM), "--hear", answer) as shown:
        shown.until("Listening")
        shown.until("You speak")
        shown.until("Calculating 6*7")
        shown.until("Speaking")
        picture = shown.until("That makes 42.")
        assert picture.index("six times seven") < picture.index("Calculating")
        assert picture.index("Calculating") < picture.index("That makes 42.")
        assert shown.ended() == 0
    assert share("That makes forty two", house.heard(answer)) >= 0.7


def test_what_needs_a_yes_is_shown_whole_and_a_key_gives_it(house: House, tmp_path: Path) -> None:
    house.note.unlink(missing_ok=True)
    answer = tmp_path / "answer.wav"
    with terminal(house.served.origin, "--say", house.said(NOTE), "--hear", answer) as shown:
        asked = shown.until("content: Buy milk.")
        assert "write_file needs your yes" in asked
        assert "path: note.txt" in asked
        assert not house.note.exists()
        shown.press("y")
        shown.until("The note is written.")
        assert shown.ended() == 0
    assert house.note.read_text() == "Buy milk."


def test_a_key_says_no_as_well(house: House, tmp_path: Path) -> None:
    house.note.unlink(missing_ok=True)
    answer = tmp_path / "answer.wav"
    with terminal(house.served.origin, "--say", house.said(NOTE), "--hear", answer) as shown:
        shown.until("write_file needs your yes")
        shown.press("n")
        shown.until("I did not write it.")
        assert shown.ended() == 0
    assert not house.note.exists()


def test_without_sound_one_writes_and_goes_on_with_the_same_conversation(house: House) -> None:
    with terminal(house.served.origin, "--text") as shown:
        shown.until("Ready: write something")
        shown.press(f"{SUM}\r")
        shown.until("That makes 42.")
        shown.press(f"{NOTE}\r")
        shown.until("write_file needs your yes")
        shown.press("\x19")  # Ctrl-Y
        shown.until("The note is written.")
        shown.press("\x03")
        assert shown.ended() == 0
        again = shown.until("--resume ")
    (conversation,) = re.findall(r"--resume ([0-9a-f-]{36})", again)
    written = subprocess.run(
        [*COMMAND, house.served.origin, "--text", "--resume", conversation],
        input="And now?\n",
        capture_output=True,
        text=True,
        timeout=60,
        env=environment(),
        check=False,
    )
    assert written.returncode == 0, written.stderr
    lines = written.stdout.splitlines()
    assert lines[0] == f"you: {SUM}"
    assert lines[-2:] == ["you: And now?", "assistant: You said: And now."]
    assert conversation in written.stderr


def test_a_line_that_is_cut_comes_back_and_the_talk_goes_on(house: House, tmp_path: Path) -> None:
    answer = tmp_path / "answer.wav"
    said = house.said(SUM)
    with (
        Between(house.served.origin) as between,
        terminal(between.origin, "--say", said, "--say", said, "--hear", answer) as shown,
    ):
        shown.until("That makes 42.")
        between.cut()
        shown.until("Connection lost, reconnecting")
        assert shown.ended(90) == 0
        assert shown.text.count("Calculating 6*7") == 2, shown.text
