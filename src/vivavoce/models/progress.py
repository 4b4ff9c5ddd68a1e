"""How far each model is: for the terminal, `/status`, `/ready` and the page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

State: TypeAlias = Literal["missing", "fetching", "verifying", "ready", "failed"]


@dataclass(frozen=True, slots=True)
class ModelProgress:
    """One model at one moment; `received` and `total` are bytes of its files."""

    name: str
    state: State
    received: int
    total: int
    error: str | None = None


OnProgress: TypeAlias = Callable[[ModelProgress], None]
"""Called on the event loop, often; must not block."""
