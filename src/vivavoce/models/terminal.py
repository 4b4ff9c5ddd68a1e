"""Progress in words: a bar where somebody watches, a line now and then where not."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from typing import TextIO

from vivavoce.models.store import ModelProgress

_BAR = 24
_REDRAW = 0.1
_LINE = 10.0
"""Seconds between lines where nobody watches: a log should stay short."""


def megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


class Terminal:
    """Shows each model's progress; one line a model in the end."""

    def __init__(self, out: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._out = out
        self._clock = clock
        self._tty = out.isatty()
        self._last: ModelProgress | None = None
        self._drawn_at = float("-inf")
        self._begun: dict[str, tuple[float, int]] = {}
        self._open = False

    def show(self, now: ModelProgress) -> None:
        before, self._last = self._last, now
        if now.state == "fetching":
            begun = now.name in self._begun
            self._begun.setdefault(now.name, (self._clock(), now.received))
            changed = not begun or before is None or before.name != now.name
            if changed or self._clock() - self._drawn_at >= (_REDRAW if self._tty else _LINE):
                self._draw(now)
        elif now.state in ("ready", "failed"):
            self._end(f"{now.name}: {self._outcome(now)}")

    def close(self) -> None:
        """Leave the cursor on a line of its own."""
        if self._open:
            self._write("\n")
            self._open = False

    def _outcome(self, now: ModelProgress) -> str:
        if now.state == "failed":
            return "failed"
        fetched = now.name in self._begun
        return f"{'fetched' if fetched else 'already here'}, {megabytes(now.total)}"

    def _draw(self, now: ModelProgress) -> None:
        self._drawn_at = self._clock()
        share = now.received / now.total if now.total else 1.0
        sizes = f"{now.received / 1e6:.1f} of {megabytes(now.total)}{self._rate(now)}"
        if not self._tty:
            self._write(f"{now.name}: {share:.0%}, {sizes}\n")
            return
        full = round(share * _BAR)
        line = f"{now.name:<16} [{'#' * full}{'.' * (_BAR - full)}] {share:4.0%}  {sizes}"
        self._write("\r\x1b[K" + line[: shutil.get_terminal_size().columns - 1])
        self._open = True

    def _rate(self, now: ModelProgress) -> str:
        since, at = self._begun[now.name]
        passed = self._clock() - since
        return f", {(now.received - at) / 1e6 / passed:.1f} MB/s" if passed >= 1 else ""

    def _end(self, line: str) -> None:
        self._write(f"\r\x1b[K{line}\n" if self._tty else f"{line}\n")
        self._open = False

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()
