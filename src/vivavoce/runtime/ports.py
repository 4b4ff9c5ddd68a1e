"""What the runtime needs of others, as small protocols.

`store` and `tools` fill them and import nothing else of ours but `wire` and
`errors`. The fakes in `vivavoce.testing` fill those of time and of the provider.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import field
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol

from vivavoce.errors import ToolFailed
from vivavoce.wire.hints import bare
from vivavoce.wire.records.plans import (
    AccessToken,
    ConversationSummary,
    Delivery,
    Goal,
    Hit,
    Intent,
    Milestone,
    Person,
    Reminder,
    Spent,
    Todo,
    Watch,
)
from vivavoce.wire.records.reach import OneTimeKey, Purpose, PushMessage, PushSubscription
from vivavoce.wire.records.talk import (
    Change,
    Conversation,
    Entry,
    LogEvent,
    Origin,
    Recording,
    SessionSummary,
    Snapshot,
    Status,
    ToolCall,
    ToolStats,
    VoiceSession,
)
from vivavoce.wire.records.work import Approval, AuditEnds, AuditLine, Role, Task
from vivavoce.wire.values import Value

# --- Time -----------------------------------------------------------------------


class Clock(Protocol):
    """The wall and the stopwatch; `ManualClock` moves by hand."""

    def now(self) -> datetime: ...
    def monotonic(self) -> float: ...
    async def sleep(self, seconds: float) -> None: ...


# --- Store ----------------------------------------------------------------------


class LogBounds(Value):
    """`oldest` is the first position still kept, `latest` the last given (0: none yet)."""

    oldest: int
    latest: int


class Retention(Value):
    """How long things are kept, in seconds; None is for ever (seed 000 §7.2)."""

    snapshots: float | None = 24 * 3600
    recordings: float | None = 24 * 3600
    log: float | None = 7 * 24 * 3600
    conversations: float | None = None
    audit: float | None = None


class InstanceSeen(Value):
    """A server that uses this store: `lease_until` is None once its life is over."""

    name: str
    epoch: int
    lease_until: datetime | None


class Claimed(Value):
    """What is this server's from now on. The records still name whoever left them, or nobody where
    they were let go of."""

    gone: tuple[str, ...] = ()
    """Servers whose lease had run out."""
    sessions: tuple[VoiceSession, ...] = ()
    tasks: tuple[Task, ...] = ()
    approvals: tuple[Approval, ...] = ()


class Asked(Value):
    """What one server asks another: `what` for this user, with what is `given` as JSON; `plain` is
    kept as it is. It is answered when there is an `answer`."""

    id: str
    user_id: str
    owner: str
    epoch: int
    what: str
    given: str
    plain: str = ""
    answer: str | None = None


class Leases(Protocol):
    """Who of several servers looks after what. From `join` on, what a store writes is written in
    that life of that name, new sessions, tasks and approvals are its own, and everything is
    refused with `Fenced` once another server has ended the life."""

    async def join(self, name: str, lease: float | None) -> int:
        """The epoch of the life; 0 where one of this name goes on. None: there is nobody else."""
        ...

    async def renew(self, lease: float) -> bool:
        """Does the life go on? From now on for so many seconds."""
        ...

    async def leave(self) -> None:
        """The life is over; whatever it still looked after, others may claim."""
        ...

    async def release(self, session_id: str) -> bool:
        """Another server may claim it at once. False where it was not ours."""
        ...

    async def own_task(self, task_id: str) -> None: ...

    async def claim(self, limit: int = 10) -> Claimed:
        """What is looked after by nobody, at most so many of each kind. A store that never joined
        may look, and takes nothing."""
        ...

    async def instances(self) -> list[InstanceSeen]:
        """Every name there ever was, by name."""
        ...

    async def ask(self, asked: Asked) -> None: ...

    async def asked(self) -> list[Asked]:
        """What others ask of this life and have no answer to, oldest first."""
        ...

    async def answer(self, ask_id: str, answer: str, plain: str = "") -> None: ...

    async def take_answer(self, ask_id: str) -> Asked | None:
        """Once it is there; and then it is gone."""
        ...

    async def drop_ask(self, ask_id: str) -> None: ...

    async def is_held(self, owner: str | None, epoch: int | None) -> bool:
        """Does that life go on, and is it another's than ours?"""
        ...


class Journal(Protocol):
    """The way to write and to announce: durable first, heard by all after."""

    async def commit(self, changes: Sequence[Change]) -> list[LogEvent]: ...


