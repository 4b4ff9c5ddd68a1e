"""Every operation there is, tried by each of two users with the other's real ids.

The operations come from the server's own description, and each has a case here: a new one
without a case fails, and so does an id that this test does not know. Where an operation
takes several ids, one at a time is the other's and the rest are one's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import httpx
import sqlalchemy as sa

from tests.offers import OFFER
from tests.server.doors import Doors, Json, doors
from tests.server.tokens import ADA, EVE, SETTINGS, bearer
from tests.server.v1 import client as v1
from vivavoce.store.schema import metadata
from vivavoce.testing import MemoryStore
from vivavoce.wire.records.plans import Goal, Milestone, Reminder, Todo
from vivavoce.wire.records.reach import PushSubscription
from vivavoce.wire.records.talk import Put, new_id
from vivavoce.wire.records.work import Approval, Task

OPEN = {"healthCheck", "readinessCheck", "getLogin"}
OPERATORS = {"getStatus", "getMetrics"}
BY_KEY = {"exchangeSdp", "openAudio", "exchangeVoiceSdp", "exchangeBrowserKey"}
TRIED_ELSEWHERE = {"actOnNotice", "subscribeToPush"}
"""By the key in a notice, and by the browser's own secret: `v1/test_push.py`."""
"""The key of one session; a JWT is none."""
NOT_HERE = "getVoiceSample"
"""Another provider than ours has none."""
FOR_ALL = {
    *("listTools", "getTool", "getConfig", "getVoices", NOT_HERE),
    *("getTurnDetection", "getIceConfig"),
}
OWN = {
    *("createSession", "listSessions", "createTrackedSession", "listTasks", "listApprovals"),
    *("listConversations", "createConversation", "searchMessages", "listGoals", "createGoal"),
    *("listPlannedTasks", "listReminders", "getProfile", "updateProfile"),
    *("getPreferences", "updatePreferences", "getUsage", "listGrants", "exportData"),
    *("createConductorToken", "createBrowserKey", "getPush", "getMe"),
}
"""They name nothing that belongs to anybody."""
NAMED = {
    *("getSessionState", "getSession", "syncTranscript", "endSession", "reconnectSession"),
    *("restoreSession", "pendingUpdates", "resumeSession", "executeTool", "toolCallWebhook"),
    *("getTask", "cancelTask", "answerTask", "decideApproval", "eventStream"),
    *("updateSessionConfig", "createVoiceSession", "endVoiceSession", "attachVoiceCall"),
    *("voiceSessionEvents", "renewStreamToken", "deleteConversation", "listMessages"),
    *("sendMessage", "getGoal", "updateGoal", "deleteGoal", "updateMilestone"),
    *("createPlannedTask", "getPlannedTask", "updatePlannedTask", "deletePlannedTask"),
    *("getConversation", "renameConversation", "exportConversation"),
    *("donePlannedTask", "movePlannedTask"),
    *("listIntents", "revokeGrant", "seenReminder", "changeProvider", "unsubscribeFromPush"),
}
"""They name something of a user's: of another's, it is not there."""
LAST = {"deleteData"}
"""Takes all that is one's own, and so comes after everything else."""
SHARED = {"tool_name": "calculate", "voice": "marin"}  # the same for all
VALUES = {  # which no schema tells
    "name": "calculate",
    "voice": "marin",
    "to": "2030-01-31T18:00:00Z",
    "of": None,
    "sessionId": "3f0c9f3e-51a6-4f3b-9a1d-6d2b7c8e9f10",
}
MEANT = {"before": "message_id", "prev_session_id": "session_id"}


@dataclass(frozen=True)
class Owner:
    """Somebody who has one of everything, with a word in it that nobody else knows."""

    user: str
    word: str
    ids: dict[str, str]


async def test_each_operation_is_tried_with_the_ids_of_another_user(tmp_path: Path) -> None:
    store = MemoryStore()
    async with doors(tmp_path, store=store, **SETTINGS, agent="workbench") as d:
        schema = await d.get("/openapi.json", headers=bearer(ADA))
        operations = list(_operations(schema))
        _each_has_a_case({operation["operationId"] for _, _, operation in operations})
        ada, eve = await _owner(d, ADA, "marigold"), await _owner(d, EVE, "foxglove")
        for other, me in ((ada, eve), (eve, ada)):
            d.http.headers.update(bearer(other.user, "developer"))
            seen = await d.http.get(f"/sessions/{other.ids['session_id']}")
            assert other.word in seen.text
            before = _kept(store, other.user)
            d.http.headers.update(bearer(me.user, "developer"))
            for method, path, operation in operations:
                if operation["operationId"] not in LAST | TRIED_ELSEWHERE:
                    await _try(d, schema, method, path, operation, other, me)
            assert _kept(store, other.user) == before
        deleted = await d.http.delete("/api/v1/data", params={"confirm": "everything"})
        assert deleted.status_code == 200, deleted.text
        assert _kept(store, eve.user) == before, "only one's own"


