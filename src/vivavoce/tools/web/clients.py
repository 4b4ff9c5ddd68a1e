"""Makes the client of `fetch.py` when it is first needed.

The HTTP library takes a moment to load: neither the start nor the sound of a
call waits for it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from vivavoce.processes.threads import SHARED
from vivavoce.tools.web.bodies import Limits
from vivavoce.tools.web.urls import Rules

if TYPE_CHECKING:
    from vivavoce.tools.web.fetch import Client


async def client_for(rules: Rules, limits: Limits) -> Client:
    fetch = await SHARED.run(import_module, "vivavoce.tools.web.fetch")
    client: Client = fetch.Client(rules, limits)
    return client