class Plans(Protocol):
    """Goals and to-dos of somebody, wherever they are kept. Whatever belongs to another user is
    not there."""

    async def goal(self, goal_id: str, *, user_id: str) -> Goal | None: ...

    async def goals(
        self, *, user_id: str, status: str | None = None, limit: int = 50, offset: int = 0
    ) -> list[Goal]:
        """Newest first."""
        ...

    async def todo(self, todo_id: str, *, user_id: str) -> Todo | None: ...

    async def todos(
        self, *, user_id: str, open_only: bool = False, limit: int = 50, offset: int = 0
    ) -> list[Todo]:
        """By the time they are due, those without one last."""
        ...


class AgendaStore(Plans, Protocol):
    """People, their plans and what they said: reads; writes are changes (`Put`) of a commit."""

    async def person(self, user_id: str) -> Person | None: ...

    async def milestones(self, goal_ids: Sequence[str], *, user_id: str) -> list[Milestone]:
        """In order of goal and position."""
        ...

    async def done_todos(self, *, user_id: str, limit: int, offset: int = 0) -> list[Todo]:
        """Those that are ticked off, the last one first."""
        ...

    async def to_look_at(self, *, before: datetime, limit: int) -> list[Watch]:
        """To-dos of every user that somebody has to look at by then, the first one first."""
        ...

    async def next_look(self) -> datetime | None:
        """When there is one to look at."""
        ...

    async def reminders(
        self, users: Sequence[str], *, waiting: bool = False, limit: int = 50
    ) -> list[Reminder]:
        """Of these users, the latest first; those that wait to be told, the oldest first."""
        ...

    async def reminders_named(self, ids: Sequence[str]) -> list[Reminder]:
        """Of every user, for the server itself."""
        ...

    async def claim_reminders(
        self, ids: Sequence[str], *, by: str, now: datetime, until: datetime
    ) -> list[str]:
        """Which of them this server has for itself until then, to tell them: those that wait, and
        that no other server has."""
        ...

    # --- Intents and the outbox ---------------------------------------------------------

    async def intent(self, intent_id: str, *, user_id: str) -> Intent | None: ...

    async def intents(
        self, *, user_id: str, conversation_id: str | None = None, limit: int = 50
    ) -> list[Intent]:
        """Newest first."""
        ...

    async def due_deliveries(
        self, *, before: datetime, limit: int = 50, after: Delivery | None = None
    ) -> list[Delivery]:
        """Of every user: pending, due, and the oldest pending one of its intent; oldest first.
        `after` goes on behind one that was read before."""
        ...

    async def deliveries(self, intent_id: str) -> list[Delivery]:
        """Of one intent, oldest first: for the server itself."""
        ...

    # --- Conversations, as people read them ---------------------------------------------

    async def conversation_list(
        self, *, user_id: str, context_type: str | None = None, limit: int = 20, offset: int = 0
    ) -> tuple[list[ConversationSummary], int]:
        """A page, the one with the newest message first, and how many there are in all."""
        ...

    async def conversation_listed(
        self, conversation_id: str, *, user_id: str
    ) -> ConversationSummary | None:
        """One, as the list shows it."""
        ...

    async def messages_before(
        self,
        conversation_id: str,
        *,
        user_id: str,
        before: str | None = None,
        limit: int = 100,
        said_only: bool = False,
    ) -> tuple[list[Entry], bool]:
        """A conversation from its end, as many rows as asked for, however long it is: the last
        ones before the entry with this id (or of all), oldest first, and whether there are more.
        `said_only`: no calls, no results, nothing of the system."""
        ...

    async def has_message(self, message_id: str, *, conversation_id: str, user_id: str) -> bool: ...

    async def search(self, query: str, *, user_id: str, limit: int = 20) -> list[Hit]:
        """Messages with all these words (the last may be a beginning), best first, each with the
        title of its conversation. Whatever the query holds, it is words and no syntax."""
        ...

    # --- What it took -------------------------------------------------------------------

    async def spent(self, *, user_id: str, since: datetime) -> Spent:
        """Of the sessions that began since then."""
        ...


