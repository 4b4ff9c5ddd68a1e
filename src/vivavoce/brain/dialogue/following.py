"""The state of a talk, made anew from its turns: after a restart, in another process, for a guess.

Where the commands of an earlier turn are known they are taken; where not, what was called and
answered says what was done, and the assistant's last question what is asked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from string import Formatter
from typing import Any

from vivavoce.brain.dialogue import manager
from vivavoce.brain.dialogue.commands import Command
from vivavoce.brain.dialogue.flows.carrying import Point, Story
from vivavoce.brain.dialogue.manager import heard, returned, settled
from vivavoce.brain.dialogue.state import Asked, State, Wish, World
from vivavoce.wire.brain import Ask, Call, Result, Said, Turn
from vivavoce.wire.hints import Hint

Known = Callable[[int], Sequence[Command] | None]
"""The commands of the user's turn at this place in `Ask.turns`, where they are remembered."""


Chosen = Callable[[Point | Story], manager.Chosen | None]
"""What was meant, where that is remembered."""


def follow(ask: Ask, world: World, known: Known, chosen: Chosen = lambda point: None) -> State:
    """The state before the last turn, which is the one to be answered: what the user said, or what
    a tool returned (`awaited`)."""
    state = State(things={thing.id: thing for thing in world.briefing.things})
    calls: dict[str, Call] = {}
    for at, turn in enumerate(ask.turns[:-1]):
        after = ask.turns[at + 1]
        match turn:
            case Said(role="user"):
                state = _said(state, turn.text, known(at), after, world, chosen)
            case Said(role="assistant"):
                state = _told(state, turn.text, world)
            case Call():
                calls[turn.call_id] = turn
                state = _called(state, turn)
            case Result() if turn.call_id in calls:
                call = calls[turn.call_id]
                step = returned(state, call.name, arguments(call), turn.output, world)
                state = _kept(settled(step, world, chosen).state, after)
    return state


def awaited(ask: Ask) -> tuple[str, dict[str, Any], str] | None:
    """The result that is to be answered: tool, arguments, output. None: it is what was said."""
    turn = ask.turns[-1] if ask.turns else None
    if not isinstance(turn, Result):
        return None
    for call in reversed(ask.turns):
        if isinstance(call, Call) and call.call_id == turn.call_id:
            return call.name, arguments(call), turn.output
    return None


def arguments(call: Call) -> dict[str, Any]:
    try:
        given = json.loads(call.arguments)
    except ValueError:
        return {}
    return given if isinstance(given, dict) else {}


def _said(
    state: State,
    text: str,
    commands: Sequence[Command] | None,
    after: Turn,
    world: World,
    chosen: Chosen,
) -> State:
    if commands is not None:
        step = settled(heard(state, text, commands, world), world, chosen)
        return _kept(step.state, after)
    # What was open may have been answered: the calls and the next question will show.
    return replace(
        state,
        said=text,
        turn=state.turn + 1,
        pending=None,
        running=None,
        made=(),
        done=(),
        notes=(),
    )


def _kept(state: State, after: Turn) -> State:
    """A call that was never made, since the user went on, is still to be made."""
    if state.pending is None or isinstance(after, Call):
        return state
    return replace(state, agenda=(state.pending[0], *state.agenda), pending=None, running=None)


def _called(state: State, call: Call) -> State:
    if state.running is not None and state.running.tool == call.name:
        return state
    if state.pending is not None and state.pending[1] == call.name:
        return state
    given = arguments(call)
    open_wish = next((w for w in state.agenda if w.tool == call.name), None)
    number = open_wish.number if open_wish else state.wishes + 1
    wish = Wish(number=number, tool=call.name, values=given)
    return replace(
        state,
        agenda=tuple(w for w in state.agenda if w.number != number),
        wishes=max(state.wishes, number),
        pending=(wish, call.name, given),
        asked=None,
    )


def _told(state: State, text: str, world: World) -> State:
    """The assistant's words. Where they ask what nobody remembers having asked, the question
    itself says what is open."""
    state = replace(state, told=text)
    if state.asked is not None and state.asked.text and state.asked.text in text:
        return state
    found = _question(text, world)
    if found is None:
        return state
    tool, slot, known = found
    wish = next((w for w in state.agenda if w.tool == tool), None)
    if wish is None:
        wish = Wish(number=state.wishes + 1, tool=tool, values=known, asked=(slot,))
        state = replace(state, wishes=wish.number, agenda=(wish, *state.agenda))
    return replace(state, asked=Asked(wish=wish.number, kind="slot", slot=slot, text=text))


def _question(text: str, world: World) -> tuple[str, str, dict[str, Any]] | None:
    """Which slot of which tool these words ask for, by the tools' own questions."""
    if "?" not in text:
        return None
    best: tuple[int, str, str, dict[str, Any]] | None = None
    for tool, hint in world.hints.items():
        for name, slot in hint.slots.items():
            for question in slot.questions:
                match = re.search(_pattern(question), text)
                # The more of it is the question's own words, the surer.
                fixed = len(re.sub(r"\{\w+\}", "", question))
                if match is not None and (best is None or fixed > best[0]):
                    best = fixed, tool, name, _values(hint, match.groupdict())
    return best[1:] if best is not None else None


def _pattern(question: str) -> str:
    pattern, seen = "", set[str]()
    try:
        parts = list(Formatter().parse(question))
    except ValueError:
        return r"(?!)"
    for literal, name, _, _ in parts:
        pattern += re.escape(literal)
        if name and name.isidentifier():
            pattern += rf"(?P={name})" if name in seen else rf"(?P<{name}>.+?)"
            seen.add(name)
    return pattern


def _values(hint: Hint, found: Mapping[str, str]) -> dict[str, Any]:
    """What the question named, by parameter; a thing's title is no id, and is left out."""
    by_name = {slot.name or name: name for name, slot in hint.slots.items()}
    by_name |= {name: name for name in hint.slots}
    return {
        by_name[name]: value[:1].upper() + value[1:]
        for name, value in found.items()
        if name in by_name and hint.slots[by_name[name]].kind == "words"
    }
