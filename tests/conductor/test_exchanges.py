"""The shared exchanges, played to the client in Python; `web/packages/conductor` plays the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.conductor.exchanges import Play, exchanges
from vivavoce.wire.conductor import published

schema = jsonschema.Draft202012Validator(published.schema())


@pytest.mark.parametrize("told", exchanges(), ids=lambda told: told["name"])
async def test_the_client_keeps_to_the_exchange(told: dict[str, Any], tmp_path: Path) -> None:
    play = Play(told.get("app", {}), tmp_path)
    await play.play(told["steps"])
    for event in play.sent:
        schema.validate(event)
