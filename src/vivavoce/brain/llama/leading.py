"""Talks that are led: the model says what was meant, the manager what is done and said.

For a model that is not trusted to hold the thread by itself. An utterance becomes commands
(`dialogue.prompting`, and how near it is to lines whose meaning is known); what follows from them
is the manager's (`dialogue.manager`), and after a tool's result no model is asked at all. Only
small talk, and what a client asks to be said in words of its own, is written freely.

Owns what earlier utterances were understood as, for as long as their talk lives: a guess at what
will be said and the same words afterwards are the same question.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import datetime
from typing import Any, Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from vivavoce.brain.dialogue import marked, prompting
from vivavoce.brain.dialogue.commands import Begin, Command, Plain
from vivavoce.brain.dialogue.flows.carrying import Point, Story
from vivavoce.brain.dialogue.following import awaited, follow
from vivavoce.brain.dialogue.manager import (
    Chosen,
    heard,
    own_wish,
    pointed,
    pointing,
    returned,
    view,
)
from vivavoce.brain.dialogue.prompting import Likely
from vivavoce.brain.dialogue.state import (
    Do,
    Say,
    State,
    Step,
    View,
    World,
    changers,
    makers,
    plain,
)
from vivavoce.brain.dialogue.state import world as world_of
from vivavoce.brain.llama.likeness import Likeness
from vivavoce.brain.llama.reader import Reader
from vivavoce.brain.llama.server import Heard
from vivavoce.language.en.denying import undenied
from vivavoce.language.en.sayings import SAYINGS
from vivavoce.language.en.utterances import asks, questions, repaired
from vivavoce.wire.brain import (
    Ask,
    Awaited,
    CallArguments,
    CallBegun,
    CallEnded,
    Finished,
    Piece,
    Said,
    Tool,
    Words,
)
from vivavoce.wire.hints import KEY, Flow
from vivavoce.wire.values import Value

_LINE = 96
"""Tokens of one line of commands."""
_POINTED = 16
_TOLD = 48
"""Tokens of an answer that only points."""
_SHORT = 6
"""Words; so few hold no second wish after a plain answer."""
_MOST_KNOWN, _MOST_TALKS = 256, 64
_FREE_TURNS, _FREE_CHARS = 6, 700
_THINGS = 12
"""Of the user's things, that a reader sees."""
_SURE, _SURE_ENOUGH_TO_LOOK, _SURE_TO_LOSE = 0.6, 0.25, 0.9
"""Where a reader is less certain than this, the language model is asked; of what could lose
something, whether it is meant at all."""
_NOTHING = ("cannot", "chat", "unclear")
_NEAR, _NEARER = 0.25, 0.05
"""How near what was said must be to what another tool is for, to mean it, and how much nearer than
to what the reader took it for."""
_MORE = 2
"""Orders of one utterance that are asked about once more, where the model passed over them."""
_MARKS = {"system": prompting.SYSTEM, "user": prompting.USER, "assistant": prompting.ASSISTANT}
_WANTED: Mapping[str, Awaited] = {
    "time": "time",
    "repeat": "recurrence",
    "number": "number",
    "thing": "name",
    "file": "name",
}
"""By the kind of the slot that was asked for."""
_FREELY = (
    "Answer in one or two short sentences, plain words, no lists, no markup. You have done nothing "
    "yet and you promise nothing. What you do not know you say you do not know."
)


class Writing(Protocol):
    """The model's place for one talk, while it is held."""

    async def likely(self, text: str) -> tuple[Mapping[int, float], Heard]:
        """What it would write first after the text: log-probabilities by token."""
        ...

    async def line(self, text: str, grammar: str, most: int) -> tuple[str, Heard]: ...


class Model(Protocol):
    def writing(self, live: str, text: str) -> AbstractAsyncContextManager[Writing]: ...

    async def tokenize(self, text: str) -> list[int]: ...

    def begun(self, live: str, text: str) -> int:
        """How many letters of it need not be read any more."""
        ...


class Free(Value):
    """To be said in words of the model's own, or, where it cannot, in these."""

    instead: str
    prompt: str


class Write(Value):
    """This tool is meant, and its arguments cannot be words that were said: the model has to write
    them. That is the whole answer."""

    tool: Tool


