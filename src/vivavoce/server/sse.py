"""`text/event-stream` over raw ASGI: a subscription, written with as few sends as possible.

Owns the wire of a stream: headers, the opening, coalescing, noticing that the
client left. What is in a frame, and how a late reader catches up, is the
journal's (`runtime/journal/streams.py`).
"""

from __future__ import annotations

import asyncio

from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from vivavoce.runtime.journal.streams import Subscription
from vivavoce.server.gate.gate import DIRECT_SEND

_GRACE_SECONDS = 1.0
_GARBAGE = -1  # never a position: the reader gets an explicit reset


class EventStream(Response):
    """Answers with a subscription until it ends or the client leaves."""

    media_type = "text/event-stream"

    def __init__(self, subscription: Subscription) -> None:
        super().__init__(
            headers={
                "cache-control": "no-cache, no-transform",
                "x-accel-buffering": "no",
                "content-type": "text/event-stream; charset=utf-8",
            }
        )
        del self.headers["content-length"]  # of the empty body that we do not send
        self.subscription = subscription

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                writer = group.create_task(self._write(scope, send), name="sse.write")
                watcher = group.create_task(self._watch(receive), name="sse.watch")
                await self.subscription.ended.wait()
                # A client that does not read would hold the writer, and the shutdown, for ever.
                await asyncio.wait({writer}, timeout=_GRACE_SECONDS)
                writer.cancel()
                watcher.cancel()
        finally:
            self.subscription.close()

    async def _write(self, scope: Scope, send: Send) -> None:
        body = self.subscription.opening
        await send(
            {
                "type": "http.response.start",
                "status": self.status_code,
                "headers": self.raw_headers,
            }
        )
        await send({"type": "http.response.body", "body": body, "more_body": True})
        # What lies between here and the server looks only at how an answer starts.
        send = scope.get(DIRECT_SEND, send)
        while frames := await self.subscription.take():
            body = frames[0] if len(frames) == 1 else b"".join(frames)
            await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _watch(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.subscription.close()


def last_event_id(request: HTTPConnection) -> int | None:
    """Where the client wants to go on: the header, or `last_event_id` in the query.

    An EventSource that is answered with an error never comes back, so what is
    no number becomes a position that nobody has, and a reset.
    """
    text = request.headers.get("last-event-id") or request.query_params.get("last_event_id")
    if not text:
        return None
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else _GARBAGE
