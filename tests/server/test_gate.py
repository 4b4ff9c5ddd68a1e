"""The first security line over a real server: hosts, origins, sizes, tokens, headers."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import httpx
import pytest
from fastapi import Body, Depends, FastAPI, Request, WebSocket
from fastapi.responses import HTMLResponse, PlainTextResponse
from fastapi_offline import FastAPIOffline

from tests.server.serving import Served, request, serving, until
from tests.server.tokens import ADA, AUDIENCE, EVE, ISSUER, SECRET
from tests.server.tokens import token as a_jwt
from vivavoce.server.gate.auth import (
    Authenticator,
    UnsafeBind,
    check_bind,
    current_user,
    token_session,
)
from vivavoce.server.gate.gate import Gate
from vivavoce.server.gate.jwt import JwtRules, JwtVerifier
from vivavoce.server.gate.tickets import StreamTokens
from vivavoce.server.problems import install
from vivavoce.testing.fakes import ManualClock

TOKEN = "a-token-that-is-long-enough"
SECRETS = (
    "4111111111111111",
    "sk-proj-AbCd1234EfGh5678IjKl",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
)
User = Annotated[str, Depends(current_user)]


def an_app() -> FastAPI:
    app = FastAPIOffline()
    install(app)

    @app.get("/whoami")
    async def whoami(request: Request, user: User) -> dict[str, Any]:
        return {"user": user, "request_id": request.state.request_id}

    @app.get("/events")
    async def events(
        user: User, session: Annotated[str | None, Depends(token_session)]
    ) -> dict[str, Any]:
        return {"user": user, "session": session}

    @app.get("/api/v1/voice/session/{session_id}/events")
    async def session_events(session_id: str, user: User) -> dict[str, Any]:
        return {"user": user, "session": session_id}

    @app.post("/api/v1/voice/session/{session_id}/sdp")
    async def session_sdp(session_id: str) -> PlainTextResponse:
        return PlainTextResponse("answer")

    @app.get("/status")
    @app.get("/metrics")
    async def operator(user: User) -> dict[str, Any]:
        return {"user": user}

    @app.get("/health")
    @app.get("/ready")
    async def health() -> dict[str, bool]:
        return {"ok": True}

    @app.post("/sdp")
    async def sdp() -> PlainTextResponse:
        return PlainTextResponse("answer")

    @app.post("/echo")
    async def echo(body: Annotated[dict[str, Any], Body()]) -> dict[str, Any]:
        return body

    @app.post("/raw")
    async def raw(request: Request) -> int:
        return len(await request.body())

    @app.get("/page")
    async def page() -> HTMLResponse:
        return HTMLResponse("<p>")

    @app.websocket("/socket")
    async def socket(websocket: WebSocket, user: User) -> None:
        await websocket.accept()
        await websocket.send_text(user)
        await websocket.close()

    return app


@asynccontextmanager
async def gated(auth: Authenticator | None = None, **options: Any) -> AsyncIterator[Served]:
    app = an_app()
    app.add_middleware(Gate, auth=auth or Authenticator(), **options)
    async with serving(app) as served:
        yield served


async def status_of(served: Served, path: str, *headers: str, **options: Any) -> int:
    async with request(served, path, *headers, **options) as answer:
        return answer.status


async def json_of(served: Served, path: str, *headers: str) -> dict[str, Any]:
    async with request(served, path, *headers) as answer:
        assert answer.status == 200
        found = json.loads(await answer.rest())
        assert isinstance(found, dict)
        return found


# --- Request ids -----------------------------------------------------------------------


async def test_a_request_id_comes_back_or_is_made() -> None:
    async with gated() as served:
        async with request(served, "/whoami", "X-Request-ID: my-id.1") as answer:
            assert answer.headers["x-request-id"] == "my-id.1"
            assert b'"request_id":"my-id.1"' in await answer.rest()
        for bad in ("", "with space", "x" * 65, '"><script>', "-dash-first", *SECRETS):
            async with request(served, "/whoami", f"X-Request-ID: {bad}") as answer:
                assert answer.headers["x-request-id"].startswith("req_")


# --- Hosts ----------------------------------------------------------------------------

LOOPBACK = [
    "localhost",
    "localhost:8080",
    "LOCALHOST",
    "localhost.",
    "127.0.0.1:1",
    "[::1]:8080",
    "[::1]",
]
FOREIGN = ["evil.example", "localhost.evil.example", "10.0.0.1", "[fe80::1]:80", "127.0.0.1.nip.io"]
MALFORMED = ["", "a b", "user@localhost", "localhost/x", "localhost:port", "[::1"]


async def test_loopback_names_are_ours_whatever_the_port() -> None:
    async with gated() as served:
        for host in LOOPBACK:
            assert (host, await status_of(served, "/health", host=host)) == (host, 200)


async def test_foreign_host_names_are_refused() -> None:
    async with gated() as served:
        for host in FOREIGN:
            async with request(served, "/health", host=host) as answer:
                assert (host, answer.status) == (host, 403)
                assert (await answer.error())["code"] == "forbidden"


async def test_a_malformed_host_is_refused() -> None:
    async with gated(allowed_hosts=["*"]) as served:
        for host in MALFORMED:
            assert (host, await status_of(served, "/health", host=host)) == (host, 400)


async def test_a_missing_or_double_host_is_refused() -> None:
    async with gated() as served:
        assert await status_of(served, "/health", host=None) == 400
        assert await status_of(served, "/health", "Host: localhost") == 400


async def test_hosts_can_be_allowed() -> None:
    async with gated(allowed_hosts=["Voice.Example:443", "fe80::1"]) as served:
        assert await status_of(served, "/health", host="voice.example") == 200
        assert await status_of(served, "/health", host="voice.example.:8080") == 200
        assert await status_of(served, "/health", host="[fe80::1]:80") == 200
        assert await status_of(served, "/health", host="example") == 403


# --- Origins ---------------------------------------------------------------------------


ORIGINS = [
    ("localhost:8080", "http://localhost:8080", 200),
    ("LocalHost:8080", "http://localhost:8080", 200),
    ("localhost", "http://localhost", 200),
    ("localhost", "https://localhost", 200),  # a proxy speaks TLS for us
    ("localhost:443", "https://localhost", 200),
    ("[::1]:8080", "http://[::1]:8080", 200),
    ("localhost:8080", "http://localhost:3000", 403),
    ("localhost:8080", "http://127.0.0.1:8080", 403),
    ("localhost:8080", "http://localhost:8080.evil.example", 403),
    ("localhost:8080", "http://evil.example", 403),
    ("localhost:8080", "null", 403),
    ("localhost:8080", "", 403),
    ("localhost:8080", "localhost:8080", 403),
    ("localhost:8080", "http://localhost:8080/path", 403),
    ("localhost:8080", "file://localhost:8080", 403),
    ("localhost:8080", "chrome-extension://abc", 403),
]


async def test_an_origin_must_be_ours() -> None:
    async with gated() as served:
        for host, origin, status in ORIGINS:
            found = await status_of(served, "/health", f"Origin: {origin}", host=host)
            assert (host, origin, found) == (host, origin, status)


async def test_who_is_kept_out_is_told_what_would_let_them_in(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", "vivavoce.server.problems")
    async with gated() as served:
        async with request(served, "/health", "Origin: http://evil.example") as answer:
            told = (await answer.error())["message"]
            assert "'http://evil.example'" in told
            assert "VIVAVOCE_ALLOWED_ORIGINS" in told
        async with request(served, "/health", host="evil.example:80") as answer:
            told = (await answer.error())["message"]
            assert "'evil.example'" in told
            assert "VIVAVOCE_ALLOWED_HOSTS" in told
    logged = [r for r in caplog.records if r.message == "A request was refused"]
    assert [r.__dict__["fields"]["code"] for r in logged] == ["forbidden", "forbidden"]


async def test_a_foreign_origin_gets_no_cors_headers() -> None:
    async with gated() as served:
        for method in ("GET", "OPTIONS"):
            async with request(
                served,
                "/whoami",
                "Origin: http://evil.example",
                "Access-Control-Request-Method: POST",
                method=method,
            ) as answer:
                assert answer.status == 403
                assert not [name for name in answer.headers if name.startswith("access-control")]


async def test_an_allowed_origin_may_ask_and_read() -> None:
    ours = "http://localhost:5173"
    async with gated(allowed_origins=[ours + "/"]) as served:
        async with request(served, "/whoami", f"Origin: {ours}") as answer:
            assert answer.status == 200
            assert answer.headers["access-control-allow-origin"] == ours
            assert "Origin" in answer.headers["vary"]
        async with request(
            served,
            "/whoami",
            f"Origin: {ours}",
            "Access-Control-Request-Method: POST",
            method="OPTIONS",
        ) as answer:
            assert answer.status == 204
            assert "Authorization" in answer.headers["access-control-allow-headers"]
        assert await status_of(served, "/whoami", "Origin: http://localhost:5174") == 403


FETCHES = [
    ("cross-site", "no-cors", "image", 403),
    ("same-site", "no-cors", "script", 403),
    ("cross-site", "navigate", "document", 200),
    ("cross-site", "navigate", "iframe", 403),
    ("same-origin", "cors", "empty", 200),
    ("none", "navigate", "document", 200),
]


async def test_other_peoples_pages_may_link_here_and_nothing_else() -> None:
    async with gated() as served:
        for site, mode, dest, status in FETCHES:
            names = (
                f"Sec-Fetch-Site: {site}",
                f"Sec-Fetch-Mode: {mode}",
                f"Sec-Fetch-Dest: {dest}",
            )
            assert (names, await status_of(served, "/page", *names)) == (names, status)


# --- WebSockets ------------------------------------------------------------------------


async def handshake(served: Served, *headers: str, host: str = "localhost") -> int:
    return await status_of(
        served,
        "/socket",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        *headers,
        host=host,
    )


async def test_websockets_are_refused_before_they_are_accepted() -> None:
    async with gated() as served:
        assert await handshake(served) == 101
        assert await handshake(served, "Origin: http://localhost") == 101
        assert await handshake(served, "Origin: http://evil.example") == 403
        assert await handshake(served, "Origin: null") == 403
        assert await handshake(served, host="evil.example") == 403


async def test_websockets_need_the_token_too() -> None:
    async with gated(Authenticator("token", token=TOKEN)) as served:
        assert await handshake(served) == 401
        assert await handshake(served, f"Authorization: Bearer {TOKEN}") == 101


async def test_a_server_that_cannot_answer_a_handshake_closes_it() -> None:
    sent: list[Any] = []

    async def never(*_: Any) -> Any:
        raise AssertionError("not reached")

    async def send(message: Any) -> None:
        sent.append(message)

    gate = Gate(never, auth=Authenticator())
    scope = {
        "type": "websocket",
        "scheme": "ws",
        "path": "/socket",
        "query_string": b"",
        "headers": [(b"host", b"evil.example")],
    }
    await gate(scope, never, send)
    assert sent == [{"type": "websocket.close", "code": 4403}]


# --- Sizes -----------------------------------------------------------------------------


def chunked(*parts: bytes) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (*parts, b""))


async def test_who_still_writes_a_body_that_is_too_large_gets_the_answer() -> None:
    async with gated(max_body=100) as served, httpx.AsyncClient() as client:
        for _ in range(20):
            answer = await client.post(
                f"http://127.0.0.1:{served.port}/raw", content=bytes(8_000_000)
            )
            assert answer.status_code == 413


async def test_a_refusal_has_the_shape_that_clients_of_its_path_know() -> None:
    shapes = {"/v1/": lambda fault: PlainTextResponse(fault.code, fault.status)}
    async with gated(max_body=100, shapes=shapes) as served, httpx.AsyncClient() as client:
        at = f"http://127.0.0.1:{served.port}"
        theirs = await client.post(f"{at}/v1/raw", content=bytes(101))
        assert (theirs.status_code, theirs.text) == (413, "payload_too_large")
        ours = await client.post(f"{at}/raw", content=bytes(101))
        assert ours.json()["error"]["code"] == "payload_too_large"


async def test_a_body_that_says_it_is_too_large_is_not_waited_for() -> None:
    async with (
        gated(max_body=100) as served,
        request(served, "/raw", "Content-Length: 101", method="POST") as answer,
    ):
        assert answer.status == 413
        assert answer.headers["connection"] == "close"
        error = await answer.error()
        assert (error["code"], error["details"]) == ("payload_too_large", {"max_bytes": 100})


@pytest.mark.parametrize("path", ["/raw", "/echo"])
async def test_a_body_that_turns_out_too_large_is_cut(path: str) -> None:
    headers = ("Transfer-Encoding: chunked", "Content-Type: application/json")
    async with gated(max_body=100) as served:
        body = chunked(b'{"a": "' + b"x" * 50, b"x" * 50, b'"}')
        async with request(served, path, *headers, method="POST", body=body) as answer:
            assert answer.status == 413
            assert (await answer.error())["code"] == "payload_too_large"
        fits = chunked(b'{"a": "', b"x" * 50, b'"}')
        assert await status_of(served, path, *headers, method="POST", body=fits) == 200


async def test_a_path_for_files_takes_more() -> None:
    async with gated(max_body=100, larger={"/raw": 200}) as served:
        for path, size, status in (("/raw", 200, 200), ("/raw", 201, 413), ("/echo", 101, 413)):
            length = f"Content-Length: {size}"
            body = b"x" * size
            assert await status_of(served, path, length, method="POST", body=body) == status


@pytest.mark.parametrize("path", ["/raw", "/echo"])
async def test_a_body_that_does_not_arrive_is_not_waited_for(path: str) -> None:
    headers = ("Content-Length: 10", "Content-Type: application/json")
    async with (
        gated(body_seconds=0.1) as served,
        request(served, path, *headers, method="POST", body=b"{") as answer,
    ):
        assert answer.status == 408
        assert (await answer.error())["code"] == "timeout"


async def test_a_byte_now_and_then_does_not_make_a_body_arrive() -> None:
    async with gated(body_seconds=0.1) as served:
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(b"POST /raw HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n")
        async with asyncio.TaskGroup() as group:
            first = group.create_task(reader.readline())

            def answered() -> bool:
                writer.write(b"x")
                return first.done()

            await until(answered)
        assert first.result().startswith(b"HTTP/1.1 408 ")
        writer.close()


# --- Headers of the answer ---------------------------------------------------------------


async def test_every_answer_has_the_security_headers() -> None:
    async with gated() as served:
        for path, options in (
            ("/health", {}),
            ("/nothing", {}),
            ("/page", {}),
            ("/health", {"host": "evil.example"}),
        ):
            async with request(served, path, **options) as answer:  # type: ignore[arg-type]
                assert answer.headers["x-content-type-options"] == "nosniff"
                assert answer.headers["referrer-policy"] == "no-referrer"
                assert answer.headers["cross-origin-resource-policy"] == "same-origin"
                assert "x-request-id" in answer.headers


async def test_html_has_a_content_security_policy_that_the_docs_can_live_with() -> None:
    async with gated() as served:
        async with request(served, "/page") as answer:
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe-inline" not in policy
        for path in ("/docs", "/redoc"):
            async with request(served, path) as answer:
                assert answer.status == 200
                policy = answer.headers["content-security-policy"]
                page = (await answer.rest()).decode()
            assert "https://" not in policy  # nothing of the pages comes from elsewhere
            assert not re.search(r"""(src|href)=["'](https?:)?//""", page)
            for asset in re.findall(r"""(?:src|href)=["'](/[^"']+)""", page):
                assert await status_of(served, asset) == 200
        async with request(served, "/health") as answer:
            assert "content-security-policy" not in answer.headers
            assert answer.headers["cache-control"] == "no-store"


