"""What a step leaves behind, as the ledger keeps it: a value, or how it failed.

A failure is recorded as any result, so that a backend that went on after one
goes the same way after a restart. It is raised as the same type both times:
ours and `GaveUp` as they are, whatever else as `StepFailed`.
"""

from __future__ import annotations

import json
from typing import Any

from vivavoce import errors
from vivavoce.runtime.tasks.ports import GaveUp, StepFailed, Value


def finished(value: Value) -> str:
    """Raises `TypeError` for what is not JSON."""
    return json.dumps({"value": value})


def failed(exc: Exception) -> str:
    match exc:
        case GaveUp():
            fault = {"error": exc.error, "tried": exc.tried, "suggestions": exc.suggestions}
            return json.dumps({"gave_up": fault})
        case errors.VivavoceError():
            return json.dumps({"ours": type(exc).__name__, "message": exc.message})
        case StepFailed():
            return json.dumps({"failed": exc.kind, "message": str(exc)})
        case _:
            return json.dumps({"failed": type(exc).__name__, "message": str(exc)})


def read(kept: str) -> Value:
    """The value, or the failure raised."""
    match json.loads(kept):
        case {"value": value}:
            return value
        case {"gave_up": {"error": error, "tried": tried, "suggestions": suggestions}}:
            raise GaveUp(error, tried=tried, suggestions=suggestions)
        case {"ours": str() as name, "message": message}:
            raise _ours(name, message)
        case {"failed": kind, "message": message}:
            raise StepFailed(kind, message)
        case _:
            raise ValueError("no outcome of a step")


def _ours(name: str, message: str) -> Exception:
    kind: Any = getattr(errors, name, None)
    try:
        if isinstance(kind, type) and issubclass(kind, errors.VivavoceError):
            return kind(message)
    except TypeError:
        pass  # it wants to know more than words
    return StepFailed(name, message)  # or of a release that had it
