"""What an intent is, once its file was read: its parameters, how arguments are checked, and how a
model is told of it: a schema and a description, and hints for a brain that is led (`wire.hints`).

Values, and pure functions of them. What the file looks like is `intents`'; what happens with a
checked payload is the service's.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
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
from vivavoce.wire.hints import KEY, Hint, Shown, Slot, SlotKind

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
_MOST_EXAMPLES = 3
"""In a description, which is read with every turn."""
_LONGEST_TOLD = 600
_TOLD_AS = {
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must have at least {min_length} items",
    "too_long": "must have at most {max_length} items",
    "string_pattern_mismatch": "must match {pattern}",
    "literal_error": "must be {expected}",
}


_Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
_Sentence = Annotated[str, Field(min_length=1, max_length=300, pattern=r'^[^"\n]*$')]
"""They are shown to the model between quotation marks, in one line."""
_Word = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,23}$")]
_Told = Annotated[str, Field(min_length=2, max_length=300, pattern=r"^([^{}\n]|\{[a-z_]+\})*$")]
"""Said aloud, with `{names}` of what is known."""
_Question = Annotated[
    str, Field(min_length=4, max_length=200, pattern=r"^([^{}\n]|\{[a-z_]+\})*\?$")
]
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
    slot: _Word | Literal[False] | None = None
    """What a led brain calls it, in one short word; None is its name, False that such a brain does
    without it."""
    kind: SlotKind | None = None
    """What sort of words it is filled from; None is by its type."""
    of: Literal["task", "goal"] | None = None
    """Of a `thing`: which kind."""
    many: StrictBool = False
    """Of a `thing`: several may be meant at once."""
    called: dict[str, tuple[_Sentence, ...]] = {}
    """Of an `enum`: the words that people have for its values."""
    ask: StrictBool | Literal["until_said"] = False
    """Not required, and still worth one question; or asked for until it is said."""
    ask_unless: tuple[_Name, ...] = ()
    """Not asked for where one of these has a value."""
    questions: tuple[_Question, ...] = Field(default=(), max_length=8)
    """How it is asked for, several to vary."""
    derived: dict[str, Value] = {}
    """Never said: it has this value where that other parameter has one."""

    @property
    def said(self) -> str:
        """What a led brain calls it."""
        return self.slot or self.name

    @property
    def question(self) -> str | None:
        """One that needs nothing to be known."""
        return next((one for one in self.questions if "{" not in one), None)

    @property
    def sort(self) -> SlotKind:
        if self.kind is not None:
            return self.kind
        if self.enum or self.type == "boolean":
            return "choice"
        return "number" if self.type in ("integer", "number") else "words"

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
    """What somebody says, and what it means."""

    said: _Sentence
    asked: _Sentence | None = None
    """What the agent had said before."""
    things: tuple[_Sentence, ...] = Field(default=(), max_length=8)
    """What the user has at that time, each in a few words: "Book club, Friday 7:30 pm"."""
    slots: dict[_Word, _Sentence] = {}
    """By a slot's short name, in words of `said`."""


class IntentDefinition(Part):
    """One intent of `intents.yaml`."""

    name: _Name
    route: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,63}$")
    description: _Prose
    parameters: tuple[Parameter, ...] = Field(default=(), max_length=64)
    wish: _Word | None = None
    """What a led brain calls it, in one short word; None is made of its name."""
    about: _Sentence | None = None
    """When it is meant, in one line, for such a brain; None is the description's first sentence."""
    does: Literal["act", "tell"] = "act"
    """`tell`: it changes nothing and nothing is kept of it; its result is the answer."""
    becomes: Literal["", "done", "gone"] = ""
    """Of the thing it is about: it is ticked off, or not there any more."""
    careful: StrictBool = False
    """Where several things are meant at once, it is asked about first."""
    confirm: tuple[_Told, ...] = Field(default=(), max_length=8)
    """How it is confirmed, several to vary; `{title}` and the like are of the result."""
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
                question=missing[0].question,
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
            description=self.description,
            parameters={
                "type": "object",
                "properties": {one.name: _property(one) for one in self.parameters},
                "required": list(self.required),
                "additionalProperties": False,
                KEY: self.hint().model_dump(mode="json", exclude_defaults=True),
            },
            category="intents",
            timeout=_TIMEOUT,
            examples=tuple(islice(self._whole_examples(), _MOST_EXAMPLES)),
        )

    def hint(self) -> Hint:
        """For a brain that is led."""
        return Hint(
            wish=self.wish or _short(self.name),
            about=self.about or self.description.partition(". ")[0].rstrip("."),
            does=self.does,
            becomes=self.becomes,
            careful=self.careful,
            slots={one.name: _slot(one) for one in self.parameters if one.slot is not False},
            confirm=self.confirm,
            examples=tuple(
                Shown(said=one.said, asked=one.asked or "", things=one.things, slots=one.slots)
                for one in self.examples
            ),
        )

    def arguments(self, example: Example) -> dict[str, Any]:
        """Of a call that comes of it, with the user's words as they are."""
        given: dict[str, Any] = {
            one.name: example.slots[one.said]
            for one in self.parameters
            if one.said in example.slots
        }
        for one in self.parameters:
            found = [value for other, value in one.derived.items() if other in given]
            if found and one.name not in given:
                given[one.name] = found[0]
        return given

    def _whole_examples(self) -> Iterator[ToolExample]:
        """Those that say all that a call needs. One of the user's things is named by its id, which
        no example knows."""
        things = {one.name for one in self.parameters if one.sort == "thing"}
        for example in self.examples:
            given = self.arguments(example)
            try:
                self.check(given)
            except InvalidArguments:
                continue
            if given and not things & given.keys():
                yield ToolExample(example.said, given, "")

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


# --- Hinted: what a led brain is told besides ----------------------------------------------


def _slot(one: Parameter) -> Slot:
    asked = one.required or one.ask == "until_said"
    conditions = dict.fromkeys(one.ask_unless, (None,)) if one.ask_unless else {}
    return Slot(
        name=one.said if one.said != one.name else "",
        kind=one.sort,
        about=one.description.strip().rstrip("."),
        required=asked and not conditions and not one.derived,
        required_when=conditions or ({} if asked else one.conditions),
        worth_asking=one.ask is True,
        questions=one.questions,
        of=one.of or "",
        many=one.many,
        choices={value: one.called.get(value, ()) for value in (one.enum or ()) if one.called},
        derived=one.derived,
    )


def _short(name: str) -> str:
    words = name.removeprefix("submit_").removesuffix("_intent").lower()
    return words[:24] or name[:24].lower()


def placeholders(sentence: str) -> list[str]:
    """What has to be filled in: the names between braces."""
    return re.findall(r"\{([a-z_]+)\}", sentence)
