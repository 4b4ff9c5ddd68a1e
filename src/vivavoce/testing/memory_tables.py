"""The tables of `MemoryStore` and what a change does to them: the schema's rules in Python."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar, assert_never

from vivavoce.errors import Conflict, InternalError
from vivavoce.testing import memory_plans as plans
from vivavoce.testing.memory_plans import ORPHAN, belongs
from vivavoce.wire.records.plans import Delivery, Goal, Intent, Milestone, Person, Todo
from vivavoce.wire.records.talk import (
    Announce,
    Change,
    Conversation,
    DropConversation,
    DropMilestone,
    Entry,
    PutApproval,
    PutConversation,
    PutDelivery,
    PutEntry,
    PutGoal,
    PutIntent,
    PutMilestone,
    PutPerson,
    PutSession,
    PutSnapshot,
    PutTask,
    PutTodo,
    PutToolCall,
    Snapshot,
    Status,
    ToolCall,
    VoiceSession,
)
from vivavoce.wire.records.work import Approval, ApprovalStatus, Task

K = TypeVar("K")
V = TypeVar("V")


class Draft(MutableMapping[K, V]):
    """A table with what a commit does to it on top."""

    def __init__(self, below: MutableMapping[K, V]) -> None:
        self._below = below
        self.on_top: dict[K, V] = {}
        self.gone: set[K] = set()

    def __getitem__(self, key: K) -> V:
        if key in self.on_top:
            return self.on_top[key]
        if key in self.gone:
            raise KeyError(key)
        return self._below[key]

    def __setitem__(self, key: K, value: V) -> None:
        self.on_top[key] = value

    def __delitem__(self, key: K) -> None:
        if key not in self:
            raise KeyError(key)
        self.on_top.pop(key, None)
        self.gone.add(key)

    def __iter__(self) -> Iterator[K]:
        yield from self.on_top
        yield from (k for k in self._below if k not in self.on_top and k not in self.gone)

    def __len__(self) -> int:
        return sum(1 for _ in self)


@dataclass(slots=True)
class Tables:
    conversations: MutableMapping[str, Conversation] = field(default_factory=dict)
    sessions: MutableMapping[str, VoiceSession] = field(default_factory=dict)
    entries: MutableMapping[str, Entry] = field(default_factory=dict)
    calls: MutableMapping[tuple[str, str], ToolCall] = field(default_factory=dict)
    snapshots: MutableMapping[str, Snapshot] = field(default_factory=dict)
    tasks: MutableMapping[str, Task] = field(default_factory=dict)
    approvals: MutableMapping[str, Approval] = field(default_factory=dict)
    people: MutableMapping[str, Person] = field(default_factory=dict)
    goals: MutableMapping[str, Goal] = field(default_factory=dict)
    milestones: MutableMapping[str, Milestone] = field(default_factory=dict)
    todos: MutableMapping[str, Todo] = field(default_factory=dict)
    intents: MutableMapping[str, Intent] = field(default_factory=dict)
    deliveries: MutableMapping[str, Delivery] = field(default_factory=dict)
    dropped: MutableMapping[str, VoiceSession] = field(default_factory=dict)
    """Sessions whose conversation its user deleted: they still count."""

    def draft(self) -> Tables:
        """Writes go on top, reads see through."""
        return Tables(*(Draft(each) for each in self._each()))

    def keep(self, draft: Tables) -> None:
        for table, written in zip(self._each(), draft._each(), strict=True):
            assert isinstance(written, Draft)
            for key in written.gone:
                table.pop(key, None)
            table.update(written.on_top)

    def _each(self) -> tuple[Any, ...]:
        return tuple(getattr(self, each.name) for each in fields(self))


# --- Writing --------------------------------------------------------------------

# As foreign keys need it; within a table the order of the caller stays.
_RANK: dict[type, int] = {
    PutConversation: 0,
    PutSession: 1,
    PutEntry: 2,
    PutToolCall: 3,
    PutSnapshot: 4,
    PutTask: 5,
    PutApproval: 6,
    PutPerson: 7,
    PutGoal: 8,
    PutMilestone: 9,
    DropMilestone: 9,
    PutTodo: 10,
    PutIntent: 11,
    PutDelivery: 12,
    DropConversation: 13,
    Announce: 14,
}


def order(change: Change) -> int:
    return _RANK[type(change)]


def apply(tables: Tables, change: Change) -> None:
    match change:
        case PutConversation(new):
            _put_conversation(tables, new)
        case PutSession(session, fresh, limits):
            if fresh:
                plans.hold(tables, session, limits)
            _put_session(tables, session, fresh=fresh)
        case PutEntry(entry, overwrite):
            there = tables.entries.get(entry.id)
            if there is None:
                belongs(tables, entry.conversation_id, entry.user_id)
                tables.entries[entry.id] = entry
            elif overwrite and _place(there) == _place(entry) and there.kind is entry.kind:
                tables.entries[entry.id] = replace(there, text=entry.text, data=entry.data)
        case PutToolCall(call):
            _put_call(tables, call)
        case PutSnapshot(snapshot):
            _put_snapshot(tables, snapshot)
        case PutTask(task):
            _put_task(tables, task)
        case PutApproval(approval):
            _put_approval(tables, approval)
        case PutPerson(person, only):
            plans.put_person(tables, person, only)
        case PutGoal(goal, only):
            plans.put_goal(tables, goal, only)
        case PutMilestone(milestone, only):
            plans.put_milestone(tables, milestone, only)
        case DropMilestone(name):
            tables.milestones.pop(name, None)
        case PutTodo(todo, only):
            plans.put_todo(tables, todo, only)
        case PutIntent(intent):
            plans.put_intent(tables, intent)
        case PutDelivery(delivery):
            plans.put_delivery(tables, delivery)
        case DropConversation() | Announce():
            pass  # last of all, by the store: the log has its part in them
        case _:
            assert_never(change)


_KEPT = ("title", "summary", "extracted_intent", "intent_payload")


def _put_conversation(tables: Tables, new: Conversation) -> None:
    """Without what it links to (`memory_plans.link`); None leaves what is there."""
    old = tables.conversations.get(new.id)
    if old is None:
        tables.conversations[new.id] = replace(new, linked_goal_id=None, linked_task_id=None)
    elif old.user_id == new.user_id:
        kept = {name: getattr(old, name) for name in _KEPT if getattr(new, name) is None}
        tables.conversations[new.id] = replace(
            new,
            created_at=old.created_at,
            linked_goal_id=old.linked_goal_id,
            linked_task_id=old.linked_task_id,
            **kept,
        )


def _put_session(tables: Tables, session: VoiceSession, *, fresh: bool) -> None:
    there = tables.sessions.get(session.id)
    if there is not None and fresh:
        raise Conflict("This session id is taken.", session_id=session.id)
    if there is None:
        belongs(tables, session.conversation_id, session.user_id)
        tables.sessions[session.id] = session
    elif _place(there) == _place(session):
        if there.status is not Status.ACTIVE:  # how it ended does not change
            session = replace(
                session,
                status=there.status,
                end_reason=there.end_reason,
                ended_at=there.ended_at,
            )
        tables.sessions[session.id] = replace(session, created_at=there.created_at)


def _put_call(tables: Tables, call: ToolCall) -> None:
    key = (call.user_id, call.id)
    there = tables.calls.get(key)
    if there is None:
        belongs(tables, call.conversation_id, call.user_id)
        tables.calls[key] = call
        return
    tables.calls[key] = replace(
        there,
        status=call.status,
        output=call.output,
        error=call.error,
        truncated=call.truncated,
        progress=call.progress,
        finished_at=call.finished_at,
        duration_ms=call.duration_ms,
    )


def _put_snapshot(tables: Tables, snapshot: Snapshot) -> None:
    there = tables.snapshots.get(snapshot.session_id)
    owner = there or tables.sessions.get(snapshot.session_id)
    if owner is not None and owner.user_id == snapshot.user_id:
        tables.snapshots[snapshot.session_id] = snapshot
    elif there is None:
        raise InternalError(ORPHAN)


def _put_task(tables: Tables, task: Task) -> None:
    there = tables.tasks.get(task.id)
    if there is None:
        belongs(tables, task.conversation_id, task.user_id)
        tables.tasks[task.id] = task
    elif there.user_id == task.user_id and (not there.status.over or there.status is task.status):
        tables.tasks[task.id] = replace(
            task,
            description=there.description,
            conversation_id=there.conversation_id,
            session_id=there.session_id,
            call_id=there.call_id,
            created_at=there.created_at,
            told_at=there.told_at or task.told_at,
        )


def _put_approval(tables: Tables, approval: Approval) -> None:
    there = tables.approvals.get(approval.id)
    if there is None:
        belongs(tables, approval.conversation_id, approval.user_id)
        tables.approvals[approval.id] = approval
    elif there.user_id == approval.user_id and there.status is ApprovalStatus.PENDING:
        tables.approvals[approval.id] = replace(
            there,
            status=approval.status,
            resolved_at=approval.resolved_at,
            resolved_by=approval.resolved_by,
            words=approval.words,
        )


def _place(record: Entry | VoiceSession) -> tuple[str, str]:
    return record.conversation_id, record.user_id
