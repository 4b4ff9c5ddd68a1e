"""The fakes we ship: `ScriptedProvider`, `MemoryStore`, `ManualClock` (docs/testing.md).

Loaded when they are asked for: the pytest plugin beside them needs none.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vivavoce.testing.fakes import ManualClock, MemoryStore
    from vivavoce.testing.provider import ScriptedProvider
    from vivavoce.testing.realtime.call import ScriptedCall
    from vivavoce.testing.realtime.response import ToolUse
    from vivavoce.testing.realtime.script import Script

__all__ = ["ManualClock", "MemoryStore", "Script", "ScriptedCall", "ScriptedProvider", "ToolUse"]

_HOMES = {
    "ManualClock": "fakes",
    "MemoryStore": "fakes",
    "Script": "realtime.script",
    "ScriptedCall": "realtime.call",
    "ScriptedProvider": "provider",
    "ToolUse": "realtime.response",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
