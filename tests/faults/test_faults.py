"""Whatever breaks on whatever link, at whatever point of a conversation: nothing that was
acknowledged is lost or doubled, no tool runs twice, no call is answered twice, nothing counts as
heard that did not come through, and the client's view is the log."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.suite import FEW, MANY, failing, parts


@pytest.mark.parametrize("link", FEW)
async def test_a_fault_in_a_conversation_costs_nothing(link: str, tmp_path: Path) -> None:
    wrong = await failing(link, FEW[link], tmp_path)
    assert not wrong, "\n".join(wrong)


@pytest.mark.full
@pytest.mark.parametrize(("link", "seeds"), parts(MANY), ids=str)
async def test_faults_in_a_thousand_conversations_cost_nothing(
    link: str, seeds: range, tmp_path: Path
) -> None:
    wrong = await failing(link, seeds, tmp_path)
    assert not wrong, "\n".join(wrong)
