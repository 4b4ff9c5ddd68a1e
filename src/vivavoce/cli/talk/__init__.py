"""`vivavoce talk`: a talk with any Vivavoce server from a terminal, aloud or in writing.

It is a client like the page, over the same doors, and needs no models. What is known is reduced
from facts without I/O (`core/`); around that are the server's requests (`server.py`), the line of
the sound (`line.py`), the talk itself (`talk.py`), the sound (`desk.py`, `sound.py`), and two ways
to show it (`screen.py`, `plain.py`).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vivavoce.cli.talk.desk import Desk
    from vivavoce.cli.talk.server import Server
    from vivavoce.cli.talk.talk import Talk, Words

URL = "http://127.0.0.1:8080"
BROKEN, WRONG, NOBODY, REFUSED = 1, 2, 3, 4
"""Exit codes; 0 is a talk that ended because somebody wanted that."""

DESCRIPTION = """\
Talk to a Vivavoce server: aloud where this machine has a microphone and a loudspeaker, else in
writing. The server needs to be running; no models are needed here.
"""
EPILOG = """\
keys:
  space, m   microphone off and on          p   push to talk: then space is held while you talk
  t, Enter   write instead (Esc: back)      s   stop the assistant
  y, n       yes or no to what it asks      q   hang up
  While you write: Ctrl-Y, Ctrl-N and Ctrl-C for yes, no and hanging up.

examples:
  vivavoce talk                                   the server on this machine
  vivavoce talk https://voice.example.org         another one
  vivavoce talk --resume 5f0c31e2-…               go on with a conversation
  echo "What is six times seven?" | vivavoce talk --text
  vivavoce talk --say question.wav --hear answer.wav

exit codes:
  0  it ended as it should       3  no server answers there
  1  it broke off                4  the server refused: its token, its limits, its agent
  2  a wrong option or file      130  Ctrl-C

environment:
  VIVAVOCE_AUTH_TOKEN   the server's token, where it asks for one
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "url", nargs="?", default=URL, metavar="URL", help="where the server is (%(default)s)"
    )
    parser.add_argument("--text", action="store_true", help="in writing, also where there is sound")
    parser.add_argument(
        "--resume", metavar="ID", help="go on with this conversation, or with that of a session"
    )
    parser.add_argument("--agent", metavar="NAME", help="only if it is this agent that is served")
    parser.add_argument(
        "--say",
        metavar="FILE.wav",
        action="append",
        type=Path,
        default=[],
        help="spoken in place of the microphone when the assistant listens; may be given several "
        "times; after the last answer it hangs up",
    )
    parser.add_argument(
        "--hear",
        metavar="FILE.wav",
        type=Path,
        help="recorded here in place of the loudspeaker; an older file is overwritten",
    )
    parser.add_argument(
        "--plain", action="store_true", help="lines of text, as in a pipe; for screen readers too"
    )
    parser.add_argument(
        "--token",
        help="the server's token; better in VIVAVOCE_AUTH_TOKEN, which ps does not show",
    )


@dataclass(frozen=True, slots=True)
class Wishes:
    """What was asked for on the command line."""

    url: str
    text: bool
    resume: str | None
    agent: str | None
    say: tuple[Path, ...]
    hear: Path | None
    plain: bool
    token: str | None


def run(args: argparse.Namespace) -> int:
    """One talk; its exit code."""
    try:
        from vivavoce.cli.talk.server import NoServer, NoVoice, Refusal, checked_url
        from vivavoce.cli.talk.sound import SoundGone
    except ModuleNotFoundError as missing:
        return _complain(_lacking(missing), WRONG)
    if args.text and (args.say or args.hear):
        return _complain("--text is without sound: leave --say and --hear out", WRONG)
    wishes = Wishes(
        url=checked_url(args.url),
        text=args.text,
        resume=args.resume,
        agent=args.agent,
        say=tuple(args.say),
        hear=args.hear,
        plain=args.plain or not (sys.stdin.isatty() and sys.stdout.isatty()),
        token=args.token or os.environ.get("VIVAVOCE_AUTH_TOKEN"),
    )
    try:
        with _unwrapped():
            return asyncio.run(_talk(wishes))
    except ModuleNotFoundError as missing:
        return _complain(_lacking(missing), WRONG)
    except NoServer as fault:
        return _complain(str(fault), NOBODY)
    except SoundGone as fault:
        return _complain(str(fault), BROKEN)
    except NoVoice:
        words = f"The provider behind {wishes.url} takes no sound over a WebSocket; try --text."
        return _complain(words, REFUSED)
    except Refusal as refusal:
        return _complain(*_refused(refusal, wishes))


def _refused(refusal: Any, wishes: Wishes) -> tuple[str, int]:
    if refusal.status == 0:
        advice = "Start one with `vivavoce serve`, or say where it is: vivavoce talk URL"
        return f"{refusal.message} {advice}", NOBODY
    if refusal.status == 401:
        if wishes.token:
            return f"The server at {wishes.url} does not take this token.", REFUSED
        words = f"The server at {wishes.url} wants a token: --token, or VIVAVOCE_AUTH_TOKEN."
        return words, REFUSED
    again = ""
    if refusal.retry_after:
        again = f" Try again in {round(refusal.retry_after)} seconds."
    return f"{refusal.message}{again}", REFUSED


