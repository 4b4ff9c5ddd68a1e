"""What every door refuses in the same way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.server.doors import doors, refused


async def test_a_path_that_is_not_there_and_a_method_it_has_not(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        refused(await d.http.get("/nothing"), 404, "not_found")
        response = await d.http.delete("/sessions")
        refused(response, 405, "method_not_allowed")
        assert response.headers["allow"] == "GET, POST"


@pytest.mark.parametrize("body", [b"{", b"\xff\xfe", b"[" * 100_000, b'{"voice": }'])
async def test_a_body_that_is_no_json_is_invalid(tmp_path: Path, body: bytes) -> None:
    async with doors(tmp_path) as d:
        kind = {"content-type": "application/json"}
        response = await d.http.post("/session", content=body, headers=kind)
        refused(response, 400, "invalid_request")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", None])
async def test_a_body_of_another_kind_is_unsupported(tmp_path: Path, kind: str | None) -> None:
    async with doors(tmp_path) as d:
        headers = {"content-type": kind} if kind else {}
        for path in ("/session", "/sessions", "/session/restore", "/execute/calculate"):
            response = await d.http.post(path, content=b'{"voice": "marin"}', headers=headers)
            refused(response, 415, "unsupported_media_type")


async def test_a_body_that_is_too_large_is_refused_by_its_length_and_by_its_bytes(
    tmp_path: Path,
) -> None:
    async with doors(tmp_path, max_body_bytes=2048) as d:
        large: dict[str, Any] = {"title": "x" * 4096}
        error = refused(await d.http.post("/sessions", json=large), 413, "payload_too_large")
        assert error["details"] == {"max_bytes": 2048}

        async def dribble() -> Any:
            for _ in range(64):
                yield b" " * 64

        kind = {"content-type": "application/json"}
        response = await d.http.post("/sessions", content=dribble(), headers=kind)
        refused(response, 413, "payload_too_large")


async def test_a_foreign_host_or_origin_is_forbidden(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        for headers in ({"host": "evil.example"}, {"origin": "https://evil.example"}):
            refused(await d.http.get("/sessions", headers=headers), 403, "forbidden")


async def test_a_user_is_named_in_plain_letters_or_not_at_all(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        response = await d.http.get("/sessions", headers={"x-user-id": "eve tracked"})
        refused(response, 400, "invalid_request")


async def test_a_request_keeps_the_id_that_its_client_gave(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        response = await d.http.get("/nothing", headers={"x-request-id": "req_mine"})
        assert refused(response, 404, "not_found")["request_id"] == "req_mine"
        unnamed = await d.http.get("/nothing")
        assert refused(unnamed, 404, "not_found")["request_id"].startswith("req_")
        assert unnamed.headers["x-request-id"] != "req_mine"


async def test_what_a_client_sent_is_not_repeated_to_it(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        body = {"instructions": {"secret": "swordfish"}}
        response = await d.http.post("/session", json=body)
        error = refused(response, 400, "invalid_request")
        assert "swordfish" not in response.text
        assert set(error["details"]["fields"][0]) == {"field", "message", "type"}
