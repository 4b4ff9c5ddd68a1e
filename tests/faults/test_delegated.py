"""Delegated work while the way to the database breaks again and again: it ends once, as it would
have, and each of its steps is taken once."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

from tests.contract.postgres import drop_database, new_database
from tests.faults.proxy import Fault, Kind, TcpProxy, Way, to_socket
from tests.faults.world import quick
from tests.journeys.embedded import embedded
from tests.journeys.stage import Stage
from vivavoce.brain.script.script import Rule, Script, ToolUse

STEPS = 6
FAULTS = 4
"""DBOS waits twice as long after each."""
WAYS: tuple[Way, ...] = ("up", "down")
KINDS: tuple[Kind, ...] = ("cut", "reset", "half", "stall", "late")
SCRIPT = Script(
    rules=(
        Rule(when="count", calls=(ToolUse("read_file", {"path": "1.txt"}),)),
        *(
            Rule(
                result_of="read_file",
                when=f"this is {step}",
                calls=(ToolUse("read_file", {"path": f"{step + 1}.txt"}),),
            )
            for step in range(1, STEPS)
        ),
        Rule(result_of="read_file", calls=(ToolUse("done", {"summary": "I counted them all."}),)),
    )
)


async def asked(st: Stage, method: str, path: str, **more: Any) -> Any:
    """As any client asks: again, where the answer is that it should."""
    while True:
        answer = await st.http.request(method, path, **more)
        if answer.status_code < 300:
            return answer.json()
        assert answer.status_code in (408, 429, 503), answer.text
        await asyncio.sleep(0.1)


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(n, marks=pytest.mark.full) for n in range(2, 9))]
)
async def test_work_goes_on_however_often_the_database_is_away(seed: int, tmp_path: Path) -> None:
    for step in range(1, STEPS + 1):
        (tmp_path / f"{step}.txt").write_text(f"this is {step}\n")
    chance, database = random.Random(seed), new_database()
    where = make_url(database)
    proxy = TcpProxy(to_socket(f"{where.query['host']}/.s.PGSQL.5432"), "database")
    try:
        with quick():
            async with proxy.running():
                through = where.set(host="127.0.0.1", port=proxy.port, query={})
                url = through.render_as_string(hide_password=False)
                async with embedded(tmp_path, script=SCRIPT, database_url=url) as st:
                    given = {"arguments": {"instruction": "Please count.", "agent": "coder"}}
                    begun = await asked(st, "POST", "/execute/task", json=given)
                    assert begun["success"], begun
                    [task] = (await asked(st, "GET", "/tasks"))["tasks"]
                    for _ in range(FAULTS):
                        kind, way = chance.choice(KINDS), chance.choice(WAYS)
                        proxy.arm(Fault(kind, way, chance.choice((0, 2, 5)), seconds=0.2))
                        await asyncio.sleep(0.4)
                        proxy.heal()
                    async with asyncio.timeout(60):
                        while task["status"] in ("pending", "running"):
                            await asyncio.sleep(0.1)
                            task = await asked(st, "GET", f"/tasks/{task['id']}")
                    assert (task["status"], task["result"]) == ("completed", "I counted them all.")
                    log = await st.here.store.events(after=0, limit=1000)
                    kinds = Counter(event.type for event in log)
                    assert (kinds["task.completed"], kinds["task.failed"]) == (1, 0), kinds
                    # One more is the tool that began it.
                    assert (kinds["tool.started"], kinds["tool.completed"]) == (STEPS + 1,) * 2
    finally:
        drop_database(database)
