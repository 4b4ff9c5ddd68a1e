"""A client of the conductor, for apps in Python: it talks with a server over `/conductor`, runs the
app's tools, and comes back when the line broke.

`Client` is all that most apps need; what it tells is in `core.seen`. `core` decides, without I/O;
`client` does.
"""

from vivavoce.conductor.client import Client
from vivavoce.conductor.core.seen import (
    Called,
    Connection,
    Document,
    Fault,
    Interrupted,
    Missed,
    Phase,
    Repeated,
    Returned,
    Seen,
    Speaking,
    Speech,
)
from vivavoce.conductor.memory import FileMemory, Memory
from vivavoce.conductor.tools import ClientTool, ToolError, tool

__all__ = [
    "Called",
    "Client",
    "ClientTool",
    "Connection",
    "Document",
    "Fault",
    "FileMemory",
    "Interrupted",
    "Memory",
    "Missed",
    "Phase",
    "Repeated",
    "Returned",
    "Seen",
    "Speaking",
    "Speech",
    "ToolError",
    "tool",
]
