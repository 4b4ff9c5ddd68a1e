from __future__ import annotations

import asyncio

import pytest

from tests.tools.attacks.shell import ATTACKS, BOMBS, Attack, Bomb
from tests.tools.attacks.shell_honest import HONEST
from tests.tools.sandbox.kinds import made
from tests.tools.sandbox.world import SECRET, World, a_world, alive, filled
from vivavoce.processes.bounded import Limits

EACH = ("bubblewrap", pytest.param("sandlock", marks=pytest.mark.full))
ALL = 'for f in attacks/*.sh; do echo "=== $f"; timeout 5 bash "$f" </dev/null 2>&1; done'


def test_there_are_enough_attacks_and_honest_uses() -> None:
    assert len(ATTACKS) + len(BOMBS) >= 50
    assert len(HONEST) >= 20


@pytest.mark.parametrize("kind", EACH)
async def test_no_attack_gets_through(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    tried = [attack for attack in ATTACKS if kind == "bubblewrap" or not attack.namespaces]
    async with a_world() as world:
        _written(world, tried)
        done = await made(kind, world).run(ALL, cwd=world.workspace, limits=Limits(seconds=60))
        said = done.output.split("=== attacks/")[1:]
        assert len(said) == len(tried), done.output[-2000:]
        through = [
            (attack.name, told)
            for attack, told in zip(tried, said, strict=True)
            if SECRET in told or "BREACH" in told.split()
        ]
        assert not through, through
        assert world.damage() == []


def _written(world: World, attacks: list[Attack]) -> None:
    folder = world.workspace / "attacks"
    folder.mkdir()
    for number, attack in enumerate(attacks):
        (folder / f"{number:03}.sh").write_text(filled(attack.command, world.names))


def _marked(bomb: Bomb) -> object:
    """The worst of them makes a machine groan for a second: not in every run."""
    return pytest.param(bomb, id=bomb.name, marks=[pytest.mark.full] if bomb.heavy else [])


@pytest.mark.parametrize("bomb", [_marked(bomb) for bomb in BOMBS])
async def test_a_bomb_is_stopped_and_leaves_nobody_behind(bomb: Bomb) -> None:
    async with a_world() as world:
        done = await made("bubblewrap", world).run(
            filled(bomb.command, world.names), cwd=world.workspace, limits=bomb.limits
        )
        assert done.killed_for in bomb.reasons
        assert "BREACH" not in done.output
        assert len(done.output) < bomb.limits.output + 100
        assert await _left(str(world.workspace)) == []
        assert await _left(f"sleep {world.names['nap']}") == []
        assert world.damage() == []


async def _left(marker: str) -> list[str]:
    """Who is killed is seen for a moment more: the kernel takes a namespace down by itself."""
    for _ in range(200):
        if not (found := alive(marker)):
            break
        await asyncio.sleep(0.05)
    return found


@pytest.mark.parametrize("kind", EACH)
async def test_honest_uses_work(kind: str) -> None:
    async with a_world() as world:
        sandbox = made(kind, world)
        script = "\n".join(f"echo '=== {i}'\n( {h.command}\n)" for i, h in enumerate(HONEST))
        done = await sandbox.run(script, cwd=world.workspace)
        said = done.output.split("=== ")[1:]
        wrong = [
            (honest.command, told)
            for honest, told in zip(HONEST, said, strict=True)
            if filled(honest.prints, world.names) not in told.partition("\n")[2]
        ]
        assert not wrong, wrong
