"""Names for what is new: voice sessions, calls.

A voice session's id tells when it began (`vs_20260131_143022_a3f2`, UTC), as
in seed 003. Four hex digits are few, so a process never gives one twice, and
the store refuses an id that another process has taken (`PutSession(new=True)`).
"""

from __future__ import annotations

import re
import secrets
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime

from vivavoce.wire.records.talk import utc_now

_CALL = re.compile(r"[\x21-\x7e]{1,128}")
_REMEMBERED = 8192


class SessionIds:
    """Gives voice session ids, each once."""

    def __init__(
        self,
        now: Callable[[], datetime] = utc_now,
        token: Callable[[int], str] = secrets.token_hex,
    ) -> None:
        self._now = now
        self._token = token
        # Ids of another second differ anyway, so a short memory is memory enough.
        self._recent: deque[str] = deque(maxlen=_REMEMBERED)
        self._taken: set[str] = set()

    def __call__(self) -> str:
        stamp = self._now().astimezone(UTC).strftime("%Y%m%d_%H%M%S")
        # A crowded second gets longer tails rather than a longer search.
        for size in (2, 2, 2, 4, 8, 8, 8):
            candidate = f"vs_{stamp}_{self._token(size)}"
            if candidate not in self._taken:
                if len(self._recent) == _REMEMBERED:
                    self._taken.discard(self._recent[0])
                self._recent.append(candidate)
                self._taken.add(candidate)
                return candidate
        raise RuntimeError("no free session id: the source of randomness repeats itself")


def is_call_id(value: str) -> bool:
    """Printable ASCII without spaces: it goes into keys, headers and logs as it is."""
    return _CALL.fullmatch(value) is not None


def new_call_id() -> str:
    """For calls that came without one (`/execute`)."""
    return f"call_{secrets.token_hex(12)}"