def _complain(words: str, code: int) -> int:
    print(f"vivavoce: {words}", file=sys.stderr)
    return code


def _lacking(missing: ModuleNotFoundError) -> str:
    return (
        f"`vivavoce talk` needs the package {missing.name}, which is not installed: "
        "pip install 'vivavoce[talk]'"
    )


@contextmanager
def _unwrapped() -> Iterator[None]:
    """What went wrong, without the task groups it went through."""
    try:
        yield
    except BaseExceptionGroup as group:
        fault: BaseException = group
        while isinstance(fault, BaseExceptionGroup):
            fault = fault.exceptions[0]
        raise fault from None


async def _talk(wishes: Wishes) -> int:
    from vivavoce.cli.talk.server import NoVoice, server_at

    script = _script(wishes)
    async with server_at(wishes.url, wishes.token) as server:
        agent = await _met(server, wishes)
        resume = await server.conversation_of(wishes.resume) if wishes.resume else None
        async with _sound(wishes) as sound:
            try:
                return await _one(server, wishes, agent, sound, resume, script)
            except NoVoice:
                if wishes.say or wishes.hear:
                    raise
        written = _Sound(None, note="In writing: this server's provider takes no sound from here.")
        return await _one(server, wishes, agent, written, resume, [])


async def _one(
    server: Server,
    wishes: Wishes,
    agent: str,
    sound: _Sound,
    resume: str | None,
    script: list[Words],
) -> int:
    from vivavoce.cli.talk.core.state import Began
    from vivavoce.cli.talk.store import Store
    from vivavoce.cli.talk.talk import Talk

    store = Store()
    store.tell(
        Began(
            "text" if sound.desk is None else "voice",
            agent,
            sound.microphone,
            sound.speaker,
            sound.note,
        )
    )
    talk = Talk(server, store, sound.desk)
    with _unwrapped():
        async with _shown(talk, wishes):
            ending = await talk.run(resume, script or None)
    if ending.broken or not wishes.plain:
        print(ending.words, file=sys.stderr)
    if conversation := store.state.conversation:
        where = "" if wishes.url == URL else f" {wishes.url}"
        print(f"Go on with: vivavoce talk{where} --resume {conversation}", file=sys.stderr)
    return BROKEN if ending.broken else 0


async def _met(server: Server, wishes: Wishes) -> str:
    """The agent that is served; whether it is the right one, and whether we may talk to it."""
    from vivavoce.cli.talk.server import Refusal

    await server.ready()
    agent = await server.agent()
    if wishes.agent and agent and wishes.agent != agent:
        words = f"The server at {wishes.url} serves the agent '{agent}', not '{wishes.agent}'."
        raise Refusal(404, "agent", words)
    return agent


def _script(wishes: Wishes) -> list[Words]:
    if not wishes.say:
        return []
    from vivavoce.cli.talk.sound import read_wav
    from vivavoce.cli.talk.talk import Words

    return [Words(path.name, read_wav(path)) for path in wishes.say]


@dataclass(frozen=True, slots=True)
class _Sound:
    """A desk with what drives it, or none where there is no sound; and words about it."""

    desk: Desk | None
    microphone: str = ""
    speaker: str = ""
    note: str = ""


@asynccontextmanager
async def _sound(wishes: Wishes) -> AsyncIterator[_Sound]:
    if wishes.text:
        yield _Sound(None)
        return
    from vivavoce.cli.talk import sound
    from vivavoce.cli.talk.desk import Desk

    remote = any(os.environ.get(name) for name in ("SSH_CONNECTION", "SSH_TTY"))
    microphone, speaker = not wishes.say, wishes.hear is None and not remote
    async with AsyncExitStack() as stack:
        desk = Desk()
        desk.scripted = not microphone
        source = sound.Source("", "")
        try:
            if remote and microphone:
                raise sound.NoDevices("over SSH your microphone is elsewhere")
            if microphone or speaker:
                stack.enter_context(sound.quiet_libraries())
                source = sound.find_devices(microphone=microphone, speaker=speaker)
                driven = sound.by_devices(desk, microphone=microphone, speaker=speaker)
                await stack.enter_async_context(driven)
            else:
                await stack.enter_async_context(sound.by_the_clock(desk))
        except sound.NoDevices as why:
            if microphone:
                yield _Sound(None, note=f"In writing, since {why}.")
                return
            source = sound.Source("", "", f"Nothing is played, since {why}.")
            await stack.enter_async_context(sound.by_the_clock(desk))
        stack.enter_context(sound.recorded(desk, wishes.hear))
        heard = source.microphone or ", ".join(path.name for path in wishes.say)
        played = source.speaker or (wishes.hear.name if wishes.hear else "nothing")
        yield _Sound(desk, heard, played, source.advice)


@asynccontextmanager
async def _shown(talk: Talk, wishes: Wishes) -> AsyncIterator[None]:
    if wishes.plain:
        from vivavoce.cli.talk import plain

        typed = None if sys.stdin is None or sys.stdin.closed else sys.stdin
        async with plain.shown(talk, sys.stdout, sys.stderr, typed):
            yield
        return
    from vivavoce.cli.talk import screen

    async with screen.shown(talk):
        yield