# --- Who asks --------------------------------------------------------------------------


async def test_without_authentication_the_header_says_who_it_is() -> None:
    async with gated() as served:
        assert (await json_of(served, "/whoami"))["user"] == "local"
        assert (await json_of(served, "/whoami", "X-User-ID: ada@example.org"))["user"] == (
            "ada@example.org"
        )
        for bad in ("", "a b", "x" * 129, "../etc", "a\x0bb", "ü"):
            assert await status_of(served, "/whoami", f"X-User-ID: {bad}") == 400


async def test_the_token_opens_everything_and_nothing_else_does() -> None:
    async with gated(Authenticator("token", token=TOKEN)) as served:
        right = f"Authorization: Bearer {TOKEN}"
        found = await json_of(served, "/whoami", right, "X-User-ID: eve")
        assert found["user"] == "local"
        assert await status_of(served, "/whoami", f"authorization: bearer {TOKEN}") == 200
        for wrong in (f"{TOKEN}x", TOKEN[:-1], "", "ü" * 20):
            assert await status_of(served, "/whoami", f"Authorization: Bearer {wrong}") == 401
        assert await status_of(served, "/whoami", f"Authorization: Basic {TOKEN}") == 401
        closed = ("/whoami", "/docs/", "//docs", "/docs/x", "/nothing", "/health/", "//health")
        for path in closed:
            assert await status_of(served, path) == 401
        async with request(served, "/whoami") as answer:
            assert answer.headers["www-authenticate"] == "Bearer"
            assert (await answer.error())["code"] == "unauthorized"


