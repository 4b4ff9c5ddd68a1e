"""What an intent is, once its file was read: its parameters, how arguments are checked, and how a
model is told of it.

Values, and pure functions of them. What the file looks like is `file`'s; what happens with a
checked payload is the service's.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StringConstraints,
    ValidationError,
    create_model,
)
from pydantic_core import SchemaError

from vivavoce.errors import InvalidArguments
from vivavoce.runtime.agents.work import Address
from vivavoce.runtime.ports import ToolDefinition, ToolExample
from vivavoce.wire.clean import clean_line

_TIMEOUT = 30.0

_PLACEHOLDERS = frozenset(
    ["null", "none", "nil", "n/a", "na", "unknown", "undefined", "unspecified", "tbd", "string",
     "missing", "empty", "not specified", "not provided", "not given", "to be determined"]
)  # fmt: skip
"""What models write where they have nothing to write."""
_LONGEST = 2_000
"""Characters of a string for which the file names no `max_length`."""
_MOST_ITEMS = 50
_LARGEST = 2**63 - 1
_TOLD = 3
_LONGEST_TOLD = 600
_TOLD_AS = {
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must have at least {min_length} items",
    "too_long": "must have at most {max_length} items",
    "string_pattern_mismatch": "must match {pattern}",
    "literal_error": "must be {expected}",
}
_USERS_WORDS = "From the user's words: "
"""The line by which a small brain knows what it must not make up."""
_ASK_FOR = "Ask for {}: "
"""And those by which it knows how to ask for it."""


_Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
_Sentence = Annotated[str, Field(min_length=1, max_length=300, pattern=r'^[^"\n]*$')]
"""They are shown to the model between quotation marks, in one line."""
_Prose = Annotated[
    str, Field(min_length=1, max_length=2000), AfterValidator(lambda text: " ".join(text.split()))
]
_Length = Annotated[StrictInt, Field(ge=0, le=100_000)]
_Bound = Annotated[float, Field(allow_inf_nan=False)]
Value = StrictBool | StrictInt | float | str


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Parameter(Part):
    """One slot of an intent."""

    name: _Name
    type: Literal["string", "integer", "number", "boolean", "array"] = "string"
    description: str = Field(default="", max_length=1000)
    required: StrictBool = False
    required_when: dict[str, Value | tuple[Value, ...]] = {}
    """Required where each of these parameters has this value, or one of these."""
    enum: tuple[Annotated[str, Field(min_length=1, max_length=200)], ...] | None = Field(
        default=None, min_length=1, max_length=200
    )
    min_length: _Length | None = None
    """Of a string in characters, of an array in items; `enum` is of its items too."""
    max_length: _Length | None = None
    pattern: str | None = Field(default=None, max_length=1000)
    minimum: _Bound | None = None
    maximum: _Bound | None = None
    grounded: StrictBool = False
    """Its value must come from what the user said."""
    kind: Literal["time", "place", "repeat"] | None = None
    """What sort of words it is filled from."""
    ask: StrictBool = False
    """Not required, and still worth one question."""
    question: str | None = Field(default=None, pattern=r"^[A-Z][^@<>{}`*#?_\"\n]{3,150}\?$")
    """How it is asked for: a small brain takes it word for word."""

    @property
    def conditions(self) -> dict[str, tuple[Value, ...]]:
        return {k: v if isinstance(v, tuple) else (v,) for k, v in self.required_when.items()}

    def needed(self, arguments: Mapping[str, Any]) -> bool:
        if self.required or not self.required_when:
            return self.required
        return all(arguments.get(name) in values for name, values in self.conditions.items())

    def tidy(self, value: Any) -> Any:
        """The value without what models put around it; None where there is nothing in it."""
        if isinstance(value, str):
            text = value.strip()
            if self.enum:
                text = next((one for one in self.enum if one.casefold() == text.casefold()), text)
            elif text.casefold() in _PLACEHOLDERS:
                return None
            return text if any(unicodedata.category(c)[0] in "LNS" for c in text) else None
        if self.type == "array" and isinstance(value, list):
            return [one.strip() if isinstance(one, str) else one for one in value] or None
        if self.type == "integer" and isinstance(value, float) and value.is_integer():
            return int(value)  # 3.0 is an integer in JSON
        return value


class Example(Part):
    """What leads to a call: the user's words, or a talk that begins and ends with them."""

    said: _Sentence | None = None
    talk: tuple[_Sentence, ...] | None = Field(default=None, min_length=1, max_length=15)
    arguments: dict[str, Any]
    done: _Sentence | None = None
    """How it is confirmed."""


