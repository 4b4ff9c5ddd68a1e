"""`read_output`: the rest of a result that was too long to be told whole."""

from __future__ import annotations

from typing import Annotated, Protocol

from pydantic import Field

from vivavoce.errors import ToolFailed
from vivavoce.runtime.ports import ToolContext, ToolExample
from vivavoce.tools.functions import Tool, tool
from vivavoce.wire.records.talk import ToolCall

MOST_LINES = 200
MOST_CHARACTERS = 3_500  # with room for the heading, within what a model gets


class Calls(Protocol):
    """What is read of the store: a user's own calls only."""

    async def tool_call(self, call_id: str, *, user_id: str) -> ToolCall | None: ...


def read_output_tool(calls: Calls) -> Tool:
    @tool(
        category="files",
        timeout=10,
        examples=[
            ToolExample(
                "Show me the next part.", {"call_id": "call_1", "from_line": 101}, "line 101 …"
            )
        ],
        describe=lambda given: f"Reading on from line {given.get('from_line', 1)}",
    )
    async def read_output(
        call_id: Annotated[str, Field(description="As the truncated result named it")],
        context: ToolContext,
        from_line: Annotated[int, Field(description="First line to read", ge=1)] = 1,
        lines: Annotated[int, Field(description="How many", ge=1, le=MOST_LINES)] = 100,
    ) -> str:
        """Read more of an earlier tool result that was truncated."""
        call = await calls.tool_call(call_id, user_id=context.user_id)
        if call is None and context.conversation_id is not None:
            scoped = f"{call_id}@{context.conversation_id}"
            call = await calls.tool_call(scoped, user_id=context.user_id)
        if call is None:
            raise ToolFailed(f"There is no result of a call '{call_id[:64]}'")
        whole = call.output.split("\n")
        part = "\n".join(whole[from_line - 1 : from_line - 1 + lines])[:MOST_CHARACTERS]
        if not part:
            return f"There are only {len(whole)} lines."
        last = from_line + part.count("\n")
        return f"Lines {from_line} to {last} of {len(whole)}:\n{part}"

    return read_output
