"""Every route there is, walked by somebody else: what is Ada's is not there for Eve.

The routes come from the server's own description, so a new door is walked as
soon as it is there; an id that this test does not know makes it fail.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import httpx

from tests.offers import OFFER
from tests.server.doors import Doors, Json, doors
from tests.server.tokens import ADA, EVE, SETTINGS, bearer
from tests.server.v1 import client as v1
from vivavoce.server.gate.auth import KEYED_PATHS, OPERATOR_PATHS
from vivavoce.wire.records.plans import Goal, Milestone, Todo
from vivavoce.wire.records.talk import Put, new_id
from vivavoce.wire.records.work import Approval, Task

SECRET = "marigold"  # in everything of Ada's
SHARED = {"tool_name": "calculate"}  # the same for all


async def test_whatever_belongs_to_another_user_is_not_there(tmp_path: Path) -> None:
    async with doors(tmp_path, **SETTINGS, agent="workbench") as d:
        schema = await _description(d)
        d.http.headers.update(bearer(ADA))
        ids = await _everything_of_adas(d)
        assert SECRET in (await d.http.get(f"/sessions/{ids['session_id']}")).text
        d.http.headers.update(bearer(EVE))
        walked = 0
        for method, path, operation in _operations(schema):
            response, named = await _call(d, schema, method, path, operation, ids)
            shown = f"{method} {path}: {response.status_code} {response.text[:300]}"
            assert SECRET not in response.text, shown
            if KEYED_PATHS.fullmatch(path):
                assert response.status_code == 401, shown
            elif path in OPERATOR_PATHS:
                assert response.status_code == 403, shown
            elif named:
                assert response.status_code == 404, shown
                walked += 1
            else:
                assert response.status_code < 500, shown
                assert not [v for v in ids.values() if v in response.text], shown
        assert walked >= 20
        d.http.headers.update(bearer(ADA))
        assert (await d.state(ids["session_id"]))["status"] == "active"
        assert (await d.get(f"/tasks/{ids['task_id']}"))["status"] != "cancelled"


async def _description(d: Doors) -> Json:
    return await d.get("/openapi.json", headers=bearer(ADA))


async def _everything_of_adas(d: Doors) -> dict[str, str]:
    opened, call = await v1.talk(d)
    await call.user_says(f"My secret is {SECRET}")
    await d.until(opened["session_id"], "transcription.completed")
    now = d.here.clock.now()
    dated: dict[str, Any] = {"user_id": ADA, "created_at": now, "updated_at": now}
    goal = Goal(id=new_id(), statement=SECRET, **dated)
    step = Milestone(
        id=new_id(), goal_id=goal.id, user_id=ADA, title=SECRET, position=0, created_at=now
    )
    todo = Todo(id=new_id(), title=SECRET, trigger_type="time", scheduled_at=now, **dated)
    # The same id for both kinds of task: neither door may show the other's.
    task = Task(
        id=todo.id, description=SECRET, title=SECRET, agent="coder", backend="embedded", **dated
    )
    approval = Approval(
        id=new_id(),
        user_id=ADA,
        tool="write_file",
        question=SECRET,
        requested_at=now,
        expires_at=now + timedelta(minutes=5),
    )
    await d.here.store.commit([Put(task), Put(approval)])
    await d.here.journal.commit([Put(goal), Put(step), Put(todo)])
    return {
        "session_id": opened["session_id"],
        "conversation_id": opened["conversation_id"],
        "goal_id": goal.id,
        "milestone_id": step.id,
        "task_id": todo.id,
        "approval_id": approval.id,
    }


def _operations(schema: Json) -> Iterator[tuple[str, str, Json]]:
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            yield method.upper(), path, operation


async def _call(
    d: Doors, schema: Json, method: str, path: str, operation: Json, ids: dict[str, str]
) -> tuple[httpx.Response, bool]:
    """The answer, and whether the request named something of Ada's."""
    named = False
    headers: dict[str, str] = {}
    query: Json = {"follow": "false"} if path.endswith("/events") else {}
    for parameter in operation.get("parameters", ()):
        name, place = parameter["name"], parameter["in"]
        own = ids.get(name.lower().removeprefix("x-").replace("-", "_"))
        if place == "path":
            assert own or name in SHARED, f"{path}: whose is {name}? Tell this test"
        if own is None:
            if place == "query" and parameter.get("required"):
                query[name] = SECRET
            continue
        named = True
        if place == "header":
            headers[name] = own
        elif place == "query":
            query[name] = own
    body, in_body = _body(schema, operation, ids)
    if (method, path) == ("POST", "/api/v1/tasks"):
        body["location_trigger"] = "home"  # a time or a place, which no schema says
    if method == "PATCH" and body == {}:  # a change names something
        shape = operation["requestBody"]["content"]["application/json"]["schema"]
        name, field = next(iter(_resolved(schema, shape)["properties"].items()))
        body[name] = _value(schema, field)
    url = re.sub(r"\{(\w+)\}", lambda found: (ids | SHARED)[found[1]], path)
    if KEYED_PATHS.fullmatch(path):
        headers["content-type"] = "application/sdp"
        return await d.http.request(method, url, content=OFFER, headers=headers), named
    response = await d.http.request(method, url, json=body, params=query, headers=headers)
    return response, named or in_body


def _body(schema: Json, operation: Json, ids: dict[str, str]) -> tuple[Any, bool]:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if content is None:
        return None, False
    shape = _resolved(schema, content["schema"])
    made: Json = {}
    named = False
    for name, field in shape.get("properties", {}).items():
        own = ids.get(name.removeprefix("prev_"))
        if own is not None:
            made[name], named = own, True
        elif name in shape.get("required", ()):
            made[name] = _value(schema, field)
    return made, named


def _resolved(schema: Json, shape: Json) -> Json:
    if "$ref" in shape:
        return cast("Json", schema["components"]["schemas"][shape["$ref"].rpartition("/")[2]])
    for kind in ("anyOf", "oneOf"):
        if kind in shape:
            real = [each for each in shape[kind] if each.get("type") != "null"]
            return _resolved(schema, real[0])
    return shape


def _value(schema: Json, field: Json) -> Any:
    """The smallest thing of the right kind."""
    shape = _resolved(schema, field)
    if "const" in shape or "enum" in shape:
        return shape.get("const", shape.get("enum", [None])[0])
    match shape.get("type"):
        case "object":
            fields, needed = shape.get("properties", {}), shape.get("required", ())
            return {name: _value(schema, fields[name]) for name in needed}
        case "array":
            return []
        case "boolean":
            return True
        case "integer" | "number":
            return shape.get("minimum", 1)
        case _:
            return "{}" if "argument" in str(shape.get("title", "")).lower() else "words"
