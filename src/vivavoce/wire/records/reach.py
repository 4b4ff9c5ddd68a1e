"""How a user is reached from outside of a talk: keys that work once.

Records are values, written with the changes of `wire.records.talk`. A key itself is kept nowhere:
it is 256 random bits, and its hash is what is kept.
"""

from __future__ import annotations

from dataclasses import field
from datetime import datetime
from typing import Literal

from vivavoce.wire.records.work import Json
from vivavoce.wire.values import Record

Purpose = Literal["browser"]


class OneTimeKey(Record):
    """Opens one thing, once, until then. Whoever takes it deletes it: of two, one has it."""

    digest: str
    user_id: str
    purpose: Purpose
    created_at: datetime
    expires_at: datetime
    data: Json = field(default_factory=dict)
    """What it opens, as its purpose has it."""
