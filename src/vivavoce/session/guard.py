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
        self._ordered: Mapping[str, Any] | None = None
        self._baseline: dict[str, bytes] | None = None
        self._ours: set[str] = set()

    @property
    def exhausted(self) -> bool:
        return self.strikes > MAX_STRIKES

    def ordered(self, session: Mapping[str, Any]) -> None:
        """We sent a `session.update`; the next matching echo is the new baseline."""
        self._ordered = session

    def foreign_configuration(self, reported: Mapping[str, Any]) -> bool:
        """Is this report of the provider something that we did not ask for?"""
        if self._ordered is not None:
            if _says_the_same(self._ordered, reported):
                self._ordered, self._baseline = None, fingerprint(reported)
                return False
        elif self._baseline is None or fingerprint(reported) == self._baseline:
            return False
        self.strikes += 1
        return True

    def expect(self, item_id: str) -> None:
        """This item is ours, the microphone's or the model's."""
        self._ours.add(item_id)

    def knows(self, item_id: str) -> bool:
        return item_id in self._ours

    def strike(self) -> None:
        self.strikes += 1
