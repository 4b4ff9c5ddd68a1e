"""Which backends an agent folder's delegation makes, and what that costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from vivavoce.runtime.agents.work import A2aAgent, AcpAgent, AmplifierAgent, Delegation
from vivavoce.tools.delegation import backends_of
from vivavoce.tools.workspace.root import Workspaces


def test_each_kind_of_agent_has_its_backend(tmp_path: Path) -> None:
    delegation = Delegation(
        agents={
            "claude": AcpAgent(type="acp", command=sys.executable),
            "codex": AcpAgent(type="acp", command="no-such-command"),
            "far": A2aAgent(type="a2a", url="http://127.0.0.1:9"),
            "amp": AmplifierAgent(type="amplifier", bundle="foundation"),
        }
    )
    backends = backends_of(delegation, Workspaces(tmp_path), tmp_path)
    assert [backend.name for backend in backends] == ["acp", "a2a", "amplifier"]
    cards = [card for backend in backends for card in backend.agents()]
    assert [(card.name, card.available) for card in cards] == [
        ("claude", True),
        ("codex", False),
        ("far", True),
        ("amp", False),
    ]
    assert backends_of(Delegation(), Workspaces(tmp_path), tmp_path) == []


def test_listing_agents_imports_none_of_their_packages() -> None:
    code = """
import sys
from pathlib import Path
from vivavoce.runtime.agents.work import Delegation
from vivavoce.tools.delegation import backends_of
from vivavoce.tools.workspace.root import Workspaces
agents = {
    "a": {"type": "acp", "command": "x"},
    "b": {"type": "a2a", "url": "http://x"},
    "c": {"type": "amplifier", "config": "x"},
}
for backend in backends_of(Delegation(agents=agents), Workspaces(Path(".")), Path(".")):
    backend.agents()
print([name for name in ("acp", "a2a", "amplifier_core", "httpx") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
