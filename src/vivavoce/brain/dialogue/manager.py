"""The dialogue manager: what was understood in, what to say or do out. No I/O, no model.

A turn is heard once (`heard`): its commands change the agenda. Whatever is complete is done, one
call at a time, each result comes back (`returned`), and when nothing is left to do the words are
made: one reply for all that came of the turn, with the question for what is missing first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from vivavoce.brain.dialogue import filling, times, wording
from vivavoce.brain.dialogue.commands import Begin, Command, Fill, Plain
from vivavoce.brain.dialogue.filling import Gap, Heard, allotted, gap
from vivavoce.brain.dialogue.state import Asked, Deed, Do, Say, State, Step, View, Wish, World
from vivavoce.language.en import answers
from vivavoce.wire.hints import Hint, Slot, Thing

_REFUSALS = 3
"""After so many the tool will not take it, and the user is told."""
_SHOWN = 8


# --- What is said to us ---------------------------------------------------------------


def heard(state: State, said: str, commands: Sequence[Command], world: World) -> Step:
    return _advance(_Turn(state, said, world).taken(commands), world)


class _Turn:
    """One utterance being worked through."""

    def __init__(self, state: State, said: str, world: World) -> None:
        self.world, self.said = world, said
        notes: tuple[str, ...] = ()
        if state.pending is not None:  # the user went on before the result was there
            notes = (wording.words("unknown", state, world),)
        things = {thing.id: thing for thing in world.briefing.things} | dict(state.things)
        self.asked = state.asked
        self.begun: list[Wish] = []
        self.waiting = list(state.agenda)
        self.state = replace(
            state,
            said=said,
            turn=state.turn + 1,
            done=(),
            notes=notes,
            pending=None,
            things=things,
        )

    def taken(self, commands: Sequence[Command]) -> State:
        settled = self._settled(commands)
        shares = allotted(self.said, settled, self.world)
        for command, spans in zip(settled, shares, strict=True):
            match command:
                case Begin():
                    self._begin(command, spans)
                case Fill():
                    self._fill(command, spans)
                case Plain():
                    self._plain(command)
        unclear = [c for c in settled if isinstance(c, Plain) and c.kind == "unclear"]
        lost = not settled or len(unclear) == len(settled)
        agenda = (*self.begun, *self.waiting)
        return replace(
            self.state, agenda=agenda, asked=None, unclear=self.state.unclear + 1 if lost else 0
        )

    # What the commands mean here

    def _settled(self, commands: Sequence[Command]) -> list[Command]:
        """The commands as the talk makes them: an answer to what was asked is one, whatever the
        model called it."""
        known = [c for c in commands if not isinstance(c, Begin) or self._tool(c.wish) is not None]
        if self.asked is None or self._asked_wish() is None:
            return known
        return [self._as_answer(command) for command in known] or [self._as_answer(_UNCLEAR)]

    def _as_answer(self, command: Command) -> Command:
        asked, wish = self.asked, self._asked_wish()
        assert asked is not None
        assert wish is not None
        hint = self.world.hints[wish.tool]
        slot = hint.slots.get(asked.slot)
        short = (slot.name or asked.slot) if slot else ""
        if isinstance(command, Begin) and slot is not None and command.slots:
            given = filling.params(hint, command.slots, self.world)
            same = self._tool(command.wish) == wish.tool
            only = set(given) == {asked.slot} or all(
                times.only(words) for words in command.slots.values()
            )
            if same and only:
                return Fill(slots={short: " ".join(command.slots.values())})
        if isinstance(command, Plain) and command.kind in ("unclear", "chat") and slot is not None:
            if asked.kind == "slot" and slot.kind == "time" and times.find(self.said):
                return Fill(slots={short: self.said})
            if asked.kind == "which":
                heard = Heard(said=self.said, state=self.state, world=self.world)
                if filling.find_things(slot, self.said, heard).ids:
                    return Fill(slots={short: self.said})
        if asked.kind == "sure" and isinstance(command, Plain):
            answer = answers.answer(self.said)
            if answer and command.kind in ("unclear", "chat", "thanks"):
                return Plain(answer)
        return command

    def _asked_wish(self) -> Wish | None:
        if self.asked is None:
            return None
        return next((w for w in self.waiting if w.number == self.asked.wish), None)

    def _tool(self, wish: str) -> str | None:
        for tool, hint in self.world.hints.items():
            if wish in (hint.wish, tool):
                return tool
        return None

    # Commands

    def _begin(self, command: Begin, spans: Sequence[times.Span]) -> None:
        tool = self._tool(command.wish)
        if tool is None:
            return
        number = self.state.wishes + 1
        self.state = replace(self.state, wishes=number)
        wish = self._filled(Wish(number=number, tool=tool), command.slots, spans)
        self.begun.append(wish)

    def _fill(self, command: Fill, spans: Sequence[times.Span]) -> None:
        wish = self._asked_wish() or next(iter(self.waiting), None)
        if wish is None:
            self._correct(command, spans)
            return
        filled = self._filled(wish, command.slots, spans)
        self.waiting = [filled if w.number == wish.number else w for w in self.waiting]

    def _filled(self, wish: Wish, slots: Mapping[str, str], spans: Sequence[times.Span]) -> Wish:
        given = filling.params(self.world.hints[wish.tool], slots, self.world)
        share = Heard(said=self.said, spans=spans, state=self.state, world=self.world)
        return filling.filled(wish, given, share)

    def _correct(self, command: Fill, spans: Sequence[times.Span]) -> None:
        self._note("nothing_to_change")

    def _plain(self, command: Plain) -> None:
        match command.kind:
            case "yes" | "no":
                self._answered(command.kind == "yes")
            case "drop":
                self._drop()
            case "undo":
                self._undo()
            case "thanks":
                name = self.world.briefing.user
                self._note("bye_named" if name and wording.friendly(self.state) else "bye", name)
            case "cannot":
                self._note("cannot")
            case "chat":
                self._note("chat")
            case "unclear":
                self._note("unclear_again" if self.state.unclear else "unclear")

    def _answered(self, yes: bool) -> None:
        asked, wish = self.asked, self._asked_wish()
        if asked is None or wish is None:
            self._note("okay" if yes else "no_open")
            return
        slot = self.world.hints[wish.tool].slots.get(asked.slot)
        if asked.kind == "sure" and yes:
            self._replace(replace(wish, agreed=True))
        elif not yes and slot is not None and not slot.required and asked.kind == "slot":
            self._replace(replace(wish, asked=(*wish.asked, asked.slot)))
        elif not yes:
            self._drop()

    def _replace(self, wish: Wish) -> None:
        self.waiting = [wish if w.number == wish.number else w for w in self.waiting]

    def _drop(self) -> None:
        wish = self._asked_wish() or next(iter(self.waiting), None)
        self.waiting = [w for w in self.waiting if wish is None or w.number != wish.number]
        self._note("dropped")

    def _undo(self) -> None:
        self._note("nothing_to_undo")

    def _note(self, occasion: str, name: str = "") -> None:
        abilities = wording.abilities(self.world)
        text = wording.words(occasion, self.state, self.world, name=name, abilities=abilities)
        self.state = replace(self.state, notes=(*self.state.notes, text))


_UNCLEAR = Plain("unclear")


# --- What comes back ------------------------------------------------------------------


def returned(
    state: State, tool: str, arguments: Mapping[str, Any], output: str, world: World
) -> Step:
    wish = state.pending[0] if state.pending is not None else None
    if wish is None:
        wish = Wish(number=state.wishes + 1, tool=tool, values=dict(arguments))
        state = replace(state, wishes=wish.number)
    deed = _deed(wish, tool, arguments, output, world)
    state = replace(state, pending=None)
    if not deed.ok and (again := _refused(deed, world)) is not None:
        return _advance(replace(state, agenda=(again, *state.agenda)), world)
    things = {**state.things, **{thing.id: thing for thing in deed.things}}
    state = replace(state, things=things, done=(*state.done, deed))
    if deed.things:
        state = replace(state, view=tuple(thing.id for thing in deed.things))
    return _advance(state, world)


def _deed(wish: Wish, tool: str, arguments: Mapping[str, Any], output: str, world: World) -> Deed:
    hint = world.hints.get(tool)
    try:
        given = json.loads(output)
    except ValueError:
        given = None
    if isinstance(given, dict):
        ok = given.get("success", True) is not False and not given.get("error")
        things = _things(given.get("things")) if ok else ()
        return Deed(wish=wish, tool=tool, arguments=arguments, ok=ok, result=given, things=things)
    words = given if isinstance(given, str) else output
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
    if not isinstance(question, str) or not question.strip():
        return None
    if deed.wish.refused + 1 >= _REFUSALS:
        return None
    slots = world.hints[deed.tool].slots if deed.tool in world.hints else {}
    names = [n for n in missing if n in slots] if isinstance(missing, list) else []
    if not names:
        return None
    values = {k: v for k, v in deed.wish.values.items() if k not in names}
    choices = [thing.id for thing in _things(deed.result.get("choices"))]
    return replace(
        deed.wish,
        values=values,
        refused=deed.wish.refused + 1,
        left=tuple(choices),
        problem=question.strip(),
    )


# --- What to do next ------------------------------------------------------------------


def _advance(state: State, world: World) -> Step:
    for wish in state.agenda:
        if wish.problem or gap(wish, state, world) is not None:
            continue
        return _submitted(state, wish, world)
    return _reply(state, world)


def _submitted(state: State, wish: Wish, world: World) -> Step:
    hint = world.hints[wish.tool]
    rest = tuple(w for w in state.agenda if w.number != wish.number)
    arguments = filling.values(wish, hint)
    if wish.many:
        slot = next(name for name, one in hint.slots.items() if one.kind == "thing" and one.many)
        arguments[slot] = wish.many[0]
        others = wish.many[1:]
        if others:
            rest = (replace(wish, many=others), *rest)
        wish = replace(wish, many=(), values={**wish.values, slot: arguments[slot]})
    state = replace(state, agenda=rest, pending=(wish, wish.tool, arguments))
    return Step(state, (Do(wish.tool, arguments),))


def _reply(state: State, world: World) -> Step:
    """Nothing is left to do but to say what came of it, and to ask for what is missing."""
    parts = [*state.notes, wording.outcome(state.done, state, world)]
    asked: Asked | None = None
    if state.agenda:
        wish = state.agenda[0]
        missing = gap(wish, state, world) or Gap(slot="", kind="slot", question=wish.problem)
        asked, wish = _question(wish, missing, state, world)
        parts.append(asked.text)
        state = replace(state, agenda=(wish, *state.agenda[1:]))
        if asked.kind in ("which", "sure"):
            state = replace(state, view=asked.choices)
    elif state.done and all(d.ok for d in state.done) and wording.friendly(state):
        parts.append(wording.words("more", state, world))
    text = wording.joined(parts)
    if not text:
        text = wording.words("unclear", state, world)
    submitted = tuple(
        d for d in state.done if d.ok and world.hints[d.tool].does in ("act", "amend")
    )
    state = replace(state, asked=asked, told=text, last=submitted or state.last, done=(), notes=())
    return Step(state, (Say(text),))


def _question(wish: Wish, missing: Gap, state: State, world: World) -> tuple[Asked, Wish]:
    hint = world.hints[wish.tool]
    slot = hint.slots.get(missing.slot, Slot())
    known = _known(wish, hint, state)
    things = [state.things[id_] for id_ in missing.choices if id_ in state.things]
    choices = wording.listed(wording.named(things[:_SHOWN]), "or")
    said = wish.problem
    if not said and missing.kind == "sure":
        count = f"{len(things)} things"
        said = wording.words("sure", state, world, count=count, choices=choices, wish=hint.wish)
    elif not said and missing.kind == "which":
        said = wording.words("which", state, world, choices=choices)
    elif not said and missing.kind == "none":
        said = wording.words("none" if things else "none_at_all", state, world, choices=choices)
    elif not said and missing.part:
        said = wording.words(missing.part, state, world)
    said = said or wording.question(slot, known, state, world)
    kind: Literal["slot", "which", "sure"] = (
        "sure" if missing.kind == "sure" else "which" if slot.kind == "thing" else "slot"
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
            continue
        known |= {name: value, slot.name or name: value}
    return known


# --- What the understanding needs -----------------------------------------------------


def view(state: State, world: World) -> View:
    there = {thing.id: thing for thing in world.briefing.things} | dict(state.things)
    rest = sorted(
        (t for t in there.values() if t.open and t.id not in state.view),
        key=lambda t: (t.at is None, t.at.timestamp() if t.at else 0.0),
    )
    shown = [there[id_] for id_ in state.view if id_ in there and there[id_].open] + rest
    wish = next((w for w in state.agenda if state.asked and w.number == state.asked.wish), None)
    about = wish or (state.agenda[0] if state.agenda else None)
    tool = about.tool if about else state.last[-1].tool if state.last else None
    hint = world.hints.get(tool) if tool else None
    asked = hint.slots.get(state.asked.slot) if hint and state.asked else None
    return View(
        things=shown[:_SHOWN],
        told=state.told,
        wishes={
            h.wish: [s.name or n for n, s in h.slots.items() if not s.derived]
            for h in world.hints.values()
            if h.does in ("act", "tell")
        },
        answers=[s.name or n for n, s in hint.slots.items() if not s.derived] if hint else [],
        asked=(asked.name or state.asked.slot) if asked and state.asked else "",
        yes_no=bool(state.asked),
        undo=bool(state.last),
        drop=bool(state.agenda),
    )