def _each_has_a_case(there: set[str]) -> None:
    known = OPEN | OPERATORS | BY_KEY | TRIED_ELSEWHERE | FOR_ALL | OWN | NAMED | LAST
    assert not there - known, "a new operation: whose is what it names? Give it a case"
    assert not known - there, "these are gone"


async def _try(
    d: Doors, schema: Json, method: str, path: str, operation: Json, other: Owner, me: Owner
) -> None:
    name = operation["operationId"]
    named = _names(schema, path, operation)
    assert bool(named) == (name in NAMED) or name in BY_KEY, f"{name} names {named}"
    if named and method == "GET":  # the ids are real: with one's own it answers
        assert (await _call(d, schema, method, path, operation, me.ids)).status_code == 200, name
    for foreign in sorted(named) or [""]:
        ids = {**me.ids, foreign: other.ids.get(foreign, "")}
        response = await _call(d, schema, method, path, operation, ids)
        shown = f"{name} with another's {foreign}: {response.status_code} {response.text[:300]}"
        assert other.word not in response.text, shown
        if name in BY_KEY:
            assert response.status_code == 401, shown
        elif name in OPERATORS:
            assert response.status_code == 403, shown
        elif foreign or name == NOT_HERE:
            assert response.status_code == 404, shown
        else:
            assert response.status_code < 300, shown
            assert not [v for v in other.ids.values() if v in response.text], shown


def _kept(store: MemoryStore, user: str) -> dict[str, list[Any]]:
    """All that is stored of somebody but the log, which goes on by itself."""
    assert store._engine is not None
    with store._engine.connect() as connection:
        return {
            table.name: sorted(map(str, connection.execute(_of(table, user))))
            for table in metadata.sorted_tables
            if "user_id" in table.c and table.name != "events"
        }


def _of(table: sa.Table, user: str) -> sa.Select[Any]:
    """Without the server's own notes of when it looks at a to-do again."""
    told = [one for one in table.c if one.name not in ("look_at", "noted_until")]
    return sa.select(*told).where(table.c.user_id == user)


async def test_a_copy_of_a_transcript_cannot_name_what_another_said(tmp_path: Path) -> None:
    store = MemoryStore()
    async with doors(tmp_path, store=store, **SETTINGS, agent="workbench") as d:
        ada, eve = await _owner(d, ADA, "marigold"), await _owner(d, EVE, "foxglove")
        before = _kept(store, ADA)
        d.http.headers.update(bearer(EVE))
        entry = {"id": ada.ids["message_id"], "entry_type": "user", "text": "Not hers"}
        path = f"/sessions/{eve.ids['session_id']}/transcript"
        response = await d.http.post(path, json={"entries": [entry]})
        assert response.status_code < 500, response.text
        assert "marigold" not in (await d.http.get(f"/sessions/{eve.ids['session_id']}")).text
        assert _kept(store, ADA) == before


async def _owner(d: Doors, user: str, word: str) -> Owner:
    d.http.headers.update(bearer(user, "developer"))
    opened, call = await v1.talk(d)
    await call.user_says(f"My secret is {word}")
    await d.until(opened["session_id"], "transcription.completed")
    said = await d.get(f"{v1.CONVERSATIONS}/{opened['conversation_id']}/messages")
    now = d.here.clock.now()
    dated: dict[str, Any] = {"user_id": user, "created_at": now, "updated_at": now}
    goal = Goal(id=new_id(), statement=word, **dated)
    step = Milestone(
        id=new_id(), goal_id=goal.id, user_id=user, title=word, position=0, created_at=now
    )
    soon = now + timedelta(days=1)  # or it would come due meanwhile
    todo = Todo(id=new_id(), title=word, trigger_type="time", scheduled_at=soon, **dated)
    was_due = Reminder(
        id=new_id(),
        user_id=user,
        task_id=todo.id,
        title=word,
        due_at=now,
        created_at=now,
        status="told",
    )
    # The same id for both kinds of task: neither door may show the other's.
    task = Task(
        id=todo.id, description=word, title=word, agent="coder", backend="embedded", **dated
    )
    approval = Approval(
        id=new_id(),
        user_id=user,
        tool="write_file",
        question=word,
        requested_at=now,
        expires_at=now + timedelta(minutes=5),
    )
    await d.here.store.commit([Put(task), Put(approval)])
    browser = PushSubscription(
        id=new_id(),
        endpoint=f"https://push.example/{word}",
        p256dh="B",
        auth="A",
        device=word,
        **dated,
    )
    await d.here.journal.commit([Put(goal), Put(step), Put(todo), Put(was_due), Put(browser)])
    live = d.here.voice.live(opened["session_id"], user)
    assert live is not None
    ids = {
        "session_id": opened["session_id"],
        "conversation_id": opened["conversation_id"],
        "message_id": said["messages"][0]["id"],
        "call_id": str(live.records.session.call_id),
        "goal_id": goal.id,
        "milestone_id": step.id,
        "task_id": todo.id,
        "reminder_id": was_due.id,
        "subscription_id": browser.id,
        "approval_id": approval.id,
    }
    return Owner(user, word, ids)


