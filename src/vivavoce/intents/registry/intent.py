"""What an intent is, once its file was read: parameters, examples, and how arguments are checked.

Values, and pure functions of them. What the file looks like is `registry_file`'s;
what happens with a checked payload is the service's.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from vivavoce.errors import InvalidArguments
from vivavoce.intents.registry.model import payload_model, wrong
from vivavoce.intents.registry.schema import described, schema
from vivavoce.runtime.ports import ToolDefinition, ToolExample

Kind = Literal["string", "integer", "number", "boolean", "array"]
Value = str | int | float | bool
TIMEOUT = 30.0

PLACEHOLDERS = frozenset(
    ["null", "none", "nil", "n/a", "na", "unknown", "undefined", "unspecified", "tbd", "string",
     "missing", "empty", "not specified", "not provided", "not given", "to be determined"]
)  # fmt: skip
"""What models write where they have nothing to write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One slot of an intent."""

    name: str
    type: Kind = "string"
    description: str = ""
    required: bool = False
    required_when: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    """Required where each of these parameters has one of these values."""
    enum: tuple[str, ...] = ()
    min_length: int | None = None
    """Of a string in characters, of an array in items; `enum` is of its items too."""
    max_length: int | None = None
    pattern: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    grounded: bool = False
    """Its value must come from what the user said."""
    kind: Literal["time", "place", "repeat"] | None = None
    """What sort of words it is filled from."""
    ask: bool = False
    """Not required, and still worth one question."""
    question: str | None = None
    """How it is asked for: a small brain takes it word for word."""

    def needed(self, arguments: Mapping[str, Any]) -> bool:
        if self.required or not self.required_when:
            return self.required
        return all(arguments.get(name) in values for name, values in self.required_when.items())

    def tidy(self, value: Any) -> Any:
        """The value without what models put around it; None where there is nothing in it."""
        if isinstance(value, str):
            text = value.strip()
            if self.enum:
                text = next((one for one in self.enum if one.casefold() == text.casefold()), text)
            elif text.casefold() in PLACEHOLDERS:
                return None
            return text if any(unicodedata.category(c)[0] in "LNS" for c in text) else None
        if self.type == "array" and isinstance(value, list):
            return [one.strip() if isinstance(one, str) else one for one in value] or None
        if self.type == "integer" and isinstance(value, float) and value.is_integer():
            return int(value)  # 3.0 is an integer in JSON
        return value


@dataclass(frozen=True, slots=True)
class Example:
    """What leads to a call: the user's words, or a talk that begins and ends with them."""

    talk: tuple[str, ...]
    arguments: Mapping[str, Any]
    done: str = ""
    """How it is confirmed."""

    @property
    def said(self) -> str | None:
        """Where it takes only one sentence."""
        return self.talk[0] if len(self.talk) == 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentDefinition:
    """One intent of `intents.yaml`, and the Pydantic model made of it."""

    name: str
    route: str
    description: str
    parameters: tuple[Parameter, ...] = ()
    examples: tuple[Example, ...] = ()
    url: str | None = None
    """Who acts on it, instead of the agent's orchestrator."""
    model: type[BaseModel] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Raises `ValueError` for a pattern that is none."""
        object.__setattr__(self, "model", payload_model(self.name, self.parameters))

    def parameter(self, name: str) -> Parameter | None:
        return next((one for one in self.parameters if one.name == name), None)

    @property
    def required(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.parameters if one.required)

    def missing(self, arguments: Mapping[str, Any]) -> tuple[Parameter, ...]:
        """What is needed and has no value, in the order of the file."""
        given = self._tidy(arguments)
        return tuple(p for p in self.parameters if p.needed(given) and p.name not in given)

    def check(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The validated payload, without what is not there.

        Raises `InvalidArguments` with words for the model, so that it asks for just that.
        """
        if not isinstance(arguments, Mapping):
            raise InvalidArguments(
                f"The arguments for tool '{self.name}' must be a JSON object", tool=self.name
            )
        missing = self.missing(arguments)
        if missing:
            raise InvalidArguments(
                _ask_for(self.name, missing),
                tool=self.name,
                missing_params=[one.name for one in missing],
            )
        try:
            checked = self.model.model_validate(self._tidy(arguments))
        except ValidationError as exc:
            raise InvalidArguments(wrong(self.name, exc), tool=self.name) from None
        return checked.model_dump(exclude_none=True)

    def tool(self) -> ToolDefinition:
        """As the model is given it.

        Not marked as changing anything: what it submits the user has just asked for, and a
        second run of the same call finds the first.
        """
        return ToolDefinition(
            name=self.name,
            description=described(self.description, self.parameters),
            parameters=schema(self.parameters),
            category="intents",
            timeout=TIMEOUT,
            examples=tuple(
                ToolExample('" "'.join(one.talk), one.arguments, "", one.done)
                for one in self.examples
            ),
        )

    def _tidy(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        known = {one.name: one for one in self.parameters}
        tidied = {
            str(name): known[name].tidy(value) if name in known else value
            for name, value in arguments.items()
        }
        return {name: value for name, value in tidied.items() if value is not None}


def _ask_for(tool: str, missing: tuple[Parameter, ...]) -> str:
    several = "s" if len(missing) > 1 else ""
    names = ", ".join(f"'{one.name}'" for one in missing)
    first = missing[0]
    about = f" ({first.description.rstrip('.')[:160]})" if first.description else ""
    return (
        f"Nothing was submitted: missing required parameter{several} {names} for tool '{tool}'. "
        f"Ask the user for '{first.name}'{about}; never make it up."
    )
