"""Work that outlives its turn, and what needs a yes: tasks and approvals as they are kept.

Records are values, written as `Put` of `wire.records`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Literal

from vivavoce.wire.values import Record

Json = dict[str, Any]

Role = Literal["user", "developer", "operator"]
"""What somebody may do. Each has what the one before it has, and more."""
ROLES: tuple[Role, ...] = ("user", "developer", "operator")


def at_least(role: Role, needed: Role) -> bool:
    return ROLES.index(role) >= ROLES.index(needed)


class TaskStatus(StrEnum):
    RUNNING = "running"
    WAITING = "waiting"  # for the user's words, or their yes
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def over(self) -> bool:
        return self in (TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.CANCELLED)


class Question(Record):
    """What a task waits for. The answer names the question, so an old one answers nothing new."""

    id: str
    text: str
    choices: tuple[str, ...] = ()
    asked_at: datetime


class Task(Record):
    """Delegated work. It belongs to a user; the conversation and session say where it began."""

    id: str
    user_id: str
    description: str
    agent: str
    backend: str
    created_at: datetime
    updated_at: datetime
    title: str = ""
    """A few words for a list and for the ear."""
    conversation_id: str | None = None
    session_id: str | None = None
    call_id: str | None = None
    """The tool call that began it."""
    role: Role = "operator"
    """Of whoever began it: it may use what they may."""
    status: TaskStatus = TaskStatus.RUNNING
    phase: str | None = None
    """Which agent is at it: "planner", "coder" (seed 001 §4.2)."""
    progress: str | None = None
    percentage: int | None = None
    question: Question | None = None
    asked_at: datetime | None = None
    """When it last asked something, also where that was answered since."""
    result: str = ""
    files_changed: tuple[str, ...] = ()
    error: str | None = None
    tried: tuple[str, ...] = ()
    """What was attempted before it gave up (seed 001 §5.2)."""
    suggestions: tuple[str, ...] = ()
    finished_at: datetime | None = None
    told_at: datetime | None = None
    """When the user heard how it ended. Until then it waits for them."""
    owner: str | None = None
    """The instance that carries it out, and in which of its lives; the store's to say."""
    epoch: int | None = None


class ApprovalStatus(StrEnum):
    PENDING = "pending"
    GRANTED = "granted"
    DENIED = "denied"
    EXPIRED = "expired"  # nobody said yes in time, which is a no


By = Literal["voice", "click", "timeout", "restart", "cancel"]
"""How an approval was settled. A model, a tool or a page is never among them."""
Reach = Literal["once", "session", "always"]
"""How far a yes goes: for this call, for the same in the session, or whenever it is the same."""


class Approval(Record):
    """One thing that may only happen with the user's yes."""

    id: str
    user_id: str
    tool: str
    question: str
    """As it is shown, and asked aloud."""
    requested_at: datetime
    expires_at: datetime
    arguments: Json = field(default_factory=dict)
    conversation_id: str | None = None
    session_id: str | None = None
    call_id: str | None = None
    task_id: str | None = None
    status: ApprovalStatus = ApprovalStatus.PENDING
    resolved_at: datetime | None = None
    resolved_by: By | None = None
    words: str | None = None
    """What the user said, where it was by voice."""
    asked_by: str | None = None
    """Who wants it, in words: the task "Add logging". None is the voice itself."""
    because: str | None = None
    """Whose words were read before, where it is asked for that reason: the page example.org."""
    reach: Reach | None = None
    """Of a yes."""
    revoked_at: datetime | None = None
    """Since then a yes that went further stands for nothing."""
    role: Role = "operator"
    """Of whoever wants it: nobody with a lesser one may answer, and a yes that goes on is none
    for somebody with a higher one."""
    owner: str | None = None
    """The instance in which somebody waits for the answer; the store's to say."""
    epoch: int | None = None


# --- Audit


class AuditLine(Record):
    """Who did what, when, and how it ended. Nothing that was said or written is in it: of
    arguments there is a digest. Each line is sealed with the one before, so that a gap shows."""

    at: datetime
    action: str
    """session, tool, file, approval, grant, export, deletion, profile, token, refusal,
    configuration."""
    what: str
    outcome: str
    user_id: str = ""
    address: str = ""
    """From where, if it was a request."""
    role: str = ""
    token: str = ""
    """The name of the server's token that was shown, if it was one: several may be one user."""
    request_id: str = ""
    digest: str = ""
    """SHA-256 of the arguments."""
    position: int = 0
    seal: str = ""
    """SHA-256 of this line and the seal before it."""

    def sealed(self, position: int, before: str) -> AuditLine:
        """At its place in the chain."""
        bare = replace(self, position=position, seal="")
        told = [
            bare.position,
            bare.at.astimezone(UTC).isoformat(timespec="microseconds"),
            *(bare.action, bare.what, bare.outcome, bare.user_id),
            *(bare.address, bare.role, bare.token, bare.request_id, bare.digest, before),
        ]
        seal = hashlib.sha256(json.dumps(told, ensure_ascii=True).encode()).hexdigest()
        return replace(bare, seal=seal)


class AuditEnds(Record):
    """Where the chain ends: the last line that was ever written, and the last of those that were
    swept from the front. What is between them has to be there."""

    position: int = 0
    seal: str = ""
    swept_position: int = 0
    swept_seal: str = ""


def first_break(lines: Iterable[AuditLine], ends: AuditEnds) -> int | None:
    """The position of the first line that is missing, or does not follow from the one before it;
    None where all is whole."""
    position, seal = ends.swept_position, ends.swept_seal
    for line in lines:
        if line.sealed(position + 1, seal) != line:
            return min(position + 1, line.position)
        position, seal = line.position, line.seal
    return None if (position, seal) == (ends.position, ends.seal) else position + 1


def digest_of(arguments: Json) -> str:
    """What tells these arguments from others, and does not tell what they are."""
    text = json.dumps(arguments, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
