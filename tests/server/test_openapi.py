"""The API against its own description: schemathesis over every operation of a real server.

All phases: the examples, the edges of every schema, random requests good and
bad, and chains of calls that use what earlier ones returned.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.core.transport import Response
from schemathesis.engine import Status, StopReason, events, from_schema
from schemathesis.openapi import from_url
from schemathesis.transport.asgi import ASGI_TRANSPORT
from schemathesis.transport.requests import REQUESTS_TRANSPORT

from tests.journeys.stage import Stage
from tests.server.standing import Standing, standing

EXAMPLES = 12  # random requests an operation; the edges come on top
LIMITLESS = {"sessions_per_10_minutes": 0, "executions_per_minute": 0, "max_sessions": 5000}
CALL = "call_known"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standing]:
    with standing(tmp_path_factory.mktemp("openapi"), **LIMITLESS) as up:
        yield up


@pytest.fixture(scope="module")
def spec(server: Standing) -> dict[str, Any]:
    document: dict[str, Any] = httpx.get(f"{server.url}/openapi.json").json()
    return document


# --- schemathesis -------------------------------------------------------------------


async def _population(st: Stage) -> dict[str, list[str]]:
    """Sessions of every kind, so that requests go deep and not only as far as a 404."""
    kept = []
    for _ in range(3):  # live, and nothing below ends them
        session, call, watcher = await st.talk()
        await call.user_says("What is one and one?")
        await watcher.wait_for("transcription.completed")
        kept.append(session["session_id"])
    arguments = {"arguments": {"expression": "1+1"}, "call_id": CALL}
    await st.post("/execute/calculate", arguments, headers={"x-session-id": kept[0]})
    tracked = (await st.post("/sessions", {"title": "Tracked"}))["session_id"]
    ended = (await st.post("/session"))["session_id"]
    await st.post(f"/sessions/{ended}/end")
    passing = [(await st.post("/session"))["session_id"] for _ in range(3)]
    return {"live": kept, "any": [tracked, ended, *passing]}


def _config(ids: dict[str, list[str]]) -> SchemathesisConfig:
    live, anyone = ({"dictionary": name, "probability": 0.8} for name in ("live", "any"))
    # Valid by its schema and refused with a 400 all the same, because of what only the
    # server knows: the voices of its provider, the parameters of a tool, who may be told
    # of a session without naming it.
    meaning = {"positive_data_acceptance": {"expected-statuses": [*_FINE, 400]}}
    judged = [
        "POST /session",
        "POST /sessions/{session_id}/resume",
        "PATCH /config/session/{session_id}",
        "POST /execute/{tool_name}",
        "POST /webhook/tool-call",
        "GET /session",
        "GET /session/reconnect",
        "GET /session/pending_updates",
    ]
    return SchemathesisConfig.from_dict(
        {
            "dictionaries": {
                "live": {"values": ids["live"]},
                "any": {"values": ids["any"]},
                "tools": {"values": ["calculate", "current_time", "nothing"]},
                "voices": {"values": ["marin", "cedar"]},
                "calls": {"values": [CALL]},
            },
            "parameters": {
                "session_id": anyone,
                "x-session-id": anyone,
                "body.prev_session_id": anyone,
                "body.voice": {"dictionary": "voices", "probability": 0.8},
                "body.name": {"dictionary": "tools", "probability": 0.8},
                "path.tool_name": {"dictionary": "tools", "probability": 0.8},
                "path.task_id": {"dictionary": "calls", "probability": 0.5},
            },
            "operations": [
                {"include-name": name, "checks": meaning, "parameters": _live_for(name, live)}
                for name in judged
            ],
            "generation": {"max-examples": EXAMPLES, "deterministic": True, "database": "none"},
            "request-timeout": 20,
        }
    )


_FINE: list[int | str] = ["2xx", "3xx", 401, 403, 404, 409, 429]


def _live_for(name: str, live: dict[str, Any]) -> dict[str, Any]:
    """Those that need a session that is still there."""
    if name.startswith(("PATCH", "POST /execute", "POST /webhook", "GET /session")):
        return {"session_id": live, "x-session-id": live}
    return {}


def _as_text(context: Any, value: Any) -> dict[str, Any]:
    return {"data": value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")}


def _prepare(schema: schemathesis.BaseSchema, server: Standing) -> None:
    @schema.hook
    def before_call(context: schemathesis.HookContext, case: Any, kwargs: Any) -> None:
        # An event stream that is followed has no end; what it says is the same.
        query = dict(case.query or {})
        if case.operation.label == "GET /events" and _follows(query):
            case.query = query | {"follow": "false"}

    @schema.auth(refresh_interval=None).apply_to(path="/sdp")
    class Key:
        def get(self, case: Any, context: Any) -> str:
            opened = server.do(lambda st: st.post("/session"))
            return str(opened["client_secret"]["value"])

        def set(self, case: Any, data: str, context: Any) -> None:
            case.headers = {**(case.headers or {}), "Authorization": f"Bearer {data}"}


def _follows(query: dict[str, Any]) -> bool:
    return str(query.get("follow", "true")).lower() in ("true", "1", "on", "yes", "t", "y")


@pytest.fixture
def _speaks_sdp() -> Iterator[None]:
    schemathesis.deserializer("application/sdp")(lambda context, response: response.text)
    for transport in (REQUESTS_TRANSPORT, ASGI_TRANSPORT):
        transport.serializer("application/sdp")(_as_text)
    yield


@pytest.mark.usefixtures("_speaks_sdp")
def test_no_request_gets_a_server_error_or_an_answer_outside_the_schema(server: Standing) -> None:
    schema = from_url(f"{server.url}/openapi.json", config=_config(server.do(_population)))
    _prepare(schema, server)
    wrong: list[str] = []
    statuses: dict[str, Counter[int]] = {}
    for event in from_schema(schema).execute():
        match event:
            case events.ScenarioFinished():
                wrong += _failures(event)
                for exchange in event.recorder.interactions.values():
                    if exchange.response is not None:
                        label = exchange.request.method + " " + str(event.recorder.label)
                        seen = statuses.setdefault(label, Counter())
                        seen[exchange.response.status_code] += 1
            case events.NonFatalError():
                wrong.append(f"{event.label}: {event.value}")
            case events.FatalError():
                raise event.exception
            case events.SchemaAnalysisWarnings():
                wrong += [str(warning) for warning in event.warnings]
            case events.EngineFinished():
                assert event.stop_reason is StopReason.COMPLETED
    assert not wrong, "\n\n".join(wrong)
    print(statuses)


def _failures(event: events.ScenarioFinished) -> list[str]:
    found = []
    for case_id, checks in event.recorder.checks.items():
        for check in checks:
            if check.status is not Status.SUCCESS and check.failure_info is not None:
                exchange = event.recorder.interactions.get(case_id)
                answer: Response | None = exchange.response if exchange else None
                told = f"{answer.status_code} {answer.text[:500]}" if answer else "no answer"
                found.append(
                    f"{event.recorder.label}, {check.name}: {check.failure_info.failure}\n"
                    f"{check.failure_info.code_sample}\n{told}"
                )
    return found
