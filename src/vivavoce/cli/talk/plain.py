"""The talk as lines of text: for pipes, scripts, logs and screen readers. What is said goes to
stdout, what happens to stderr; lines that come in are typed, and `/yes`, `/no`, `/stop`, `/mute`
and `/quit` are the keys."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TextIO

from vivavoce.cli.talk.core import words
from vivavoce.cli.talk.core.state import Line, State
from vivavoce.cli.talk.talk import Talk

_WHO = {
    "user": "you",
    "assistant": "assistant",
    "tool": "tool",
    "task": "task",
    "intent": "noted",
    "due": "due",
    "note": "note",
}
_WAIT = 120.0
"""Seconds for the last answer, once nothing more comes in."""


class Printer:
    """Prints each thing once, when it is known."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out, self._err = out, err
        self._printed: dict[str, str] = {}
        self._asked: set[str] = set()
        self._said = self._notice = ""

    def show(self, state: State) -> None:
        for line in state.lines:
            if line.done and self._printed.get(line.id) != (text := line_words(line)):
                self._printed[line.id] = text
                self._print(text)
        for one in state.approvals:
            if one.id not in self._asked:
                self._asked.add(one.id)
                self._print(f"asks: {words.harmless(one.question)}")
                for name, value in words.argument_rows(one.arguments):
                    self._print(f"  {name}: {value}")
                self._tell("/yes or /no")
        if state.notice != self._notice:
            self._notice = state.notice
            if state.notice:
                self._tell(words.harmless(state.notice))
        if (now := words.situation(state)) != self._said:
            self._said = now
            if now in ("connecting", "reconnecting") or (now == "loading" and state.loading):
                self._tell(words.words(state))

    def _print(self, text: str) -> None:
        print(text, file=self._out, flush=True)

    def _tell(self, text: str) -> None:
        print(f"({text})", file=self._err, flush=True)


def line_words(line: Line) -> str:
    who = _WHO[line.kind]
    text = words.harmless(line.text)
    note = words.harmless(line.note)
    if line.cut:
        who, text = f"{who} (cut off)", text or "(nothing of it was heard)"
    if line.failed:
        who = f"{who} (failed)"
    return f"{who}: {text}{f': {note}' if note else ''}"


@asynccontextmanager
async def shown(talk: Talk, out: TextIO, err: TextIO, typed: TextIO | None) -> AsyncIterator[None]:
    """While the talk runs. `typed`: where lines come from, if from anywhere."""
    printer = Printer(out, err)
    talk.store.listeners.append(printer.show)
    async with asyncio.TaskGroup() as group:
        reading = None if typed is None else group.create_task(_read(talk, typed))
        try:
            yield
        finally:
            if reading is not None:
                reading.cancel()


async def _read(talk: Talk, typed: TextIO) -> None:
    lines: asyncio.Queue[str | None] = asyncio.Queue(100)
    loop = asyncio.get_running_loop()

    def read() -> None:
        """In a thread: nobody can wait for a line without waiting. It ends with the process."""
        with contextlib.suppress(RuntimeError, ValueError):  # the loop or the file is closed
            while line := typed.readline():
                asyncio.run_coroutine_threadsafe(lines.put(line), loop).result()
            asyncio.run_coroutine_threadsafe(lines.put(None), loop).result()

    threading.Thread(target=read, name="typed", daemon=True).start()
    while (line := await lines.get()) is not None:
        await _typed(talk, line.strip())
    if talk.desk is None:
        await talk.store.until(lambda: words.at_rest(talk.store.state), _WAIT)
        talk.hang_up()


async def _typed(talk: Talk, line: str) -> None:
    match line:
        case "/yes" | "/no":
            # A script may be quicker than the question.
            await talk.store.until(lambda: bool(talk.store.state.approvals), 30.0)
            talk.answer(granted=line == "/yes")
        case "/stop":
            talk.stop()
        case "/mute":
            talk.mute()
        case "/quit":
            talk.hang_up()
        case "":
            pass
        case _:
            # What asks for a yes takes commands; words wait for the answer before them.
            if talk.desk is None:
                known = talk.store
                await known.until(
                    lambda: words.at_rest(known.state) or bool(known.state.approvals), _WAIT
                )
            talk.write(line)
