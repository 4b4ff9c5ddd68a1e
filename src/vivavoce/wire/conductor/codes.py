"""What can be wrong, by its code; and why a connection is closed, by its number."""

from __future__ import annotations

from enum import IntEnum
from typing import Literal

from vivavoce.wire.values import Value

ServerCode = Literal[
    "invalid_json",
    "invalid_event",
    "no_session",
    "empty_transcript",
    "no_pending_tool_call",
    "invalid_tool_call",
    "bedrock_error",
    "conductor_error",
    "handler_error",
]
INTERRUPTED = "audio.output.interrupted"


class Code(Value):
    """`again`: does the same event help, sent once more after a while?"""

    source: Literal["server", "client"]
    means: str
    again: bool = False


CODES: dict[str, Code] = {
    "invalid_json": Code("server", "The message is no JSON text. It was dropped."),
    "invalid_event": Code(
        "server",
        "The event is not as the schema has it, of an unknown kind, or not for a runtime to send. "
        "It was dropped.",
    ),
    "no_session": Code(
        "server",
        "No `sessionStart` came before it, or the session is not yours; then the connection is "
        "closed with 4404.",
    ),
    "empty_transcript": Code("server", "There is nothing in the transcript. It was dropped."),
    "no_pending_tool_call": Code(
        "server", "No such call waits for a result: it never was, or has one, or was given up."
    ),
    "invalid_tool_call": Code(
        "server", "The model called a tool as it cannot be called. The model was told."
    ),
    "bedrock_error": Code(
        "server", "The model failed. The server has tried again where that helps.", again=True
    ),
    "conductor_error": Code(
        "server", "The conductor could not do it: no room, a limit, no store.", again=True
    ),
    "handler_error": Code("server", "A fault of the server's own. It is in its log.", again=True),
    "ws_error": Code("client", "The connection failed."),
    "ws_connect_failed": Code("client", "The first connection could not be made."),
    "ws_send_failed": Code("client", "An event could not be sent."),
    "decode_error": Code("client", "An event of the server's could not be read."),
    "reconnect_failed": Code("client", "All tries to connect again failed."),
    INTERRUPTED: Code("client", "The user spoke while the assistant was speaking."),
}


class Close(IntEnum):
    """Why the server closed. Whether to connect again: `RECONNECT`."""

    LEFT = 1000
    PROTOCOL = 1008
    TOO_BIG = 1009
    RESTART = 1012
    BUSY = 1013
    UNAUTHENTICATED = 4401
    FORBIDDEN = 4403
    NOT_YOURS = 4404
    NO_START = 4408
    TAKEN_OVER = 4409


CLOSES: dict[int, str] = {
    Close.LEFT: "The runtime left.",
    Close.PROTOCOL: "The runtime does not keep to the protocol, over and over.",
    Close.TOO_BIG: "A message was too large.",
    Close.RESTART: "The server restarts.",
    Close.BUSY: "The server has no room now, or the runtime reads too slowly.",
    Close.UNAUTHENTICATED: "Nobody is known by that key, or the key has expired.",
    Close.FORBIDDEN: "The origin or the host may not, or the key may not.",
    Close.NOT_YOURS: "The session is not yours.",
    Close.NO_START: "No `sessionStart` came in time.",
    Close.TAKEN_OVER: "A newer connection has the session.",
}
BROKEN: dict[int, str] = {
    1001: "The server went away.",
    1006: "The line broke; nothing was said.",
    1011: "The connection failed at the server.",
}
"""What nobody decided."""
RECONNECT = frozenset({Close.RESTART, Close.BUSY, *BROKEN})
"""After these the runtime connects again."""
