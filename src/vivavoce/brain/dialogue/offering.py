"""What can be wished for: the hints of a session's tools, made up from the schema where a tool has
none, so that any tool of any agent can be talked about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from vivavoce.brain.dialogue.flows.carrying import flows_in
from vivavoce.brain.dialogue.state import World
from vivavoce.wire.brain import Tool
from vivavoce.wire.hints import Briefing, Hint, Slot, SlotKind, hint_of

_FILES = frozenset({"path", "file", "filename", "file_path", "filepath"})


def world(tools: Iterable[Tool], now: datetime) -> World:
    given = {tool.name: hint(tool) for tool in tools}
    hints = {name: one for name, one in given.items() if one.wish} | flows_in(given)
    told = [one.briefing for one in given.values() if one.briefing is not None]
    taught = [one.lessons for one in given.values() if one.lessons is not None]
    if taught and hints:  # whoever carried them may be there only for flows
        first = next(iter(hints))
        hints[first] = hints[first].model_copy(update={"lessons": taught[0]})
    return World(hints=hints, briefing=told[0] if told else Briefing(), now=now)


def makes(hint: Hint) -> bool:
    """Something new, in the user's words; not about what is there."""
    kinds = {slot.kind for slot in hint.slots.values() if slot.required}
    return hint.does == "act" and "words" in kinds and "thing" not in kinds


def makers(world: World) -> frozenset[str]:
    """The wishes for something new."""
    return frozenset(hint.wish for hint in world.hints.values() if makes(hint))


def changers(world: World) -> frozenset[str]:
    """The wishes that something is done to one of the user's things."""
    return frozenset(
        hint.wish
        for hint in world.hints.values()
        if hint.does == "act" and any(s.kind == "thing" and s.required for s in hint.slots.values())
    )


def hint(tool: Tool) -> Hint:
    """The tool's own, completed by its schema; else one that its schema makes up."""
    schema = tool.parameters or {}
    given = hint_of(schema)
    properties: Mapping[str, Any] = schema.get("properties") or {}
    required = set(schema.get("required") or ())
    if given is None:
        made = {name: _slot(name, of, name in required) for name, of in properties.items()}
        wish = tool.name.replace("_", " ").replace("-", " ").strip() or tool.name
        about = (tool.description.strip().splitlines() or [""])[0]
        # Nobody knows whether it changes something: its result is told, and nothing beside it.
        return Hint(wish=wish, about=about, does="tell", slots=made)
    slots = {}
    for name, slot in given.slots.items():
        chosen = slot.choices or _choices(properties.get(name, {}))
        changes: dict[str, Any] = {"name": slot.name or name}
        if slot.kind == "choice" and not slot.choices:
            changes["choices"] = chosen
        if name in required and not slot.required_when:
            changes["required"] = True
        slots[name] = slot.model_copy(update=changes)
    if given.does in ("amend", "retract"):  # their parameters come from what was submitted
        slots = {name: _slot(name, of, False) for name, of in properties.items()} | slots
    return given.model_copy(update={"slots": slots})


def _slot(name: str, schema: Mapping[str, Any], required: bool) -> Slot:
    choices = _choices(schema)
    kind: SlotKind = "words"
    if choices:
        kind = "choice"
    elif schema.get("type") in ("integer", "number"):
        kind = "number"
    elif schema.get("format") == "date-time":
        kind = "time"
    elif name in _FILES:
        kind = "file"
    about = str(schema.get("description") or "")
    return Slot(name=name, kind=kind, about=about, required=required, choices=choices)


def _choices(schema: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    if schema.get("type") == "boolean":
        return {"true": ("yes", "true", "on"), "false": ("no", "false", "off")}
    values = [one for one in schema.get("enum") or () if isinstance(one, str)]
    return {one: (one.replace("_", " "),) for one in values}
