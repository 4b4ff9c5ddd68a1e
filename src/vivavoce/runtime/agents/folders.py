"""Where agent folders are, by name or by path."""

from __future__ import annotations

from pathlib import Path

from vivavoce.runtime.agents.yaml_lines import FileProblems

_CHECKOUT = Path(__file__).resolve().parents[4] / "agents"
_PACKAGED = Path(__file__).resolve().parents[2] / "_agents"


def agent_roots(agents_dir: Path | None = None) -> list[Path]:
    """Where agents are looked for, first come first served."""
    return [root for root in (agents_dir, _CHECKOUT, _PACKAGED) if root is not None]


def list_agents(agents_dir: Path | None = None) -> list[str]:
    found = {
        file.parent.name: None
        for root in agent_roots(agents_dir)
        for file in sorted(root.glob("*/agent.yaml"))
    }
    return list(found)


def find_agent(name_or_path: str | Path, agents_dir: Path | None = None) -> Path:
    """The folder of an agent: a path as it is, a name in the usual places."""
    given = Path(name_or_path)
    if given.name != str(name_or_path) or str(name_or_path) in (".", ".."):
        return given
    for root in agent_roots(agents_dir):
        if (root / given / "agent.yaml").is_file():
            return root / given
    known = ", ".join(list_agents(agents_dir)) or "none"
    hint = f"; for the folder here, say ./{given}" if given.is_dir() else ""
    raise FileProblems([f"there is no agent '{given}'; there are: {known}{hint}"])
