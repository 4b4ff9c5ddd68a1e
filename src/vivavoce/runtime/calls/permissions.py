"""May this call run? Rules by tool and argument, and where they say so, the user's yes.

Every call passes here, whoever asks: the model, `/execute`, the webhook, an
MCP host, delegated work. The first rule that fits decides. Without one, what
changes nothing is allowed, and what changes something is as `changes` says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal

from vivavoce.errors import Forbidden, VivavoceError
from vivavoce.runtime.calls.approvals import Approvals, Concern, Wanted
from vivavoce.runtime.ports import ToolDefinition
from vivavoce.wire.clean import clean_line
from vivavoce.wire.records.talk import Origin, ToolCall
from vivavoce.wire.records.work import Task

_SHOWN = 120  # characters of what a call is about to do, in the question
Decision = Literal["allow", "ask", "deny"]
_LONGEST = 4_096
"""Characters of an argument that a pattern looks at. A longer one fits no pattern."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """`tool` is a name, with * and ?; `arguments` are patterns that must match as a whole.

    For a `deny` it is enough that a pattern is found anywhere: what is forbidden
    must not be let through by a word in front of it. Where that of an `ask` is found
    somewhere, a later `allow` is not enough.
    """

    decision: Decision
    tool: str = "*"
    arguments: Mapping[str, str] = field(default_factory=dict)
    origins: frozenset[Origin] = frozenset()

    def fits(self, tool: str, arguments: Mapping[str, Any], origin: Origin) -> bool:
        matches = _found if self.decision == "deny" else _whole
        return self._about(tool, origin) and self._all(matches, arguments)

    def touches(self, tool: str, arguments: Mapping[str, Any], origin: Origin) -> bool:
        """Is it about something that must be asked, among other things?"""
        asks = self.decision == "ask" and self._about(tool, origin)
        return asks and self._all(_found, arguments)

    def _about(self, tool: str, origin: Origin) -> bool:
        return fnmatchcase(tool, self.tool) and (not self.origins or origin in self.origins)

    def _all(self, matches: Callable[[str, str], bool], arguments: Mapping[str, Any]) -> bool:
        return all(matches(_text(arguments.get(name)), p) for name, p in self.arguments.items())


def _text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _found(text: str, pattern: str) -> bool:
    return re.search(pattern, text[:_LONGEST]) is not None or len(text) > _LONGEST


def _whole(text: str, pattern: str) -> bool:
    return len(text) <= _LONGEST and re.fullmatch(pattern, text) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Permissions:
    """An agent's policy. `timeout` seconds without a yes are a no."""

    rules: tuple[Rule, ...] = ()
    changes: Decision = "ask"
    timeout: float = 60.0

    def decide(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        changes: bool,
        origin: Origin,
        auto_approve: bool = False,
    ) -> Decision:
        """`auto_approve` is the user's own policy: whatever would be asked is allowed.
        What is denied stays denied."""
        decision: Decision = self.changes if changes else "allow"
        wary = False
        for rule in self.rules:
            if rule.fits(tool, arguments, origin):
                decision = rule.decision
                break
            wary = wary or rule.touches(tool, arguments, origin)
        if wary and decision == "allow":
            decision = "ask"
        return "allow" if decision == "ask" and auto_approve else decision


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
        match verdict:
            case "allow":
                return None
            case "deny":
                return NotPermitted(f"The policy does not allow this call of '{call.tool}'.")
            case "refused":
                return NotPermitted(f"The user did not allow this call of '{call.tool}'.")

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
        wanted = Wanted(
            user_id=about.user_id,
            tool=tool,
            arguments=arguments,
            question=_question(description),
            timeout=self._permissions.timeout,
            session_id=about.session_id,
            conversation_id=about.conversation_id,
            call_id=call_id,
            task_id=task_id,
        )
        return "allow" if await self._approvals.ask(wanted) else "refused"


def _question(description: str) -> str:
    """ "Running pytest -q" becomes a question that can be answered with yes or no."""
    shown = clean_line(description, _SHOWN)
    # Who only listens must know that this is not all of it.
    cut = "\u2026" in shown or len(clean_line(description, 4 * _SHOWN)) > len(shown)
    rest = ", and more that is on the screen" if cut else ""
    return f"May I do this: {shown}{rest}? Please say yes or no."
