"""Between the check of a call and its run: the policy, and where it says so, the user's yes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vivavoce.errors import Forbidden, VivavoceError
from vivavoce.runtime.calls.approvals import Approvals, Wanted
from vivavoce.runtime.calls.permissions import Permissions
from vivavoce.runtime.ports import ToolDefinition
from vivavoce.wire.clean import clean_line
from vivavoce.wire.records.talk import ToolCall
from vivavoce.wire.records.work import Task

_SHOWN = 120  # characters of what a call is about to do, in the question


class NotPermitted(Forbidden):
    """The policy forbids it, or the user did not say yes."""


class Gatekeeper:
    """One policy for every way in."""

    def __init__(
        self,
        permissions: Permissions,
        approvals: Approvals,
        *,
        auto_approve: Callable[[str | None], bool] = lambda session_id: False,
    ) -> None:
        self._permissions, self._approvals = permissions, approvals
        self._auto_approve = auto_approve

    async def admit(
        self,
        call: ToolCall,
        definition: ToolDefinition,
        arguments: Mapping[str, Any],
        description: str,
        task_id: str | None,
    ) -> VivavoceError | None:
        """None: it may run."""
        decision = self._permissions.decide(
            call.tool,
            arguments,
            changes=definition.changes,
            origin=call.origin,
            auto_approve=self._auto_approve(call.session_id),
        )
        if decision == "allow":
            return None
        if decision == "deny":
            return NotPermitted(f"The policy does not allow this call of '{call.tool}'.")
        wanted = Wanted(
            user_id=call.user_id,
            tool=call.tool,
            arguments=arguments,
            question=_question(description),
            timeout=self._permissions.timeout,
            session_id=call.session_id,
            conversation_id=call.conversation_id,
            call_id=call.id,
            task_id=task_id,
        )
        if await self._approvals.ask(wanted):
            return None
        return NotPermitted(f"The user did not allow this call of '{call.tool}'.")

    async def permitted(
        self, tool: str, arguments: Mapping[str, Any], question: str, task: Task
    ) -> bool:
        """For what an agent does with tools of its own; they are taken to change things."""
        decision = self._permissions.decide(
            tool,
            arguments,
            changes=True,
            origin="task",
            auto_approve=self._auto_approve(task.session_id),
        )
        if decision != "ask":
            return decision == "allow"
        return await self._approvals.ask(
            Wanted(
                user_id=task.user_id,
                tool=tool,
                arguments=arguments,
                question=_question(question or f"Use {tool}"),
                timeout=self._permissions.timeout,
                session_id=task.session_id,
                conversation_id=task.conversation_id,
                task_id=task.id,
            )
        )


def _question(description: str) -> str:
    """ "Running pytest -q" becomes a question that can be answered with yes or no."""
    shown = clean_line(description, _SHOWN)
    # Who only listens must know that this is not all of it.
    cut = "\u2026" in shown or len(clean_line(description, 4 * _SHOWN)) > len(shown)
    rest = ", and more that is on the screen" if cut else ""
    return f"May I do this: {shown}{rest}? Please say yes or no."
