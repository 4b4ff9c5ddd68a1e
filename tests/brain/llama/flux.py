"""Tools that leave times, places and ids to the user, for the tests beside this."""

from __future__ import annotations

from vivavoce.wire.brain import Ask, Tool, Turn

_STRING = {"type": "string"}
TASK = Tool(
    "add_task",
    "Adds a task.\n"
    "From the user's words: due (time, if kind is timed); spot (place, if kind is placed); "
    'rule (repeat, asked for)\nExample: "Feed the cat at six." {"title": "Feed the cat"}',
    {
        "type": "object",
        "properties": {
            "title": _STRING,
            "kind": {"type": "string", "enum": ["timed", "placed"]},
            "due": _STRING,
            "rule": _STRING,
            "spot": _STRING,
        },
        "required": ["title", "kind"],
    },
)
GOAL = Tool(
    "add_goal",
    "Adds a goal.\nFrom the user's words: until (time, asked for)",
    {
        "type": "object",
        "properties": {"goal": _STRING, "until": _STRING},
        "required": ["goal"],
    },
)
MOVE = Tool(
    "move_task",
    "Moves a task.\nFrom the user's words: to (time, asked for)",
    {
        "type": "object",
        "properties": {"task_id": _STRING, "to": _STRING},
        "required": ["task_id"],
    },
)
TOOLS = (TASK, GOAL, MOVE)
GYM, FOOD = "5f0c9a4e-6f0e-4f5e-9a57-3a1c6e3d7b10", "b1d7f3a2-08c4-4a7b-8f7e-92d4c5a6e011"
CONTEXT = (
    "Be kind.\n\n## Current Context\nDate: today\n"
    f"Today's active tasks:\n- Gym session, today at 6:00 PM (id: {GYM})\n"
    f"- Buy groceries, today at 5:00 PM (id: {FOOD})"
)


def asked(*turns: Turn, instructions: str = CONTEXT, tool_choice: str = "auto") -> Ask:
    return Ask(instructions, turns, TOOLS, tool_choice=tool_choice)
