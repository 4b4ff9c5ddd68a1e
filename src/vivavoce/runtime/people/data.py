"""All that is kept of a user: given to them, or deleted.

Whatever has an owner in the store is part of it, with how far delegated work is, and the files of
a workspace that is theirs alone. Both exports are written as they are read: nobody's data has to
fit into memory. Deleting ends first what could still write, at every server: each has calls, work
and files of its own.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
import os
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Protocol

import orjson

from vivavoce.errors import VivavoceError, found
from vivavoce.logs import fields
from vivavoce.runtime.ports import Clock, Store
from vivavoce.runtime.relay import Relay
from vivavoce.wire.clean import clean_line
from vivavoce.wire.records.plans import Intent
from vivavoce.wire.records.talk import Conversation, Entry, Kind, iso
from vivavoce.wire.values import Record

log = logging.getLogger(__name__)

Format = Literal["json", "markdown"]
VERSION = 1
_CHUNK = 64 * 1024
_PIECE = 48 * 1024  # of a file; divisible by three, so that base64 can be written piece by piece
_PAGE = 100
_ALL = 1_000_000
_ELSEWHERE_SECONDS = 30.0
"""For another server to end what runs there, and to delete."""
_SPEAKERS = {Kind.USER: "You", Kind.ASSISTANT: "Assistant", Kind.SYSTEM: "System"}


class Files(Protocol):
    """The workspaces."""

    def own(self, user_id: str) -> Path | None:
        """The folder that is this user's alone, if there is one."""
        ...

    def files(self, user_id: str) -> Sequence[str]:
        """The regular files in it, by their paths from it; no link is followed."""
        ...

    def opened(self, user_id: str, path: str) -> int:
        """One of them, to be read, if it is still there and reached through no link: an export
        takes as long as its reader, and the user's commands go on meanwhile. Raises `OSError`."""
        ...

    def forget(self, user_id: str) -> int:
        """Deletes it; how many files went."""
        ...


class Changes(Protocol):
    """What files were before tools changed them: kept so that it can be put back."""

    def kept(self, user_id: str) -> Iterator[dict[str, Any]]: ...

    def forget(self, user_id: str) -> None: ...


class Work(Protocol):
    """Delegated work, as far as it got."""

    async def kept(self, task_ids: Sequence[str]) -> Sequence[dict[str, Any]]: ...

    async def forget(self, user_id: str, task_ids: Sequence[str]) -> None:
        """Ends it, and keeps nothing of it."""
        ...


class Deleted(Record):
    """What went: rows by what they were."""

    sessions_ended: int
    rows: Mapping[str, int]
    files: int
    workspace_kept: bool
    """It is shared, or the operator's own folder: what is in it was not touched."""
    not_reached: tuple[str, ...] = ()
    """Servers that are there and did not answer: what they have on their disks they still have."""


async def nothing() -> None:
    """For servers whose brain keeps nothing."""


def _no_calls(user_id: str) -> AbstractAsyncContextManager[None]:
    """For who deletes while no server runs."""
    return contextlib.nullcontext()


