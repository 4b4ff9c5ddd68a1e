"""What a session's effects write: above all the snapshot that brings it back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.session.scene import START, WHO, Scene, answer, call, user_turn
from vivavoce.runtime.sessions.records import SessionRecords, begun
from vivavoce.session import events as ev
from vivavoce.session.effects import Account
from vivavoce.wire.realtime import facts as rt
from vivavoce.wire.records.talk import Put, PutConversation, PutSession, Snapshot, VoiceSession


class Bench:
    """A machine, and what its effects write."""

    def __init__(self) -> None:
        self.scene = Scene().connect()
        conversation = begun(WHO.user_id, START)
        session = VoiceSession(
            id=WHO.session_id,
            conversation_id=conversation.id,
            user_id=WHO.user_id,
            agent="workbench",
            created_at=START,
            updated_at=START,
            model="gpt-realtime",
            voice="marin",
        )
        self.records = SessionRecords(session, conversation, workspace="/there")
        self.snapshots: list[dict[str, Any]] = []

    def send(self, *events: ev.SessionEvent) -> None:
        effects = self.scene.send(*events)
        for change in self.records.write(effects, self.scene.now, self.scene.machine.state):
            if isinstance(change, Put) and isinstance(change.record, Snapshot):
                self.snapshots.append(dict(change.record.data))

    def turn(self, number: int) -> None:
        user, answered = f"u{number}", f"a{number}"
        self.send(*user_turn(user), rt.UserTranscript(user, f"Question {number}"))
        self.send(*answer(f"r{number}", answered, f"Answer {number}", user))
        self.scene.wait(1)
        self.send(rt.PlaybackStopped(f"r{number}"))


def test_a_snapshot_is_taken_along_the_way_and_not_at_every_word() -> None:
    bench = Bench()
    bench.turn(1)
    assert bench.snapshots == []
    bench.scene.wait(30)
    bench.turn(2)
    assert len(bench.snapshots) == 1, "one is enough for half a minute"
    bench.scene.wait(60)
    bench.send(ev.TimerFired("nothing"))
    assert len(bench.snapshots) == 1, "nothing happened"
    bench.turn(3)
    assert len(bench.snapshots) == 2


def test_a_snapshot_has_the_last_turns_the_totals_the_files_and_the_tasks() -> None:
    bench = Bench()
    for number in range(7):
        bench.turn(number)
    bench.send(rt.ResponseCreated("r9"), call("call_1", "r9"), call("call_2", "r9"))
    bench.send(ev.ToolFinished("call_1", "ok", files_changed=("a.py", "b.py")))
    for name, output in (("c.py", "its words"), ("d.py", '{"success": false, "error": "none"}')):
        read = replace(call(name, "r9"), name="read_file", arguments=f'{{"path": "{name}"}}')
        bench.send(read, ev.ToolFinished(name, output))
    bench.send(ev.TaskStarted("task_1"), ev.TaskStarted("task_2"), ev.TaskFinished("task_2"))
    bench.send(ev.End())
    last = bench.snapshots[-1]
    said = [(turn["role"], turn["text"]) for turn in last["last_turns"]]
    assert said == [
        (role, f"{words} {number}")
        for number in range(2, 7)
        for role, words in (("user", "Question"), ("assistant", "Answer"))
    ]
    assert last["total_turns"] == 7
    assert last["active_files"] == ["c.py", "b.py", "a.py"]
    assert last["pending_tasks"] == ["call_2", "task_1"]
    assert last["open_tasks"] == [
        {"id": "call_2", "tool": "current_time"},
        {"id": "task_1", "tool": "task"},
    ]
    assert last["finished_tasks"] == [
        {"id": "call_1", "tool": "current_time"},
        {"id": "c.py", "tool": "read_file"},
        {"id": "d.py", "tool": "read_file"},
        {"id": "task_2", "tool": "task"},
    ]
    assert (last["working_directory"], last["voice"]) == ("/there", "marin")


def test_what_an_answer_cost_is_the_sessions_alone_and_nothing_waits_for_it() -> None:
    bench = Bench()
    bench.turn(1)
    urgent = [bench.records.urgent]
    assert [type(change) for change in bench.records.take()] == [PutConversation, PutSession]
    assert bench.records.take() == []
    used = [Account(rt.Usage(10, 5))]
    bench.records.account(used)
    assert bench.records.write(used, bench.scene.now, bench.scene.machine.state) == []
    urgent.append(bench.records.urgent)
    assert urgent == [True, False]
    (change,) = bench.records.take()
    assert isinstance(change, PutSession)
    assert (change.session.input_tokens, change.session.output_tokens) == (10, 5)
