"""The intent tools as a registry of tools takes them: definition, handler, words while it runs.

Submitting needs no approval: the user has just said it, and it can be taken back. So
none of them counts as a change; a call that is run again after a crash finds its
own intent, and nothing is doubled.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from vivavoce.intents.registry.intents import AMEND, RETRACT
from vivavoce.intents.service import IntentService
from vivavoce.runtime.ports import ToolContext, ToolDefinition, ToolExample

CATEGORY = "intents"

_AFTER = "Only after another tool has done something."
"""The line by which a small brain knows that there is nothing to correct before."""

Handler = Callable[[Mapping[str, Any], ToolContext], Awaitable[str]]
IntentTool = tuple[ToolDefinition, Handler, Callable[[Mapping[str, Any]], str]]
"""As `Registry.register` takes one: its definition, its handler, and words while it runs."""

_ID = {
    "type": "string",
    "maxLength": 64,
    "description": "The intent_id of the submission; leave it out for the latest one",
}


def intent_tools(
    service: IntentService, submitting: Sequence[ToolDefinition], *, patience: float = 0.0
) -> list[IntentTool]:
    """Those of the agent's intents, and the two that correct. `patience`: how long a backend may
    take, which a tool's own time has to exceed."""
    if not submitting:
        return []
    made: list[IntentTool] = [
        *(_submitting(service, definition) for definition in submitting),
        (amend_definition(), service.amend, lambda given: "Changing what was submitted"),
        (retract_definition(), service.retract, lambda given: "Taking back what was submitted"),
    ]
    least = patience + 10.0
    return [(replace(d, timeout=max(d.timeout, least)), run, told) for d, run, told in made]


def _submitting(service: IntentService, definition: ToolDefinition) -> IntentTool:
    async def submit(arguments: Mapping[str, Any], context: ToolContext) -> str:
        return await service.submit(definition.name, arguments, context)

    shown = definition.name.removeprefix("submit_").removesuffix("_intent").replace("_", " ")
    return definition, submit, lambda given: f"Submitting: {shown}"


def amend_definition() -> ToolDefinition:
    """Either `changes`, or one `field` and its `value`, which small models write more surely."""
    return ToolDefinition(
        name=AMEND,
        description=(
            "Change what was already submitted, when the user corrects it afterwards. Never "
            f"submit it a second time instead.\n{_AFTER}"
        ),
        parameters={
            "type": "object",
            "properties": {
                "field": {
                    "type": "string",
                    "maxLength": 64,
                    "description": "The parameter that changes, by the name it was submitted with",
                },
                "value": {
                    "type": ["string", "number", "boolean"],
                    "description": "Its new value, in the user's words",
                },
                "changes": {
                    "type": "object",
                    "description": "For several parameters at once: names and new values",
                },
                "intent_id": _ID,
            },
            "additionalProperties": False,
        },
        category=CATEGORY,
        timeout=30.0,
        examples=(
            ToolExample(
                "No, Saturday!", {"field": "scheduled_at", "value": "Saturday"}, "accepted"
            ),
        ),
    )


def retract_definition() -> ToolDefinition:
    return ToolDefinition(
        name=RETRACT,
        description=(
            "Take back what was already submitted, when the user does not want it any more.\n"
            f"{_AFTER}"
        ),
        parameters={
            "type": "object",
            "properties": {
                "intent_id": _ID,
                "reason": {"type": "string", "maxLength": 300, "description": "If the user said"},
            },
            "additionalProperties": False,
        },
        category=CATEGORY,
        timeout=30.0,
        examples=(ToolExample("Forget that reminder.", {}, "retracted"),),
    )
