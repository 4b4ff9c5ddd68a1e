"""Arguments against a tool's JSON Schema, with errors that a caller can act on.

Messages are those of seed 003 §8.3 where a parameter is missing, and never
longer than a few lines, since they go to a model and into the log.

A check is a bounded amount of work, whatever schema and arguments say: schemas come from programs
of others, arguments from models and clients. Each keyword that is looked at costs steps, and so
does what it has to go through.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from vivavoce.errors import InvalidArguments, ToolFailed

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

MAX_ERRORS = 20
MAX_MESSAGE = 300
MOST_STEPS = 20_000
"""Of one check: a fifth of a second at the very most, and a hundred times what calls need."""
_EACH = frozenset({"items", "additionalProperties", "propertyNames", "contains"}) | {
    "unevaluatedItems",
    "unevaluatedProperties",
}
"""Keywords whose schema is for each element or field of what is there."""
_AT_ONCE = 8  # things that are gone through in the time of one step

MOST_NESTED = 100
"""Keywords in each other. Python would stop deeper ones too, but not in the middle of what is
compiled: that panics."""


class _TooMuch(Exception):
    """The check takes too long to be worth it."""


class _Work:
    def __init__(self, steps: int) -> None:
        self.steps, self.nested = steps, 0

    def spend(self, steps: int) -> None:
        self.steps -= steps
        if self.steps < 0:
            raise _TooMuch

    @contextmanager
    def deeper(self) -> Iterator[None]:
        if self.nested >= MOST_NESTED:
            raise RecursionError
        self.nested += 1
        try:
            yield
        finally:
            self.nested -= 1


_work: ContextVar[_Work | None] = ContextVar("work", default=None)
"""Of the check under way: the validators of `jsonschema` make each other, and hand nothing on."""


@contextmanager
def _at_most(steps: int) -> Iterator[None]:
    token = _work.set(_Work(steps))
    try:
        yield
    finally:
        _work.reset(token)


def _price(keyword: str, value: Any, instance: Any) -> int:
    things = len(instance) if isinstance(instance, list | dict) else 0
    size = len(value) if isinstance(value, list | dict | str) else 0
    if keyword in _EACH:
        return 1 + things * (_AT_ONCE + size) // _AT_ONCE
    if isinstance(value, list | dict):
        below = value.values() if isinstance(value, dict) else value
        size += sum(len(one) for one in below if isinstance(one, list | dict))
    return 1 + (things + size) // _AT_ONCE


def _priced(keyword: str, rule: Callable[..., Any]) -> Callable[..., Any]:
    def check(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if (work := _work.get()) is None:
            yield from rule(validator, value, instance, schema) or ()
            return
        work.spend(_price(keyword, value, instance))
        with work.deeper():
            for error in rule(validator, value, instance, schema) or ():
                work.spend(len(error.message) // 100)  # it shows what is there, however much
                yield error

    return check


def _unique(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
    """Each thing is looked at once. `jsonschema` compares each with each where they have no order,
    as objects have none."""
    from jsonschema.exceptions import ValidationError

    if not wanted or not validator.is_type(instance, "array"):
        return
    seen: set[str] = set()
    work = _work.get()
    for one in instance:
        text = json.dumps(_plain(one), sort_keys=True)
        if work is not None:
            work.spend(1 + len(text) // 100)
        if text in seen:
            yield ValidationError("There are two of the same")
            return
        seen.add(text)


def _plain(value: Any) -> Any:
    """In one spelling: 1.0 is 1."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


@cache
def _bounded(kind: type[Validator]) -> type[Validator]:
    """The same rules, at their price."""
    from jsonschema.validators import extend

    rules: dict[str, Any] = {**kind.VALIDATORS}
    if "uniqueItems" in rules:
        rules["uniqueItems"] = _unique
    priced = {keyword: _priced(keyword, rule) for keyword, rule in rules.items()}
    bounded: type[Validator] = extend(kind, priced)  # type: ignore[no-untyped-call]
    return bounded


