"""May this call run? Rules by tool and argument, decided without I/O.

Every call passes here, whoever asks: the model, `/execute`, the webhook, an
MCP host, delegated work. The first rule that fits decides. Without one, what
changes nothing is allowed, and what changes something is as `changes` says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal

from vivavoce.wire.records import Origin

Decision = Literal["allow", "ask", "deny"]
_LONGEST = 4_096
"""Characters of an argument that a pattern looks at. A longer one fits no pattern."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """`tool` is a name, with * and ?; `arguments` are patterns that must match as a whole.

    For a `deny` it is enough that a pattern is found anywhere: what is forbidden
    must not be let through by a word in front of it.
    """

    decision: Decision
    tool: str = "*"
    arguments: Mapping[str, str] = field(default_factory=dict)
    origins: frozenset[Origin] = frozenset()

    def fits(self, tool: str, arguments: Mapping[str, Any], origin: Origin) -> bool:
        if not fnmatchcase(tool, self.tool) or (self.origins and origin not in self.origins):
            return False
        return all(self._matches(arguments.get(name), p) for name, p in self.arguments.items())

    def _matches(self, value: object, pattern: str) -> bool:
        text = value if isinstance(value, str) else "" if value is None else str(value)
        if self.decision == "deny":
            return re.search(pattern, text[:_LONGEST]) is not None or len(text) > _LONGEST
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
        for rule in self.rules:
            if rule.fits(tool, arguments, origin):
                decision = rule.decision
                break
        return "allow" if decision == "ask" and auto_approve else decision
