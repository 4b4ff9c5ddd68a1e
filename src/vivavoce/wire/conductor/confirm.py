"""`ui.confirm`: the user's yes or no by hand, at a runtime that offers a tool of that name.

    toolCall   {"approvalId": "apr_7", "question": "… Yes or no?", "card": "approval:apr_7"}
    toolResult {"approvalId": "apr_7", "approved": true}

No model sees this tool. A click counts like the page's, and only what is plainly one counts: a
yes is `approved`, true and nothing like it, for the request that was asked about, from the user who
was asked. Whatever else comes back decides nothing; the question stays, by voice and elsewhere.
"""

from __future__ import annotations

from typing import Literal

import orjson

from vivavoce.wire.conductor.kinds import CONFIRM, Confirm, ToolCall, ToolResult
from vivavoce.wire.records.work import Reach
from vivavoce.wire.values import Value

CALL = "confirm-"
"""What the ids of these calls begin with."""
_REACHES: tuple[Reach, ...] = ("once", "session", "always")


class Asked(Value):
    """A request that the user may answer by hand."""

    approval_id: str
    user_id: str
    question: str

    @property
    def call_id(self) -> str:
        """The same after a reconnect: a runtime that has shown it does not show it twice."""
        return f"{CALL}{self.approval_id}"


class Click(Value):
    """`reach` is how far a yes goes, as of `POST /approvals/{id}`."""

    granted: bool
    reach: Reach = "once"


Nothing = Literal["failed", "unclear", "another request", "another user"]
"""Why a result decides nothing."""


def call_of(asked: Asked) -> ToolCall:
    told = Confirm(
        approval_id=asked.approval_id,
        question=asked.question,
        card=f"approval:{asked.approval_id}",
    )
    arguments = told.model_dump_json(by_alias=True)
    return ToolCall(call_id=asked.call_id, name=CONFIRM, arguments=arguments)


def meant(asked: Asked, result: ToolResult, user_id: str) -> Click | Nothing:
    """What a result says. `user_id` is of whoever is at the connection that it came on."""
    if user_id != asked.user_id:
        return "another user"
    if result.call_id != asked.call_id:
        return "another request"
    if result.error is not None:
        return "failed"
    told = orjson.loads(result.result or "null")
    if not isinstance(told, dict):
        return "unclear"
    if told.get("approvalId") != asked.approval_id:
        return "another request"
    reach = "once" if told.get("reach") is None else told["reach"]
    if told.get("approved") is False:
        return Click(granted=False)
    if told.get("approved") is not True or reach not in _REACHES:
        return "unclear"
    return Click(granted=True, reach=reach)
