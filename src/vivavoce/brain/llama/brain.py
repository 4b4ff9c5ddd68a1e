"""The local brain: questions in, pieces of an answer out, the child kept alive beside it.

Owns who waits for whom: one request a slot at a time, and the background's
reading only while no live conversation waits. How a prompt looks, what may be
written and who sits where is decided in the modules beside this one.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import re
import secrets
import shutil
import sys
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo

from vivavoce.brain.dialogue.wording import inside
from vivavoce.brain.llama.grammar import MARK, PLAIN_WORDS, Reading, grammar, offered
from vivavoce.brain.llama.leading import Free, Leading, Write, Writing
from vivavoce.brain.llama.likeness import Likeness
from vivavoce.brain.llama.markup import CHATML, END, START, Markup, learned
from vivavoce.brain.llama.prompt import clipped, is_chat, prompt, shortened, unshown
from vivavoce.brain.llama.reader import Reader
from vivavoce.brain.llama.server import Connection, Heard
from vivavoce.brain.llama.slots import Place, Seats, Shelf, Warming
from vivavoce.errors import BrainError
from vivavoce.language.en.claims import claims, deed, open_
from vivavoce.processes.supervised import Child
from vivavoce.wire.brain import Ask, Budget, CallBegun, Finished, Piece, Result, Said, Tool, Words
from vivavoce.wire.values import Value

log = logging.getLogger(__name__)

CONTEXT = 6_144
"""Tokens of one question, where nothing else is said."""
NICENESS = 3
"""Below the mouth, and not by much: threads that wait for each other starve together."""
_OUTPUT = 300
_LONGEST_OUTPUT = 1_024
_STEP = 48
"""Tokens of reading at once: about a second, after which it can be stopped."""
_START_SECONDS = 120
_RELUCTANT = 1.5
"""A call must be clearly more likely than words. In our own requests those that want a tool are
above this by far, and nearly all small talk is below."""
_NEAR, _WANTING, _AHEAD = 0.3, 20.0, 0.15
"""How near what was said must be to what a tool is for, to make a call likelier; how much likelier
for how much nearer; and how far the nearest is from all others when only that can be meant."""
_BATCH = 128
_SAID, _WRITTEN = 3, 12
"""Sentences of an answer, for the ear and for the eye."""
_RESULT_SECONDS = 3.0
_MOST_RESULT, _LEAST_RESULT = 4_000, 300
_HISTORY_SECONDS = 20.0
"""Of reading, at the beginning of a call that goes on with a talk: it reads while the call is
made and while the user speaks."""
_LEAST_HISTORY = 300
_GUESS = 60.0
_CHARS = 4.0
_LATELY = 4
_LIKELY = 100
"""Tokens whose likelihood is looked at: what is not among them is not meant."""
_FEW = 24
"""Tokens; below it the time is mostly not that of reading."""
_FEW_WRITTEN = 8
_OLD, _NEW = 0.8, 0.2
_SAMPLED = 24
_SAMPLE = (
    f"{START}system\nYou tell stories in plain words.{END}\n{START}user\nTell me what happened on "
    "the morning when the old ferry did not come, who waited on the pier with whom and for how "
    "long, what they talked about while the fog came in from the sea, what each of them had left "
    "at home, why nobody wanted to be the first to go, and how it ended for the two brothers who "
    f"had only come to look at the boats. Begin at once, and take your time.{END}\n"
    f"{START}assistant\n"
)
"""About a hundred tokens."""


class LlamaBrain:
    """Fills `Brain`. Answers within `running()`; before the model is loaded it cannot."""

    def __init__(
        self,
        model: Path,
        cache: Path,
        *,
        name: str,
        live_slots: int = 2,
        context: int = CONTEXT,
        threads: int = 0,
        likeness: Path | None = None,
        readers: Sequence[Path] = (),
        led: bool = True,
        device: str = "cpu",
        now: Callable[[ZoneInfo], datetime] = datetime.now,
    ) -> None:
        """`likeness` is the folder of the embedding model, `readers` are those of models that know
        an agent's wishes. `led`: it is not trusted to hold the thread of a talk by itself, where
        the tools say how that is done; what "tomorrow" is in it, is by `now`."""
        self._name = name
        self._model, self._cache = model, cache
        self._context = context
        self._threads = threads or min(8, os.cpu_count() or 1)
        self._live_slots = live_slots
        self._wanted = device
        self._told: dict[str, str] = {}
        """By the process, of its device."""
        self._markup = CHATML
        self._fixed = Ask("", ()), 0  # what was weighed last
        self._pace = Pace(cache / f"{name}.json", _identity(model))
        self._connection: Connection | None = None
        self._ready, self._failed = asyncio.Event(), asyncio.Event()
        self._child: Child | None = None
        self._seats = Seats(live_slots, self._shelf())
        self._near = None if likeness is None else Likeness(likeness, cache)
        known = [Reader(one) for one in readers]
        self._leading = Leading(self, self._near, known, now=now) if led else None

    @property
    def name(self) -> str:
        return self._name

    @property
    def budget(self) -> Budget:
        budget = self._pace.budget(self._context - _OUTPUT)
        if self._leading is None:
            return budget
        # Where the talk is led it is not the model who reads results, or what was said long ago.
        return replace(budget, result_chars=_MOST_RESULT, history_tokens=None)

    def fixed(self, instructions: str, tools: Sequence[Tool]) -> int:
        ask = Ask(instructions, (), tuple(tools))
        if self._leading is not None and self._leading.leads(ask):
            return 0  # neither is read: the talk has the whole window
        known, tokens = self._fixed
        if known != ask:
            tokens = self.count(prompt(ask, room=self._context, count=self.count, finished=False))
            self._fixed = ask, tokens
        return tokens

    def count(self, text: str) -> int:
        return self._pace.count(text)

    def figures(self) -> Figures:
        """What is known of it on this machine by now."""
        size = self._model.stat().st_size if self._model.exists() else 0
        pace = self._pace
        return Figures(
            size=size,
            context=self._context,
            device=self._told.get("device", ""),
            reads_per_second=round(pace.tokens_per_second, 1) if pace.measured else None,
            writes_per_second=round(pace.written_per_second, 1) or None,
        )

    def forget(self, live: str) -> None:
        self._seats.leave(live)
        if self._leading is not None:
            self._leading.forget(live)

    async def clear(self) -> None:
        await self._seats.clear(self._connection)

    # --- Its life -------------------------------------------------------------------

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The child lives as long as this does, whatever happens to it."""
        folder = Path(tempfile.mkdtemp(prefix="vivavoce-"))  # 0700
        self._child = child = Child(
            "brain",
            (sys.executable, "-P", "-m", "vivavoce.brain.llama.server"),
            nice=NICENESS,
            started=lambda process: self._started(process, folder),
            ended=self._ended,
        )
        try:
            async with asyncio.TaskGroup() as group:
                life = group.create_task(child.run(), name="brain process")
                try:
                    yield
                finally:
                    life.cancel()
        finally:
            self._pace.keep()
            shutil.rmtree(folder, ignore_errors=True)

    def pause(self) -> None:
        """Stand still for a moment: somebody else needs all the cores there are."""
        if self._child is not None:
            self._child.pause()

    def resume(self) -> None:
        if self._child is not None:
            self._child.resume()

    async def ready(self) -> None:
        """The model is loaded and takes questions. Raises `BrainError`; it is tried again."""
        waiting = (self._ready.wait(), self._failed.wait())
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in waiting]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
        if not self._ready.is_set():
            why = self._told.get("failed")
            raise BrainError(why or "The language model does not start; the log says why.")

    async def _started(self, process: asyncio.subprocess.Process, folder: Path) -> None:
        socket, told = folder / "llama.sock", folder / "told.json"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(socket)  # of the one before
        key = secrets.token_urlsafe(32)
        settings = {
            "model": str(self._model),
            "cache": str(self._cache),
            "socket": str(socket),
            "key": key,
            "slots": self._live_slots + 1,
            "context": self._context,
            "batch": _BATCH,
            "threads": self._threads,
            "device": self._wanted,
            "told": str(told),
        }
        assert process.stdin is not None
        process.stdin.write(json.dumps(settings).encode() + b"\n")
        await process.stdin.drain()
        connection = Connection(socket, key)
        loaded = False
        try:
            async with asyncio.timeout(_START_SECONDS):
                await connection.until_ready()
            self._told = _read_told(told)
            self._markup = await self._marks(connection)
            self._connection, loaded = connection, True
            self._failed.clear()
            self._ready.set()
            await asyncio.get_running_loop().create_future()  # until the process ends
        except TimeoutError:
            raise BrainError("The language model does not start.") from None
        finally:
            # At once: whoever comes now must not be given one that is closed.
            self._connection = None
            self._ready.clear()
            await connection.close()
            if not loaded:
                self._told = _read_told(told)
                self._failed.set()

    async def _marks(self, connection: Connection) -> Markup:
        """As its file says; a file without a template, or with one that nobody understands, is
        asked in ChatML, which most models have seen."""
        try:
            return await learned(connection.template)
        except BrainError as fault:
            log.warning("%s Prompts are written in ChatML", fault.message)
            return CHATML

    def _ended(self) -> None:
        self._connection = None
        self._ready.clear()
        self._seats.lost()

    def _shelf(self) -> Shelf:
        self._cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(OSError):
            self._cache.chmod(0o700)
        model = f"{self._name} {_identity(self._model)}"
        # A memory of a model with another number of slots cannot be put back.
        room = f"{self._live_slots} {self._context}"
        return Shelf(self._cache, f"{model} {room} {version('xllamacpp')}")

    # --- Questions ------------------------------------------------------------------

    async def answer(self, ask: Ask) -> AsyncGenerator[Piece, None]:
        leading = self._leading
        if leading is None or not leading.leads(ask):
            answer = _held_to_results(self._calling(ask), ask)
        elif leading.answers(ask):
            answer = self._led(ask, leading)
        else:
            answer = self._freely(ask, leading.freely(ask))
        async with aclosing(answer) as pieces:
            async for piece in pieces:
                yield piece

    async def _led(self, ask: Ask, leading: Leading) -> AsyncGenerator[Piece, None]:
        async with aclosing(leading.answer(ask)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Write):
                    async with aclosing(self._by_itself(_only(piece.tool, ask))) as call:
                        async for one in call:
                            yield one
                    continue
                if not isinstance(piece, Free):
                    yield piece
                    continue
                said = ""
                async with aclosing(self._freely(ask, piece.prompt)) as words:
                    async for one in words:
                        said += one.text if isinstance(one, Words) else ""
                yield Words(piece.instead if claims(said) else said or piece.instead)

    async def _freely(self, ask: Ask, text: str) -> AsyncGenerator[Piece, None]:
        """Words and no calls, from a prompt of its own."""
        connection, text = self._there(), self._markup.put(text)
        reading = Reading(lambda: "", _SAID if ask.spoken else _WRITTEN)
        async with self._seats.taken(connection, ask.live, text) as seat:
            request = {
                "prompt": text,
                "id_slot": seat.slot,
                "n_predict": min(ask.max_tokens or _OUTPUT, _OUTPUT),
                "grammar": PLAIN_WORDS,
                "stop": ["\n", self._markup.end],
                "stream": True,
                "cache_prompt": True,
                "temperature": 0,
            }
            heard = Heard("")
            seat.held = text
            async with aclosing(connection.write(request)) as writing:
                async for heard in writing:
                    for piece in reading.feed(heard.text):
                        yield piece
                    if reading.enough:
                        break
        reason: Literal["length", "stop"] = "length" if heard.limited else "stop"
        yield Finished(reason, heard.input_tokens, heard.cached_tokens, heard.output_tokens)

    @asynccontextmanager
    async def writing(self, live: str, text: str) -> AsyncIterator[Writing]:
        connection = self._there()
        async with self._seats.taken(connection, live, self._markup.put(text)) as seat:
            yield _Line(self, connection, seat, self._markup)

    def begun(self, live: str, text: str) -> int:
        """How many letters of it have been read: for this conversation, ahead, or at an earlier
        start."""
        written = self._markup.put(text)
        read = self._seats.begun(live, written)
        return len(text) * read // max(1, len(written))  # other marks have other lengths

    async def tokenize(self, text: str) -> list[int]:
        return await self._there().tokenize(text)

    async def _by_itself(self, ask: Ask) -> AsyncGenerator[Piece, None]:
        chat = is_chat(ask)
        limit = min(ask.max_tokens or (_LONGEST_OUTPUT if chat else _OUTPUT), _LONGEST_OUTPUT)
        ask, short = shortened(self._readable(ask))
        meant, wanting = await self._meant(ask)
        rules, names = grammar(meant), {tool.name for tool in offered(meant)}
        text = self._markup.put(prompt(ask, room=self._context - limit, count=self.count))
        reluctant = ask.tool_choice == "auto"
        connection = self._there()
        async with self._seats.taken(connection, ask.live, text) as seat:
            request = {
                "prompt": text,
                "id_slot": seat.slot,
                "n_predict": limit,
                "grammar": "" if chat else rules,
                "stop": [self._markup.end] if chat else ["\n"],
                "logit_bias": [[MARK, wanting - _RELUCTANT]] if reluctant else [],
                "stream": True,
                "cache_prompt": True,
                "temperature": 0,
                "timings_per_token": True,
            }
            sentences = _SAID if ask.spoken else _WRITTEN
            reading = Reading(lambda: f"call_{secrets.token_hex(8)}", sentences)
            heard, written = Heard(""), ""
            async with aclosing(connection.write(request)) as writing:
                async for heard in writing:
                    written += heard.text
                    seat.held = text + written
                    if chat:
                        yield Words(heard.text)
                        continue
                    for piece in reading.feed(heard.text):
                        if isinstance(piece, CallBegun) and piece.name not in names:
                            # llama.cpp passes over a grammar that it cannot read.
                            raise BrainError("The language model called what is not there.")
                        for one in short.feed(piece):
                            yield one
                    if reading.enough or (reading.calls and not ask.parallel_calls):
                        break
            self.learn(text, heard)
            reason: Literal["length", "stop"] = "length" if heard.limited else "stop"
            yield Finished(reason, heard.input_tokens, heard.cached_tokens, heard.output_tokens)

    async def _meant(self, ask: Ask) -> tuple[Ask, float]:
        """A small model forgets its tools while it talks. What was said is held beside what they
        are for: how much likelier that makes a call, and of which of them."""
        turn = ask.turns[-1] if ask.turns else None
        if self._near is None or not _open(ask) or not isinstance(turn, Said):
            return ask, 0.0
        near = await self._near.near([turn.text], _purposes(ask.tools))
        best = sorted(near.values(), reverse=True)
        if not best or best[0] < _NEAR:
            return ask, 0.0
        if len(best) > 1 and best[0] - best[1] >= _AHEAD:
            only = tuple(tool for tool in ask.tools if near[tool.name] == best[0])
            ask = replace(ask, tools=only)
        return ask, (best[0] - _NEAR) * _WANTING

    async def _calling(self, ask: Ask) -> AsyncGenerator[Piece, None]:
        """By itself; where it says the name of a tool as words, the tool is meant: no user is told
        `current_time()`."""
        names = [tool.name for tool in offered(ask)] if ask.tool_choice == "auto" else []
        kept: list[Piece] = []
        said = ""
        async with aclosing(self._by_itself(ask)) as pieces:
            async for piece in pieces:
                kept.append(piece)
                said += piece.text if isinstance(piece, Words) else ""
                if isinstance(piece, Words) and any(f"{one}(".startswith(said) for one in names):
                    continue  # it may become one
                names = [name for name in names if f"{said}(".startswith(f"{name}(")]
                if names:
                    break
                for one in kept:
                    yield one
                kept.clear()
        if names:
            forced = replace(ask, tool_choice=f"function:{names[0]}")
            async with aclosing(self._by_itself(forced)) as call:
                async for one in call:
                    yield one

    def _readable(self, ask: Ask) -> Ask:
        """With no more of a tool's result than can be read while somebody waits."""
        most = self._pace.budget(self._context).result_chars
        turns = (clipped(turn, most) if isinstance(turn, Result) else turn for turn in ask.turns)
        return replace(ask, turns=tuple(turns))

    async def warm(self, ask: Ask) -> None:
        with contextlib.suppress(BrainError):
            if self._leading is not None and self._leading.leads(ask):
                await self._read(ask, await self._leading.ahead(ask))
                for text in self._leading.besides(ask) if not ask.live and not ask.turns else ():
                    await self._read(ask, text)  # kept for when it is needed
                return
            ask, _ = shortened(self._readable(ask))
            if self._near is not None and not ask.turns and ask.tools:
                await self._near.prepare(_purposes(ask.tools))
            text = prompt(ask, room=self._context - _OUTPUT, count=self.count, finished=False)
            await self._read(ask, text, compiling=True)

    async def _read(self, ask: Ask, text: str, *, compiling: bool = False) -> None:
        connection, text = self._there(), self._markup.put(text)
        tokens = await connection.tokenize(text)
        async with self._seats.warming(connection, ask.live, text) as warming:
            step, held, upto = _STEP if ask.live else _BATCH, "", 0
            while upto < len(tokens):
                async with warming.step() as seat:
                    if seat is None:
                        return  # the question itself has come
                    if seat.held != held:  # never to before what is read: that is forgotten
                        upto = len(await connection.tokenize(seat.held)) if seat.held else 0
                    upto = min(upto + step, len(tokens))
                    heard = await connection.read(seat.slot, tokens[:upto])
                    seat.held = held = text[: len(text) * upto // len(tokens)]
                self.learn(text if upto == len(tokens) else "", heard)
            if not ask.turns:
                await warming.keep(text)
                if compiling:
                    await self._compile(connection, ask, warming, tokens)

    async def measure(self) -> None:
        """How fast it reads and writes here, once: some seconds, while nobody talks. Never raises
        for want of a model."""
        if self._pace.measured and self._pace.written_per_second:
            return
        with contextlib.suppress(BrainError):
            connection, text, heard = self._there(), self._markup.put(_SAMPLE), Heard("")
            async with self._seats.taken(connection, "", text) as seat:
                request = {"prompt": text, "id_slot": seat.slot, "n_predict": _SAMPLED}
                request |= {"stream": True, "timings_per_token": True, "cache_prompt": False}
                async with aclosing(connection.write(request)) as writing:
                    async for piece in writing:
                        heard = piece
                seat.held = ""
            self.learn(text, heard)
            self._pace.keep()

    async def _compile(
        self, connection: Connection, ask: Ask, warming: Warming, tokens: list[int]
    ) -> None:
        """llama.cpp needs most of a second for a grammar, once: not when somebody waits."""
        async with warming.step() as seat:
            if seat is None:
                return
            given = {"prompt": tokens, "id_slot": seat.slot, "n_predict": 1}
            given |= {"grammar": grammar(ask), "cache_prompt": True, "stream": True}
            async with aclosing(connection.write(given)) as writing:
                async for _ in writing:
                    pass

    def _there(self) -> Connection:
        if self._connection is None:
            raise BrainError("The language model is not ready yet.")
        return self._connection

    def learn(self, text: str, heard: Heard) -> None:
        self._pace.read(heard.read_tokens, heard.read_ms)
        self._pace.wrote(heard.output_tokens, heard.write_ms)
        if text:
            self._pace.weighed(len(text), heard.input_tokens)


def _open(ask: Ask) -> bool:
    """Somebody has spoken, and the model may call what it likes."""
    turn = ask.turns[-1] if ask.turns else None
    spoken = isinstance(turn, Said) and turn.role == "user"
    return spoken and ask.tool_choice == "auto" and bool(ask.tools) and not is_chat(ask)


def _purposes(tools: Sequence[Tool]) -> dict[str, list[str]]:
    return {
        tool.name: [
            re.sub(r"[_-]+", " ", tool.name),
            *tool.description.strip().splitlines()[:1],
        ]
        for tool in tools
    }


def _only(tool: Tool, ask: Ask) -> Ask:
    """A call of this tool, from a prompt that is short: nothing of it was read before."""
    talk = tuple(turn for turn in ask.turns if isinstance(turn, Said))[-_LATELY:]
    forced = f"function:{tool.name}"
    return replace(ask, instructions="", turns=talk, tools=(tool,), tool_choice=forced)


async def _held_to_results(
    answer: AsyncGenerator[Piece, None], ask: Ask
) -> AsyncGenerator[Piece, None]:
    """Without the claim of a deed that no result shows: "I've set the timer" where nothing was
    called, or the call failed. That is said instead, unless the call comes yet."""
    turn = ask.turns[-1] if ask.turns else None
    spoken_to = isinstance(turn, Result) or (isinstance(turn, Said) and turn.role == "user")
    if not ask.tools or not spoken_to or (instead := unshown(ask.turns)) is None:
        async for piece in answer:
            yield piece
        return
    said = held = ""
    lying = False
    async with aclosing(answer) as pieces:
        async for piece in pieces:
            if isinstance(piece, CallBegun):
                lying = False  # it is about to be so
            if isinstance(piece, Words) and not lying:
                text = said + held + piece.text
                claim = deed(text, len(said))
                lying = claim is not None
                # What is out is out, wherever a claim could still begin.
                upto = max(len(said), open_(text)) if claim is None else claim
                if upto > len(said):
                    yield Words(text[len(said) : upto])
                said, held = text[:upto], "" if lying else text[upto:]
            elif not isinstance(piece, Words):
                if lying:
                    within = said.rstrip().endswith((",", ";", ":"))
                    held = inside(instead) if within else instead
                if held:
                    yield Words(held)
                held, lying = "", False
                yield piece


class _Line:
    """Fills `Writing`: one line, after what would be written first was looked at."""

    def __init__(
        self, brain: LlamaBrain, connection: Connection, seat: Place, markup: Markup
    ) -> None:
        self._brain, self._connection, self._seat = brain, connection, seat
        self._markup = markup

    async def likely(self, text: str) -> tuple[Mapping[int, float], Heard]:
        text = self._markup.put(text)
        found, heard = await self._connection.likely(self._seat.slot, text, _LIKELY)
        self._seat.held = text
        self._brain.learn(text, heard)
        return found, heard

    async def line(self, text: str, grammar: str, most: int) -> tuple[str, Heard]:
        text = self._markup.put(text)
        request = {
            "prompt": text,
            "id_slot": self._seat.slot,
            "n_predict": most,
            "grammar": grammar,
            "stop": ["\n", self._markup.end],
            "stream": True,
            "cache_prompt": True,
            "temperature": 0,
        }
        written, heard = "", Heard("")
        async with aclosing(self._connection.write(request)) as writing:
            async for heard in writing:
                written += heard.text
                self._seat.held = text + written
        return written, heard


class Figures(Value):
    """Of a local model: bytes of its file, tokens of one question, and tokens a second where they
    were measured."""

    size: int
    context: int
    device: str
    """`cpu`, or the GPUs by their names; empty until the model is loaded."""
    reads_per_second: float | None
    writes_per_second: float | None


def _read_told(file: Path) -> dict[str, str]:
    try:
        return {key: str(value) for key, value in json.loads(file.read_text()).items()}
    except (OSError, ValueError, AttributeError):
        return {}


def _identity(model: Path) -> str:
    """Another file under the same name is another model."""
    stat = model.stat() if model.exists() else None
    return f"{(stat.st_size, stat.st_mtime_ns) if stat else ()}"


class Pace:
    """How fast this machine reads and writes with `model`: tokens a second, letters a token.

    Measured with every prompt, and kept for the next start. Reading is the slow part of a small
    model on few cores, so how long a tool's result may be follows from it.
    """

    def __init__(self, file: Path, model: str = "") -> None:
        self._file, self._model = file, model
        self.tokens_per_second, self.chars_per_token = _GUESS, _CHARS
        self.written_per_second = 0.0
        self._measured = False
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            known = json.loads(file.read_text())
            if known.get("model", model) == model:
                self.tokens_per_second = min(max(float(known["tokens_per_second"]), 1.0), 1e6)
                self._measured = True
                self.written_per_second = max(0.0, float(known.get("written_per_second", 0.0)))

    @property
    def measured(self) -> bool:
        return self._measured

    def read(self, tokens: int, milliseconds: float) -> None:
        """A prompt of so many tokens was read."""
        if tokens < _FEW or milliseconds <= 0:
            return
        rate = tokens / milliseconds * 1000
        if self._measured:
            # A machine that is busy for a moment is not a slower machine.
            rate = self.tokens_per_second * _OLD + rate * _NEW
        self.tokens_per_second, self._measured = rate, True

    def wrote(self, tokens: int, milliseconds: float) -> None:
        """An answer of so many tokens was written."""
        if tokens < _FEW_WRITTEN or milliseconds <= 0:
            return
        rate, known = tokens / milliseconds * 1000, self.written_per_second
        self.written_per_second = known * _OLD + rate * _NEW if known else rate

    def weighed(self, chars: int, tokens: int) -> None:
        """A whole prompt was so many tokens."""
        if tokens >= _FEW:
            measured = min(max(chars / tokens, 1.0), 6.0)
            self.chars_per_token = self.chars_per_token * _OLD + measured * _NEW

    def count(self, text: str) -> int:
        """What is not Latin takes more tokens than letters tell."""
        dense = 0 if text.isascii() else sum(ord(letter) > 0x2FF for letter in text)
        return round((len(text) - dense) / self.chars_per_token + dense) + (1 if text else 0)

    def budget(self, context: int) -> Budget:
        chars = self.tokens_per_second * _RESULT_SECONDS * self.chars_per_token
        return Budget(
            context,
            int(min(max(chars, _LEAST_RESULT), _MOST_RESULT)),
            history_tokens=int(max(self.tokens_per_second * _HISTORY_SECONDS, _LEAST_HISTORY)),
            aside="quiet",
        )

    def keep(self) -> None:
        if not self._measured:
            return
        with contextlib.suppress(OSError):  # measured anew the next time
            kept = {"model": self._model, "tokens_per_second": self.tokens_per_second}
            kept |= {"written_per_second": self.written_per_second}
            self._file.write_text(json.dumps(kept))
