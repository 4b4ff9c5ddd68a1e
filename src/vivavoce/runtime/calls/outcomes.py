"""A tool call as it is asked for and as it is answered, with no I/O.

Owns the one shape in which a result or a fault reaches the model, the cutting
of long output, and what an answer looks like when it is read back from its
record. Who runs the tool, and what is written when, is `executor.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol

import orjson

from vivavoce.errors import (
    InternalError,
    InvalidArguments,
    ToolFailed,
    ToolTimeout,
    Translation,
    VivavoceError,
    translate,
)
from vivavoce.runtime.calls.shaping import MODEL_LIMIT, kind_of, shape
from vivavoce.runtime.ports import Picture, Toolbox, ToolOutput
from vivavoce.wire.clean import clean_line
from vivavoce.wire.records.talk import CallStatus, Origin, ToolCall
from vivavoce.wire.records.work import Role
from vivavoce.wire.values import Record

STORED_LIMIT = 256 * 1024
ARGUMENTS_LIMIT = 256 * 1024
MOST_FILES = 200

CANCELLED = Translation("That was stopped before it was done.", True)
INTERRUPTED = Translation(
    "The outcome is unknown: it was interrupted by a restart.",
    False,
    "Check what was done before trying again",
)


class ToolRequest(Record):
    """Who asks for what. `arguments` is a mapping, or the JSON text the model wrote.

    `allowed` names the tools this caller may use (the agent's, or those the
    session enabled); None is all of them. `role` is for work that it delegates.
    `timeout` is for the whole, a wait for a yes included. `ordinal` is the call's place in its
    conversation where the caller knows it.
    """

    name: str
    arguments: Mapping[str, Any] | str
    call_id: str
    user_id: str
    session_id: str | None = None
    conversation_id: str | None = None
    origin: Origin = "model"
    timeout: float | None = None
    ordinal: float | None = None
    task_id: str | None = None
    role: Role = "operator"
    allowed: Collection[str] | None = None
    tools: Toolbox | None = None
    """Where the tool is, if not among the server's own."""
    beside: Toolbox | None = None
    """What else the model was shown, if this tool is the server's own: others' words are in it."""
    again: bool = False
    """A call that was left open is to be run to its end: whoever runs it knows calls by their ids,
    and does none twice."""
    left_open: Callable[[], bool] | None = None
    """Of a call that is cancelled: shall it stay as a crash would leave it?"""


class ToolOutcome(Record):
    """How it went. `output` is at most what the model gets; the whole is in the record.

    `fault` is for a door that wants to raise it; everyone else reads `error`.
    """

    success: bool
    output: str
    duration_ms: int
    for_model: str
    error: str | None = None
    truncated: bool = False
    recoverable: bool = True
    suggestion: str | None = None
    fault: VivavoceError | None = None
    pictures: tuple[Picture, ...] = ()
    files_changed: tuple[str, ...] = ()
    exit_code: int | None = None

    @property
    def code(self) -> str | None:
        """What kind of failure, for a program."""
        if self.success:
            return None
        cause = self.fault.cause if isinstance(self.fault, ToolFailed) else None
        known = None if self.fault is None else self.fault.code
        return _CODES.get(cause or "", known or "command_failed")

    @property
    def result(self) -> dict[str, Any]:
        """The `tool_result` of an entry (seed 003 §2.4), as it is stored."""
        if self.success:
            told: dict[str, Any] = {
                "success": True,
                "output": self.output,
                "duration_ms": self.duration_ms,
                "truncated": self.truncated,
            }
            return {**told, "files_changed": self.files_changed} if self.files_changed else told
        return {
            "success": False,
            "error": self.error,
            "recoverable": self.recoverable,
            "suggestion": self.suggestion,
            "duration_ms": self.duration_ms,
            **({"output": self.output} if self.output else {}),
            **({} if self.exit_code is None else {"exit_code": self.exit_code}),
        }


class RunsTools(Protocol):
    """Whoever runs a call and gives its outcome: the executor, and fakes of it."""

    async def run(self, request: ToolRequest) -> ToolOutcome: ...


_CODES = {
    "ENOENT": "not_found",
    "EACCES": "forbidden",
    "ETIMEDOUT": "tool_timeout",
    "rate_limit_exceeded": "rate_limited",
}
"""By the cause of a `ToolFailed`."""