class Store(AgendaStore, Leases, Protocol):
    """Durable memory. `commit` returns when it is on disk, never before."""

    async def open(self) -> None: ...
    async def close(self) -> None: ...

    async def commit(self, changes: Sequence[Change]) -> list[LogEvent]:
        """All or nothing; the announced events come back with their positions, in order.

        Raises `Conflict` for a `PutSession(new=True)` whose id is taken.
        """
        ...

    async def conversation(self, conversation_id: str, *, user_id: str) -> Conversation | None: ...

    async def has_conversation(self, conversation_id: str) -> bool:
        """Whoever's it is: for the server itself."""
        ...

    async def session(self, session_id: str, *, user_id: str | None) -> VoiceSession | None:
        """`user_id=None` is for the server itself (recovery), never for a door."""
        ...

    async def summary(self, session_id: str, *, user_id: str) -> SessionSummary | None: ...

    async def sessions(
        self, *, user_id: str, status: Status | None = None, limit: int = 20
    ) -> list[SessionSummary]:
        """Newest first."""
        ...

    async def active_sessions(self) -> list[VoiceSession]:
        """Of every user; what a restart has to pick up or close."""
        ...

    async def session_totals(self) -> tuple[int, float]:
        """How many there ever were, and their mean duration in milliseconds once ended."""
        ...

    async def entries(self, conversation_id: str, *, user_id: str) -> list[Entry]:
        """The whole transcript, in the order of the conversation."""
        ...

    async def entries_like(
        self,
        conversation_id: str,
        *,
        user_id: str,
        ids: Sequence[str],
        said: Sequence[str] = (),
        told: Sequence[tuple[str, datetime]] = (),
        around: timedelta = timedelta(),
    ) -> list[Entry]:
        """Those with one of these ids, those of the last that say the same as one of `said`, and
        those that say the same as one of `told` at about its time; in the order of the
        conversation, of which the rest is not read. There may be more than were asked for."""
        ...

    async def sessions_of(self, conversation_id: str, *, user_id: str) -> list[VoiceSession]:
        """Its last sessions, the newest first."""
        ...

    async def tool_call(self, call_id: str, *, user_id: str) -> ToolCall | None: ...

    async def open_calls(self, session_id: str) -> list[ToolCall]:
        """Started, outcome not known."""
        ...

    async def recent_calls(self, *, user_id: str, limit: int = 20) -> list[ToolCall]:
        """Settled ones, newest first: what the workspace remembers."""
        ...

    async def tool_stats(self, tool: str, *, user_id: str | None = None) -> ToolStats:
        """Of one user's calls; `None` is everybody's, for whoever runs the server."""
        ...

    async def access_tokens(self) -> list[AccessToken]:
        """By name, those that no longer work included: for whoever runs the server."""
        ...

    async def take_key(self, digest: str, purpose: Purpose) -> OneTimeKey | None:
        """The key of this hash, which is gone now: of several that ask, one has it. It may be too
        old."""
        ...

    async def push_subscriptions(self, *, user_id: str) -> list[PushSubscription]:
        """The oldest first."""
        ...

    async def push_subscription(self, subscription_id: str) -> PushSubscription | None:
        """Whoever's it is: for the server itself."""
        ...

    async def claim_pushes(
        self,
        *,
        now: datetime,
        until: datetime,
        limit: int,
        of_user: int,
        but: Collection[str] = (),
    ) -> list[PushMessage]:
        """Notices that are due, for whoever asks alone until then: at most so many of one user,
        the first of each before the second of anybody, and none of some."""
        ...

    async def next_push(self) -> datetime | None:
        """When the next notice is due, or is somebody's to look at."""
        ...

    async def task(self, task_id: str, *, user_id: str | None) -> Task | None:
        """`user_id=None` is for the server itself."""
        ...

    async def tasks(
        self, *, user_id: str, open_only: bool = False, untold_only: bool = False, limit: int = 50
    ) -> list[Task]:
        """Newest first. Untold: over, and the user has not heard how it ended."""
        ...

    async def open_tasks(self) -> list[Task]:
        """Of every user, oldest first: what a restart has to look after."""
        ...

    async def approval(self, approval_id: str, *, user_id: str) -> Approval | None: ...

    async def pending_approvals(self, *, user_id: str | None = None) -> list[Approval]:
        """Oldest first; `None` is every user's, for the server itself."""
        ...

    async def written_with(self, roles: Sequence[str], *, user_id: str, since: datetime) -> bool:
        """Is something of their plans, or of who they are, written by one of these roles? Also
        what was taken away `since`."""
        ...

    async def standing_approvals(self, *, user_id: str, limit: int = 1000) -> list[Approval]:
        """Each yes that goes further than its call and was not taken back, the newest first."""
        ...

    async def audit(
        self, *, after: int = 0, user_id: str | None = None, limit: int = 1000
    ) -> list[AuditLine]:
        """The audit trail in its order, of one user or of all: for the operator."""
        ...

    async def audit_ends(self) -> AuditEnds: ...

    async def snapshot(self, session_id: str, *, user_id: str) -> Snapshot | None: ...

    async def recording(self, session_id: str) -> list[Recording] | None:
        """What a session went through, in its parts, for the operator: none where nothing is
        recorded, and None where there is no such session."""
        ...

    async def events(
        self,
        *,
        after: int,
        limit: int,
        user_id: str | None = None,
        session_id: str | None = None,
        upto: int | None = None,
    ) -> list[LogEvent]:
        """The log after a position, in order. A reader that goes on from the last
        position it saw misses nothing, however many writers there are."""
        ...

    async def last_events(
        self, kinds: Sequence[str], *, session_ids: Sequence[str], user_id: str, limit: int
    ) -> list[LogEvent]:
        """The newest of these types that the log still has, oldest of them first."""
        ...

    async def log_bounds(self) -> LogBounds: ...

    async def sweep(self, retention: Retention, now: datetime) -> int:
        """Delete what is older than it should be; how many rows went."""
        ...

    def rows_of(self, user_id: str) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        """All that is kept of this user, a table after another: its name, and a row."""
        ...

    async def forget(self, user_id: str, *, counts: bool = False) -> dict[str, int]:
        """Deletes all that is kept of this user, from the files too; how many rows of what. The
        places of their events in the log stay, empty. `counts`: also how much they used today."""
        ...

    def foreign_commits(self) -> AsyncIterator[None]:
        """Wakes when another process has appended to the log; never, where there is none."""
        ...


