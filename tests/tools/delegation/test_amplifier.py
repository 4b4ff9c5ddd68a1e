"""`amplifier-core` itself, with modules of ours: what its sessions may, tell and leave behind."""

from __future__ import annotations

import asyncio
import sys
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from amplifier_core import AmplifierSession

from tests.tools.delegation import amplifier_cast as cast_
from tests.tools.delegation.others_stage import Deciding, Ledger, order
from tests.tools.delegation.stage import begin, carried, url
from vivavoce.runtime.agents.work import AmplifierAgent
from vivavoce.runtime.ports import ToolDefinition
from vivavoce.runtime.tasks.ports import Done, GaveUp
from vivavoce.tools.delegation.amplifier import AmplifierBackend
from vivavoce.tools.workspace.root import Workspaces

OURS = [ToolDefinition(name, name, {"type": "object"}) for name in ("read_file", "write_file")]


@pytest.fixture(autouse=True)
def _modules(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, module in cast_.modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    for kept in (cast_.RAN, cast_.HOOKS, cast_.ASLEEP, cast_.STOPPED):
        kept.clear()


def plan(*lines: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "session": {"orchestrator": "loop-script", "context": "context-plain"},
        "providers": [{"module": "provider-script", "config": {"lines": list(lines)}}],
        "tools": [{"module": "tool-own"}],
        "hooks": [{"module": "hooks-guard"}],
        **more,
    }


def backend(folder: Path, what: dict[str, Any], *, bundle: str = "") -> AmplifierBackend:
    (folder / "plan.yaml").write_text(yaml.safe_dump(what))
    agent = AmplifierAgent(type="amplifier", config="" if bundle else "plan.yaml", bundle=bundle)
    return AmplifierBackend(
        {"amp": agent}, workspaces=Workspaces(folder), folder=folder, tools=lambda: OURS
    )


async def run(at: AmplifierBackend, listener: Deciding, ledger: Ledger | None = None) -> Done:
    return await at.run(order("amp", "Do it"), (ledger or Ledger()).context(listener))


async def test_a_session_works_with_our_tools_and_its_own_behind_our_policy(
    tmp_path: Path,
) -> None:
    listener = Deciding(replies={"read_file": "the notes", "write_file": "written"})
    lines: list[dict[str, Any]] = [
        {"call": "read_file", "input": {"path": "/etc/passwd"}},
        {"call": "write_file", "input": {"path": "a.py", "content": "x"}},
        {"call": "deploy", "input": {"to": "staging"}},
        {"call": "ask_user", "input": {"question": "REST or GraphQL?"}},
        {"say": "{outputs}"},
    ]
    done = await run(backend(tmp_path, plan(*lines)), listener, Ledger(answers={}))
    assert done.summary == "Do it | the notes | written | deploy ran | yes"
    assert done.files_changed == ("a.py",)
    # Its own read_file, which reads anything, never ran: ours did, with a record of its own.
    assert cast_.RAN == [("deploy", {"to": "staging"})]
    assert [(id_, tool) for id_, tool, _ in listener.calls] == [
        ("task_1:2.1", "read_file"),
        ("task_1:2.2", "write_file"),
    ]
    # The module's hook asked, and so did our policy: under the tool's own name.
    assert [(tool, given) for tool, given, _ in listener.asked_for] == [
        ("amplifier", {"prompt": "Deploy to staging?"}),
        ("deploy", {"to": "staging"}),
    ]
    assert ("The guard looks at it", "amp") in listener.progress
    assert ("Writing a.py", "amp") in listener.progress


async def test_no_is_no_even_where_an_orchestrator_forgets_the_hooks(tmp_path: Path) -> None:
    for refused, hooks in product(("amplifier", "deploy"), (True, False)):
        cast_.HOOKS.clear()
        call = {"call": "deploy", "input": {"to": "production"}, "hooks": hooks}
        at = backend(tmp_path, plan(call, {"say": "{outputs}"}))
        done = await run(at, Deciding(refuse=frozenset({refused})))
        assert "deploy ran" not in done.summary
        assert cast_.RAN == []
        assert cast_.HOOKS.count(("tool:pre", "deploy")) == 1


async def test_hooks_are_fired_once_whoever_fires_them(tmp_path: Path) -> None:
    calls = [{"call": "read_file", "input": {"path": "a"}, "hooks": on} for on in (True, False)]
    await run(backend(tmp_path, plan(*calls, {"say": "Read."})), Deciding())
    assert cast_.HOOKS == 2 * [("tool:pre", "read_file"), ("tool:post", "read_file")]


async def test_a_child_is_wired_as_its_parent_is(tmp_path: Path) -> None:
    lines = [
        {"call": "write_file", "input": {"path": "spec.md", "content": "x"}},
        {"say": "The plan is made."},
    ]
    provider = {"module": "provider-script", "config": {"lines": lines}}
    what = plan(
        {"spawn": "planner", "input": "Plan it"},
        {"say": "{outputs}"},
        agents={"planner": {"providers": [provider]}},
    )
    listener = Deciding()
    done = await run(backend(tmp_path, what), listener)
    assert done.summary == "Do it | The plan is made."
    assert done.files_changed == ("spec.md",)
    assert listener.progress == [("planner is at work", "planner"), ("Writing spec.md", "planner")]


async def test_a_module_that_fails_is_told_of(tmp_path: Path) -> None:
    listener = Deciding()
    what = plan({"say": "Done."}, tools=[{"module": "tool-broken"}, {"module": "tool-gone"}])
    assert await run(backend(tmp_path, what), listener) == Done(summary="Done.")
    assert [words for words, _ in listener.progress] == [
        "The tool module tool-broken could not be loaded: no such library",
        "The tool module tool-gone could not be loaded: tool-gone is not installed",
    ]


async def test_what_goes_wrong_is_told(tmp_path: Path) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        (plan(hooks=[{"module": "hooks-broken"}]), "The hook module hooks-broken could not"),
        (plan(providers=[{"module": "provider-gone"}]), "The provider module provider-gone"),
        (plan(providers=[]), "mounts no provider"),
        (plan(session={"orchestrator": "loop-gone", "context": "context-plain"}), "loop-gone"),
        (plan({"raise": "the model is away"}), "failed: RuntimeError: the model is away"),
        ({"session": {}}, "names no session.orchestrator"),
    ]
    for what, error in cases:
        with pytest.raises(GaveUp, match=error):
            await run(backend(tmp_path, what), Deciding())


