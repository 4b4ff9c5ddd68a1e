"""Recorded traffic of the real service, where a clone has it beside it; tests pass without."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parents[2] / "shared" / "recordings" / "openai-realtime"


def frames(name: str) -> list[dict[str, Any]]:
    """What the service sent, in order; nothing where there is no recording."""
    path = FOLDER / f"{name}.yaml"
    if not path.exists():
        return []
    document = yaml.safe_load(path.read_text())
    return [one["data"] for one in document["interactions"] if one.get("direction") == "received"]