class IntentDefinition(Part):
    """One intent of `intents.yaml`."""

    name: _Name
    route: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,63}$")
    description: _Prose
    parameters: tuple[Parameter, ...] = Field(default=(), max_length=64)
    examples: tuple[Example, ...] = Field(default=(), max_length=50)
    url: Address | None = None
    """Who acts on it, instead of the agent's orchestrator."""

    @cached_property
    def payload(self) -> type[BaseModel]:
        """Raises `ValueError` for a pattern that is none."""
        return payload_model(self.name, self.parameters)

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
            checked = self.payload.model_validate(self._tidy(arguments))
        except ValidationError as exc:
            raise InvalidArguments(_wrong(self.name, exc), tool=self.name) from None
        return checked.model_dump(exclude_none=True)

    def tool(self) -> ToolDefinition:
        """As the model is given it.

        Not marked as changing anything: what it submits the user has just asked for, and a
        second run of the same call finds the first.
        """
        return ToolDefinition(
            name=self.name,
            description=_described(self.description, self.parameters),
            parameters={
                "type": "object",
                "properties": {one.name: _property(one) for one in self.parameters},
                "required": list(self.required),
                "additionalProperties": False,
            },
            category="intents",
            timeout=_TIMEOUT,
            examples=tuple(
                ToolExample(
                    '" "'.join(one.talk or (one.said or "",)), one.arguments, "", one.done or ""
                )
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


# --- Checked: a strict Pydantic model of its parameters -----------------------------------
# "true" is no boolean and "3" no number. What is not in the file is refused.


def payload_model(name: str, parameters: Sequence[Parameter]) -> type[BaseModel]:
    """Raises `ValueError` for a pattern that is none."""
    fields: dict[str, Any] = {
        # By position and not by name: "schema" or "_x" would be in Pydantic's own way.
        f"p{at}": (
            _annotation(one) if one.required else _annotation(one) | None,
            Field(default=... if one.required else None, alias=one.name),
        )
        for at, one in enumerate(parameters)
    }
    config = ConfigDict(extra="forbid", strict=True, serialize_by_alias=True)
    try:
        return create_model(name, __config__=config, **fields)
    except SchemaError as exc:
        raise ValueError(str(exc).splitlines()[0]) from None


def _annotation(one: Parameter) -> Any:
    """Lengths, bounds and values as the file says them."""
    match one.type:
        case "string" if one.enum:
            return Literal.__getitem__(one.enum)
        case "string":
            limits = StringConstraints(
                min_length=one.min_length,
                max_length=one.max_length or _LONGEST,
                pattern=one.pattern,
            )
            return Annotated[str, limits]
        case "array":
            limits = StringConstraints(min_length=1, max_length=_LONGEST, pattern=one.pattern)
            item: Any = Literal.__getitem__(one.enum) if one.enum else Annotated[str, limits]
            items = Field(min_length=one.min_length, max_length=one.max_length or _MOST_ITEMS)
            return Annotated[list[item], items]
        case "boolean":
            return bool
        case "integer":
            least = -_LARGEST if one.minimum is None else one.minimum
            most = _LARGEST if one.maximum is None else one.maximum
            return Annotated[int, Field(ge=least, le=most)]
        case "number":
            bounds = Field(ge=one.minimum, le=one.maximum, allow_inf_nan=False)
            return Annotated[float, bounds]


def _wrong(tool: str, exc: ValidationError) -> str:
    """What a caller has to change, in a few lines at most."""
    errors = exc.errors(include_url=False)
    lines = dict.fromkeys(_one(error) for error in errors)
    return clean_line(
        f"Nothing was submitted by tool '{tool}': {'; '.join(list(lines)[:_TOLD])}", _LONGEST_TOLD
    )


def _one(error: Any) -> str:
    where = ".".join(str(part)[:64] for part in error["loc"][:2])
    if error["type"] == "extra_forbidden":
        return f"unknown parameter '{where}'"
    told = _TOLD_AS.get(error["type"])
    wanted = error["msg"].replace("Input should be", "must be")[:160]
    return f"parameter '{where}' {told.format(**error.get('ctx', {})) if told else wanted}"


# --- Told: a plain JSON Schema and a description ------------------------------------------
# No `if` and no `anyOf`: not every provider takes them. What is required only sometimes is told
# in words.


def _property(one: Parameter) -> dict[str, Any]:
    told: dict[str, Any] = {"type": one.type, "description": _words(one)}
    if one.type == "array":
        items: dict[str, Any] = {"type": "string"}
        told["items"] = items | _given(enum=one.enum and list(one.enum), pattern=one.pattern)
        return told | _given(minItems=one.min_length, maxItems=one.max_length)
    return told | _given(
        enum=one.enum and list(one.enum),
        minLength=one.min_length,
        maxLength=one.max_length,
        pattern=one.pattern,
        minimum=one.minimum,
        maximum=one.maximum,
    )


def _given(**bounds: Any) -> dict[str, Any]:
    return {name: value for name, value in bounds.items() if value is not None}


def _words(one: Parameter) -> str:
    conditions = " and ".join(
        f"{name} is {' or '.join(map(_said, values))}" for name, values in one.conditions.items()
    )
    needed = f"Required if {conditions}." if conditions else ""
    words = one.description.strip()
    if words and needed and words[-1] not in ".!?":
        words += "."
    return " ".join(part for part in (words, needed) if part)


def _said(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _described(description: str, parameters: Sequence[Parameter]) -> str:
    """With what the user has to have said, for brains that hold to it."""
    items = "; ".join(
        f"{one.name} ({one.kind}{_when(one)})" for one in parameters if one.grounded and one.kind
    )
    lines = [description, *([f"{_USERS_WORDS}{items}"] if items else [])]
    lines += [f'{_ASK_FOR.format(one.name)}"{one.question}"' for one in parameters if one.question]
    return "\n".join(lines)


def _when(one: Parameter) -> str:
    conditions = [(name, v) for name, values in one.conditions.items() for v in values]
    if len(conditions) == 1:
        return f", if {conditions[0][0]} is {_said(conditions[0][1])}"
    return ", asked for" if one.ask else ""