class Leading:
    def __init__(
        self,
        model: Model,
        likeness: Likeness | None = None,
        readers: Sequence[Reader] = (),
        *,
        now: Callable[[ZoneInfo], datetime] = datetime.now,
    ) -> None:
        self._model, self._likeness, self._readers = model, likeness, readers
        self._now = now
        """How this model's messages look, once it is known."""
        self._known: OrderedDict[str, dict[tuple[str, str], tuple[Command, ...]]] = OrderedDict()
        self._choices: dict[str, dict[str, Chosen]] = {}
        """By talk: which lines the model pointed at, and which sums it made."""
        self._firsts: dict[str, int] = {}
        self._lines: tuple[str, dict[str, list[str]]] = "", {}

    def leads(self, ask: Ask) -> bool:
        """Is it a talk with tools that say how they are wished for, left to us as a whole?"""
        return ask.tool_choice == "auto" and any(KEY in (t.parameters or {}) for t in ask.tools)

    def forget(self, live: str) -> None:
        self._known.pop(live, None)
        self._choices.pop(live, None)

    # --- Answering --------------------------------------------------------------------

    async def answer(self, ask: Ask) -> AsyncGenerator[Piece | Free | Write, None]:
        """What to say or call."""
        world = self._world(ask)
        state = self._state(ask, world)
        cost = Heard("")
        if (result := awaited(ask)) is not None:
            step = await self._pointed(ask, returned(state, *result, world), world)
        else:
            said = _words(ask)
            commands, cost = await self._understood(ask, state, world, said)
            if (written := _to_write(commands, ask, world)) is not None:
                yield Write(written)
                return
            step = await self._pointed(ask, heard(state, said, commands, world), world)
        for act in step.acts:
            match act:
                case Say(text, free=True) if "chat" not in world.briefing.words:
                    yield Free(text, self.freely(ask))
                case Say(text):
                    yield Words(text)
                case Do(tool, arguments):
                    for piece in _call(tool, arguments):
                        yield piece
        used = cost.input_tokens, cost.cached_tokens, cost.output_tokens
        yield Finished("stop", *used, awaits=_awaits(step.state, world))

    def answers(self, ask: Ask) -> bool:
        """Somebody said something, or a tool returned: else it is to speak by itself."""
        if awaited(ask) is not None:
            return True
        turn = ask.turns[-1] if ask.turns else None
        return isinstance(turn, Said) and turn.role == "user"

    def freely(self, ask: Ask) -> str:
        """The prompt of words of its own: short, since nothing of it was read before."""
        briefing = self._world(ask).briefing
        about = ask.instructions.strip()
        if len(about) > _FREE_CHARS:
            about = about[:_FREE_CHARS].rpartition("\n\n")[0] or about[:_FREE_CHARS]
        who = f" The user is called {briefing.user}." if briefing.user else ""
        talk = [turn for turn in ask.turns if isinstance(turn, Said)][-_FREE_TURNS:]
        told = [Said("system", f"{about}\n\n{_FREELY}{who}")]
        if talk and talk[-1].role != "user":
            # It speaks by itself: what it was told to say comes last, or the talk would go on.
            told = [Said("system", f"{_FREELY}{who}"), *talk, Said("user", about)]
        else:
            told += talk
        text = ""
        for at, turn in enumerate(told):
            # Few templates have a place for a note in the middle.
            role = "user" if turn.role == "system" and at else turn.role
            before, after = _MARKS[role]
            text += f"{before}{prompting.safe(turn.text[-_FREE_CHARS * 2 :])}{after}"
        return text + prompting.ASSISTANT[0]

    async def _pointed(self, ask: Ask, step: Step, world: World) -> Step:
        """A step whose lines somebody has read: the model says which are meant."""
        while (point := pointing(step)) is not None:
            chosen = self._choices.setdefault(ask.live, {})
            if (found := chosen.get(point.key)) is None:
                flow = world.hints.get(point.running.flow)
                tells = isinstance(flow, Flow) and flow.does == "tell"
                if isinstance(point, Story):
                    found = await self._sum_of(ask.live, point)
                else:
                    found = await self._lines_meant(ask.live, point, tells)
                while len(chosen) >= _MOST_KNOWN:
                    chosen.pop(next(iter(chosen)))
                chosen[point.key] = found
            step = pointed(step, found, world)
        return step

    async def _sum_of(self, live: str, story: Story) -> str:
        """The sum that answers, by the model; what it cannot be is found out by who asked."""
        text = prompting.reckoning(story.text)
        async with self._model.writing(live, text) as writing:
            line, _ = await writing.line(text, prompting.SUM, _TOLD)
        return line.strip()

    async def _lines_meant(self, live: str, point: Point, tells: bool) -> tuple[int, ...]:
        """Which of these lines are meant, by what the model makes of them and by their words. Of
        what is asked it writes the answer, and the lines are those that have it: a small model
        finds words better than letters. Where its answer is on none of them it points."""
        near: Sequence[float] = ()
        if self._likeness is not None and prompting.too_long(point.lines):
            near = await self._likeness.nearness(point.question, [m.text for m in point.lines])
        lines = prompting.lines(point.question, point.lines, point.overlap(), near)
        if tells:
            async with self._model.writing(live, lines.telling) as writing:
                answer, _ = await writing.line(lines.telling, prompting.TOLD, _TOLD)
            found = lines.saying(answer)
            if found or answer.strip() == prompting.NONE:
                return found
        async with self._model.writing(live, lines.prompt) as writing:
            firsts = {mark: await self._first(mark) for mark in lines.marks}
            likely, _ = await writing.likely(lines.prompt)
            by_model = {mark: likely[token] for mark, token in firsts.items() if token in likely}
            if (first := lines.best(by_model)) == prompting.NONE:
                return ()
            written, _ = await writing.line(lines.prompt, lines.grammar(first), _POINTED)
        return lines.read(written or first)

    async def _understood(
        self, ask: Ask, state: State, world: World, said: str
    ) -> tuple[tuple[Command, ...], Heard]:
        known = self._known.setdefault(ask.live, {})
        self._known.move_to_end(ask.live)
        while len(self._known) > _MOST_TALKS:
            gone, _ = self._known.popitem(last=False)
            self._choices.pop(gone, None)
        key = (_told_before(ask, len(ask.turns) - 1), said)
        if (found := known.get(key)) is not None:
            return found, Heard("")
        if not prompting.clean(said):
            return (Plain("unclear"),), Heard("")
        said = undenied(said)
        (made, doubted), cost = await self._marked(state, world, said), Heard("")
        if not made or doubted:
            said = repaired(said)
            seen = view(state, world)
            if own_wish(state, said):
                seen = replace(seen, told="", answers=(), asked="", yes_no=False)
            seen = prompting.narrowed(seen, said, list(world.hints.values()))
            other, cost = await self._translated(ask.live, seen, world, said)
            made = prompting.agreed(made, doubted, other)
        while len(known) >= _MOST_KNOWN:
            known.pop(next(iter(known)))
        known[key] = made
        return made, cost

    def _reader(self, world: World) -> Reader | None:
        """One that knows all that can be wished for here, of tools that tell how."""
        able = {h.wish for h in world.hints.values() if h.wish and h.does in ("act", "tell")}
        return next((one for one in self._readers if one.knows(able - _others(world))), None)

    async def _marked(
        self, state: State, world: World, said: str
    ) -> tuple[tuple[Command, ...], frozenset[str]]:
        """What a reader for these wishes makes of it; nothing where there is none, where it is not
        sure, or where another tool than it knows may be meant. And which of it must not be done
        on its word alone: something could be lost, and it is not quite sure."""
        if (reader := self._reader(world)) is None or _asks_for_other(state, world):
            return (), frozenset()
        seen = view(state, world)
        things = [prompting.shown_thing(thing, world.now) for thing in seen.things[:_THINGS]]
        kinds: dict[str, str] = {}
        for hint in world.hints.values():
            for name, slot in hint.slots.items():
                # What some call words is a time where others know it for one.
                if kinds.get(slot.name or name) != "time":
                    kinds[slot.name or name] = slot.kind
        slots = {**seen.wishes, marked.SET: marked.answering(seen.answers, kinds)}
        said = prompting.clean(said)
        # Who is greeted with a question has been asked for nothing yet; and a whole wish of its
        # own is no answer to what was asked.
        new = not seen.answers or own_wish(state, said)
        told, without = ("", (marked.SET,)) if new else (seen.told, ())
        read = await reader.read(said, told, things, slots, without)
        made = marked.commands(said, read.wishes, seen.wishes, seen.answers, kinds)
        if read.sure < (_SURE_ENOUGH_TO_LOOK if _only_asks(made, world) else _SURE):
            return (), frozenset()
        if await self._of_others(made, world, said):
            return (), frozenset()
        careful = {h.wish for h in world.hints.values() if h.careful and isinstance(h, Flow)}
        begun = {one.wish for one in made if isinstance(one, Begin)}
        return made, frozenset(careful & begun) if read.sure < _SURE_TO_LOSE else frozenset()

    async def _of_others(self, made: Sequence[Command], world: World, said: str) -> bool:
        """Whether a tool that a reader does not know is meant rather than what it has read: that
        is near, and nearer than all it knows, or it has found nothing that could be done."""
        if not (others := _others(world)):
            return False
        nothing = all(isinstance(one, Plain) and one.kind in _NOTHING for one in made)
        near = await self._near(said, [*self._sayings(world)], world)
        theirs = max((near[one] for one in others if one in near), default=0.0)
        able = near.keys() - others - {*_NOTHING}
        own = max((near[one] for one in able), default=0.0)
        least = _NEAR if nothing else max(_NEAR, own + _NEARER)
        return theirs >= least or (nothing and not near)

    async def _translated(
        self, live: str, seen: View, world: World, said: str
    ) -> tuple[tuple[Command, ...], Heard]:
        """Each wish of one breath by itself."""
        stretches = prompting.apart(seen, said, world.hints.values())
        if len(stretches) == 1:
            return await self._read(live, seen, world, said)
        made: tuple[Command, ...] = ()
        cost, before = Heard(""), ""
        for stretch in stretches:
            mine = prompting.narrowed(seen, stretch, list(world.hints.values()))
            same = prompting.one_more(stretch, made)
            found, used = await self._read(live, mine, world, stretch, before, same)
            cost, before = cost if before else used, f"{before} {stretch}".strip()
            made += tuple(replace(c, said=stretch) if isinstance(c, Begin) else c for c in found)
        return made, cost

    async def _read(
        self, live: str, seen: View, world: World, said: str, before: str = "", same: str = ""
    ) -> tuple[tuple[Command, ...], Heard]:
        made, cost = await self._commands(live, seen, world, said, before, same)
        made = prompting.whole_list(said, made, world.hints.values())
        for clause in prompting.left_out(said, made, seen.things)[:_MORE]:
            more, _ = await self._commands(live, seen, world, clause)
            hints = world.hints.values()
            new = (one for one in more if prompting.settled(one, clause, hints))
            made += tuple(one for one in new if one not in made)
        return made, cost

    async def _commands(
        self, live: str, seen: View, world: World, said: str, before: str = "", same: str = ""
    ) -> tuple[tuple[Command, ...], Heard]:
        words = (same,) if same else prompting.candidates(seen, said)
        head = self._head_now(live, world)
        text = head + prompting.tail(seen, said, world.now)
        async with self._model.writing(live, text) as writing:
            asked = bool(seen.asked)
            first, cost = await self._chosen(writing, text, said, words, seen, world, asked=asked)
            if first in prompting.PLAIN and len(said.split()) <= _SHORT:
                return prompting.read(first, seen), cost
            line, _ = await writing.line(text, prompting.grammar(seen, said, [first]), _LINE)
            # Each of several is asked about by its own clause: a small model repeats itself.
            told = {hint.wish for hint in world.hints.values() if hint.does == "tell"}
            for at in range(prompting.MOST_COMMANDS):
                parts = prompting.parts(line)
                if len(parts) <= max(at, 1):
                    break
                if at == 0 and first not in seen.wishes:
                    continue
                written = prompting.joined(parts[:at])
                about = prompting.clause(parts[at], said, parts[:at] or parts[1:])
                asking = told if not questions(about) else set[str]()
                more = [w for w in words if (w in seen.wishes or w == prompting.SET)]
                more = [w for w in more if w not in asking] or more
                first_, _ = await self._chosen(
                    writing, text + written, about, more, seen, world, short=True
                )
                if first_ != prompting.word(parts[at]):
                    rules = prompting.grammar(seen, said, [first_], at)
                    rest, _ = await writing.line(text + written, rules, _LINE)
                    line = written + rest
            made = prompting.grounded(prompting.read(line, seen), said)
            for at, command in enumerate(made):
                named = await self._named(head, writing, said, before, command, seen, world)
                made = (*made[:at], named, *made[at + 1 :])
        # A grammar that could not be kept would leave nothing: what was chosen still holds.
        return made or prompting.read(first, seen), cost

    async def _named(
        self,
        head: str,
        writing: Writing,
        said: str,
        before: str,
        command: Command,
        seen: View,
        world: World,
    ) -> Command:
        """ "The report won't write itself. Tell me to start on it": what "it" is, the model copies
        from what was said before."""
        hints = world.hints.values()
        if (pointing := prompting.pointing(command, said, hints, before)) is None:
            return command
        short, there = pointing
        assert isinstance(command, Begin)
        text = head + prompting.tail(seen, f"{before} {said}".strip(), world.now)
        line, _ = await writing.line(text, prompting.naming(command, short, there), _LINE)
        found = prompting.grounded(prompting.read(line, seen), there)
        name = next((one.slots.get(short, "") for one in found if isinstance(one, Begin)), "")
        return prompting.with_name(command, short, name, there)

    async def _chosen(
        self,
        writing: Writing,
        text: str,
        said: str,
        words: Sequence[str],
        seen: View,
        world: World,
        *,
        asked: bool = False,
        short: bool = False,
    ) -> tuple[str, Heard]:
        """Which word is to be written next, by the model and by examples."""
        hints = world.hints.values()
        words = prompting.settled_by(said, words, seen.things, hints, asked=bool(seen.asked))
        # In the middle of a line a model writes a word with the space before it.
        space = " " if text.endswith(" ") else ""
        firsts = {word: await self._first(space + word) for word in words}
        async with asyncio.TaskGroup() as group:
            near = group.create_task(self._near(said, words, world))
            sort = group.create_task(self._sort(said, words, world))
            likely, cost = await writing.likely(text.removesuffix(space))
        by_model = {word: likely[token] for word, token in firsts.items() if token in likely}
        both = Likely(by_model=by_model, by_examples=near.result(), by_sort=sort.result())
        # Who only looks can be asked to.
        looks = {hint.wish for hint in world.hints.values() if isinstance(hint, Flow) and hint.menu}
        doing = {hint.wish for hint in world.hints.values() if hint.does == "act"} - looks
        unlikely = doing if asks(said) and not asked else frozenset[str]()
        there = frozenset[str]()
        if not asked and prompting.spoken_of(said, seen):
            there = makers(world) - prompting.called(said)
        missing = frozenset[str]() if asked or seen.things else changers(world)
        picked = prompting.chosen(
            both,
            words,
            asked=asked,
            unlikely=unlikely,
            there=there,
            missing=missing,
            short=short,
        )
        return picked, cost

    async def _near(self, said: str, words: Sequence[str], world: World) -> Mapping[str, float]:
        if self._likeness is None:
            return {}
        lines = self._sayings(world)
        near = await self._likeness.near(prompting.sentences(said), lines)
        return {word: near[word] for word in words if word in near}

    async def _sort(self, said: str, words: Sequence[str], world: World) -> Mapping[str, float]:
        """By what tells the examples apart, where there are wishes enough to be told apart."""
        if self._likeness is None or not any(isinstance(h, Flow) for h in world.hints.values()):
            return {}
        made = await self._likeness.sort(prompting.clean(said), self._sayings(world))
        return {word: made[word] for word in words if word in made}

    def _sayings(self, world: World) -> dict[str, list[str]]:
        head = self._head(world)
        if self._lines[0] != head:
            self._lines = head, prompting.sayings(world.hints.values(), SAYINGS, _others(world))
        return self._lines[1]

    async def _first(self, word: str) -> int:
        if word not in self._firsts:
            self._firsts[word] = (await self._model.tokenize(word))[0]
        return self._firsts[word]

    # --- Reading ahead ----------------------------------------------------------------

    async def ahead(self, ask: Ask) -> str:
        """How the next question will begin, as far as it is known."""
        world = self._world(ask)
        head = self._head(world)
        if self._likeness is not None and not ask.turns:
            await self._likeness.prepare(self._sayings(world))
        if not ask.turns or not ask.live or self._reader(world) is not None:
            return head  # a reader needs no reading ahead
        turn = ask.turns[-1]
        spoken = isinstance(turn, Said) and turn.role == "user"
        whole = ask if spoken else Ask(ask.instructions, (*ask.turns, Said("user", "")), ask.tools)
        state = self._state(whole, world)
        seen = view(state, world)
        said = _words(whole) if spoken else ""
        return head + prompting.beginning(seen, said, world.now)

    def besides(self, ask: Ask) -> tuple[str, ...]:
        """The beginnings of other questions that such talks ask: about lines of files."""
        points = any(isinstance(one, Flow) for one in self._world(ask).hints.values())
        return (prompting.TELLING, prompting.POINTING, prompting.RECKONING) if points else ()

    def _head_now(self, live: str, world: World) -> str:
        """As much of it as need not be waited for."""
        head = self._head(world)
        return prompting.shortened(head, self._model.begun(live, head))

    def _head(self, world: World) -> str:
        return prompting.head(world.hints.values())

    # --- The talk ---------------------------------------------------------------------

    def _world(self, ask: Ask) -> World:
        made = world_of(ask.tools, self._now(ZoneInfo("UTC")))
        try:
            zone = ZoneInfo(made.briefing.time_zone)
        except (ZoneInfoNotFoundError, ValueError):
            return made
        return replace(made, now=made.now.astimezone(zone))

    def _state(self, ask: Ask, world: World) -> State:
        known = self._known.get(ask.live, {})

        def commands(at: int) -> tuple[Command, ...] | None:
            turn = ask.turns[at]
            assert isinstance(turn, Said)
            return known.get((_told_before(ask, at), turn.text))

        chosen = self._choices.get(ask.live, {})
        return follow(ask, world, commands, lambda point: chosen.get(point.key))


