"""A conversation on somebody else's microphone and loudspeaker: a session like any other, on the
engine's line for sound, with a clock for what was heard.

Knows sound and sessions, and nothing of who is at the other end: that is `Ends`.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import math
from collections import deque
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, Protocol

from vivavoce.errors import NotFound, ProviderError, VivavoceError
from vivavoce.runtime.provider.openai import OpenAIProvider
from vivavoce.runtime.provider.sound import RATE, SoundLine
from vivavoce.runtime.sessions.options import Options
from vivavoce.runtime.sessions.voice import Opened, Voice
from vivavoce.session.events import End
from vivavoce.session.state import Phase
from vivavoce.wire.records.work import Role
from vivavoce.wire.values import Value

log = logging.getLogger(__name__)

_PER_MS = RATE * 2 // 1000
_KEPT = 20_000 * _PER_MS
"""Sound that is kept while the line is not up yet; of more the beginning goes."""
_TICK = 0.1
_GAP = 1.0
"""Seconds without sound from a microphone that is on, before it is taken for silent: radio
stumbles, and what is late must not have a hole before it."""
_LEAD_MS = 400
"""Sent ahead of what is heard, so that nothing stutters; what is cut off stops as soon."""
_PIECE = 50 * _PER_MS
_REPORT_MS = 250

_BUSY = (Phase.LISTENING, Phase.PROCESSING, Phase.SPEAKING, Phase.EXECUTING_TOOL)
_TRANSCRIBED = "conversation.item.input_audio_transcription.completed"
_NOT_TRANSCRIBED = "conversation.item.input_audio_transcription.failed"


class Who(Value):
    user_id: str
    role: Role


class Ends(Protocol):
    """The other end of a talk. What is awaited is paced by it."""

    async def voice_started(self) -> None: ...
    async def voice_stopped(self) -> None: ...
    async def transcript(self, text: str) -> None: ...
    async def answer(self, text: str) -> None:
        """The words of what is being spoken, as soon as they are all known."""

    async def sound_starts(self) -> None: ...
    async def sound(self, pcm: bytes) -> None: ...
    async def sound_ends(self) -> None: ...


class Talk:
    """One session. `run` lasts as long as it does; meanwhile `hear` and `listening` say what the
    microphone does."""

    def __init__(self, voice: Voice, engine: OpenAIProvider, who: Who, ends: Ends) -> None:
        self._voice, self._engine, self._who, self._ends = voice, engine, who, ends
        self._mic = bytearray()
        self._heard = asyncio.Event()
        self.listening = False
        """Is the microphone on?"""
        self.conversation_id = self._session_id = ""
        self.active_at = asyncio.get_running_loop().time()
        """When somebody last spoke, on either side."""
        self._player = _Player(ends)
        self._answers: set[str] = set()
        self._line: SoundLine | None = None
        self._interruptible = True

    # --- What the microphone does -------------------------------------------------------

    def hear(self, pcm: bytes) -> None:
        self._mic += pcm
        if len(self._mic) > _KEPT:
            del self._mic[: len(self._mic) - _KEPT]
        self._heard.set()

    def played(self) -> None:
        """The other end says that all of it was heard."""
        self._player.heard_all()

    @property
    def speaking(self) -> bool:
        return self._player.playing

    @property
    def busy(self) -> bool:
        """Is something said, answered, or done for it?"""
        live = self._voice.live(self._session_id, self._who.user_id)
        return self._player.playing or (live is not None and live.phase in _BUSY)

    async def interrupt(self) -> None:
        """Somebody wants to speak: what is being said ends here."""
        if not self._player.playing:
            return
        self._player.cut()
        if self._line is not None and self._answers:
            with suppress(ProviderError):  # the call is over: nobody speaks any more
                await self._line.send("response.cancel")

    # --- The session --------------------------------------------------------------------

    async def run(self, conversation_id: str | None = None) -> None:
        """Until the session is over. Goes on with a conversation, if it is still there. Raises
        `VivavoceError` where it cannot begin."""
        async with self._session(conversation_id) as session_id:
            call = await self._voice.connector.audio(session_id, self._who.user_id)
            async with self._engine.sound_line(call) as line, asyncio.TaskGroup() as group:
                self._line = line
                loops = [
                    group.create_task(_while_up(self._send(line)), name="microphone"),
                    group.create_task(_while_up(self._player.run(line)), name="loudspeaker"),
                ]
                try:
                    await self._receive(line)
                finally:
                    for loop in loops:
                        loop.cancel()

    @asynccontextmanager
    async def _session(self, conversation_id: str | None) -> AsyncIterator[str]:
        opened = await self._opened(conversation_id)
        session = opened.session
        self.conversation_id, self._session_id = session.conversation_id, session.id
        try:
            yield session.id
        finally:
            ending = self._voice.end(session.id, self._who.user_id, End("completed"))
            try:
                await asyncio.shield(ending)
            except VivavoceError as fault:
                log.warning("A session could not be ended: %s", fault.message)

    async def _opened(self, conversation_id: str | None) -> Opened:
        options, user_id = Options(role=self._who.role), self._who.user_id
        if conversation_id is not None:
            try:
                return await self._voice.resume_conversation(conversation_id, user_id, options)
            except NotFound:
                pass  # somebody deleted it
        return await self._voice.create(user_id, options, quiet=True)

    # --- In -----------------------------------------------------------------------------

    async def _send(self, line: SoundLine) -> None:
        """What the microphone hears; silence while it is off, since a turn ends with silence."""
        loop = asyncio.get_running_loop()
        last = loop.time()
        while True:
            self._heard.clear()
            if not self._mic:
                try:
                    async with asyncio.timeout(_TICK):
                        await self._heard.wait()
                except TimeoutError:
                    pass
            now = loop.time()
            if self._mic:
                pcm, self._mic = bytes(self._mic), bytearray()
                last = now
                await line.append(pcm)
            elif now - last >= (_GAP if self.listening else _TICK):
                await line.append(bytes(int((now - last) * 1000) * _PER_MS))
                last = now

    # --- Out ----------------------------------------------------------------------------

    async def _receive(self, line: SoundLine) -> None:
        while (event := await line.receive()) is not None:
            await self._take(event)

    async def _take(self, event: dict[str, Any]) -> None:
        ends, player = self._ends, self._player
        match event:
            case {"type": "session.created" | "session.updated", "session": {"audio": audio}}:
                detection = audio["input"].get("turn_detection") or {}
                self._interruptible = detection.get("interrupt_response") is not False
            case {"type": "response.output_audio.delta", "item_id": str(item)}:
                player.add(item, base64.b64decode(event["delta"]))
            case {"type": "response.output_audio.done", "item_id": str(item)}:
                player.whole(item)
            case {"type": "response.output_audio_transcript.done", "transcript": str(text)}:
                await ends.answer(text)
            case {"type": "input_audio_buffer.speech_started"}:
                self._touch()
                if self._interruptible:
                    player.cut()
                await ends.voice_started()
            case {"type": "input_audio_buffer.speech_stopped"}:
                self._touch()
                await ends.voice_stopped()
            case {"type": "conversation.item.truncated", "item_id": str(item)}:
                player.drop(item)  # somebody else on the call stopped it
            case {"type": "response.created", "response": {"id": str(response)}}:
                self._answers.add(response)
                self._touch()
            case {"type": "response.done", "response": {"id": str(response)}}:
                self._answers.discard(response)
                self._touch()
            case {"type": kind} if kind == _TRANSCRIBED:
                await ends.transcript(str(event["transcript"]).strip())
            case {"type": kind} if kind == _NOT_TRANSCRIBED:
                await ends.transcript("")

    def _touch(self) -> None:
        self.active_at = asyncio.get_running_loop().time()


async def _while_up(loop: Coroutine[Any, Any, None]) -> None:
    """Who reads the line hears of its end too, and knows whether it was meant."""
    with suppress(ProviderError):
        await loop


# --- What is heard ----------------------------------------------------------------------------


class _Item:
    """One answer, on its way to a loudspeaker."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.waiting = bytearray()
        self.whole = False
        self.sent_ms = 0


