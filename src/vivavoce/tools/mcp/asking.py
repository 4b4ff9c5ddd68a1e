"""Puts a server's form to the user, question by question, and reads the answers.

The same for both generations: a server that asks by itself (before 2026-07-28)
and a call that comes back with `InputRequiredResult`. Each question says which
server asks, so that no server passes for the voice itself. Forms are flat:
text, numbers, yes or no, and choices (MCP, "Elicitation").
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, TypeAlias

from mcp_types import ElicitRequestFormParams, ElicitRequestParams, ElicitResult

from vivavoce.errors import VivavoceError
from vivavoce.language.en.answers import answer, chosen, plain, stops
from vivavoce.language.en.numbers import numbers_in
from vivavoce.logs import fields as told
from vivavoce.runtime.ports import Asking
from vivavoce.tools.mcp.schemas import plain_text

Value: TypeAlias = str | int | float | bool | list[str] | None

MAX_FIELDS = 8
MAX_CHOICES = 30
MAX_MESSAGE = 600

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")


class Misheard(Exception):
    """The words do not fit; the text says why, and is read to the user."""


class Unanswerable(Exception):
    """A form that cannot be asked by voice."""


@dataclass(frozen=True, slots=True)
class Field:
    """One thing to be asked. `choices` are labels; `values` what each stands for."""

    name: str
    schema: Mapping[str, Any]
    question: str
    choices: tuple[str, ...] = ()
    values: tuple[str, ...] = ()


def fields(message: str, schema: Mapping[str, Any]) -> tuple[list[Field], dict[str, Value]]:
    """What has to be asked, in order, and what is known without asking.

    Asked are the required ones; where none is, all. Defaults stand for the rest.
    """
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        properties = {}
    required = [name for name in schema.get("required") or () if name in properties]
    asked = required or [name for name in properties if "default" not in _part(properties, name)]
    if len(asked) > MAX_FIELDS:
        raise Unanswerable(f"a form of {len(asked)} questions")
    message = plain_text(message, MAX_MESSAGE)
    found = [
        _field(name, _part(properties, name), message if at == 0 else "", only=len(asked) == 1)
        for at, name in enumerate(asked)
    ]
    known = {
        name: part["default"]
        for name in properties
        if name not in asked and "default" in (part := _part(properties, name))
    }
    return found, known


def _part(properties: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = properties[name]
    if not isinstance(part, dict):
        raise Unanswerable(f"'{plain_text(name, 60)}' has no type")
    return part


def _field(name: str, schema: Mapping[str, Any], message: str, *, only: bool) -> Field:
    title = plain_text(str(schema.get("title") or name.replace("_", " ")), 100)
    hint = plain_text(str(schema.get("description") or ""), 200)
    more = hint if only else f"{title}: {hint}" if hint else f"{title}?"
    question = " ".join(part for part in (message, more) if part) or f"{title}?"
    choices, values = _choices(schema)
    match schema.get("type"):
        case "boolean":
            choices = ("yes", "no")
        case "array" if not choices:
            raise Unanswerable(f"'{title}' is a list of anything")
        case "string" | "integer" | "number" | "array":
            pass
        case _:
            raise Unanswerable(f"'{title}' is neither text nor number nor choice")
    return Field(name, schema, question, choices, values)


def _choices(schema: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Labels and values, in the four ways the two generations of the protocol write them."""
    items = schema.get("items")
    source = items if schema.get("type") == "array" and isinstance(items, dict) else schema
    titled = source.get("oneOf") or source.get("anyOf")
    if isinstance(titled, list):
        pairs = [(str(o.get("title") or o["const"]), o["const"]) for o in titled if _const(o)]
    else:
        enum = source.get("enum")
        values = [v for v in enum if isinstance(v, str)] if isinstance(enum, list) else []
        names = source.get("enumNames")
        labels = names if isinstance(names, list) and len(names) == len(values) else values
        pairs = [(str(label), value) for label, value in zip(labels, values, strict=True)]
    if len(pairs) > MAX_CHOICES:
        raise Unanswerable(f"{len(pairs)} choices")
    return tuple(plain_text(label, 100) for label, _ in pairs), tuple(v for _, v in pairs)


def _const(option: object) -> bool:
    return isinstance(option, dict) and isinstance(option.get("const"), str)