async def test_what_the_api_is_may_be_read_by_everyone() -> None:
    async with gated(Authenticator("token", token=TOKEN)) as served:
        for path in ("/docs", "/redoc", "/openapi.json", "/static-offline-docs/swagger-ui.css"):
            assert await status_of(served, path) == 200
        assert await status_of(served, "/static-offline-docs/../whoami") != 200


async def test_probes_and_keyed_paths_need_no_token() -> None:
    async with gated(Authenticator("token", token=TOKEN)) as served:
        assert await status_of(served, "/health") == 200
        assert await status_of(served, "/ready") == 200
        assert await status_of(served, "/sdp", method="POST") == 200


@pytest.mark.parametrize("mode", ["off", "token"])
async def test_a_stream_token_opens_the_events_of_its_session(mode: Any) -> None:
    clock = ManualClock()
    tokens = StreamTokens(clock)
    auth = Authenticator(mode, token=TOKEN, streams=tokens)
    issued = tokens.issue(session_id="vs_1", user_id="ada")
    async with gated(auth) as served:
        found = await json_of(served, f"/events?token={issued.value}")
        assert found == {"user": "ada", "session": "vs_1"}
        assert await status_of(served, "/events?token=st_forged.x") == 401
        assert await status_of(served, f"/whoami?token={issued.value}") == (
            200 if mode == "off" else 401
        )
        await clock.advance(600)
        async with request(served, f"/events?token={issued.value}") as answer:
            assert answer.status == 401
            assert (await answer.error())["code"] == "token_expired"


