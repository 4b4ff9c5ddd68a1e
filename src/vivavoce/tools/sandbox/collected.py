"""What is kept of a command's output: its beginning and its end, never more than agreed.

Pure. A log tells most where it starts and where it stops.
"""

from __future__ import annotations

from collections import deque


class Collected:
    """Bytes in; at most `limit` of them kept, half from each end."""

    def __init__(self, limit: int) -> None:
        self._head_room = limit - limit // 2
        self._tail_room = limit // 2
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self.total = 0

    def feed(self, piece: bytes) -> None:
        self.total += len(piece)
        if room := self._head_room - len(self._head):
            self._head += piece[:room]
            piece = piece[room:]
        if not piece:
            return
        self._tail.append(piece)
        self._tail_size += len(piece)
        # Whole pieces go while the rest is still enough; the exact cut is made once, in `text`.
        while self._tail and self._tail_size - len(self._tail[0]) >= self._tail_room:
            self._tail_size -= len(self._tail.popleft())

    @property
    def truncated(self) -> bool:
        return self.total > self._head_room + self._tail_room

    @property
    def text(self) -> str:
        tail = b"".join(self._tail)
        if not self.truncated:
            return (bytes(self._head) + tail).decode(errors="replace")
        tail = tail[-self._tail_room :] if self._tail_room else b""
        left_out = self.total - len(self._head) - len(tail)
        return (
            self._head.decode(errors="replace")
            + f"\n… {left_out:,} bytes left out …\n"
            + tail.decode(errors="replace")
        )
