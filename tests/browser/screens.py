"""Pictures of the page in its states, for people to look at.

`python -m tests.browser.screens FOLDER [--png] [--sizes 390,1280] [STATE …]` puts them there, and
prints what the console, the content security policy and axe complained about.
"""

from __future__ import annotations

import argparse
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


def main(folder: Path, states: list[str], kind: str = "webp", sizes: str | None = None) -> int:
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
            given |= {"format": kind} | ({"sizes": sizes.split(",")} if sizes else {})
            told = asyncio.run(scene("screens", given, seconds=3600))
    for complaint in told.all("complaint"):
        print(f"{complaint['name']}: {complaint['what']}")
    return len(told.all("complaint"))


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("folder", type=Path)
    asked.add_argument("states", nargs="*")
    asked.add_argument("--png", action="store_true")
    asked.add_argument("--sizes")
    wish = asked.parse_intermixed_args()
    found = main(wish.folder.resolve(), wish.states, "png" if wish.png else "webp", wish.sizes)
    sys.exit(1 if found else 0)
