"""A plug-in for Vivavoce: one tool, made from a function."""

from typing import Annotated

from pydantic import Field

from vivavoce.errors import ToolFailed
from vivavoce.runtime.ports import ToolContext, ToolExample
from vivavoce.tools import tool

DEGREES = {"kitchen": 21, "cellar": 12}


@tool(
    category="home",
    timeout=10,
    examples=[ToolExample("Is it warm in the kitchen?", {"room": "kitchen"}, "21 degrees")],
    describe=lambda given: f"Looking at the thermometer in the {given['room']}",
)
async def temperature(
    room: Annotated[str, Field(description="Which room, such as kitchen")],
    context: ToolContext,
) -> str:
    """How warm a room is now."""
    await context.report("Asking the thermometer", 50)
    if room not in DEGREES:
        raise ToolFailed(f"there is no thermometer in the {room}.")
    return f"{DEGREES[room]} degrees"
