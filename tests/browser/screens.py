"""Pictures of the page in its states, for people to look at.

`python -m tests.browser.screens FOLDER [STATE …]` puts them there, and prints what the console, the
content security policy and axe complained about.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx

from tests.browser import sound
from tests.browser.scenes import scene
from tests.clients.serving import serve

TITLES = ("Pears & plums", "A trip to the mountains in spring", "What to cook tonight")


def main(folder: Path, states: list[str]) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        silence = sound.microphone(place / "microphone.wav", b"")
        with serve(place / "server") as served:
            with httpx.Client(base_url=served.origin, trust_env=False) as http:
                for title in TITLES:
                    http.post("/api/v1/conversations", json={"title": title}).raise_for_status()
            given: dict[str, Any] = {"page": served.origin, "folder": str(folder)}
            given["wav"] = str(silence)
            given |= {"states": states} if states else {}
            told = asyncio.run(scene("screens", given, seconds=600))
    for complaint in told.all("complaint"):
        print(f"{complaint['name']}: {complaint['what']}")
    return len(told.all("complaint"))


if __name__ == "__main__":
    sys.exit(1 if main(Path(sys.argv[1]).resolve(), sys.argv[2:]) else 0)
