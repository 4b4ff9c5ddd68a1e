"""What an app is told: each change of the connection, the talk, the tools and what is shown."""

from __future__ import annotations

from typing import Any, Literal, assert_never

from vivavoce.wire.values import Value

ConnectionState = Literal["connecting", "connected", "waiting", "local", "closed"]
"""`waiting` for the next try; `local`: no server, the app's own stub answers."""
PhaseState = Literal["listening", "thinking", "speaking", "idle"]


class Connection(Value):
    """`attempt` counts tries to come back, from 1; 0 is the first connection. `seconds`: how long
    it waits. `code` and `reason`: why it is closed, a close code or a status of HTTP."""

    state: ConnectionState
    attempt: int = 0
    seconds: float = 0
    code: int | None = None
    reason: str = ""


class Phase(Value):
    """What the assistant does."""

    state: PhaseState


class Speech(Value):
    """What the assistant says so far, all of it; with `final`, what it says."""

    text: str
    final: bool


class Speaking(Value):
    """This begins to be spoken, or is to be shown where the app has no voice: all of what the
    assistant says, or a part of it. It comes even where the line broke and `Speech` was lost."""

    call_id: str
    text: str


class Document(Value):
    """What is shown beside the talk, after a change."""

    document: Any


class Called(Value):
    """A tool of the app begins. `arguments` is JSON."""

    call_id: str
    name: str
    arguments: str


class Returned(Value):
    """It has ended: `result` is JSON, or `error` says why there is none."""

    call_id: str
    name: str
    result: str | None
    error: str | None


class Repeated(Value):
    """The server asked for a call once more. It was not run again: it has the result it had."""

    call_id: str


class Interrupted(Value):
    """The user spoke while the assistant was speaking."""

    call_id: str | None
    position_ms: int | None
    position_characters: int | None


class Fault(Value):
    """`code` is one of the protocol's fifteen, or a newer one of a server's."""

    code: str
    message: str
    source: Literal["server", "client"]


class Missed(Value):
    """So many were not read in time, and are gone. How things stand, the client still knows."""

    count: int


Seen = (
    Connection
    | Phase
    | Speech
    | Speaking
    | Document
    | Called
    | Returned
    | Repeated
    | Interrupted
    | Fault
    | Missed
)


def as_json(one: Seen) -> dict[str, Any]:
    """As the client in TypeScript has it, and the shared exchanges."""
    match one:
        case Connection(state, attempt, seconds, code, reason):
            return {"connection": state, "attempt": attempt, "seconds": seconds,
                    "code": code, "reason": reason}  # fmt: skip
        case Phase(state):
            return {"phase": state}
        case Speech(text, final):
            return {"speech": text, "final": final}
        case Speaking(call_id, text):
            return {"speaking": call_id, "text": text}
        case Document(document):
            return {"document": document}
        case Called(call_id, name, arguments):
            return {"called": call_id, "name": name, "arguments": arguments}
        case Returned(call_id, name, result, error):
            return {"returned": call_id, "name": name, "result": result, "error": error}
        case Repeated(call_id):
            return {"repeated": call_id}
        case Interrupted(call_id, ms, characters):
            return {"interrupted": call_id, "positionMs": ms, "positionCharacters": characters}
        case Fault(code, message, source):
            return {"fault": code, "message": message, "source": source}
        case Missed(count):
            return {"missed": count}
        case _:
            assert_never(one)