class UserData:
    """`end` ends a user's live sessions and says how many; `clear` is for what the model keeps."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        files: Files,
        changes: Changes,
        work: Work,
        *,
        end: Callable[[str], Awaitable[int]],
        audit: Callable[[str, str, str, str], Awaitable[None]],
        clear: Callable[[], Awaitable[None]] = nothing,
        without_calls: Callable[[str], AbstractAsyncContextManager[None]] = _no_calls,
        relay: Relay,
    ) -> None:
        """`audit` is the journal's. `without_calls`: while it is entered no tool call of the user
        runs or begins here, and nothing is written of one that ran."""
        self._store, self._clock, self._files, self._work = store, clock, files, work
        self._changes, self._audit = changes, audit
        self._end, self._clear, self._without_calls = end, clear, without_calls
        self._relay = relay
        relay.serve("forget", self._forgotten_here)

    async def delete(self, user_id: str, *, counts: bool = False) -> Deleted:
        """`counts`: also how much was used today, which only the operator may forget."""
        async with self._without_calls(user_id):
            ended = await self._end(user_id)
            elsewhere = await self._forgotten_elsewhere(user_id)
            # Last of all: what others ended was still written.
            await self._work.forget(user_id, await self._tasks(user_id))
            rows = await self._store.forget(user_id, counts=counts)
            own = await asyncio.to_thread(self._files.own, user_id)
            files = await self._without_files(user_id)
        await self._clear()
        await self._audit("data", "everything of the user", "deleted", user_id)
        log.info("All that was kept of a user is deleted", extra=fields(rows=sum(rows.values())))
        there = elsewhere.values()
        return Deleted(
            sessions_ended=ended + sum(one.get("ended", 0) for one in there),
            rows=rows,
            files=files + sum(one.get("files", 0) for one in there),
            workspace_kept=own is None,
            not_reached=tuple(name for name, told in elsewhere.items() if not told),
        )

    async def _without_files(self, user_id: str) -> int:
        """How many went of their workspace here."""
        files = await asyncio.to_thread(self._files.forget, user_id)
        await asyncio.to_thread(self._changes.forget, user_id)
        return files

    async def _forgotten_elsewhere(self, user_id: str) -> dict[str, dict[str, int]]:
        """By server: how many files went there, and how many sessions ended. Nothing where it did
        not answer."""

        async def asked(name: str, epoch: int) -> dict[str, int]:
            try:
                of, wait = (name, epoch), _ELSEWHERE_SECONDS
                told, _ = await self._relay.ask("forget", of, user_id, {}, wait=wait)
            except VivavoceError:
                log.exception("Another server did not delete what it has of a user")
                return {}
            return told

        async with asyncio.TaskGroup() as group:
            others = await self._relay.others()
            asking = {one[0]: group.create_task(asked(*one)) for one in others}
        return {name: task.result() for name, task in asking.items()}

    async def _forgotten_here(
        self, user_id: str, given: dict[str, Any], plain: str
    ) -> tuple[dict[str, Any], str]:
        """What only this server has: the rows are deleted by whoever asks."""
        async with self._without_calls(user_id):
            ended = await self._end(user_id)
            await self._work.forget(user_id, await self._tasks(user_id))
            files = await self._without_files(user_id)
        await self._clear()
        return {"ended": ended, "files": files}, ""

    async def export(self, user_id: str, form: Format) -> AsyncIterator[bytes]:
        await self._audit("data", f"everything of the user, as {form}", "export begun", user_id)
        pieces = self._json(user_id) if form == "json" else self._markdown(user_id)
        async for piece in _gathered(pieces):
            yield piece

    async def conversation(
        self, conversation_id: str, user_id: str, form: Format
    ) -> tuple[Conversation, bytes]:
        """One conversation, to be kept or shared: as JSON what was said, called, returned and
        submitted; as Markdown what people read. Raises `NotFound`."""
        known = await self._store.conversation(conversation_id, user_id=user_id)
        talk = found(known, "Conversation", conversation_id)
        entries = await self._store.entries(conversation_id, user_id=user_id)
        submitted = await self._store.intents(user_id=user_id, conversation_id=conversation_id)
        await self._audit("data", f"one conversation, as {form}", "exported", user_id)
        now = self._clock.now()
        if form == "json":
            return talk, await asyncio.to_thread(_one_as_json, talk, entries, submitted, now)
        return talk, await asyncio.to_thread(_one_to_read, talk, entries, now)

    async def _tasks(self, user_id: str) -> list[str]:
        return [task.id for task in await self._store.tasks(user_id=user_id, limit=_ALL)]

    # --- JSON: everything -----------------------------------------------------------------

    async def _json(self, user_id: str) -> AsyncIterator[bytes]:
        about = {"format": VERSION, "user_id": user_id, "exported_at": iso(self._clock.now())}
        yield orjson.dumps(about)[:-1] + b',"data":{'
        current, first = "", True
        async for name, row in self._store.rows_of(user_id):
            if name != current:
                yield b"%s%s:[\n" % (b"\n]," if current else b"", orjson.dumps(name))
                current, first = name, True
            yield (b"" if first else b",\n") + _encoded(row)
            first = False
        yield b'\n]},"work":[' if current else b'},"work":['
        for number, row in enumerate(await self._work.kept(await self._tasks(user_id))):
            yield (b"," if number else b"") + b"\n" + _encoded(row)
        yield b'\n],"files":['
        for number, path in enumerate(await asyncio.to_thread(self._files.files, user_id)):
            yield (b"," if number else b"") + b"\n"
            async for piece in self._file(user_id, path):
                yield piece
        yield b'\n],"changes":['
        changes, first = self._changes.kept(user_id), True
        while (change := await asyncio.to_thread(next, changes, None)) is not None:
            yield (b"" if first else b",") + b"\n" + _encoded(change)
            first = False
        yield b"\n]}\n"

    async def _file(self, user_id: str, path: str) -> AsyncIterator[bytes]:
        # A name need not be UTF-8; JSON is.
        about = {"path": os.fsencode(path).decode(errors="replace")}
        try:
            opened = await asyncio.to_thread(self._files.opened, user_id, path)
        except OSError as fault:  # it went meanwhile, or is not to be read
            yield orjson.dumps(about | {"error": fault.strerror})
            return
        with os.fdopen(opened, "rb") as file:
            yield orjson.dumps(about)[:-1] + b',"base64":"'
            while piece := await asyncio.to_thread(file.read, _PIECE):
                yield base64.b64encode(piece)
        yield b'"}'

    # --- Markdown: what people read ---------------------------------------------------------

    async def _markdown(self, user_id: str) -> AsyncIterator[bytes]:
        person = await self._store.person(user_id)
        lines = ["# What this server keeps of you", ""]
        lines += [f"User `{user_id}`, {_day(self._clock.now())}.", ""]
        if person is not None:
            known = {key: value for key, value in vars(person).items() if value is not None}
            lines += ["## You", "", *(f"- {key}: {_line(known[key])}" for key in known), ""]
        yield _text(lines)
        yield _text(["## Conversations", ""])
        async for piece in self._conversations(user_id):
            yield piece
        async for piece in self._plans(user_id):
            yield piece
        yield _text(await self._rest(user_id))

    async def _conversations(self, user_id: str) -> AsyncIterator[bytes]:
        offset = 0
        while True:
            page, _ = await self._store.conversation_list(
                user_id=user_id, limit=_PAGE, offset=offset
            )
            for talk in page:
                title = _line(talk.title or "Untitled")
                yield _text([f"### {title}", "", f"Begun {_day(talk.created_at)}.", ""])
                for entry in await self._store.entries(talk.id, user_id=user_id):
                    yield _text(_said(entry))
            if len(page) < _PAGE:
                return
            offset += _PAGE

    async def _plans(self, user_id: str) -> AsyncIterator[bytes]:
        goals = await self._store.goals(user_id=user_id, limit=_ALL)
        steps = await self._store.milestones([goal.id for goal in goals], user_id=user_id)
        yield _text(["## Goals", ""])
        for goal in goals:
            when = f", by {_day(goal.target_at)}" if goal.target_at else ""
            lines = [f"- {_line(goal.statement)} ({goal.status}{when})"]
            lines += [f"  - {_line(step.title)}" for step in steps if step.goal_id == goal.id]
            yield _text(lines)
        yield _text(["", "## Tasks", ""])
        for todo in await self._store.todos(user_id=user_id, limit=_ALL):
            when = f", {_day(todo.scheduled_at)}" if todo.scheduled_at else ""
            yield _text([f"- {_line(todo.title)} ({todo.status}{when})"])
        yield _text(["", "## Delegated work", ""])
        for task in await self._store.tasks(user_id=user_id, limit=_ALL):
            yield _text([f"- {_line(task.title)} ({task.status}, {_day(task.created_at)})"])
            yield _text([*_quoted(task.result), ""] if task.result else [])

    async def _rest(self, user_id: str) -> list[str]:
        files = await asyncio.to_thread(self._files.files, user_id)
        counted: dict[str, int] = {}
        async for name, _ in self._store.rows_of(user_id):
            counted[name] = counted.get(name, 0) + 1
        listed = [f"- `{_line(path)}`" for path in files]
        changes = await asyncio.to_thread(lambda: list(map(_change, self._changes.kept(user_id))))
        rows = [f"- {count} of `{name}`" for name, count in counted.items()]
        words = "The JSON export has every one of these whole, the files, and what they were."
        undo = ["## Changes that can be undone", "", *changes, ""]
        return ["", "## Files", "", *listed, "", *undo, "## In all", "", words, "", *rows, ""]


def _one_as_json(
    talk: Conversation, entries: Sequence[Entry], submitted: Sequence[Intent], now: datetime
) -> bytes:
    about = {
        "format": VERSION,
        "exported_at": iso(now),
        "conversation": {
            "id": talk.id,
            "title": talk.title,
            "context_type": talk.context_type,
            "created_at": iso(talk.created_at),
            "summary": talk.summary,
        },
        "messages": [
            {
                "id": entry.id,
                "type": str(entry.kind),
                "text": entry.text,
                "at": iso(entry.created_at),
                "by": entry.modality,
                "session_id": entry.session_id,
                "data": entry.data,
            }
            for entry in entries
        ],
        "intents": [
            {
                "id": intent.id,
                "name": intent.name,
                "payload": intent.payload,
                "status": str(intent.status),
                "messages": list(intent.evidence),
                "at": iso(intent.created_at),
            }
            for intent in submitted
        ],
    }
    return orjson.dumps(about, default=str, option=orjson.OPT_INDENT_2) + b"\n"


def _one_to_read(talk: Conversation, entries: Sequence[Entry], now: datetime) -> bytes:
    head = [f"# {_line(talk.title or 'Untitled')}", ""]
    head += [f"Begun {_day(talk.created_at)}, exported {_day(now)}.", ""]
    return b"".join([_text(head), *(_text(_said(entry)) for entry in entries)])


def _change(kept: dict[str, Any]) -> str:
    new = ", which was new" if kept["base64"] is None else ""
    return f"- `{_line(kept['path'])}`{new}, {_day(kept['at'])}"


def _said(entry: Entry) -> list[str]:
    who = _SPEAKERS.get(entry.kind)
    if who is None:
        tool = _line(str(entry.data.get("tool_name") or entry.data.get("name") or "a tool"))
        who = f"Called {tool}" if entry.kind is Kind.TOOL_CALL else f"{tool} answered"
    return [f"**{who}**, {_day(entry.created_at)}:", "", *_quoted(entry.text), ""]


def _quoted(text: str) -> Iterator[str]:
    """Nothing in it can pass for a heading of ours."""
    return (f"> {line}".rstrip() for line in text.splitlines() or [""])


def _line(value: object) -> str:
    return clean_line(str(value))


def _day(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M %Z")


def _text(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode(errors="replace")


def _encoded(row: dict[str, Any]) -> bytes:
    if isinstance(row.get("data"), str):  # events are kept as they were encoded
        with contextlib.suppress(orjson.JSONDecodeError):
            row = {**row, "data": orjson.loads(row["data"])}
    return orjson.dumps(row, default=str)


async def _gathered(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """In chunks worth sending."""
    held, size = [], 0
    async for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= _CHUNK:
            yield b"".join(held)
            held, size = [], 0
    yield b"".join(held)
