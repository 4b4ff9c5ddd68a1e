"""The slow work of a session: words from sound, answers from words, verdicts on pauses, and all of
it made ready before the turn is over.

Owns the tasks of it, all in the session's group. Tells facts, decides nothing, and knows nothing
of the protocol. An answer is the brain's words as they come, and the mouth a clause behind;
cancelling it is how it is interrupted. One that is held makes its first clauses and keeps
everything to itself until it is released.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any

from vivavoce.engine.media.audio import Inbound
from vivavoce.engine.ports import (
    EAR_RATE,
    MOUTH_RATE,
    Detector,
    Ears,
    Judge,
    Mouth,
    Samples,
    Transcript,
    Utterance,
)
from vivavoce.engine.shell.hearing import Intake, Partials, ending, goes_on, written
from vivavoce.engine.turn import asking, facts, orders
from vivavoce.engine.turn.clauses import Clauses, pause_ms
from vivavoce.engine.turn.configuration import keyterms
from vivavoce.engine.turn.machine import Machine
from vivavoce.engine.turn.orders import Answer
from vivavoce.engine.turn.state import State
from vivavoce.errors import VivavoceError
from vivavoce.language.en.ending import ending as looking
from vivavoce.wire.brain import Ask, Brain, Finished, Piece, Words
from vivavoce.wire.values import Value

log = logging.getLogger(__name__)

Told = facts.Thought | facts.Spoken | facts.AllSpoken | facts.AnswerFailed

_CLAUSES_AHEAD = 64  # the brain may run ahead of the mouth by so many
_HELD_CLAUSES = 2  # are made of an answer that nobody may want


class Answerer:
    """Puts one question to the brain and has the words spoken."""

    def __init__(
        self,
        order: Answer,
        brain: Brain,
        mouth: Mouth,
        post: Callable[[facts.Fact], None],
        *,
        held: bool = False,
    ) -> None:
        self._order, self._brain, self._mouth, self._post = order, brain, mouth, post
        self._response_id = order.response_id
        self._held: list[Told] | None = [] if held else None
        self._released = asyncio.Event()
        if not held:
            self._released.set()
        self._clauses: asyncio.Queue[str | None] = asyncio.Queue(_CLAUSES_AHEAD)
        self._sound = _Sound()
        self.failed = False

    # --- From outside ---------------------------------------------------------------------

    def release(self, response_id: str) -> None:
        """It is wanted after all: what was made is told now, and the rest as it comes."""
        self._response_id = response_id
        told, self._held = self._held or [], None
        self._sound.starts(asyncio.get_running_loop().time())
        for fact in told:
            self._tell(fact)
        self._released.set()

    def interject(self, words: str) -> None:
        """Say this first. Only before the first words of the answer itself."""
        if self._order.voice is not None and self._clauses.empty():
            self._clauses.put_nowait(words)

    # --- The work -------------------------------------------------------------------------

    async def run(self) -> None:
        try:
            if (voice := self._order.voice) is None:
                await self._think()
            else:
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._speak(voice), name="mouth")
                    await self._think()
                    await self._clauses.put(None)
        except Exception as fault:  # the boundary of this task: the session lives on
            known = _first(fault)
            if isinstance(known, VivavoceError):
                code, message = known.code, known.message
            else:
                log.exception("An answer failed")
                code, message = "server_error", "Something went wrong while answering."
            self.failed = True
            self._tell(facts.AnswerFailed(self._response_id, code, message))

    async def _think(self) -> None:
        cutter, finished = Clauses(), Finished()
        speaks, asked = self._order.voice is not None, self._order.ask
        answer = _only(self._order.words) if asked is None else self._brain.answer(asked)
        async with aclosing(answer) as pieces:
            async for piece in pieces:
                if isinstance(piece, Finished):
                    finished = piece
                    break
                self._tell(facts.Thought(self._response_id, piece))
                if speaks and isinstance(piece, Words):
                    for clause in cutter.feed(piece.text):
                        await self._clauses.put(clause)
        if speaks:
            for clause in cutter.finish():
                await self._clauses.put(clause)
        self._tell(facts.Thought(self._response_id, finished))

    async def _speak(self, voice: str) -> None:
        made, loop = 0, asyncio.get_running_loop()
        while (clause := await self._clauses.get()) is not None:
            if made >= _HELD_CLAUSES:
                await self._released.wait()
            lead = self._sound.lead_ms(loop.time())
            said = await self._mouth.speak(
                clause, voice=voice, speed=self._order.speed, lead_ms=lead
            )
            made += 1
            self._tell(self._sound.add(self._response_id, clause, said))
            if self._held is None:
                self._sound.starts(loop.time())
        self._tell(facts.AllSpoken(self._response_id))

    def _tell(self, fact: Told) -> None:
        if self._held is not None:
            self._held.append(fact)
        else:
            self._post(replace(fact, response_id=self._response_id))


class _Sound:
    """The sound of one answer so far: how long, and how much of it is still ahead."""

    def __init__(self) -> None:
        self._pause = b""
        self._bytes = self._told_ms = 0
        self._began: float | None = None

    def starts(self, now: float) -> None:
        if self._began is None and self._bytes:
            self._began = now

    def lead_ms(self, now: float) -> int:
        if self._began is None:
            return self._told_ms
        return max(0, self._told_ms - int((now - self._began) * 1000))

    def add(self, response_id: str, clause: str, said: Utterance) -> facts.Spoken:
        pcm, before = said.pcm, 0
        if pcm:
            # The mouth trims its clauses; a pause belongs between two, not after the last.
            before = _ms(len(self._pause))
            pcm = self._pause + pcm
            self._pause = bytes(2 * MOUTH_RATE * pause_ms(clause) // 1000)
        # Of the whole so far: rounded one by one, clauses would add up to less than was sent,
        # and a client that truncates near the end would be refused.
        self._bytes += len(pcm)
        ms = _ms(self._bytes) - self._told_ms
        self._told_ms += ms
        return facts.Spoken(response_id, clause, pcm, ms, _lengths(said, before, ms))


def _lengths(said: Utterance, before: int, ms: int) -> tuple[tuple[str, int], ...]:
    """How long each word sounds, the pause in front with the first, all together `ms`."""
    lengths, at = [], 0
    for number, (word, end) in enumerate(said.words, 1):
        until = ms if number == len(said.words) else min(ms, max(at, before + end))
        lengths.append((word, until - at))
        at = until
    return tuple(lengths)


def _ms(size: int) -> int:
    return size * 1000 // (2 * MOUTH_RATE)


async def _only(words: str) -> AsyncGenerator[Piece, None]:
    yield Words(words)
    yield Finished()


def _first(fault: BaseException) -> BaseException:
    """What really happened, inside the groups it came through."""
    while isinstance(fault, BaseExceptionGroup):
        fault = fault.exceptions[0]
    return fault


async def _nothing(voice: str) -> None: ...


class Parts(Value):
    """The models that all sessions share, and how to get the ones that they do not."""

    ears: Ears
    mouth: Mouth
    brain: Brain
    judge: Judge
    detector: Callable[[], Detector]
    crowded: Callable[[], str | None] = lambda: None
    """Why nobody else can be served well just now, in words; None when somebody can."""
    prepare: Callable[[str], Awaitable[None]] = _nothing
    """Have ready what a voice says most often."""


class Work:
    """Nothing starts before `begin` or after `end`, and nothing outlives `end`."""

    def __init__(
        self, parts: Parts, machine: Machine, intake: Intake, post: Callable[[facts.Fact], None]
    ) -> None:
        self._parts, self._machine, self._intake, self._post = parts, machine, intake, post
        self._group: asyncio.TaskGroup | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._answers: dict[str, tuple[Answerer, asyncio.Task[None]]] = {}
        self._partials: Partials | None = None
        self._hearing: asyncio.Task[None] | None = None
        self._guess: tuple[_Guess, asyncio.Task[None]] | None = None
        self._reading: asyncio.Task[None] | None = None
        self._to_read: Ask | None = None

    def begin(self, group: asyncio.TaskGroup, voice: str) -> None:
        self._group = group
        self._spawn(self._prepare(voice), f"prepare {voice}")

    async def _prepare(self, voice: str) -> None:
        try:
            await self._parts.prepare(voice)
        except VivavoceError:
            pass  # it is made when it is wanted, only later
        except Exception:  # the boundary of this task
            log.exception("Preparing a voice failed")

    def end(self) -> None:
        self._group = None
        for task in self._tasks:
            task.cancel()
        self._parts.brain.forget(self._machine.state.policy.session_id)

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None] | None:
        if self._group is None:
            work.close()
            return None
        task = self._group.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # --- Answers --------------------------------------------------------------------------

    def answer(self, order: orders.Answer) -> None:
        if self._adopted(order):
            return
        if order.ask is None or order.ask.live:  # one aside takes nothing from the conversation
            self._to_read = None
            self.drop_guess()
        worker = self._answerer(order)
        if (started := self._spawn(worker.run(), f"answer {order.response_id}")) is not None:
            self._keep(order.response_id, worker, started)

    def _adopted(self, order: orders.Answer) -> bool:
        """The answer was foreseen, and is under way."""
        if self._guess is None or not self._guess[0].fits(order):
            return False
        (guess, task), self._guess = self._guess, None
        assert guess.answerer is not None
        if not task.done():
            self._keep(order.response_id, guess.answerer, task)
        guess.answerer.release(order.response_id)
        return True

    def _answerer(self, order: orders.Answer, *, held: bool = False) -> Answerer:
        return Answerer(order, self._parts.brain, self._parts.mouth, self._post, held=held)

    def _keep(self, response_id: str, answerer: Answerer, task: asyncio.Task[None]) -> None:
        self._answers[response_id] = (answerer, task)
        task.add_done_callback(lambda _: self._answers.pop(response_id, None))

    def interject(self, order: orders.Interject) -> None:
        if order.response_id in self._answers:
            self._answers[order.response_id][0].interject(order.words)

    def stop(self, response_id: str) -> None:
        if (kept := self._answers.pop(response_id, None)) is not None:
            kept[1].cancel()
        elif self._guess is not None and self._guess[0].answerer is not None:
            self.drop_guess()  # it would have been this one's

    # --- Before the turn is over ----------------------------------------------------------

    def listen(self, order: orders.Listen) -> None:
        """Words of what is being said, as they come; the brain reads them already."""
        self.stop_listening()
        self.drop_guess()
        item_id = order.item_id

        def tell(heard: Transcript, certain: str) -> None:
            if certain:
                self._post(facts.HeardSoFar(item_id, certain))
            foreseen = asking.foresee(item_id, heard, self._machine.state)
            if foreseen is not None and foreseen.ask is not None:
                self._warm(foreseen.ask)

        sound = partial(self._intake.span, order.start_ms)
        self._partials = Partials(item_id, partial(self._heard, urgent=False), sound, tell)
        self._hear_on()

    def _hear_on(self) -> None:
        if self._partials is not None:
            name = f"partials {self._partials.item_id}"
            self._hearing = self._spawn(self._partials.run(), name)

    def _hear_no_more(self) -> None:
        if self._hearing is not None:
            self._hearing.cancel()
            self._hearing = None

    def stop_listening(self) -> None:
        self._hear_no_more()
        self._partials = None

    def guess(self, order: orders.Guess) -> None:
        """A pause, perhaps the end: what would be heard, thought and said if it were."""
        self.drop_guess()
        self._hear_no_more()  # the whole of it is heard now
        self._to_read = None
        partials = self._partials
        hint = partials.newest if partials and partials.item_id == order.item_id else ""
        sound = self._intake.span(order.start_ms, order.end_ms)
        make = partial(self._answerer, held=True)
        guess = _Guess(order.item_id, len(sound), self._machine.state, make)

        def judged(heard: Transcript) -> None:
            looks = looking(heard.text, asking.awaited(self._machine.state))
            self._intake.heard(heard, looks, order.pause_ms)

        work = guess.run(partial(self._heard, ending(sound), hint), judged)
        if (task := self._spawn(work, f"guess {order.item_id}")) is not None:
            self._guess = (guess, task)

    def resume(self) -> None:
        """It was not the end."""
        if self._guess is not None:
            self.drop_guess()
            self._hear_on()

    def drop_guess(self) -> None:
        if self._guess is not None:
            guess, task = self._guess
            task.cancel()
            guess.dropped()
            self._guess = None

    def warm(self) -> None:
        if (ask := asking.outlook(self._machine.state)) is not None:
            self._warm(ask)

    def _warm(self, ask: Ask) -> None:
        """One after the other, the newest next: a model in the middle of reading hears nobody."""
        self._to_read = ask
        if self._reading is None or self._reading.done():
            self._reading = self._spawn(self._read(), "read ahead")

    async def _read(self) -> None:
        while (ask := self._to_read) is not None:
            self._to_read = None
            try:
                await self._parts.brain.warm(ask)
            except Exception:  # the boundary of this task: it is read when it is asked
                log.exception("Reading ahead failed")

    # --- Words ----------------------------------------------------------------------------

    async def _heard(self, speech: Samples, hint: str = "", *, urgent: bool = True) -> Transcript:
        """As the session wants to be heard."""
        wanted = self._machine.state.configuration.transcription
        return await self._parts.ears.transcribe(
            speech,
            language=wanted.language if wanted else None,
            hint=hint,
            urgent=urgent,
            keywords=keyterms(wanted.prompt, wanted.keywords or ()) if wanted else (),
        )

    def transcribe(self, item_id: str, start_ms: int, end_ms: int) -> None:
        speech, guess = self._intake.span(start_ms, end_ms), None
        if self._guess is not None and self._guess[0].item_id == item_id:
            guess = self._guess[0]
        self._spawn(self._transcribe(item_id, speech, guess), f"ears {item_id}")

    def transcribe_clip(self, item_id: str, audio: bytes, form: str) -> None:
        """Sound that came whole, in the wire's own format: minutes of it, perhaps."""

        async def work() -> None:
            speech = await asyncio.to_thread(Inbound(form).feed, audio)
            await self._transcribe(item_id, speech, None)

        self._spawn(work(), f"ears {item_id}")

    async def _transcribe(self, item_id: str, speech: Samples, guess: _Guess | None) -> None:
        try:
            heard = await guess.words() if guess is not None else None
            if heard is None or (guess is not None and goes_on(speech, guess.samples)):
                heard = written(await self._heard(speech, heard.text if heard else ""))
        except Exception as fault:  # the boundary of this task: the turn goes on without words
            known = isinstance(fault, VivavoceError)
            if not known:
                log.exception("The ears failed")
            message = str(fault) if known else "The ears failed."
            self._post(facts.HearingFailed(item_id, message))
            return
        text, seconds = heard.text, len(speech) / EAR_RATE
        self._post(facts.HeardAll(item_id, text, seconds, heard.confidence))

    # --- Verdicts -------------------------------------------------------------------------

    def judge(self, asked_ms: int) -> None:
        """Was that the end of the turn?"""
        self._spawn(self._judge(asked_ms, self._intake.recent(8.0)), "judge")

    async def _judge(self, asked_ms: int, speech: Samples) -> None:
        try:
            probability = await self._parts.judge.finished(speech)
        except Exception:  # the boundary of this task: the longest wait decides
            log.exception("The judge failed")
            return
        self._intake.verdict(probability, asked_ms)


