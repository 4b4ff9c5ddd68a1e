"""`/conductor`: the WebSocket of runtimes (`docs/conductor.md`).

Owns what is the connection's: reading and writing, what is no event, how long it may take to say
who it is, and with which number it is closed. What events mean is `runtime.conductor`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from vivavoce.errors import InvalidRequest, Unauthorized, VivavoceError
from vivavoce.runtime.conductor.line import Line
from vivavoce.runtime.conductor.link import Link
from vivavoce.runtime.conductor.service import NotYours, code_of
from vivavoce.runtime.limits import Window
from vivavoce.server.gate.auth import current_role, current_user, key_ended
from vivavoce.server.problems import errors, problem
from vivavoce.server.schemas.fields import Timestamp
from vivavoce.server.services import AsRole, Here, Services, User, json_only, paced
from vivavoce.wire.clean import clean_text
from vivavoce.wire.conductor.codes import CODES, INTERRUPTED, Close, ServerCode
from vivavoce.wire.conductor.event import Event, Unreadable, fault, made, read, write
from vivavoce.wire.conductor.kinds import (
    V4,
    Error,
    SessionStart,
    ToolResult,
    UserAudioTranscriptFinal,
    UserAudioTranscriptPartial,
    session_id_of,
)

log = logging.getLogger(__name__)

STRIKES = 50  # messages that are none, in a minute
A_SECOND = 200  # events of one runtime
KEY_SECONDS = 30.0
"""Between two looks whether the key of a connection is still good."""

_EFFECTIVE = (SessionStart, UserAudioTranscriptFinal, ToolResult)

router = APIRouter(tags=["Conductor"])


class TokenRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    session_id: Annotated[
        str, Field(alias="sessionId", pattern=V4, description="UUID v4 of the session")
    ]


class ConductorToken(BaseModel):
    token: str
    expires_at: Timestamp


@router.post(
    "/conductor/token",
    operation_id="createConductorToken",
    responses=errors(400, 429),
    dependencies=[Depends(json_only), Depends(paced)],
)
async def token(here: Here, user: User, role: AsRole, wanted: TokenRequest) -> ConductorToken:
    """A token for `/conductor?sessionId=…&token=…`, where no header can be sent: for this session,
    for a minute."""
    session_id = _session_of(wanted.session_id)
    issued = here.runtimes.issue(session_id=session_id, user_id=user, role=role)
    return ConductorToken(token=issued.value, expires_at=issued.expires_at)


def _session_of(given: str) -> str:
    try:
        return session_id_of(given)
    except ValueError:
        raise InvalidRequest("'sessionId' is a UUID of version 4", field="sessionId") from None


async def conductor(here: Services, socket: WebSocket) -> None:
    """One connection, of whoever the gate let in."""
    try:
        session_id = _session_of(socket.query_params.get("sessionId", ""))
        user_id, role = current_user(socket), current_role(socket)
    except VivavoceError as wrong:
        await socket.send_denial_response(problem(wrong, None))
        return
    try:
        async with here.conductor.connection(user_id) as line:
            await socket.accept()
            await _Visit(here, socket, line, session_id, user_id, role).serve()
    except VivavoceError as wrong:
        await _refuse(socket, wrong)


async def _refuse(socket: WebSocket, wrong: VivavoceError) -> None:
    """There is no place for it: it is let in to hear that."""
    if socket.client_state is WebSocketState.CONNECTING:
        await socket.accept()
    await socket.send_text(write(made(fault(code_of(wrong), wrong.message))))
    await socket.close(Close.BUSY, wrong.message[:120])


class _Visit:
    """One connection, from its first event to its last."""

    def __init__(
        self,
        here: Services,
        socket: WebSocket,
        line: Line,
        session_id: str,
        user_id: str,
        role: Any,
    ) -> None:
        self._here, self._socket, self._line = here, socket, line
        self._session_id, self._user_id, self._role = session_id, user_id, role
        # None where there is no gate in front that knows.
        self._asks_again = getattr(socket.state, "asks_again", None)
        self._link: Link | None = None
        self._group: asyncio.TaskGroup | None = None
        self._showing: asyncio.Task[None] | None = None
        self._strikes = Window(STRIKES, 60, clock=here.clock, what="messages that are none")
        self._events = Window(A_SECOND, 1, clock=here.clock, what="events")

    async def serve(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                writer = group.create_task(self._write(), name="runtime writer")
                waiting = group.create_task(self._await_start(), name="runtime start")
                watching = group.create_task(self._watch_key(), name="runtime key")
                try:
                    await self._read()
                finally:
                    waiting.cancel()
                    watching.cancel()
                    self._hide()
                    self._line.close(Close.LEFT)
                await writer
                raise _Over  # what was said goes on elsewhere; nobody waits for it here
        except* _Over:
            pass
        except* (WebSocketDisconnect, OSError):
            pass  # the far end went away in the middle of a word
        finally:
            if self._link is not None:
                await self._here.conductor.leave(self._link, self._line)

    async def _await_start(self) -> None:
        await asyncio.sleep(self._here.options.runtime_start_seconds)
        if self._link is None:
            self._line.close(Close.NO_START)

    async def _watch_key(self) -> None:
        """A key that ends ends what it opened."""
        if self._asks_again is None:
            return
        while self._line.closed is None:
            await asyncio.sleep(KEY_SECONDS)
            await self._may_go_on()

    async def _may_go_on(self) -> bool:
        match await key_ended(self._asks_again, self._user_id, self._role):
            case None:
                return True
            case Unauthorized():
                self._line.close(Close.UNAUTHENTICATED)
            case _:
                self._line.close(Close.FORBIDDEN)
        return False

    async def _write(self) -> None:
        # Whoever reads hears that the far end is gone as well, once what had come is done. Ended in
        # the middle of it, a yes or what was heard would be taken, and lost.
        with suppress(WebSocketDisconnect, OSError):
            await self._write_all()

    async def _write_all(self) -> None:
        while (text := await self._line.next()) is not None:
            if self._socket.client_state is not WebSocketState.CONNECTED:
                return
            await self._socket.send({"type": "websocket.send", "text": text})
        code, reason = self._line.closed or (Close.LEFT, "")
        if self._socket.client_state is WebSocketState.CONNECTED:
            await self._socket.close(code, reason[:120])

    # --- Reading --------------------------------------------------------------------------

    async def _read(self) -> None:
        while self._line.closed is None:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            await self._take(message)

    async def _take(self, message: Mapping[str, Any]) -> None:
        text = message.get("text")
        try:
            self._events.check("")
            size = len(text or message.get("bytes") or b"")
            await self._here.conductor.paced(self._user_id, size)
            if text is None:
                raise Unreadable("invalid_json", "Events are JSON in text frames.")
            event = read(text)
        except Unreadable as wrong:
            self._tell(wrong.code, wrong.message, wrong.event_id)
            self._strike(unknown=wrong.unknown)
            return
        except VivavoceError:
            self._line.close(Close.PROTOCOL, f"More than {A_SECOND} events a second.")
            return
        except Exception:  # the boundary of one message, as below
            self._failed(None)
            return
        # What has an effect is not done with a key that ended since the last look.
        if isinstance(event.kind, _EFFECTIVE) and not await self._may_go_on():
            return
        try:
            await self._dispatch(event)
        except NotYours as wrong:
            self._tell("no_session", wrong.message, event.id)
            self._line.close(Close.NOT_YOURS)
        except VivavoceError as wrong:
            self._tell(code_of(wrong), wrong.message, event.id)
        except Exception:  # the boundary of one event: the connection goes on
            self._failed(event.id)

    def _failed(self, event_id: str | None) -> None:
        log.exception("An event of a runtime's failed")
        self._tell("handler_error", "Something went wrong here. It is in the log.", event_id)

    def _strike(self, *, unknown: bool) -> None:
        """Kinds that we do not know may be of a newer protocol; the rest is none."""
        if unknown:
            return
        try:
            self._strikes.check("")
        except VivavoceError:
            self._line.close(Close.PROTOCOL, "Too many messages that are no events.")

    def _tell(self, code: ServerCode, message: str, event_id: str | None = None) -> None:
        self._line.push(fault(code, message, event_id))

    async def _dispatch(self, event: Event) -> None:
        link, kind = self._link, event.kind
        if "client" not in kind.sent_by:
            self._tell("invalid_event", f"'{kind.kind}' is the server's to send.", event.id)
            self._strike(unknown=False)
        elif isinstance(kind, SessionStart):
            await self._start(kind, event)
        elif isinstance(kind, Error) and kind.code != INTERRUPTED:
            self._hear(kind)
        elif link is None:
            self._tell("no_session", "'sessionStart' comes first.", event.id)
            self._strike(unknown=False)
        elif link.line is not self._line:
            self._line.close(Close.TAKEN_OVER)
        else:
            await self._pass_on(link, event)

    async def _pass_on(self, link: Link, event: Event) -> None:
        match event.kind:
            case UserAudioTranscriptFinal(text=text):
                if clean_text(text).strip():
                    self._here.conductor.hear(link, event, text)
                else:
                    await self._here.conductor.nothing(link)
                    self._tell("empty_transcript", "There is nothing in the transcript.", event.id)
            case UserAudioTranscriptPartial():
                await self._here.conductor.overheard(link)
            case ToolResult() as told:
                if not await link.answer(told):
                    words = f"No call '{told.call_id[:64]}' waits for a result."
                    self._tell("no_pending_tool_call", words, event.id)
            case Error() as told:
                await link.interrupted(told)
            case _:
                pass

    async def _start(self, kind: SessionStart, event: Event) -> None:
        if session_id_of(kind.session_id) != self._session_id:
            words = "'sessionId' is another than that of the address."
            self._tell("invalid_event", words, event.id)
            return
        conductor = self._here.conductor
        self._link = await conductor.start(self._line, self._user_id, self._role, kind)
        self._hide()
        if self._group is not None:
            work = self._show(self._link, whole=self._link.known)
            self._showing = self._group.create_task(work, name="runtime cards")

    def _hide(self) -> None:
        if self._showing is not None:
            self._showing.cancel()

    async def _show(self, link: Link, *, whole: bool) -> None:
        try:
            await self._here.conductor.show(link, self._line, whole=whole)
        except VivavoceError as wrong:
            self._tell(code_of(wrong), wrong.message)
        except Exception:  # the boundary of this task: the talk goes on
            log.exception("What a runtime shows could not be kept up to date")
            self._tell("handler_error", "What is shown is not kept up to date any more.")

    def _hear(self, told: Error) -> None:
        """What a runtime met, for the log; its code where that is one of the protocol's."""
        code = told.code if told.code in CODES else "another"
        log.info("A runtime met a fault", extra={"code": code})


class _Over(Exception):
    """Ends the group of a connection that is over."""
