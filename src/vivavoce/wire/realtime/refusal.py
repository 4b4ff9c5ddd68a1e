"""What is wrong with a client's event, in the words of the Realtime protocol.

A `Refused` becomes an `error` event, with the `event_id` of the frame that
caused it; the session lives on. `reading` turns whatever Pydantic finds wrong
into one. Validators of ours raise what `wrong_value` and its neighbours make;
`field` says where below the validated value it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

T = TypeVar("T")

TAG = "\0"
"""The members of a union are tagged with it, so that they can be told from fields in a path."""

_SHOWN = 80


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
        self.message, self.code, self.param, self.type = message, code, param, type

    def error(self, event_id: str | None = None) -> dict[str, Any]:
        """The `error` of an `error` event; `event_id` is the client's."""
        return {
            "type": self.type,
            "code": self.code,
            "message": self.message,
            "param": self.param,
            "event_id": event_id,
        }


def printable(raw: object) -> str:
    """A client's word, short and fit to be sent back in an error."""
    return str(raw)[:_SHOWN].encode(errors="replace").decode()


# --- For validators -----------------------------------------------------------------


def _fault(code: str, field: str, **words: Any) -> PydanticCustomError:
    # The code is the error's type; the words are put together where the whole path is known.
    return PydanticCustomError(code, "refused", {"field": field, **words})


def wrong_value(words: str, field: str = "") -> PydanticCustomError:
    return _fault("invalid_value", field, words=words)


def wrong_type(expected: str, field: str = "") -> PydanticCustomError:
    return _fault("invalid_type", field, expected=expected)


def missing(field: str) -> PydanticCustomError:
    return _fault("missing_required_parameter", field)


def unsupported(words: str, field: str = "") -> PydanticCustomError:
    """A part of the protocol that this engine does not have, rather than a mistake."""
    return _fault("unsupported_parameter", field, words=words)


# --- Refusals by path -----------------------------------------------------------------


_MESSAGES = {
    "missing_required_parameter": "Missing required parameter: '{where}'.",
    "unknown_parameter": "Unknown parameter: '{where}'.",
    "invalid_type": "Invalid type for '{where}': expected {words} instead.",
    "unsupported_parameter": "Cannot use '{where}': {words}",
}


def refused(code: str, where: str, words: str = "") -> Refused:
    message = _MESSAGES.get(code, "Invalid value for '{where}': {words}")
    return Refused(message.format(where=where, words=words), code=code, param=where)


def reading(read: Callable[[Any], T], raw: Any, where: str = "") -> T:
    """What `read` (a model's `model_validate`, an adapter's `validate_python`) makes of it, or
    `Refused`; `where` is the path of `raw` itself."""
    try:
        return read(raw)
    except ValidationError as wrong:
        raise _translated(wrong.errors(include_url=False)[0], where) from None


def _translated(wrong: ErrorDetails, where: str) -> Refused:
    kind, given, told = wrong["type"], wrong["input"], wrong.get("ctx", {})
    at = _path(where, wrong["loc"])
    if kind.startswith("union_tag"):
        if not isinstance(given, Mapping):
            return refused("invalid_type", at, f"an object, but got {_named(given)}")
        by = str(told["discriminator"]).removesuffix("()")
        return _wrong_kind(given.get(by), f"{at}.{by}", str(told.get("expected_tags", "")))
    if field := told.get("field"):
        at = at + field if field.startswith("[") else f"{at}.{field}".lstrip(".")
    if kind in _CODES:
        words = told.get("words") or f"{told.get('expected')}, but got {_named(given)}"
        return refused(kind, at, words)
    if kind == "missing":
        return refused("missing_required_parameter", at)
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        return refused("unknown_parameter", at)
    if (expected := _EXPECTED.get(kind)) is not None:
        return refused("invalid_type", at, f"{expected}, but got {_named(given)}")
    code = "string_above_max_length" if kind == "string_too_long" else "invalid_value"
    return refused(code, at, _words(kind, given, told))


_CODES = ("invalid_value", "invalid_type", "missing_required_parameter", "unsupported_parameter")
_EXPECTED = {
    "string_type": "a string",
    "int_type": "an integer",
    "int_from_float": "an integer",
    "float_type": "a number",
    "bool_type": "a boolean",
    "list_type": "an array",
    "dict_type": "an object",
    "model_type": "an object",
}


def _wrong_kind(given: Any, at: str, tags: str) -> Refused:
    """Of a union that is told apart by one field (`type`, `role`)."""
    if given is None:
        return refused("missing_required_parameter", at)
    if not isinstance(given, str):
        return refused("invalid_type", at, f"a string, but got {_named(given)}")
    known = re.findall(r"\w[\w/.]*", tags.replace(repr(TAG)[1:-1], " "))
    options = ", ".join(f"'{name}'" for name in known)
    return refused("invalid_value", at, f"'{printable(given)}'. Supported values are: {options}.")


def _words(kind: str, given: Any, told: Mapping[str, Any]) -> str:
    match kind:
        case "literal_error":
            return f"'{printable(given)}'. Supported values are: {told['expected']}."
        case "string_too_long" | "string_too_short":
            return f"it has {len(given)} characters; {_limit(told)}."
        case "too_long" | "too_short":
            return f"it has {len(given)} elements; {_limit(told)}."
        case "greater_than_equal" | "less_than_equal" | "finite_number":
            least, most = told.get("ge"), told.get("le")
            if least is None and most is None:
                return "a finite number is wanted."
            return f"{most} or less is wanted." if least is None else f"{least} or more is wanted."
        case "string_unicode":
            return "it is not valid Unicode."
        case _:
            return "it is not allowed."


def _limit(told: Mapping[str, Any]) -> str:
    most, least = told.get("max_length"), told.get("min_length")
    return f"it needs at least {least}" if most is None else f"it may have at most {most}"


def _path(where: str, loc: tuple[int | str, ...]) -> str:
    at = where
    if loc and loc[-1] == "[key]":  # of an object with any keys: the object is wrong
        loc = loc[:-2]
    for step in loc:
        if isinstance(step, int):
            at += f"[{step}]"
        elif not step.startswith(TAG):
            at += ("." if at else "") + printable(step)
    return at


_NAMES = {
    type(None): "null",
    bool: "a boolean",
    str: "a string",
    int: "an integer",
    float: "a decimal number",
    list: "an array",
    tuple: "an array",
}


def _named(value: Any) -> str:
    return _NAMES.get(type(value), "an object")
