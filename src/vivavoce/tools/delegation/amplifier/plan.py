"""What an Amplifier session is made of, as the operator wrote it: the mount plan, its modules, and
whom the session turns to for a yes or no or to show something.

Reads files of the agent folder. Of what a module is or does it knows nothing.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import yaml

from vivavoce.runtime.tasks.ports import GaveUp
from vivavoce.tools.delegation.window import Closed, Window
from vivavoce.wire.clean import clean_line
from vivavoce.wire.values import Value

_YES = ("allow once", "allow", "yes", "approve", "ok")
_NO = ("deny", "no", "reject")


class Approvals(Value):
    """Its `ApprovalSystem`. The timeout and the default are ours, and the default is no."""

    window: Window
    phase: str

    async def request_approval(
        self, prompt: str, options: list[str], timeout: float, default: str
    ) -> str:
        question = f"{self.phase}: {clean_line(prompt)}"
        try:
            yes = await self.window.approve("amplifier", {"prompt": clean_line(prompt)}, question)
        except Closed:
            yes = False
        return _option(options, _YES if yes else _NO) or ("Allow" if yes else "Deny")


class Display(Value):
    """Its `DisplaySystem`. May be called from a thread of its runtime."""

    window: Window
    phase: str
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)

    def show_message(self, message: str, level: str, source: str = "hook") -> None:
        self.loop.call_soon_threadsafe(self.window.say, message, None, self.phase)


def _option(options: Sequence[str], wanted: Sequence[str]) -> str | None:
    """Never one that would answer for what is asked later too."""
    once = [each for each in options if "always" not in each.lower()]
    fitting = (each for word in wanted for each in once if each.lower().startswith(word))
    return next(fitting, None)


_MAX_PLAN = 1024 * 1024
_LISTS = ("providers", "tools", "hooks")


def plan_file(folder: Path, name: str) -> Path | None:
    """A file of the agent folder; None for one that is elsewhere, or is not."""
    path = (folder / name).resolve()
    return path if path.is_file() and path.is_relative_to(folder.resolve()) else None


def read_plan(folder: Path, name: str) -> dict[str, Any]:
    path = plan_file(folder, name)
    if path is None or path.stat().st_size > _MAX_PLAN:
        raise GaveUp(f"There is no plan {name} in the agent's folder")
    try:
        plan = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError):
        raise GaveUp(f"The plan {name} is not readable YAML") from None
    session = plan.get("session") if isinstance(plan, dict) else None
    if not isinstance(session, dict) or not {"orchestrator", "context"} <= set(session):
        raise GaveUp(f"The plan {name} names no session.orchestrator and session.context")
    return dict(plan)


def for_child(plan: Mapping[str, Any], overlay: Mapping[str, Any]) -> dict[str, Any]:
    """The plan of an agent that the plan names: its own modules first, then its parent's."""
    child = dict(plan)
    child["session"] = {**plan["session"], **(overlay.get("session") or {})}
    for key in _LISTS:
        own = list(overlay.get(key) or [])
        named = {each.get("module") for each in own}
        child[key] = [*own, *(e for e in plan.get(key) or [] if e.get("module") not in named)]
    return child


class LocalSources:
    """Finds a module whose `source` is a folder of the agent folder; all else is an installed
    package's. A loader of our own is ignored by the session, so this is how it is told.

    The session puts such folders first on `sys.path` and leaves them there: `close` takes them off.
    """

    _in_use: ClassVar[Counter[str]] = Counter()

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._found: set[str] = set()

    def resolve(self, module_id: str, source_hint: Any = None, profile_hint: Any = None) -> Any:
        from amplifier_core.module_sources import ModuleNotFoundError as NotFound

        if not isinstance(source_hint, str) or not source_hint.startswith("."):
            raise NotFound(f"{module_id} is not installed")
        path = (self._folder / source_hint).resolve()
        if not path.is_relative_to(self._folder) or not path.is_dir():
            raise FileNotFoundError(f"{module_id} has no folder {source_hint}")
        if str(path) not in self._found:
            self._found.add(str(path))
            self._in_use[str(path)] += 1
        return SimpleNamespace(resolve=lambda: path)

    def close(self) -> None:
        for path in self._found:
            self._in_use[path] -= 1
            if not self._in_use[path] and path in sys.path:
                sys.path.remove(path)
        self._found.clear()