async def test_a_stream_token_opens_the_events_of_no_other_session() -> None:
    tokens = StreamTokens(ManualClock())
    mine = tokens.issue(session_id="vs_1", user_id="ada").value
    async with gated(Authenticator("token", token=TOKEN, streams=tokens)) as served:
        path = "/api/v1/voice/session/{}/events?token={}"
        found = await json_of(served, path.format("vs_1", mine))
        assert found == {"user": "ada", "session": "vs_1"}
        async with request(served, path.format("vs_2", mine)) as answer:
            assert answer.status == 404
            assert (await answer.error())["code"] == "session_not_found"
        for wrong in (f"vs_1/x/events?token={mine}", f"vs_1/sdp/?token={mine}", "vs_1/events"):
            assert await status_of(served, f"/api/v1/voice/session/{wrong}") == 401
        assert await status_of(served, "/api/v1/voice/session/vs_1/sdp", method="POST") == 200


def jwt_auth(operator: str | None = TOKEN) -> Authenticator:
    verifier = JwtVerifier(JwtRules(ISSUER, AUDIENCE, ("HS256",)), secret=SECRET)
    streams = StreamTokens(ManualClock(), secret=SECRET)
    return Authenticator("jwt", token=operator, jwt=verifier, streams=streams)


async def test_with_jwts_everyone_is_who_the_token_says() -> None:
    async with gated(jwt_auth()) as served:
        for user in (ADA, EVE):
            found = await json_of(
                served, "/whoami", f"Authorization: Bearer {a_jwt(user)}", "X-User-ID: admin"
            )
            assert found["user"] == user
        for wrong in (TOKEN, f"{a_jwt()}x", "", "ü" * 20):
            assert await status_of(served, "/whoami", f"Authorization: Bearer {wrong}") == 401
        assert await status_of(served, "/whoami", "X-User-ID: admin") == 401
        assert await status_of(served, "/health") == 200
        async with request(served, "/whoami", f"Authorization: Bearer {a_jwt(exp=1)}") as answer:
            assert answer.status == 401
            assert (await answer.error())["code"] == "token_expired"


