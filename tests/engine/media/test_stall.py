"""A server whose event loop stalls while packets keep arriving.

The caller runs on a thread of its own, since a caller on our loop would stall
with it; the loop is uvloop, whose timers come before its sockets.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from concurrent.futures import Future

import numpy as np
import uvloop

from tests.engine.media.far_end import LOCAL, FarEnd, Heard, quiet_frames, until
from vivavoce.engine.media.peer import answer

STALL = 0.25
STALLS = 4


def caller(offer: Future[str], answered: Future[str], stop: threading.Event) -> None:
    async def main() -> None:
        far = FarEnd()
        offer.set_result(await far.offer())
        await far.accept(await asyncio.wrap_future(answered))
        async with asyncio.TaskGroup() as group:
            group.create_task(far.listen())
            await until(stop.is_set, 30)
            await far.pc.close()

    asyncio.run(main())


async def heard_through_stalls(
    offer: Future[str], answered: Future[str], stop: threading.Event
) -> int:
    heard, loop = Heard(), asyncio.get_running_loop()
    near, far = socket.socketpair()
    near.setblocking(False)

    def stall() -> None:
        near.recv(1)
        time.sleep(STALL)  # the stall itself, in the middle of reading sockets

    loop.add_reader(near, stall)
    peer, text = await answer(await asyncio.wrap_future(offer), heard, LOCAL)
    answered.set_result(text)
    async with asyncio.TaskGroup() as group:
        group.create_task(peer.run())
        await until(lambda: heard.seconds() > 0.5)
        before = len(heard.pieces)
        for number in range(1, STALLS + 1):
            far.send(b"x")
            enough = before + number * 25
            await until(lambda enough=enough: len(heard.pieces) >= enough)  # type: ignore[misc]
        stop.set()
        await peer.close()
    loop.remove_reader(near)
    near.close()
    far.close()
    return quiet_frames(np.concatenate(heard.pieces[before:]), 48_000)


def test_a_stall_of_ours_is_not_taken_for_silence_of_theirs() -> None:
    offer: Future[str] = Future()
    answered: Future[str] = Future()
    stop = threading.Event()
    thread = threading.Thread(target=caller, args=(offer, answered, stop))
    thread.start()
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            quiet = runner.run(heard_through_stalls(offer, answered, stop))
    finally:
        stop.set()
        thread.join()
    # Taken for silence, each stall would have put in some 20 quiet stretches of 10 ms.
    assert quiet < STALLS * 10
