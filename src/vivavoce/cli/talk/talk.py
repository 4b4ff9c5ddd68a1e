"""One talk from its first word to its last: a session opened, its events followed, its call kept
up, what is typed and decided carried to the server, and a farewell.

It owns the order of things. What is known lies in the store, what is drawn is a view's matter, and
where the sound comes from and goes is the desk's.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from vivavoce.cli.talk.core import state as s
from vivavoce.cli.talk.core import words
from vivavoce.cli.talk.core.playing import PushToTalk
from vivavoce.cli.talk.desk import Desk
from vivavoce.cli.talk.line import Line, NoLine, dialled
from vivavoce.cli.talk.server import Grant, NoVoice, Server
from vivavoce.cli.talk.store import Store
from vivavoce.client.link import NoServer, Refusal
from vivavoce.retrying import doubling

_POLL = 1.0
_FIRST_TRIES = 2
_TRIES = 8
_STEADY = 10.0
"""Seconds: a call that lasted so long was no failure."""
_LAST_WORD = 0.3
"""Behind the call, if the server ended it: why comes on the other stream."""
_LONGEST_PAUSE = 15.0
_BESIDE = 3
_FAREWELL = 3.0
"""Seconds for what the server has to say of an answer that was hung up on."""
_WRITING = 8
"""What is typed and not sent yet; beyond that typing is refused."""
_SETTLED = 0.8
"""Seconds for which it must listen before a script says its next words."""
_UNHEARD = 15.0

_LOST = ("error", "socket_reset", "client_silent", "ice_lost", "never_connected")
"""Nobody wanted it to end: see `session.ended`."""


class _HungUp(Exception):
    """The user has had enough, or a script has come to its end."""


class _CallLost(Exception):
    pass


class _Ended(Exception):
    """The server ended the session, and not by accident."""

    def __init__(self, ending: s.Ending) -> None:
        super().__init__(ending.words)
        self.ending = ending


@dataclass(frozen=True, slots=True)
class Words:
    """What a script says: a file's name, and its sound."""

    name: str
    pcm: bytes


