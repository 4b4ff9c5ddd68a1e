"""How far a command is, read from what it prints (seed 001 §3.3: "12/50 tests passed", 24 %).

Pure: text in, the newest `Progress` out. Each runner is a small reader that
knows its own lines; the first one to know a line is believed from then on, so
that a percentage in a log is not mistaken for the tests'.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from vivavoce.tools.progress_lines import READERS, Progress, Reader, Tally, pytest_unfinished

_MAX_LINE = 4096
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")


@dataclass(slots=True)
class ProgressReader:
    """Feed it output as it comes; it answers with what is new."""

    _tally: Tally = field(default_factory=Tally)
    _reader: Reader | None = None
    _rest: str = ""
    _last: Progress | None = None

    def feed(self, text: str) -> Progress | None:
        """The newest progress, if this text changed it."""
        text = self._rest + _ESCAPES.sub("", text)
        lines = re.split(r"[\r\n]+", text)
        self._rest = lines.pop()[-_MAX_LINE:]
        newest: Progress | None = None
        for line in lines:
            for reader in (self._reader,) if self._reader is not None else READERS:
                if line and (found := reader(line[:_MAX_LINE], self._tally)) is not None:
                    self._reader, newest = reader, found
                    break
        # pytest draws a dot a test and ends the line late: the part there is tells already.
        newest = pytest_unfinished(self._rest, self._tally, self._reader) or newest
        if newest is None or newest == self._last:
            return None
        self._last = newest
        return newest