@pytest.mark.parametrize(
    "line", [{"sleep": True}, {"call": "deploy", "input": {}}, {"spawn": "self", "input": "x"}]
)
async def test_a_cancelled_session_stops_inside_too(tmp_path: Path, line: dict[str, Any]) -> None:
    """Cancelling `execute` leaves the orchestrator running: it is stopped by itself."""
    listener = Deciding(unanswered=frozenset({"amplifier"}))
    start = {"call": "read_file", "input": {"path": "a"}}
    async with asyncio.TaskGroup() as group:
        running = group.create_task(run(backend(tmp_path, plan(start, line)), listener))
        await listener.until(lambda: listener.progress)
        async with asyncio.timeout(10):
            while "sleep" in line and not cast_.ASLEEP:
                await asyncio.sleep(0.005)
        if "call" in line:
            await listener.until(lambda: listener.asked_for)
        running.cancel()
    assert running.cancelled()
    assert cast_.RAN == []
    if "sleep" in line:
        assert cast_.STOPPED == ["loop"]


async def test_after_a_restart_calls_are_new_and_what_is_done_is_looked_at(tmp_path: Path) -> None:
    listener, ledger = Deciding(), Ledger()
    first = {"call": "read_file", "input": {"path": "a"}}
    async with asyncio.TaskGroup() as group:
        at = backend(tmp_path, plan(first, {"sleep": True}))
        running = group.create_task(run(at, listener, ledger))
        await listener.until(lambda: listener.calls)
        running.cancel()
    at = backend(tmp_path, plan(first, {"say": "{outputs}"}))
    done = await run(at, listener, ledger)
    assert done.summary.startswith("This work was begun before and broke off.")
    assert [id_ for id_, _, _ in listener.calls] == ["task_1:2.1", "task_1:3.1"]
    assert await run(at, listener, ledger) == done
    assert len(listener.calls) == 2