class Talk:
    """Its methods without `async` are for views: they return at once."""

    def __init__(self, server: Server, store: Store, desk: Desk | None) -> None:
        self._server, self.store, self.desk = server, store, desk
        self._group: asyncio.TaskGroup | None = None
        self._session: str | None = None
        self._following: asyncio.Task[None] | None = None
        self._line: Line | None = None
        self._lines: list[Line] = []
        self._wanted: str | None = None  # why another call is: lost, cap or provider
        self._moves = 0
        self._going = False  # the session may end now: the conversation is to go on in another
        self._expired: str | None = None
        self._over: Exception | None = None
        self._ended = False
        self._asked = 0
        self._deciding: set[str] = set()
        self._typing: asyncio.Queue[tuple[str, str]] = asyncio.Queue(_WRITING)
        self._push = PushToTalk()

    # --- For views -----------------------------------------------------------------------

    def write(self, text: str) -> None:
        text = text.strip()
        if not text:
            return
        key = str(uuid.uuid4())
        try:
            self._typing.put_nowait((key, text))
        except asyncio.QueueFull:
            self.store.tell(s.Told("Too much at once: wait for an answer first."))
            return
        for line in self._lines:
            line.stop()  # whoever writes has heard enough
        self.store.tell(s.Typed(key, text))

    def answer(self, *, granted: bool) -> None:
        """To the oldest question."""
        open_ = [one for one in self.store.state.approvals if one.id not in self._deciding]
        if open_:
            self._do(self._decide(open_[0].id, granted=granted))

    def stop(self) -> None:
        for line in self._lines:
            line.stop()

    def mute(self) -> None:
        known = self.store.state
        self.store.tell(s.Microphone(muted=not known.muted, held=False))
        self._set_microphone()

    def push_to_talk(self) -> None:
        """On, or off again."""
        self._push = PushToTalk()
        self.store.tell(s.Microphone(muted=False, held=not self.store.state.held))
        self._set_microphone()

    def talk_key(self) -> None:
        """The key that is held down while one talks; without push to talk it mutes."""
        if not self.store.state.held:
            self.mute()
            return
        self._push.pressed(time.monotonic())
        self._set_microphone()

    def hang_up(self) -> None:
        self._finish(_HungUp("You hung up."))

    @property
    def microphone_open(self) -> bool:
        known = self.store.state
        return self._push.open if known.held else not known.muted

    def _set_microphone(self) -> None:
        if self.desk is not None:
            self.desk.open = self.microphone_open
        self.store.notify()

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        if self._group is None or self._over is not None:
            work.close()
        else:
            self._group.create_task(work)

    def _finish(self, why: Exception) -> None:
        if self._over is None:
            self._over = why
            self.store.tell(s.Leaving())

    # --- The whole of it -------------------------------------------------------------------

    async def run(self, conversation: str | None, script: list[Words] | None = None) -> s.Ending:
        """How it ended. Raises `Refusal`, `NoServer` and `NoVoice` where it did not even begin, and
        an `OSError` where the sound broke."""
        await self._until_ready()
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                others = [group.create_task(self._write())]
                if self.desk is not None:
                    others.append(group.create_task(self.desk.run()))
                    others.append(group.create_task(self._release_key()))
                if script is not None:
                    others.append(group.create_task(self._recite(script)))
                try:
                    ending = await self._held(conversation)
                finally:
                    await self._leave()
                    self._group = None
                    for task in (*others, self._following):
                        if task is not None:
                            task.cancel()
        except* (Refusal, NoServer, NoVoice, OSError) as faults:
            raise _first(faults) from None
        self.store.tell(s.Over(ending))
        return ending

    async def _held(self, conversation: str | None) -> s.Ending:
        """The talk itself, until somebody ends it."""
        try:
            if self.desk is not None:
                await self._call(conversation)
            else:
                await self._correspond(conversation)
        except _HungUp as why:
            return s.Ending(str(why))
        except _Ended as fault:
            return fault.ending
        raise AssertionError("a talk has an end")

    async def _until_ready(self) -> None:
        while not (answer := await self._server.ready())["ready"]:
            waiting = " ".join(answer.get("waiting_for") or ()) or answer.get("message")
            self.store.tell(s.Waiting(_loading(answer) or waiting or "The server is not ready yet"))
            if await self.store.until(lambda: self._over is not None, _POLL):
                return

    # --- By voice ----------------------------------------------------------------------------

    async def _call(self, conversation: str | None) -> None:
        self._check()
        grant = await self._server.open(conversation)
        self._opened(grant)
        self.store.tell(s.Recalled(grant.prior))
        await self._keep_calling(grant.key)

    def _opened(self, grant: Grant) -> None:
        self._session, self._ended = grant.session, False
        self.store.tell(s.Opened(grant.session, grant.conversation))
        self._follow(grant.session, grant.last_event_id)

    async def _keep_calling(self, first_key: str) -> None:
        """Places the call, brings it back after a loss, and goes over to the next one."""
        key: str | None = first_key
        failures, ever_up = 0, False
        while True:
            up_at: float | None = None
            try:
                line = await self._place(key)
                ever_up, up_at = True, time.monotonic()
                while True:
                    line = await self._hold(line)
            except (_CallLost, NoLine, Refusal) as fault:
                self._check()
                if isinstance(fault, Refusal) and not fault.passing:
                    if not ever_up:
                        raise
                    words_ = f"The conversation broke off: {fault.message}"
                    raise _Ended(s.Ending(words_, broken=True)) from None
                if up_at is not None and time.monotonic() - up_at >= _STEADY:
                    failures = 0
                failures += 1
                if failures >= (_TRIES if ever_up else _FIRST_TRIES):
                    raise _Ended(s.Ending(f"The line is lost: {fault}", broken=True)) from None
                if ever_up:
                    self.store.tell(s.Call("lost"))
                pause = doubling(failures, 0.5, _LONGEST_PAUSE)
                wait = getattr(fault, "retry_after", None) or 0.0
                await self._pause(max(pause, wait))
                key = None

    async def _place(self, key: str | None) -> Line:
        """A call that is up, fed and heard; its line runs until it is closed."""
        self.store.tell(s.Call("placing"))
        if key is None:
            key = await self._new_key()
        self._check()
        assert self.desk is not None
        assert self._group is not None
        line = await dialled(await self._server.audio(key), self.desk, self._sounded)
        self._lines.append(line)
        self._group.create_task(self._run_line(line))
        self.store.tell(s.Call("up"))
        return line

    async def _run_line(self, line: Line) -> None:
        try:
            await line.run()
        finally:
            self._lines.remove(line)
            self._sounded()

    def _sounded(self) -> None:
        """A line says that something changed: it sounds, is silent, or is closed."""
        on = any(line.sounding for line in self._lines)
        if on != self.store.state.sounding:
            self.store.tell(s.Sounding(on))
        else:
            self.store.notify()

    async def _new_key(self) -> str:
        assert self._session is not None
        self._wanted = None  # it is answered now, or the server wants it again
        grant = await self._server.reconnect(self._session)
        self._going = self._ended = False
        if grant.session != self._session:
            self._opened(grant)  # the old one is over; its conversation goes on
        return grant.key

    async def _hold(self, line: Line) -> Line:
        """While the call is up; the one that took its place. Raises `_CallLost`."""
        try:
            while True:
                await self._until(lambda: line.closed or self._wanted is not None)
                if line.closed or self._wanted == "lost":
                    # Where the server ends the session the call goes first, and why comes behind.
                    await self._until(lambda: self._ended, _LAST_WORD)
                    raise _CallLost("the connection broke")
                following = await self._taken_over(line)
                if following is not None:
                    return following
        finally:
            if not line.closed:
                await line.hang_up()  # the session is on the next one, so nobody hears a gap

    async def _taken_over(self, old: Line) -> Line | None:
        """The call that the session went over to; both are up until the server has moved. None
        where nothing came of it and the old one goes on."""
        before = self._moves
        line = await self._beside(old)
        if line is None:
            return None
        await self._until(lambda: self._moves > before or old.closed or line.closed)
        return None if line.closed else line

    async def _beside(self, old: Line) -> Line | None:
        """Before a cap it is tried again; another provider that does not want us is not asked
        twice."""
        for tries in range(_BESIDE if self._wanted == "cap" else 1, 0, -1):
            if old.closed:
                return None
            try:
                return await self._place(None)
            except (NoLine, Refusal):
                self._wanted = None
                if tries > 1:
                    await self._pause(2.0)
        return None

    # --- In writing ----------------------------------------------------------------------------

    async def _correspond(self, conversation: str | None) -> None:
        if conversation is None:
            conversation = await self._server.new_conversation()
        else:
            self.store.tell(s.Recalled(await self._server.messages(conversation)))
        self.store.tell(s.Opened(None, conversation))
        self.store.tell(s.Call("up"))
        await self._until(lambda: False)

    async def _write(self) -> None:
        """What is typed goes out in order, each until it is known to have arrived."""
        while True:
            key, text = await self._typing.get()
            await self.store.until(lambda: self.store.state.conversation is not None)
            await self._send(key, text)

    async def _send(self, key: str, text: str) -> None:
        failures = 0
        while True:
            conversation = self.store.state.conversation
            assert conversation is not None
            try:
                session, at = await self._server.write(conversation, text, key)
            except Refusal as fault:
                failures += 1
                if not fault.passing or failures >= _TRIES:
                    self.store.tell(s.Refused(key, f"Not sent: {fault.message}"))
                    return
                self.store.tell(s.Told(f"{fault.message} I try again."))
                pause = doubling(failures, 0.5, _LONGEST_PAUSE)
                await asyncio.sleep(max(pause, fault.retry_after or 0.0))
                continue
            if failures:
                self.store.tell(s.Told(""))
            if session != self._session:  # written sessions end by themselves; the next one answers
                self._session = session
                self.store.tell(s.Opened(session, conversation))
                self._follow(session, 0, since=at)  # what was before is here already
            return

    # --- Approvals -----------------------------------------------------------------------------

    async def _decide(self, approval: str, *, granted: bool) -> None:
        """Once at a time. Of two answers the first counts, wherever it came from."""
        if approval in self._deciding:
            return
        self._deciding.add(approval)
        try:
            await self._server.decide(approval, granted=granted)
            self.store.tell(s.Decided(approval))
        except Refusal as fault:
            self.store.tell(s.Told(fault.message))
            with contextlib.suppress(Refusal):
                await self._read_approvals()
        finally:
            self._deciding.discard(approval)

    async def _read_approvals(self) -> None:
        while True:
            # A list from before the last event would take away a card that just came.
            asked = self._asked
            found = await self._server.approvals()
            if asked == self._asked:
                break
        self.store.tell(s.Asked(found, self._session))

    # --- Events --------------------------------------------------------------------------------

    def _follow(self, session: str, after: int, since: str = "") -> None:
        if self._following is not None:
            self._following.cancel()
        if self._group is not None:
            self._following = self._group.create_task(self._listen(session, after, since))

    async def _listen(self, session: str, position: int, since: str) -> None:
        """The stream of one session, from where it broke; it never loses its place."""
        failures = 0
        while True:
            try:
                async with self._server.events(session, position) as frames:
                    failures = 0
                    self.store.tell(s.Stream(up=True))
                    self._do(self._read_state(session))
                    async for frame in frames:
                        position = frame.position or position
                        if frame.name and str(frame.data.get("timestamp", since)) >= since:
                            await self._heard(session, s.Event(frame.name, frame.data))
            except Refusal as fault:
                if not fault.passing and not self._going:
                    words_ = f"The conversation broke off: {fault.message}"
                    self._finish(_Ended(s.Ending(words_, broken=True)))
                    return
            self.store.tell(s.Stream(up=False))
            failures += 1
            await asyncio.sleep(doubling(failures, 0.5, _LONGEST_PAUSE))

    async def _read_state(self, session: str) -> None:
        """The state is told when it changes, and never again: whoever was away has to ask."""
        before = self.store.state.voice
        with contextlib.suppress(Refusal):
            found = await self._server.state(session)
            if session == self._session and self.store.state.voice == before:
                self.store.tell(s.VoiceRead(str(found["state"])))
        with contextlib.suppress(Refusal):
            await self._read_approvals()

    async def _heard(self, session: str, event: s.Event) -> None:
        name, data = event.name, event.data
        if session != self._session:
            return
        match name:
            case "approval.requested":
                self._asked += 1
            case "session.expired":
                if self._going:
                    return  # for the user it goes on
                self._expired = str(data.get("reason"))
            case "session.ended":
                self._session_ended(str(data.get("reason", "")))
                return
            case "stream.reset":
                with contextlib.suppress(Refusal):
                    found = await self._server.session(session)
                    self.store.tell(s.Reread(found["transcript"]))
                return
            case "call.moved":
                self._moves += 1
            case "call.wanted":
                self._wanted = str(data.get("reason")) if data.get("beside") else "lost"
            case "session.moved" if data.get("owner"):
                self._do(self._read_state(session))
            case "session.moved":
                self._going, self._wanted = True, "lost"
            case "notification":
                action = data.get("action")
                self._going |= isinstance(action, dict) and action.get("do") == "reconnect"
            case _:
                pass
        self.store.tell(event)

    def _session_ended(self, reason: str) -> None:
        self._ended = True
        if self.desk is None:  # a written session: the next message has another
            self.store.tell(s.VoiceRead("disconnected"))
        elif self._over is not None:
            self.store.notify()  # it is what we asked for
        elif self._going or reason in _LOST:
            # The provider was lost for good, or we were for too long, or the server stops; the
            # conversation was not, and goes on in a new session.
            self._wanted = "lost"
            self.store.tell(s.Call("lost"))
        else:
            ending = s.Ending(words.ended_words(reason, self._expired))
            self._finish(_Ended(ending))

    # --- A script --------------------------------------------------------------------------------

    async def _recite(self, script: list[Words]) -> None:
        """Each is spoken, or written, when the assistant listens; after the last answer it is
        over."""
        for piece in script:
            await self.store.steady(words.may_speak, _SETTLED)
            await self._speak(piece)
        await self.store.steady(words.at_rest, 2 * _SETTLED)
        self._finish(_HungUp("All was said."))

    async def _speak(self, piece: Words) -> None:
        assert self.desk is not None
        said = _said_by_user(self.store.state)
        self.desk.say(piece.pcm)
        await self.store.until(lambda: not self.desk or not self.desk.saying)
        answered = await self.store.until(
            lambda: _said_by_user(self.store.state) > said or not words.may_speak(self.store.state),
            _UNHEARD,
        )
        if not answered:
            self.store.tell(s.Told(f"Nothing was heard of {piece.name}."))

    async def _release_key(self) -> None:
        """A terminal tells no key's release: it is a key that no longer repeats."""
        while True:
            await asyncio.sleep(0.05)
            if self._push.let_go(time.monotonic()):
                self._set_microphone()

    # --- The end ---------------------------------------------------------------------------------

    async def _leave(self) -> None:
        """What was heard is told, the server hears that it is over, and has its last word."""
        for line in list(self._lines):
            await line.hang_up()
        if self.desk is None or self._session is None or self._ended:
            return
        with contextlib.suppress(Refusal):
            await self._server.end(self._session)
            await self.store.until(lambda: self._ended, _FAREWELL)

    def _check(self) -> None:
        if self._over is not None:
            raise self._over

    async def _until(self, wanted: Callable[[], bool], seconds: float | None = None) -> None:
        await self.store.until(lambda: self._over is not None or wanted(), seconds)
        self._check()

    async def _pause(self, seconds: float) -> None:
        await self._until(lambda: False, seconds)


def _said_by_user(state: s.State) -> int:
    return sum(line.kind == "user" and line.done for line in state.lines)


def _loading(answer: Any) -> str:
    """How far the fetching of the models is, all together."""
    models = answer.get("models") or ()
    total = sum(one.get("total", 0) for one in models)
    received = sum(min(one.get("received", 0), one.get("total", 0)) for one in models)
    if answer.get("failed"):
        return ""
    return f"The server loads its models, {100 * received // total} %" if received < total else ""


def _first(faults: BaseExceptionGroup[Any]) -> BaseException:
    inner = faults.exceptions[0]
    return _first(inner) if isinstance(inner, BaseExceptionGroup) else inner
