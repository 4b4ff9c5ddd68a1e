"""Whatever happens, in whatever order: what must hold of every conversation."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.turn.scene import ME, Scene, configured
from vivavoce.engine.ports import Position
from vivavoce.engine.turn import facts, orders
from vivavoce.engine.turn.progress import heard
from vivavoce.engine.turn.state import Phase
from vivavoce.wire import brain
from vivavoce.wire.realtime import client

Step = tuple[str, int]

STEPS = tuple(
    """suspect dismiss start pause resume stop heard heard_uh heard_nothing unheard piece words
    call arguments call_end finish length spoken silent_clause all_spoken fail playing played
    tick timer write output retrieve delete truncate is_at respond respond_aside cancel clear_in
    clear_out commit configure""".split()  # noqa: SIM905 # a list of words is easier to read
)


class World:
    """Plays the ears, the brain, the mouth and the listener, each as badly as it can."""

    def __init__(self, *, paced: bool, backchannel: bool, interrupt: bool, create: bool) -> None:
        vad = {
            "type": "server_vad",
            "interrupt_response": interrupt,
            "create_response": create,
            "idle_timeout_ms": 5000,
        }
        self.scene = Scene(
            configured(turn_detection=vad, transcription={"model": "whisper-1"}),
            paced=paced,
            backchannel=frozenset({"uh-huh"}) if backchannel else frozenset(),
        )
        self.paced = paced
        self.ms = 0
        self.sounds: dict[str, list[tuple[str, int]]] = {}
        self.queue: list[tuple[str, str, int]] = []  # what the listener is still to hear
        self.at: Position | None = None
        self.finishing: set[str] = set()
        self.cut: set[str] = set()  # items that the client truncated: no more of them is heard
        self.looked = 0

    def take(self, step: Step) -> None:
        name, pick = step
        getattr(self, f"do_{name}")(pick)
        self.follow()
        self.check()

    def follow(self) -> None:
        """The playout does as it is told."""
        for order in self.scene.done[self.looked :]:
            match order:
                case orders.Play(response_id, item_id, _, _, pcm):
                    self.queue.append((response_id, item_id, len(pcm) // 48))
                case orders.ClearPlaying():
                    self.queue.clear()
                case orders.FinishPlaying(response_id):
                    self.finishing.add(response_id)
                case _:
                    pass
        self.looked = len(self.scene.done)

    # --- Choosing -------------------------------------------------------------------------------

    def a_response(self, pick: int) -> str:
        known = [e["response"]["id"] for e in self.scene.all("response.created")] or ["resp_0"]
        return str(known[-1 - pick % min(3, len(known))])

    def an_item(self, pick: int) -> str:
        known = [e["item"]["id"] for e in self.scene.all("conversation.item.added")] or ["item_0"]
        return str(known[-1 - pick % min(4, len(known))])

    def being_transcribed(self, pick: int) -> str:
        known = [order.item_id for order in self.scene.orders(orders.Transcribe)] or ["item_0"]
        return str(known[-1 - pick % min(3, len(known))])

    # --- The ears -------------------------------------------------------------------------------

    def do_suspect(self, _: int) -> None:
        self.scene.tell(facts.SpeechSuspected())

    def do_dismiss(self, _: int) -> None:
        self.scene.tell(facts.SpeechDismissed())

    def do_start(self, pick: int) -> None:
        self.ms += 1 + pick
        self.scene.tell(facts.SpeechStarted(self.ms), position=self.at)

    def do_pause(self, _: int) -> None:
        self.scene.tell(facts.SpeechPaused(self.ms))

    def do_resume(self, _: int) -> None:
        self.scene.tell(facts.SpeechResumed(self.ms))

    def do_stop(self, pick: int) -> None:
        self.ms += 1 + pick
        stopped = facts.SpeechStopped(self.ms, pick // 3 * 500, pick // 2 * 300)
        self.scene.tell(stopped, position=self.at)

    def do_heard(self, pick: int) -> None:
        self.scene.tell(
            facts.HeardAll(self.being_transcribed(pick), "so what", 1.0), position=self.at
        )

    def do_heard_uh(self, pick: int) -> None:
        self.scene.tell(
            facts.HeardAll(self.being_transcribed(pick), "Uh-huh.", 1.0), position=self.at
        )

    def do_heard_nothing(self, pick: int) -> None:
        self.scene.tell(facts.HeardAll(self.being_transcribed(pick), "", 1.0), position=self.at)

    def do_unheard(self, pick: int) -> None:
        self.scene.tell(
            facts.HearingFailed(self.being_transcribed(pick), "noise"), position=self.at
        )

    def do_piece(self, pick: int) -> None:
        self.scene.tell(facts.HeardSoFar(self.being_transcribed(pick), "so"))

    # --- The brain and the mouth ----------------------------------------------------------------

    def think(self, pick: int, piece: brain.Piece) -> None:
        self.scene.tell(facts.Thought(self.a_response(pick), piece))

    def do_words(self, pick: int) -> None:
        self.think(pick, brain.Words("one two three "))

    def do_call(self, pick: int) -> None:
        self.think(pick, brain.CallBegun(f"call_{pick}", "tool"))

    def do_arguments(self, pick: int) -> None:
        self.think(pick, brain.CallArguments(f"call_{pick}", "{}"))

    def do_call_end(self, pick: int) -> None:
        self.think(pick, brain.CallEnded(f"call_{pick}"))

    def do_finish(self, pick: int) -> None:
        self.think(pick, brain.Finished())

    def do_length(self, pick: int) -> None:
        self.think(pick, brain.Finished("length"))

    def do_spoken(self, pick: int) -> None:
        self.speak(pick, 300)

    def do_silent_clause(self, pick: int) -> None:
        self.speak(pick, 0)

    def speak(self, pick: int, ms: int) -> None:
        response_id = self.a_response(pick)
        state = self.scene.machine.state
        response = state.responses.get(response_id)
        message = response.message if response is not None else None
        self.scene.sound(response_id, "one two three ", ms)
        if message is not None and message.id not in self.cut:
            self.sounds.setdefault(message.id, []).append(("one two three ", ms))

    def do_all_spoken(self, pick: int) -> None:
        self.scene.tell(facts.AllSpoken(self.a_response(pick)))

    def do_fail(self, pick: int) -> None:
        self.scene.tell(facts.AnswerFailed(self.a_response(pick), "engine_error", "gone"))

    # --- The listener and the clock -------------------------------------------------------------

    def do_playing(self, pick: int) -> None:
        self.scene.tell(facts.Playing(self.a_response(pick)))

    def do_played(self, pick: int) -> None:
        for response_id in sorted(self.finishing):
            if not any(queued[0] == response_id for queued in self.queue):
                self.finishing.discard(response_id)
                self.scene.tell(facts.Played(response_id))
                return

    def do_tick(self, pick: int) -> None:
        """100 ms of sound go out."""
        self.scene.now += 0.1
        if not self.queue:
            return
        response_id, item_id, left = self.queue[0]
        before = self.at.played_ms if self.at and self.at.item_id == item_id else 0
        step = min(100, left)
        self.at = Position(response_id, item_id, before + step)
        if left > step:
            self.queue[0] = (response_id, item_id, left - step)
        else:
            self.queue.pop(0)
        self.scene.tell(facts.Playing(response_id))

    def do_timer(self, pick: int) -> None:
        names = [order.name for order in self.scene.orders(orders.StartTimer)]
        if names:
            self.scene.tell(
                facts.TimerFired(names[-1 - pick % len(names)], self.ms), position=self.at
            )

    # --- The client -----------------------------------------------------------------------------

    def do_write(self, _: int) -> None:
        self.scene.write("hello")

    def do_output(self, pick: int) -> None:
        item = {"type": "function_call_output", "call_id": f"call_{pick}", "output": "42"}
        self.scene.ask(client.CreateItem(item))

    def do_retrieve(self, pick: int) -> None:
        self.scene.ask(client.RetrieveItem(self.an_item(pick)))

    def do_delete(self, pick: int) -> None:
        self.scene.ask(client.DeleteItem(self.an_item(pick)))

    def do_truncate(self, pick: int) -> None:
        item = self.an_item(pick)
        before = len(self.scene.all("conversation.item.truncated"))
        self.scene.ask(client.Truncate(item, pick * 70))
        if len(self.scene.all("conversation.item.truncated")) > before:
            kept = heard(self.sounds.get(item, []), pick * 70)
            self.sounds[item] = [(kept, pick * 70)]
            self.cut.add(item)

    def do_is_at(self, pick: int) -> None:
        """A client that plays for itself says how far it is."""
        for item in list(self.scene.machine.state.sounds):
            at = client.Played(item, pick * 70)
            self.scene.tell(facts.Request(at, ME), position=self.at)

    def do_respond(self, _: int) -> None:
        self.scene.ask(client.CreateResponse(response=None))

    def do_respond_aside(self, _: int) -> None:
        self.scene.ask(client.CreateResponse(response={"conversation": "none"}))

    def do_cancel(self, _: int) -> None:
        self.scene.ask(client.CancelResponse())

    def do_clear_in(self, _: int) -> None:
        self.scene.ask(client.ClearInput(), end_ms=self.ms)

    def do_clear_out(self, _: int) -> None:
        self.scene.ask(client.ClearOutput(), position=self.at)

    def do_commit(self, pick: int) -> None:
        self.ms += pick
        self.scene.ask(client.CommitInput(), buffered_ms=pick * 50, end_ms=self.ms)

    def do_configure(self, pick: int) -> None:
        detection = None if pick % 2 else {"type": "semantic_vad", "eagerness": "high"}
        session = {"type": "realtime", "audio": {"input": {"turn_detection": detection}}}
        self.scene.ask(client.UpdateSession(session))

    # --- What must hold -------------------------------------------------------------------------

    def check(self) -> None:
        scene, state = self.scene, self.scene.machine.state
        created = [e["response"] for e in scene.all("response.created")]
        done = Counter(e["response"]["id"] for e in scene.all("response.done"))
        assert all(count == 1 for count in done.values()), "a response is done once"
        under_way = [r for r in created if r["id"] not in done and r["conversation_id"]]
        assert len(under_way) <= 1, "one active response at most"
        assert [r["id"] for r in under_way] == ([state.active] if state.active else [])
        self.check_items(done)
        assert (state.speech is not None) == (state.phase in (Phase.HEARING, Phase.OVERLAP))
        assert state.answering == (state.phase in (Phase.ANSWERING, Phase.OVERLAP))

    def check_items(self, done: Counter[str]) -> None:
        opened = Counter(e["item"]["id"] for e in self.scene.all("response.output_item.added"))
        closed = Counter(e["item"]["id"] for e in self.scene.all("response.output_item.done"))
        assert all(count == 1 for count in (*opened.values(), *closed.values()))
        for event in self.scene.all("response.output_item.added"):
            if event["response_id"] in done:
                assert event["item"]["id"] in closed, "every item is closed"
        for order in self.scene.orders(orders.Send):
            if order.event["type"] == "response.done":
                done.subtract([order.event["response"]["id"]])
            elif order.event["type"].startswith("response.") and "response_id" in order.event:
                assert done[order.event["response_id"]] >= 0

    def check_history(self) -> None:
        """What the brain is told the assistant said is what the listener heard of it."""
        truncated = {
            e["item_id"]: e["audio_end_ms"] for e in self.scene.all("conversation.item.truncated")
        }
        finished = {e["item"]["id"]: e["item"] for e in self.scene.all("response.output_item.done")}
        for item in self.scene.machine.state.conversation:
            if item.id not in finished or finished[item.id]["type"] != "message":
                continue
            kept = self.scene.text_of(item.id)
            clauses = self.sounds.get(item.id, [])
            if item.id in truncated:
                assert kept == heard(clauses, truncated[item.id])
            elif finished[item.id]["status"] == "completed":
                assert kept == finished[item.id]["content"][0]["transcript"]
            else:
                assert kept == "".join(text for text, _ in clauses)


steps = st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 6)), min_size=1, max_size=60)
flags = st.booleans()


@settings(max_examples=200, deadline=None)
@given(steps=steps, paced=flags, backchannel=flags, interrupt=flags, create=flags)
def test_any_order_of_anything_keeps_the_conversation_whole(
    steps: list[Step], paced: bool, backchannel: bool, interrupt: bool, create: bool
) -> None:
    world = World(paced=paced, backchannel=backchannel, interrupt=interrupt, create=create)
    for step in steps:
        world.take(step)
    world.check_history()


@pytest.mark.full
@settings(max_examples=5000, deadline=None)
@given(steps=steps, paced=flags, backchannel=flags, interrupt=flags, create=flags)
def test_any_order_of_anything_many_times(
    steps: list[Step], paced: bool, backchannel: bool, interrupt: bool, create: bool
) -> None:
    world = World(paced=paced, backchannel=backchannel, interrupt=interrupt, create=create)
    for step in steps:
        world.take(step)
    world.check_history()
