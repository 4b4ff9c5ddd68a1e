"""The dialogue manager: what was understood in, what to say or do out. No I/O, no model.

A turn is heard once (`heard`): its commands change the agenda. Whatever is complete is done, one
call at a time, each result comes back (`returned`), and when nothing is left to do the words are
made: one reply for all that came of the turn, with the question for what is missing first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from vivavoce.brain.dialogue import completing, times, wording
from vivavoce.brain.dialogue.commands import Command
from vivavoce.brain.dialogue.completing import Gap, gap
from vivavoce.brain.dialogue.flows import carrying
from vivavoce.brain.dialogue.flows.carrying import Point, Story
from vivavoce.brain.dialogue.listening import listened
from vivavoce.brain.dialogue.state import (
    Asked,
    Deed,
    Do,
    Say,
    State,
    Step,
    View,
    Wish,
    World,
    worked,
)
from vivavoce.language.en import titles
from vivavoce.language.en.pointing import similar
from vivavoce.language.en.utterances import asks_to_wait, repaired
from vivavoce.wire.hints import Flow, Hint, Slot, Thing

_REFUSALS = 3
"""After so many the tool will not take it, and the user is told."""
_SHOWN = 8


def heard(state: State, said: str, commands: Sequence[Command], world: World) -> Step:
    """What the user said, and what it means on its own; what it means here is found out."""
    works = any(isinstance(hint, Flow) for hint in world.hints.values())
    if asks_to_wait(said) and (state.asked is not None or not works):
        told = wording.words("take_time", state, world)
        state = replace(
            state, said=said, turn=state.turn + 1, told=told, made=(), done=(), notes=()
        )
        return Step(state, (Say(told),))
    return _advance(listened(state, repaired(said), commands, world), world)


# --- What comes back ------------------------------------------------------------------


def returned(
    state: State, tool: str, arguments: Mapping[str, Any], output: str, world: World
) -> Step:
    """A tool's result. What nobody waits for is told too, and counts as done."""
    if state.running is not None and state.pending is not None and state.running.tool == tool:
        flow = world.hints[state.running.flow]
        assert isinstance(flow, Flow)
        return _carried(state, carrying.resume(flow, state.running, output), world)
    wish = state.pending[0] if state.pending is not None and state.pending[1] == tool else None
    if wish is None:
        wish = Wish(number=state.wishes + 1, tool=tool, values=dict(arguments))
        state = replace(state, wishes=wish.number)
    deed = _deed(wish, tool, arguments, output, world)
    state = replace(state, pending=None)
    if not deed.ok and (again := _refused(deed, world)) is not None:
        things = {t.id: t for t in _things(deed.result.get("choices"))} | dict(state.things)
        return _advance(replace(state, things=things, agenda=(again, *state.agenda)), world)
    things = {**state.things, **{thing.id: thing for thing in deed.things}}
    state = replace(state, things=things, done=(*state.done, deed))
    if not deed.ok and wish.retracts is not None:  # what was to come instead would be a second one
        kept = tuple(w for w in state.agenda if w.after != wish.number)
        state = replace(state, agenda=kept)
    elif wish.retracts is not None:
        left = tuple(_without_it(w, wish.retracts) for w in state.agenda)
        state = replace(state, agenda=left)
    if deed.things:
        together = tuple(dict.fromkeys(t.id for d in state.done for t in d.things if t.open))
        several = together if len(together) > 1 else state.listed
        state = replace(state, view=together, listed=several)
    return _advance(state, world)


Chosen = Sequence[int] | str
"""Of a `Point` the places of its lines, if any is meant; of a `Story` its sum."""


def pointed(step: Step, chosen: Chosen, world: World) -> Step:
    """Somebody has read what a `Point` or a `Story` is about, and says what is meant."""
    state = step.state
    assert state.running is not None
    flow = world.hints[state.running.flow]
    assert isinstance(flow, Flow)
    if isinstance(chosen, str):
        return _carried(state, carrying.reckoned(flow, state.running, chosen), world)
    return _carried(state, carrying.pointed(flow, state.running, chosen), world)


