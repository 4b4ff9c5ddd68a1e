"""Arguments against a tool's JSON Schema, with errors that a caller can act on.

Messages are those of seed 003 §8.3 where a parameter is missing, and never
longer than a few lines, since they go to a model and into the log.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from vivavoce.errors import InvalidArguments, ToolFailed

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

MAX_ERRORS = 20
MAX_MESSAGE = 300


class Checker:
    """One tool's schema, compiled once: at the first call, or when `compile` is called.

    `jsonschema` takes 0.1 s to import, which the start of the server need not wait for.
    """

    def __init__(self, tool: str, schema: Mapping[str, Any]) -> None:
        self._tool = tool
        self._schema = dict(schema)
        self._validator: Validator | None = None

    def compile(self) -> Validator:
        """Raises `ValueError` for a schema that is none."""
        if self._validator is None:
            from jsonschema import SchemaError
            from jsonschema.validators import Draft202012Validator, validator_for
            from referencing import Registry as References

            kind = validator_for(self._schema, default=Draft202012Validator)
            try:
                kind.check_schema(self._schema)
            except SchemaError as exc:
                raise ValueError(
                    f"tool '{self._tool}': its parameters are no JSON Schema: {_cut(exc.message)}"
                ) from None
            # An empty set of references: a schema from outside must not make us fetch anything.
            self._validator = kind(self._schema, registry=References())
        return self._validator

    def check(self, arguments: object) -> dict[str, Any]:
        """The arguments, or `InvalidArguments` that says what is wrong."""
        tool, validator = self._tool, self.compile()
        from referencing.exceptions import Unresolvable

        if not isinstance(arguments, dict):
            raise InvalidArguments(
                f"The arguments for tool '{tool}' must be a JSON object", tool=tool
            )
        try:
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
