"""The server's side of a talk with the Flux agent, without a server.

What the model calls is checked as the product checks it (`intents.checking`:
the schema with its conditions, then whether the user said it). What passes is
submitted and counted; what does not goes back to the model as an error.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from bench.intents.dialogues import MOVE, Open
from vivavoce.errors import IntentRefused, InvalidArguments, ToolFailed, VivavoceError, translate
from vivavoce.intents.checking import checked, grounds
from vivavoce.intents.records import same_payload
from vivavoce.intents.registry.intents import AMEND, RETRACT, IntentRegistry, load_intents
from vivavoce.intents.service import AMENDING, RETRACTING
from vivavoce.session.context import Situation
from vivavoce.session.context import instructions as instructed
from vivavoce.wire.brain import Tool
from vivavoce.wire.records.talk import Entry, Kind

AGENT = Path(__file__).parents[2] / "agents" / "flux"
NOW = datetime(2026, 3, 2, 9, 15, tzinfo=UTC)  # a Monday


@cache
def registry() -> IntentRegistry:
    return load_intents(AGENT)


@cache
def tools() -> tuple[Tool, ...]:
    given = [*registry().tools(), AMENDING, RETRACTING]
    return tuple(Tool(one.name, one.described, one.parameters) for one in given)


@cache
def _prompt() -> str:
    return (AGENT / "prompt.md").read_text()


def instructions(tasks: Sequence[Open]) -> str:
    """As the server sends them: the agent's prompt, then what it knows (`runtime.people`)."""
    lines = ["The user's name: Ada", "Today's active tasks: none"]
    if tasks:
        lines[1:] = ["Today's active tasks:"]
        lines += [f"- {task.title}, today at {task.at} (id: {task.id})" for task in tasks]
    return instructed(_prompt(), Situation(now=NOW, about_user=tuple(lines)))


@dataclass
class Submitted:
    name: str
    arguments: dict[str, Any]
    id: str
    retracted: bool = False


@dataclass
class World:
    """One talk: what was said, what is there, what was submitted."""

    tasks: Sequence[Open]
    submitted: list[Submitted] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    corrected: int = 0
    """How often something submitted was changed or taken back."""
    invented: int = 0
    missing: int = 0
    """Submissions that went through without something required: none, or the checks are broken."""
    entries: list[Entry] = field(default_factory=list)

    @property
    def standing(self) -> list[Submitted]:
        return [one for one in self.submitted if not one.retracted]

    def hear(self, text: str) -> None:
        self._entry(Kind.USER, text)

    def say(self, text: str) -> None:
        self._entry(Kind.ASSISTANT, text)

    def _entry(self, kind: Kind, text: str) -> None:
        at = len(self.entries) + 1
        self.entries.append(
            Entry(
                id=str(at), conversation_id="c", user_id="u", kind=kind, text=text,
                created_at=NOW, ordinal=at,
            )
        )  # fmt: skip

    def call(self, name: str, arguments: str) -> str:
        """The result that the model is told."""
        try:
            given = json.loads(arguments)
            if name == AMEND:
                return self._amend(given)
            if name == RETRACT:
                return self._retract()
            return self._submit(name, given)
        except (VivavoceError, ValueError) as fault:
            self.refused.append(f"{name} {arguments}: {fault}")
            told = translate(fault)
            return json.dumps(
                {
                    "success": False,
                    "error": told.message,
                    "recoverable": told.recoverable,
                    "suggestion": told.suggestion,
                }
            )

    def _submit(self, name: str, given: Mapping[str, Any]) -> str:
        definition = registry().get(name)
        if definition is None:
            raise ToolFailed("There is no such tool")
        payload = checked(definition, given, grounds(self.entries)).payload
        if name == MOVE and payload["task_id"] not in self._known():
            self.invented += 1
            raise IntentRefused("There is no such task", suggestion="Ask which task is meant")
        for one in self.standing:
            if one.name == name and same_payload(one.arguments, payload):
                return self._answer(one, already=True)
        self.missing += bool(definition.missing(payload))
        self.submitted.append(Submitted(name, payload, str(uuid.uuid4())))
        return self._answer(self.submitted[-1])

    def _amend(self, given: Mapping[str, Any]) -> str:
        last = self._last()
        definition = registry().get(last.name)
        changes = dict(given.get("changes") or {})
        if given.get("field"):
            changes[str(given["field"])] = given.get("value")
        if definition is None or not changes:
            raise InvalidArguments("Nothing was named to change", missing_params=["changes"])
        words = grounds(self.entries)
        last.arguments = checked(definition, last.arguments | changes, words, only=changes).payload
        self.corrected += 1
        return self._answer(last)

    def _retract(self) -> str:
        last = self._last()
        last.retracted = True
        self.corrected += 1
        return json.dumps({"status": "retracted", "intent_id": last.id})

    def _last(self) -> Submitted:
        if not self.standing:
            raise IntentRefused(
                "Nothing was submitted in this conversation that could be changed",
                suggestion="Ask what to change, or submit it new",
            )
        return self.standing[-1]

    def _answer(self, one: Submitted, **more: Any) -> str:
        kind = "goal_id" if "goal" in one.name else "task_id"
        return json.dumps({"status": "accepted", kind: one.id, **more})

    def _known(self) -> set[str]:
        return {task.id for task in self.tasks} | {one.id for one in self.submitted}
