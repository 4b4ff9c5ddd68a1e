"""What an utterance changes in the talk: its commands, as they are meant here (`meaning`), begin
wishes, fill and correct them, and let them go. Nothing is done yet.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from vivavoce.brain.dialogue import completing, filling, times, wording
from vivavoce.brain.dialogue.commands import Begin, Command, Fill, Plain
from vivavoce.brain.dialogue.filling import Heard, allotted, paired
from vivavoce.brain.dialogue.meaning import UNCLEAR, Utterance
from vivavoce.brain.dialogue.state import Deed, State, Wish, World, makes, moves
from vivavoce.brain.dialogue.things import named
from vivavoce.language.en import answers, mentions, utterances
from vivavoce.language.en.ending import ending
from vivavoce.language.en.pointing import leaves_out, similar
from vivavoce.language.en.words import STOP
from vivavoce.wire.hints import Flow, Hint, Slot

_ROUNDED_OFF = (" too", " please", " as well")
"""Nobody breaks off with these."""
_BROKEN = 3
"""Words before the place where somebody broke off."""


def listened(state: State, said: str, commands: Sequence[Command], world: World) -> State:
    return _Turn(state, said, world).taken(commands)


def _ends_in(words: str, last: str) -> bool:
    """Whether these words are among the last that were said."""
    return bool(words.split()) and words.rsplit(maxsplit=1)[-1] in last.split()


class _Turn(Utterance):
    """One utterance being worked through."""

    def __init__(self, state: State, said: str, world: World) -> None:
        super().__init__(state, said, world)
        notes: tuple[str, ...] = ()
        if state.pending is not None:  # the user went on before the result was there
            notes = (wording.words("unknown", state, world),)
        self.begun: list[Wish] = []
        self.doing = self.sure = False
        self.state = replace(
            self.state,
            said=said,
            turn=state.turn + 1,
            made=(),
            done=(),
            notes=notes,
            pending=None,
            running=None,
            asked=None,
            free=False,
        )

    def taken(self, commands: Sequence[Command]) -> State:
        settled = self.meant(commands)
        if not settled:
            self._note("okay")
        self.doing = any(isinstance(c, Begin | Fill) for c in settled)
        for command, spans in self._shared_out(settled):
            self.sure = isinstance(command, Begin | Fill) and command.sure
            match command:
                case Begin():
                    self._begin(command, spans)
                case Fill():
                    self._fill(command, spans)
                case Plain():
                    self._plain(command.kind)
        self._fill_beside()
        lost = bool(settled) and all(c == UNCLEAR for c in settled)
        return replace(
            self.state,
            agenda=(*self.begun, *self.waiting),
            unclear=self.state.unclear + 1 if lost else 0,
            free=bool(settled) and all(c == Plain("chat") for c in settled),
        )

    def _shared_out(
        self, commands: Sequence[Command]
    ) -> list[tuple[Command, Sequence[times.Span]]]:
        """Each with its times: of the stretch that it was understood from no other has any."""
        stretches = [self._stretch(command) for command in commands]
        found: dict[int, tuple[Command, Sequence[times.Span]]] = {}
        for stretch in dict.fromkeys(stretches):
            mine = [at for at, one in enumerate(stretches) if one == stretch]
            own = paired(stretch, [commands[at] for at in mine], self.world)
            for at, command, spans in zip(
                mine, own, allotted(stretch, own, self.world), strict=True
            ):
                found[at] = command, spans
        for at, command in enumerate(commands):
            if isinstance(command, Begin | Fill) and command.sure:
                spans = filling.marked(self._stretch(command), command, self.world)
                found[at] = command, spans
        return [found[at] for at in range(len(commands))]

    def _stretch(self, command: Command) -> str:
        return (command.said if isinstance(command, Begin) else "") or self.said

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
        hint = self.world.hints[tool]
        # Something for the list may have an "if" in it: "take a coat if it rains".
        if hint.does == "act" and self._hangs_on(command, making=makes(hint)):
            self._note("conditional")
            return
        slots, said = self._finished(tool, command.slots), self._stretch(command)
        wish = self._but_others(self._filled(self._new(tool), slots, spans, said), command)
        wish = self._by_purpose(self._put_off(self._undated(wish, said), said), said)
        if self._is_gone(wish):
            return
        wish = self._but_then(wish)
        missing = completing.gap(wish, self.state, self.world)
        if missing is not None and missing.kind == "none" and answers.lets_go(self.said):
            self._drop()  # nothing is meant by it: "never mind, it's gone"
            return
        if self._still_open(wish, said):
            return
        if not self._names_thing(tool, command) and self._done_to(wish):
            return  # told of what something else is done to, and no wish of its own
        twin = next((w for w in self.begun if self._same_wish(w, wish)), None)
        if twin is not None:  # the model told one wish in several commands
            times_said = {n: v for n, v in wish.values.items() if v}
            self._replace(replace(twin, values={**twin.values, **times_said}))
            return
        self.begun = [one for one in self.begun if not self._says_less(one, wish)]
        wish = self._with_day_of(wish)
        if self._only_told_time(wish):
            self.begun.pop()
        anchor = wish.values.get(filling.anchor_slot(self.world.hints[tool]) or "")
        self._counted_from([one for one in self.begun if anchor in self._things_of(one)])
        self.begun += self._at_each_hour(wish)

    def _hangs_on(self, command: Begin, *, making: bool) -> bool:
        """Whether it shall be done only if something else is so."""
        if making and not isinstance(self.world.hints[self._tool(command.wish) or ""], Flow):
            return False
        stretch = self._stretch(command)
        return utterances.conditional(self.said, stretch, list(command.slots.values()))

    def _by_purpose(self, wish: Wish, said: str) -> Wish:
        """Something new that is called nothing is called by what it is for."""
        hint = self.world.hints[wish.tool]
        heading = [n for n, s in hint.slots.items() if s.kind == "words" and s.required]
        what = utterances.purpose(said) or utterances.subject_of_time(said)
        if not makes(hint) or not what or any(name in wish.values for name in heading):
            return wish
        return self._filled(wish, {hint.slots[n].name or n: what for n in heading[:1]}, (), said)

    def _at_each_hour(self, wish: Wish) -> list[Wish]:
        """ "My drops, at eight and at ten": something new at two hours is down twice."""
        hint = self.world.hints[wish.tool]
        for name, slot in hint.slots.items():
            words = str(wish.values.get(name) or "")
            if slot.kind != "time" or not words or not makes(hint):
                continue
            first, *others = mentions.each_hour(words)
            if others:
                wish = replace(wish, values={**wish.values, name: first})
                again = [(self._new(wish.tool).number, one) for one in others]
                return [wish] + [
                    replace(wish, number=number, values={**wish.values, name: one})
                    for number, one in again
                ]
        return [wish]

    def _but_then(self, wish: Wish) -> Wish:
        """Without a new time that is the one it has: nothing would be moved, and so it is said, and
        asked."""
        hint = self.world.hints[wish.tool]
        there = [self.state.things[one] for one in self._things_of(wish)]
        share = Heard(said=self.said, state=self.state, world=self.world)
        if wish.amends is not None or not moves(hint) or len(there) != 1 or there[0].at is None:
            return wish
        for name, slot in hint.slots.items():
            words = str(wish.values.get(name) or "")
            if slot.kind != "time" or not words or times.repeats(words):
                continue
            if filling.read(words, wish, share).at == there[0].at:
                known = {"title": there[0].title, "when": there[0].when}
                said = wording.words("same_time", self.state, self.world, **known)
                self.state = replace(self.state, notes=(*self.state.notes, said))
                return replace(wish, values={n: v for n, v in wish.values.items() if n != name})
        return wish

    def _is_gone(self, wish: Wish) -> bool:
        """Whether it is about what was done away with in this talk: that is said, and nothing that
        is only called a bit like it is taken instead."""
        gone = [self.state.things[one] for one in wish.gone if one in self.state.things]
        if not gone or self._things_of(wish):
            return False
        self.state = replace(
            self.state, notes=(*self.state.notes, wording.words(
                "closed", self.state, self.world, title=wording.listed([t.title for t in gone])
            )),
        )  # fmt: skip
        self.waiting = [w for w in self.waiting if w.number != wish.number]
        self.begun = [w for w in self.begun if w.number != wish.number]
        return True

    def _still_open(self, wish: Wish, said: str) -> bool:
        """What is said not to be done yet is not ticked off."""
        hint = self.world.hints[wish.tool]
        if hint.careful or any(slot.kind == "time" for slot in hint.slots.values()):
            return False
        mine = [self.state.things[one] for one in self._things_of(wish) if one in self.state.things]
        sentences = re.split(r"(?<=[.!?;])\s+", said)
        about = [one for one in sentences if named(one, mine, loose=True)]
        # "The rice is done. No, the lentils; the rice I still have to buy": what comes last counts.
        return bool(about) and utterances.not_yet(about[-1])

    def _counted_from(self, wishes: Sequence[Wish]) -> None:
        """ "Theo has his lesson, you have it there. Twenty minutes before it …": what something is
        counted from is still to come, so nobody ticks it off or deletes it in the same breath."""
        for wish in wishes:
            kinds = {slot.kind for slot in self.world.hints[wish.tool].slots.values()}
            if self._things_of(wish) and "time" not in kinds:
                self.begun = [one for one in self.begun if one.number != wish.number]

    def _names_thing(self, tool: str, command: Begin) -> bool:
        given = filling.params(self.world.hints[tool], command.slots, self.world)
        return any(self._slot(tool, name).kind == "thing" for name in given)

    def _done_to(self, wish: Wish) -> bool:
        """Whether another tool gets the same thing in this breath."""
        mine = self._things_of(wish)
        return bool(mine) and any(
            one.tool != wish.tool and mine <= self._things_of(one) for one in self.begun
        )

    def _things_of(self, wish: Wish) -> set[str]:
        slots = self.world.hints[wish.tool].slots
        own = [n for n, slot in slots.items() if slot.kind == "thing" and slot.required]
        return {str(wish.values[name]) for name in own if name in wish.values} | set(wish.many)

    def _but_others(self, wish: Wish, command: Begin) -> Wish:
        """ "Scrap everything else": all but what something else was wished for just before."""
        others = {id_ for one in self.begun for id_ in (*one.many, *map(str, one.values.values()))}
        rest = tuple(id_ for id_ in wish.many if id_ not in others)
        else_ = any(leaves_out(words) for words in command.slots.values())
        return replace(wish, many=rest) if else_ and rest else wish

    def _undated(self, wish: Wish, said: str) -> Wish:
        """With what need not be asked for: they said that there is no date."""
        if not utterances.undated(said):
            return wish
        spare = [
            name
            for name, slot in self.world.hints[wish.tool].slots.items()
            if slot.kind == "time" and slot.worth_asking and not slot.required
            if not slot.required_when and name not in wish.values
        ]
        return replace(wish, asked=(*wish.asked, *spare))

    def _put_off(self, wish: Wish, said: str) -> Wish:
        """ "I won't manage the shopping today": that is the time when it is not, and something that
        is done once is wanted at another. Of what repeats that one time is left out."""
        clauses = utterances.unable(said)
        hint = self.world.hints[wish.tool]
        mine = [self.state.things[one] for one in self._things_of(wish) if one in self.state.things]
        if not clauses or len(mine) != 1:
            return wish
        if moves(hint):
            timed = [n for n, slot in hint.slots.items() if slot.kind == "time"]
            wrong = {n for n in timed if any(wish.words.get(n, "?") in one for one in clauses)}
            values = {n: value for n, value in wish.values.items() if n not in wrong}
            words = {n: value for n, value in wish.words.items() if n not in wrong}
            return replace(wish, values=values, words=words)
        moving = [tool for tool, one in self.world.hints.items() if moves(one)]
        once = not mine[0].rule and mine[0].kind != "goal"
        rest = said.replace("’", "'")
        for one in clauses:
            rest = rest.replace(one, ", ")
        meant = utterances.orders(rest) or utterances.settles(rest) == "gone"
        if not hint.careful or not once or meant or len(moving) != 1:
            return wish
        thing = next(n for n, s in self.world.hints[moving[0]].slots.items() if s.kind == "thing")
        return replace(self._new(moving[0]), values={thing: mine[0].id})

    def _finished(self, tool: str, slots: Mapping[str, str]) -> dict[str, str]:
        """Without the words in which the speaker broke off: "to pick up the" names nothing yet."""
        said = self.said.casefold().rstrip(" .…,-")
        if said.endswith(_ROUNDED_OFF):
            return dict(slots)
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
        if one.many and one.many == other.many:
            return True
        if things:
            mine = [one.values.get(n) for n in things]
            bare = not any(n in other.values or n in other.words for n in things)
            bare = bare or self._told_again(one, other, things)
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

    def _says_less(self, one: Wish, other: Wish) -> bool:
        """ "It's done. No, the lentils, the lentils are done": the first named nothing, and is the
        second."""
        slots = self.world.hints[one.tool].slots
        own = [n for n, slot in slots.items() if slot.kind == "thing" and slot.required]
        bare = not one.many and not one.left and not one.words and not one.values
        return bool(own) and one.tool == other.tool and bare and bool(self._things_of(other))

    def _told_again(self, one: Wish, other: Wish, things: Sequence[str]) -> bool:
        """ "The swim starts an hour later than in my plan. Can you fix it there?": what names none
        of their things, and has the time of the other wish or none, is that wish."""
        if other.left or any(name in other.values for name in things):
            return False
        mine, again = self._time_of(one).casefold(), self._time_of(other).casefold()
        alike = not again or again in mine or mine in again or self._one_span(mine, again)
        return alike and len(named(self.said, list(self.state.things.values()))) == 1

    def _one_span(self, one: str, other: str) -> bool:
        """Whether both hold the words of one time in what was said."""
        spans = [span.text.casefold() for span in times.find(self.said)]
        return any(span in one and span in other for span in spans)

    def _new(self, tool: str) -> Wish:
        number = self.state.wishes + 1
        self.state = replace(self.state, wishes=number)
        return Wish(number=number, tool=tool, said=self.said)

    def _filled(
        self, wish: Wish, slots: Mapping[str, str], spans: Sequence[times.Span], said: str = ""
    ) -> Wish:
        hint = self.world.hints[wish.tool]
        given = filling.params(hint, slots, self.world)
        among = self.asked.choices if self.asked and self.asked.wish == wish.number else ()
        share = Heard(
            said=said or self.said,
            spans=spans,
            state=self.state,
            world=self.world,
            among=among,
            sure=self.sure,
        )
        if wish.said != self.said:
            before = wish.said.rstrip(" .,;")
            wish = replace(wish, said=f"{before}. {self.said}" if before else self.said)
        return filling.filled(wish, given, share)

    def _with_day_of(self, wish: Wish) -> Wish:
        """ "Monday at ten the tax adviser, and at three the tyres": both are on Monday."""
        hint = self.world.hints[wish.tool]
        share = Heard(said=self.said, state=self.state, world=self.world)
        for name, slot in hint.slots.items():
            words = str(wish.values.get(name) or "")
            if slot.kind == "time" and words and (exact := self._counted(words, wish, hint)):
                if mentions.beside(words):
                    self._counted_from(self.begun[-1:])
                return replace(wish, values={**wish.values, name: exact}, left=())
            ahead = "" if self.begun or slot.kind != "time" else self._day_ahead(words)
            if slot.kind != "time" or not (self.begun or mentions.same_day(words) or ahead):
                continue
            earlier = self._time_of(self.begun[-1]) if self.begun else ahead or self._told_time()
            if not words and self.begun:
                return self._at_the_time_of(self.begun[-1], earlier, wish, name)
            if earlier and filling.dayless(words, wish, share):
                whole = filling.on_the_same_day(earlier, words, wish, share)
                return replace(wish, values={**wish.values, name: whole})
        return wish

    def _day_ahead(self, words: str) -> str:
        """ "Tomorrow there are three things: at eight …": the day that they were announced for."""
        at = self.said.casefold().find(words.casefold())
        spans = [one for one in times.find(self.said) if one.end <= at and not one.describes]
        announced = len(spans) == 1 and utterances.announces(self.said[: max(at, 0)])
        return spans[0].text if announced and not times.says_hour(spans[0].text) else ""

    def _only_told_time(self, wish: Wish) -> bool:
        """ "It is collected every other Wednesday. At seven remind me to roll it out": the first
        has no name of its own, and its time is that of the second."""
        last = self.begun[-1] if self.begun else None
        if last is None or last.tool != wish.tool:
            return False
        slots = self.world.hints[wish.tool].slots
        named = any(last.values.get(n) for n, one in slots.items() if one.kind == "words")
        time = self._time_of(last).casefold()
        return not named and bool(time) and self._time_of(wish).casefold().startswith(time)

    def _told_time(self) -> str:
        """When the one thing is that was just spoken of."""
        told = [self.state.things[one] for one in self.before.view if one in self.state.things]
        if len(told) != 1 or told[0].at is None:
            return ""
        return times.exactly(told[0].at, self.world.briefing.time_zone)

    def _counted(self, words: str, wish: Wish, hint: Hint) -> str:
        """ "Move the dentist to Monday, and the day before, at eight, I need to find my card": from
        what was wished for just before, in this breath or the last."""
        anchor = filling.anchor_slot(hint)
        own = filling.base(wish, hint, self.state) is not None or anchor in wish.values
        if self.begun and anchor not in wish.values and mentions.of_that(words):
            own = False  # "the dentist too, an hour before that"
        if own or not times.leans(words):
            return ""
        since = self._moment_of(self.begun[-1]) if self.begun else None
        if not self.begun and self._just_done():
            since = next((t.at for t in self.before.last[-1].things if t.at), None)
        if since is None:
            return ""
        zone = self.world.briefing.time_zone
        at = times.meant(words, now=self.world.now, zone=zone, base=since).at
        return times.exactly(at, zone) if at is not None else ""

    def _moment_of(self, wish: Wish) -> datetime | None:
        """When it shall be, or when the thing is that it is about."""
        share = Heard(said="", state=self.state, world=self.world)
        words = self._time_of(wish)
        there = filling.base(wish, self.world.hints[wish.tool], self.state)
        return filling.read(words, wish, share).at if words else there

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
        filled = self._filled(wish, command.slots, spans)
        if not self._is_gone(filled):
            settled = self._but_then(filled)
            slot = self.asked.slot if self.asked and self._asked_wish() is wish else ""
            if slot in filled.values and slot not in settled.values and slot in wish.asked:
                self.waiting = [w for w in self.waiting if w.number != wish.number]
                return  # asked when instead, they name that time again: it is right as it is
            settled, *again = self._at_each_hour(settled)
            self._replace(settled)
            self.begun += again

    def _fill_beside(self) -> None:
        """What the answer says of other open wishes."""
        for wish in [w for w in self.waiting if w.number in self.beside]:
            said = self.beside[wish.number]
            slots = self.world.hints[wish.tool].slots
            timed = next((s.name or n for n, s in slots.items() if s.kind == "time"), None)
            spans = times.find(said)
            if timed is not None and spans:
                self._replace(self._filled(wish, {timed: spans[0].text}, spans, said))
            else:
                self._replace(self._undated(wish, said))

    def _replace(self, wish: Wish) -> None:
        self.waiting = [wish if w.number == wish.number else w for w in self.waiting]
        self.begun = [wish if w.number == wish.number else w for w in self.begun]

    # --- Corrections ------------------------------------------------------------------

    def _correct(self, command: Fill, spans: Sequence[times.Span]) -> None:
        """Of what was submitted last; what is not named stays as it is."""
        deed = self._corrected_deed(command)
        if closed := self._closed(command):
            known = wording.words("closed", self.state, self.world, title=closed)
            self.state = replace(self.state, notes=(*self.state.notes, known))
            return
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
        given = {n: self._as_often(hint.slots[n], words, deed) for n, words in given.items()}
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

    def _as_often(self, slot: Slot, words: str, deed: Deed) -> str:
        """ "Tuesday and Thursday", of what was to be on others every week: every one of them."""
        repeats = any(thing.rule for thing in deed.things)
        if slot.kind != "time" or not repeats or mentions.repeats_in(words):
            return words
        return f"every {words}" if mentions.several_days(words) else words

    def _closed(self, command: Fill) -> str:
        """The title of what was done away with in this talk, where nothing but that is named."""
        if len(command.slots) != 1:
            return ""
        ((short, words),) = command.slots.items()
        share = Heard(said="", state=self.state, world=self.world)
        for hint in self.world.hints.values():
            for name, slot in hint.slots.items():
                if slot.kind == "thing" and slot.required and short in (slot.name, name):
                    gone = filling.find_things(slot, words, share).gone
                    return self.state.things[gone[0]].title if gone else ""
        return ""

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

    def _instead(self, deed: Deed, wish: Wish) -> None:
        """What was done is taken back, and this is done."""
        if deed.result.get("status") == "nothing":  # nor is there anything to take back
            self.begun.append(replace(wish, amends=None))
            return
        if completing.tool_that("retract", self.world) is None:
            self._note("cannot_undo")
            return
        slots = self.world.hints[wish.tool].slots
        # What was done stands for what is wanted: nothing but what is needed is asked for.
        self.begun.append(replace(wish, replaces=deed, asked=tuple(slots)))

    def _changes_kind(self, command: Begin, tool: str) -> bool:
        """ "No, as a goal": the same again, as something else."""
        if self._adds():
            return False
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
        if wish is None and self._just_done() and mentions.points(self.said):
            self._undo()  # "drop that one": nothing else is there to be dropped
            return
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
        deeds = [deed for deed in self.before.last if deed.result.get("status") != "nothing"]
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
