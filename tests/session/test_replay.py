"""A recorded session is played again, the same every time, and a difference is told."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.session.scene import START, WHO, Scene, answer, call, message, user_turn
from vivavoce.language.en.numbers import redact_encoded
from vivavoce.session import events as ev
from vivavoce.session import saying
from vivavoce.session.effects import Effect, Send
from vivavoce.session.policy import Policy
from vivavoce.session.replay import (
    Difference,
    Json,
    Steps,
    Unplayable,
    beginning,
    first_difference,
    runs,
)
from vivavoce.wire.hints import KEY, Briefing, Lessons, Told, carried
from vivavoce.wire.realtime import facts as rt

CARD = "4111 1111 1111 1111"
CASES = sorted((Path(__file__).parent / "recorded").glob("*.json"))


class Recorded(Scene):
    """A scene that keeps what it went through, as the store would."""

    def __init__(self, policy: Policy | None = None, session: dict[str, Any] | None = None) -> None:
        super().__init__(policy, session=session)
        machine = self.machine
        setup = machine.state.setup
        self.began = beginning(WHO, machine.state.policy, setup, START)
        self.steps = Steps(WHO.session_id)

    def send(self, *events: ev.SessionEvent) -> list[Effect]:
        out: list[Effect] = []
        for event in events:
            effects = super().send(event)
            self.steps.add(self.now, event, effects)
            out += effects
        return out

    def hear(self, event: ev.SessionEvent, frame: Json) -> None:
        """An event as it came from the provider."""
        effects = super().send(event)
        self.steps.add(self.now, event, effects, json.dumps(frame).encode())

    def stored(self) -> tuple[Json, list[Json]]:
        lines = (redact_encoded(line.decode()) for line in [self.began, *self.steps.take()])
        began, *steps = map(json.loads, lines)
        return began["began"], steps


def _talk() -> Recorded:
    scene = Recorded(Policy(interim={"current_time": "Let me look."}))
    scene.send(ev.Created())
    scene.connect()
    scene.send(*user_turn("u1"), rt.UserTranscriptDelta("u1", "What ti"))
    scene.send(rt.UserTranscript("u1", "What time is it?", rt.Usage(seconds=1.5)))
    scene.send(rt.ResponseCreated("r1"), rt.OutputItemAdded("r1", message("a1")), call())
    scene.wait(2).send(ev.TimerFired("interim"))
    scene.send(ev.ToolFinished("call_1", "noon", files_changed=("a.py",)), rt.ResponseDone("r1"))
    scene.wait(1).send(*answer("r2", "a2", "It is noon, and not later.", "u1"))
    scene.wait(0.5).send(rt.UserSpeechStarted("u2", 4000), rt.PlaybackStopped("r2", cleared=True))
    scene.send(ev.News("task:1", "The report is ready.", settles="1"))
    scene.send(ev.ApprovalAsked("ap_1", "May I?"), ev.SidebandLost(1006, False))
    scene.wait(3).send(ev.SidebandUp(), ev.TypedText("vv_" + "0a" * 14, "Go on."))
    scene.send(ev.Reconfigure({"instructions": "Be short."}, ("instructions",)), ev.End())
    return scene


def test_a_session_played_again_wants_the_same() -> None:
    began, steps = _talk().stored()
    assert len(steps) > 30
    assert first_difference(began, steps) is None


def test_what_is_the_same_in_every_session_is_named_and_not_repeated() -> None:
    lessons = Lessons(shown=(Told(said="what time is it", means="time"),))
    clock = {"type": "function", "name": "clock", "parameters": {"type": "object", KEY: {}}}
    tools = carried([clock], "lessons", lessons)
    scene = Recorded(session={"tools": tools})
    scene.send(ev.Created())
    scene.connect()
    given = Briefing(agent="workbench", user="Ada", time_zone="Etc/UTC")
    scene.send(ev.Inform(given), ev.Reconfigure({"tools": tools}, ("tools",)), ev.End())
    began, steps = scene.stored()
    kept = json.dumps([began, steps])
    assert "what time is it" not in kept
    assert kept.count(f'"lessons": {{"digest": "{lessons.told.digest}"}}') >= 4
    assert "Ada" in kept
    assert first_difference(began, steps) is None
    sent = [e.command for e in scene.effects if isinstance(e, Send)]
    assert "what time is it" in str(sent)


def test_what_it_wants_differently_is_told_with_its_step(monkeypatch: pytest.MonkeyPatch) -> None:
    began, steps = _talk().stored()
    before: Callable[..., Any] = saying.playback_stopped
    monkeypatch.setattr(
        saying, "playback_stopped", lambda event, draft: before(rt.PlaybackStopped("r2"), draft)
    )
    found = first_difference(began, steps)
    assert isinstance(found, Difference)
    assert found.event["is"] == "PlaybackStopped"
    assert found.then is not None
    assert found.then[".event"]["is"] == "AssistantDone"
    assert found.then[".event"][".interrupted"] is True
    assert found.now is not None
    assert found.now[".event"][".interrupted"] is None


def test_one_effect_less_or_more_is_a_difference_too() -> None:
    began, steps = _talk().stored()
    told = next(step for step in steps if step["effects"])
    number = steps.index(told) + 1
    last = told["effects"].pop()
    found = first_difference(began, steps)
    assert found is not None
    assert (found.step, found.then, found.now) == (number, None, last)
    told["effects"] += [last, last]
    more = first_difference(began, steps)
    assert more is not None
    assert (more.now, more.effect) == (None, len(told["effects"]))


def test_a_secret_in_pieces_is_not_kept_and_is_no_difference() -> None:
    scene = Recorded()
    scene.connect()
    scene.send(*user_turn("u1"))
    for piece in ("My card is ", *CARD.split(" ")):
        scene.send(rt.UserTranscriptDelta("u1", f"{piece} "))
    scene.send(rt.UserTranscript("u1", f"My card is {CARD}."))
    scene.send(rt.ResponseCreated("r1"), rt.OutputItemAdded("r1", message("a1")))
    scene.send(rt.PlaybackStarted("r1"))
    for piece in ("You said ", *CARD.split(" ")):
        scene.send(rt.AssistantDelta("r1", "a1", f"{piece} "))
    scene.wait(1).send(rt.ItemTruncated("a1", 1200), rt.ResponseDone("r1", status="cancelled"))
    scene.send(ev.End())
    began, steps = scene.stored()
    kept = json.dumps(steps)
    assert "[redacted: card number]" in kept
    assert "1111 1111" not in kept.replace('"', "")
    assert "1111" not in str([step["said"] for step in steps if "said" in step])
    assert "You said" in str([step["said"] for step in steps if "said" in step])
    assert first_difference(began, steps) is None


def test_frames_are_read_again_and_sound_is_left_out() -> None:
    scene = Recorded()
    scene.connect()
    raw = {"type": "input_audio_buffer.speech_started", "item_id": "u1", "audio_start_ms": 5}
    event = rt.UserSpeechStarted("u1", 5)
    scene.hear(event, raw)
    sound = {"type": "response.output_audio.delta", "item_id": "a1", "delta": "AAAA"}
    scene.hear(rt.AudioReceived("a1", 0.1), sound)
    began, steps = scene.stored()
    assert steps[-2]["frame"] == raw
    assert "AAAA" not in json.dumps(steps[-1])
    assert first_difference(began, steps) is None


def test_what_comes_from_the_call_beside_is_played_as_such() -> None:
    """Without what is said there, which nobody heeds."""
    scene = Recorded()
    scene.connect()
    scene.send(ev.MoveWanted("backup"), ev.CallPlaced("rtc_2", beside=True, provider="backup"))
    scene.send(ev.Beside(ev.SidebandUp()))
    fault = {"type": "error", "error": {"code": "insufficient_quota", "message": ""}}
    scene.hear(ev.Beside(rt.Fault("insufficient_quota", "")), fault)
    sound = {"type": "response.output_audio.delta", "item_id": "a1", "delta": "AAAA"}
    scene.hear(ev.Beside(rt.AudioReceived("a1", 0.1)), sound)
    words = {"type": "response.output_text.delta", "item_id": "a1", "delta": "4111 1111"}
    scene.hear(ev.Beside(rt.AssistantDelta("r1", "a1", "4111 1111")), words)
    scene.send(ev.End())
    began, steps = scene.stored()
    assert any(step.get("frame") == fault for step in steps)
    assert "AAAA" not in str(steps)
    assert "4111" not in str(steps)
    assert first_difference(began, steps) is None


def test_no_escape_hides_a_secret() -> None:
    scene = Recorded()
    scene.connect()
    secret = "sk-" + "a1" * 12
    escaped = "".join(f"\\u{ord(sign):04x}" for sign in secret)
    raw = b'{"type": "error", "error": {"code": "x", "message": "%b \\/"}}' % escaped.encode()
    event = rt.Fault("x", f"{secret} /")
    scene.steps.add(scene.now, event, scene.machine.receive(event, scene.now), raw)
    scene.send(ev.End())
    began, steps = scene.stored()
    assert steps[-2]["frame"]["error"]["message"] == "[redacted: key] /"
    assert secret not in str(steps)
    assert first_difference(began, steps) is None


def test_what_another_version_made_is_told_as_such() -> None:
    began, steps = _talk().stored()
    with pytest.raises(Unplayable, match="no recording"):
        first_difference({**began, "format": 99}, steps)
    steps[3] = {"at": steps[3]["at"], "event": {"is": "Vanished"}, "effects": []}
    with pytest.raises(Unplayable, match="another version"):
        first_difference(began, steps)


@pytest.mark.parametrize("name", ["Field", "astuple", "__builtins__", "Annotated"])
def test_a_file_names_facts_and_nothing_else_that_could_be_called(name: str) -> None:
    began, steps = _talk().stored()
    event = {"is": "UserTranscript", ".item_id": {"is": name}, ".text": ""}
    steps[3] = {"at": steps[3]["at"], "event": event, "effects": []}
    with pytest.raises(Unplayable, match="another version"):
        first_difference(began, steps)


def test_names_of_fields_are_shown_as_harmlessly_as_their_values() -> None:
    began, steps = _talk().stored()
    at = next(n for n, step in enumerate(steps) if step.get("effects"))
    effect = steps[at]["effects"][0]
    steps[at]["effects"][0] = {**effect, "\x1b]0;pwned\x07\u200b": 1}
    found = first_difference(began, steps)
    assert found is not None
    told = "\n".join(found.told())
    assert "pwned" in told
    assert "\x1b" not in told
    assert "\x07" not in told
    assert "\u200b" not in told
    steps[at]["effects"][0] = "evil\u200b"
    found = first_difference(began, steps)
    assert found is not None
    assert "\u200b" not in "\n".join(found.told())


@pytest.mark.parametrize(
    "wrong", [{"steps": 7}, {"steps": [7]}, {"steps": [None]}, {"began": None}, {"began": []}]
)
def test_a_file_that_is_no_recording_is_told_as_such(wrong: dict[str, Any]) -> None:
    began, steps = _talk().stored()
    wrongs: list[Json] = [{"effects": 1e308}, {"effects": [{"is": []}]}, {"at": []}, {"at": "9999"}]
    for step in wrongs:
        broken = [{**one, **step} if n == 3 else one for n, one in enumerate(steps)]
        for run in ({"began": began, "steps": broken}, {"began": began, "steps": steps, **wrong}):
            with contextlib.suppress(Unplayable):  # or it is another effect
                list(runs([run]))


def test_what_is_shown_of_a_difference_has_nothing_in_it_that_a_terminal_obeys() -> None:
    shown = Difference(
        step=1, at="now", event={"x": "\x9b2J\u202e"}, effect=1, then={"is": "A"}, now=None
    ).told()
    assert "\x9b" not in "".join(shown)
    assert "\u202e" not in "".join(shown)


def test_there_is_a_case() -> None:
    assert CASES, "`vivavoce replay SESSION --save FILE` makes one"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_a_recorded_session_goes_as_it_went(case: Path) -> None:
    """Made by `vivavoce replay SESSION --save tests/session/recorded/NAME.json`."""
    kept = json.loads(case.read_text())
    assert [found.told() for _, found in runs(kept["runs"]) if found is not None] == []