class _Guess:
    """What the user may have said, and what would be answered: made ready, and held back.

    It begins at the first silence. Its words are taken if the turn ends there;
    its answer, if the question turns out to be the same. Until then nobody
    knows of either. `run` is one task; cancelling it throws everything away.
    """

    def __init__(
        self,
        item_id: str,
        samples: int,
        state: State,
        answerer: Callable[[orders.Answer], Answerer],
    ) -> None:
        self.item_id, self.samples = item_id, samples
        self.answerer: Answerer | None = None
        self._state, self._make = state, answerer
        self._order: orders.Answer | None = None
        self._heard: Transcript | None = None
        self._listened = asyncio.Event()

    async def run(
        self, hear: Callable[[], Awaitable[Transcript]], judged: Callable[[Transcript], None]
    ) -> None:
        try:
            self._heard = written(await hear())
        except VivavoceError as fault:
            log.debug("A guess at what was said failed: %s", fault)
        except Exception:  # the boundary of this task: whoever needs the words asks again
            log.exception("A guess at what was said failed")
        finally:
            self._listened.set()
        # Where the turn is over by now the words go the usual way: nothing is foreseen any more.
        if self._heard is None:
            return
        self._order = asking.foresee(self.item_id, self._heard, self._state)
        if self._order is not None:
            self.answerer = self._make(self._order)
        judged(self._heard)  # which may end the turn, here and now
        if self.answerer is not None:
            await self.answerer.run()

    def dropped(self) -> None:
        """Nothing comes of it any more, even if it never began."""
        self._listened.set()

    async def words(self) -> Transcript | None:
        """None where the ears failed, or the guess was dropped: whoever needs them asks again."""
        await self._listened.wait()
        return self._heard

    def fits(self, order: orders.Answer) -> bool:
        """Is this the question that was foreseen, and did the answer to it get anywhere?"""
        if self._order is None or self.answerer is None or self.answerer.failed:
            return False
        return replace(order, response_id=self._order.response_id) == self._order
