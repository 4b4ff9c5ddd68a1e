"""`/health`, `/status`, `/ready`, `/metrics`: for those who watch the server."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.server.doors import MOMENT, doors
from vivavoce import __version__
from vivavoce.errors import InternalError, Unavailable
from vivavoce.server import api
from vivavoce.testing import ManualClock, ScriptedProvider
from vivavoce.testing.realtime.faults import HttpError

TOOLS = [
    *("current_time", "calculate", "wait"),
    *("read_file", "glob", "grep", "write_file", "edit_file", "undo_change", "bash"),
    *("web_fetch", "web_search", "read_output"),
    *("list_tasks", "cancel_task", "answer_task"),
]


async def test_health_is_quick_open_and_says_little(tmp_path: Path) -> None:
    clock = ManualClock()
    async with doors(tmp_path, clock=clock, auth="token", auth_token="x" * 16) as d:
        await clock.advance(90)
        assert await d.get("/health") == {
            "status": "healthy",
            "version": __version__,
            "amplifier": {"enabled": True, "tools_count": len(TOOLS)},
            "model": "gpt-realtime",
            "uptime_seconds": 90,
            "active_sessions": 0,
        }
        assert (await d.http.get("/ready")).status_code == 200
        assert (await d.http.get("/status")).status_code == 401


async def test_health_does_not_wait_for_the_other_doors_and_everything_else_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, go_on = threading.Event(), threading.Event()
    monkeypatch.setattr(api, "_routers", slowly(api._routers, reached, go_on))
    async with doors(tmp_path) as d, asyncio.TaskGroup() as group:
        asked = [group.create_task(d.http.get(path)) for path in ("/ready", "/sessions", "/docs")]
        await asyncio.to_thread(reached.wait)
        assert (await d.get("/health"))["status"] == "healthy"
        assert not any(task.done() for task in asked)
        go_on.set()
        assert [(await task).status_code for task in asked] == [200, 200, 200]


def slowly(
    routers: Callable[[], object], reached: threading.Event, go_on: threading.Event
) -> Callable[[], object]:
    def wait() -> object:
        reached.set()
        go_on.wait()
        return routers()

    return wait


async def test_a_provider_in_trouble_makes_the_server_degraded(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        d.provider.inject(HttpError(401, path="client_secrets"))
        await d.http.post("/session")
        assert (await d.get("/health"))["status"] == "degraded"
        status = await d.get("/status")
        assert status["server"]["status"] == "degraded"
        assert status["openai"]["last_error"]
        assert str(d.provider.key) not in status["openai"]["last_error"]


async def test_a_server_that_can_serve_nothing_is_unhealthy(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        d.provider.inject(HttpError(401, times=100))
        answer = await d.http.get("/health")
        assert (answer.status_code, answer.json()["status"]) == (503, "unhealthy")


@pytest.mark.parametrize(("fails", "status"), [(0, "degraded"), (100, "unhealthy")])
async def test_where_another_provider_takes_over_a_server_is_only_degraded(
    fails: int, status: str, tmp_path: Path
) -> None:
    async with ScriptedProvider(key="sk-backup-key", models=("other-model",)) as backup:
        others = {"backup": {"url": backup.base_url, "key": backup.key, "model": "other-model"}}
        async with doors(tmp_path, other_providers=others, fallbacks=("backup",)) as d:
            d.provider.inject(HttpError(401, times=100))
            if fails:
                backup.inject(HttpError(401, times=fails))
            answer = await d.http.get("/health")
            assert answer.json()["status"] == status
            assert answer.status_code == (503 if fails else 200)
            if not fails:
                assert (await d.post("/session"))["provider"] == "backup"


async def test_without_its_database_a_server_is_unhealthy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def gone() -> None:
        raise Unavailable("The database is away.")

    async with doors(tmp_path) as d:
        monkeypatch.setattr(d.here.store, "log_bounds", gone)
        assert (await d.http.get("/health")).status_code == 503


async def test_status_has_what_a_dashboard_wants(tmp_path: Path) -> None:
    clock = ManualClock()
    async with doors(tmp_path, clock=clock) as d:
        first = (await d.post("/session"))["session_id"]
        await clock.advance(10)
        await d.post(f"/sessions/{first}/end")
        await d.post("/session")
        status = await d.get("/status")
        assert set(status) == {
            "server",
            "amplifier",
            "sessions",
            "openai",
            "fallbacks",
            "resources",
            "events",
            "work",
        }
        server = status["server"]
        assert MOMENT.fullmatch(server.pop("started_at"))
        assert server == {"status": "healthy", "version": __version__, "uptime_seconds": 10}
        assert status["amplifier"] == {
            "enabled": True,
            "bundle": "workbench",
            "cwd": str(tmp_path),
            "tools_count": len(TOOLS),
            "tools": TOOLS,
        }
        assert {agent["name"] for agent in status["work"]["agents"]} >= {"coder", "explorer"}
        assert status["work"]["sandbox"]["name"]
        assert status["work"]["mcp"] == []
        assert status["sessions"] == {"active": 1, "total": 2, "avg_duration_ms": 10_000}
        assert status["openai"] == {
            "name": "127.0.0.1",
            "model": "gpt-realtime",
            "voice": "marin",
            "connected": True,
        }
        assert status["resources"]["memory_mb"] > 1
        assert status["resources"]["cpu_percent"] >= 0


async def test_a_server_that_can_start_a_session_is_ready(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        assert await d.get("/ready") == {
            "ready": True,
            "checks": {"amplifier": True, "openai": True, "database": True},
        }


async def test_an_agent_that_shall_have_no_tools_is_ready(tmp_path: Path) -> None:
    folder = tmp_path / "talker"
    folder.mkdir()
    (folder / "agent.yaml").write_text("name: talker\ntools: []\n")
    (folder / "prompt.md").write_text("Talk.")
    async with doors(tmp_path, agent=str(folder)) as d:
        assert (await d.get("/ready"))["ready"] is True
        assert (await d.get("/health"))["amplifier"]["tools_count"] == 0


async def test_without_its_provider_a_server_is_not_ready_and_says_what_to_set(
    tmp_path: Path,
) -> None:
    async with doors(tmp_path, ScriptedProvider(key="another"), api_key="wrong") as d:
        response = await d.http.get("/ready")
        assert response.status_code == 503
        told = response.json()
        assert told["ready"] is False
        assert told["checks"] == {"amplifier": True, "openai": False, "database": True}
        assert told["message"].startswith("The provider refused the key. Is OPENAI_API_KEY")
        assert set(told) == {"ready", "checks", "message"}


async def test_a_provider_that_is_not_there_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        place = f"127.0.0.1:{probe.getsockname()[1]}"
    async with doors(tmp_path, provider_url=f"http://{place}/v1") as d:
        told = (await d.http.get("/ready")).json()
        assert told["message"].startswith(f"The provider at {place} cannot be reached.")


async def test_without_its_database_a_server_is_not_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with doors(tmp_path) as d:

        async def gone() -> None:
            raise InternalError("The store could not do this.")

        with monkeypatch.context() as patched:
            patched.setattr(d.here.store, "log_bounds", gone)
            response = await d.http.get("/ready")
        assert response.status_code == 503
        assert response.json()["checks"]["database"] is False
        assert response.json()["message"] == "The database does not answer."


async def test_metrics_have_their_names_and_count(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        ended = (await d.post("/session"))["session_id"]
        await d.post("/session")
        await d.post(f"/sessions/{ended}/end")
        await d.post("/execute/calculate", {"arguments": {"expression": "1"}})
        response = await d.http.get("/metrics")
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
        text = response.text
        for name, kind in (
            ("voice_sessions_total", "counter"),
            ("voice_sessions_active", "gauge"),
            ("tool_executions_total", "counter"),
            ("tool_execution_duration_seconds", "histogram"),
        ):
            assert re.search(rf"^# HELP {name} \S", text, re.M), name
            assert f"# TYPE {name} {kind}\n" in text
        assert "\nvoice_sessions_total 2.0\n" in text
        assert "\nvoice_sessions_active 1.0\n" in text
        assert '\ntool_executions_total{tool="calculate"} 1.0\n' in text
        for bound in ("1.0", "5.0", "30.0", "+Inf"):
            bucket = f'tool_execution_duration_seconds_bucket{{le="{bound}",tool="calculate"}}'
            assert f"\n{bucket} 1.0\n" in text
