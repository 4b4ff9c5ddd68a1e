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
    ├── ToolFailed                 500 tool_failed; the model explains it
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
    │   ├── BrainError             or, as OpenAI calls it, what its server says:
    │   │   ├── BrainBusy          rate_limit_exceeded
    │   │   ├── BrainSpent         insufficient_quota
    │   │   ├── BrainLocked        invalid_api_key
    │   │   └── BrainFull          context_length_exceeded
    │   └── MouthError
    ├── Fenced                     503 service_unavailable; this server has lost what it had
    └── InternalError              500 internal_error

`server/problems.py` turns these into the wire shape of seed 003 §8, in one
place. `SPOKEN` is the table of seed 000 §9: by code, what the voice says, what is
done about it, what is shown and how it is logged.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Literal, TypeVar

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


class SaidOtherwise(Conflict):
    """Another message has this id already: the same one again is wanted, or another id."""


class OwnedElsewhere(Conflict):
    """`owner` in the details is the name of the server to ask."""


class TakenOver(Conflict):
    """Its user went on with it in another window, or on another device. What was left must not take
    it back by itself."""

    code = "taken_over"
    spoken = "We are talking somewhere else already."


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

    code = "tool_failed"
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


class BrainBusy(BrainError):
    code = "rate_limit_exceeded"


class BrainSpent(BrainError):
    code = "insufficient_quota"
    retryable = False


class BrainLocked(BrainError):
    code = "invalid_api_key"
    retryable = False


class BrainFull(BrainError):
    code = "context_length_exceeded"
    retryable = False


class MouthError(EngineFault):
    pass


class Fenced(VivavoceError):
    code = "service_unavailable"
    status = 503


class InternalError(VivavoceError):
    pass


class Recovery(StrEnum):
    """What is done about a fault."""

    MODEL = "the model explains"
    """It reads what went wrong in the call's output, and says what follows from it."""
    RETRY = "ask again"
    SHORTEN = "shorten, then ask again"
    NEXT_PROVIDER = "next provider"
    NEW_CALL = "new call"
    REATTACH = "attach again"
    WAIT = "go on"
    """Nothing is lost: somebody may want to know."""
    TELL = "tell the user"
    """Trying again would not help."""