def _operations(schema: Json) -> Iterator[tuple[str, str, Json]]:
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            yield method.upper(), path, operation


OF_NOBODY = {"user_id", "sessionid", "question_id", "last_event_id"}
"""Of whom a key is to be, which only an operator may say; of a session that is yet to be; of a
question within a task; and a place in the log, of which one is shown one's own."""


IDS = {
    *("session_id", "conversation_id", "message_id", "goal_id", "milestone_id", "task_id"),
    *("approval_id", "call_id", "reminder_id", "subscription_id"),
}


def _meant(name: str) -> str:
    plain = name.lower().removeprefix("x-").replace("-", "_")
    return MEANT.get(plain, plain)


def _names(schema: Json, path: str, operation: Json) -> set[str]:
    """The ids that a request names, in its path, its query, its headers and its body."""
    found = set()
    for parameter in operation.get("parameters", ()):
        meant = _meant(parameter["name"])
        if parameter["in"] == "path":
            assert meant in IDS | SHARED.keys(), f"{path}: whose is {meant}? Tell this test"
        found.add(meant)
    found |= {_meant(name) for name in _body_shape(schema, operation).get("properties", {})}
    unknown = {name for name in found if re.search(r"(_|[a-z]I|^)ids?$", name)} - IDS - OF_NOBODY
    assert not unknown, f"{path}: whose is what {unknown} names? Tell this test"
    # A call of the model's has an id that its client made up; a call at the provider is somebody's.
    unowned = {"call_id"} if operation["operationId"] != "attachVoiceCall" else set()
    return (found & IDS) - unowned


async def _call(
    d: Doors, schema: Json, method: str, path: str, operation: Json, ids: dict[str, str]
) -> httpx.Response:
    headers: dict[str, str] = {}
    query: Json = {"follow": "false"} if path.endswith("/events") else {}
    for parameter in operation.get("parameters", ()):
        name, place = parameter["name"], parameter["in"]
        own = ids.get(_meant(name))
        if own is not None:
            {"header": headers, "query": query}.get(place, {})[name] = own
        elif place == "query" and parameter.get("required"):
            query[name] = "marigold foxglove"
    body = _body(schema, operation, ids)
    if (method, path) == ("POST", "/api/v1/tasks"):
        body["location_trigger"] = "home"  # a time or a place, which no schema says
    if method == "PATCH" and body == {}:  # a change names something
        name, field = next(iter(_body_shape(schema, operation)["properties"].items()))
        body[name] = VALUES.get(name) or _value(schema, field)
    url = re.sub(r"\{(\w+)\}", lambda found: (ids | SHARED)[found[1]], path)
    if operation["operationId"] in BY_KEY:
        headers["content-type"] = "application/sdp"
        return await d.http.request(method, url, content=OFFER, headers=headers)
    return await d.http.request(method, url, json=body, params=query, headers=headers)


def _body_shape(schema: Json, operation: Json) -> Json:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    return {} if content is None else _resolved(schema, content["schema"])


def _body(schema: Json, operation: Json, ids: dict[str, str]) -> Any:
    shape = _body_shape(schema, operation)
    made: Json = {}
    for name, field in shape.get("properties", {}).items():
        own = ids.get(_meant(name))
        if own is not None and _meant(name) in _names(schema, "", {**operation, "parameters": ()}):
            made[name] = own
        elif name in shape.get("required", ()):
            made[name] = VALUES.get(name) or _value(schema, field)
    return made if shape else None


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
