"""Getting ready during the silence: what is taken, what is thrown away, and that nobody notices."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace

import numpy as np

from tests.engine.stage import engine_server, loud, quiet
from tests.engine.turn.scene import Scene, configured
from vivavoce.engine.api.control import EngineOptions
from vivavoce.engine.ports import Samples, Transcript
from vivavoce.engine.turn import facts, orders
from vivavoce.engine.turn.asking import foresee
from vivavoce.engine.turn.manners import UNHEARD, Manners
from vivavoce.errors import BrainError
from vivavoce.testing.engine import ScriptedEars, SureJudge
from vivavoce.wire.brain import Ask, Budget, Finished, Piece, Said, Words

# --- What the machine wants -------------------------------------------------------------------


def paused(scene: Scene) -> str:
    scene.tell(facts.SpeechStarted(1000), facts.SpeechPaused(2000))
    guess: orders.Guess = scene.orders(orders.Guess)[-1]
    return guess.item_id


def test_a_pause_is_guessed_at_and_speech_that_goes_on_throws_the_guess_away() -> None:
    scene = Scene()
    paused(scene)
    assert scene.orders(orders.Guess)[-1].start_ms == 1000
    scene.tell(facts.SpeechResumed(2300))
    assert scene.orders(orders.DropGuess)
    scene.tell(facts.SpeechPaused(3000))
    assert len(scene.orders(orders.Guess)) == 2


def test_without_speculation_nothing_is_prepared() -> None:
    scene = Scene(speculate=False)
    scene.tell(facts.SpeechStarted(1000), facts.SpeechPaused(2000), facts.SpeechStopped(2500))
    assert not scene.orders(orders.Guess)
    assert not scene.orders(orders.Listen)


def test_what_is_foreseen_is_what_is_asked() -> None:
    for text, confidence in (("What time is it?", 0.9), ("", 1.0), ("Blub.", 0.1)):
        scene = Scene(manners=Manners())
        scene.write("Be brief.", role="system")
        item = paused(scene)
        foreseen = foresee(item, Transcript(text, confidence), scene.machine.state)
        scene.tell(facts.SpeechStopped(2500))
        scene.tell(facts.HeardAll(item, text, 1.0, confidence=confidence))
        asked = scene.orders(orders.Answer)[-1]
        assert foreseen == replace(asked, response_id="")


def test_looking_ahead_changes_nothing() -> None:
    scene = Scene(manners=Manners())
    item = paused(scene)
    before = (list(scene.machine.state.conversation), dict(scene.machine.state.transcripts))
    foresee(item, Transcript("Hello"), scene.machine.state)
    foresee(item, Transcript(""), scene.machine.state)
    assert before == (
        list(scene.machine.state.conversation),
        dict(scene.machine.state.transcripts),
    )
    assert scene.machine.state.unheard == 0


def test_nothing_is_foreseen_where_nothing_would_be_answered() -> None:
    vad = {"type": "server_vad", "create_response": False}
    for scene in (
        Scene(configured(turn_detection=vad)),
        Scene(backchannel=frozenset({"uh-huh"}), paced=True),
    ):
        if scene.machine.state.policy.backchannel:
            scene.write("Hi")
            response = scene.respond()
            scene.say(response, "A long story. ")
            scene.sound(response, "A long story. ", 5000)
        item = paused(scene)
        assert foresee(item, Transcript("Hello"), scene.machine.state) is None


# --- What the engine does ---------------------------------------------------------------------


class Counting:
    """Fills `Brain`: repeats what it was told last, and counts."""

    name = "counting"
    budget = Budget()

    def __init__(self, failures: int = 0) -> None:
        self.asked: list[Ask] = []
        self.warmed: list[Ask] = []
        self.failures = failures

    def count(self, text: str) -> int:
        return len(text) // 4

    async def answer(self, ask: Ask) -> AsyncGenerator[Piece, None]:
        self.asked.append(ask)
        if self.failures:
            self.failures -= 1
            raise BrainError("not today")
        last = ask.turns[-1]
        yield Words(f"You said {last.text if isinstance(last, Said) else ''} ")
        yield Finished()

    async def warm(self, ask: Ask) -> None:
        self.warmed.append(ask)

    def forget(self, live: str) -> None: ...


class Slow(SureJudge):
    """Of one opinion, when it is told to have it."""

    def __init__(self) -> None:
        super().__init__()
        self.decide = asyncio.Event()

    async def finished(self, speech: Samples) -> float:
        await self.decide.wait()
        return 1.0


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.005)


async def test_the_answer_is_ready_before_the_turn_is_over_and_nobody_sees_it() -> None:
    brain, judge = Counting(), Slow()
    async with engine_server(brain=brain, judge=judge, ears=ScriptedEars(["hello"])) as stage:
        line = await stage.line()
        await line.configure(audio={"input": {"turn_detection": {"type": "semantic_vad"}}})
        await line.append(loud(600) + quiet(300))
        await until(lambda: stage.mouth.spoken)
        await line.send("conversation.item.retrieve", item_id="nobody")
        await line.until("error")
        assert "response.created" not in line.types()
        judge.decide.set()
        await line.append(quiet(200))
        done = (await line.until("response.done"))["response"]
        assert done["output"][0]["content"][0]["transcript"] == "You said hello "
        assert len(brain.asked) == 1
        assert stage.mouth.spoken == ["You said hello "]


async def test_history_never_contains_a_discarded_guess() -> None:
    brain = Counting()
    ears = ScriptedEars(["I would like", "I would like two tickets"])
    async with engine_server(brain=brain, ears=ears) as stage:
        line = await stage.line()
        await line.append(loud(600) + quiet(200))
        await until(lambda: stage.mouth.spoken)
        await line.append(loud(600) + quiet(700))
        done = (await line.until("response.done"))["response"]
        assert done["output"][0]["content"][0]["transcript"] == "You said I would like two tickets "
        assert [ask.turns for ask in brain.asked] == [
            (Said("user", "I would like"),),
            (Said("user", "I would like two tickets"),),
        ]
        assert len(line.all("conversation.item.added")) == 2


async def test_a_soft_last_syllable_that_the_guess_did_not_hear_is_heard_at_the_end() -> None:
    soft = (np.sin(np.arange(300 * 24) * 0.2) * 850).astype("<i2").tobytes()
    written = "conversation.item.input_audio_transcription.completed"
    for behind, words in ((soft, "Buy candles."), (quiet(300), "Buy a can.")):
        async with engine_server(ears=ScriptedEars(["Buy a can.", "Buy candles."])) as stage:
            line = await stage.line()
            await line.configure(audio={"input": {"transcription": {"model": "whisper-1"}}})
            await line.append(loud(600) + behind + quiet(400))
            assert (await line.until(written))["transcript"] == words


async def test_a_guess_that_failed_is_tried_again() -> None:
    brain = Counting(failures=1)
    async with engine_server(brain=brain, ears=ScriptedEars(["hello"])) as stage:
        line = await stage.line()
        await line.append(loud(600) + quiet(200))
        await until(lambda: brain.asked)
        await line.append(quiet(500))
        done = (await line.until("response.done"))["response"]
        assert done["status"] == "completed"
        assert len(brain.asked) == 2


async def test_another_question_than_the_foreseen_one_is_asked_afresh() -> None:
    brain, judge = Counting(), Slow()
    async with engine_server(brain=brain, judge=judge, ears=ScriptedEars(["hello"])) as stage:
        line = await stage.line()
        await line.configure(audio={"input": {"turn_detection": {"type": "semantic_vad"}}})
        await line.append(loud(600) + quiet(300))
        await until(lambda: stage.mouth.spoken)
        await line.write("And be quick.")
        judge.decide.set()
        await line.append(quiet(200))
        await line.until("response.done")
        assert len(brain.asked) == 2
        assert len(brain.asked[-1].turns) == 2


async def test_the_brain_reads_while_the_user_speaks() -> None:
    brain = Counting()
    async with engine_server(brain=brain, ears=ScriptedEars(["one two three four"])) as stage:
        line = await stage.line()
        await line.append(loud(900))  # and no silence: nobody has finished
        read = Said("user", "one two")
        await until(lambda: any(read in ask.turns[-1:] for ask in brain.warmed))
        assert not brain.asked
        assert all(ask.live for ask in brain.warmed)


async def test_silence_that_was_taken_for_speech_is_apologised_for_in_sound() -> None:
    brain = Counting()
    options = EngineOptions(manners=Manners())
    async with engine_server(brain=brain, ears=ScriptedEars([""]), options=options) as stage:
        line = await stage.line()
        await line.configure(vivavoce_manners=True)
        await line.speak()
        done = (await line.until("response.done"))["response"]
        assert done["output"][0]["content"][0]["transcript"] == UNHEARD[0]
        assert not brain.asked
        assert line.all("response.output_audio.delta")


async def test_a_slow_brain_is_excused_in_sound_before_its_answer() -> None:
    go = asyncio.Event()

    class Thoughtful(Counting):
        async def answer(self, ask: Ask) -> AsyncGenerator[Piece, None]:
            await go.wait()
            yield Words("Forty-two.")
            yield Finished()

    options = EngineOptions(manners=Manners(slow_after=0.05))
    async with engine_server(brain=Thoughtful(), options=options) as stage:
        line = await stage.line()
        await line.configure(vivavoce_manners=True)
        await line.speak()
        await line.until("response.output_audio.delta")
        go.set()
        done = (await line.until("response.done"))["response"]
        assert done["output"][0]["content"][0]["transcript"] == "One moment. Forty-two."
        assert stage.mouth.spoken == ["One moment. ", "Forty-two."]


async def test_pause_end_and_the_next_speech_in_one_breath_lose_nothing() -> None:
    ears = ScriptedEars(["one", "two", "two"])
    async with engine_server(brain=Counting(), ears=ears) as stage:
        line = await stage.line()
        await line.configure(audio={"input": {"transcription": {"model": "whisper-1"}}})
        await line.append(loud(300) + quiet(600) + loud(300) + quiet(600), piece=1 << 20)
        done = "conversation.item.input_audio_transcription.completed"
        while len(line.all(done)) < 2:
            await line.next()


async def test_a_brain_that_breaks_while_it_reads_ahead_ends_no_call() -> None:
    class Brittle(Counting):
        async def warm(self, ask: Ask) -> None:
            raise RuntimeError("closed")

    async with engine_server(brain=Brittle(), ears=ScriptedEars(["hello"])) as stage:
        line = await stage.line()
        await line.configure(instructions="Be brief.")
        await line.speak()
        assert (await line.until("response.done"))["response"]["status"] == "completed"


# --- Turns that were taken too early ----------------------------------------------------------


async def test_who_goes_on_after_a_short_silence_is_answered_once_and_to_all_of_it() -> None:
    brain = Counting()
    ears = ScriptedEars(["My sister lives in Boston.", "My sister lives in Boston and she called."])
    async with engine_server(brain=brain, ears=ears) as stage:
        line = await stage.line()
        semantic = {"turn_detection": {"type": "semantic_vad"}, "transcription": {"model": "x"}}
        await line.configure(audio={"input": semantic})
        await line.append(loud(2400) + quiet(400))
        first = (await line.until("response.created"))["response"]["id"]
        await until(lambda: stage.mouth.spoken)
        await line.append(loud(600) + quiet(400))
        done = (await line.until("response.done"))["response"]
        assert (done["id"], done["status"]) == (first, "cancelled")
        assert not line.all("response.output_audio.delta"), "nobody heard anything"
        deleted = await line.until("conversation.item.deleted")
        done = (await line.until("response.done"))["response"]
        words = "You said My sister lives in Boston and she called. "
        assert done["output"][0]["content"][0]["transcript"] == words
        assert brain.asked[-1].turns == (Said("user", "My sister lives in Boston and she called."),)
        (written,) = line.all("conversation.item.input_audio_transcription.completed")
        assert written["item_id"] != deleted["item_id"]
        assert ears.heard_seconds[-1] > 3.2, "before and after, in one piece"


async def test_a_whole_question_is_answered_at_once() -> None:
    ears = ScriptedEars(["What time is it?"])
    async with engine_server(brain=Counting(), ears=ears) as stage:
        line = await stage.line()
        await line.configure(audio={"input": {"turn_detection": {"type": "semantic_vad"}}})
        await line.append(loud(600) + quiet(256))
        await line.until("response.output_audio.delta")


async def test_half_a_sentence_is_waited_for() -> None:
    brain, ears = Counting(), ScriptedEars(["Remind me to", "Remind me to call Ann."])
    async with engine_server(brain=brain, ears=ears) as stage:
        line = await stage.line()
        await line.configure(audio={"input": {"turn_detection": {"type": "semantic_vad"}}})
        await line.append(loud(600) + quiet(200))
        await until(lambda: brain.asked)
        await line.append(quiet(1000))
        await line.append(loud(600) + quiet(300))
        done = (await line.until("response.done"))["response"]
        assert done["output"][0]["content"][0]["transcript"] == "You said Remind me to call Ann. "
        assert len(line.all("response.created")) == 1
