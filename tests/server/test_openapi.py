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
from schemathesis import hooks
from schemathesis.config import SchemathesisConfig
from schemathesis.core.transport import Response
from schemathesis.engine import Status, StopReason, events, from_schema
from schemathesis.openapi import from_url
from schemathesis.transport.requests import REQUESTS_TRANSPORT

from tests.journeys.stage import Stage
from tests.server.doors import SESSION_ID
from tests.server.standing import Standing, standing
from tests.server.v1.client import CONVERSATIONS, SESSIONS
from vivavoce.wire.records.plans import Goal, Milestone, Todo
from vivavoce.wire.records.talk import DEFAULT_USER, Put, new_id

LIMITLESS = {"sessions_per_10_minutes": 0, "executions_per_minute": 0, "max_sessions": 5000}
CALL = "call_known"
STREAMS = ("GET /events", f"GET {SESSIONS}/{{session_id}}/events")
_FINE: list[int | str] = ["2xx", "3xx", 401, 403, 404, 409, 429]
_REFUSED = [400, 401, 403, 404, 405, 409, 415, 429]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standing]:
    with standing(tmp_path_factory.mktemp("openapi")) as up:
        yield up


@pytest.fixture(scope="module")
def spec(server: Standing) -> dict[str, Any]:
    document: dict[str, Any] = httpx.get(f"{server.url}/openapi.json").json()
    return document


# --- schemathesis -------------------------------------------------------------------


async def _population(st: Stage) -> dict[str, list[str]]:
    """Sessions of every kind, so that requests go deep and not only as far as a 404."""
    kept, messages = [], []
    for _ in range(3):  # live, and nothing below ends them
        session, call, watcher = await st.talk()
        await call.user_says("What is one and one?")
        said = await watcher.wait_for("transcription.completed")
        kept.append(session["session_id"])
        messages.append(said["entry_id"])
    arguments = {"arguments": {"expression": "1+1"}, "call_id": CALL}
    await st.post("/execute/calculate", arguments, headers={"x-session-id": kept[0]})
    tracked = (await st.post("/sessions", {"title": "Tracked"}))["session_id"]
    ended = (await st.post("/session"))["session_id"]
    await st.post(f"/sessions/{ended}/end")
    passing = [(await st.post("/session"))["session_id"] for _ in range(3)]
    # Not those of the live ones: to resume a conversation is to take its session over.
    conversations = [(await st.post("/session"))["conversation_id"] for _ in range(2)]
    dropped = [(await st.post("/session"))["conversation_id"] for _ in range(2)]
    goal, step, todo = await _plans(st, conversations[0])
    return {
        "live": kept,
        "any": [tracked, ended, *passing],
        "conversations": conversations,
        "dropped": dropped,
        "messages": messages,
        "goals": [goal],
        "steps": [step],
        "todos": [todo],
    }


async def _plans(st: Stage, conversation_id: str) -> tuple[str, str, str]:
    """A goal, a step of it and a task, as if they had been talked about."""
    now = st.here.clock.now()
    whose: dict[str, Any] = {
        "user_id": DEFAULT_USER,
        "conversation_id": conversation_id,
        "created_at": now,
        "updated_at": now,
    }
    goal = Goal(id=new_id(), statement="Learn Spanish", **whose)
    todo = Todo(id=new_id(), title="Run", trigger_type="time", scheduled_at=now, **whose)
    step = Milestone(
        id=new_id(),
        goal_id=goal.id,
        user_id=DEFAULT_USER,
        title="Order coffee",
        position=0,
        created_at=now,
    )
    await st.here.journal.commit([Put(goal), Put(step), Put(todo)])
    return goal.id, step.id, todo.id


