"""Logging, configured once: a static message and fields, and no secret ever.

    log.info("Session started", extra=fields(session_id=session.id))

What people said, prompts and tool arguments go under the keys in `PRIVATE`
and are dropped unless someone asked for them. Every line, tracebacks and
uvicorn's access log included, is scrubbed as the last step before it leaves:
of all secrets we were told of, and of whatever looks like one.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Literal, TextIO
from urllib.parse import quote

import orjson

from vivavoce.redaction import marked, redact, redacted

LogFormat = Literal["console", "json"]
OURS = __name__.partition(".")[0]

PRIVATE = frozenset(
    {
        "text",
        "transcript",
        "delta",
        "arguments",
        "output",
        "output_preview",
        "instructions",
        "prompt",
        "summary",
        "content",
        "context",
        "body",
        "sdp",
        "query",
    }
)
_NOISY = (
    "a2a",
    "aioice",
    "aiortc",
    "amplifier_core",
    "dbos",
    "openai",
    "httpx",
    "httpx2",
    "httpcore",
    "httpcore2",
    "websockets",
    "sqlalchemy",
    "alembic",
    "asyncio",
)
# What every record has, and what uvicorn adds for terminals: all the rest is somebody's field.
_NOT_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {
    "asctime",
    "color_message",
    "fields",
    "message",
    "private_trace",
    "taskName",
}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
# More than `redact` takes for a secret: nothing is lost where a log line says too little. None of
# these may run past a quote or a backslash: a JSON line has to stay one.
_LOOKS_SECRET: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?i)\b(bearer)\s+(?!\[redacted)[^\s\"'\\,}]+"), rf"\1 {marked('token')}"),
    (re.compile(r"\b(?:ek|st|vvk?)_[A-Za-z0-9_.\-]{16,}"), marked("token")),
    (re.compile(r"\bsk-[A-Za-z0-9_\-]{8,}"), marked("key")),
    (
        re.compile(
            r"(?i)([?&](?:token|access_token|api[-_]?key|key|secret)=)(?!\[redacted)[^&\s\"'#\\]+"
        ),
        rf"\1{marked('token')}",
    ),
)


def fields(**values: Any) -> dict[str, dict[str, Any]]:
    """`extra=fields(session_id=…)`: what belongs to the line beside its message."""
    return {"fields": values}


def failure(exc: BaseException, **values: Any) -> dict[str, Any]:
    """`extra=failure(exc, tool=…)` for another's code that failed: what kind, and where in it.

    Its words may quote what people said: they and the traceback are private.
    Our own frames around it tell nobody anything, and are left out.
    """
    first = exc.__traceback__
    while first is not None and first.tb_next is not None and _package(first) == OURS:
        first = first.tb_next
    told = fields(**values, error_type=type(exc).__name__, at=_place(first), output=str(exc))
    return {**told, "private_trace": (type(exc), exc, first)}


def _place(first: TracebackType | None) -> str | None:
    """The innermost line of the same author's, not of a library that it called."""
    if first is None:
        return None
    last, step = first, first.tb_next
    while step is not None:
        last = step if _package(step) == _package(first) else last
        step = step.tb_next
    code = last.tb_frame.f_code
    return f"{code.co_filename}:{last.tb_lineno} in {code.co_name}"


def _package(step: TracebackType) -> str:
    return str(step.tb_frame.f_globals.get("__name__", "")).partition(".")[0]


class Scrubber:
    """Takes secrets out of text. `learn` another one at any time."""

    def __init__(self, secrets: Iterable[str | None] = ()) -> None:
        self._known: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        self.learn(*secrets)

    def learn(self, *secrets: str | None) -> None:
        for secret in secrets:
            if secret and len(secret) >= 4:  # shorter ones would make holes in every word
                # Also as it looks in a URL, in a repr and in JSON.
                as_json = orjson.dumps(secret).decode()[1:-1]
                self._known |= {secret, quote(secret, safe=""), repr(secret)[1:-1], as_json}
        longest_first = sorted(self._known, key=len, reverse=True)
        if longest_first:
            self._pattern = re.compile("|".join(map(re.escape, longest_first)))

    def __call__(self, text: str) -> str:
        if self._pattern is not None:
            text = self._pattern.sub("***", text)
        text = redact(text)
        for pattern, replacement in _LOOKS_SECRET:
            text = pattern.sub(replacement, text)
        return text


