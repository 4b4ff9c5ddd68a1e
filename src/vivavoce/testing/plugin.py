"""A small pytest plugin: `async def` tests run on a loop of their own, and leave nothing behind.

Opt in with `pytest_plugins = ["vivavoce.testing.plugin"]`. A task that
outlives its test, or an exception nobody awaited, fails the test.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
from collections.abc import Callable, Coroutine
from typing import Any

import pytest


def _settle() -> None:
    """What is there before a test is here to stay (imports, caches, fixtures for many tests): the
    sweep after it need not look at it again, which would take longer than most tests."""
    gc.collect()
    gc.freeze()


async def _strict(test: Callable[..., Coroutine[Any, Any, None]], kwargs: dict[str, Any]) -> None:
    loop = asyncio.get_running_loop()
    unhandled: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, context: unhandled.append(context))
    await test(**kwargs)
    for _ in range(3):  # callbacks of tasks that just ended may still be queued
        await asyncio.sleep(0)
    leaked = asyncio.all_tasks() - {asyncio.current_task()}
    gc.collect()  # brings out "exception was never retrieved"
    assert not leaked, f"tasks outlived the test: {sorted(map(repr, leaked))}"
    assert not unhandled, f"exceptions nobody handled: {unhandled}"


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run coroutine tests; leave all others to pytest."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    kwargs = {name: pyfuncitem.funcargs[name] for name in names}
    _settle()
    with asyncio.Runner() as runner:
        runner.run(_strict(pyfuncitem.obj, kwargs))
    return True