def _config(ids: dict[str, list[str]], examples: int) -> SchemathesisConfig:
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
        "PATCH /api/v1/profile",
        # Words that nobody can see, a time in words that means none, a rule that is none.
        f"POST {SESSIONS}",  # tasks for an agent that keeps them itself
        "PATCH /api/v1/conversations/{conversation_id}",
        "POST /api/v1/push/subscriptions",  # a browser's keys, an address that is public
        "POST /api/v1/goals",
        "PATCH /api/v1/goals/{goal_id}",
        "POST /api/v1/tasks",
        "PATCH /api/v1/preferences",
        f"POST {CONVERSATIONS}/{{conversation_id}}/messages",  # words that nobody can see
    ]
    return SchemathesisConfig.from_dict(
        {
            "dictionaries": {
                "live": {"values": ids["live"]},
                "any": {"values": ids["any"]},
                "tools": {"values": ["calculate", "current_time", "nothing"]},
                "arguments": {"values": ["{}", '{"expression": "6 * 7"}']},
                "voices": {"values": ["marin", "cedar"]},
                "calls": {"values": [CALL]},
                **{name: {"values": ids[name]} for name in _NAMED},
                "providers": {"values": ["127.0.0.1", "nobody"]},
            },
            "parameters": {
                "session_id": anyone,
                "x-session-id": anyone,
                "body.prev_session_id": anyone,
                "body.voice": {"dictionary": "voices", "probability": 0.8},
                "body.name": {"dictionary": "tools", "probability": 0.8},
                "body.arguments": {"dictionary": "arguments", "probability": 0.8},
                "path.tool_name": {"dictionary": "tools", "probability": 0.8},
                "path.task_id": {"dictionary": "calls", "probability": 0.5},
                "conversation_id": _one_of("conversations"),
                "body.conversation_id": _one_of("conversations"),
                "body.task_id": _one_of("todos"),
                "query.before": _one_of("messages"),
                "path.goal_id": _one_of("goals"),
                "path.milestone_id": _one_of("steps"),
            },
            "operations": [
                {"include-name": name, "checks": meaning, "parameters": _live_for(name, live)}
                for name in judged
            ]
            + [
                {
                    "include-name": f"{method} /api/v1/tasks/{{task_id}}",
                    "parameters": {"path.task_id": _one_of("todos")},
                    "checks": meaning if method == "PATCH" else {},
                }
                for method in ("GET", "PATCH", "DELETE")
            ]
            + [
                {
                    "include-name": f"POST /api/v1/tasks/{{task_id}}/{how}",
                    "parameters": {"path.task_id": _one_of("todos")},
                }
                for how in ("move", "done")
            ]
            + [
                {
                    "include-name": "POST /sessions/{session_id}/provider",
                    "parameters": {
                        "path.session_id": live,
                        "body.provider": {"dictionary": "providers", "probability": 0.8},
                    },
                },
                {  # not those that the others read
                    "include-name": f"DELETE {CONVERSATIONS}/{{conversation_id}}",
                    "parameters": {"path.conversation_id": _one_of("dropped")},
                },
            ],
            # Too large is told before it is read, and so before it is judged.
            "checks": {"negative_data_rejection": {"expected-statuses": [*_REFUSED, 413]}},
            "generation": {"max-examples": examples, "deterministic": True, "database": "none"},
            "request-timeout": 20,
        }
    )


_NAMED = ("conversations", "dropped", "messages", "goals", "steps", "todos")


def _one_of(name: str) -> dict[str, Any]:
    return {"dictionary": name, "probability": 0.8}


def _live_for(name: str, live: dict[str, Any]) -> dict[str, Any]:
    """Those that need a session that is still there."""
    if name.startswith(("PATCH", "POST /execute", "POST /webhook", "GET /session")):
        return {"session_id": live, "x-session-id": live}
    return {}


