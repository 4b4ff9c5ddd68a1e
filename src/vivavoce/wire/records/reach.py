"""How a user is reached outside of a talk: keys that work once, the browsers that take notices,
and the notices on their way.

Records are values, written with the changes of `wire.records.talk`. A key itself is kept nowhere:
it is 256 random bits, and its hash is what is kept.
"""

from __future__ import annotations

from dataclasses import field
from datetime import datetime
from typing import Literal

from vivavoce.wire.records.work import Json, Role
from vivavoce.wire.values import Record

Purpose = Literal["browser", "push"]


class OneTimeKey(Record):
    """Opens one thing, once, until then. Whoever takes it deletes it: of two, one has it."""

    digest: str
    user_id: str
    purpose: Purpose
    created_at: datetime
    expires_at: datetime
    data: Json = field(default_factory=dict)
    """What it opens, as its purpose has it."""


class PushSubscription(Record):
    """A browser that takes notices with its page closed, by its vendor's push service."""

    id: str
    """Made of the endpoint: the same browser is one row."""
    user_id: str
    endpoint: str
    """At the push service. Whoever knows it and the two keys could write to this browser."""
    p256dh: str
    """The browser's public key, and with the next what its notices are encrypted for."""
    auth: str
    created_at: datetime
    updated_at: datetime
    device: str = ""
    """What its user calls it."""
    role: Role = "user"
    """Of whoever subscribed: nothing is told that takes a higher one to answer."""
    token: str | None = None
    """The name of the server's token that they showed: what it opened, it closes."""


PushStatus = Literal["pending", "sent", "dropped"]
"""Dropped: it was told otherwise, or is over, or nobody takes it."""


class PushMessage(Record):
    """One notice for one browser, until it is sent. It names what it is about, and has no words of
    it: these are read when it is sent."""

    id: str
    """Made of the subscription and of what it is about: the same notice is one row."""
    user_id: str
    subscription_id: str
    about: str
    """`due:`, `question:`, `approval:` or `task:`, and an id."""
    created_at: datetime
    updated_at: datetime
    due_at: datetime
    """When it is tried next. Whoever takes it moves this."""
    expires_at: datetime
    data: Json = field(default_factory=dict)
    status: PushStatus = "pending"
    attempts: int = 0
    last_error: str | None = None
