"""`vivavoce doctor`: what `serve` would find on this machine, tried for real, and what is amiss."""

from __future__ import annotations

import asyncio
import socket
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from vivavoce.app.agent import open_agent
from vivavoce.app.settings import Settings
from vivavoce.app.workspace import ADVICE, problems
from vivavoce.models.store import ModelStore
from vivavoce.processes.programs import find, search_path
from vivavoce.runtime.agents.agent import AgentError
from vivavoce.tools.sandbox.ports import Sandbox
from vivavoce.tools.sandbox.probe import probe
from vivavoce.tools.workspace.searching import find_ripgrep

_KNOCK_SECONDS = 2.0
Finding = tuple[str, str, bool]
"""What was looked at, what was found, and whether `serve` can start with it."""


def examine(settings: Settings) -> int:
    """Prints it. The exit code: 1 where `serve` would refuse."""
    fine = True
    for what, found, good in _findings(settings):
        fine = fine and good
        first, *rest = found.splitlines()
        print(f"{'ok ' if good else 'NOT'}  {what:<10} {first}")
        for line in rest:
            print(f"     {'':<10} {line}")
    return 0 if fine else 1


def _findings(settings: Settings) -> Iterator[Finding]:
    try:
        source = open_agent(settings.agent, settings.agents_dir, settings.agent_overrides())
        agent: Path | None = source.current.folder
        yield "agent", str(agent), True
    except AgentError as exc:
        agent = None
        yield "agent", str(exc), False
    yield _workspace(settings, agent)
    yield "data", str(settings.data_dir), True
    yield _models(settings)
    yield _programs(settings.workspace)
    yield _sandbox(settings)
    yield _wyoming(settings)


def _wyoming(settings: Settings) -> Finding:
    """Its satellites are called on, since they are what is most often elsewhere than believed."""
    if not settings.wyoming:
        return "wyoming", "off (VIVAVOCE_WYOMING)", True
    if find_spec("wyoming") is None:
        return "wyoming", "its package is missing: pip install 'vivavoce[wyoming]'", False
    who = ", ".join(("this machine", *settings.wyoming_clients))
    lines = [
        f"tcp://{settings.wyoming_host}:{settings.wyoming_port}, for {who}",
        f"talks as '{settings.wyoming_user}', with the role '{settings.wyoming_role}'",
    ]
    for host, port in settings.wyoming_addresses:
        try:
            with socket.create_connection((host, port), timeout=_KNOCK_SECONDS):
                lines.append(f"satellite {host}:{port}: answers")
        except OSError as fault:
            # The server starts all the same, and tries again.
            lines.append(f"satellite {host}:{port}: {fault.strerror or fault}")
    return "wyoming", "\n".join(lines), True


def _workspace(settings: Settings, agent: Path | None) -> Finding:
    if wrong := problems(settings, agent):
        return "workspace", "\n".join([*wrong, ADVICE]), False
    place = str(settings.workspace)
    if not settings.workspace.exists():
        place += " (is made at the first start)"
    each = "each user has a folder in it" if settings.auth == "jwt" else "one for all"
    return "workspace", f"{place}\napart from the server; {each}", True


def _models(settings: Settings) -> Finding:
    store = ModelStore(settings.models_dir)
    missing = [name for name in settings.needed_models if not store.have(name)]
    lines = [str(settings.models_dir)]
    if missing:
        lines.append(f"fetched at the first start: {', '.join(missing)}")
    return "models", "\n".join(lines), True


def _programs(workspace: Path) -> Finding:
    """Found as they will be: by absolute paths, and none in the workspace."""
    there = {
        "ripgrep": find_ripgrep(workspace) or "none; searching is slower",
        "bash": find("bash", workspace) or "none",
        "git": find("git", workspace) or "none",
    }
    return "programs", "\n".join(f"{name}: {path}" for name, path in there.items()), True


def _sandbox(settings: Settings) -> Finding:
    found = asyncio.run(_probed(settings))
    if found.why_not is not None:
        # The server starts all the same: `bash` is off, and says why.
        return "sandbox", f"none holds, so bash is off: {found.why_not}", True
    lines = [found.name, *(f"holds: {one}" for one in found.holds)]
    lines += [f"does not hold: {one}" for one in found.notes]
    if settings.sandbox_network:
        lines.append("does not hold: the network is open to commands (VIVAVOCE_SANDBOX_NETWORK)")
    return "sandbox", "\n".join(lines), True


async def _probed(settings: Settings) -> Sandbox:
    with tempfile.TemporaryDirectory() as folder:
        there = settings.workspace.is_dir()
        workspace = settings.workspace if there else Path(folder)
        return await probe(workspace, search_path=search_path(workspace))