def _as_text(context: Any, value: Any) -> dict[str, Any]:
    return {"data": value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")}


def _with_keys(schema: schemathesis.BaseSchema, server: Standing) -> None:
    """Each `/sdp` has a fresh key, since a key opens once."""

    @schema.auth(refresh_interval=None).apply_to(path="/sdp")
    class Key:
        def get(self, case: Any, context: Any) -> str:
            opened = server.do(lambda st: st.post("/session"))
            return str(opened["client_secret"]["value"])

        def set(self, case: Any, data: str, context: Any) -> None:
            case.headers = {**(case.headers or {}), "Authorization": f"Bearer {data}"}

    @schema.auth(refresh_interval=None).apply_to(path="/api/v1/keys/exchange")
    class BrowserKey:
        def get(self, case: Any, context: Any) -> str:
            return str(server.do(lambda st: st.post("/api/v1/keys"))["key"])

        def set(self, case: Any, data: str, context: Any) -> None:
            case.headers = {**(case.headers or {}), "Authorization": f"Bearer {data}"}

    @schema.auth(refresh_interval=None).apply_to(path=f"{SESSIONS}/{{session_id}}/sdp")
    class OwnKey:
        """A key opens the call of its own session."""

        def get(self, case: Any, context: Any) -> dict[str, Any]:
            return server.do(lambda st: st.post(SESSIONS))

        def set(self, case: Any, data: dict[str, Any], context: Any) -> None:
            bearer = f"Bearer {data['ephemeral_key']}"
            case.headers = {**(case.headers or {}), "Authorization": bearer}
            if SESSION_ID.fullmatch(str(case.path_parameters["session_id"])):
                case.path_parameters["session_id"] = data["session_id"]


def _end_of_stream(context: schemathesis.HookContext, case: Any, kwargs: Any) -> None:
    """An event stream that is followed has no end; what it says is the same."""
    query, label = dict(case.query or {}), case.operation.label
    if label in STREAMS and _follows(query):
        case.query = query | {"follow": "false"}
    if label == "DELETE /api/v1/data":  # not what the others read
        case.headers = {**(case.headers or {}), "X-User-ID": "somebody-else"}
    # Nobody answers what is written to the scripted provider: do not wait for it.
    if label == f"POST {CONVERSATIONS}/{{conversation_id}}/messages" and isinstance(
        case.body, dict
    ):
        asked = case.body.get("wait_seconds", 30)
        if isinstance(asked, int | float) and not isinstance(asked, bool) and 0 < asked <= 60:
            case.body = case.body | {"wait_seconds": 0}


def _follows(query: dict[str, Any]) -> bool:
    return str(query.get("follow", "true")).lower() in ("true", "1", "on", "yes", "t", "y")


@pytest.fixture
def _adapted() -> Iterator[None]:
    """What schemathesis does not know of this API; these registers are global."""
    schemathesis.deserializer("application/sdp")(lambda context, response: response.text)
    REQUESTS_TRANSPORT.serializer("application/sdp")(_as_text)
    schemathesis.hook("before_call")(_end_of_stream)
    yield
    hooks.unregister(_end_of_stream)


# Both are about schemathesis's own strategies: how they look when printed, how they shuffle.
@pytest.mark.filterwarnings("ignore:Generating overly large repr:Warning")
@pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies:Warning")
@pytest.mark.usefixtures("_adapted")
# Random requests an operation; the edges come on top.
@pytest.mark.parametrize(
    "examples",
    [
        pytest.param(4, marks=pytest.mark.timeout(400)),
        pytest.param(150, marks=[pytest.mark.full, pytest.mark.timeout(900)]),
    ],
)
def test_no_request_gets_a_server_error_or_an_answer_outside_the_schema(
    tmp_path: Path, examples: int
) -> None:
    with standing(tmp_path, **LIMITLESS) as server:
        config = _config(server.do(_population), examples)
        schema = from_url(f"{server.url}/openapi.json", config=config)
        _with_keys(schema, server)
        wrong, succeeded = _run(schema)
    assert not wrong, "\n\n".join(wrong)
    # It went deep: each operation was done at least once, not only refused. Calls by WebSocket
    # are the embedded engine's alone (`tests/journeys/test_embedded.py`).
    everything = {label for label, _ in _operations(schema.raw_schema)}
    # What waits for a person cannot be made up: `api/test_tasks.py`.
    waiting = {"POST /tasks/{task_id}/answer", "POST /tasks/{task_id}/cancel"}
    waiting |= {"POST /approvals/{approval_id}", "DELETE /grants/{approval_id}"}
    waiting |= {"POST /api/v1/push/actions"}  # the key in a notice: `v1/test_push.py`
    # What waits for its time may come while this runs: `journeys/test_what_is_due.py`.
    succeeded |= {"POST /api/v1/reminders/{reminder_id}/seen"}
    # Only a task that is open and has a time can be moved, and others are ticked off or at a place
    # by then: `v1/test_people.py`.
    succeeded |= {"POST /api/v1/tasks/{task_id}/move"}
    sample = "GET /config/voices/{voice}/sample"  # the embedded engine's alone, as well
    missing = everything - succeeded
    assert missing >= {"POST /audio", sample, *waiting}
    # Few requests may by chance all be refused at one operation; many may not.
    assert len(missing) <= 2 + len(waiting) + (examples < _MANY)


_MANY = 100


def _run(schema: schemathesis.BaseSchema) -> tuple[list[str], set[str]]:
    """What went wrong, and what went well."""
    wrong: list[str] = []
    succeeded: set[str] = set()
    for event in from_schema(schema).execute():
        match event:
            case events.ScenarioFinished():
                wrong += _failures(event)
                succeeded |= _successes(event)
            case events.NonFatalError():
                wrong.append(f"{event.label}: {event.value}")
            case events.FatalError():
                raise event.exception
            case events.SchemaAnalysisWarnings():
                wrong += [str(warning) for warning in event.warnings]
            case events.EngineFinished():
                assert event.stop_reason is StopReason.COMPLETED
    return wrong, succeeded


def _successes(event: events.ScenarioFinished) -> set[str]:
    recorder = event.recorder
    return {
        recorder.cases[case_id].value.operation.label
        for case_id, exchange in recorder.interactions.items()
        if exchange.response is not None and exchange.response.status_code < 300
    }


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


# --- The description itself -----------------------------------------------------------

# The endpoints of the Voice API, those of recovery and polling included.
ENDPOINTS = """
POST /session
GET /session
GET /session/reconnect
POST /session/restore
GET /session/pending_updates
GET /sessions
POST /sessions
GET /sessions/{session_id}
POST /sessions/{session_id}/transcript
POST /sessions/{session_id}/resume
POST /sessions/{session_id}/end
POST /sessions/{session_id}/provider
POST /sdp
POST /audio
POST /conductor/token
GET /ice-config
GET /tools
GET /tools/{tool_name}
POST /execute/{tool_name}
POST /webhook/tool-call
GET /tasks
GET /tasks/{task_id}
POST /tasks/{task_id}/cancel
POST /tasks/{task_id}/answer
GET /approvals
POST /approvals/{approval_id}
GET /grants
DELETE /grants/{approval_id}
GET /events
GET /health
GET /status
GET /ready
GET /metrics
GET /config
PATCH /config/session/{session_id}
GET /config/voices
GET /config/voices/{voice}/sample
GET /config/turn-detection
"""

# Those of the Conversations API (seed 004 §9), and what its clients need beside them.
V1_ENDPOINTS = """
POST /api/v1/voice/session
DELETE /api/v1/voice/session/{session_id}
POST /api/v1/voice/session/{session_id}/sdp
POST /api/v1/voice/session/{session_id}/call
GET /api/v1/voice/session/{session_id}/events
POST /api/v1/voice/session/{session_id}/events/token
GET /api/v1/conversations
POST /api/v1/conversations
GET /api/v1/conversations/search
DELETE /api/v1/conversations/{conversation_id}
GET /api/v1/conversations/{conversation_id}
PATCH /api/v1/conversations/{conversation_id}
GET /api/v1/conversations/{conversation_id}/export
GET /api/v1/conversations/{conversation_id}/messages
POST /api/v1/conversations/{conversation_id}/messages
GET /api/v1/goals
GET /api/v1/goals/{goal_id}
POST /api/v1/goals
PATCH /api/v1/goals/{goal_id}
DELETE /api/v1/goals/{goal_id}
PATCH /api/v1/goals/{goal_id}/milestones/{milestone_id}
GET /api/v1/tasks
GET /api/v1/tasks/{task_id}
POST /api/v1/tasks
PATCH /api/v1/tasks/{task_id}
POST /api/v1/tasks/{task_id}/move
POST /api/v1/tasks/{task_id}/done
DELETE /api/v1/tasks/{task_id}
GET /api/v1/reminders
POST /api/v1/reminders/{reminder_id}/seen
GET /api/v1/intents
GET /api/v1/profile
PATCH /api/v1/profile
GET /api/v1/preferences
PATCH /api/v1/preferences
GET /api/v1/usage
GET /api/v1/data
DELETE /api/v1/data
GET /api/v1/login
GET /api/v1/me
POST /api/v1/keys
POST /api/v1/keys/exchange
GET /api/v1/push
POST /api/v1/push/subscriptions
DELETE /api/v1/push/subscriptions/{subscription_id}
POST /api/v1/push/actions
"""


def _operations(spec: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in spec["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def test_the_description_is_openapi_3_1_and_names_every_endpoint(spec: dict[str, Any]) -> None:
    assert re.fullmatch(r"3\.1\.\d+", spec["openapi"])
    every = (ENDPOINTS + V1_ENDPOINTS).split("\n")
    assert {label for label, _ in _operations(spec)} == set(every) - {""}


def test_every_body_of_the_conversations_api_has_an_example(spec: dict[str, Any]) -> None:
    schemas = spec["components"]["schemas"]
    for label, operation in _operations(spec):
        if not label.split()[1].startswith("/api/v1"):
            continue
        sent = operation.get("requestBody", {}).get("content", {}).get("application/json")
        name = re.findall(r"schemas/(\w+)", str(sent))
        assert all("examples" in schemas[one] for one in name), label


def test_every_operation_has_a_name_a_summary_a_tag_and_words(spec: dict[str, Any]) -> None:
    names = Counter(operation["operationId"] for _, operation in _operations(spec))
    assert max(names.values()) == 1
    for label, operation in _operations(spec):
        assert operation["summary"], label
        assert operation["description"], label
        assert operation["tags"], label


def test_tags_are_described_and_voices_are_those_of_the_server(spec: dict[str, Any]) -> None:
    used = {tag for _, operation in _operations(spec) for tag in operation["tags"]}
    assert used == {tag["name"] for tag in spec["tags"] if tag["description"]}
    schemas = spec["components"]["schemas"]
    voices = {"marin", "cedar", "alloy"}
    for name in ("CreateSessionRequest", "ResumeSessionRequest", "PreferencesChange"):
        field = schemas[name]["properties"]["voice"]
        assert voices <= set(field["anyOf"][0]["enum"]), name
        assert (field.get("default") == "marin") is (name == "CreateSessionRequest")
    item = schemas["ResumeSessionResponse"]["properties"]["context_to_inject"]["items"]
    assert item == {"$ref": "#/components/schemas/ConversationItem"}


@pytest.mark.parametrize("path", ["/session", "/session/reconnect", "/session/pending_updates"])
def test_whoever_asks_about_a_session_has_to_name_it(spec: dict[str, Any], path: str) -> None:
    told = {one["name"]: one for one in spec["paths"][path]["get"]["parameters"]}
    assert told["session_id"]["required"] is True
    assert "x-session-id" not in told


def test_every_error_that_is_declared_has_the_one_shape(spec: dict[str, Any]) -> None:
    shape = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorResponse"}}}
    for label, operation in _operations(spec):
        for status, response in operation["responses"].items():
            probe = label in ("GET /health", "GET /ready") and status == "503"  # it says what is up
            if int(status) >= 400 and not probe:
                assert response["content"] == shape, (label, status)
    error = spec["components"]["schemas"]["ErrorBody"]
    assert set(error["required"]) == {"code", "message", "timestamp"}
    assert set(error["properties"]) == {"code", "message", "details", "request_id", "timestamp"}


def test_no_operation_promises_a_validation_error_of_the_framework(spec: dict[str, Any]) -> None:
    assert "422" not in {s for _, operation in _operations(spec) for s in operation["responses"]}
    assert "HTTPValidationError" not in spec["components"]["schemas"]


@pytest.mark.parametrize("page", ["/docs", "/redoc"])
def test_the_pages_load_nothing_from_another_host(server: Standing, page: str) -> None:
    with httpx.Client(base_url=server.url) as http:
        answer = http.get(page)
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/html")
        loaded = re.findall(r"""(?:src|href)=["']([^"']+)["']""", answer.text)
        assert loaded, "a page without a script shows nothing"
        assert [url for url in loaded if not url.startswith("/")] == []
        assert "http://" not in answer.text
        assert "https://" not in answer.text
        for url in loaded:
            assert http.get(url).status_code == 200, url
        policy = answer.headers["content-security-policy"]
        assert "http:" not in policy
        assert "https:" not in policy


def test_with_a_token_the_description_asks_for_it_and_so_does_every_operation(
    tmp_path: Path,
) -> None:
    token = "a-token-that-is-long-enough"
    with standing(tmp_path, auth="token", auth_token=token) as guarded:
        known = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=guarded.url) as http:
            spec = http.get("/openapi.json", headers=known).json()
            assert spec["security"] == [{"serverToken": []}]
            for label, operation in _operations(spec):
                method, path = label.split()
                answer = http.request(method, re.sub(r"{.*?}", "x", path), content=b"")
                if path in ("/health", "/ready", "/api/v1/login"):
                    assert operation["security"] == []
                    assert answer.status_code == 200, label
                elif path.endswith(("/sdp", "/audio")):  # have a key of their own
                    assert operation["security"] == [{"ephemeralToken": []}]
                elif path == "/api/v1/keys/exchange":
                    assert operation["security"] == [{"browserKey": []}]
                    assert answer.status_code == 401, label
                elif path == "/api/v1/push/actions":  # the same, in its body
                    assert operation["security"] == []
                    assert answer.status_code == 400, label
                else:
                    assert "security" not in operation
                    assert answer.status_code == 401, label
                    assert answer.json()["error"]["code"] == "unauthorized"
                    assert answer.headers["www-authenticate"] == "Bearer"
