"""What the commands of one utterance mean in this talk, as other commands. It changes nothing.

The model sees one utterance; here is what it cannot know. An answer to what was asked is one,
whatever the model called it; a correction is of what is open or was submitted last; what is called
like one of the user's things is that thing; and what is only told begins nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime
from zoneinfo import ZoneInfo

from vivavoce.brain.dialogue import filling, times
from vivavoce.brain.dialogue.commands import Begin, Command, Fill, Plain
from vivavoce.brain.dialogue.filling import Heard
from vivavoce.brain.dialogue.flows.arguments import Missing, made
from vivavoce.brain.dialogue.flows.carrying import of_workspace
from vivavoce.brain.dialogue.state import Deed, State, Wish, World, makes, moves
from vivavoce.brain.dialogue.things import Found, named, only_some, sets_in, some_of, spares
from vivavoce.language.en import (
    answers,
    denying,
    elsewhere,
    filenames,
    mentions,
    naming,
    titles,
    utterances,
)
from vivavoce.language.en.ending import VERBS
from vivavoce.language.en.mentions import places_in
from vivavoce.language.en.numbers import numbers_in
from vivavoce.language.en.pointing import (
    CLAUSE,
    goes_on,
    means_all,
    nameless,
    same_title,
    similar,
    stays,
)
from vivavoce.language.en.wishes import clauses_of
from vivavoce.language.en.words import STOP
from vivavoce.wire.hints import Flow, Hint, Slot, Thing

UNCLEAR = Plain("unclear")
_AIMLESS = (Plain("chat"), UNCLEAR, Plain("cannot"), Plain("drop"))
_SMALL = 4
"""Letters of small words around a time."""
_TWO = 2
_MIND = 200
"""Letters in which somebody changes their mind."""
_THAT = re.compile(
    r"(?i)\b(?:put|get|set|sort|fix|make|do|change|correct|update) (?:it|that|this)\b"
)
_ELLIPTIC = 6
"""Words; more than that are a sentence of their own."""


class Utterance:
    """What was said, with the talk as it was when it was said."""

    def __init__(self, state: State, said: str, world: World) -> None:
        self.world, self.said, self.heard = world, said, said
        self.asked, self.before = state.asked, state
        things = {thing.id: thing for thing in world.briefing.things} | dict(state.things)
        self.state = replace(state, things=things)
        self.waiting = list(state.agenda)
        self.beside: dict[int, str] = {}
        """By the number of another open wish: what of the answer is about that."""
        self._told_apart()

    def _told_apart(self) -> None:
        """ "End of 2027 for the promotion, no date for the backflip": an answer about several, of
        which what was asked for is one. Only that of it counts for it."""
        wish = self._asked_wish()
        slot = wish and self.asked and self.world.hints[wish.tool].slots.get(self.asked.slot)
        if wish is None or not slot or slot.kind != "time":
            return
        named = {one.number: self._heading(one) for one in self.waiting}
        named |= {-at: self._title_of(deed) for at, deed in enumerate(self.before.last, 1)}
        about: dict[int, list[str]] = {}
        for clause in clauses_of(self.said):
            fitting = [number for number, title in named.items() if similar(clause, title)]
            if len(fitting) == 1 and (times.find(clause) or utterances.undated(clause)):
                about.setdefault(fitting[0], []).append(clause)
        if wish.number in about and len(about) > 1:
            self.said = ", ".join(about.pop(wish.number))
            self.beside = {n: ", ".join(said) for n, said in about.items() if n > 0}

    def _heading(self, wish: Wish) -> str:
        """What a wish is about, in words."""
        slots = self.world.hints[wish.tool].slots if wish.tool in self.world.hints else {}
        known = {name: str(value) for name, value in wish.values.items() if name in slots}
        things = self.state.things
        return " ".join(
            things[words].title if words in things else words
            for name, words in known.items()
            if slots[name].kind in ("words", "thing")
        )

    def _own(self, commands: Sequence[Command]) -> list[Command]:
        """Without what was copied from what is said of something else."""
        said, found = self.said.casefold(), list[Command]()
        for command in commands:
            if not isinstance(command, Begin | Fill):
                found.append(command)
                continue
            slots = {n: words for n, words in command.slots.items() if words.casefold() in said}
            if slots or not command.slots:
                found.append(replace(command, slots=slots))
        return found

    def _in_its_place(self, commands: Sequence[Command]) -> Sequence[Command]:
        """ "No, that fills the disk. Make it warn": what was done gets another value, and is not
        taken back as well."""
        if not self._just_done():
            return commands
        deed = self.before.last[-1]
        commands = [self._of_name(one, deed) for one in commands]
        if Plain("undo") not in commands:
            return commands
        short = {s.name or n for n, s in self.world.hints[deed.wish.tool].slots.items()}
        if "to" in short and (value := utterances.back_to(self.said)):
            return [Fill({"to": value}, sure=True)]
        kept: list[Command] = []
        for command in commands:
            if isinstance(command, Begin) and self._tool(command.wish) == deed.wish.tool:
                said = {n: w for n, w in command.slots.items() if not titles.points(w)}
                if said and len(said) < len(command.slots):
                    kept.append(Fill(said, sure=command.sure))
                    continue
            kept.append(command)
        if any(isinstance(command, Fill) for command in kept):
            return [command for command in kept if command != Plain("undo")]
        return commands

    def _of_name(self, command: Command, deed: Deed) -> Command:
        """ "Call it kit list instead", of a file that was just made: its name, and not what is in
        it. It keeps its ending."""
        slots = self.world.hints[deed.wish.tool].slots
        name = next((n for n, s in slots.items() if s.name == "file" and s.kind == "words"), None)
        if name is None or not isinstance(command, Fill) or not utterances.names_it(self.said):
            return command
        words = command.slots.get("file") or command.slots.get("what") or command.slots.get("to")
        if not words or len(command.slots) > 1:
            return command
        before = filenames.written(str(deed.wish.values.get(name, ""))).rpartition(".")[2]
        plain = "." in filenames.written(words) or not before
        return Fill({"file": words if plain else f"{words} dot {before}"}, sure=True)

    def meant(self, commands: Sequence[Command]) -> list[Command]:
        if self.beside or self.said != self.heard:
            commands = self._own(commands)
        commands = self._in_its_place(commands)
        if any(self._taken_back(one) for one in commands):
            commands = [c for c in commands if not self._taken_back(c)] or [Plain("drop")]
        if (placed := self._placed()) is not None:
            return [placed]
        if answers.wants_no_more(self.said):  # whatever the model hears in it
            return [Plain("no")]
        if (exchanged := self._exchanged()) is not None:
            return exchanged
        if (fewer := self._narrowed(commands)) is not None:
            return fewer
        undone = denying.protests(self.said) or denying.puts_back(self.said)
        if undone and self._just_done() and self.asked is None:
            return [Plain("undo")]
        if self._let_be(commands):
            return [self._unwanted()]
        commands = self._undone_orders(commands)
        if utterances.gives_up(self.said) and all(map(self._begins, commands)):
            return [UNCLEAR]
        commands = self._asked_apart(self._told_once(commands))
        if (resumed := self._resumed(commands) or self._misheard(commands)) is not None:
            return [resumed]
        if (away := self._away_with(commands)) is not None:
            return away
        if (plainly := self._plainly(commands)) is not None:
            return [plainly]
        if commands and all(map(self._hands_over, commands)) and self._asks_opinion():
            return [Plain("chat")]
        if any(isinstance(c, Begin | Fill) and c.sure for c in commands):
            return self._as_marked(commands)
        if (sounds := self._by_sound(commands)) is not None:
            return [sounds]
        if (again := self._asked_again(commands)) is not None:
            return [again]
        if (renamed := self._renamed(commands)) is not None:
            return [renamed]
        known: list[Command] = []
        for command in commands:
            if command == Plain("undo") and self._adds():
                continue
            seen = self._seen(self._by_name(command) if len(commands) > 1 else command)
            if seen is not None and seen not in known:
                known.append(seen)
        if len(known) > 1:
            known = [c for c in known if not self._says_nothing(c)] or known
            known = [c for c in known if not self._is_past(c)] or known
            known = [c for at, c in enumerate(known) if not self._refers_back(c, known[:at])]
            known = self._announced(known)
        known = self._by_more_than_time(known)
        known = self._once_each(known)
        if self._asked_wish() is not None:
            known = [self._as_answer(command) for command in known or [UNCLEAR]]
        elif not self._pleased() and (correction := self._unmarked(known)) is not None:
            known = [correction]
        elif known and all(isinstance(c, Plain) for c in known) and self._pleased():
            return []
        elif not known:
            known = [UNCLEAR]
        known = self._handed_over(self._named_by_asking(self._of_what_is_there(known)))
        # Beside something that is wanted, the rest is manners.
        acts = [c for c in known if not isinstance(c, Plain) or c.kind in ("undo", "drop")]
        wanted = any(isinstance(c, Begin | Fill) for c in acts)
        if wanted:
            return [c for c in acts if c != Plain("drop")] if self._asked_wish() is None else acts
        return acts or known

    def _resumed(self, commands: Sequence[Command]) -> Fill | None:
        """Who broke off before what it is about, was asked for it, and goes on there."""
        wish = self._asked_wish()
        slot = self._slot(wish.tool, self.asked.slot) if wish and self.asked else None
        if wish is None or self.asked is None or slot is None or slot.kind != "words":
            return None
        short, words = slot.name or self.asked.slot, utterances.resumed(wish.said, self.said)
        marked = next((c for c in commands if isinstance(c, Fill) and c.slots.get(short)), None)
        if words and marked is not None:
            at = words.casefold().find(marked.slots[short].casefold())
            words = words[: at + len(marked.slots[short])] if at >= 0 else marked.slots[short]
            return replace(marked, slots={**marked.slots, short: words}, sure=True)
        return Fill({short: words}, sure=True) if words else None

    def _taken_back(self, command: Command) -> bool:
        """ "Set it to debug. Actually, scrap that": all that was said of it comes before words that
        take it back. Only of what changes something; a question that is not wanted does no harm."""
        tool = self._tool(command.wish) if isinstance(command, Begin) else None
        if tool is None or not isinstance(command, Begin) or not command.slots:
            return False
        flow = self.world.hints[tool]
        back = utterances.taken_back_at(self.said)
        if not isinstance(flow, Flow) or flow.does != "act" or back < 0:
            return False
        said = self.said.casefold()
        ends = [said.rfind(words.casefold()) + len(words) for words in command.slots.values()]
        return all(
            len(words) <= end <= back
            for words, end in zip(command.slots.values(), ends, strict=True)
        )

    def _as_marked(self, commands: Sequence[Command]) -> list[Command]:
        """Of words that were marked nothing is made but what was marked, and answers where
        something was asked."""
        known: list[Command] = []
        for command in commands:
            seen = self._seen(command)
            if seen is not None and seen not in known:
                known.append(seen)
        known = self._one_deed(self._put_right(self._wished(self._of_told_file(known))))
        if self._asked_wish() is not None:
            known = [self._as_answer(command) for command in known]
        kept: tuple[str, ...] = ("undo", "drop")
        if self.asked is not None and self.asked.kind == "sure" and all(map(self._begins, known)):
            kept += ("yes", "no")  # "yes, and remind me at noon to tell them"
        acts = [c for c in known if not isinstance(c, Plain) or c.kind in kept]
        return acts or known or [UNCLEAR]

    def _of_told_file(self, commands: list[Command]) -> list[Command]:
        """ "I saved it as take two dot txt, silly me. It should be called lullaby": what a file is
        called was only told, and is what gets the other name. And that something is missing in a
        file is no order to do away with it."""
        known: list[Command] = []
        for command in commands:
            before = known[-1] if known else None
            mine = isinstance(command, Begin) and self._renames_file(command)
            if isinstance(command, Begin) and mine and isinstance(before, Begin):
                told = before.slots.get("to") or before.slots.get("file", "")
                if self._only_tells(before) and filenames.looks_written(told):
                    known[-1] = replace(command, slots={**command.slots, "file": told})
                    continue
            if isinstance(command, Begin) and before is not None and self._tells_lack(before):
                assert isinstance(before, Begin)
                short = {
                    s.name or n for n, s in self._slots_of(command).items() if s.kind == "file"
                }
                if "file" in short and "file" in before.slots:
                    command = replace(
                        command, slots={"file": before.slots["file"], **command.slots}
                    )
            known.append(command)
        return [one for one in known if not self._tells_lack(one)] or known

    def _slots_of(self, command: Begin) -> Mapping[str, Slot]:
        tool = self._tool(command.wish)
        return self.world.hints[tool].slots if tool is not None else {}

    def _renames_file(self, command: Begin) -> bool:
        """Whether a file gets another name, and which one was not said with it."""
        flow = self.world.hints.get(self._tool(command.wish) or "")
        if not isinstance(flow, Flow) or not flow.careful or "file" in command.slots:
            return False
        return "to" in command.slots and any(slot.kind == "file" for slot in flow.slots.values())

    def _tells_lack(self, command: Command) -> bool:
        flow = (
            self.world.hints.get(self._tool(command.wish) or "")
            if isinstance(command, Begin)
            else None
        )
        careful = isinstance(flow, Flow) and flow.careful and isinstance(command, Begin)
        return careful and isinstance(command, Begin) and utterances.lacks_something(command.said)

    def _wished(self, commands: list[Command]) -> list[Command]:
        """Without what is only told beside a wish: "… The under-twelves, I'm coaching them this
        season". Nobody wishes for something new without a word that says so, or a time."""
        begun = [one for one in commands if isinstance(one, Begin)]
        if len(begun) < _TWO:
            return commands
        only_told = [one for one in begun if one.said and self._only_told(one)]
        if len(only_told) == len(begun):
            return commands
        return [one for one in commands if one not in only_told]

    def _only_told(self, command: Begin) -> bool:
        tool = self._tool(command.wish)
        if tool is None or not makes(self.world.hints[tool]):
            return False
        hint, said = self.world.hints[tool], command.said
        if any(slot.required_when for slot in hint.slots.values()) or isinstance(hint, Flow):
            return False
        timed = any(times.find(words) for words in command.slots.values())
        says = (utterances.wants, utterances.intends, utterances.orders, utterances.adds)
        return not timed and not any(one(said) for one in says) and hint.wish not in said.casefold()

    def _put_right(self, commands: list[Command]) -> list[Command]:
        """ "Shift the concert to the twelfth. Sorry, wrong page, the twenty-sixth": the same wish
        with nothing but another value, after words that take one back, corrects that."""
        known: list[Command] = []
        for command in commands:
            before = known[-1] if known else None
            if (
                isinstance(before, Begin)
                and isinstance(command, Begin)
                and command.wish == before.wish
                and before.slots.get("to")
                and isinstance(self.world.hints.get(self._tool(command.wish) or ""), Flow)
                and utterances.takes_back(f"{self._between(before, command)} {command.said}")
            ):
                value = command.slots.get("to") or command.slots.get("what", "")
                same = bool(numbers_in(value)) == bool(numbers_in(before.slots["to"]))
                named = command.slots.get("to") and command.slots.get("what")
                if value and same and not named:
                    known[-1] = replace(before, slots={**before.slots, "to": value})
                    continue
            known.append(command)
        return known

    def _between(self, before: Begin, after: Begin) -> str:
        start = self.said.find(before.said) + len(before.said)
        return self.said[start : max(self.said.find(after.said), start)]

    def _exchanged(self) -> list[Command] | None:
        """ "Swap the vet and the gym": each gets the time of the other. Of two that are named, or
        of the two that were just spoken of."""
        moving = [hint for hint in self.world.hints.values() if moves(hint)]
        asked = self._asked_wish()
        other = asked is not None and not moves(self.world.hints[asked.tool])
        if len(moving) != 1 or other or not utterances.exchanges(self.said):
            return None
        slots = moving[0].slots.items()
        spans = times.find(self.said)
        share = Heard(said=self.said, state=self.state, world=self.world)
        bare = Wish(number=0, tool=next(n for n, h in self.world.hints.items() if h is moving[0]))
        hours = [one.text for one in spans if not one.describes]
        there = [t for t in self.state.things.values() if t.open and t.at and not t.rule]
        two = [one for one in there if one.id in named(self.said, there)]
        if not two and mentions.points(self.said):
            two = [one for one in there if one.id in self.before.view]
        zone = ZoneInfo(self.world.briefing.time_zone)
        days = {one.at.astimezone(zone).date() for one in two if one.at}
        told = {one: filling.read(one, bare, share) for one in hours}
        hours = [
            one
            for one, at in told.items()
            if at.hour or not at.day or self._date_of(one, zone) not in days
        ]
        if len(two) != _TWO or len(hours) > 1 or any(told[one].day for one in hours):
            return None  # it says itself when each shall be
        if asked is not None:
            self.waiting = [one for one in self.waiting if one.number != asked.number]
        thing = next(s.name or n for n, s in slots if s.kind == "thing" and s.required)
        to = next(s.name or n for n, s in slots if s.kind == "time")
        made: list[Command] = []
        for one, other_ in (two, two[::-1]):
            assert one.at is not None
            assert other_.at is not None
            at, hour = other_.at.astimezone(zone), one.at.astimezone(zone)
            if utterances.keeps_hours(self.said):
                at = at.replace(hour=hour.hour, minute=hour.minute)
            when = times.exactly(at, zone.key)
            if hours:
                when = f"{at.day} {at:%B %Y} {hours[0]}"
            said = f"{one.title}: {when}"
            made.append(Begin(moving[0].wish, {thing: one.title, to: when}, said, sure=True))
        return made

    def _date_of(self, words: str, zone: ZoneInfo) -> date | None:
        at = times.meant(f"{words} at noon", now=self.world.now, zone=zone.key).at
        return None if at is None else at.astimezone(zone).date()

    def _placed(self) -> Fill | None:
        """ "He's in Lahore", asked what time that is here, of an hour by his clock."""
        wish = self._asked_wish()
        slot = self._slot(wish.tool, self.asked.slot) if wish and self.asked else None
        if wish is None or self.asked is None or slot is None or slot.kind != "time":
            return None
        before = str(wish.values.get(self.asked.slot) or wish.refuted.get(self.asked.slot) or "")
        share = Heard(said="", state=self.state, world=self.world)
        if not before or times.find(self.said) or not filling.read(before, wish, share).place:
            return None
        places = elsewhere.places_in(self.said)
        if len(places) != 1:
            return None
        whole = elsewhere.at_place(before, places[0])
        values = {n: v for n, v in wish.values.items() if n != self.asked.slot}
        rest = {n: v for n, v in wish.refuted.items() if n != self.asked.slot}
        mine = replace(wish, values=values, refuted=rest)
        self.waiting = [mine if w.number == wish.number else w for w in self.waiting]
        return Fill({slot.name or self.asked.slot: whole})

    def _begins(self, command: Command) -> bool:
        """Something new, or nothing."""
        tool = self._tool(command.wish) if isinstance(command, Begin) else None
        return not isinstance(command, Begin) or (
            tool is not None and makes(self.world.hints[tool])
        )

    def _told_once(self, commands: Sequence[Command]) -> list[Command]:
        """ "Call Gran at seven. That's seven over there, mind": the second tells of the time of the
        first, and wishes for nothing."""
        known: list[Command] = []
        for command in commands:
            before = known[-1] if known else None
            bare = isinstance(command, Begin) and (self._named_at(command) or ("x", ""))[0] == ""
            if (
                isinstance(before, Begin)
                and isinstance(command, Begin)
                and before.wish == command.wish
                and bare
                and utterances.only_tells(command.said)
                and before.said in self.said
            ):
                start, end = self.said.find(before.said), self.said.find(command.said)
                known[-1] = replace(before, said=self.said[start : end + len(command.said)])
            else:
                known.append(command)
        return known

    def _asked_apart(self, commands: Sequence[Command]) -> list[Command]:
        """ "What time is the vet? And is there anything else that day?" asks twice: about a thing,
        and about a day."""
        known: list[Command] = []
        for command in commands:
            slots = self._told_of(command)
            if slots is None or not isinstance(command, Begin):
                known.append(command)
                continue
            about, when = slots
            if (each := self._asked_of_each(command, about)) is not None:
                known += each
                continue
            thing, day = command.slots.get(about, ""), command.slots.get(when, "")
            if thing and not day and (later := self._asked_later(command, about)):
                day = later
                command = replace(command, slots={**command.slots, when: day})
            at = self._when_told(command, about, known)
            if day and at is not None and (mentions.same_day(day) or times.leans(day)):
                day = self._day_of(day, at)
                command = replace(command, slots={**command.slots, when: day})
            if thing and day and self._two_questions(command, about, when):
                rest = {n: words for n, words in command.slots.items() if n != when}
                other = {n: words for n, words in command.slots.items() if n != about}
                known += [replace(command, slots=rest), replace(command, slots=other)]
            else:
                known.append(command)
        return known

    def _asked_of_each(self, command: Begin, about: str) -> list[Command] | None:
        """ "When's my haircut, and when's choir?": two things, each in a question of its own."""
        tool = self._tool(command.wish)
        assert tool is not None
        slot = next(s for n, s in self.world.hints[tool].slots.items() if about in (s.name, n))
        share = Heard(said="", state=self.state, world=self.world)
        words = command.slots.get(about, "")
        if not words or slot.many or len(filling.find_things(slot, words, share).ids) == 1:
            return None
        parts = utterances.questions_in(command.said or self.said)
        found = [filling.find_things(slot, one, share, loose=True).ids for one in parts]
        if len(parts) < _TWO or any(len(ids) != 1 for ids in found) or len(set(found)) < _TWO:
            return None
        titles_ = [self.state.things[ids[0]].title for ids in found]
        return [replace(command, slots={about: title}) for title in titles_]

    def _asked_later(self, command: Begin, about: str) -> str:
        """The days that another question after that about a thing names: "Am I busy the day
        after?"."""
        said = command.said or self.said
        at = said.casefold().find(command.slots[about].casefold())
        rest = said[at + len(command.slots[about]) :] if at >= 0 else ""
        if not utterances.asks_again(rest):
            return ""
        other = utterances.questions_in(rest)[-1]
        spans = [span for span in times.find(other) if not span.describes]
        return spans[0].text if len(spans) == 1 else ""

    def _told_of(self, command: Command) -> tuple[str, str] | None:
        """The short names of the thing and the days that a question can be about."""
        tool = self._tool(command.wish) if isinstance(command, Begin) else None
        if tool is None or self.world.hints[tool].does != "tell":
            return None
        slots = self.world.hints[tool].slots.items()
        thing = next((s.name or n for n, s in slots if s.kind == "thing"), None)
        timed = {s.name or n for h in self.world.hints.values() for n, s in h.slots.items()
                 if s.kind == "time"}  # fmt: skip
        when = next((s.name or n for n, s in slots if (s.name or n) in timed), None)
        return (thing, when) if thing and when else None

    def _when_told(self, command: Begin, about: str, before: Sequence[Command]) -> datetime | None:
        """When the one thing is that it asks about, or that was spoken of just before."""
        tool = self._tool(command.wish)
        assert tool is not None
        slot = next(s for n, s in self.world.hints[tool].slots.items() if about in (s.name, n))
        share = Heard(said="", state=self.state, world=self.world)
        asked = [c.slots[about] for c in (command, *reversed(before))
                 if isinstance(c, Begin) and c.slots.get(about)]  # fmt: skip
        ids = next((filling.find_things(slot, words, share).ids for words in asked), None)
        ids = self.before.view if ids is None else ids
        there = [self.state.things[one] for one in ids if one in self.state.things]
        return there[0].at if len(there) == 1 else None

    def _day_of(self, words: str, at: datetime) -> str:
        """ "That same evening", of something that is then: in words that name the day."""
        local = at.astimezone(ZoneInfo(self.world.briefing.time_zone))
        beside = re.search(r"(?i)\b(?:after|before|later|following|next)\b", words) is not None
        if beside:
            zone = self.world.briefing.time_zone
            moved = times.meant(words, now=self.world.now, zone=zone, base=at).at
            local = moved.astimezone(local.tzinfo) if moved is not None else local
        part = mentions.without_day(words) if mentions.same_day(words) and not beside else ""
        part = part if times.find(part) else ""
        return f"on {local.day} {local:%B %Y} {part}".strip()

    def _two_questions(self, command: Begin, about: str, when: str) -> bool:
        """Whether another question begins between what is asked about and the days."""
        said = self.said.casefold()
        places = [said.find(command.slots[name].casefold()) for name in (about, when)]
        if min(places) < 0:
            return True  # the day was told by the thing
        first, last = sorted(places)
        return utterances.asks_again(self.said[first:last])

    # --- Orders that are none ---------------------------------------------------------

    def _let_be(self, commands: Sequence[Command]) -> bool:
        """ "Cancel the gym. No wait, don't.", "… Actually, leave it": nothing is to be done."""
        acts = [c for c in commands if isinstance(c, Begin) and self._acts(c)]
        if not acts:
            return False
        if denying.only_denies(self.said):
            return True
        back = denying.let_go_at(self.said)
        said = self.said.casefold()
        return back > 0 and all(
            said.rfind(words.casefold()) < back for c in acts for words in c.slots.values()
        )

    def _acts(self, command: Begin) -> bool:
        tool = self._tool(command.wish)
        return tool is not None and self.world.hints[tool].does == "act"

    def _unwanted(self) -> Plain:
        """What says so: of what was just done, that it is taken back."""
        if self._just_done() and any(
            similar(self.said, self._title_of(deed)) for deed in self.before.last
        ):
            return Plain("undo")
        return Plain("no" if self._asked_wish() is None else "drop")

    def _undone_orders(self, commands: Sequence[Command]) -> Sequence[Command]:
        """Without doing away with what is said not to be done away with, of several."""
        away = {h.wish for h in self.world.hints.values() if h.becomes in ("gone", "done")}
        kept = [
            c
            for c in commands
            if not (isinstance(c, Begin) and c.wish in away and self._no_order(c))
            and not (isinstance(c, Begin) and c.wish in away and self._spared_after(c))
        ]
        return kept or [self._unwanted()] if len(kept) < len(commands) else commands

    def _spared_after(self, command: Begin) -> bool:
        """ "Yoga is off and so is Bea, no, sorry, Bea's still on": one that stays after all."""
        slot = self._thing_slot(command)
        ids = self._ids_of(command, command.slots.get(slot, "")) if slot else ()
        at = self.said.find(command.said) + len(command.said) if command.said else -1
        if len(ids) != 1 or at < 0 or ids[0] not in self.state.things:
            return False
        there = [self.state.things[ids[0]]]
        return any(
            stays(part) and bool(named(part, there, loose=True))
            for part in CLAUSE.split(self.said[at:])
        )

    def _no_order(self, command: Begin) -> bool:
        """Whether its stretch says that it is not to be, or only that it may be one day."""
        said = command.said or self.said
        if denying.only_possible(said):
            return True
        if not command.said:  # there may be others beside it
            return False
        done = self._becomes(command.wish) == "done"
        return denying.denies(said) or (done and utterances.not_yet(said))

    def _one_deed(self, commands: list[Command]) -> list[Command]:
        """One thing that was told in two clauses is one: what names nothing more, or only points
        back, is about what was named before it. Of an order and another after a change of mind the
        later holds, and what is moved is neither ticked off nor deleted."""
        known: list[Command] = []
        last: tuple[str, str, tuple[str, ...]] | None = None
        for command in commands:
            slot = self._thing_slot(command)
            if slot is None or not isinstance(command, Begin):
                known.append(command)
                continue
            words = command.slots.get(slot, "")
            ids = self._ids_of(command, words)
            if not ids and last is not None and self._says_no_other(command, words):
                command = replace(command, slots={**command.slots, slot: last[1]})
                words, ids = last[1], last[2]
            same = [
                n for n, one in enumerate(known)
                if len(ids) == 1 and isinstance(one, Begin) and (own := self._thing_slot(one))
                and self._ids_of(one, one.slots.get(own, "")) == ids
            ]  # fmt: skip
            merged = same and self._of_two(known[same[-1]], command)
            if merged:
                known[same[-1]] = merged
            else:
                known.append(command)
            if ids:
                last = slot, words, ids
        return known

    def _of_two(self, before: Command, after: Begin) -> Begin | None:
        """The one that is meant of two deeds to one thing; None: both are."""
        if not isinstance(before, Begin):
            return None
        if before.wish == after.wish:
            return replace(before, slots={**after.slots, **before.slots})
        ends = {self._becomes(before.wish), self._becomes(after.wish)} & {"gone", "done"}
        if not ends or {self._changes(before.wish), self._changes(after.wish)} == {False}:
            return None
        if self._changed_mind(before, after):
            return after
        return after if self._becomes(before.wish) else None

    def _changes(self, wish: str) -> bool:
        """Whether it ends a thing or gives it another time."""
        return bool(self._becomes(wish)) or self._change(wish) is not None

    def _becomes(self, wish: str) -> str:
        tool = self._tool(wish)
        return self.world.hints[tool].becomes if tool is not None else ""

    def _changed_mind(self, before: Begin, after: Begin) -> bool:
        start = self.said.find(before.said) + len(before.said) if before.said else 0
        at = self.said.find(after.said) if after.said else start
        return utterances.takes_back(f"{self.said[start : max(at, start)]} {after.said}"[:_MIND])

    def _thing_slot(self, command: Command) -> str | None:
        """The short name of what something shall be done to."""
        tool = self._tool(command.wish) if isinstance(command, Begin) else None
        if tool is None or self.world.hints[tool].does != "act":
            return None
        slots = self.world.hints[tool].slots.items()
        return next((s.name or n for n, s in slots if s.kind == "thing" and s.required), None)

    def _ids_of(self, command: Begin, words: str) -> tuple[str, ...]:
        tool = self._tool(command.wish)
        assert tool is not None
        slots = self.world.hints[tool].slots.values()
        slot = next(s for s in slots if s.kind == "thing" and s.required)
        share = Heard(said="", state=self.state, world=self.world)
        found = filling.find_things(slot, words, share) if words else Found()
        if not found.ids and not found.gone and nameless(words):
            text = filling.untimed(replace(share, said=command.said or self.said))
            found = filling.find_things(slot, text, share, loose=True)
        return found.ids

    def _says_no_other(self, command: Begin, words: str) -> bool:
        """Whether these words name nothing: "it", or a verb that a model took for a name."""
        tokens = [one for one in re.findall(r"[^\W_]+", words.casefold()) if one not in STOP]
        return nameless(words) or all(one in VERBS for one in tokens)

    # --- Fewer than were asked about --------------------------------------------------

    def _narrowed(self, commands: Sequence[Command]) -> list[Command] | None:
        """ "Yes, but only the hurling", "not the piano": to "Shall I do that with all of them?" the
        answer may be some of them. Who says no first, and then which not, is asked once more."""
        wish, asked = self._asked_wish(), self.asked
        if wish is None or asked is None or asked.kind != "sure" or len(wish.many) < _TWO:
            return None
        told = [self.state.things[one] for one in wish.many if one in self.state.things]
        alone = Heard(said="", state=self.state, world=self.world)
        slots = self.world.hints[wish.tool].slots
        slot = next((s for s in slots.values() if s.kind == "thing" and s.many), None)
        fewer = some_of(self.said, told)
        if fewer is None and slot is not None and not means_all(self.said):
            found = filling.find_things(slot, self.said, alone, among=wish.many, loose=True).ids
            fewer = found if set(found) < set(wish.many) and found else None
        if not fewer and self._names_just_these(told, commands, wish):
            return [Plain("yes")]
        if not fewer or len(fewer) == len(wish.many):
            return None
        refused = answers.consent(self.said) == "no" and not only_some(self.said)
        no = refused or (spares(self.said) and not answers.accepts(self.said))
        name = next(n for n, s in slots.items() if s.kind == "thing" and s.many)
        mine = replace(wish, many=tuple(fewer), agreed=not no)
        if len(fewer) == 1:
            values = {} if no else {name: fewer[0]}
            left = tuple(fewer) if no else ()
            words = {**wish.words, name: self.said}
            mine = replace(mine, many=(), values={**wish.values, **values}, left=left, words=words)
        self.waiting = [mine if w.number == wish.number else w for w in self.waiting]
        others = [
            c
            for c in commands
            if isinstance(c, Begin) and c.said and titles.asked_for(c.said)
            and (tool := self._tool(c.wish)) and makes(self.world.hints[tool])
        ]  # fmt: skip
        return [Plain("chat") if no else Plain("yes"), *others]

    def _names_just_these(
        self, told: Sequence[Thing], commands: Sequence[Command], wish: Wish
    ) -> bool:
        """ "The paint and the book club", asked about these two; "all but the vet", which is none
        of them."""
        if answers.consent(self.said) == "no" or denying.only_denies(self.said):
            return False
        if any(isinstance(c, Begin) and self._tool(c.wish) != wish.tool for c in commands):
            return False
        all_named = set(named(self.said, told, loose=True)) == {thing.id for thing in told}
        if not spares(self.said):
            return all_named
        others = [t for t in self.state.things.values() if t.open and t.id not in wish.many]
        return not all_named and bool(named(self.said, others, loose=True))

    def _by_sound(self, commands: Sequence[Command]) -> Command | None:
        """What is plain from the words themselves, whatever a model took it for."""
        flows = [hint for hint in self.world.hints.values() if isinstance(hint, Flow)]
        begun = [self._tool(command.wish) for command in commands if isinstance(command, Begin)]
        several = len(begun) > 1 and any(
            tool is not None and self.world.hints[tool].does == "act" for tool in begun
        )
        if not flows or self.asked is not None or self.waiting:
            return None
        if self._asks_opinion():
            return Plain("chat")
        inside = {self._tool(flow.wish) for flow in flows if of_workspace(flow)}
        if begun and set(begun) <= inside and utterances.asks_the_world(self.said):
            return Plain("chat")
        known = {"said": self.said, "last_file": self.before.scene.file}
        for flow in flows if not several else ():
            with suppress(Missing):
                if flow.sounds and (found := made(flow.sounds, known)):
                    return Begin(flow.wish, found[0])
        return None

    def _asks_opinion(self) -> bool:
        """A question of taste is talk, and no work for anybody."""
        return self.asked is None and not self.waiting and utterances.asks_opinion(self.said)

    def _away_with(self, commands: Sequence[Command]) -> list[Command] | None:
        """ "Spin class at half six, who was I trying to kid. Bin it": the one thing that was spoken
        of is to go, whatever else was heard in what was told of it. Behind it only what is asked
        for in so many words is another wish."""
        gone = next((h for h in self.world.hints.values() if h.becomes == "gone"), None)
        at = utterances.away_with_it(self.said)
        if gone is None or self._asked_wish() is not None or at < 0:
            return None
        there = [one for one in self.state.things.values() if one.open]
        spoken_of = named(self.said[:at], there)
        slot = next((s.name or n for n, s in gone.slots.items() if s.kind == "thing"), None)
        begun = [one for one in commands if isinstance(one, Begin)]
        meant = any(self._becomes(one.wish) == "gone" for one in begun)
        if slot is None or len(spoken_of) != 1 or meant:
            return None
        title = self.state.things[next(iter(spoken_of))].title
        before = [one for one in begun if self.said.find(one.said) < at]
        own = [w for one in before for n, w in one.slots.items() if self._names(one, n)]
        if any(not similar(words, title) for words in own):
            return None
        later = [one for one in begun if one not in before and titles.asked_for(one.said)]
        return [Begin(gone.wish, {slot: title}, said=self.said[:at], sure=True), *later]

    def _names(self, command: Begin, short: str) -> bool:
        tool = self._tool(command.wish)
        kind = self._slot_kind(self.world.hints[tool], short) if tool is not None else ""
        return kind in ("words", "thing")

    def _plainly(self, commands: Sequence[Command]) -> Begin | None:
        """A question whose words say what kind it is, whoever took it for another; with the file
        that was heard in it."""
        begun = [
            one
            for one in commands
            if isinstance(one, Fill) or (isinstance(one, Begin) and not self._only_tells(one))
        ]
        tools = [self._tool(one.wish) for one in begun if isinstance(one, Begin)]
        tells = all(tool and self.world.hints[tool].does == "tell" for tool in tools)
        if not tells or self._asked_wish() is not None or len(tools) < len(begun):
            return None
        if sum(map(utterances.questions, utterances.questions_in(self.said))) > 1:
            return None
        for flow in self.world.hints.values():
            if not isinstance(flow, Flow) or not flow.plainly:
                continue
            with suppress(Missing):
                if found := made(flow.plainly, {"said": self.said}):
                    slots = {n: words for n, words in found[0].items() if words}
                    heard_ = [
                        w for one in begun for n, w in one.slots.items() if n in ("file", "where")
                    ]
                    if "file" in found[0] and not slots.get("file") and heard_:
                        slots["file"] = heard_[0]
                    return Begin(flow.wish or flow.name, slots, sure=True)
        return None

    def _only_tells(self, command: Begin) -> bool:
        """ "Two files are in the folder": nothing is ordered by that, whatever it was taken for."""
        said = command.said
        order = any(one(said) for one in (utterances.orders, utterances.wants, utterances.intends))
        return bool(said) and self._acts(command) and not order

    def _adds(self) -> bool:
        """Something more is wanted beside what was done, which stands."""
        flows = any(isinstance(hint, Flow) for hint in self.world.hints.values())
        return flows and utterances.adds_to_that(self.said)

    def _seen(self, command: Command) -> Command | None:
        """A command that means something: with wishes that there are."""
        if isinstance(command, Fill):
            return command if any(words.strip() for words in command.slots.values()) else None
        if not isinstance(command, Begin):
            return self._of_things(command) if command in _AIMLESS else command
        tool = self._tool(command.wish)
        if tool is None:
            return None
        if (other := self._instead_of(command)) is not None:
            return other
        if makes(self.world.hints[tool]) and utterances.on_others_device(command.said or self.said):
            return Plain("cannot")
        does = self.world.hints[tool].does
        if does == "retract":
            return Plain("undo")
        if does == "amend":
            return Fill(command.slots) if command.slots else None
        if does == "tell" and self._of_no_thing(command, tool):
            return Plain("cannot")
        return self._corrected(command, tool)

    def _instead_of(self, command: Begin) -> Begin | None:
        """The wish that it is by its slots: a folder where a file seemed to be wished for."""
        known = {**command.slots, "said": command.said or self.said}
        for flow in self.world.hints.values():
            template = flow.instead.get(command.wish) if isinstance(flow, Flow) else None
            with suppress(Missing):
                if isinstance(flow, Flow) and template and (found := made(template, known)):
                    slots = {n: words for n, words in found[0].items() if words}
                    return replace(command, wish=flow.wish or flow.name, slots=slots)
        return None

    def _of_things(self, command: Plain) -> Command:
        """What is about their things in so many words, though nothing was made of it: how many
        there are, or that they want to hear no more of one."""
        if self._asked_wish() is not None:
            return command
        by_deed = {hint.becomes or hint.does: hint for hint in self.world.hints.values()
                   if not isinstance(hint, Flow)}  # fmt: skip
        telling = by_deed.get("tell")
        asks = utterances.counts_things(self.said)
        if asks and telling and not any(slot.required for slot in telling.slots.values()):
            return Begin(telling.wish, {})
        if (wanted := self._only_hinted(list(self.state.things.values()))) is not None:
            return wanted
        silenced, gone = utterances.stops_telling(self.said), by_deed.get("gone")
        there = [one for one in self.state.things.values() if one.open]
        meant = list(named(silenced or "", there)) or list(named(self.said, there))
        if silenced is None or gone is None or len(meant) != 1:
            return command
        slot = next(s.name or n for n, s in gone.slots.items() if s.kind == "thing")
        return Begin(gone.wish, {slot: self.state.things[meant[0]].title})

    def _only_hinted(self, things: Sequence[Thing]) -> Begin | None:
        """ "I could do with a nudge about it", "I'll have to shift that": what is wanted is only
        hinted at, and what is missing can be asked for."""
        hints = [h for h in self.world.hints.values() if not isinstance(h, Flow)]
        spoken_of = list(named(self.said, [t for t in things if t.open]))
        moving = [hint for hint in hints if moves(hint)]
        if len(spoken_of) == 1 and len(moving) == 1 and utterances.has_to_move(self.said):
            about, _ = self._change(moving[0].wish) or ("", "")
            title = self.state.things[spoken_of[0]].title
            return Begin(moving[0].wish, {about: title}) if about else None
        what = utterances.wants_nudge(self.said)
        timed = [h for h in hints if makes(h) and any(s.required_when for s in h.slots.values())]
        if what is None or len(timed) != 1:
            return None
        short = next(s.name or n for n, s in timed[0].slots.items() if s.kind == "words")
        return Begin(timed[0].wish, {short: what} if what else {})

    def _of_no_thing(self, command: Begin, tool: str) -> bool:
        """ "What's twelve times fourteen?" asks for nothing that the user's things could tell."""
        slots = self.world.hints[tool].slots
        given = filling.params(self.world.hints[tool], command.slots, self.world)
        named = any(slots[name].kind == "thing" for name in given)
        about = any(slot.kind == "thing" for slot in slots.values())
        return about and not named and naming.asks_for_sum(command.said or self.said)

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
            return replace(command, wish=called[0])
        return command

    def _says_nothing(self, command: Command) -> bool:
        """A wish for something new that is called by a time, of a piece of which a model made it;
        or that has neither a title nor a time of its own: "remind me when it starts"."""
        tool = self._tool(command.wish) if isinstance(command, Begin) else None
        if tool is None or not isinstance(command, Begin) or not makes(self.world.hints[tool]):
            return False
        given = filling.params(self.world.hints[tool], command.slots, self.world)
        for name, words in given.items():
            if self._slot(tool, name).kind == "words":
                empty = not titles.says_something(titles.stripped(words)) and len(given) == 1
                return empty or 2 * self._of_times(words) >= len(words)
        return False

    def _refers_back(self, command: Command, before: Sequence[Command]) -> bool:
        """ "The port says eighty, it's ninety now, can you put that right": the last clause only
        asks for what was said already."""
        if not isinstance(command, Begin) or not command.slots:
            return False
        tool = self._tool(command.wish)
        same = any(isinstance(one, Begin) and one.wish == command.wish for one in before)
        if tool is None or not same or not isinstance(self.world.hints[tool], Flow):
            return False
        at = [self.said.casefold().find(words.casefold()) for words in command.slots.values()]
        inside = [
            self.said[start:end]
            for start, end in utterances.clauses(self.said)
            if any(start <= one < end for one in at)
        ]
        return len(inside) == 1 and _THAT.search(inside[0]) is not None

    def _announced(self, commands: list[Command]) -> list[Command]:
        """ "The mass is at seven, I want a shout at six to get ready": a wish for something new
        without a name is the only one of its kind that has one, and its time is the one meant."""
        for bare in commands:
            if not isinstance(bare, Begin) or (mine := self._named_at(bare)) is None or mine[0]:
                continue
            same = [c for c in commands if isinstance(c, Begin) and c.wish == bare.wish]
            named = [c for c in same if (self._named_at(c) or ("",))[0]]
            if len(named) == 1 and len(same) == 2 and named[0].said == bare.said:
                slots = {**named[0].slots, **{n: w for n, w in bare.slots.items() if w == mine[1]}}
                merged = replace(named[0], slots=slots)
                return [merged if c is named[0] else c for c in commands if c is not bare]
        return commands

    def _named_at(self, command: Begin) -> tuple[str, str] | None:
        """What of its title says something, and its time; None where nothing new is wanted."""
        tool = self._tool(command.wish)
        if tool is None or not makes(self.world.hints[tool]):
            return None
        if not any(slot.kind == "time" for slot in self.world.hints[tool].slots.values()):
            return None
        given = filling.params(self.world.hints[tool], command.slots, self.world)
        kinds = {self._slot(tool, name).kind: words for name, words in given.items()}
        title = titles.stripped(titles.untimed(kinds.get("words", ""), None))
        return (title if titles.says_something(title) else ""), kinds.get("time", "")

    def _is_past(self, command: Command) -> bool:
        """ "Last year I forgot": nobody wishes for what has been."""
        tool = self._tool(command.wish) if isinstance(command, Begin) else None
        if not isinstance(command, Begin) or tool is None or not makes(self.world.hints[tool]):
            return False
        return utterances.is_past(" ".join(command.slots.values()))

    def _by_more_than_time(self, commands: list[Command]) -> list[Command]:
        """ "Two weeks from today. Book the van in": a time alone names nothing that could be moved,
        though something may stand at it. Where nothing else is wanted, it is asked which."""
        kept = [c for c in commands if not (isinstance(c, Begin) and self._by_time_alone(c))]
        if kept or not commands:
            return kept
        first = commands[0]
        assert isinstance(first, Begin)
        about, _ = self._change(first.wish) or ("", "")
        rest = {name: words for name, words in first.slots.items() if name != about}
        return [replace(first, slots=rest)]

    def _by_time_alone(self, command: Begin) -> bool:
        if (slots := self._change(command.wish)) is None:
            return False
        words = command.slots.get(slots[0], "").strip()
        of_times = sum(m.end - m.start for m in times.find(words))
        # "The nine" and "that three o'clock" are names, "nine" is none.
        named_so = words.casefold().split()[:1] in (["the"], ["my"], ["our"], ["that"], ["this"])
        others = named_so or "one" in words.casefold().split() or means_all(words)
        spoken_of = named(words, list(self.state.things.values()), loose=True)
        return 0 < of_times >= len(words) - _SMALL and not others and not spoken_of

    def _of_times(self, words: str) -> int:
        """How many letters of them are of times."""
        at = self.said.casefold().find(words.casefold())
        spans = times.find(self.said) if at >= 0 else []
        return sum(max(0, min(s.end, at + len(words)) - max(s.start, at)) for s in spans)

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
            if not ids and self._of_times(command.slots[short]) and len(spoken_of) == 1:
                ((id_, (start, end)),) = spoken_of.items()
                slots = {**command.slots, short: self.said[start:end]}
                command = replace(command, slots=slots)
                ids = (id_,)
            told = not ids and bool(done) and goes_on(command.slots[short])
            if not told and (len(ids) != 1 or ids[0] not in done):
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
        if (more := self._one_more()) is not None:
            return more
        elliptic = utterances.elliptic(self.said)
        wish = self.before.looked
        if elliptic is None or wish is None or self.asked is not None or self.waiting:
            return None
        hint, (rest, inside) = self.world.hints[wish.tool], elliptic
        others = {c.wish for c in commands if isinstance(c, Begin)} - {hint.wish, wish.tool}
        # Two words are no sentence, whatever a model takes them for, unless they begin one.
        short = len(rest.split()) <= _TWO and rest.split()[0].casefold() not in VERBS
        if (others and not short) or len(rest.split()) > _ELLIPTIC:
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

    def _one_more(self) -> Begin | None:
        """ "And matches": the same once more, with something else, after what was just added."""
        rest = utterances.one_more(self.said)
        if rest is None or not self._just_done() or self.asked is not None or self.waiting:
            return None
        wish = self.before.last[-1].wish
        hint = self.world.hints.get(wish.tool)
        if not isinstance(hint, Flow) or hint.does != "act" or rest.split()[0] in VERBS:
            return None
        names = {name: slot.name or name for name, slot in hint.slots.items()}
        own = [name for name, slot in hint.slots.items() if slot.kind == "words" and slot.required]
        if len(own) != 1 or any(
            s.kind == "words" and n in wish.words for n, s in hint.slots.items() if n not in own
        ):
            return None  # it has another value, which is not said again
        slots = {names[name]: words for name, words in wish.words.items() if name in names}
        return Begin(hint.wish, {**slots, names[own[0]]: rest})

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
                    changed = replace(other, slots={**other.slots, when: time})
                    rest = [c for c in commands if c is not new]
                    return [changed if c is other else c for c in rest]
            if self._is_that(new, title):
                for hint in self.world.hints.values():
                    if (slots := self._change(hint.wish)) is not None:
                        given = {slots[0]: title, slots[1]: time}
                        changed = replace(new, wish=hint.wish, slots=given)
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

    def _handed_over(self, commands: list[Command]) -> list[Command]:
        """What is given to somebody else is given as a whole: the rest of the sentence tells them
        what to do, whatever a model hears in it."""
        for command in commands:
            tool = self._tool(command.wish) if isinstance(command, Begin) else None
            flow = self.world.hints.get(tool) if tool else None
            if not isinstance(flow, Flow) or not isinstance(command, Begin):
                continue
            own = [slot.name or name for name, slot in flow.slots.items() if slot.required]
            if not self._hands_over(command) or len(own) != 1:
                continue
            words = command.slots.get(own[0], "")
            whole = len(commands) > 1 or 2 * len(words) < len(self.said)
            return [Begin(command.wish, {own[0]: self.said if words and whole else words})]
        return commands

    def _hands_over(self, command: Command) -> bool:
        """Whether nothing is done here, and all is given to somebody else."""
        tool = self._tool(command.wish) if isinstance(command, Begin) else None
        flow = self.world.hints.get(tool) if tool else None
        return isinstance(flow, Flow) and [stage.do for stage in flow.stages] == ["task"]

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
        said = new.said or self.said
        wished = new.wish in re.findall(r"[^\W_]+", said.casefold())
        new_one = wished or utterances.adds(said)
        if utterances.says_instead(said) and not (new.said and new_one):
            return sum(similar(title, one) for one in there) == 1
        return not new_one and sum(same_title(title, one) for one in there) == 1

    def _unmarked(self, commands: Sequence[Command]) -> Fill | None:
        """A correction of what was just done that the model made nothing of, or took for a wish
        with nothing but a time."""
        empty = all(c in (UNCLEAR, Plain("chat")) for c in commands)
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

    def _renamed(self, commands: Sequence[Command]) -> Fill | None:
        """ "Not Steve. Stuart. Steve's the one who fell. Phone Stuart": what was just put down is
        about somebody else, whatever a model copies of the rest."""
        if self._asked_wish() is not None or not self._just_done():
            return None
        for deed in reversed(self.before.last):
            hint = self.world.hints.get(deed.wish.tool)
            right = utterances.replaced(self.said, self._title_of(deed))
            if hint is None or not makes(hint) or not right:
                continue
            return self._called(right, hint, commands)
        return None

    def _misheard(self, commands: Sequence[Command]) -> Fill | None:
        """ "No, I said thread, not bread", whatever was asked: what is open is called otherwise."""
        wish = self._asked_wish()
        hint = self.world.hints.get(wish.tool) if wish is not None else None
        if wish is None or hint is None or not makes(hint):
            return None
        right = utterances.replaced(self.said, self._heading(wish))
        return self._called(right, hint, commands) if right else None

    def _called(self, right: str, hint: Hint, commands: Sequence[Command]) -> Fill | None:
        own = [s.name or n for n, s in hint.slots.items() if s.kind == "words" and s.required]
        timed = {s.name or n for n, s in hint.slots.items() if s.kind == "time"}
        given = [(n, w) for c in commands if isinstance(c, Begin | Fill)
                 for n, w in c.slots.items() if n in timed]  # fmt: skip
        return Fill({own[0]: right, **dict(given)}) if own else None

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
        given = filling.params(self.world.hints[tool], command.slots, self.world)
        timed = bool(given) and all(self._slot(tool, name).kind == "time" for name in given)
        again = answers.corrects(self.said) or (timed and utterances.calls_it(self.said))
        if deed.wish.tool != tool or not again or self._adds():
            return command
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

    def _as_answer(self, command: Command) -> Command:
        asked, wish = self.asked, self._asked_wish()
        assert asked is not None
        assert wish is not None
        hint = self.world.hints[wish.tool]
        slot = hint.slots.get(asked.slot)
        short = (slot.name or asked.slot) if slot else ""
        again = isinstance(command, Begin) and self._tool(command.wish) == wish.tool
        plain = again or (isinstance(command, Plain) and command.kind in ("yes", "no"))
        if asked.kind == "sure" and plain and answers.answer(self.said) == "yes":
            return Plain("yes")  # "yes, delete the other three"
        if slot is not None and isinstance(command, Begin) and self._answers(command, slot, wish):
            given = filling.params(hint, command.slots, self.world)
            if asked.kind != "slot" and asked.slot not in given:
                return Fill({short: self.said})
            if set(given) == {asked.slot} or len(command.slots) > 1:
                return Fill(command.slots)
            return Fill({short: " ".join(command.slots.values()) or self.said})
        if slot is not None and isinstance(command, Begin) and self._aside(command, slot, wish):
            return UNCLEAR
        if asked.kind == "which" and (when := self._other_slot(hint, slot)):
            return Fill({when: self.said})
        open_ = answers.whenever(self.said) or (
            # "There is no date": that is the answer, and what it is for is still wanted.
            isinstance(command, Plain) and utterances.undated(self.said)
        )
        if self._optional() and open_ and not times.find(self.said):
            return Plain("no")
        timed = slot is not None and slot.kind == "time" and asked.slot in wish.values
        if timed and answers.whenever(self.said) and not times.find(self.said):
            easy = replace(wish, easy=(*wish.easy, asked.slot))
            self.waiting = [easy if w.number == wish.number else w for w in self.waiting]
            return Plain("yes")
        if asked.kind != "slot" and answers.neither(self.said) and isinstance(command, Plain):
            return Plain("no")
        if isinstance(command, Fill) and self._another(command, hint, wish):
            return Begin(hint.wish, command.slots, sure=command.sure)
        if isinstance(command, Fill) and slot is not None:
            command = self._untaken(command, hint, wish)
            if not command.slots:
                found = times.find(self.said) if slot.kind == "time" else []
                return Fill({short: self.said}) if found else UNCLEAR
            command = self._described(command, hint, asked.slot)
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
            if answer and command.kind in ("yes", "no", "unclear", "chat", "thanks", "drop"):
                return Plain(answer)
        return command

    def _another(self, command: Fill, hint: Hint, wish: Wish) -> bool:
        """ "I also want to learn the guitar", asked until when the marathon is for: no other name
        for it, but one more of the kind."""
        given = filling.params(hint, command.slots, self.world)
        named = [n for n in given if hint.slots[n].kind == "words" and hint.slots[n].required]
        other = any(n in wish.words and not similar(given[n], wish.words[n]) for n in named)
        return other and utterances.adds_to_that(self.said)

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
        marked = command.sure and isinstance(hint, Flow)
        if marked or answers.corrects(self.said) or utterances.means_other(self.said):
            return command
        if self._named_now(command, hint, wish):
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

    def _named_now(self, command: Fill, hint: Hint, wish: Wish) -> bool:
        """ "Do something about my fitness" leaves open what: "I want to run a marathon", when "By
        when?" was asked, says it."""
        short = {s.name or n: n for n, s in hint.slots.items() if s.kind == "words"}
        new = {short[n]: words for n, words in command.slots.items() if n in short and words}
        known = {name: str(wish.values.get(name, "")) for name in new}
        clauses = [re.split(r"[.,;:!?]", self.said.partition(w)[0])[-1] for w in new.values()]
        return (
            bool(new)
            and all(map(titles.leaves_open, known.values()))
            and all(map(titles.says_something, map(titles.stripped, new.values())))
            and all(map(utterances.wants, clauses))
        )

    def _described(self, command: Fill, hint: Hint, asked: str) -> Fill:
        """ "Tomorrow's eleven o'clock, the medical": asked which one, the time that one of them has
        tells which, and is no new one."""
        slot = hint.slots[asked]
        if slot.kind != "thing":
            return command
        zone, now = self.world.briefing.time_zone, self.world.now
        there = [thing.at for thing in self.state.things.values() if thing.open and thing.at]
        given = {n: w for n, w in command.slots.items() if self._slot_kind(hint, n) == "time"}
        telling = [
            short
            for short, words in given.items()
            if any(times.covers(words, at, now=now, zone=zone) for at in there)
        ]
        if not telling or command.slots.keys() == {slot.name or asked}:
            return command
        rest = {n: w for n, w in command.slots.items() if n not in telling}
        return Fill({**rest, slot.name or asked: self.said})

    def _slot_kind(self, hint: Hint, short: str) -> str:
        return next((s.kind for n, s in hint.slots.items() if short in (s.name, n)), "")

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
            and name != self.asked.slot
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
        if slot.many and (every := sets_in(self.said) or [words] * means_all(words)):
            return every[0]
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

    def _optional(self) -> bool:
        """Whether what was asked for is only worth a question."""
        wish = self._asked_wish()
        slot = wish and self.asked and self.world.hints[wish.tool].slots.get(self.asked.slot)
        return bool(slot and slot.worth_asking and not slot.required and not slot.required_when)

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
