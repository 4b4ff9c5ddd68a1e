"""What an ACP agent tells of its work, gathered: progress lines, its last words, changed files.

Pure. Reads `session/update` as plain JSON, since agents send kinds that no
schema knows yet: what is not understood is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_MAX_WORDS = 16_000
_MAX_FILES = 200
_MAX_CALLS = 1_000
_CHANGING = frozenset({"edit", "delete", "move"})

Say = Callable[[str, int | None], None]


class Account:
    def __init__(self, say: Say, relative: Callable[[str], str]) -> None:
        """`relative`: a path as the user knows it."""
        self._say = say
        self._relative = relative
        self._words = ""
        self._before = ""
        self._touched: dict[str, list[str]] = {}
        self._changing: set[str] = set()
        self.files: list[str] = []
        self.replaying = False
        """A loaded session tells its past: what was changed counts, what was said does not."""

    @property
    def summary(self) -> str:
        """What it said last; what comes before a tool is used is only on the way there."""
        return (self._words.strip() or self._before.strip())[-_MAX_WORDS:]

    def update(self, update: Any) -> None:
        match update:
            case {
                "sessionUpdate": "agent_message_chunk",
                "content": {"type": "text", "text": str() as text},
            }:
                if not self.replaying:
                    self._words = (self._words + text)[-_MAX_WORDS:]
            case {"sessionUpdate": "tool_call", "toolCallId": str() as id_}:
                self._call(id_, update, new=True)
            case {"sessionUpdate": "tool_call_update", "toolCallId": str() as id_}:
                self._call(id_, update, new=False)
            case {"sessionUpdate": "plan", "entries": list() as entries}:
                self._plan(entries)
            case _:
                pass

    def wrote(self, path: str) -> None:
        name = self._relative(path)
        if name not in self.files and len(self.files) < _MAX_FILES:
            self.files.append(name)

    def _call(self, id_: str, update: Mapping[str, Any], *, new: bool) -> None:
        title = update.get("title")
        if new and not self.replaying:
            if self._words.strip():
                self._before, self._words = self._words, ""
            if isinstance(title, str):
                self._say(title, None)
        if update.get("kind") in _CHANGING and len(self._changing) < _MAX_CALLS:
            self._changing.add(id_)
        paths = [*_diffs(update), *(_places(update) if id_ in self._changing else ())]
        if paths and (id_ in self._touched or len(self._touched) < _MAX_CALLS):
            self._touched[id_] = paths
        # A diff is also shown before the user said yes to it.
        match update.get("status"):
            case "completed":
                for path in self._touched.pop(id_, ()):
                    self.wrote(path)
            case "failed":
                self._touched.pop(id_, None)

    def _plan(self, entries: list[Any]) -> None:
        known = [e for e in entries if isinstance(e, dict) and isinstance(e.get("content"), str)]
        if not known or self.replaying:
            return
        done = sum(entry.get("status") == "completed" for entry in known)
        now = next((e for e in known if e.get("status") == "in_progress"), None)
        if now is not None:
            self._say(now["content"], 100 * done // len(known))
        elif done == 0:
            self._say(f"A plan of {len(known)} steps", 0)


def _diffs(update: Mapping[str, Any]) -> list[str]:
    content = update.get("content")
    return [
        each["path"]
        for each in (content if isinstance(content, list) else ())
        if isinstance(each, dict)
        and each.get("type") == "diff"
        and isinstance(each.get("path"), str)
    ][:_MAX_FILES]


def _places(update: Mapping[str, Any]) -> list[str]:
    locations = update.get("locations")
    return [
        each["path"]
        for each in (locations if isinstance(locations, list) else ())
        if isinstance(each, dict) and isinstance(each.get("path"), str)
    ][:_MAX_FILES]
