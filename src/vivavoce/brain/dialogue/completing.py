"""What a wish still lacks, and the call that is made when it lacks nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal
from zoneinfo import ZoneInfo

from vivavoce.brain.dialogue.filling import Heard, anchor_slot, candidates, read
from vivavoce.brain.dialogue.state import Deed, State, Wish, World
from vivavoce.language.en.understanding import understand
from vivavoce.wire.hints import Hint, Slot
from vivavoce.wire.values import Record


class Gap(Record):
    """What is missing of a wish."""

    slot: str
    kind: Literal["slot", "which", "none", "sure"]
    part: Literal["", "day", "hour"] = ""
    """Of a time: what of it."""
    choices: tuple[str, ...] = ()
    question: str = ""
    """In words that somebody else found: the clock, or the tool."""
    hopeless: bool = False
    """Nothing could be answered: there are no such things at all."""


def values(wish: Wish, hint: Hint) -> dict[str, Any]:
    """What would be submitted, with what follows from it."""
    found = dict(wish.values)
    for name, slot in hint.slots.items():
        if name in found:
            continue
        for other, value in slot.derived.items():
            if other in found:
                found[name] = value
                break
    return found


def call(wish: Wish, world: World) -> tuple[str, dict[str, Any]]:
    """The tool and its arguments. A correction goes to the tool that amends, where there is one;
    else what it is about is done again, with the new words."""
    hint = world.hints[wish.tool]
    if wish.retracts is not None:
        return wish.tool, _naming(hint, wish.retracts)
    given = values(wish, hint)
    if wish.amends is None:
        return wish.tool, {name: _exact(name, one, hint, world) for name, one in given.items()}
    amending = tool_that("amend", world)
    if amending is not None:
        naming = _naming(world.hints[amending], wish.amends)
        return amending, {"changes": given, **naming}
    return wish.tool, {**wish.amends.wish.values, **given}


def _exact(name: str, value: Any, hint: Hint, world: World) -> Any:
    """A time as the tool takes it, where that is not in words."""
    slot = hint.slots.get(name, Slot())
    if not slot.exact or not isinstance(value, str):
        return value
    zone = ZoneInfo(world.briefing.time_zone)
    at = understand(value, now=world.now, time_zone=world.briefing.time_zone).at
    if at is None:
        return value
    local = at.astimezone(zone)
    return local.date().isoformat() if slot.exact == "date" else local.isoformat()


def _naming(hint: Hint, deed: Deed) -> dict[str, Any]:
    """What names the deed: values of its result that the tool has parameters for."""
    return {name: deed.result[name] for name in hint.slots if deed.result.get(name) is not None}


def tool_that(does: Literal["amend", "retract"], world: World) -> str | None:
    return next((tool for tool, hint in world.hints.items() if hint.does == does), None)


def many_slot(hint: Hint) -> str:
    return next(name for name, one in hint.slots.items() if one.kind == "thing" and one.many)


def gap(wish: Wish, state: State, world: World) -> Gap | None:
    """The first thing to ask for; None: it can be submitted."""
    hint = world.hints[wish.tool]
    known = values(wish, hint)
    if wish.retracts is not None:
        return None
    for name, slot in hint.slots.items():
        if wish.amends is not None and name not in wish.words:
            continue  # the rest stays as it was
        missing = _gap_at(name, slot, wish, known, state, world)
        if missing is not None:
            return missing
    return None


def _gap_at(
    name: str, slot: Slot, wish: Wish, known: Mapping[str, Any], state: State, world: World
) -> Gap | None:
    hint = world.hints[wish.tool]
    needed = _needed(slot, known) or (wish.amends is not None and name in wish.words)
    if slot.derived:
        if not needed or name in known:
            return None
        first = next((n for n in hint.slots if n in slot.derived and _sayable(n, hint)), name)
        return Gap(slot=first, kind="slot")
    if slot.kind == "thing":
        return _thing_gap(name, slot, wish, state, hint)
    if slot.kind == "time" and needed and name in known:
        return _time_gap(name, str(known[name]), wish, state, world)
    if name in known:
        return None
    if needed or (slot.worth_asking and name not in wish.asked):
        return Gap(slot=name, kind="slot")
    return None


def _sayable(name: str, hint: Hint) -> bool:
    return name in hint.slots and not hint.slots[name].derived and bool(hint.slots[name].questions)


def _time_gap(name: str, words: str, wish: Wish, state: State, world: World) -> Gap | None:
    meant = read(words, wish, Heard(said="", state=state, world=world))
    if meant.whole:
        return None
    anchor = anchor_slot(world.hints[wish.tool])
    if meant.anchor and anchor is not None and anchor not in wish.values:
        there = tuple(thing.id for thing in candidates(world.hints[wish.tool].slots[anchor], state))
        left = tuple(id_ for id_ in wish.left if id_ in there)
        if there:
            return Gap(slot=anchor, kind="which", choices=left or there)
    if meant.day and (name in wish.easy or world.hints[wish.tool].slots[name].exact == "date"):
        return None
    part: Literal["", "day", "hour"] = ""
    if meant.day != meant.hour:
        part = "hour" if meant.day else "day"
    return Gap(slot=name, kind="slot", part=part, question=meant.question)


def _thing_gap(name: str, slot: Slot, wish: Wish, state: State, hint: Hint) -> Gap | None:
    if slot.many and wish.many:
        if hint.careful and len(wish.many) > 1 and not wish.agreed:
            return Gap(slot=name, kind="sure", choices=wish.many)
        return None
    if name in wish.values:
        return None
    there = tuple(thing.id for thing in candidates(slot, state))
    left = tuple(id_ for id_ in wish.left if id_ in there)
    if name in wish.words and (slot.required or left or hint.does == "tell"):
        kind: Literal["which", "none"] = "which" if left else "none"
        # Who only asks about something wants to know that it is not there.
        hopeless = not there or (not left and hint.does == "tell")
        return Gap(slot=name, kind=kind, choices=left or there, hopeless=hopeless)
    if slot.required:
        return Gap(slot=name, kind="slot", choices=there, hopeless=not there)
    return None


def _needed(slot: Slot, known: Mapping[str, Any]) -> bool:
    if slot.required_when:
        return all(known.get(name) in allowed for name, allowed in slot.required_when.items())
    return slot.required
