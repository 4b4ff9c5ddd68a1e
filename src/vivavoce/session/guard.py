"""Notices what somebody else did to our call.

The browser is a peer on the call: at some providers its data channel can send
`session.update` and items of its own. We compare what the provider reports
with what we ordered, and keep count; the machine reverts, and ends a call
that does not stop.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import orjson

MAX_STRIKES = 3
_LOCKED = ("instructions", "tools", "tool_choice", "output_modalities", "max_output_tokens")
_LOCKED_AUDIO = (("input", "turn_detection"), ("input", "transcription"), ("output", "voice"))


def _canonical(value: Any) -> bytes:
    """A digest: a session keeps this for its whole life, and instructions are long."""
    return sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).digest()


def fingerprint(session: Mapping[str, Any]) -> dict[str, bytes]:
    """The fields that nobody but us may change, in a comparable form."""
    print_ = {name: _canonical(session[name]) for name in _LOCKED if name in session}
    audio = session.get("audio")
    for side, name in _LOCKED_AUDIO:
        part = audio.get(side) if isinstance(audio, Mapping) else None
        if isinstance(part, Mapping) and name in part:
            print_[f"{side}.{name}"] = _canonical(part[name])
    return print_


def _says_the_same(ordered: Mapping[str, Any], reported: Mapping[str, Any]) -> bool:
    """The essence: the same instructions and the same tools, by name.

    Providers fill in defaults, so a whole comparison waits for the first echo.
    """
    words = reported.get("instructions")
    if words is not None and words != ordered.get("instructions"):
        return False
    tools = reported.get("tools")
    if not isinstance(tools, list):
        return True
    names = [tool.get("name") for tool in tools if isinstance(tool, Mapping)]
    return names == [tool.get("name") for tool in ordered.get("tools") or ()]


class Guard:
    """Ours and not ours: configuration and items."""

    def __init__(self) -> None:
        self.strikes = 0
        # Orders without an echo yet, oldest first: several may be under way at once.
        self._ordered: list[tuple[str, Mapping[str, Any]]] = []
        self._baseline: dict[str, bytes] | None = None
        self.accepted: Mapping[str, Any] | None = None
        self._ours: set[str] = set()
        self._banished: set[str] = set()

    @property
    def exhausted(self) -> bool:
        return self.strikes > MAX_STRIKES

    def ordered(self, event_id: str, session: Mapping[str, Any]) -> None:
        """We sent a `session.update`; an echo that matches it is the new baseline."""
        self._ordered.append((event_id, session))

    def refused(self, event_id: str | None) -> bool:
        """The provider did not take an order of ours, so there will be no echo of it."""
        kept = [order for order in self._ordered if order[0] != event_id]
        known = len(kept) < len(self._ordered)
        self._ordered = kept
        return known

    def foreign_configuration(self, reported: Mapping[str, Any]) -> bool:
        """Is this report of the provider something that we did not ask for?"""
        for number, (_, session) in enumerate(self._ordered):
            if _says_the_same(session, reported):
                del self._ordered[: number + 1]  # echoes come in the order of the orders
                self._baseline, self.accepted = fingerprint(reported), session
                return False
        known = self._baseline is None and not self._ordered
        if known or fingerprint(reported) == self._baseline:
            return False
        self.strikes += 1
        return True

    def expect(self, item_id: str) -> None:
        """This item is ours, the microphone's or the model's."""
        self._ours.add(item_id)

    def banish(self, item_id: str) -> None:
        """Never ours, however often it comes back."""
        self._banished.add(item_id)
        self.strikes += 1

    def banished(self, item_id: str) -> bool:
        return item_id in self._banished

    def forget_orders(self) -> None:
        """The sideband was lost: echoes of what was ordered before will not come."""
        self._ordered = []

    def knows(self, item_id: str) -> bool:
        return item_id in self._ours
