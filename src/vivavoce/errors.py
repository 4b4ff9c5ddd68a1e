"""The whole error tree: whose fault it is, whether a retry helps, what to say aloud.

    VivavoceError
    ├── ClientError                the caller can mend it
    │   ├── InvalidRequest         400 invalid_request
    │   ├── InvalidArguments       400 invalid_arguments
    │   ├── InvalidSdp             400 invalid_sdp
    │   ├── Unauthorized           401 unauthorized
    │   │   └── TokenExpired       401 token_expired
    │   ├── Forbidden              403 forbidden
    │   ├── NotFound               404 not_found
    │   │   ├── SessionNotFound    404 session_not_found
    │   │   └── ToolNotFound       404 tool_not_found
    │   ├── Conflict               409 conflict
    │   │   └── OwnedElsewhere     409 conflict; another server looks after it, and is named
    │   ├── PayloadTooLarge        413 payload_too_large
    │   ├── UnsupportedMedia       415 unsupported_media_type
    │   └── RateLimited            429 rate_limited
    ├── Slow                       a retry may help
    │   ├── RequestTimeout         408 timeout
    │   └── ToolTimeout            408 tool_timeout
    ├── ToolFailed                 500 internal_error; the model explains it
    │   ├── IntentRefused          400 intent_refused; the model asks the user again
    │   └── OrchestratorUnavailable 502 orchestrator_error; kept, and tried again
    ├── ProviderError              502 openai_error
    │   ├── ProviderRefused        502; a retry does not help (key, model, call gone)
    │   └── ProviderRateLimited    502; after a while
    ├── Unavailable                503 service_unavailable
    │   ├── BridgeUnavailable      503 amplifier_unavailable
    │   ├── ModelUnavailable       503 model_unavailable; not fetched yet, or damaged
    │   └── OutcomeUnknown         503; it may have been written: look before trying again
    ├── EngineFault                500 engine_error; a model of the embedded engine failed
    │   ├── EarsError
    │   ├── BrainError
    │   └── MouthError
    ├── Fenced                     503 service_unavailable; this server has lost what it had
    └── InternalError              500 internal_error

`server/problems.py` turns these into the wire shape of seed 003 §8, in one
place. `SPOKEN` holds the translations of seed 000 §9.3: what the voice says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

T = TypeVar("T")


class VivavoceError(Exception):
    """Anything we raise on purpose. `message` is safe to show to anyone."""

    code: ClassVar[str] = "internal_error"
    status: ClassVar[int] = 500
    retryable: ClassVar[bool] = False
    spoken: ClassVar[str] = "Something went wrong on my side. Should I try again?"

    announced: bool = False
    """Does the log tell of it by an event of its own, besides that of the call it ends?"""

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details = {k: v for k, v in details.items() if v is not None}

    @property
    def retry_after_ms(self) -> int | None:
        """When a retry may help, for `Retry-After` and `details`."""
        value = self.details.get("retry_after_ms")
        return value if isinstance(value, int) else None


class ClientError(VivavoceError):
    code = "invalid_request"
    status = 400


class InvalidRequest(ClientError):
    pass


class InvalidArguments(ClientError):
    code = "invalid_arguments"
    spoken = "I didn't get all the details for that. Could you say it again?"


class InvalidSdp(ClientError):
    code = "invalid_sdp"


class Unauthorized(ClientError):
    code = "unauthorized"
    status = 401


class TokenExpired(Unauthorized):
    code = "token_expired"


class Forbidden(ClientError):
    code = "forbidden"
    status = 403
    spoken = "I'm not allowed to do that."


class NotFound(ClientError):
    code = "not_found"
    status = 404


def found(thing: T | None, what: str, name: str) -> T:
    """It, where there is one; raises `NotFound`."""
    if thing is None:
        raise NotFound(f"{what} '{name[:64]}' not found.")
    return thing


class SessionNotFound(NotFound):
    code = "session_not_found"


class ToolNotFound(NotFound):
    code = "tool_not_found"
    spoken = "I don't have a tool for that."


class Conflict(ClientError):
    code = "conflict"
    status = 409


class OwnedElsewhere(Conflict):
    """`owner` in the details is the name of the server to ask."""


class PayloadTooLarge(ClientError):
    code = "payload_too_large"
    status = 413


class UnsupportedMedia(ClientError):
    code = "unsupported_media_type"
    status = 415


class RateLimited(ClientError):
    code = "rate_limited"
    status = 429
    retryable = True
    spoken = "I need to slow down a bit. Give me a moment."


class Slow(VivavoceError):
    code = "timeout"
    status = 408
    retryable = True
    spoken = "That operation is taking too long. Should I keep trying?"


class RequestTimeout(Slow):
    pass


class ToolTimeout(Slow):
    code = "tool_timeout"


class ToolFailed(VivavoceError):
    """A tool ran and failed; `cause` is a key of `SPOKEN` where we know one."""

    retryable = True

    def __init__(self, message: str, *, cause: str | None = None, **details: Any) -> None:
        super().__init__(message, **details)
        self.cause = cause


class IntentRefused(ToolFailed):
    """The orchestrator will not: `message` says in words for the model what is missing or wrong,
    `suggestion` what to ask."""

    code = "intent_refused"
    status = 400

    def __init__(
        self, message: str, *, suggestion: str = "Ask the user, then call again", **details: Any
    ) -> None:
        super().__init__(message, **details)
        self.suggestion = suggestion


class OrchestratorUnavailable(ToolFailed):
    """It cannot now (seed 004 §12). What was submitted is kept."""

    code = "orchestrator_error"
    status = 502
    spoken = "I'm having trouble setting that up. Should I try again?"


class ProviderError(VivavoceError):
    code = "openai_error"
    status = 502
    retryable = True
    spoken = "I lost connection briefly. Reconnecting now."


class ProviderRefused(ProviderError):
    retryable = False
    spoken = "I can't reach the voice service."


class ProviderRateLimited(ProviderError):
    spoken = "I need to slow down a bit. Give me a moment."


class Unavailable(VivavoceError):
    code = "service_unavailable"
    status = 503
    retryable = True
    spoken = "I'm not quite ready. Please try again in a moment."


class BridgeUnavailable(Unavailable):
    code = "amplifier_unavailable"


class ModelUnavailable(Unavailable):
    code = "model_unavailable"


class OutcomeUnknown(Unavailable):
    pass


class EngineFault(VivavoceError):
    code = "engine_error"
    retryable = True


class EarsError(EngineFault):
    pass


class BrainError(EngineFault):
    pass


class MouthError(EngineFault):
    pass


class Fenced(VivavoceError):
    code = "service_unavailable"
    status = 503


class InternalError(VivavoceError):
    pass


@dataclass(frozen=True, slots=True)
class Translation:
    """What the voice says about a fault, and what may be done about it."""

    message: str
    recoverable: bool
    suggestion: str | None = None


SPOKEN: dict[str, Translation] = {
    # Tools
    "ENOENT": Translation(
        "I couldn't find that file. Would you like me to search for it?", True, "Use glob to search"
    ),
    "EACCES": Translation("I don't have permission to access that. Is it a protected file?", False),
    "ETIMEDOUT": Translation(
        "That operation is taking too long. Should I keep trying?", True, "Retry or abort"
    ),
    # The provider
    "session_expired": Translation(
        "Our session timed out. Let me reconnect and pick up where we left off.",
        True,
        "Auto-reconnect",
    ),
    "rate_limit_exceeded": Translation(
        "I need to slow down a bit. Give me a moment.", True, "Auto-retry after delay"
    ),
    "context_length_exceeded": Translation(
        "We've been talking for a while. Let me summarize our conversation so we can continue.",
        True,
        "Summarize and truncate",
    ),
    # The network and the machine
    "connection_failed": Translation(
        "I lost connection briefly. Reconnecting now.", True, "Auto-reconnect"
    ),
    "audio_device_error": Translation(
        "I'm having trouble with the microphone. Could you check your audio settings?",
        False,
        "User action required",
    ),
}


def translate(fault: BaseException) -> Translation:
    """The spoken side of any fault; the unknown ones give nothing of the inside away."""
    match fault:
        case IntentRefused():
            return Translation(fault.message, True, fault.suggestion)
        case OrchestratorUnavailable():
            return Translation(
                fault.message,
                True,
                "Say that you are having trouble setting it up, and ask whether to try again",
            )
        case ToolFailed(cause=str() as cause) if cause in SPOKEN:
            return SPOKEN[cause]
        case ToolFailed():
            return Translation(f"Something went wrong: {fault.message}", True)
        case FileNotFoundError():
            return SPOKEN["ENOENT"]
        case PermissionError():
            return SPOKEN["EACCES"]
        case ToolTimeout() | TimeoutError():
            return SPOKEN["ETIMEDOUT"]
        case InvalidArguments():
            return Translation(fault.message, True, "Ask for what is missing, then call again")
        case VivavoceError():
            return Translation(fault.spoken, fault.retryable)
        case _:
            return Translation(VivavoceError.spoken, False)
