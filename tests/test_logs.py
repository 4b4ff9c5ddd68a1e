"""Log lines: a message and fields, nothing private, no secret in any form."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import pytest
from fastapi import FastAPI

from tests.server.serving import request, serving
from vivavoce.logs import PRIVATE, OurHandler, Scrubber, configure, failure, fields
from vivavoce.server.gate.tickets import StreamTokens, Tickets
from vivavoce.testing.fakes import ManualClock

log = logging.getLogger("vivavoce.test_logs")
KEY = 'sk/odd "key"\\with+everything'


@contextmanager
def logging_to(**options: Any) -> Iterator[io.StringIO]:
    root = logging.getLogger()
    level, before = root.level, list(root.handlers)
    stream = io.StringIO()
    try:
        configure(stream=stream, **options)
        yield stream
    finally:
        root.setLevel(level)
        for handler in root.handlers[:]:
            if handler not in before:
                root.removeHandler(handler)


def test_a_line_is_a_message_and_fields() -> None:
    with logging_to() as out:
        log.info("Session started", extra=fields(session_id="vs_1", title="two words", none=None))
    line = out.getvalue()
    assert line.endswith(
        ' INFO    vivavoce.test_logs: Session started session_id=vs_1 title="two words"\n'
    )


def test_fields_given_plainly_are_fields_too() -> None:
    with logging_to() as out:
        log.info("Heard", extra={"item_id": "i", "text": "my words"})
    assert out.getvalue().endswith(": Heard item_id=i\n")


def test_json_lines_are_json() -> None:
    with logging_to(layout="json") as out:
        log.warning('A "quoted"\nmessage', extra=fields(session_id="vs_1", count=2, odd=object))
        try:
            raise ValueError("boom")
        except ValueError:
            log.exception("Failed", extra=fields(message="not the message"))
    first, second = (json.loads(line) for line in out.getvalue().splitlines())
    assert (first["level"], first["logger"]) == ("warning", "vivavoce.test_logs")
    assert (first["message"], first["session_id"], first["count"]) == (
        'A "quoted"\nmessage',
        "vs_1",
        2,
    )
    assert first["time"].endswith("Z")
    assert second["message"] == "Failed"
    assert "ValueError: boom" in second["traceback"]


def test_what_people_said_is_dropped_unless_asked_for() -> None:
    said = dict.fromkeys(PRIVATE, "my words")
    for private in (False, True):
        with logging_to(private=private) as out:
            log.info("Heard", extra=fields(item_id="i", **said, nested={"text": "my words"}))
        assert ("my words" in out.getvalue()) is private
        assert "item_id=i" in out.getvalue()


@pytest.mark.parametrize("layout", ["console", "json"])
def test_no_known_secret_is_in_any_line_in_any_form(layout: Any) -> None:
    with logging_to(layout=layout, secrets=[KEY, None, ""]) as out:
        log.info("key %s", KEY)
        log.info("key %r", {"key": KEY})
        log.info("url %s", "https://x/?a=" + quote(KEY, safe=""))
        log.info("field", extra=fields(key=KEY, nested={"deep": [KEY]}))
        try:
            raise RuntimeError(f"with {KEY}")
        except RuntimeError:
            log.exception("trace")
    text = out.getvalue()
    assert text.count("***") >= 5
    assert "odd" not in text
    assert "everything" not in text
    if layout == "json":
        assert len([json.loads(line) for line in text.splitlines()]) == 5


@pytest.mark.parametrize("layout", ["console", "json"])
def test_what_looks_like_a_secret_is_taken_for_one(layout: Any) -> None:
    clock = ManualClock()
    ticket = Tickets(clock).issue(session_id="vs_1", user_id="ada").value
    stream = StreamTokens(clock).issue(session_id="vs_1", user_id="ada").value
    lines = {
        f"redeemed {ticket}": ticket[3:],
        f"opened /events?token={stream}&x=1": stream[3:],
        "sent Authorization: Bearer abc.def-ghi": "abc.def",
        'sent {"Authorization": "Bearer abc.def-ghi"}': "abc.def",
        "used sk-proj-0123456789abcdef": "0123456789",
        "called https://x.example/?api_key=hunter2&y=1": "hunter2",
        "opened postgresql://ada:hunter2@db/voice": "hunter2",
    }
    for line, secret in lines.items():
        with logging_to(layout=layout) as out:
            log.info("%s", line)
        assert secret not in out.getvalue()
        assert "[redacted: " in out.getvalue()
        if layout == "json":
            assert json.loads(out.getvalue())["message"].startswith(line[:5])


def test_ordinary_text_is_left_alone() -> None:
    text = "test_a_long_function_name_here at http://localhost:8080/x?key2=1 best_st_x"
    assert Scrubber([None, "", "abc"])(text + " abc") == text + " abc"


def test_a_secret_can_be_learned_later() -> None:
    scrub = Scrubber()
    assert scrub("a fresh-secret") == "a fresh-secret"
    scrub.learn("fresh-secret")
    assert scrub("a fresh-secret") == "a ***"


def test_a_clients_text_cannot_forge_a_line() -> None:
    with logging_to() as out:
        log.info("path %s", "/x\n12:00:00 INFO forged\x1b[31m", extra=fields(name="a\nb"))
    assert out.getvalue().count("\n") == 1
    assert "\x1b" not in out.getvalue()


def test_configuring_again_replaces_and_leaves_the_handlers_of_others() -> None:
    with logging_to() as first:
        others = [h for h in logging.getLogger().handlers if not isinstance(h, OurHandler)]
        with logging_to() as second:
            log.info("once")
            kept = [h for h in logging.getLogger().handlers if not isinstance(h, OurHandler)]
    assert (first.getvalue().count("once"), second.getvalue().count("once")) == (0, 1)
    assert kept == others


def test_libraries_that_write_whole_requests_are_quiet_even_at_debug() -> None:
    with logging_to(level="debug") as out:
        logging.getLogger("openai._base_client").debug("Request options: everything")
        log.debug("ours")
    assert "everything" not in out.getvalue()
    assert "ours" in out.getvalue()


async def test_uvicorns_access_log_has_no_token_in_it() -> None:
    app = FastAPI()
    token = StreamTokens(ManualClock()).issue(session_id="vs_1", user_id="ada").value
    with logging_to() as out:
        async with serving(app) as served, request(served, f"/events?token={token}&a=1") as answer:
            await answer.rest()
    assert "GET /events?token=[redacted: token]&a=1" in out.getvalue()
    assert token[3:] not in out.getvalue()


def their_tool() -> None:
    _their_helper()


def _their_helper() -> None:
    json.loads("she said hunter2")


@pytest.mark.parametrize("private", [False, True])
def test_a_failure_of_anothers_code_is_told_with_its_place_and_its_words_only_on_request(
    private: bool,
) -> None:
    with logging_to(private=private) as out:
        try:
            their_tool()
        except ValueError as exc:
            log.error("Tool failed", extra=failure(exc, tool="mine"))
    first, *rest = out.getvalue().splitlines()
    line = _their_helper.__code__.co_firstlineno + 1
    where = f'at="{__file__}:{line} in _their_helper"'
    assert f"Tool failed tool=mine error_type=JSONDecodeError {where}" in first
    assert ("Expecting value" in first) is private
    assert ("_their_helper()" in "\n".join(rest)) is private
    assert "private_trace" not in out.getvalue()


def test_of_our_own_frames_around_anothers_code_nothing_is_shown() -> None:
    values: dict[str, Any] = {"__name__": "vivavoce.runtime.made_up", "their_tool": their_tool}
    exec("def ours():\n    their_tool()", values)
    with pytest.raises(ValueError, match="Expecting") as caught:
        values["ours"]()
    outermost = caught.value.__traceback__
    assert outermost is not None
    failed = caught.value.with_traceback(outermost.tb_next)  # without this test's own frame
    with logging_to(private=True) as out:
        log.error("Tool failed", extra=failure(failed))
    assert "in ours" not in out.getvalue()
    assert "in their_tool" in out.getvalue()


def test_uvicorn_leaves_the_first_words_to_us_but_for_debugging() -> None:
    for level in ("info", "debug"):
        with logging_to(level=level) as out:
            logging.getLogger("uvicorn.error").info("Started server process")
            logging.getLogger("uvicorn.error").warning("Trouble")
            logging.getLogger("uvicorn.error").debug("> TEXT 'My code is 4711'")
        assert ("Started" in out.getvalue()) is (level == "debug")
        assert "Trouble" in out.getvalue()
        assert "4711" not in out.getvalue()
