"""Short ways to make records in tests."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from vivavoce.wire.records.plans import (
    Delivery,
    Goal,
    Intent,
    Milestone,
    Person,
    Reminder,
    Todo,
)
from vivavoce.wire.records.reach import OneTimeKey, PushMessage, PushSubscription
from vivavoce.wire.records.talk import (
    Conversation,
    Entry,
    Kind,
    LogEvent,
    Recording,
    Snapshot,
    ToolCall,
    VoiceSession,
)
from vivavoce.wire.records.work import Approval, Question, Task

START = datetime(2026, 1, 31, 14, 30, 22, 123456, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def uid(name: str) -> str:
    """The same name, the same UUID."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, name))


def conversation(name: str = "c", **changed: Any) -> Conversation:
    given: dict[str, Any] = {
        "id": uid(name),
        "user_id": "ann",
        "created_at": START,
        "updated_at": START,
    }
    return Conversation(**given | changed)


def session(name: str = "vs_1", of: str = "c", **changed: Any) -> VoiceSession:
    given: dict[str, Any] = {
        "id": name,
        "conversation_id": uid(of),
        "user_id": "ann",
        "agent": "workbench",
        "created_at": START,
        "updated_at": START,
    }
    return VoiceSession(**given | changed)


def entry(name: str, of: str = "c", **changed: Any) -> Entry:
    given: dict[str, Any] = {
        "id": uid(name),
        "conversation_id": uid(of),
        "user_id": "ann",
        "kind": Kind.USER,
        "text": name,
        "created_at": START,
        "ordinal": 1.0,
    }
    return Entry(**given | changed)


def call(name: str, **changed: Any) -> ToolCall:
    given: dict[str, Any] = {
        "id": name,
        "user_id": "ann",
        "tool": "current_time",
        "started_at": START,
    }
    return ToolCall(**given | changed)


def snapshot(of: str = "vs_1", **changed: Any) -> Snapshot:
    given: dict[str, Any] = {
        "session_id": of,
        "user_id": "ann",
        "saved_at": START,
        "data": {"summary": "so far"},
    }
    return Snapshot(**given | changed)


def recording(of: str = "vs_1", **changed: Any) -> Recording:
    given: dict[str, Any] = {
        "session_id": of,
        "user_id": "ann",
        "number": 1,
        "saved_at": START,
        "data": b'{"began":{}}\n{"at":1}',
    }
    return Recording(**given | changed)


def one_time_key(digest: str = "k", **changed: Any) -> OneTimeKey:
    given: dict[str, Any] = {
        "digest": digest,
        "user_id": "ann",
        "purpose": "browser",
        "created_at": START,
        "expires_at": at(60),
        "data": {"origin": "https://shop.example"},
    }
    return OneTimeKey(**given | changed)


def push_subscription(name: str = "phone", **changed: Any) -> PushSubscription:
    given: dict[str, Any] = {
        "id": uid(name),
        "user_id": "ann",
        "endpoint": f"https://push.example/{name}",
        "p256dh": "B" * 87,
        "auth": "A" * 22,
        "device": name,
        "created_at": START,
        "updated_at": START,
    }
    return PushSubscription(**given | changed)


def push_message(name: str = "m", to: str = "phone", **changed: Any) -> PushMessage:
    given: dict[str, Any] = {
        "id": uid(name),
        "user_id": "ann",
        "subscription_id": uid(to),
        "about": f"due:{name}",
        "created_at": START,
        "updated_at": START,
        "due_at": START,
        "expires_at": at(3600),
        "data": {"alone": True},
    }
    return PushMessage(**given | changed)


def event(type_: str = "session.started", **changed: Any) -> LogEvent:
    given: dict[str, Any] = {
        "type": type_,
        "data": b'{"a":1}',
        "user_id": "ann",
        "at": START,
        "session_id": "vs_1",
    }
    return LogEvent(**given | changed)


def task(name: str = "t", **changed: Any) -> Task:
    given: dict[str, Any] = {
        "id": name,
        "user_id": "ann",
        "description": "Find the biggest file.",
        "agent": "explorer",
        "backend": "embedded",
        "created_at": START,
        "updated_at": START,
    }
    if (asks := changed.get("question")) is not None:
        given["asked_at"] = asks.asked_at
    return Task(**given | changed)


def question(name: str = "q", **changed: Any) -> Question:
    given: dict[str, Any] = {"id": name, "text": "Which one?", "asked_at": START}
    return Question(**given | changed)


def approval(name: str = "a", **changed: Any) -> Approval:
    given: dict[str, Any] = {
        "id": name,
        "user_id": "ann",
        "tool": "bash",
        "question": "May I run the tests?",
        "requested_at": START,
        "expires_at": at(60),
    }
    return Approval(**given | changed)


def person(who: str = "ann", **changed: Any) -> Person:
    given: dict[str, Any] = {"id": who, "created_at": START, "updated_at": START}
    return Person(**given | changed)


def goal(name: str = "g", **changed: Any) -> Goal:
    given: dict[str, Any] = {
        "id": uid(name),
        "user_id": "ann",
        "statement": "Learn Spanish",
        "created_at": START,
        "updated_at": START,
    }
    return Goal(**given | changed)


def milestone(name: str = "m", of: str = "g", **changed: Any) -> Milestone:
    given: dict[str, Any] = {
        "id": name,
        "goal_id": uid(of),
        "user_id": "ann",
        "title": name,
        "position": 0,
        "created_at": START,
    }
    return Milestone(**given | changed)


def todo(name: str = "td", **changed: Any) -> Todo:
    given: dict[str, Any] = {
        "id": uid(name),
        "user_id": "ann",
        "title": name,
        "trigger_type": "time",
        "created_at": START,
        "updated_at": START,
    }
    return Todo(**given | changed)


def reminder(name: str = "r", of: str = "td", **changed: Any) -> Reminder:
    given: dict[str, Any] = {
        "id": uid(name),
        "user_id": "ann",
        "task_id": uid(of),
        "title": of,
        "due_at": START,
        "created_at": START,
    }
    return Reminder(**given | changed)


def intent(name: str = "i", of: str = "c", **changed: Any) -> Intent:
    given: dict[str, Any] = {
        "id": name,
        "user_id": "ann",
        "conversation_id": uid(of),
        "name": "submit_goal_intent",
        "route": "GOAL",
        "payload": {"statement": "Learn Spanish"},
        "created_at": START,
        "updated_at": START,
    }
    return Intent(**given | changed)


def delivery(name: str = "d", of: str = "i", **changed: Any) -> Delivery:
    given: dict[str, Any] = {
        "id": name,
        "intent_id": of,
        "user_id": "ann",
        "action": "submit",
        "body": {"intent": "GOAL"},
        "created_at": START,
        "updated_at": START,
        "due_at": START,
    }
    return Delivery(**given | changed)