async def test_the_real_carrier_goes_on_with_it_after_a_restart(tmp_path: Path) -> None:
    listener, at = Deciding(), url(tmp_path)
    first = {"call": "read_file", "input": {"path": "a"}}
    async with carried(at, backend(tmp_path, plan(first, {"sleep": True})), listener) as carrier:
        await begin(carrier, order("amp", "Do it"))
        await listener.until(lambda: listener.calls)
    async with carried(at, backend(tmp_path, plan(first, {"say": "Done."})), listener):
        assert await listener.end() == ("task_1", "finished", Done(summary="Done."))
    assert [id_ for id_, _, _ in listener.calls] == ["task_1:2.1", "task_1:3.1"]


async def test_a_module_may_lie_in_the_agent_folder_and_nowhere_else(tmp_path: Path) -> None:
    package = tmp_path / "modules" / "tool-local" / "amplifier_module_tool_local"
    package.mkdir(parents=True)
    source = """
from tests.tools.delegation.amplifier_cast import Own
__amplifier_module_type__ = "tool"
async def mount(coordinator, config):
    await coordinator.mount("tools", Own("local"), name="local")
"""
    (package / "__init__.py").write_text(source)
    what = plan(
        {"call": "local", "input": {}},
        {"say": "{outputs}"},
        tools=[
            {"module": "tool-local", "source": "./modules/tool-local"},
            {"module": "tool-away", "source": "../../etc"},
        ],
    )
    listener = Deciding()
    before = list(sys.path)
    assert (await run(backend(tmp_path, what), listener)).summary == "Do it | local ran"
    assert sys.path == before
    assert "tool-away could not be loaded" in listener.progress[0][0]
    sys.modules.pop("amplifier_module_tool_local", None)


async def test_a_bundle_is_foundations_session_wired_as_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Prepared:
        """Stands in for foundation, which is no package of a registry; the session is real."""

        async def prepare(self) -> Prepared:
            return self

        async def create_session(self, session_cwd: Path, **systems: Any) -> AmplifierSession:
            call = {"call": "deploy", "input": {"to": session_cwd.name}}
            session = AmplifierSession(plan(call, {"say": "{outputs}"}), **systems)
            await session.initialize()
            return session

    async def load_bundle(name: str) -> Prepared:
        if name != "foundation":
            raise FileNotFoundError(name)
        return Prepared()

    at = backend(tmp_path, {}, bundle="foundation")
    (card,) = at.agents()
    assert not card.available
    assert card.why_not.startswith("the bundle foundation needs amplifier-foundation")
    module = ModuleType("amplifier_foundation")
    setattr(module, "load_bundle", load_bundle)  # noqa: B010 - a module has what it is given
    monkeypatch.setitem(sys.modules, "amplifier_foundation", module)
    listener = Deciding()
    assert (await run(at, listener)).summary == "Do it | deploy ran"
    assert [tool for tool, _, _ in listener.asked_for] == ["amplifier", "deploy"]
    with pytest.raises(GaveUp, match="The bundle other could not be set up: other"):
        await run(backend(tmp_path, {}, bundle="other"), listener)


def test_an_agent_without_a_plan_is_listed_with_the_reason(tmp_path: Path) -> None:
    agents = {
        "none": AmplifierAgent(type="amplifier"),
        "gone": AmplifierAgent(type="amplifier", config="gone.yaml"),
        "away": AmplifierAgent(type="amplifier", config="../plan.yaml"),
    }
    (tmp_path / "plan.yaml").write_text("{}")
    (tmp_path / "home").mkdir()
    at = AmplifierBackend(
        agents, workspaces=Workspaces(tmp_path), folder=tmp_path / "home", tools=lambda: OURS
    )
    assert [(card.available, card.why_not) for card in at.agents()] == [
        (False, "it names neither a config nor a bundle"),
        (False, "there is no gone.yaml in the agent's folder"),
        (False, "there is no ../plan.yaml in the agent's folder"),
    ]
