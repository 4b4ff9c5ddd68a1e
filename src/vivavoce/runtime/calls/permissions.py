"""May this call run? Rules by tool and argument, and where they say so, the user's yes.

Every call passes here, whoever asks: the model, `/execute`, the webhook, an
MCP host, delegated work. The first rule that fits decides. Without one, what
changes nothing is allowed, and what changes something is as `changes` says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from vivavoce.errors import Forbidden, VivavoceError
from vivavoce.runtime.agents.work import Permissions
from vivavoce.runtime.calls.approvals import Approvals, Concern
from vivavoce.runtime.ports import ToolDefinition
from vivavoce.wire.clean import clean_line
from vivavoce.wire.records.talk import Origin, ToolCall
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
        verdict = await self._verdict(
            call,
            call.tool,
            arguments,
            description,
            changes=definition.changes,
            origin=call.origin,
            call_id=call.id,
            task_id=task_id,
        )
        if verdict == "allow":
            return None
        who = "policy does" if verdict == "deny" else "user did"
        return NotPermitted(f"The {who} not allow this call of '{call.tool}'.")

    async def permitted(
        self, tool: str, arguments: Mapping[str, Any], question: str, task: Task
    ) -> bool:
        """For what an agent does with tools of its own; they are taken to change things."""
        asked = question or f"Use {tool}"
        verdict = await self._verdict(
            task, tool, arguments, asked, changes=True, origin="task", task_id=task.id
        )
        return verdict == "allow"

    async def _verdict(
        self,
        about: Concern,
        tool: str,
        arguments: Mapping[str, Any],
        description: str,
        *,
        changes: bool,
        origin: Origin,
        call_id: str | None = None,
        task_id: str | None = None,
    ) -> Literal["allow", "deny", "refused"]:
        """The policy's, or the user's where it says so."""
        auto = self._auto_approve(about.session_id)
        decision = self._permissions.decide(
            tool, arguments, changes=changes, origin=origin, auto_approve=auto
        )
        if decision != "ask":
            return decision
        granted = await self._approvals.ask(
            about,
            tool,
            arguments,
            _question(description),
            timeout=self._permissions.timeout_seconds,
            call_id=call_id,
            task_id=task_id,
        )
        return "allow" if granted else "refused"


def _question(description: str) -> str:
    """ "Running pytest -q" becomes a question that can be answered with yes or no."""
    shown = clean_line(description, _SHOWN)
    # Who only listens must know that this is not all of it.
    cut = "\u2026" in shown or len(clean_line(description, 4 * _SHOWN)) > len(shown)
    rest = ", and more that is on the screen" if cut else ""
    return f"May I do this: {shown}{rest}? Please say yes or no."
