"""What a provider's refusal means, in our words and without its secrets.

Pure: a status, a code and a message in, one of our errors out. The
provider's own words are quoted only after scrubbing, since OpenAI's 401
repeats (most of) the key.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from vivavoce.errors import ProviderError, ProviderRateLimited, ProviderRefused

CALL_NOT_FOUND = "call_not_found"
"""In `details["code"]` of the refusal to attach to a call that is not there, or not yet."""

NO_KEY = (
    "There is no key for the provider: set OPENAI_API_KEY, or VIVAVOCE_PROVIDER_URL "
    "to a Realtime server that needs none."
)

_QUOTE = 300
_SECRETS = re.compile(r"(?i)\bbearer\s+\S+|\b(?:sk|ek|rk|sess)[-_][\w*.\-]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")
_RETRY_AFTER_MS = 5_000
_RATE_LIMITED_WAIT = 5.0  # "OpenAI 429: back off 5 s, retry once" (seed 004 §12)
_FAILED_WAIT = 2.0  # "OpenAI 500/503: retry once after 2 s"; a lost connection is no better


def once_more_after(fault: Exception, failures: int) -> float | None:
    """Seconds before the second and last attempt at a request; None where it is not worth one.

    The sideband's own retries belong to the session.
    """
    if failures > 1 or not isinstance(fault, ProviderError) or isinstance(fault, ProviderRefused):
        return None
    return _RATE_LIMITED_WAIT if isinstance(fault, ProviderRateLimited) else _FAILED_WAIT


@dataclass(frozen=True, slots=True)
class Refusal:
    """An HTTP answer that is no success."""

    status: int
    code: str | None = None
    message: str = ""
    retry_after: str | None = None


def refusal_of(status: int, body: object, headers: Mapping[str, str]) -> Refusal:
    """Read OpenAI's error shape, with or without its envelope, and bear any other."""
    error: Any = body.get("error", body) if isinstance(body, Mapping) else {}
    if not isinstance(error, Mapping):
        error = {"message": error}
    code, message = error.get("code"), error.get("message")
    return Refusal(
        status=status,
        code=code if isinstance(code, str) else None,
        message=message if isinstance(message, str) else "",
        retry_after=headers.get("retry-after"),
    )


def scrub(text: str, secrets: Iterable[str] = ()) -> str:
    """One short line in which no key, token or control character is left."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "…")
    text = _CONTROL.sub(" ", _SECRETS.sub("…", text)).strip()
    return text if len(text) <= _QUOTE else text[: _QUOTE - 1] + "…"


def fault_of(refusal: Refusal, *, model: str, secrets: Iterable[str] = ()) -> ProviderError:
    """The error to raise; its class says whether a retry may help."""
    status, code = refusal.status, refusal.code
    if status == 429 and code != "insufficient_quota":
        return ProviderRateLimited(
            "The provider asks us to slow down.",
            status=status,
            retry_after_ms=_milliseconds(refusal.retry_after),
        )
    if status == 408 or status >= 500:
        return ProviderError(f"The provider failed (HTTP {status}).", status=status)
    said = scrub(refusal.message, secrets)
    quote = f" It says: {said}" if said else ""
    if status == 429:
        message = "The provider's account has no quota left."
    elif status == 401:
        message = "The provider refused the key. Is OPENAI_API_KEY right, and for this base URL?"
    elif status == 403:
        message = f"The provider's key may not do this.{quote}"
    elif code == "model_not_found":
        message = f"The provider does not know the model {model}, or the key may not use it."
    else:
        message = f"The provider refused the request (HTTP {status}).{quote}"
    return ProviderRefused(message, status=status, code=code and scrub(code, secrets))


def attach_fault(refusal: Refusal, *, model: str, secrets: Iterable[str] = ()) -> ProviderError:
    """As `fault_of`, but a 404 here is about the call: too early, or over."""
    if refusal.status == 404:
        return call_not_found()
    return fault_of(refusal, model=model, secrets=secrets)


def unreachable(place: str) -> ProviderError:
    return ProviderError(
        f"The provider at {place} cannot be reached. Is VIVAVOCE_PROVIDER_URL right, and is the "
        "network up?"
    )


def call_not_found() -> ProviderRefused:
    return ProviderRefused("The provider has no such call.", status=404, code=CALL_NOT_FOUND)


def _milliseconds(retry_after: str | None) -> int:
    """Of a `Retry-After` in seconds; the date form and nonsense count as none."""
    try:
        seconds = float(retry_after or "")
    except ValueError:
        return _RETRY_AFTER_MS
    return round(seconds * 1000) if 0 <= seconds <= 3600 else _RETRY_AFTER_MS