# --- Provider -------------------------------------------------------------------


class Voice(Value):
    id: str
    name: str
    description: str
    recommended: bool = False


class Capabilities(Value):
    """What differs between providers and models, as data."""

    context_tokens: int
    """Of one answer: instructions, tools and the talk."""
    session_seconds: float
    voices: tuple[Voice, ...]
    pictures: bool = False
    """Can its model look at images?"""
    wrapped_tools: bool = False
    """Does it take a client's tools only behind one of ours (`tool_call`)?"""
    history_tokens: int | None = None
    """Of a talk that goes on in a new call: more than that it would have to read for long before
    it can answer. None: as much as there is room for."""


class Call(Value):
    """A call at the provider: the answer for the browser, the id for the sideband."""

    call_id: str
    sdp_answer: str


class AudioCall(Value):
    """A call that waits for its client: where to connect, and with what, once, within a minute."""

    call_id: str
    path: str
    secret: str


class Closed(Value):
    """How a sideband ended. A clean close is a hang-up; a 1012 is a restart."""

    code: int
    reason: str = ""

    @property
    def hung_up(self) -> bool:
        return self.code in (1000, 1001)

    @property
    def expired(self) -> bool:
        """Does the provider say that its own cap was reached?"""
        return "session_expired" in self.reason


# --- Tools ----------------------------------------------------------------------


class ToolExample(Value):
    description: str
    arguments: Mapping[str, Any]
    expected_output: str
    answer: str = ""
    """What is said once it is done, where that has a manner of its own."""


OWN_TOOLS = frozenset(
    {"current_time", "calculate", "wait", "read_output", "ask_user", "done", "give_up"}
    | {"read_file", "glob", "grep", "write_file", "edit_file", "undo_change", "bash"}
    | {"web_fetch", "web_search", "task", "list_tasks", "cancel_task", "answer_task", "tool_call"}
)
"""Names of our own tools, also of those that are not offered now. What a call may do is judged by
its tool's name: nobody else's tool is given one of these."""
APP = "app"
"""Whose the tools of a client are. No MCP server has this name."""


