"""Every attack of the corpus is refused and every honest use allowed, by both ways of opening."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.tools.attacks.layout import SECRET, Layout, lay_out
from tests.tools.attacks.paths import ATTACKS, FINDING, HONEST, READING, WRITING, Attack
from vivavoce.errors import InvalidArguments, ToolFailed
from vivavoce.runtime.ports import ToolContext, ToolOutput
from vivavoce.tools.registry import Registry
from vivavoce.tools.workspace import Workspace, workspace_tools
from vivavoce.tools.workspace.opening import Opening, best_opening, open_by_steps

WAYS = {"kernel": (best_opening(), None), "steps": (open_by_steps, "")}
"""The best way of this machine with ripgrep, and the way without either."""
BIG = "x" * 10_500_000


@pytest.fixture(params=["kernel", pytest.param("steps", marks=pytest.mark.full)])
def way(request: pytest.FixtureRequest) -> tuple[Opening, str | None]:
    found: tuple[Opening, str | None] = WAYS[request.param]
    return found


async def _call(
    layout: Layout, way: tuple[Opening, str | None], name: str, arguments: Mapping[str, Any]
) -> str:
    """As the desk does it: checked against the schema, then run."""
    workspace = Workspace(layout.ws, hidden=(".vivavoce", "private/data"), opening=way[0])
    registry = Registry(workspace_tools(workspace, ripgrep=way[1]))
    given = {k: layout.fill(v) if isinstance(v, str) else v for k, v in arguments.items()}
    output = await registry.run(name, registry.check(name, given), ToolContext(user_id="ann"))
    return output.text if isinstance(output, ToolOutput) else output


@pytest.mark.parametrize("corpus", [READING, WRITING, FINDING], ids=["read", "write", "find"])
async def test_no_attack_gives_anything_away_or_changes_anything(
    corpus: Sequence[Attack], way: tuple[Opening, str | None], tmp_path: Path
) -> None:
    layout = lay_out(tmp_path)
    before = layout.protected()
    for attack in corpus:
        fault = await _fault(attack, layout, way)
        assert not fault, f"{attack.why}: {fault}"
        assert layout.protected() == before, attack.why
    assert not list(layout.ws.rglob(".vivavoce-*")), "a draft was left behind"


async def _fault(attack: Attack, layout: Layout, way: tuple[Opening, str | None]) -> str:
    """What went wrong with us, if anything did."""
    arguments = dict(attack.arguments)
    if arguments.get("path") == "huge_new.txt":
        arguments["content"] = BIG
    try:
        said, answered = await _call(layout, way, attack.tool, arguments), True
    except (ToolFailed, InvalidArguments) as refusal:
        said, answered = refusal.message, False
    if SECRET in said or "root:x:" in said:
        return "gave it away"
    return "was answered" if answered and not attack.answered else ""


async def test_every_honest_use_is_allowed(way: tuple[Opening, str | None], tmp_path: Path) -> None:
    shared = lay_out(tmp_path / "shared")
    for number, use in enumerate(HONEST):
        changes = use.tool in ("write_file", "edit_file")
        layout = lay_out(tmp_path / str(number)) if changes else shared
        said = await _call(layout, way, use.tool, use.arguments)
        assert use.says in said, f"{use.why}: {said}"
        assert os.readlink(layout.ws / "inside_file") == "src/main.py", use.why


def test_the_corpus_is_as_large_as_promised() -> None:
    assert len(ATTACKS) >= 60
    assert len(HONEST) >= 20
    assert len({attack.why for attack in ATTACKS}) == len(ATTACKS)
