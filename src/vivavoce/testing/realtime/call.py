"""One call at the scripted provider, driven by a script or by hand.

What to say comes from `Conversation`, how to answer from `scripted_replies`;
connections are made and broken by the provider.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from vivavoce.runtime.ports import Clock
from vivavoce.testing.realtime.events import Conversation, Transcript
from vivavoce.testing.realtime.lines import TIMEOUT, Inbox, Line, Outbox, Where
from vivavoce.testing.realtime.replies import reply
from vivavoce.testing.realtime.response import ToolUse
from vivavoce.testing.realtime.script import CallFault, Close
from vivavoce.testing.realtime.session import Json


class ScriptedCall:
    """`offer` is the SDP it was created with, `authorised_by` "key" or "secret"."""

    def __init__(
        self,
        call_id: str,
        session: Mapping[str, Any],
        *,
        clock: Clock,
        offer: str = "",
        authorised_by: str = "key",
        webrtc: bool = True,
        defaults: bool = True,
        timeout: float = TIMEOUT,
    ) -> None:
        self.id = call_id
        self.offer = offer
        self.authorised_by = authorised_by
        self.conversation = Conversation(session, webrtc=webrtc)
        self.over = False
        self._defaults = defaults
        self._timeout = timeout
        self._inbox = Inbox(f"call {call_id}")
        self._outbox = Outbox(clock)

    @property
    def received(self) -> list[Json]:
        """What clients sent, over all sidebands."""
        return list(self._inbox.received)

    @property
    def emitted(self) -> list[Json]:
        """What the sidebands were sent."""
        return list(self._outbox.emitted)

    @property
    def session(self) -> Json:
        """The configuration in force."""
        return self.conversation.ledger.session

    # --- Waiting ------------------------------------------------------------------------

    async def attached(self, lines: int = 1, *, timeout: float = TIMEOUT) -> None:
        """Return once this many sidebands are attached."""
        attached = self._outbox.lines
        wanted = f"{lines} sideband(s) attached"
        await self._inbox.until(lambda: True if len(attached) >= lines else None, timeout, wanted)

    async def detached(self, *, timeout: float = TIMEOUT) -> None:
        """Return once no sideband is left."""
        attached = self._outbox.lines
        await self._inbox.until(lambda: None if attached else True, timeout, "no sideband left")

    async def ended(self, *, timeout: float = TIMEOUT) -> None:
        """Return once someone has hung up."""
        await self._inbox.until(lambda: True if self.over else None, timeout, "a hang-up")

    async def expect(
        self, kind: str, *, where: Where | None = None, timeout: float | None = None
    ) -> Json:
        """The first frame of this type that fits; each frame is matched once at most."""
        return await self._inbox.take(kind, where, self._timeout if timeout is None else timeout)

    # --- Saying -------------------------------------------------------------------------

    async def emit(self, *events: Mapping[str, Any]) -> None:
        """Send to every sideband; what nobody is attached to hear is lost, as in life."""
        for given in events:
            event = dict(given)
            event.setdefault("event_id", self.conversation.ledger.new_id("event"))
            await self._outbox.broadcast(event)

    async def session_updated(self, patch: Mapping[str, Any] | None = None) -> None:
        await self.emit(*self.conversation.ledger.session_updated(patch))

    async def user_says(
        self, text: str, *, transcript: Transcript = "now", heard_ms: int | None = None
    ) -> str:
        """The id of the new item. Interrupts the assistant, who was heard for `heard_ms`."""
        said = self.conversation.user_says(text, transcript=transcript, heard_ms=heard_ms)
        await self.emit(*said)
        return str(said[0]["item_id"])

    async def user_starts(self, *, heard_ms: int | None = None) -> None:
        await self.emit(*self.conversation.user_starts(heard_ms=heard_ms))

    async def user_stops(self, text: str, transcript: Transcript = "now") -> None:
        await self.emit(*self.conversation.user_stops(text, transcript))

    async def transcripts_arrive(self) -> None:
        """All that are still to come."""
        await self.emit(*self.conversation.transcripts())

    async def assistant_says(self, text: str, *, played: bool = True) -> None:
        """A whole response, or the rest of the one that is in progress."""
        await self.emit(*self.conversation.assistant_says(text, played=played))

    async def assistant_starts(self, text: str) -> None:
        await self.emit(*self.conversation.assistant_starts(text))

    async def assistant_finishes(self, *, played: bool = True) -> None:
        await self.emit(*self.conversation.assistant_finishes(played=played))

    async def playback_ends(self) -> None:
        await self.emit(*self.conversation.playback_ends())

    async def calls_tool(
        self, name: str, arguments: Mapping[str, Any] | str = "{}", call_id: str | None = None
    ) -> None:
        await self.calls_tools(ToolUse(name, arguments, call_id))

    async def calls_tools(self, *calls: ToolUse, saying: str | None = None) -> None:
        """All these calls in one response."""
        await self.emit(*self.conversation.calls_tools(*calls, saying=saying))

    async def response_fails(self, code: str = "server_error", message: str = "Failed.") -> None:
        await self.emit(*self.conversation.response_fails(code, message))

    async def peer_sends(self, event: Mapping[str, Any]) -> list[Json]:
        """The browser sends over its data channel; what the provider answered it."""
        answers = reply(self.conversation, event)
        await self.emit(*(one for one in answers if one["type"] != "error"))
        return answers

    async def browser_hangs_up(self) -> None:
        """As `hang_up`, which is what the provider makes of it."""
        await self.hang_up()

    async def hang_up(self, code: int = 1000) -> None:
        """The call is over: its sidebands are closed, and there is nothing to attach to."""
        self.over = True
        await self._inbox.look()
        await self.inject(Close(code))

    async def inject(self, fault: CallFault) -> None:
        """Misbehave, now or with the next events."""
        await self._outbox.misbehave(fault)

    # --- For the provider ---------------------------------------------------------------

    async def serve(self, line: Line) -> None:
        """Listen to one sideband until it ends."""
        if not self.conversation.ledger.webrtc:
            for event in self.conversation.ledger.session_created():
                await line.send(json.dumps(event))
        self._outbox.lines.append(line)
        await self._inbox.look()
        try:
            while (frame := await line.next()) is not None:
                await self._inbox.put(frame)
                if self._defaults:
                    await self._answer(frame, line)
        finally:
            self._outbox.lines.remove(line)
            await self._inbox.look()

    async def _answer(self, frame: Json, line: Line) -> None:
        for event in reply(self.conversation, frame):
            if event["type"] == "error":  # only who erred is told
                self._outbox.emitted.append(event)
                await line.send(json.dumps(event))
            else:
                await self._outbox.broadcast(event)
