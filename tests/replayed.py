"""`python -m tests.replayed`: makes the recorded sessions of `tests/session/recorded` anew.

Wanted when effects or what a session begins with have changed on purpose: look at the difference
that `vivavoce replay` tells first. A real server and a scripted provider, with an agent of one
tool, so that what other tools say of themselves does not change the recording.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from tests.journeys.stage import stage
from tests.journeys.test_replay import talk
from vivavoce.cli import main

RECORDED = Path(__file__).parent / "session" / "recorded"
AGENT = "name: small\ntools: [calculate]\n"


async def _again(folder: Path) -> None:
    small = folder / "agents" / "small"
    small.mkdir(parents=True)
    (small / "agent.yaml").write_text(AGENT)
    (small / "prompt.md").write_text("You are brief.\n")
    data, case = folder / "data", folder / "case.json"
    data.mkdir()
    async with stage(data, agents_dir=folder / "agents", agent="small") as st:
        session_id = await talk(st)
        kept = ("replay", session_id, "--data-dir", str(data), "--save", str(case))
        if await asyncio.to_thread(main, kept):
            raise SystemExit("it does not replay as it went")
    text = case.read_text().replace(str(data), "/somewhere").replace(str(folder), "/somewhere")
    (RECORDED / "cut_off_with_a_tool.json").write_text(text)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        asyncio.run(_again(Path(made)))
