"""A server on the official SDK, for both generations: `helper.py stdio` or `helper.py PORT`."""

from __future__ import annotations

import base64
import sys
from typing import Annotated, Literal

from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve
from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field

server = MCPServer("helper", log_level="ERROR")
DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


class Table(BaseModel):
    guests: int = Field(description="For how many?", ge=1, le=12)
    place: Literal["inside", "garden"]


def which_table() -> Elicit[Table]:
    return Elicit("Which table would you like?", Table)


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> int:
    """The sum of two numbers."""
    return a + b


@server.tool()
def book(day: str, table: Annotated[Table, Resolve(which_table)]) -> str:
    """Book a table at the restaurant."""
    return f"Booked for {table.guests} in the {table.place} on {day}"


@server.tool()
async def count(upto: int, ctx: Context) -> str:
    """Count, and tell how far it is."""
    for at in range(1, upto + 1):
        await ctx.report_progress(at, upto, f"{at} of {upto} counted")
    return "counted"


@server.tool()
def dot() -> Image:
    """A picture of a dot."""
    return Image(data=DOT, format="png")


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("the oven is cold")


@server.tool()
async def grow(ctx: Context) -> str:
    """Learn one more tool."""
    server.add_tool(add, name="added", description="The sum, once more.")
    await ctx.notify_tools_changed()
    await ctx.request_context.session.send_tool_list_changed()
    return "grown"


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run("stdio")
    else:
        server.run("streamable-http", port=int(sys.argv[1]))