def read(field: Field, said: str) -> Value:
    """The value that the words stand for. Raises `Misheard`."""
    said = said.strip()
    match field.schema.get("type"):
        case "boolean":
            if (heard := answer(said)) is None:
                raise Misheard("I need a yes or a no")
            return heard == "yes"
        case "integer" | "number" as kind:
            number = _number(said, whole=kind == "integer")
            words = "it should be at least {:g}", "it should be at most {:g}"
            _within(field.schema, ("minimum", "maximum"), number, *words)
            return number
        case "array":
            several = _chosen(field, said)
            words = "at least {} are needed", "at most {} are possible"
            _within(field.schema, ("minItems", "maxItems"), len(several), *words)
            return several
        case _ if field.values:
            found = _chosen(field, said)
            if len(found) != 1:
                raise _not_one_of(field)
            return found[0]
        case _:
            return _text(field.schema, said)


def _number(said: str, *, whole: bool) -> int | float:
    found = numbers_in(said)
    if len(found) != 1:
        raise Misheard("I heard more than one number" if found else "I need a number")
    if whole and not isinstance(found[0], int):
        raise Misheard("it should be a whole number")
    return found[0]


def _not_one_of(field: Field) -> Misheard:
    return Misheard(f"it should be one of {', '.join(field.choices)}")


def _chosen(field: Field, said: str) -> list[str]:
    found = [field.values[at] for at in chosen(field.choices, said)]
    if not found:
        raise _not_one_of(field)
    return found


def _within(
    schema: Mapping[str, Any], bounds: tuple[str, str], number: float, less: str, more: str
) -> None:
    """Raises `Misheard` in these words."""
    low, high = map(schema.get, bounds)
    if isinstance(low, int | float) and number < low:
        raise Misheard(less.format(low))
    if isinstance(high, int | float) and number > high:
        raise Misheard(more.format(high))


def _text(schema: Mapping[str, Any], said: str) -> str:
    kind = schema.get("format")
    if kind in ("email", "uri", "date", "date-time"):
        said = said.rstrip(".?!,")
    short = "that is too short"
    if not said:
        raise Misheard(short)
    long = "it should have at most {} characters"
    _within(schema, ("minLength", "maxLength"), len(said), short, long)
    match kind:
        case "email":
            said = _spelled(said)
            fits = _EMAIL.fullmatch(said) is not None
        case "uri":
            fits = _URI.fullmatch(said) is not None
        case "date" | "date-time":
            fits = _moment(said, with_time=kind == "date-time")
        case _:
            fits = True
    if not fits:
        raise Misheard(f"that is no {kind}")
    return said


def _spelled(said: str) -> str:
    """An address as people say it: "ada at example dot org"."""
    if "@" in said:
        return said.replace(" ", "")
    return "".join({"at": "@", "dot": "."}.get(word.lower(), word) for word in said.split())


def _moment(said: str, *, with_time: bool) -> bool:
    try:
        (datetime if with_time else date).fromisoformat(said)
    except ValueError:
        return False
    return True


log = logging.getLogger(__name__)

MAX_TRIES = 3
MAX_ANSWER = 2000


async def elicit(server: str, form: ElicitRequestParams, ask: Asking) -> ElicitResult:
    """The user's answer in the server's shape. Nobody there, or no sense in it: cancelled."""
    if not isinstance(form, ElicitRequestFormParams):
        # A page to open is nothing that can be done by voice, and a way to phish.
        log.info("Declined a page that an MCP server wanted opened", extra=told(server=server))
        return ElicitResult(action="decline")
    try:
        asked, known = fields(form.message, form.requested_schema)
    except Unanswerable as exc:
        log.warning("Declined a form of an MCP server", extra=told(server=server, reason=str(exc)))
        return ElicitResult(action="decline")
    try:
        if not asked:
            return await _confirmed(server, form.message, ask, known)
        content = dict(known)
        for field in asked:
            content[field.name] = await _answer(server, field, ask)
    except _Stopped:
        return ElicitResult(action="cancel")
    except VivavoceError as exc:  # nobody to ask, or nobody answered
        log.info("A question was not answered", extra=told(server=server, reason=exc.message))
        return ElicitResult(action="cancel")
    return ElicitResult(action="accept", content=content)


class _Stopped(Exception):
    """The user wants out."""


async def _confirmed(
    server: str, message: str, ask: Asking, known: dict[str, Value]
) -> ElicitResult:
    field = Field("", {"type": "boolean"}, plain_text(message, 600), ("yes", "no"))
    agreed = await _answer(server, field, ask)
    return ElicitResult(action="accept" if agreed else "decline", content=known if agreed else None)


async def _answer(server: str, field: Field, ask: Asking) -> Value:
    question = f"{server} asks: {field.question}"
    for _ in range(MAX_TRIES):
        said = (await ask(question, field.choices))[:MAX_ANSWER]
        if stops(said) and plain(said) not in map(plain, field.choices):
            break
        try:
            return read(field, said)
        except Misheard as exc:
            question = f"{exc}. {server} asks: {field.question}"
            question = question[0].upper() + question[1:]
    raise _Stopped
