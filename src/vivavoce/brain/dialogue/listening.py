"""What the commands of one utterance mean in this talk. They change the agenda; nothing is done.

The model sees one utterance; here is what it cannot know. An answer to what was asked is one,
whatever the model called it; a correction is of what is open or was submitted last; "no" beside
something that is to be is not the end of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from vivavoce.brain.dialogue import completing, filling, times, titles, wording
from vivavoce.brain.dialogue.commands import Begin, Command, Fill, Plain
from vivavoce.brain.dialogue.filling import Heard, allotted, paired
from vivavoce.brain.dialogue.offering import makes
from vivavoce.brain.dialogue.state import Deed, State, Wish, World
from vivavoce.brain.dialogue.things import named, same_title, similar
from vivavoce.language.en import answers, utterances
from vivavoce.language.en.ending import ending
from vivavoce.language.en.mentions import places_in
from vivavoce.language.en.words import STOP
from vivavoce.wire.hints import Hint, Slot

_UNCLEAR = Plain("unclear")
_BROKEN = 3
"""Words before the place where somebody broke off."""
_ELLIPTIC = 6
"""Words; more than that are a sentence of their own."""


def listened(state: State, said: str, commands: Sequence[Command], world: World) -> State:
    return _Turn(state, said, world).taken(commands)


def _ends_in(words: str, last: str) -> bool:
    """Whether these words are among the last that were said."""
    return bool(words.split()) and words.rsplit(maxsplit=1)[-1] in last.split()


class _Turn:
    """One utterance being worked through."""

    def __init__(self, state: State, said: str, world: World) -> None:
        self.world, self.said = world, said
        notes: tuple[str, ...] = ()
        if state.pending is not None:  # the user went on before the result was there
            notes = (wording.words("unknown", state, world),)
        things = {thing.id: thing for thing in world.briefing.things} | dict(state.things)
        self.asked = state.asked
        self.before = state
        self.begun: list[Wish] = []
        self.doing = False
        self.waiting = list(state.agenda)
        self.state = replace(
            state,
            said=said,
            turn=state.turn + 1,
            made=(),
            done=(),
            notes=notes,
            pending=None,
            running=None,
            things=things,
            asked=None,
            free=False,
        )

    def taken(self, commands: Sequence[Command]) -> State:
        settled = paired(self.said, self._settled(commands), self.world)
        if not settled:
            self._note("okay")
        self.doing = any(isinstance(c, Begin | Fill) for c in settled)
        shares = allotted(self.said, settled, self.world)
        for command, spans in zip(settled, shares, strict=True):
            match command:
                case Begin():
                    self._begin(command, spans)
                case Fill():
                    self._fill(command, spans)
                case Plain():
                    self._plain(command.kind)
        lost = bool(settled) and all(c == _UNCLEAR for c in settled)
        return replace(
            self.state,
            agenda=(*self.begun, *self.waiting),
            unclear=self.state.unclear + 1 if lost else 0,
            free=bool(settled) and all(c == Plain("chat") for c in settled),
        )

    # --- What the commands mean here --------------------------------------------------

    def _settled(self, commands: Sequence[Command]) -> list[Command]:
        if answers.wants_no_more(self.said):  # whatever the model hears in it
            return [Plain("no")]
        if (again := self._asked_again(commands)) is not None:
            return [again]
        known: list[Command] = []
        for command in commands:
            seen = self._seen(self._by_name(command) if len(commands) > 1 else command)
            if seen is not None and seen not in known:
                known.append(seen)
        if len(known) > 1:
            known = self._once_each([c for c in known if not self._titled_by_time(c)] or known)
        if self._asked_wish() is not None:
            known = [self._as_answer(command) for command in known or [_UNCLEAR]]
        elif not self._pleased() and (correction := self._unmarked(known)) is not None:
            known = [correction]
        elif known and all(isinstance(c, Plain) for c in known) and self._pleased():
            return []
        elif not known:
            known = [_UNCLEAR]
        known = self._named_by_asking(self._of_what_is_there(known))
        # Beside something that is wanted, the rest is manners.
        acts = [c for c in known if not isinstance(c, Plain) or c.kind in ("undo", "drop")]
        wanted = any(isinstance(c, Begin | Fill) for c in acts)
        if wanted:
            return [c for c in acts if c != Plain("drop")] if self._asked_wish() is None else acts
        return acts or known

    def _seen(self, command: Command) -> Command | None:
        """A command that means something: with wishes that there are."""
        if isinstance(command, Fill):
            return command if any(words.strip() for words in command.slots.values()) else None
        if not isinstance(command, Begin):
            return command
        tool = self._tool(command.wish)
        if tool is None:
            return None
        does = self.world.hints[tool].does
        if does == "retract":
            return Plain("undo")
        if does == "amend":
            return Fill(command.slots) if command.slots else None
        return self._corrected(command, tool)

    def _by_name(self, command: Command) -> Command:
        """Of several wishes in one breath a model tends to take all for the first kind: one that is
        called by its name in its own sentence ("… and remind me to …") is of that kind."""
        tool = self._tool(command.wish) if isinstance(command, Begin) else None
        if tool is None or not isinstance(command, Begin):
            return command
        words = [
            words
            for name, words in filling.params(
                self.world.hints[tool], command.slots, self.world
            ).items()
            if self._slot(tool, name).kind == "words"
        ]
        at = self.said.casefold().find(words[0].casefold()) if words else -1
        if at < 0:
            return command
        sentence = re.split(r"[.!?;]\s", self.said[:at])[-1]
        said = set(re.findall(r"[^\W_]+", sentence.casefold()))
        called = [
            hint.wish
            for hint in self.world.hints.values()
            if hint.wish in said and makes(hint) and makes(self.world.hints[tool])
        ]
        if len(called) == 1 and self.world.hints[tool].wish not in said:
            return Begin(called[0], command.slots)
        return command

    def _titled_by_time(self, command: Command) -> bool:
        """A wish for something new that is called by a time: a model made it of a piece of one."""
        tool = self._tool(command.wish) if isinstance(command, Begin) else None
        if tool is None or not isinstance(command, Begin) or not makes(self.world.hints[tool]):
            return False
        given = filling.params(self.world.hints[tool], command.slots, self.world)
        for name, words in given.items():
            at = self.said.casefold().find(words.casefold())
            if self._slot(tool, name).kind == "words" and at >= 0:
                end = at + len(words)
                spans = times.find(self.said)
                inside = sum(max(0, min(s.end, end) - max(s.start, at)) for s in spans)
                return 2 * inside >= len(words)
        return False

    def _once_each(self, commands: list[Command]) -> list[Command]:
        """One thing is done to each of the user's things: what was understood first. Who is named
        by a time that nothing has is the only thing that is spoken of."""
        open_ = [thing for thing in self.state.things.values() if thing.open]
        spoken_of = named(self.said, open_)
        known: list[Command] = []
        done: set[str] = set()
        for command in commands:
            about = self._about(command)
            if about is None or not isinstance(command, Begin):
                known.append(command)
                continue
            short, ids = about
            if not ids and times.only(command.slots[short]) and len(spoken_of) == 1:
                ((id_, (start, end)),) = spoken_of.items()
                command = Begin(command.wish, {**command.slots, short: self.said[start:end]})
                ids = (id_,)
            if len(ids) != 1 or ids[0] not in done:
                known.append(command)
            done.update(ids if len(ids) == 1 else ())
        return known

    def _about(self, command: Command) -> tuple[str, tuple[str, ...]] | None:
        """The slot for the thing that something shall be done to, and which its words mean."""
        tool = self._tool(command.wish) if isinstance(command, Begin) else None
        if tool is None or not isinstance(command, Begin) or self.world.hints[tool].does != "act":
            return None
        for name, slot in self.world.hints[tool].slots.items():
            words = command.slots.get(slot.name or name, "")
            if slot.kind == "thing" and slot.required and words:
                share = Heard(said="", state=self.state, world=self.world)
                return slot.name or name, filling.find_things(slot, words, share).ids
        return None

    def _asked_again(self, commands: Sequence[Command]) -> Begin | None:
        """ "And on Friday?", "what about the other file?": the last question, of something else."""
        elliptic = utterances.elliptic(self.said)
        wish = self.before.looked
        if elliptic is None or wish is None or self.asked is not None or self.waiting:
            return None
        hint, (rest, inside) = self.world.hints[wish.tool], elliptic
        others = {c.wish for c in commands if isinstance(c, Begin)} - {hint.wish, wish.tool}
        if others or len(rest.split()) > _ELLIPTIC:
            return None
        wanted = "time" if times.find(rest) else "file" if inside else "words"
        fitting = [
            name for kind in (wanted, "words") for name, s in hint.slots.items() if s.kind == kind
        ]
        if not fitting:
            return None
        names = {name: slot.name or name for name, slot in hint.slots.items()}
        slots = {names[name]: words for name, words in wish.words.items() if name in names}
        return Begin(hint.wish, {**slots, names[fitting[0]]: rest})

    def _of_what_is_there(self, commands: list[Command]) -> list[Command]:
        """ "The plumber can't do that day, he's coming on Friday instead": nothing new, though a
        model may begin something with that time. Its time goes to the change of the same thing."""
        made = [c for c in commands if isinstance(c, Begin) and self._title_and_time(c)]
        for new in made:
            title, time = self._title_and_time(new) or ("", "")
            for other in commands:
                if not isinstance(other, Begin) or (slots := self._change(other.wish)) is None:
                    continue
                about, when = slots
                same = similar(title, other.slots.get(about, ""))
                if other is not new and same and when not in other.slots:
                    changed = Begin(other.wish, {**other.slots, when: time})
                    rest = [c for c in commands if c is not new]
                    return [changed if c is other else c for c in rest]
            if self._is_that(new, title):
                for hint in self.world.hints.values():
                    if (slots := self._change(hint.wish)) is not None:
                        changed = Begin(hint.wish, {slots[0]: title, slots[1]: time})
                        return [changed if c is new else c for c in commands]
        return commands

    def _named_by_asking(self, commands: list[Command]) -> list[Command]:
        """ "The thing I've got at three? Make it half four": who asks about something and goes on
        with another time wants it changed."""
        asked, *more = commands
        tool = self._tool(asked.wish) if isinstance(asked, Begin) else None
        question, mark, rest = self.said.partition("?")
        later = times.find(rest) if mark else []
        if tool is None or more or len(later) != 1 or self.world.hints[tool].does != "tell":
            return commands
        for hint in self.world.hints.values():
            slots = self._change(hint.wish)
            slot = next((s for s in hint.slots.values() if s.kind == "thing" and s.required), None)
            if slots is None or slot is None:
                continue
            share = Heard(said="", state=self.state, world=self.world)
            if len(filling.find_things(slot, question, share, loose=True).ids) == 1:
                return [Begin(hint.wish, {slots[0]: question, slots[1]: later[0].text})]
        return commands

    def _title_and_time(self, command: Begin) -> tuple[str, str] | None:
        """Of a wish for something new that has both."""
        tool = self._tool(command.wish)
        if tool is None or not makes(self.world.hints[tool]):
            return None
        given = filling.params(self.world.hints[tool], command.slots, self.world)
        kinds = {self._slot(tool, name).kind: words for name, words in given.items()}
        both = kinds.get("words", ""), kinds.get("time", "")
        return both if all(both) else None

    def _change(self, wish: str) -> tuple[str, str] | None:
        """The short names of its thing and its time, where a wish gives a thing another time."""
        tool = self._tool(wish)
        if tool is None or self.world.hints[tool].does != "act":
            return None
        slots = self.world.hints[tool].slots.items()
        things = [s.name or n for n, s in slots if s.kind == "thing" and s.required]
        whens = [s.name or n for n, s in slots if s.kind == "time"]
        return (things[0], whens[0]) if things and whens else None

    def _is_that(self, new: Begin, title: str) -> bool:
        """Whether what seems new is one of the user's things: the only one with a word of that
        name, where it shall be "instead"; or one that is called just that, where nobody said what
        something new is wished for with."""
        there = [thing.title for thing in self.state.things.values() if thing.open]
        if utterances.says_instead(self.said):
            return sum(similar(title, one) for one in there) == 1
        wished = new.wish in re.findall(r"[^\W_]+", self.said.casefold())
        return not wished and sum(same_title(title, one) for one in there) == 1

    def _unmarked(self, commands: Sequence[Command]) -> Fill | None:
        """A correction of what was just done that the model made nothing of, or took for a wish
        with nothing but a time."""
        empty = all(c in (_UNCLEAR, Plain("chat")) for c in commands)
        only_time = len(commands) == 1 and self._only_time(commands[0])
        if not self._just_done() or not (empty or only_time):
            return None
        found = times.find(self.said)
        called = [d for d in self.before.last if similar(self.said, self._title_of(d))]
        corrects = answers.corrects(self.said) or utterances.means_other(self.said)
        if found and (corrects or times.only(self.said) or (called and empty)):
            slots = self.world.hints[(called or self.before.last)[-1].wish.tool].slots
            timed = [s.name or n for n, s in slots.items() if s.kind == "time"]
            return Fill({timed[0]: self._new_time(commands, found)}) if timed else None
        other = utterances.meant_instead(self.said)
        if empty and other and not found:
            slots = self.world.hints[self.before.last[-1].wish.tool].slots
            own = [s.name or n for n, s in slots.items() if s.kind == "words"]
            return Fill({own[0]: other}) if own else None
        return None

    def _new_time(self, commands: Sequence[Command], found: Sequence[times.Span]) -> str:
        """What the model copied, or the first that is said after "no"."""
        copied = [w for c in commands if isinstance(c, Begin) for w in c.slots.values()]
        made = utterances.means_other(self.said)
        after = [span for span in found if made and span.start >= made - 1]
        return copied[0] if copied else (after or found)[0].text

    def _only_time(self, command: Command) -> bool:
        if not isinstance(command, Begin) or (tool := self._tool(command.wish)) is None:
            return False
        hint = self.world.hints[tool]
        given = filling.params(hint, command.slots, self.world)
        return hint.does == "act" and {hint.slots[n].kind for n in given} == {"time"}

    def _corrected(self, command: Begin, tool: str) -> Command:
        """ "No, I meant Stella" begins nothing, though a model may say so."""
        if self._asked_wish() is not None or not self._just_done():
            return command
        deed = self.before.last[-1]
        if deed.wish.tool != tool or not answers.corrects(self.said):
            return command
        given = filling.params(self.world.hints[tool], command.slots, self.world)
        about = [n for n in given if self._slot(tool, n).kind == "thing"]
        if about:
            return self._same_again(command, deed, self._slot(tool, about[0]), given[about[0]])
        title = self._title_of(deed)
        own = [words for name, words in given.items() if self._slot(tool, name).kind == "words"]
        renamed = own and title and not any(similar(words, title) for words in own)
        if renamed and not utterances.means_other(self.said):
            return command
        return Fill(command.slots) if command.slots else command

    def _same_again(self, command: Begin, deed: Deed, slot: Slot, words: str) -> Command:
        """ "No, sorry, half seven": of what was just moved, though the model names something else
        that was said, and maybe the time that it has already."""
        share = Heard(said="", state=self.state, world=self.world)
        found = filling.find_things(slot, words, share)
        mine = {thing.id for thing in deed.things}
        if (found.ids and not set(found.ids) <= mine) or found.left:
            return command
        hint = self.world.hints[deed.wish.tool]
        timed = [s.name or n for n, s in hint.slots.items() if s.kind == "time"]
        spans = times.find(self.said)
        if not timed or not spans:
            return command
        copied = next((command.slots[name] for name in timed if name in command.slots), "")
        time = next(slot for slot in hint.slots.values() if slot.kind == "time")
        return Fill({timed[0]: self._moment(time, copied, deed)})

    def _as_answer(self, command: Command) -> Command:
        asked, wish = self.asked, self._asked_wish()
        assert asked is not None
        assert wish is not None
        hint = self.world.hints[wish.tool]
        slot = hint.slots.get(asked.slot)
        short = (slot.name or asked.slot) if slot else ""
        if slot is not None and isinstance(command, Begin) and self._answers(command, slot, wish):
            given = filling.params(hint, command.slots, self.world)
            if asked.kind != "slot" and asked.slot not in given:
                return Fill({short: self.said})
            if set(given) == {asked.slot} or len(command.slots) > 1:
                return Fill(command.slots)
            return Fill({short: " ".join(command.slots.values()) or self.said})
        if slot is not None and isinstance(command, Begin) and self._aside(command, slot, wish):
            return _UNCLEAR
        if asked.kind == "which" and (when := self._other_slot(hint, slot)):
            return Fill({when: self.said})
        if self._optional() and answers.whenever(self.said) and not times.find(self.said):
            return Plain("no")
        easy = slot is not None and slot.kind == "time" and asked.slot in wish.values
        if easy and answers.whenever(self.said) and not times.find(self.said):
            self._replace(replace(wish, easy=(*wish.easy, asked.slot)))
            return Plain("yes")
        if asked.kind != "slot" and answers.neither(self.said) and isinstance(command, Plain):
            return Plain("no")
        if isinstance(command, Fill) and slot is not None:
            command = self._untaken(command, hint, wish)
            if not command.slots:
                found = times.find(self.said) if slot.kind == "time" else []
                return Fill({short: self.said}) if found else _UNCLEAR
            given = filling.params(hint, command.slots, self.world)
            if asked.kind != "slot" and asked.slot not in given and (more := self._meant_one(slot)):
                return Fill({**command.slots, short: more})
            words = " ".join(command.slots.values())
            timed = slot.kind == "time" and asked.slot not in given and times.only(words)
            if not given or timed:
                return Fill({short: words})
        if isinstance(command, Plain) and slot is not None and self._holds(slot, command.kind):
            return Fill({short: self.said, **self._timed(hint, wish, slot)})
        if asked.kind == "sure" and isinstance(command, Plain):
            answer = answers.answer(self.said)
            if answer and command.kind in ("unclear", "chat", "thanks", "drop"):
                return Plain(answer)
        return command

    def _aside(self, command: Begin, slot: Slot, wish: Wish) -> bool:
        """ "He's called Hodges, by the way", when "When?" was asked: nothing new is wanted."""
        tool = self._tool(command.wish)
        if tool is None or not makes(self.world.hints[tool]) or slot.kind != "time":
            return False
        told = not times.find(self.said) and not utterances.wants(self.said)
        return told and bool(command.slots) and not self._renames_kind(command, tool, wish)

    def _untaken(self, command: Fill, hint: Hint, wish: Wish) -> Fill:
        """Without other words for what is known, where nobody says that they meant something else:
        what was asked for is what was answered."""
        assert self.asked is not None
        if answers.corrects(self.said) or utterances.means_other(self.said):
            return command
        known = {
            s.name or n
            for n, s in hint.slots.items()
            if s.kind == "words" and n in wish.values and n != self.asked.slot
        }
        rest = {short: words for short, words in command.slots.items() if short not in known}
        for name, slot in hint.slots.items():  # said once more, and more of it
            title = str(wish.values.get(name, "")) if slot.kind == "words" else ""
            for short, words in command.slots.items() if title else ():
                if title.casefold() in words.casefold() and len(words) > len(title):
                    rest.pop(short, None)
                    rest[slot.name or name] = words
        return Fill(rest)

    def _other_slot(self, hint: Hint, slot: Slot | None) -> str:
        """Asked which one, somebody says when it shall be: a time that none of them has."""
        assert self.asked is not None
        if slot is None or slot.kind != "thing" or not times.only(self.said):
            return ""
        zone = self.world.briefing.time_zone
        known = [self.state.things[i].at for i in self.asked.choices if i in self.state.things]
        if any(at and times.covers(self.said, at, now=self.world.now, zone=zone) for at in known):
            return ""
        return next((s.name or n for n, s in hint.slots.items() if s.kind == "time"), "")

    def _answers(self, command: Begin, slot: Slot, wish: Wish) -> bool:
        """Whether what looks like a new wish only says what was asked for."""
        if not command.slots and self._tool(command.wish) == wish.tool:
            return self._holds(slot, "unclear")
        same = self._tool(command.wish) == wish.tool
        if slot.kind in ("time", "repeat") and times.only(self.said):
            return same or not utterances.questions(self.said)
        tool = self._tool(command.wish)
        asks = utterances.questions(self.said)
        tells = tool is not None and self.world.hints[tool].does == "tell"
        if self.asked and self.asked.kind != "slot" and (same or tells) and not asks:
            return bool(self._meant_one(slot))
        if slot.kind == "time" and tool and self.world.hints[tool].does == "act":
            others = filling.params(self.world.hints[tool], command.slots, self.world)
            kinds = {self._slot(tool, name).kind for name in others}
            if kinds == {"time"} and any(times.find(w) for w in command.slots.values()):
                return True  # nobody begins something new with nothing but a time
        if not same or not command.slots:
            return False
        if slot.kind in ("time", "repeat") and all(map(times.only, command.slots.values())):
            return True
        hint = self.world.hints[wish.tool]
        given = filling.params(hint, command.slots, self.world)
        assert self.asked is not None
        again = [
            name
            for name, words in given.items()
            if name in wish.words
            and hint.slots[name].kind in ("words", "thing")
            and not similar(words, wish.words[name])
        ]
        return self.asked.slot in given and not again

    def _holds(self, slot: Slot, kind: str) -> bool:
        """Whether the utterance has what was asked for, though the model made nothing of it."""
        assert self.asked is not None
        if kind not in ("unclear", "chat", "yes", "no", "thanks"):
            return False
        if slot.kind in ("time", "repeat"):
            wish = self._asked_wish()
            where = wish and filling.place_slot(self.world.hints[wish.tool])
            placed = bool(where) and bool(places_in(self.said))
            return (bool(times.find(self.said)) or placed) and kind != "no"
        if slot.kind == "choice":
            return filling.choice(slot, self.said) is not None
        if self.asked.kind == "which":
            heard = Heard(said=self.said, state=self.state, world=self.world)
            found = filling.find_things(slot, self.said, heard, among=self.asked.choices)
            return bool(found.ids)
        if slot.kind == "words" and kind in ("unclear", "chat"):
            plain = titles.says_something(self.said) and not utterances.hesitates(self.said)
            return plain and not utterances.questions(self.said)
        return self.asked.kind == "sure" and bool(self._meant_one(slot))

    def _meant_one(self, slot: Slot) -> str:
        """The words for which of those that were asked about, where the utterance has them."""
        assert self.asked is not None
        heard = Heard(said=self.said, state=self.state, world=self.world)
        words = filling.untimed(heard)
        alone = Heard(said="", state=self.state, world=self.world)
        found = filling.find_things(slot, words, alone, among=self.asked.choices, loose=True)
        ids = set(found.ids) & set(self.asked.choices)
        return words if ids and len(ids) < len(self.asked.choices) else ""

    def _timed(self, hint: Hint, wish: Wish, asked: Slot) -> dict[str, str]:
        """The time that is said with the answer to something else."""
        open_times = [
            slot.name or name
            for name, slot in hint.slots.items()
            if slot.kind == "time" and name not in wish.values and slot is not asked
        ]
        found = times.find(self.said)
        return {open_times[0]: found[-1].text} if open_times and found else {}

    def _pleased(self) -> bool:
        """ "Okay, great": nothing is wanted."""
        return answers.pleased(self.said)

    def _asked_wish(self) -> Wish | None:
        if self.asked is None:
            return None
        return next((w for w in self.waiting if w.number == self.asked.wish), None)

    def _just_done(self) -> bool:
        return bool(self.before.last) and self.before.last_turn == self.before.turn

    def _tool(self, wish: str) -> str | None:
        for tool, hint in self.world.hints.items():
            if wish and wish in (hint.wish, tool):
                return tool
        return None

    def _slot(self, tool: str, name: str) -> Slot:
        return self.world.hints[tool].slots[name]

    def _title_of(self, deed: Deed) -> str:
        if deed.things:
            return deed.things[0].title
        title = deed.result.get("title")
        return title if isinstance(title, str) else ""

    # --- Wishes -----------------------------------------------------------------------

    def _begin(self, command: Begin, spans: Sequence[times.Span]) -> None:
        tool = self._tool(command.wish)
        assert tool is not None
        if (asked := self._asked_wish()) is not None and self._renames_kind(command, tool, asked):
            self._convert(command, tool, asked, spans)
            return
        if self._changes_kind(command, tool):
            self._otherwise(command, tool, spans)
            return
        wish = self._filled(self._new(tool), self._finished(tool, command.slots), spans)
        missing = completing.gap(wish, self.state, self.world)
        if missing is not None and missing.kind == "none" and answers.lets_go(self.said):
            self._drop()  # nothing is meant by it: "never mind, it's gone"
            return
        twin = next((w for w in self.begun if self._same_wish(w, wish)), None)
        if twin is not None:  # the model told one wish in several commands
            times_said = {n: v for n, v in wish.values.items() if v}
            self._replace(replace(twin, values={**twin.values, **times_said}))
            return
        self.begun.append(self._with_day_of(wish))

    def _finished(self, tool: str, slots: Mapping[str, str]) -> dict[str, str]:
        """Without the words in which the speaker broke off: "to pick up the" names nothing yet."""
        said = self.said.casefold().rstrip(" .…,-")
        if ending(self.said) != "unfinished" or not STOP & set(said.split()[-1:]):
            return dict(slots)
        hint = self.world.hints[tool]
        open_ = {s.name or n for n, s in hint.slots.items() if s.kind == "words"}
        last = " ".join(said.split()[-_BROKEN:])
        return {
            short: words
            for short, words in slots.items()
            if short not in open_ or not _ends_in(words.casefold(), last)
        }

    def _same_wish(self, one: Wish, other: Wish) -> bool:
        """The same tool for the same thing, or under the same title with only one time."""
        if one.tool != other.tool:
            return False
        slots = self.world.hints[one.tool].slots
        things = [n for n, s in slots.items() if s.kind == "thing" and s.required]
        if things:
            mine = [one.values.get(n) for n in things]
            bare = not any(n in other.values or n in other.words for n in things)
            return (
                not other.many
                and (None not in mine)
                and (bare or mine == [other.values.get(n) for n in things])
            )
        heading = [n for n, s in slots.items() if s.kind == "words" and s.required]
        same = [str(one.values.get(n)).casefold() == str(other.values.get(n)).casefold()
                for n in heading]  # fmt: skip
        timed = [w for w in (one, other) if self._time_of(w)]
        return bool(heading) and all(same) and len(timed) < 2

    def _new(self, tool: str) -> Wish:
        number = self.state.wishes + 1
        self.state = replace(self.state, wishes=number)
        return Wish(number=number, tool=tool, said=self.said)

    def _filled(self, wish: Wish, slots: Mapping[str, str], spans: Sequence[times.Span]) -> Wish:
        hint = self.world.hints[wish.tool]
        given = filling.params(hint, slots, self.world)
        among = self.asked.choices if self.asked and self.asked.wish == wish.number else ()
        share = Heard(said=self.said, spans=spans, state=self.state, world=self.world, among=among)
        if wish.said != self.said:
            wish = replace(wish, said=f"{wish.said} {self.said}".strip())
        return filling.filled(wish, given, share)

    def _with_day_of(self, wish: Wish) -> Wish:
        """ "Monday at ten the tax adviser, and at three the tyres": both are on Monday."""
        hint = self.world.hints[wish.tool]
        share = Heard(said=self.said, state=self.state, world=self.world)
        for name, slot in hint.slots.items():
            words = str(wish.values.get(name) or "")
            if slot.kind != "time" or not self.begun:
                continue
            earlier = self._time_of(self.begun[-1])
            if not words:
                return self._at_the_time_of(self.begun[-1], earlier, wish, name)
            if earlier and filling.dayless(words, wish, share):
                whole = filling.on_the_same_day(earlier, words, wish, share)
                return replace(wish, values={**wish.values, name: whole})
        return wish

    def _at_the_time_of(self, first: Wish, time: str, wish: Wish, name: str) -> Wish:
        """ "Tomorrow at nine call the bank and buy stamps": the time came before both."""
        heading = [
            str(w) for n, w in first.words.items() if self._slot(first.tool, n).kind == "words"
        ]
        said = self.said.casefold()
        same = first.tool == wish.tool and bool(time) and bool(heading)
        if not same or not 0 <= said.find(time.casefold()) < said.find(heading[0].casefold()):
            return wish
        words = {**wish.words, name: time}
        return replace(wish, values={**wish.values, name: time}, words=words)

    def _time_of(self, wish: Wish) -> str:
        slots = self.world.hints[wish.tool].slots
        timed = [
            str(wish.values[n]) for n, s in slots.items() if s.kind == "time" and n in wish.values
        ]
        return timed[0] if timed else ""

    def _fill(self, command: Fill, spans: Sequence[times.Span]) -> None:
        open_now = [*self.begun[-1:], *self.waiting]
        wish = self._asked_wish() or next(iter(open_now), None)
        if wish is None:
            self._correct(command, spans)
            return
        self._replace(self._filled(wish, command.slots, spans))

    def _replace(self, wish: Wish) -> None:
        self.waiting = [wish if w.number == wish.number else w for w in self.waiting]
        self.begun = [wish if w.number == wish.number else w for w in self.begun]

    # --- Corrections ------------------------------------------------------------------

    def _correct(self, command: Fill, spans: Sequence[times.Span]) -> None:
        """Of what was submitted last; what is not named stays as it is."""
        deed = self._corrected_deed(command)
        if deed is None:
            self._fitting(command, spans)
            return
        tool = deed.wish.tool
        hint = self.world.hints[tool]
        given = filling.params(hint, command.slots, self.world)
        other = [n for n in given if hint.slots[n].kind == "thing" and hint.slots[n].required]
        if other and self._same_thing(deed, hint.slots[other[0]], given[other[0]]):
            del given[other[0]]
            other = []
        if other:
            self._instead(deed, self._filled(self._again(deed), command.slots, spans))
            return
        if not given:
            self._note("nothing_to_change")
            return
        given = {n: self._moment(hint.slots[n], words, deed) for n, words in given.items()}
        wish = replace(self._new(tool), amends=deed)
        short = {hint.slots[name].name or name: words for name, words in given.items()}
        wish = self._filled(wish, short, spans)
        if completing.tool_that("amend", self.world) is None:
            wish = self._merged(wish, deed, hint)
            if not any(s.kind == "thing" and s.required for s in hint.slots.values()):
                self._instead(
                    deed, replace(wish, amends=None, values={**deed.wish.values, **wish.values})
                )
                return
        self.begun.append(wish)

    def _merged(self, wish: Wish, deed: Deed, hint: Hint) -> Wish:
        share = Heard(said=self.said, state=self.state, world=self.world)
        values = dict(wish.values)
        for name, slot in hint.slots.items():
            if slot.kind == "time" and name in values and name in deed.wish.values:
                before = str(deed.wish.values[name])
                values[name] = filling.combined(before, str(values[name]), wish, share)
        return replace(wish, values=values)

    def _again(self, deed: Deed) -> Wish:
        return replace(self._new(deed.wish.tool), values=dict(deed.wish.values))

    def _corrected_deed(self, command: Fill) -> Deed | None:
        """The deed that has such slots; of several the one that the words name, or the last."""
        able = [
            deed
            for deed in self.before.last
            if deed.wish.tool in self.world.hints
            and len(filling.params(self.world.hints[deed.wish.tool], command.slots, self.world))
            == len(command.slots)
        ]
        named = [deed for deed in able if similar(self.said, self._title_of(deed))]
        return (named or able or [None])[-1]  # type: ignore[list-item]

    def _same_thing(self, deed: Deed, slot: Slot, words: str) -> bool:
        share = Heard(said="", state=self.state, world=self.world)
        found = filling.find_things(slot, words, share)
        mine = {thing.id for thing in deed.things} | set(map(str, deed.wish.values.values()))
        # Something that nobody has is no other thing: "at eight is the other child".
        return set(found.ids) <= mine and not found.left

    def _moment(self, slot: Slot, copied: str, deed: Deed) -> str:
        """The new time. The model may have copied the one it has already, which was said too."""
        spans = times.find(self.said)
        at = next((thing.at for thing in deed.things if thing.at), None)
        if slot.kind != "time" or not spans or at is None:
            return copied
        zone = self.world.briefing.time_zone
        said = [copied] if copied else []
        for words in (*said, *(span.text for span in spans)):
            if times.meant(words, now=self.world.now, zone=zone, base=at).at != at:
                return words
        return copied or spans[0].text

    def _instead(self, deed: Deed, wish: Wish) -> None:
        """What was done is taken back, and this is done."""
        if completing.tool_that("retract", self.world) is None:
            self._note("cannot_undo")
            return
        slots = self.world.hints[wish.tool].slots
        # What was done stands for what is wanted: nothing but what is needed is asked for.
        self.begun.append(replace(wish, replaces=deed, asked=tuple(slots)))

    def _changes_kind(self, command: Begin, tool: str) -> bool:
        """ "No, as a goal": the same again, as something else."""
        if not self._just_done() or not (
            answers.corrects(self.said) or utterances.means_other(self.said)
        ):
            return False
        deed = self.before.last[-1]
        made = self.world.hints.get(deed.wish.tool)
        hint = self.world.hints[tool]
        if made is None or deed.wish.tool == tool or hint.does != "act" or not hint.slots:
            return False
        if any(s.kind == "thing" and s.required for h in (made, hint) for s in h.slots.values()):
            return False  # these are about what is there already
        given = filling.params(hint, command.slots, self.world)
        own = [words for name, words in given.items() if hint.slots[name].kind == "words"]
        title = self._title_of(deed)
        return not own or any(similar(words, title) for words in own)

    def _renames_kind(self, command: Begin, tool: str, wish: Wish) -> bool:
        """ "It's a goal, not a reminder", while the reminder is still being asked about."""
        hints = (self.world.hints[tool], self.world.hints[wish.tool])
        if wish.tool == tool or any(h.does != "act" for h in hints):
            return False
        if any(s.kind == "thing" and s.required for h in hints for s in h.slots.values()):
            return False
        given = filling.params(hints[0], command.slots, self.world)
        own = [words for n, words in given.items() if hints[0].slots[n].kind == "words"]
        named = [w for w in own if titles.says_something(w)]
        heading = [str(v) for n, v in wish.values.items() if hints[1].slots[n].kind == "words"]
        return bool(heading) and not any(not similar(w, heading[0]) for w in named)

    def _convert(self, command: Begin, tool: str, wish: Wish, spans: Sequence[times.Span]) -> None:
        kept = self._moved(wish, tool)
        said = {k: v for k, v in command.slots.items() if times.find(v)}
        asked = replace(wish, tool=tool, values=dict(kept), words=dict(kept), asked=())
        self._replace(self._filled(asked, said, spans) if said else asked)

    def _moved(self, wish: Wish, tool: str) -> dict[str, str]:
        """What was said of one wish, by the parameters of another."""
        made = self.world.hints[wish.tool]
        short = {
            made.slots[name].name or name: str(value)
            for name, value in wish.values.items()
            if name in made.slots and not made.slots[name].derived
        }
        return filling.params(self.world.hints[tool], short, self.world)

    def _otherwise(self, command: Begin, tool: str, spans: Sequence[times.Span]) -> None:
        deed = self.before.last[-1]
        kept = self._moved(deed.wish, tool)
        wish = replace(self._new(tool), values=dict(kept), words=dict(kept))
        said = {k: v for k, v in command.slots.items() if times.find(v)}
        self._instead(deed, self._filled(wish, said, spans) if said else wish)

    def _fitting(self, command: Fill, spans: Sequence[times.Span]) -> None:
        """Nothing is open and nothing was done: a wish that has just these slots, if there is only
        one, such as "the second one to Friday" after a list."""
        able = []
        for tool, hint in self.world.hints.items():
            kinds = {hint.slots[n].kind for n in filling.params(hint, command.slots, self.world)}
            needed = {s.kind for s in hint.slots.values() if s.required or s.worth_asking}
            full = len(filling.params(hint, command.slots, self.world)) == len(command.slots)
            if hint.does == "act" and full and len(command.slots) > 1 and needed <= kinds:
                able.append(tool)
        if len(able) == 1:
            self.begun.append(self._filled(self._new(able[0]), command.slots, spans))
        else:
            self._note("nothing_to_change")

    # --- Short answers ----------------------------------------------------------------

    def _plain(self, kind: str) -> None:
        match kind:
            case "yes" | "no":
                self._answered(kind == "yes")
            case "drop":
                self._drop()
            case "undo":
                self._undo()
            case "thanks":
                self._note("bye")
            case "unclear" | "chat" if self._optional():
                pass  # it was asked for once, and is left out
            case "unclear" if self._open():
                self._note("unclear_open")
            case "unclear":
                self._note("unclear_again" if self.before.unclear else "unclear")
            case "chat" if self._open():
                self._note("chat_open")
            case _:
                self._note(kind)

    def _optional(self) -> bool:
        """Whether what was asked for is only worth a question."""
        wish = self._asked_wish()
        slot = wish and self.asked and self.world.hints[wish.tool].slots.get(self.asked.slot)
        return bool(slot and slot.worth_asking and not slot.required and not slot.required_when)

    def _open(self) -> bool:
        return bool(self.waiting or self.begun)

    def _answered(self, yes: bool) -> None:
        asked, wish = self.asked, self._asked_wish()
        if asked is None or wish is None:
            more = self.before.told.rstrip().endswith("?")
            self._note(("go_on" if more else "okay") if yes else "no_more")
            return
        slot = self.world.hints[wish.tool].slots.get(asked.slot)
        optional = slot is not None and slot.worth_asking and not slot.required
        if asked.kind == "sure" and yes:
            self._replace(replace(wish, agreed=True))
        elif asked.kind == "which" and yes and len(asked.choices) == 1:
            values = {**wish.values, asked.slot: asked.choices[0]}
            self._replace(replace(wish, values=values, left=()))
        elif not yes and optional and asked.kind == "slot":
            pass  # it was asked for once, and is left out
        elif not yes:
            self._drop()

    def _drop(self) -> None:
        wish = self._asked_wish() or next(iter([*self.begun, *self.waiting]), None)
        if wish is None:
            self._note("no_open")
            return
        self.waiting = [w for w in self.waiting if w.number != wish.number]
        self.begun = [w for w in self.begun if w.number != wish.number]
        if not self.doing:
            self._note("dropped")

    def _undo(self) -> None:
        """What was done last, all of that turn, or what of it is named; what is open, if nothing
        was done since it was begun."""
        if self._asked_wish() is not None and not self._just_done():
            self._drop()
            return
        deeds = list(self.before.last)
        if not deeds:
            self._note("nothing_to_undo")
            return
        retracting = completing.tool_that("retract", self.world)
        if retracting is None:
            self._note("cannot_undo")
            return
        named = [deed for deed in deeds if similar(self.said, self._title_of(deed))]
        for deed in reversed(named or deeds):
            self.begun.append(replace(self._new(retracting), retracts=deed))

    def _note(self, occasion: str) -> None:
        text = wording.words(occasion, self.state, self.world)
        self.state = replace(self.state, notes=(*self.state.notes, text))
