"""Values: what is below `Value` or `Record` is a frozen dataclass, without saying so.

    class Said(Value):
        role: str
        text: str

The fields of a `Record` are given by name.

A dataclass writes and compiles its methods anew for each class: a tenth of a second at the start
for the hundreds there are. Here what all have is written once, and `__init__` is compiled when the
first of a class is made; it is also twice as quick as a frozen dataclass's own.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, fields
from typing import Any, dataclass_transform


class _Frozen:
    """Every field counts for what is equal."""

    def __eq__(self, other: object) -> bool:
        return self.__dict__ == other.__dict__ if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self.__dict__.values()))

    def __repr__(self) -> str:
        shown = (f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)  # type: ignore[arg-type]
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")


def _first(self: Any, *args: Any, **kwargs: Any) -> None:
    """The `__init__` of a class of which nothing was made yet."""
    cls: Any = next(c for c in type(self).__mro__ if c.__dict__.get("__init__") is _first)
    cls.__init__ = made = _init(cls)
    made(self, *args, **kwargs)


def _init(cls: type[Any]) -> Any:
    known: dict[str, Any] = {}
    taken: list[str] = []
    named: list[str] = []
    lines = ["_fields_ = self.__dict__"]
    for field in fields(cls):
        given, value = _parameter(field, known)
        lines.append(f"_fields_[{field.name!r}] = {value}")
        if given:
            (named if field.kw_only else taken).append(given)
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters = ["self", *taken, *(["*", *named] if named else [])]
    head = f"def __init__({', '.join(parameters)}):"
    # Made of the class's own names, as `dataclasses` does it.
    exec("\n    ".join([head, *lines]), known)  # noqa: S102
    made = known["__init__"]
    made.__qualname__, made.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    return made


def _parameter(field: Field[Any], known: dict[str, Any]) -> tuple[str, str]:
    """How a field is given, and what it becomes."""
    made, default = f"_made_{field.name}", f"_default_{field.name}"
    if field.default_factory is not MISSING:
        known[made] = field.default_factory
        known["_none"] = MISSING
        chosen = f"{made}() if {field.name} is _none else {field.name}"
        return (f"{field.name}=_none", chosen) if field.init else ("", f"{made}()")
    if field.default is MISSING:
        return field.name, field.name
    known[default] = field.default
    return (f"{field.name}={default}", field.name) if field.init else ("", default)


def _made(cls: type[Any], *, kw_only: bool) -> None:
    told = cls.__doc__
    cls.__doc__ = told or cls.__name__  # else its signature is worked out, to be told in its place
    dataclass(init=False, eq=False, repr=False, kw_only=kw_only)(cls)
    cls.__doc__ = told
    if "__init__" not in cls.__dict__:
        cls.__init__ = _first


@dataclass_transform(frozen_default=True)
class Value(_Frozen):
    def __init_subclass__(cls) -> None:
        _made(cls, kw_only=False)


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Record(_Frozen):
    def __init_subclass__(cls) -> None:
        _made(cls, kw_only=True)