def settled(step: Step, world: World, choose: Callable[[Point | Story], Chosen | None]) -> Step:
    """A step that points at nothing any more: as was chosen, or by words alone."""
    while (point := pointing(step)) is not None:
        chosen = choose(point)
        step = pointed(step, point.likeliest() if chosen is None else chosen, world)
    return step


def pointing(step: Step) -> Point | Story | None:
    return next((act for act in step.acts if isinstance(act, Point | Story)), None)


def _deed(wish: Wish, tool: str, arguments: Mapping[str, Any], output: str, world: World) -> Deed:
    hint = world.hints.get(tool)
    try:
        given = json.loads(output)
    except (ValueError, RecursionError):
        given = None
    if isinstance(given, dict):
        ok = worked(given)
        things = _things(given.get("things")) if ok else ()
        return Deed(wish=wish, tool=tool, arguments=arguments, ok=ok, result=given, things=things)
    words = given if isinstance(given, str) else output
    # Words alone answer a question; that something was done they do not show.
    ok = hint is not None and hint.does == "tell" and bool(words.strip())
    return Deed(wish=wish, tool=tool, arguments=arguments, ok=ok, text=words)


def _things(given: Any) -> tuple[Thing, ...]:
    found = []
    for one in given if isinstance(given, list) else ():
        try:
            found.append(Thing.model_validate(one))
        except ValueError:
            continue
    return tuple(found)


def _refused(deed: Deed, world: World) -> Wish | None:
    """The wish again, where the tool asks for something that the user can say."""
    question, missing = deed.result.get("question"), deed.result.get("missing")
    wish = deed.wish
    hint = world.hints.get(wish.tool)
    if hint is None or wish.retracts is not None or wish.refused + 1 >= _REFUSALS:
        return None
    question = question.strip() if isinstance(question, str) else ""
    names = [n for n in missing if n in hint.slots] if isinstance(missing, list) else []
    if not names and question and wish.amends is not None:
        names = list(wish.values)
    if not names:
        return None
    choices = tuple(thing.id for thing in _things(deed.result.get("choices")))
    return replace(
        wish,
        # What was said of it stays: "Thursday" with "at six" makes a whole.
        refuted={**wish.refuted, **{n: wish.values[n] for n in names if n in wish.values}},
        values={k: v for k, v in wish.values.items() if k not in names},
        refused=wish.refused + 1,
        left=choices,
        problem=question,
        wanted=names[0],
    )


# --- What to do next ------------------------------------------------------------------


def _advance(state: State, world: World) -> Step:
    for wish in state.agenda:
        missing = gap(wish, state, world)
        if missing is not None and missing.hopeless:
            note = wording.words("none_at_all", state, world)  # there is nothing to ask about
            state = replace(_without(state, wish), notes=(*state.notes, note))
        elif not wish.problem and missing is None:
            if wish.replaces is not None:
                return _advance(_taking_back(state, wish, world), world)
            return _submitted(state, wish, world)
    return _reply(state, world)


def _taking_back(state: State, wish: Wish, world: World) -> State:
    """First what it replaces is taken back."""
    tool = completing.tool_that("retract", world)
    rest = _without(state, wish).agenda
    if tool is None:
        return replace(state, agenda=rest)
    taking = Wish(number=state.wishes + 1, tool=tool, retracts=wish.replaces)
    after = replace(wish, replaces=None, after=taking.number)
    return replace(state, wishes=taking.number, agenda=(taking, after, *rest))


def _without_it(wish: Wish, gone: Deed) -> Wish:
    """What was taken back is not taken back once more, nor can it be corrected: what is to come
    instead of it comes by itself, and so does what was to change it."""
    if wish.replaces is gone:
        return replace(wish, replaces=None)
    if wish.amends is gone:
        return replace(wish, amends=None, values={**gone.wish.values, **wish.values})
    return wish


def _without(state: State, wish: Wish) -> State:
    return replace(state, agenda=tuple(w for w in state.agenda if w.number != wish.number))


