"""Which calls were run, and what came of them: no call is run twice, whatever is sent again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

from vivavoce.wire.values import Value

MOST = 1_000
"""Calls whose results are known; the oldest are forgotten."""
STOPPED = "The app was stopped while this ran. Nobody knows if it was done."


class Entry(Value):
    """A call that began, or with `over` what came of it. `cut`: where the user spoke over it."""

    call_id: str
    over: bool
    result: str | None = None
    error: str | None = None
    cut: Mapping[str, Any] | None = None


class Calls:
    def __init__(self, kept: Iterable[Entry] = ()) -> None:
        """`kept` is of the app's run before this one: what was not over then is lost."""
        self._known: OrderedDict[str, Entry] = OrderedDict()
        for entry in kept:
            self._remember(entry)
        for entry in list(self._known.values()):
            if not entry.over:
                self._known[entry.call_id] = Entry(entry.call_id, True, error=STOPPED)

    def known(self, call_id: str) -> Entry | None:
        return self._known.get(call_id)

    def begin(self, call_id: str) -> Entry:
        return self._remember(Entry(call_id, over=False))

    def end(self, entry: Entry) -> Entry | None:
        """None where it is over already, or never began."""
        before = self._known.get(entry.call_id)
        if before is None or before.over:
            return None
        return self._remember(entry)

    def _remember(self, entry: Entry) -> Entry:
        self._known[entry.call_id] = entry
        if len(self._known) > MOST:
            oldest = next((e.call_id for e in self._known.values() if e.over), None)
            if oldest is not None:
                del self._known[oldest]
        return entry
