"""What a chat server's refusal means, in words for the user.

The words may reach anyone, so they name no host and repeat no key. What the
server itself said is repeated only where nothing better is known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from vivavoce.errors import BrainError

UNREACHABLE = "The language model's server cannot be reached."
SILENT = "The language model did not answer in time."
CUT = "The language model stopped in the middle of its answer."
GARBLED = "The language model's server sent something that cannot be read."

_TOO_LONG = ("context_length", "context length", "context size", "context window", "too long")
_LONGEST = 200


def refusal(
    status: int, text: str, model: str, headers: Mapping[str, str], key: str | None
) -> BrainError:
    """The fault for an answer that is none; `text` is its body."""
    message, code = _told(text)
    told = f"{code} {message}".lower()
    wait = _retry_after(headers)
    if status in (401, 403):
        return BrainError("The language model's server does not accept the key.", status=status)
    if status == 429 and "quota" in told:
        return BrainError("The account at the language model's server is used up.", status=status)
    if status == 429:
        words = "The language model's server has too much to do."
        return BrainError(words, status=status, retry_after_ms=wait)
    if status == 413 or any(words in told for words in _TOO_LONG):
        return BrainError("The conversation is too long for the language model.", status=status)
    if status == 404 and "model" in told:
        return BrainError(f"The server has no language model {model!r}.", status=status)
    if status == 404:
        words = "There is no chat server at that address; most end in /v1."
        return BrainError(words, status=status)
    if status == 503 and "loading" in told:
        words = "The language model is still being loaded."
        return BrainError(words, status=status, retry_after_ms=wait)
    return BrainError(_otherwise(status, message, key), status=status, retry_after_ms=wait)


def broke_off(error: object, model: str, key: str | None) -> BrainError:
    """The fault for an error in the middle of the stream."""
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) else 500
    return refusal(status, json.dumps({"error": error}), model, {}, key)


def message_of(text: str) -> str:
    """What the server said, as it said it."""
    message, code = _told(text)
    return f"{code} {message}"


def _told(text: str) -> tuple[str, str]:
    """The message and the code of an error, whichever of the usual shapes it has."""
    try:
        error: Any = json.loads(text)
    except ValueError:
        return " ".join(text.split()), ""
    if isinstance(error, dict):
        error = error.get("error") or error.get("detail") or error
    if not isinstance(error, dict):
        return str(error), ""
    codes = (str(error[name]) for name in ("code", "type", "param") if error.get(name))
    return str(error.get("message") or error.get("detail") or ""), " ".join(codes)


def _otherwise(status: int, message: str, key: str | None) -> str:
    whose = "failed" if status >= 500 else "refused the question"
    words = f"The language model's server {whose} ({status})"
    if not message or message.startswith("<"):  # a page for a browser
        return f"{words}."
    if key:
        message = message.replace(key, "…")
    short = message if len(message) <= _LONGEST else message[: _LONGEST - 1] + "…"
    return f"{words}: {short}"


def _retry_after(headers: Mapping[str, str]) -> int | None:
    try:
        return int(float(headers.get("retry-after", "")) * 1000)
    except (ValueError, OverflowError):  # a date, or nothing
        return None