Level = Literal["info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Translation:
    """One row of the table: what the voice says about a fault, and what is done about it.

    `waits` are the seconds before each try; the words are said with the try of that number
    (`said_at`; 0 is never), and `last` when there is none left. `level` is that of the
    notification, and of the log; `action` is what the page may offer beside it.
    """

    message: str
    recoverable: bool
    suggestion: str | None = None
    recovery: Recovery = Recovery.MODEL
    waits: tuple[float, ...] = ()
    said_at: int = 0
    last: str = ""
    level: Level = "warning"
    action: str = ""


_QUICK = (0.5, 2.0, 5.0)
_PATIENT = (2.0, 5.0, 10.0)
SPOKEN: dict[str, Translation] = {
    # Tools
    "ENOENT": Translation(
        "I couldn't find that file. Would you like me to search for it?", True, "Use glob to search"
    ),
    "EACCES": Translation("I don't have permission to access that. Is it a protected file?", False),
    "ETIMEDOUT": Translation(
        "That operation is taking too long. Should I keep trying?", True, "Retry or abort"
    ),
    "tool_overdue": Translation(
        "This is taking longer than usual, and it is still running. Say stop, and I end it.",
        True,
        recovery=Recovery.WAIT,
        said_at=1,
        level="info",
    ),
    # The provider and its model
    "session_expired": Translation(
        "Our session timed out. Let me reconnect and pick up where we left off.",
        True,
        "Auto-reconnect",
        recovery=Recovery.NEW_CALL,
        action="reconnect",
    ),
    "rate_limit_exceeded": Translation(
        "I need to slow down a bit. Give me a moment.",
        True,
        "Auto-retry after delay",
        recovery=Recovery.RETRY,
        waits=_PATIENT,
        said_at=1,
        last="I still have to wait before I can answer. Please ask me again in a minute.",
    ),
    "insufficient_quota": Translation(
        "What I may use of my voice service is used up, so I can't answer.",
        False,
        recovery=Recovery.NEXT_PROVIDER,
        level="error",
    ),
    "invalid_api_key": Translation(
        "My voice service does not let me in, so I can't answer.",
        False,
        recovery=Recovery.NEXT_PROVIDER,
        level="error",
    ),
    "context_length_exceeded": Translation(
        "We've been talking for a while. Let me summarize our conversation so we can continue.",
        True,
        "Summarize and truncate",
        recovery=Recovery.SHORTEN,
        waits=(0.0, 0.0),
        said_at=1,
        last="We've been talking for so long that I can't take in any more. "
        "Please begin a new conversation.",
        level="info",
    ),
    "invalid_request_error": Translation(
        "My voice service would not take that. Could you put it another way?",
        True,
        recovery=Recovery.TELL,
        level="error",
    ),
    "server_error": Translation(
        "Something went wrong on my side. I'm trying again.",
        True,
        "Auto-retry",
        recovery=Recovery.RETRY,
        waits=_QUICK,
        said_at=2,
        last="I couldn't answer that: my voice service fails at the moment. "
        "Please ask me again in a while.",
    ),
    "engine_error": Translation(
        "I lost my thread. I'm trying again.",
        True,
        "Auto-retry",
        recovery=Recovery.RETRY,
        waits=_QUICK,
        said_at=2,
        last="I couldn't answer that: my language model fails at the moment. "
        "Please ask me again in a while.",
    ),
    "content_filter": Translation(
        "I can't answer that one. Could you put it another way?",
        True,
        recovery=Recovery.TELL,
        level="info",
    ),
    "no_answer": Translation(
        "I got no answer from my voice service. I'm trying again.",
        True,
        "Auto-retry",
        recovery=Recovery.RETRY,
        waits=(0.0,),
        last="I'm getting no answer from my voice service. Please ask me again in a while.",
    ),
    "transcription_failed": Translation(
        # Whoever answers asks: the model is told that nothing was understood.
        "Sorry, I didn't catch that. Could you say that again?",
        True,
        recovery=Recovery.WAIT,
        level="info",
    ),
    "not_the_protocol": Translation("", True, recovery=Recovery.WAIT, level="info"),
    # The network and the machine
    "connection_failed": Translation(
        # Between us and the provider: nothing can be said while it is down.
        "I lost connection briefly. Reconnecting now.",
        True,
        "Auto-reconnect",
        recovery=Recovery.REATTACH,
        last="The connection to the voice service was lost and did not come back.",
        action="reconnect",
    ),
    "audio_device_error": Translation(
        "I'm having trouble with the microphone. Could you check your audio settings?",
        False,
        "User action required",
        recovery=Recovery.TELL,
    ),
}
"""The one table of faults (seed 000 §9), by code: a row of it answers for every fault that a
session can meet. `session/faults.py` acts on it, and `translate` reads the tools' part."""
_SAME = {
    "service_unavailable": "server_error",
    "internal_error": "server_error",
    "openai_error": "server_error",
    "response_failed": "server_error",
    "model_unavailable": "engine_error",
    "rate_limited": "rate_limit_exceeded",
    "rate_limit_error": "rate_limit_exceeded",
    "tokens": "rate_limit_exceeded",
    "string_above_max_length": "context_length_exceeded",
    "billing_hard_limit_reached": "insufficient_quota",
    "invalid_organization": "invalid_api_key",
}
"""Other names of the same, as providers and we have them."""


SAID = tuple(
    code for code, row in SPOKEN.items() if row.message and row.recovery is not Recovery.MODEL
)
"""Codes for which an agent may have words of its own."""


def is_known(code: str) -> bool:
    return code in SPOKEN or code in _SAME


def row_of(code: str) -> Translation:
    """The row of a code; one that nobody knows is taken for a passing fault of the provider."""
    if (found := SPOKEN.get(_SAME.get(code, code))) is not None:
        return found
    return SPOKEN["invalid_request_error" if code.startswith("invalid_") else "server_error"]


def name_of(row: Translation) -> str:
    """The code under which it stands."""
    return next(code for code, one in SPOKEN.items() if one is row)


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
