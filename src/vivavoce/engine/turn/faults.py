"""What a client got wrong, in the words of the Realtime protocol.

A `Refused` becomes an `error` event, with the `event_id` of the frame that
caused it; the session lives on. Knows nothing of sockets and sessions.
"""

from __future__ import annotations

from typing import Any


class Refused(Exception):
    """The client can mend it. `param` is the path of what is wrong, as in `session.tools[0]`."""

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        type: str = "invalid_request_error",  # noqa: A002 - the protocol's word
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.param = param
        self.type = type

    def error(self, event_id: str | None = None) -> dict[str, Any]:
        """The `error` of an `error` event; `event_id` is the client's."""
        return {
            "type": self.type,
            "code": self.code,
            "message": self.message,
            "param": self.param,
            "event_id": event_id,
        }


def unknown(where: str) -> Refused:
    return Refused(f"Unknown parameter: '{where}'.", code="unknown_parameter", param=where)


def missing(where: str) -> Refused:
    return Refused(
        f"Missing required parameter: '{where}'.", code="missing_required_parameter", param=where
    )


def wrong_type(where: str, expected: str, got: Any) -> Refused:
    return Refused(
        f"Invalid type for '{where}': expected {expected}, but got {_named(got)} instead.",
        code="invalid_type",
        param=where,
    )


def wrong_value(where: str, words: str) -> Refused:
    return Refused(f"Invalid value for '{where}': {words}", code="invalid_value", param=where)


def unsupported(where: str, words: str = "it is not supported by this engine yet.") -> Refused:
    """A part of the protocol that this engine does not have, rather than a mistake."""
    return Refused(f"Cannot use '{where}': {words}", code="unsupported_parameter", param=where)


def _named(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case int():
            return "an integer"
        case float():
            return "a decimal number"
        case list() | tuple():
            return "an array"
        case _:
            return "an object"
