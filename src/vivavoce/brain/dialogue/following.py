"""The state of a talk, made anew from its turns: after a restart, in another process, for a guess.

Where the commands of an earlier turn are known they are taken; where not, what was called and
answered says what was done, and the assistant's last question what is asked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from vivavoce.brain.dialogue.commands import Command
from vivavoce.brain.dialogue.manager import heard, returned
from vivavoce.brain.dialogue.state import State, Wish, World
from vivavoce.wire.brain import Ask, Call, Result, Said

Known = Callable[[int], Sequence[Command] | None]
"""The commands of the user's turn at this place in `Ask.turns`, where they are remembered."""


def follow(ask: Ask, world: World, known: Known) -> State:
    """The state before the last turn, which is the one to be answered."""
    state = State(things={thing.id: thing for thing in world.briefing.things})
    calls: dict[str, Call] = {}
    for at, turn in enumerate(ask.turns[:-1]):
        match turn:
            case Said(role="user"):
                commands = known(at)
                if commands is None:
                    state = replace(state, said=turn.text, turn=state.turn + 1, asked=None)
                else:
                    state = heard(state, turn.text, commands, world).state
            case Said(role="assistant"):
                state = replace(state, told=turn.text)
            case Call():
                calls[turn.call_id] = turn
                state = _called(state, turn, world)
            case Result():
                call = calls.get(turn.call_id)
                if call is not None:
                    given = _arguments(call)
                    state = returned(state, call.name, given, turn.output, world).state
    return state


def last(ask: Ask) -> tuple[str, dict[str, Any], str] | None:
    """The result that is to be answered: tool, arguments, output; None: it is what was said."""
    turn = ask.turns[-1] if ask.turns else None
    if not isinstance(turn, Result):
        return None
    for call in reversed(ask.turns):
        if isinstance(call, Call) and call.call_id == turn.call_id:
            return call.name, _arguments(call), turn.output
    return None


def _called(state: State, call: Call, world: World) -> State:
    if state.running is not None and state.running.tool == call.name:
        return state
    if state.pending is not None and state.pending[1] == call.name:
        return state
    wish = Wish(number=state.wishes + 1, tool=call.name, values=_arguments(call))
    return replace(state, wishes=wish.number, pending=(wish, call.name, wish.values))


def _arguments(call: Call) -> dict[str, Any]:
    try:
        given = json.loads(call.arguments)
    except ValueError:
        return {}
    return given if isinstance(given, dict) else {}
