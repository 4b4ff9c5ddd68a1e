"""A stretch of network between a client and a server that can be cut. Plain threads: the client is
another process, and the test waits for what it shows."""

from __future__ import annotations

import contextlib
import socket
import threading
from types import TracebackType
from urllib.parse import urlsplit


class Between:
    def __init__(self, origin: str) -> None:
        parts = urlsplit(origin)
        self._there = (parts.hostname or "", parts.port or 0)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.origin = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()

    def __enter__(self) -> Between:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._listening.close()
        self.cut()

    def cut(self) -> None:
        """Every connection that is open is lost; the next ones are fine."""
        with self._lock:
            lost, self._open = self._open, set()
        for one in lost:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # it is over
            while True:
                near, _ = self._listening.accept()
                far = socket.create_connection(self._there)
                with self._lock:
                    self._open |= {near, far}
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=(one, other), daemon=True).start()

    def _carry(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                other.sendall(data)
        for each in (one, other):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            with self._lock:
                self._open.discard(each)
            each.close()
