"""What an A2A agent says, read: states, words of messages and artifacts, ids; and how long it is
waited for. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from a2a.types import Part, StreamResponse, Task, TaskArtifactUpdateEvent, TaskStatus

_MAX_TEXT = 64_000
_MAX_ARTIFACTS = 100
_PORTS = {"http": 80, "https": 443}

OPEN = frozenset({"unspecified", "submitted", "working"})
"""States in which the agent goes on by itself."""


@dataclass(frozen=True, slots=True)
class Bounds:
    work_seconds: float = 24 * 3600.0
    answer_seconds: float = 120.0
    poll_seconds: float = 2.0
    retries: int = 30
    """Failures in a row before a task that is under way is given up; each waits a little longer."""
    cancel_seconds: float = 5.0


def origin(url: str) -> str:
    parts = urlsplit(url)
    port = parts.port or _PORTS.get(parts.scheme, 0)
    host = parts.hostname or ""
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def texts(parts: Iterable[Part]) -> str:
    """Text only: files and data of a stranger are not for saying aloud."""
    return "\n".join(part.text for part in parts if part.text)[:_MAX_TEXT]


class Seen:
    """How a remote task stands, from all that was told of it."""

    def __init__(self) -> None:
        self.task_id = ""
        self.context_id = ""
        self.state = "unspecified"
        self.words = ""
        self.reply: str | None = None
        """It answered at once, without a task."""
        self._artifacts: dict[str, str] = {}

    @property
    def over(self) -> bool:
        return self.reply is not None or self.state not in OPEN

    @property
    def result(self) -> str:
        return "\n\n".join(text for text in self._artifacts.values() if text)[:_MAX_TEXT]

    def take(self, event: StreamResponse) -> None:
        match event.WhichOneof("payload"):
            case "message":
                self.reply = texts(event.message.parts)
            case "task":
                self.snapshot(event.task)
            case "status_update":
                self._ids(event.status_update)
                self._status(event.status_update.status)
            case "artifact_update":
                self._ids(event.artifact_update)
                self._artifact(event.artifact_update)

    def snapshot(self, task: Task) -> None:
        self.task_id, self.context_id = task.id, task.context_id
        self._status(task.status)
        self._artifacts = {
            artifact.artifact_id: texts(artifact.parts)
            for artifact in list(task.artifacts)[:_MAX_ARTIFACTS]
        }

    def _ids(self, event: Any) -> None:
        self.task_id = event.task_id or self.task_id
        self.context_id = event.context_id or self.context_id

    def _status(self, status: TaskStatus) -> None:
        from a2a.types import TaskState

        name = TaskState.Name(status.state) if status.state in TaskState.values() else ""
        self.state = name.removeprefix("TASK_STATE_").lower() or "unspecified"
        self.words = texts(status.message.parts)

    def _artifact(self, event: TaskArtifactUpdateEvent) -> None:
        id_, text = event.artifact.artifact_id, texts(event.artifact.parts)
        if id_ in self._artifacts or len(self._artifacts) < _MAX_ARTIFACTS:
            before = self._artifacts.get(id_, "") if event.append else ""
            self._artifacts[id_] = (before + text)[:_MAX_TEXT]