def _submitted(state: State, wish: Wish, world: World) -> Step:
    """The call, unless it was made already in this very turn."""
    rest = tuple(w for w in state.agenda if w.number != wish.number)
    tool, arguments = completing.call(wish, world)
    if wish.many:
        slot = completing.many_slot(world.hints[wish.tool])
        arguments[slot] = wish.many[0]
        others = wish.many[1:]
        if others:
            rest = (replace(wish, many=others), *rest)
        wish = replace(wish, many=(), values={**wish.values, slot: arguments[slot]})
    if (tool, arguments) in state.made:
        return _advance(replace(state, agenda=rest), world)
    made = (*state.made, (tool, arguments))
    state = replace(state, agenda=rest, pending=(wish, tool, arguments), made=made)
    hint = world.hints.get(tool)
    if isinstance(hint, Flow):
        return _carried(state, carrying.begin(hint, arguments, wish.said, state.scene), world)
    return Step(state, (Do(tool, arguments),))


def _carried(state: State, next_: carrying.Step, world: World) -> Step:
    """The next call of a flow; or its end, which is the result of a tool like any other."""
    if isinstance(next_, Point | Story):
        state = replace(state, running=next_.running, scene=next_.running.scene)
        return Step(state, (next_,))
    if isinstance(next_, carrying.Next) and _repeats(next_, state, world):
        return _advance(replace(state, pending=None, running=None), world)
    if isinstance(next_, carrying.Next):
        if _last_call(next_, state, world):
            state = replace(state, made=(*state.made, (next_.tool, dict(next_.arguments))))
        state = replace(state, running=next_.running, scene=next_.running.scene)
        return Step(state, (Do(next_.tool, next_.arguments),))
    assert state.pending is not None
    wish, name, arguments = state.pending
    if (other := _around(next_, state, world)) is not None:
        words = {**arguments, "at_first": next_.result.get("told")}
        state = replace(state, running=carrying.Running(flow=other.name, known={}))
        return _carried(state, carrying.begin(other, words, wish.said, next_.scene), world)
    state = replace(state, running=None, scene=next_.scene)
    if next_.result.get("status") == "general":  # it is about the world, and nothing here
        notes = (*state.notes, str(next_.result.get("told")))
        return _advance(replace(state, pending=None, notes=notes, free=True), world)
    return returned(state, name, arguments, json.dumps(next_.result), world)


def _around(end: carrying.End, state: State, world: World) -> Flow | None:
    """Where a question about the workspace found nothing: how else it is looked for."""
    assert state.pending is not None
    flow = world.hints[state.running.flow if state.running else state.pending[1]]
    if end.result.get("status") != "nothing" or not isinstance(flow, Flow):
        return None
    other = world.hints.get(flow.otherwise)
    return other if isinstance(other, Flow) and other is not flow else None


def _repeats(next_: carrying.Next, state: State, world: World) -> bool:
    """Whether what a flow comes down to was done in this very turn, under another wish."""
    return _last_call(next_, state, world) and (next_.tool, next_.arguments) in state.made


def _last_call(next_: carrying.Next, state: State, world: World) -> bool:
    flow = world.hints[next_.running.flow]
    assert isinstance(flow, Flow)
    return not next_.running.looking and next_.running.stage + 1 == len(flow.stages)


def _reply(state: State, world: World) -> Step:
    """Nothing is left to do but to say what came of it, and to ask for what is missing."""
    parts = [*state.notes, wording.outcome(state.done, state, world)]
    asked: Asked | None = None
    if state.agenda:
        asked, state = _asking(state, world)
        parts.append(_back_to(state.agenda[0], asked, state, world))
    elif state.done and all(d.ok for d in state.done) and wording.friendly(state):
        parts.append(wording.more(state, world))
    text = wording.joined(parts) or wording.words("unclear", state, world)
    acts = [d for d in state.done if d.ok and wording.does(d, world) in ("act", "amend")]
    taken = [d for d in state.done if d.ok and d.wish.retracts is not None]
    if acts or taken:
        state = replace(state, last=tuple(acts), last_turn=state.turn)
    free = state.free and not state.agenda and not state.done
    told = [deed.wish for deed in state.done if world.hints.get(deed.wish.tool) is not None]
    tells = bool(told) and world.hints[told[-1].tool].does == "tell"
    looked = told[-1] if tells else None
    state = replace(state, asked=asked, told=text, done=(), notes=(), free=False, looked=looked)
    return Step(state, (Say(text, free=free),))