class Checker:
    """One tool's schema, compiled once: at the first call, or when `compile` is called.

    `jsonschema` takes 0.1 s to import, which the start of the server need not wait for.
    """

    def __init__(self, tool: str, schema: Mapping[str, Any], *, known: bool = False) -> None:
        """`known`: somebody has looked already whether it is a schema."""
        self._tool, self._known = tool, known
        self._schema = dict(schema)
        self._validator: Validator | None = None

    def compile(self) -> Validator:
        """Raises `ValueError` for a schema that is none."""
        if self._validator is None:
            from jsonschema.validators import Draft202012Validator, validator_for
            from referencing import Registry as References

            kind = _bounded(validator_for(self._schema, default=Draft202012Validator))
            if not self._known:
                self._check_schema(kind)
            # An empty set of references: a schema from outside must not make us fetch anything.
            self._validator = kind(self._schema, registry=References())
        return self._validator

    def _check_schema(self, kind: type[Validator]) -> None:
        of_schemas = kind(kind.META_SCHEMA, format_checker=kind.FORMAT_CHECKER)
        if (wrong := next(of_schemas.iter_errors(self._schema), None)) is not None:
            raise ValueError(
                f"tool '{self._tool}': its parameters are no JSON Schema: {_cut(wrong.message)}"
            )

    def check(self, arguments: object) -> dict[str, Any]:
        """The arguments, or `InvalidArguments` that says what is wrong."""
        tool, validator = self._tool, self.compile()
        from referencing.exceptions import Unresolvable

        if not isinstance(arguments, dict):
            raise InvalidArguments(
                f"The arguments for tool '{tool}' must be a JSON object", tool=tool
            )
        try:
            with _at_most(MOST_STEPS):
                errors = list(islice(validator.iter_errors(arguments), MAX_ERRORS))
            if not errors:
                return arguments
            missing = _missing(errors)
            several = "s" if len(missing) > 1 else ""
            message = f"Missing required parameter{several} {_names(missing)} for tool '{tool}'"
            message = _cut(message) if missing else self._message(errors)
        except Unresolvable:
            raise ToolFailed(
                f"The schema of tool '{tool}' refers to something that is not there"
            ) from None
        except RecursionError:
            missing, message = [], f"The arguments for tool '{tool}' are nested too deeply"
        except _TooMuch:
            missing, message = [], f"The arguments for tool '{tool}' are too much to check"
        raise InvalidArguments(message, tool=tool, missing_params=missing or None)

    def _message(self, errors: list[ValidationError]) -> str:
        from jsonschema.exceptions import best_match

        error = best_match(errors)
        assert error is not None
        if error.validator == "additionalProperties" and isinstance(error.instance, dict):
            known = error.schema.get("properties", {}) if isinstance(error.schema, dict) else {}
            unknown = [name for name in error.instance if name not in known]
            return _cut(f"Unknown parameter {_names(unknown)} for tool '{self._tool}'")
        where = _path(error)
        subject = f"Parameter '{where}'" if where else "The arguments"
        return _cut(f"{subject} for tool '{self._tool}': {error.message[: MAX_MESSAGE * 4]}")


def _missing(errors: list[ValidationError]) -> list[str]:
    """What is required and not there, with its path where it is nested."""
    found: dict[str, None] = {}
    for error in errors:
        needed: Any = error.validator_value
        if error.validator == "required" and isinstance(error.instance, dict):
            where = _path(error)
            for name in needed:
                if name not in error.instance:
                    found[f"{where}.{name}" if where else name] = None
    return list(found)


def _names(names: list[str]) -> str:
    return ", ".join(f"'{_cut(name, 64)}'" for name in names[:MAX_ERRORS])


def _path(error: ValidationError) -> str:
    return _cut(".".join(str(part) for part in error.absolute_path), 100)


def _cut(text: str, limit: int = MAX_MESSAGE) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
