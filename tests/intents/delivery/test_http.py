"""One attempt at a backend: what is sent, and how its answer is read."""

from __future__ import annotations

import base64
import hashlib
import hmac
from datetime import UTC, datetime

import pytest

from tests.intents.backend import Answer, UserBackend
from tests.intents.service_bench import SECRET, bench
from vivavoce.intents.delivery.http import (
    MOST_BYTES,
    Delivered,
    Later,
    Refused,
    Verdict,
    key_of,
    read_answer,
    signed,
)

NOW = datetime(2026, 1, 31, 14, 0, tzinfo=UTC)


async def test_a_submission_is_posted_signed_with_its_key() -> None:
    async with UserBackend().running() as backend, bench(backend) as here:
        said = await here.say("Remind me to buy milk tomorrow at 8")
        told = await here.task("c1", title="Buy milk", scheduled_at="tomorrow at 8")
        assert (told["status"], told["task_id"]) == ("accepted", "T-1")
        [seen] = backend.seen
        body = seen.body
        assert (body["action"], body["intent"], body["intent_id"]) == (
            "submit",
            "NEW_TASK",
            told["intent_id"],
        )
        assert body["payload"]["title"] == "Buy milk"
        assert (body["user_id"], body["evidence"], body["revision"]) == ("ann", [said], 0)
        assert body["name"] == "submit_new_task_intent"
        head = seen.headers
        assert head["idempotency-key"] == head["webhook-id"]
        mac = hmac.new(
            base64.b64decode(SECRET.removeprefix("whsec_")),
            f"{head['webhook-id']}.{head['webhook-timestamp']}.".encode() + seen.raw,
            hashlib.sha256,
        )
        assert head["webhook-signature"] == f"v1,{base64.b64encode(mac.digest()).decode()}"
        place = await here.place()
        assert place.extracted_intent == "NEW_TASK"
        assert place.linked_task_id is None, "the backend's task is not in our database"


def test_a_secret_is_text_or_base64() -> None:
    assert key_of("plain words") == b"plain words"
    assert key_of(SECRET) == b"secret-of-the-tests"
    with pytest.raises(ValueError, match="base64"):
        key_of("whsec_not base64!")
    assert "webhook-signature" not in signed(None, "id", NOW, b"{}")


@pytest.mark.parametrize(
    ("status", "headers", "body", "verdict"),
    [
        (200, {}, b'{"status": "accepted", "goal_id": "G"}', Delivered),
        (201, {}, b"{}", Delivered),
        (204, {}, b"", Delivered),
        (200, {}, b"<html>Log in to the hotel's network</html>", Later),
        (200, {}, b"[1]", Later),
        (200, {}, None, Later),
        (200, {}, b'{"status": "rejected", "message": "no"}', Refused),
        (302, {"location": "http://elsewhere"}, b"", Later),
        (200, {}, b'{"status": "ERROR"}', Refused),
        (201, {}, b'{"status": "created", "id": 3}', Delivered),
        (200, {}, b'{"status": 200, "data": {}}', Delivered),
        (400, {}, b'{"detail": "no such list"}', Refused),
        (401, {}, b"", Later),
        (403, {}, b"", Later),
        (404, {}, b'{"detail": "Not Found"}', Later),
        (405, {}, b"", Later),
        (408, {}, b"", Later),
        (425, {}, b"", Later),
        (429, {}, b"", Later),
        (500, {}, b'{"status": "accepted"}', Later),
        (503, {}, b"", Later),
    ],
)
def test_how_an_answer_is_read(
    status: int, headers: dict[str, str], body: bytes | None, verdict: type[Verdict]
) -> None:
    assert isinstance(read_answer(status, headers, body, NOW), verdict)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        ("Sat, 31 Jan 2026 14:05:00 GMT", 300.0),
        ("999999999999", 86400.0),
        ("Sat, 31 Jan 2020 14:05:00 GMT", 0.0),
        ("soon", None),
        ("-5", None),
    ],
)
def test_retry_after_is_obeyed_within_reason(value: str, seconds: float | None) -> None:
    answer = read_answer(429, {"retry-after": value}, b"", NOW)
    assert isinstance(answer, Later)
    assert answer.after == seconds


def test_a_backends_words_are_cleaned_and_bounded() -> None:
    body = b'{"error": {"message": "no\\u0000 \\u202e<script>x</script> ' + b"x" * 5000 + b'"}}'
    answer = read_answer(422, {}, body, NOW)
    assert isinstance(answer, Refused)
    assert len(answer.words) <= 300
    assert "<script" not in answer.words
    assert "\x00" not in answer.words
    assert "\u202e" not in answer.words


async def test_an_endless_answer_is_no_answer() -> None:
    endless: Answer = (200, {}, b" " * (MOST_BYTES + 1))
    async with UserBackend(answers=[endless]).running() as backend, bench(backend) as here:
        await here.say("I want to learn guitar")
        with pytest.raises(Exception, match="does not answer"):
            await here.goal("c1", goal_statement="learn guitar")


async def test_an_address_or_a_secret_that_is_wrong_is_an_error_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    astray: Answer = (401, {}, b"")
    async with UserBackend(answers=[astray]).running() as backend, bench(backend) as here:
        await here.say("I want to learn guitar")
        with pytest.raises(Exception, match="kept"):
            await here.goal("c1", goal_statement="learn guitar")
        [told] = [r for r in caplog.records if r.levelname == "ERROR"]
        assert told.message == "A backend does not take our messages"
        await here.say("Try again")
        assert (await here.goal("c2", goal_statement="learn guitar"))["status"] == "accepted"
        assert len(backend.done) == 1


async def test_a_redirect_is_not_followed() -> None:
    away = UserBackend()
    async with away.running():
        redirect = (307, {"location": away.url}, b"")
        async with UserBackend(answers=[redirect]).running() as backend, bench(backend) as here:
            await here.say("I want to learn guitar")
            with pytest.raises(Exception, match="does not answer"):
                await here.goal("c1", goal_statement="learn guitar")
    assert away.seen == []