def answered(
    output: str | ToolOutput, duration_ms: int, ref: str = "", limit: int = MODEL_LIMIT
) -> ToolOutcome:
    """It ran to its end, well or not: the model reads what it says. `ref` names the call to
    whoever wants to read on."""
    made = output if isinstance(output, ToolOutput) else ToolOutput(output, kind_of(output))
    shown, truncated = shape(made.text, made.kind, ref, limit, made.frame)
    return ToolOutcome(
        success=not made.failed,
        error=made.failed or None,
        exit_code=made.exit_code,
        output=shown,
        duration_ms=duration_ms,
        for_model=shown,
        truncated=truncated,
        pictures=made.pictures,
        files_changed=tuple(clean_line(name, 300) for name in made.files_changed[:MOST_FILES]),
    )


def failed(
    fault: VivavoceError, duration_ms: int = 0, words: Translation | None = None
) -> ToolOutcome:
    """Every failure reaches the model in this one shape."""
    said = words or translate(fault)
    error, _ = shape(said.message, "text")
    told = {
        "success": False,
        "error": error,
        "recoverable": said.recoverable,
        "suggestion": said.suggestion,
        **_helpful(fault),
    }
    return ToolOutcome(
        success=False,
        output="",
        duration_ms=duration_ms,
        for_model=orjson.dumps(told).decode(),
        error=error,
        recoverable=said.recoverable,
        suggestion=said.suggestion,
        fault=fault,
    )


def _helpful(fault: VivavoceError) -> dict[str, Any]:
    """What the user can be asked, as `wire.hints` has it."""
    details = fault.details
    missing = details.get("missing") or details.get("missing_params")
    found = {
        "question": details.get("question"),
        "missing": missing,
        "choices": details.get("choices"),
        # It failed for now only: nobody may say that nothing came of it.
        "status": "pending" if details.get("kept") else None,
    }
    return {name: value for name, value in found.items() if value}


def recalled(call: ToolCall) -> ToolOutcome:
    """The answer of a call that was settled before, from its record alone."""
    duration = call.duration_ms or 0
    if call.status is CallStatus.COMPLETED:
        return answered(call.output, duration, call.id)
    if call.status is CallStatus.FAILED and call.output:
        return answered(ToolOutput(call.output, "log", failed=call.error or "failed"), duration)
    words = INTERRUPTED if call.status is CallStatus.UNKNOWN else None
    fault = ToolFailed(call.error or f"The tool '{call.tool}' failed")
    return failed(fault, duration, words or Translation(fault.message, True))


def fault_of(exc: BaseException, tool: str) -> VivavoceError:
    """What a tool raised, as a fault that is safe to show.

    The words of an exception that nobody meant for a listener stay inside.
    """
    match exc:
        case VivavoceError():
            return exc
        case FileNotFoundError():
            return ToolFailed(f"The tool '{tool}' found no such file", cause="ENOENT")
        case PermissionError():
            return ToolFailed(f"The tool '{tool}' had no permission", cause="EACCES")
        case TimeoutError():
            return ToolFailed(f"The tool '{tool}' waited too long", cause="ETIMEDOUT")
        case asyncio.CancelledError():
            return ToolFailed(f"The tool '{tool}' gave up")
        case _:
            return InternalError(f"The tool '{tool}' failed", tool=tool)


def timed_out(tool: str, seconds: float) -> ToolTimeout:
    return ToolTimeout(
        f"The tool '{tool}' took longer than {seconds:g} seconds",
        tool=tool,
        timeout_ms=round(seconds * 1000),
    )


def parse_arguments(name: str, raw: Mapping[str, Any] | str) -> Any:
    """The arguments as a value; a model that needs none may have written nothing."""
    if not isinstance(raw, str):
        return dict(raw)
    if not raw.strip():
        return {}
    if len(raw) > ARGUMENTS_LIMIT:
        raise InvalidArguments(f"The arguments for tool '{name}' are too long", tool=name)
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as exc:
        raise InvalidArguments(
            f"The arguments for tool '{name}' are not valid JSON: {exc.msg}", tool=name
        ) from None
