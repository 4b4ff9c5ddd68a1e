"""Who may do what: a plain user has no files and no commands, whichever way they come in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.server.doors import Doors, Json, answered, doors, refused
from tests.server.serving import request, serving
from tests.server.tokens import ADA, EVE, SETTINGS, bearer, token
from tests.server.v1 import client as v1
from vivavoce.app.server import build_app
from vivavoce.errors import Forbidden
from vivavoce.runtime.sessions.options import remembered
from vivavoce.runtime.tasks.ports import AgentCard
from vivavoce.tools.functions import tool
from vivavoce.wire.records.talk import Put, new_id
from vivavoce.wire.records.work import Role, Task

TOKEN = "a-token-that-is-long-enough"
WITHHELD = {"bash", "read_file", "write_file", "edit_file", "glob", "grep", "tracker_find"}
WORKBENCH: Json = {**SETTINGS, "agent": "workbench"}


@tool(category="mcp")
async def tracker_find(words: str) -> str:
    """As a server beyond the sandbox would have it."""
    return words


def _as(d: Doors, role: str | None, user: str = ADA) -> None:
    d.http.headers.update(bearer(user, role))


async def _tools(d: Doors) -> set[str]:
    return {each["name"] for each in (await d.get("/tools"))["tools"]}


async def _offered(d: Doors) -> set[str]:
    """What the model of the newest call was told that it has."""
    update = await (await d.provider.next_call()).expect("session.update")
    return {each["name"] for each in update["session"]["tools"]}


# --- Tools ------------------------------------------------------------------------------


async def test_a_plain_user_has_no_files_no_commands_and_nothing_beyond_the_sandbox(
    tmp_path: Path,
) -> None:
    async with doors(tmp_path, **WORKBENCH, tools=[tracker_find]) as d:
        for role, has in ((None, set()), ("developer", WITHHELD), ("operator", WITHHELD)):
            _as(d, role)
            found = await _tools(d)
            assert found & WITHHELD == has
            assert {"calculate", "web_fetch", "list_tasks"} <= found
        _as(d, None)
        for response in (
            await d.http.get("/tools/bash"),
            await d.http.post("/session", json={"tools_filter": ["calculate", "bash"]}),
        ):
            words = refused(response, 403, "forbidden")["message"]
            assert "'bash' is not granted to the role 'user'" in words
            assert "VIVAVOCE_USER_TOOLS" in words
            assert "'roles.user.tools' in agent.yaml" in words


async def _create(d: Doors) -> None:
    opened = await d.post("/session", {})
    await d.sdp(opened["client_secret"]["value"])


async def _create_v1(d: Doors) -> None:
    opened = await d.post(v1.SESSIONS, {})
    await v1.sdp(d, opened["session_id"], opened["ephemeral_key"])


async def _go_on_v1(d: Doors) -> None:
    made = await d.post(v1.CONVERSATIONS, {})
    opened = await d.post(v1.SESSIONS, {"conversation_id": made["id"]})
    await v1.sdp(d, opened["session_id"], opened["ephemeral_key"])


async def _write(d: Doors) -> None:
    made = await d.post(v1.CONVERSATIONS, {})
    await d.post(f"{v1.CONVERSATIONS}/{made['id']}/messages", {"content": "Hi", "wait_seconds": 0})


async def _of_a_developers(d: Doors, go_on: Callable[[str], Awaitable[Json]]) -> None:
    """Whoever was a developer when it began, and is none any more."""
    _as(d, "developer")
    opened = await d.post("/session", {"tools_filter": ["calculate", "bash"]})
    assert {each["name"] for each in opened["tools"]} == {"calculate", "bash"}
    _as(d, None)
    again = await go_on(opened["session_id"])
    realtime = again.get("realtime") or {"client_secret": {"value": again.get("ephemeral_key")}}
    await d.sdp(realtime["client_secret"]["value"])


async def _resume(d: Doors) -> None:
    await _of_a_developers(d, lambda old: d.post(f"/sessions/{old}/resume", {}))


async def _restore(d: Doors) -> None:
    await _of_a_developers(d, lambda old: d.post("/session/restore", {"prev_session_id": old}))


async def _reconnect(d: Doors) -> None:
    await _of_a_developers(
        d, lambda old: d.get("/session/reconnect", headers={"x-session-id": old})
    )


@pytest.mark.parametrize(
    "begin", [_create, _create_v1, _go_on_v1, _write, _resume, _restore, _reconnect]
)
async def test_whichever_way_a_session_begins_its_model_has_what_its_user_may_use(
    tmp_path: Path, begin: Callable[[Doors], Awaitable[None]]
) -> None:
    async with doors(tmp_path, **WORKBENCH) as d:
        _as(d, None)
        await begin(d)
        offered = await _offered(d)
        assert "calculate" in offered
        assert not offered & WITHHELD


async def test_a_session_keeps_its_role_for_the_server_that_picks_it_up(tmp_path: Path) -> None:
    async with doors(tmp_path, **WORKBENCH) as d:
        for role in (None, "developer"):
            _as(d, role)
            opened = await d.post("/session", {})
            kept = await d.here.store.session(opened["session_id"], user_id=ADA)
            assert kept is not None
            tools, _, _ = await d.here.voice.maker.wanted(ADA, remembered(kept))
            assert ("bash" in {each.name for each in tools}) == (role == "developer")


async def test_a_session_that_may_more_is_not_steered_by_who_may_less(tmp_path: Path) -> None:
    async with doors(tmp_path, **WORKBENCH) as d:
        _as(d, "developer")
        opened, _ = await v1.talk(d)
        _as(d, None)
        wanted = {"tools_enabled": ["bash"]}
        path = f"{v1.CONVERSATIONS}/{opened['conversation_id']}/messages"
        for response in (
            await d.http.post(path, json={"content": "Run it"}),
            await d.http.patch(f"/config/session/{opened['session_id']}", json=wanted),
        ):
            assert "'developer'" in refused(response, 403, "forbidden")["message"]


@pytest.mark.parametrize(
    ("given", "said", "has"),
    [
        ({"user_tools": "read_file,gl*"}, "", {"read_file", "glob"}),
        ({"user_tools": "*,!bash"}, "", WITHHELD - {"bash", "tracker_find"}),
        ({}, "roles: {user: {tools: [read_file]}}\n", {"read_file"}),
        ({"user_tools": "glob"}, "roles: {user: {tools: [read_file]}}\n", {"glob"}),
    ],
)
async def test_more_is_granted_by_the_settings_or_by_the_agents_own_file(
    tmp_path: Path, given: Json, said: str, has: set[str]
) -> None:
    agent = tmp_path / "agents" / "narrow"
    agent.mkdir(parents=True)
    (agent / "agent.yaml").write_text(f'name: narrow\ntools: ["*"]\n{said}')
    (agent / "prompt.md").write_text("Be brief.")
    async with doors(tmp_path / "data", **SETTINGS, agent=str(agent), **given) as d:
        _as(d, None)
        assert await _tools(d) & WITHHELD == has


async def test_without_authentication_everything_is_allowed_as_before(tmp_path: Path) -> None:
    async with doors(tmp_path, agent="workbench", tools=[tracker_find]) as d:
        assert await _tools(d) >= WITHHELD
        for path in ("/status", "/metrics", "/config"):
            assert (await d.http.get(path)).status_code == 200
        ran = await d.post("/execute/calculate", {"arguments": {"expression": "1+1"}})
        assert ran["output"] == "2"


# --- Doors ------------------------------------------------------------------------------


async def test_what_is_not_for_everybody_says_what_is_missing_and_how_to_get_it(
    tmp_path: Path,
) -> None:
    call = {"call_id": "call_1", "name": "calculate", "arguments": '{"expression": "1"}'}
    async with doors(tmp_path, **WORKBENCH, auth_token=TOKEN) as d:
        _as(d, None)
        for needed, response in (
            ("operator", await d.http.get("/status")),
            ("operator", await d.http.get("/metrics")),
            ("developer", await d.http.get("/config")),
            ("developer", await d.http.post("/execute/calculate", json={"arguments": {}})),
            ("developer", await d.http.post("/webhook/tool-call", json=call)),
        ):
            words = refused(response, 403, "forbidden")["message"]
            assert f"is for the role '{needed}', and you have 'user'" in words
            assert "the claim 'vivavoce_role'" in words
        for path in ("/config/voices", "/config/turn-detection", "/tools", "/sessions"):
            assert (await d.http.get(path)).status_code == 200
        _as(d, "developer")
        assert (await d.http.get("/config")).status_code == 200
        assert (await d.http.get("/status")).status_code == 403
        _as(d, "operator")
        for path in ("/config", "/status", "/metrics", "/sessions"):
            assert (await d.http.get(path)).status_code == 200
        d.http.headers["authorization"] = f"Bearer {TOKEN}"
        for path in ("/config", "/status", "/metrics"):
            assert (await d.http.get(path)).status_code == 200
        words = refused(await d.http.get("/sessions"), 401, "unauthorized")["message"]
        assert "takes a JWT" in words


async def test_who_may_execute_is_a_setting_and_gives_no_tool_that_was_not_granted(
    tmp_path: Path,
) -> None:
    async with doors(tmp_path, **WORKBENCH, execute_role="user") as d:
        _as(d, None)
        ran = await d.post("/execute/calculate", {"arguments": {"expression": "1+1"}})
        assert ran["output"] == "2"
        response = await d.http.post("/execute/bash", json={"arguments": {"command": "ls"}})
        assert "VIVAVOCE_USER_TOOLS" in refused(response, 403, "forbidden")["message"]


async def test_statistics_are_of_ones_own_calls_and_for_an_operator_of_all(tmp_path: Path) -> None:
    async with doors(tmp_path, **WORKBENCH) as d:
        for user in (ADA, ADA, EVE):
            _as(d, "developer", user)
            await d.post("/execute/calculate", {"arguments": {"expression": "1"}})
        for user, role, count in ((ADA, None, 2), (EVE, "developer", 1), (EVE, "operator", 3)):
            _as(d, role, user)
            found = await d.get("/tools/calculate")
            assert found["execution_stats"]["total_calls"] == count


TRICKS = """
/status
/status/
//status
/Status
/%73tatus
/status%2f
/status;x
/./status
/x/../status
/metrics
/metrics/
/config
/config/
/config?x
/v1/../status
/v1/%2e%2e/status
/assets/../status
/assets/..%2fstatus
/assets/%2e%2e/%2e%2e/status
/health/..;/status
/execute/calculate
//execute/calculate
/Execute/calculate
/execute//calculate
/%65xecute/calculate
/webhook/tool-call
/webhook/tool-call/
""".strip().splitlines()


async def test_no_spelling_of_a_path_opens_what_is_not_for_everybody(tmp_path: Path) -> None:
    async with doors(tmp_path, **WORKBENCH) as d, serving(build_app(d.here)) as served:
        body = b'{"arguments": {"expression": "1+1"}}'
        sized = ("Content-Type: application/json", f"Content-Length: {len(body)}")
        for path in TRICKS:
            for who in (None, bearer(ADA)["authorization"]):
                shown = () if who is None else (f"Authorization: {who}",)
                posts = "xecute" in path or "webhook" in path
                how: Json = {"method": "POST", "body": body} if posts else {}
                headers = (*shown, *sized) if posts else shown
                async with request(served, path, *headers, **how) as answer:
                    # `/status/` is sent to `/status`, which is as closed as before.
                    assert answer.status in (307, 400, 401, 403, 404, 405), path


# --- Delegated work ---------------------------------------------------------------------


async def test_work_that_a_plain_user_began_has_no_more_than_they(tmp_path: Path) -> None:
    async with doors(tmp_path, **WORKBENCH) as d:
        now = d.here.clock.now()

        async def glob_of(role: Role) -> str:
            given: dict[str, Any] = {"user_id": ADA, "created_at": now, "updated_at": now}
            task = Task(
                id=new_id(), description="d", agent="coder", backend="x", role=role, **given
            )
            await d.here.store.commit([Put(task)])
            return await d.here.work.call(task.id, new_id(), "glob", {"pattern": "*"})

        assert "don't have a tool" in await glob_of("user")
        assert "don't have a tool" not in await glob_of("developer")


async def test_a_plain_user_delegates_only_to_agents_that_are_held_to_their_tools(
    tmp_path: Path,
) -> None:
    inside = AgentCard(name="coder", description="", backend="embedded")
    beyond = AgentCard(name="claude", description="", backend="acp")
    async with doors(tmp_path, **WORKBENCH) as d:
        check = d.here.profile.check_delegate
        check(inside, "user")
        check(beyond, "developer")
        with pytest.raises(Forbidden, match="VIVAVOCE_USER_AGENTS"):
            check(beyond, "user")
    async with doors(tmp_path, **WORKBENCH, user_agents="claude", developer_agents="!coder") as d:
        check = d.here.profile.check_delegate
        check(beyond, "user")
        check(beyond, "developer")
        with pytest.raises(Forbidden, match="VIVAVOCE_DEVELOPER_AGENTS"):
            check(inside, "developer")


# --- Roles ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "claims", "status"),
    [
        ({}, {"vivavoce_role": "operator"}, 200),
        ({}, {"vivavoce_role": ["x", "operator"]}, 200),
        ({}, {"vivavoce_role": "Operator"}, 403),
        ({}, {"vivavoce_role": {"operator": True}}, 403),
        ({}, {"role": "operator"}, 403),
        ({}, {"user_metadata": {"vivavoce_role": "operator"}}, 403),
        ({"jwt_role_claim": "app_metadata.role"}, {"app_metadata": {"role": "operator"}}, 200),
        ({"jwt_role_claim": "app_metadata.role"}, {"app_metadata": "operator"}, 403),
        ({"jwt_role_claim": "https://a.example/r"}, {"https://a.example/r": "operator"}, 200),
        ({"jwt_operators": "sre,root"}, {"vivavoce_role": "root"}, 200),
        ({"jwt_operators": "sre,root"}, {"vivavoce_role": "operator"}, 403),
    ],
)
async def test_which_claim_and_which_values_of_it_are_settings(
    tmp_path: Path, given: Json, claims: Json, status: int
) -> None:
    async with doors(tmp_path, **SETTINGS, **given) as d:
        d.http.headers["authorization"] = f"Bearer {token(**claims)}"
        assert (await d.http.get("/metrics")).status_code == status
        assert answered(await d.http.get("/sessions"))["sessions"] == []