def _only_asks(commands: Sequence[Command], world: World) -> bool:
    """Whether nothing comes of it but that something is looked up: a mistake does no harm."""
    told = {hint.wish for hint in world.hints.values() if hint.does == "tell"}
    begun = [one for one in commands if isinstance(one, Begin)]
    return bool(begun) and all(
        one.wish in told if isinstance(one, Begin) else one == Plain("chat") for one in commands
    )


def _others(world: World) -> frozenset[str]:
    """What can be wished for of tools that say nothing of how."""
    return frozenset(world.hints[tool].wish for tool in world.plain)


def _asks_for_other(state: State, world: World) -> bool:
    asked = state.asked
    return asked is not None and any(
        wish.tool in world.plain for wish in state.agenda if wish.number == asked.wish
    )


def _told_before(ask: Ask, at: int) -> str:
    before = (t for t in reversed(ask.turns[:at]) if isinstance(t, Said) and t.role == "assistant")
    return next((turn.text for turn in before), "")


def _awaits(state: State, world: World) -> Awaited | None:
    """What kind of answer the question that was asked wants."""
    asked = state.asked
    wish = (
        None if asked is None else next((w for w in state.agenda if w.number == asked.wish), None)
    )
    if asked is None or wish is None:
        return None
    if asked.kind == "sure":
        return "yes_no"
    if asked.kind == "which":
        return "name"
    slot = world.hints[wish.tool].slots.get(asked.slot) if wish.tool in world.hints else None
    return _WANTED.get(slot.kind, "words") if slot is not None else "words"


def _words(ask: Ask) -> str:
    turn = ask.turns[-1]
    return turn.text if isinstance(turn, Said) else ""


def _to_write(commands: Sequence[Command], ask: Ask, world: World) -> Tool | None:
    """A tool without hints that needs a list or an object."""
    begun = next((one.wish for one in commands if isinstance(one, Begin)), None)
    for tool in ask.tools if begun else ():
        schema = tool.parameters or {}
        if KEY not in schema and world.hints[tool.name].wish == begun:
            properties = schema.get("properties") or {}
            required = schema.get("required") or ()
            needed = (plain(properties.get(name, {}), schema) for name in required)
            return tool if any(_is_made(one) for one in needed) else None
    return None


def _is_made(schema: Any) -> bool:
    """Of several parts: nobody says such a value."""
    kinds = schema.get("type") if isinstance(schema, Mapping) else None
    return kinds not in ("string", "number", "integer", "boolean") and "enum" not in (schema or ())


def _call(tool: str, arguments: Mapping[str, object]) -> Iterator[Piece]:
    call_id = f"call_{secrets.token_hex(8)}"
    yield CallBegun(call_id, tool)
    yield CallArguments(call_id, json.dumps(arguments, ensure_ascii=False))
    yield CallEnded(call_id)
