"""A log line shows its fields, whoever wrote it and however they gave them."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import pytest

from vivavoce import logs


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """What goes to the log while the test runs."""
    root = logging.getLogger()
    level, out = root.level, io.StringIO()
    logs.configure(stream=out)
    yield out
    for handler in [h for h in root.handlers if isinstance(h, logs.OurHandler)]:
        root.removeHandler(handler)
    root.setLevel(level)


def test_fields_are_shown_given_plainly_or_with_fields(written: io.StringIO) -> None:
    log = logging.getLogger("vivavoce.somewhere")
    log.warning("Lost", extra={"session_id": "vs_1"})
    log.warning("Found", extra=logs.fields(session_id="vs_2"))
    first, second = written.getvalue().splitlines()
    assert first.endswith("Lost session_id=vs_1")
    assert second.endswith("Found session_id=vs_2")


def test_what_people_said_stays_private_either_way(written: io.StringIO) -> None:
    log = logging.getLogger("vivavoce.somewhere")
    log.warning("Heard", extra={"text": "my secret"})
    log.warning("Heard", extra=logs.fields(text="my secret"))
    assert "secret" not in written.getvalue()


def test_the_provider_s_client_does_not_chatter(written: io.StringIO) -> None:
    for name in ("httpx", "httpx2", "openai"):
        logging.getLogger(name).info("HTTP Request: POST …")
    assert written.getvalue() == ""