def _back_to(wish: Wish, asked: Asked, state: State, world: World) -> str:
    """The question, with what it is about where something else was told before it."""
    title = _known(wish, world.hints[wish.tool], state).get("title")
    if not title or not state.done or title.casefold() in asked.text.casefold():
        return asked.text
    return wording.joined((wording.words("back", state, world, title=title), asked.text))


def _asking(state: State, world: World) -> tuple[Asked, State]:
    """The question for what the open wish lacks; a wish that nothing can be asked of is let go."""
    wish = state.agenda[0]
    missing = gap(wish, state, world) or Gap(slot=wish.wanted, kind="slot")
    asked, wish = _question(wish, missing, state, world)
    state = replace(state, agenda=(wish, *state.agenda[1:]))
    if asked.kind in ("which", "sure") and asked.choices:
        state = replace(state, view=asked.choices)
    return asked, state


def _question(wish: Wish, missing: Gap, state: State, world: World) -> tuple[Asked, Wish]:
    hint = world.hints[wish.tool]
    slot = hint.slots.get(missing.slot, Slot())
    things = [state.things[id_] for id_ in missing.choices if id_ in state.things]
    kind: Literal["slot", "which", "sure"] = (
        "sure" if missing.kind == "sure" else "which" if slot.kind == "thing" else "slot"
    )
    said = wish.problem or wording.asking(
        missing, slot, hint, things, _known(wish, hint, state), state, world
    )
    asked = Asked(
        wish=wish.number,
        kind=kind,
        slot=missing.slot,
        choices=tuple(thing.id for thing in things),
        text=said,
    )
    return asked, replace(wish, asked=(*wish.asked, missing.slot), problem="")


def _known(wish: Wish, hint: Hint, state: State) -> dict[str, Any]:
    """What a question can name: values by parameter and short name, the thing by its title."""
    known: dict[str, Any] = {}
    for name, slot in hint.slots.items():
        value = wish.values.get(name)
        if value is None:
            continue
        if slot.kind == "thing" and str(value) in state.things:
            thing = state.things[str(value)]
            known |= {"title": thing.title, "thing": thing.title, "when": thing.when}
            known |= {name: thing.title, slot.name or name: thing.title}
            continue
        said = wording.inside(str(value)) if slot.kind == "words" else value
        known |= {name: said, slot.name or name: said}
    return known


# --- What the understanding needs -----------------------------------------------------


def own_wish(state: State, said: str) -> bool:
    """Whether somebody who was asked something begins another wish, in so many words: "remind me to
    put the ladder back", asked when the vet is."""
    asked = state.asked
    wish = next((w for w in state.agenda if asked and w.number == asked.wish), None)
    found = titles.asked_for(said)
    if wish is None or found is None or found[0] == found[1]:
        return False
    name = said[found[0] : found[1]]
    known = " ".join(str(v) for v in (*wish.values.values(), *wish.words.values()))
    return titles.says_something(titles.stripped(name)) and not similar(name, known)


def view(state: State, world: World) -> View:
    there = {thing.id: thing for thing in world.briefing.things} | dict(state.things)
    rest = sorted(
        (t for t in there.values() if t.open and t.id not in state.view), key=times.sooner
    )
    shown = [there[id_] for id_ in state.view if id_ in there and there[id_].open] + rest
    wish = next((w for w in state.agenda if state.asked and w.number == state.asked.wish), None)
    about = wish or (state.agenda[0] if state.agenda else None)
    tool = about.tool if about else state.last[-1].wish.tool if state.last else None
    hint = world.hints.get(tool) if tool else None
    asked = hint.slots.get(state.asked.slot) if hint and state.asked else None
    told = state.told
    if state.asked and state.asked.text and state.asked.text not in told:
        told = state.asked.text  # "Take your time" did not answer it
    return View(
        things=shown[:_SHOWN],
        told=told,
        wishes={
            h.wish: [s.name or n for n, s in h.slots.items() if not s.derived]
            for h in world.hints.values()
            if h.wish and h.does in ("act", "tell")
        },
        answers=[s.name or n for n, s in hint.slots.items() if not s.derived] if hint else [],
        asked=(asked.name or state.asked.slot) if asked and state.asked else "",
        yes_no=bool(state.asked) or "?" in state.told,
        undo=bool(state.last),
        drop=bool(state.agenda),
    )
