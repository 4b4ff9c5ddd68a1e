"""What it costs to start a command in the sandbox (at most 25 ms), and to stop one.

`true` through our sandbox, beside bubblewrap called by hand with the same
promises but no limits, watch or filter, and beside plain `bash -c true`.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from bench import size
from vivavoce.tools.sandbox import Sandbox, probe
from vivavoce.tools.sandbox.bubblewrap import Bubblewrap

ROUNDS = size(40, quick=3)
Report = Callable[[str, float, float, str], None]
BY_HAND = (
    "--die-with-parent --new-session --unshare-all --unshare-user --disable-userns --cap-drop ALL "
    "--ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 "
    "--proc /proc --dev /dev --tmpfs /tmp"
)


async def _typical(once: Callable[[], Awaitable[object]]) -> float:
    times = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        await once()
        times.append((time.perf_counter() - begun) * 1000)
    return statistics.median(times)


async def _plain(*arguments: str) -> None:
    child = await asyncio.create_subprocess_exec(
        *arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    await child.communicate()


async def _cancelled(sandbox: Sandbox, workspace: Path) -> float:
    """From the cancel to the end of everything, in ms."""
    begun = asyncio.Event()

    async def heard(text: str) -> None:
        begun.set()

    command = "trap '' TERM; (setsid sleep 600 &); echo started; sleep 600"
    async with asyncio.TaskGroup() as group:
        running = group.create_task(sandbox.run(command, cwd=workspace, on_output=heard))
        await begun.wait()
        asked = time.perf_counter()
        running.cancel()
        await asyncio.wait([running])
        return (time.perf_counter() - asked) * 1000


async def _measure(report: Report) -> None:
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        sandbox = await probe(workspace, search_path=os.environ.get("PATH", os.defpath))
        if sandbox.why_not is not None:
            print(f"no sandbox here: {sandbox.why_not}")
            return
        ours = await _typical(lambda: sandbox.run("true", cwd=workspace))
        bash = await _typical(lambda: _plain("/bin/bash", "-c", "true"))
        if isinstance(sandbox, Bubblewrap):
            arguments = [sandbox.program, *BY_HAND.split(), "--bind", folder, folder]
            arguments += ["--chdir", folder, "/bin/bash", "-c", "true"]
            by_hand = await _typical(lambda: _plain(*arguments))
            report(f"{sandbox.name}: start to end of true, beside it by hand", ours, by_hand, "ms")
        report(f"{sandbox.name}: start to end of true, beside plain bash", ours, bash, "ms")
        stops = [await _cancelled(sandbox, workspace) for _ in range(10)]
        report("cancel to everything dead, beside the 200 ms agreed", max(stops), 200.0, "ms")


def run(report: Report) -> None:
    asyncio.run(_measure(report))


if __name__ == "__main__":
    from bench import report as line

    run(line)
