"""Tools of an app: functions of Python, with what the model is told of them."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints, overload

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic_core import to_jsonable_python

from vivavoce.wire.conductor.kinds import Tool
from vivavoce.wire.values import Value


class ToolError(Exception):
    """Raised by a tool: its words are what the model is told."""


class ClientTool(Value):
    """`arguments` checks them, where they come from type hints; with a schema that was given, the
    server has checked them."""

    told: Tool
    function: Callable[..., Any]
    arguments: type[BaseModel] | None

    async def run(self, arguments: str) -> str:
        """The result as JSON. Raises `ToolError`."""
        try:
            given = self._checked(orjson.loads(arguments))
        except ValidationError as wrong:
            raise ToolError(f"Wrong arguments: {_words(wrong)}") from None
        if inspect.iscoroutinefunction(self.function):
            result = await self.function(**given)
        else:
            result = await asyncio.to_thread(self.function, **given)
        try:
            return orjson.dumps(result, default=to_jsonable_python).decode()
        except TypeError as wrong:
            raise ToolError(f"The result is no JSON: {wrong}") from None

    def _checked(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        if self.arguments is None:
            return given
        checked = self.arguments.model_validate(given)
        return {name: getattr(checked, name) for name in checked.model_fields_set}


@overload
def tool(function: Callable[..., Any], /) -> ClientTool: ...


@overload
def tool(
    *,
    name: str | None = ...,
    description: str | None = ...,
    schema: Mapping[str, Any] | None = ...,
    read_only: bool = ...,
) -> Callable[[Callable[..., Any]], ClientTool]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    schema: Mapping[str, Any] | None = None,
    read_only: bool = False,
) -> ClientTool | Callable[[Callable[..., Any]], ClientTool]:
    """A function as a tool: its name, its docstring and its type hints are what the model is told,
    where nothing else is given. One that is not `async` runs in a thread. Without `read_only` it is
    taken to change something, and the user may be asked first."""

    def made(given: Callable[..., Any]) -> ClientTool:
        named = name or str(getattr(given, "__name__", ""))
        arguments = _arguments(named, given) if schema is None else None
        shape = _schema(arguments) if arguments is not None else dict(schema or {})
        told = {"name": named, "input_schema": shape, "annotations": {"readOnlyHint": read_only}}
        words = description or inspect.getdoc(given)
        return ClientTool(
            Tool.model_validate(told | ({"description": words} if words else {})), given, arguments
        )

    return made if function is None else made(function)


def _arguments(name: str, function: Callable[..., Any]) -> type[BaseModel]:
    hints = get_type_hints(function, include_extras=True)
    found: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"{name}: a tool's arguments are given by name: {parameter}")
        if parameter.name not in hints:
            raise TypeError(f"{name}: {parameter.name!r} has no type hint, and no schema was given")
        default = ... if parameter.default is parameter.empty else parameter.default
        found[parameter.name] = (hints[parameter.name], default)
    return create_model(f"{name} arguments", __config__=ConfigDict(extra="forbid"), **found)


def _schema(arguments: type[BaseModel]) -> dict[str, Any]:
    return {"properties": {}, **arguments.model_json_schema()}


def _words(wrong: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(map(str, each['loc']))}: {each['msg']}"
        for each in wrong.errors(include_url=False, include_context=False, include_input=False)
    )
