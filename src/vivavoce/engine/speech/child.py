"""The speech process: `python -m vivavoce.engine.speech.child`, started by `Speech` only.

Frames come by stdin and go by stdout; the first says what to load. It ends
when stdin does, whatever it is doing: its parent is gone then, or wants it to.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from vivavoce.engine.speech import frames
from vivavoce.engine.speech.files import SpeechFiles, SpeechPart
from vivavoce.engine.speech.frames import Frame
from vivavoce.engine.speech.inference import be_nice
from vivavoce.engine.speech.jobs import Jobs, Parts
from vivavoce.errors import VivavoceError

_MOUTH_NICE = 1
"""Whoever has spoken should be understood before others are spoken to."""


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is our parent's business
    # Libraries that print must not be taken for frames.
    output = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        asyncio.run(_serve(output))
    except BaseException:  # the last boundary: told to the parent's log
        traceback.print_exc()
    # A thread in the middle of a model does not hear us; nothing here is worth waiting for.
    sys.stderr.flush()
    os._exit(1)


async def _serve(output: int) -> None:
    reader, writer = await _pipes(output)
    first = await frames.read(reader)
    if first is None:
        os._exit(0)
    async with asyncio.TaskGroup() as group:
        jobs = Jobs(group, writer)
        group.create_task(_load(SpeechFiles.from_words(first.words), jobs, writer))
        while (frame := await frames.read(reader)) is not None:
            jobs.take(frame)
        os._exit(0)


async def _pipes(output: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(limit=1 << 20)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()),
        os.fdopen(output, "wb", buffering=0),
    )
    return reader, asyncio.StreamWriter(transport, protocol, None, loop)


async def _load(files: SpeechFiles, jobs: Jobs, writer: asyncio.StreamWriter) -> None:
    try:
        parts = await _parts(files)
    except* Exception as faults:
        traceback.print_exception(faults)
        fault = faults.exceptions[0]
        words = (
            fault.message if isinstance(fault, VivavoceError) else "The models cannot be loaded."
        )
        told: dict[str, Any] = {"failed": words}
    else:
        jobs.parts = parts
        told = {"ears": parts.ears.name, "mouth": parts.mouth.name, "voices": parts.mouth.voices}
    writer.write(frames.encode(Frame(told)))
    await writer.drain()


async def _parts(files: SpeechFiles) -> Parts:
    """All at once, each on a thread that makes the threads of its model as nice as itself."""
    with ThreadPoolExecutor(3) as loaders:

        async def load(part: SpeechPart | None, nice: int = 0) -> Any:
            def niced() -> Any:
                be_nice(nice)
                return part.load() if part is not None else None

            return await asyncio.get_running_loop().run_in_executor(loaders, niced)

        async with asyncio.TaskGroup() as group:
            ears = group.create_task(load(files.ears))
            judge = group.create_task(load(files.judge))
            mouth = group.create_task(load(files.mouth, _MOUTH_NICE))
    return Parts(ears.result(), mouth.result(), judge.result())


if __name__ == "__main__":
    main()