async def test_a_jwt_in_the_address_opens_nothing() -> None:
    async with gated(jwt_auth()) as served:
        good = f"Authorization: Bearer {a_jwt()}"
        for path in ("/events", "/api/v1/voice/session/vs_1/events"):
            assert await status_of(served, path, good) == 200
            for name in ("token", "access_token", "jwt"):
                assert await status_of(served, f"{path}?{name}={a_jwt()}") == 401
            # Not even beside a good one: it would be in somebody's log.
            assert await status_of(served, f"{path}?token={a_jwt()}", good) == 401
        assert await status_of(served, f"/whoami?token={a_jwt()}") == 401


async def test_what_shows_everyones_doings_is_the_operators() -> None:
    user, operator = (f"Authorization: Bearer {key}" for key in (a_jwt(), TOKEN))
    async with gated(jwt_auth()) as served:
        for path in ("/status", "/metrics"):
            assert await status_of(served, path, user) == 403
            assert await status_of(served, path) == 401
            assert (await json_of(served, path, operator))["user"] == "operator"
        for key in (user, operator):
            assert await status_of(served, "/openapi.json", key) == 200
    async with gated(jwt_auth(operator=None)) as served:
        assert await status_of(served, "/status", user) == 403
        for nothing in ("Authorization: Bearer ", 'Authorization: Bearer ""', operator):
            assert await status_of(served, "/status", nothing) == 401