class LineFormatter(logging.Formatter):
    """One record, one line (and its traceback), for people or for machines."""

    def __init__(self, layout: LogFormat, *, private: bool, scrub: Scrubber) -> None:
        super().__init__()
        self._layout = layout
        self._private = private
        self._scrub = scrub

    def format(self, record: logging.LogRecord) -> str:
        # Given as `fields(…)`, or plainly in `extra` by rooms that do not know this module.
        plain = {key: value for key, value in vars(record).items() if key not in _NOT_FIELDS}
        shown = redacted(self._shown({**plain, **(getattr(record, "fields", None) or {})}))
        # Before it is encoded, and after: a repr inside JSON is escaped twice.
        message, trace = self._scrub(record.getMessage()), self._scrub(self._trace(record))
        line = self._json if self._layout == "json" else self._console
        return self._scrub(line(record, message, shown, trace))

    def _shown(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {
            key: self._shown(value) if isinstance(value, Mapping) else value
            for key, value in values.items()
            if value is not None and (self._private or key not in PRIVATE)
        }

    def _trace(self, record: logging.LogRecord) -> str:
        parts = []
        if record.exc_info and record.exc_info[0] is not None:
            parts.append(self.formatException(record.exc_info))
        private = getattr(record, "private_trace", None)
        if private is not None and self._private:
            parts.append(self.formatException(private))
        if record.stack_info:
            parts.append(record.stack_info)
        return "\n".join(parts)

    def _console(
        self, record: logging.LogRecord, message: str, shown: Mapping[str, Any], trace: str
    ) -> str:
        at = datetime.fromtimestamp(record.created, UTC).strftime("%H:%M:%S.%f")[:-3]
        pairs = "".join(f" {key}={_plain(value)}" for key, value in shown.items())
        line = f"{at} {record.levelname:<7} {record.name}: {_one_line(message)}{pairs}"
        return f"{line}\n{trace}" if trace else line

    def _json(
        self, record: logging.LogRecord, message: str, shown: Mapping[str, Any], trace: str
    ) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        entry: dict[str, Any] = {
            **shown,
            "time": at.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": message,
        }
        if trace:
            entry["traceback"] = trace
        return orjson.dumps(entry, default=str, option=orjson.OPT_NON_STR_KEYS).decode()


class OurHandler(logging.StreamHandler[TextIO]):
    """A type of its own, so that configuring again replaces it and nobody else's."""


def configure(
    *,
    level: str = "INFO",
    layout: LogFormat = "console",
    private: bool = False,
    secrets: Iterable[str | None] = (),
    stream: TextIO | None = None,
) -> Scrubber:
    """Set up the root logger; give uvicorn `log_config=None` so that it uses it too."""
    scrub = Scrubber(secrets)
    handler = OurHandler(stream or sys.stderr)
    handler.setFormatter(LineFormatter(layout, private=private, scrub=scrub))
    root = logging.getLogger()
    for old in [h for h in root.handlers if isinstance(h, OurHandler)]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())
    for name in _NOISY:  # at DEBUG some of them write whole requests
        logging.getLogger(name).setLevel(logging.WARNING)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi"):
        theirs = logging.getLogger(name)
        theirs.handlers.clear()
        theirs.propagate = True
    # "Started server process", "Waiting for application startup": `serve` has its own words.
    quiet = root.level > logging.DEBUG
    # At DEBUG it writes each frame of a WebSocket, with what people say.
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING if quiet else logging.INFO)
    return scrub


def _one_line(text: str) -> str:
    """Whatever a client sent must not look like a line of ours."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _plain(value: Any) -> str:
    text = _one_line(value if isinstance(value, str) else str(value))
    return f'"{text}"' if not text or " " in text else text
