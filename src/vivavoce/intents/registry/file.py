"""What `intents.yaml` may say. Everything wrong with it is told at once, each with its line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, ValidationError

from vivavoce.intents.registry.intent import Example, IntentDefinition, Parameter, Value
from vivavoce.intents.registry.rules import Problem, example_problems, intent_problems
from vivavoce.runtime.agents.explain import complaint, explain, in_order, keys_of
from vivavoce.runtime.agents.intents import Address
from vivavoce.runtime.agents.yaml_lines import FileProblems, YamlFile

AMEND = "amend_intent"
RETRACT = "retract_intent"
MOST_INTENTS = 64

_Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
_Sentence = Annotated[str, Field(min_length=1, max_length=300, pattern=r'^[^"\n]*$')]
"""They are shown to the model between quotation marks, in one line."""
_Length = Annotated[StrictInt, Field(ge=0, le=100_000)]
_Bound = Annotated[float, Field(allow_inf_nan=False)]
_Value = StrictBool | StrictInt | float | str


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ParameterFile(_Part):
    name: _Name
    type: Literal["string", "integer", "number", "boolean", "array"] = "string"
    description: str = Field(default="", max_length=1000)
    required: StrictBool = False
    required_when: dict[str, _Value | list[_Value]] = {}
    enum: list[Annotated[str, Field(min_length=1, max_length=200)]] | None = Field(
        default=None, min_length=1, max_length=200
    )
    min_length: _Length | None = None
    max_length: _Length | None = None
    pattern: str | None = Field(default=None, max_length=1000)
    minimum: _Bound | None = None
    maximum: _Bound | None = None
    grounded: StrictBool = False
    kind: Literal["time", "place", "repeat"] | None = None
    ask: StrictBool = False
    question: str | None = Field(default=None, pattern=r"^[A-Z][^@<>{}`*#?_\"\n]{3,150}\?$")

    def parameter(self) -> Parameter:
        return Parameter(
            **self.model_dump(exclude={"required_when", "enum"}),
            enum=tuple(self.enum or ()),
            required_when={name: _values(one) for name, one in self.required_when.items()},
        )


class ExampleFile(_Part):
    said: _Sentence | None = None
    talk: list[_Sentence] | None = Field(default=None, min_length=1, max_length=15)
    arguments: dict[str, Any]
    done: _Sentence | None = None

    def example(self) -> Example:
        return Example(tuple(self.talk or [self.said or ""]), self.arguments, self.done or "")


class IntentFile(_Part):
    name: _Name
    route: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,63}$")
    description: str = Field(min_length=1, max_length=2000)
    parameters: list[ParameterFile] = Field(default=[], max_length=64)
    examples: list[ExampleFile] = Field(default=[], max_length=50)
    url: Address | None = None


class _Whole(_Part):
    intents: list[Any] = Field(max_length=MOST_INTENTS)


_KEYS = keys_of((IntentFile, ParameterFile, ExampleFile, _Whole))


def _values(one: Any) -> tuple[Value, ...]:
    return tuple(one) if isinstance(one, list) else (one,)


def read_intents(path: Path) -> tuple[IntentDefinition, ...]:
    """Raises `FileProblems` with all that is wrong. One intent's mistakes do not hide another's."""
    source = YamlFile(path)
    try:
        said = _Whole.model_validate(source.value).intents
    except ValidationError as exc:
        raise FileProblems(explain(source, exc, _KEYS)) from None
    problems: list[str] = []
    definitions: list[IntentDefinition] = []
    first: dict[str, int] = {}
    for at, one in enumerate(said):
        definition, wrong = _intent(source, one, at)
        problems += wrong
        if definition is not None:
            definitions.append(definition)
        name = one.get("name") if isinstance(one, dict) else None
        if isinstance(name, str):
            problems += _taken(source, name, at, first)
    if problems:
        raise FileProblems(in_order(problems))
    return tuple(definitions)


def _intent(source: YamlFile, said: Any, at: int) -> tuple[IntentDefinition | None, list[str]]:
    try:
        file = IntentFile.model_validate(said)
    except ValidationError as exc:
        return None, explain(source, exc, _KEYS, ("intents", at))
    found = list(intent_problems([one.parameter() for one in file.parameters]))
    definition = None
    if not found:
        definition = _definition(file)
        talks = [(one.said, one.talk) for one in file.examples]
        found += example_problems(definition, talks)
    return definition, [_placed(source, at, one) for one in found]


def _definition(file: IntentFile) -> IntentDefinition:
    return IntentDefinition(
        name=file.name,
        route=file.route,
        description=" ".join(file.description.split()),
        parameters=tuple(one.parameter() for one in file.parameters),
        examples=tuple(one.example() for one in file.examples),
        url=file.url,
    )


def _placed(source: YamlFile, at: int, problem: Problem) -> str:
    where, reason = problem
    return complaint(source, ("intents", at, *where), reason)


def _taken(source: YamlFile, name: str, at: int, first: dict[str, int]) -> list[str]:
    where = ("intents", at, "name")
    if name in (AMEND, RETRACT):
        return [complaint(source, where, f"'{name}' is the name of a tool of our own")]
    if name in first:
        line = source.line(("intents", first[name], "name"))
        return [complaint(source, where, f"'{name}' is taken by the intent in line {line}")]
    first[name] = at
    return []
