"""The example of docs/testing.md is a file, is shown as it is, and works."""

from __future__ import annotations

import importlib.util
import inspect
from pathlib import Path

from vivavoce.testing.realtime import faults, script

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLE = DOCS / "examples" / "scripted_provider.py"


async def test_the_example_runs_and_says_what_it_should() -> None:
    spec = importlib.util.spec_from_file_location("scripted_provider_example", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert await module.main() == [
        "user: What time is it?",
        'tool: current_time {"time_zone": "UTC"}',
        "assistant: It's 2:30 PM.",
    ]


def test_the_page_shows_the_example_as_it_is() -> None:
    assert f"```python\n{EXAMPLE.read_text().rstrip()}\n```" in (DOCS / "testing.md").read_text()


def test_the_page_names_every_step_and_fault() -> None:
    page = (DOCS / "testing.md").read_text()
    makers = [
        name
        for name, thing in vars(script).items()
        if inspect.isfunction(thing)
        and thing.__module__ == script.__name__
        and not name.startswith("_")
    ]
    named = [
        fault.__name__ for fault in (*faults.ProviderFault.__args__, *faults.CallFault.__args__)
    ]
    missing = [name for name in makers + named if f"{name}(" not in page]
    assert not missing
