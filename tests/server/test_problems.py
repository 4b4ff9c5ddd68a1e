"""Every error in one shape, and nothing of the inside in any."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from fastapi import FastAPI, HTTPException, WebSocket
from pydantic import BaseModel

from tests.server.serving import Served, request, serving
from vivavoce import errors as tree
from vivavoce.logs import PRIVATE
from vivavoce.server import problems
from vivavoce.server.gate.auth import Authenticator
from vivavoce.server.gate.gate import Gate
from vivavoce.server.problems import CODES, ErrorResponse, errors, install

STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def all_of(cls: type[tree.VivavoceError]) -> list[type[tree.VivavoceError]]:
    return [cls, *(each for sub in cls.__subclasses__() for each in all_of(sub))]


KINDS = {cls.__name__: cls for cls in all_of(tree.VivavoceError)}


class Order(BaseModel):
    voice: str
    count: int = 1


def an_app() -> FastAPI:
    app = FastAPI()
    install(app)

    @app.get("/raise/{name}")
    async def fail(name: str) -> None:
        raise KINDS[name]("What went wrong", hint="x", nothing=None)

    @app.get("/busy")
    async def busy() -> None:
        raise tree.BridgeUnavailable("Not initialized yet", retry_after_ms=4001)

    @app.get("/bug")
    async def bug() -> None:
        raise RuntimeError("secret inside")

    @app.get("/group")
    async def group() -> None:
        async def fail() -> None:
            raise tree.SessionNotFound("There is no such session")

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(fail())

    @app.get("/teapot/{status}")
    async def teapot(status: int) -> None:
        raise HTTPException(status, detail="A detail", headers={"X-Extra": "1"})

    @app.post("/order", responses=errors(404))
    async def order(order: Order) -> None:
        return None

    @app.websocket("/socket")
    async def socket(websocket: WebSocket, accept: bool = False) -> None:
        if accept:
            await websocket.accept()
        raise tree.SessionNotFound("There is no such session")

    return app


@asynccontextmanager
async def served_app() -> AsyncIterator[Served]:
    app = an_app()
    app.add_middleware(Gate, auth=Authenticator())
    async with serving(app) as served:
        yield served


async def problem_of(
    served: Served, path: str, *headers: str, **options: Any
) -> tuple[int, dict[str, str], dict[str, Any]]:
    async with request(served, path, *headers, **options) as answer:
        error = await answer.error()
        ErrorResponse.model_validate({"error": error})
        assert STAMP.fullmatch(error["timestamp"])
        assert error["request_id"] == answer.headers["x-request-id"]
        assert answer.headers["content-type"] == "application/json"
        return answer.status, answer.headers, error


async def test_every_error_of_the_tree_has_its_code_status_and_details() -> None:
    async with served_app() as served:
        for name, cls in KINDS.items():
            status, _, error = await problem_of(
                served, f"/raise/{name}", "X-Request-ID: req_abc123"
            )
            assert (status, error["code"]) == (cls.status, cls.code)
            assert error["message"] == "What went wrong"
            assert error["details"] == {"hint": "x"}
            assert error["request_id"] == "req_abc123"


async def test_who_may_come_back_is_told_when() -> None:
    async with served_app() as served:
        status, headers, error = await problem_of(served, "/busy")
        assert (status, error["code"]) == (503, "amplifier_unavailable")
        assert error["details"] == {"retry_after_ms": 4001}
        assert headers["retry-after"] == "5"


async def test_a_bug_is_told_to_nobody_and_logged_with_its_request(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with served_app() as served:
        with caplog.at_level(logging.ERROR):
            status, _, error = await problem_of(served, "/bug", "X-Request-ID: req_1")
    assert (status, error["code"], "details" in error) == (500, "internal_error", False)
    assert "secret" not in str(error)
    (record,) = [r for r in caplog.records if r.levelno >= logging.ERROR]
    assert record.getMessage() == "A request failed"
    assert record.fields == {"request_id": "req_1", "method": "GET", "path": "/bug"}  # type: ignore[attr-defined]
    assert record.exc_info is not None


async def test_an_error_inside_a_task_group_is_the_same_error() -> None:
    async with served_app() as served:
        status, _, error = await problem_of(served, "/group")
        assert (status, error["code"]) == (404, "session_not_found")


async def test_unknown_paths_and_methods_have_our_shape() -> None:
    async with served_app() as served:
        status, _, error = await problem_of(served, "/nothing")
        assert (status, error["code"]) == (404, "not_found")
        status, headers, error = await problem_of(served, "/order")
        assert (status, error["code"], headers["allow"]) == (405, "method_not_allowed", "POST")


async def test_http_exceptions_of_others_become_ours() -> None:
    async with served_app() as served:
        for given, code in {**CODES, 418: "invalid_request", 504: "internal_error"}.items():
            status, headers, error = await problem_of(served, f"/teapot/{given}")
            assert (status, error["code"], headers["x-extra"]) == (given, code, "1")
            assert (error["message"] == "A detail") == (given < 500)


async def test_what_is_not_valid_is_named_but_not_repeated() -> None:
    async with served_app() as served:
        body = b'{"count": "my secret"}'
        status, _, error = await problem_of(
            served,
            "/order",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            method="POST",
            body=body,
        )
    assert (status, error["code"]) == (400, "invalid_request")
    assert {item["field"] for item in error["details"]["fields"]} == {"body.voice", "body.count"}
    assert all(item["message"] and item["type"] for item in error["details"]["fields"])
    assert "my secret" not in str(error)


async def test_a_body_that_is_no_json_is_invalid() -> None:
    async with served_app() as served:
        status, _, error = await problem_of(
            served,
            "/order",
            "Content-Type: application/json",
            "Content-Length: 4",
            method="POST",
            body=b"{{{{",
        )
    assert (status, error["code"]) == (400, "invalid_request")


@pytest.mark.parametrize(("query", "status"), [("", 404), ("?accept=true", 101)])
async def test_a_websocket_that_fails_ends(query: str, status: int) -> None:
    async with (
        served_app() as served,
        request(
            served,
            "/socket" + query,
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        ) as answer,
    ):
        assert answer.status == status
        if status == 101:
            frame = await answer.reader.readexactly(4)
            assert (frame[0] & 0x0F, int.from_bytes(frame[2:4], "big")) == (8, 1008)


def test_the_schema_promises_what_we_answer() -> None:
    schema = an_app().openapi()
    responses = schema["paths"]["/order"]["post"]["responses"]
    assert set(responses) == {"200", "400", "401", "403", "404", "408", "413", "500"}
    assert "HTTPValidationError" not in schema["components"]["schemas"]
    assert responses["404"]["content"]["application/json"]["schema"] == {
        "$ref": "#/components/schemas/ErrorResponse"
    }


def test_every_code_of_the_tree_belongs_to_a_status_we_declare() -> None:
    assert {cls.status for cls in KINDS.values()} <= set(CODES)


@pytest.mark.parametrize(
    ("name", "level"),
    [("ProviderError", "WARNING"), ("Unavailable", "WARNING"), ("Conflict", "INFO")],
)
async def test_a_fault_of_the_tree_is_one_line_in_the_log(
    name: str, level: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with served_app() as served:
        for debug in (False, True):
            caplog.clear()
            with caplog.at_level(logging.DEBUG if debug else logging.INFO, problems.__name__):
                await problem_of(served, f"/raise/{name}", "X-Request-ID: req_1")
            (record,) = [r for r in caplog.records if r.name == problems.__name__]
            assert record.levelname == level
            assert record.fields == {  # type: ignore[attr-defined]
                "request_id": "req_1",
                "method": "GET",
                "path": f"/raise/{name}",
                "code": KINDS[name].code,
                "reason": "What went wrong",
            }
            assert bool(record.exc_info) is debug


async def test_what_is_wrong_with_a_request_is_private(caplog: pytest.LogCaptureFixture) -> None:
    async with served_app() as served:
        with caplog.at_level(logging.INFO, problems.__name__):
            await problem_of(served, "/raise/InvalidArguments")
    (record,) = [r for r in caplog.records if r.name == problems.__name__]
    told = record.__dict__["fields"]
    assert {key for key, value in told.items() if value == "What went wrong"} <= PRIVATE


async def test_a_failure_inside_the_store_keeps_its_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for cause in (None, ValueError("inside")):
        error = tree.InternalError("The store could not do this.")
        error.__cause__ = cause
        caplog.clear()
        with caplog.at_level(logging.INFO):
            problems.note(error, {"type": "http"})
        (record,) = caplog.records
        assert bool(record.exc_info) is (cause is not None)