async def test_a_websocket_asks_for_the_jwt_as_well() -> None:
    shake = (
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    )
    async with gated(jwt_auth()) as served:
        good = f"Authorization: Bearer {a_jwt()}"
        assert await status_of(served, "/socket", good, *shake) == 101
        assert await status_of(served, "/socket", *shake) == 401
        assert await status_of(served, f"/socket?token={a_jwt()}", *shake) == 401


def test_each_mode_has_what_it_needs() -> None:
    verifier = JwtVerifier(JwtRules(ISSUER, AUDIENCE, ("HS256",)), secret=SECRET)
    for mode, jwt in (("jwt", None), ("token", verifier), ("off", verifier)):
        with pytest.raises(ValueError, match="JWT"):
            Authenticator(mode, token=TOKEN, jwt=jwt)  # type: ignore[arg-type]


async def test_a_path_without_a_user_refuses_who_needs_one() -> None:
    auth = Authenticator("token", token=TOKEN, open_paths=frozenset({"/whoami"}))
    async with gated(auth) as served:
        assert await status_of(served, "/whoami") == 401


def test_a_token_that_is_too_short_is_no_token() -> None:
    for token in (None, "", "short"):
        with pytest.raises(ValueError, match="at least 16 characters"):
            Authenticator("token", token=token)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "[::1]", "127.8.8.8"])
def test_loopback_needs_no_authentication(host: str) -> None:
    check_bind(host, "off")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.168.1.5", "voice.example"])
def test_anywhere_else_is_refused_without_authentication(host: str) -> None:
    with pytest.raises(UnsafeBind, match=r"VIVAVOCE_AUTH=token.*VIVAVOCE_AUTH=jwt"):
        check_bind(host, "off")
    check_bind(host, "token")
    check_bind(host, "jwt")


async def test_a_proxys_prefix_does_not_hide_the_path() -> None:
    auth = Authenticator("token", token=TOKEN)
    scope = {
        "type": "http",
        "path": "/voice/health",
        "root_path": "/voice",
        "query_string": b"",
        "headers": [],
    }
    async with asyncio.timeout(5):
        assert (await auth.identify(scope)).user_id is None