class _Player:
    """Sends sound as fast as it is heard and a little ahead, so that it can be stopped, and tells
    the engine how much was heard."""

    def __init__(self, ends: Ends) -> None:
        self._ends = ends
        self._items: deque[_Item] = deque()
        self._dropped: deque[str] = deque(maxlen=64)
        self._changed = asyncio.Event()
        self._until = 0.0
        """When what was sent will have been heard."""
        self._untold: deque[tuple[_Item, int, bool]] = deque()
        """What is over: how much of it was heard, and whether it was cut off."""

    @property
    def playing(self) -> bool:
        return bool(self._items)

    def add(self, name: str, pcm: bytes) -> None:
        if name in self._dropped:
            return  # the tail of what was cut off
        if not self._items or self._items[-1].name != name:
            self._items.append(_Item(name))
        self._items[-1].waiting += pcm
        self._changed.set()

    def whole(self, name: str) -> None:
        for item in self._items:
            if item.name == name:
                item.whole = True
        self._changed.set()

    def cut(self) -> None:
        """Stops here. Of what was not begun nothing was heard."""
        now = asyncio.get_running_loop().time()
        for item in self._items:
            self._untold.append((item, self._heard_of(item, now), not self._over(item, now)))
            self._dropped.append(item.name)
        self._forget()

    def drop(self, name: str) -> None:
        """Somebody else cut it off, and the engine knows where."""
        if any(item.name == name for item in self._items):
            self._dropped += [item.name for item in self._items]
            self._forget()

    def heard_all(self) -> None:
        """Sooner than our clock thinks."""
        if self._items and self._over(self._items[0], math.inf):
            item = self._items.popleft()
            self._untold.append((item, item.sent_ms, False))
            self._until = 0.0
            self._changed.set()

    def _forget(self) -> None:
        self._items.clear()
        self._until = 0.0
        self._changed.set()

    def _heard_of(self, item: _Item, now: float) -> int:
        return max(0, item.sent_ms - max(0, int((self._until - now) * 1000)))

    def _over(self, item: _Item, now: float) -> bool:
        return item.whole and not item.waiting and now >= self._until

    async def run(self, line: SoundLine) -> None:
        while True:
            await self._tell(line)
            if not self._items:
                self._changed.clear()
                await self._changed.wait()
                continue
            await self._play(self._items[0], line)

    async def _play(self, item: _Item, line: SoundLine) -> None:
        loop = asyncio.get_running_loop()
        started, reported = False, 0
        while self._items and self._items[0] is item:
            now = loop.time()
            heard = self._heard_of(item, now)
            wait: float | None = None  # the mouth is behind
            if heard - reported >= _REPORT_MS:
                reported = heard
                await line.send("vivavoce.played", item_id=item.name, audio_end_ms=heard)
                continue
            if item.waiting:
                wait = self._until - now - _LEAD_MS / 1000
                if wait <= 0:
                    if not started:
                        started = True
                        await self._ends.sound_starts()
                    await self._send(item)
                    continue
            elif item.whole:
                if started:
                    started = False
                    await self._ends.sound_ends()
                    continue
                wait = self._until - now
                if wait <= 0:
                    self.heard_all()
                    continue
            await self._pause(None if wait is None else min(wait, _REPORT_MS / 1000))
        if started:
            await self._ends.sound_ends()

    async def _send(self, item: _Item) -> None:
        piece = bytes(item.waiting[:_PIECE])
        del item.waiting[:_PIECE]
        now = asyncio.get_running_loop().time()
        self._until = max(self._until, now) + len(piece) / 2 / RATE
        item.sent_ms += len(piece) // _PER_MS
        await self._ends.sound(piece)

    async def _pause(self, seconds: float | None) -> None:
        self._changed.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            pass

    async def _tell(self, line: SoundLine) -> None:
        """How much was heard of what is over."""
        while self._untold:
            item, ms, cut = self._untold.popleft()
            if cut:
                kind, more = "conversation.item.truncate", {"content_index": 0}
            else:
                kind, more = "vivavoce.played", {}
            await line.send(kind, item_id=item.name, audio_end_ms=ms, **more)
