"""A server and its page in one place, for a machine that is cut off: the command inside."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import orjson

from tests.browser.scenes import scene
from tests.clients.serving import serve

if __name__ == "__main__":
    folder, wishes = Path(sys.argv[1]), orjson.loads(sys.argv[2])
    with serve(folder) as served:
        told = asyncio.run(scene("page", wishes | {"page": served.origin}, seconds=200))
    for line in told:
        print(orjson.dumps(line).decode())
