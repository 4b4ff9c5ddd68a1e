"""Tools from Python functions: the signature is the schema, the docstring the description.

    @tool(category="home", examples=[ToolExample("The kitchen", {"room": "kitchen"}, "21 °C")])
    async def temperature(room: Annotated[str, Field(description="Which room")]) -> str:
        '''How warm a room is.'''

A `ToolContext` parameter is filled in and no part of the schema. Plain
functions run in a thread. What a function returns becomes text: a string as
it is, a `ToolOutput` too, anything else as JSON.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import field
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, create_model

from vivavoce.errors import InvalidArguments
from vivavoce.processes.threads import SHARED
from vivavoce.runtime.ports import ToolContext, ToolDefinition, ToolExample, ToolOutput
from vivavoce.wire.values import Value

Handler = Callable[[Mapping[str, Any], ToolContext], Awaitable[str | ToolOutput]]
Describe = Callable[[Mapping[str, Any]], str]
Harmless = Callable[[Mapping[str, Any]], bool]
Place = Callable[[Mapping[str, Any], str], str]
DEFAULT_TIMEOUT = 60.0

_ANYTHING: TypeAdapter[Any] = TypeAdapter(Any)
VALUES = ("title", "$schema", "$id", "examples", "default", "const", "enum")
NAMED = ("properties", "$defs", "definitions", "dependentSchemas")
_POSITIONAL = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.POSITIONAL_ONLY)


class Tool(Value):
    """A definition, what runs it, and what a person reads while it runs."""

    definition: ToolDefinition
    handler: Handler
    describe: Describe | None = None
    wants: Describe | None = None
    """What a call is about to do, behind "I want to": "open example.org"."""
    reads_only: Harmless | None = None
    """Of a tool that changes something: does this very call not?"""
    place: Place | None = None
    """Where the file really is that a call writes; with the user's id. Raises `ToolFailed`."""
    spelled: Mapping[str, str] = field(default_factory=dict)
    """Parameters by other names that are taken too: clients of seed 003 say `task`."""
    ready: Callable[[], bool] | None = None
    """Can it do anything now? What cannot is not offered."""


def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    category: str = "general",
    timeout: float = DEFAULT_TIMEOUT,
    examples: Iterable[ToolExample] = (),
    describe: Describe | None = None,
    wants: Describe | None = None,
    changes: bool = False,
) -> Callable[[Callable[..., Any]], Tool]:
    """Makes a `Tool` of the function below it; without a `description` its docstring is told."""

    def decorate(function: Callable[..., Any]) -> Tool:
        title = name or function.__name__
        told = description or inspect.getdoc(function)
        if not told:
            raise TypeError(f"tool '{title}': give it a docstring, the model decides by it")
        model, context_names = _parameters(function, title)
        definition = ToolDefinition(
            name=title,
            description=told,
            parameters=schema_of(model),
            category=category,
            timeout=timeout,
            examples=tuple(examples),
            changes=changes,
        )
        return Tool(definition, _handler(function, model, context_names), describe, wants)

    return decorate


def _parameters(function: Callable[..., Any], title: str) -> tuple[type[BaseModel], list[str]]:
    """The arguments as a model, and the names of those that take the context."""
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    contexts: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in _POSITIONAL or parameter.kind is inspect.Parameter.VAR_KEYWORD:
            raise TypeError(f"tool '{title}': parameter '{parameter.name}' must have a name")
        hint = hints.get(parameter.name)
        if hint is None:
            raise TypeError(f"tool '{title}': parameter '{parameter.name}' needs a type")
        if hint is ToolContext:
            contexts.append(parameter.name)
            continue
        required = parameter.default is inspect.Parameter.empty
        fields[parameter.name] = (hint, ... if required else parameter.default)
    model = create_model(title, __config__=ConfigDict(extra="forbid"), **fields)
    return model, contexts


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema that the model and the checks see, without Pydantic's titles."""
    schema = model.model_json_schema()
    schema.pop("description", None)
    schema.setdefault("properties", {})
    bare: dict[str, Any] = without(("title",), schema)
    return bare


def without(keys: Collection[str], node: Any, names: bool = False) -> Any:
    """A schema without these keywords. `names`: the keys of this mapping are the author's own, even
    one called "title"."""
    if isinstance(node, list):
        return [without(keys, item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: value
        if key in VALUES and not names
        else without(keys, value, names=key in NAMED and not names)
        for key, value in node.items()
        if names or key not in keys
    }


def _handler(
    function: Callable[..., Any], model: type[BaseModel], context_names: list[str]
) -> Handler:
    native = inspect.iscoroutinefunction(function)

    async def handle(arguments: Mapping[str, Any], context: ToolContext) -> str | ToolOutput:
        values = _values(model, arguments) | dict.fromkeys(context_names, context)
        result = await (function(**values) if native else SHARED.run(function, **values))
        return result if isinstance(result, ToolOutput) else as_text(result)

    return handle


def _values(model: type[BaseModel], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as the types the function asked for."""
    try:
        filled = model.model_validate(dict(arguments))
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise InvalidArguments(
            f"Parameter '{where}' for tool '{model.__name__}': {first['msg']}", tool=model.__name__
        ) from None
    return {name: getattr(filled, name) for name in model.model_fields}


def as_text(result: Any) -> str:
    """What a tool returned, as the model reads it."""
    if result is None:
        return "Done."
    if isinstance(result, str):
        return result
    return _ANYTHING.dump_json(result).decode()