class ToolDefinition(Value):
    """A tool as the model sees it, and what the server knows besides."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    category: str = "general"
    timeout: float = 60.0
    examples: tuple[ToolExample, ...] = ()
    changes: bool = False
    """Does it change the world? Such a call is never run again when nobody knows how it ended."""
    server: str = ""
    """The MCP server that it is of."""
    trusted: bool = False
    """Does the configuration trust what that server says of it?"""

    @property
    def described(self) -> str:
        """As models are told."""
        lines = [
            f'Example: "{e.description}" {json.dumps(dict(e.arguments))}'
            + (f' "{e.answer}"' if e.answer else "")
            for e in self.examples
        ]
        return "\n".join([self.description, *lines])

    def function(self) -> dict[str, Any]:
        """The shape of OpenAI's function calling (seed 003 §4.1).

        Examples are lines of the description: small models learn more from one than from a page.
        """
        return {
            "type": "function",
            "name": self.name,
            "description": self.described,
            "parameters": bare(self.parameters),
        }

    def hinted(self) -> dict[str, Any]:
        """The same with its hints, for our own engine."""
        return {**self.function(), "parameters": dict(self.parameters)}


class Report(Protocol):
    """Progress: a message, a percentage where one is known, and figures for who draws it."""

    async def __call__(
        self,
        message: str,
        percentage: int | None = None,
        details: Mapping[str, object] | None = None,
    ) -> None: ...


async def no_report(
    message: str, percentage: int | None = None, details: Mapping[str, object] | None = None
) -> None:
    """For those who do not listen."""


Level = Literal["info", "warning", "error"]


class Display(Protocol):
    """Words for the user's screen: neither spoken nor read by the model (seed 000 §3.1,
    `display_message`)."""

    async def __call__(self, message: str, level: Level = "info") -> None: ...


async def no_display(message: str, level: Level = "info") -> None:
    """For calls behind which there is no screen."""


class Asking(Protocol):
    """Puts a question to the user and waits for their words, by voice or by click."""

    async def __call__(self, question: str, choices: Sequence[str] = ()) -> str:
        """Raises `ToolFailed` when nobody can be asked, or nobody answers in time."""
        ...


async def nobody(question: str, choices: Sequence[str] = ()) -> str:
    """For calls behind which there is no one to ask."""
    raise ToolFailed("There is nobody to ask here")


OutputKind = Literal["text", "code", "files", "log", "matches", "json"]
"""How an output may be cut when it is too long for the model."""


class Picture(Value):
    """`data` is base64, `mime_type` such as image/png."""

    mime_type: str
    data: str


class ToolOutput(Value):
    """What a tool says, when it is more than plain words (seed 000 §3.4)."""

    text: str
    kind: OutputKind = "text"
    pictures: tuple[Picture, ...] = ()
    files_changed: tuple[str, ...] = ()
    """Relative to the workspace, for what it remembers."""
    failed: str = ""
    """Why it is no success, though there is something to read: "Failed (exit code 1)."."""
    exit_code: int | None = None
    frame: tuple[int, int] = (0, 0)
    """Lines before and after its entries, where it is a list: they are not counted as such."""


class ToolContext(Value):
    """Who calls, from where, and how to tell of progress."""

    user_id: str
    session_id: str | None = None
    conversation_id: str | None = None
    call_id: str = ""
    origin: Origin = "model"
    report: Report = field(default=no_report)
    display: Display = field(default=no_display)
    ask: Asking = field(default=nobody)
    task_id: str | None = None
    """The task on whose behalf it is called, if any."""
    role: Role = "operator"


class Unwrapped(Value):
    """A call that came inside of another; `call_id` is what the model would call it."""

    name: str
    arguments: str
    call_id: str


class Toolbox(Protocol):
    """The tools there are. Built-ins, plug-ins, MCP and intents all come through here."""

    def definitions(self, names: Sequence[str] | None = None) -> list[ToolDefinition]:
        """Those that can do something now: all, or the named ones, in the registry's order; an
        unknown one: `ToolNotFound`."""
        ...

    def definition(self, name: str) -> ToolDefinition:
        """Raises `ToolNotFound`."""
        ...

    def check(self, name: str, arguments: object) -> dict[str, Any]:
        """The arguments, valid against the tool's JSON Schema, or `InvalidArguments`
        with `tool` and, where that is what is wrong, `missing_params` in its details."""
        ...

    def describe(self, name: str, arguments: Mapping[str, Any]) -> str:
        """What a person reads while it runs: "Reading file src/main.py"."""
        ...

    def wants(self, name: str, arguments: Mapping[str, Any]) -> str:
        """What it is about to do, as one asks for it: "change src/main.py", "run the tests"."""
        ...

    def changes(self, name: str, arguments: Mapping[str, Any]) -> bool:
        """Does this very call change something?"""
        ...

    async def place(self, name: str, arguments: Mapping[str, Any], user_id: str) -> str | None:
        """Where the file really is that this call writes, beneath the user's workspace, links
        resolved; None where that cannot be told."""
        ...

    async def run(
        self, name: str, arguments: Mapping[str, Any], context: ToolContext
    ) -> str | ToolOutput:
        """The output. Raises `ToolFailed` or whatever the tool raised."""
        ...


class ClientTools(Toolbox, Protocol):
    """The server's tools and those of one client, which runs its own."""

    @property
    def names(self) -> frozenset[str]:
        """The client's, as the model and the records have them."""
        ...

    @property
    def reserved(self) -> frozenset[str]:
        """Those that the client has and no model calls, by the client's own names."""
        ...

    @property
    def offered(self) -> tuple[ToolDefinition, ...]:
        """What the model is shown of the client's."""
        ...

    def unwrapped(self, name: str, arguments: str) -> Unwrapped | None:
        """Where the model has one tool for all of the client's: what is in a call of it."""
        ...
