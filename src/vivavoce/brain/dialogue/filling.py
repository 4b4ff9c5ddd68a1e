"""From the user's words to values: what each kind of slot makes of them.

The model copies words, and often too few or from the wrong place. Times are read by the clock
(`times`), things found by the resolver (`things`); what neither can settle becomes a question.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from vivavoce.brain.dialogue import times
from vivavoce.brain.dialogue.commands import Begin, Command, Fill
from vivavoce.brain.dialogue.state import State, Wish, World, makes
from vivavoce.brain.dialogue.things import Found, Known, closer, of_whom, resolve, sets_in
from vivavoce.language.en import mentions, titles, utterances
from vivavoce.language.en.elsewhere import bare, elsewhere, without_clock
from vivavoce.language.en.mentions import places_in
from vivavoce.language.en.numbers import numbers_in
from vivavoce.language.en.pointing import means_all, nameless
from vivavoce.language.en.utterances import takes_back
from vivavoce.wire.hints import Flow, Hint, Slot, Thing
from vivavoce.wire.values import Record

_NEAR = 6
"""Words between "when I" and the place."""
_NOT_ONLY = re.compile(r"(?i)\bnot (?:just|only|merely)\b[^,.;!?]*")
_CUT_SHORT = 3
"""Letters from which the beginning of a name is taken for the name."""
_RELATIVE = re.compile(
    r"(?i)\s+(?:that |which )?(?:i|we)(?:'d| would| want| need| have|'ve got).*$"
)


class Heard(Record):
    """One command's share of what was said."""

    said: str
    spans: Sequence[times.Span] = ()
    """Words about time that belong to this command."""
    among: tuple[str, ...] = ()
    """Ids of the things that were asked about."""
    sure: bool = False
    """The words are the right ones, all of them."""
    state: State
    world: World


# --- Which words belong to which command ----------------------------------------------


def params(hint: Hint, slots: Mapping[str, str], world: World) -> dict[str, str]:
    """By parameter: short names are the hint's own, or those of another tool for the same kind."""
    said = {short: words.strip() for short, words in slots.items() if words.strip()}
    own = {s.name or n: n for n, s in hint.slots.items()} | {n: n for n in hint.slots}
    found = {own[short]: words for short, words in said.items() if short in own}
    for short, words in said.items():
        if short in own:
            continue
        kinds = {
            slot.kind
            for other in world.hints.values()
            for name, slot in other.slots.items()
            if short in (slot.name, name)
        }
        free = [n for n, s in hint.slots.items() if s.kind in kinds and n not in found]
        # What some call words is a time where others know it for one.
        free.sort(key=lambda name: hint.slots[name].kind == "words")
        if free:
            found[free[0]] = words
    return found


def paired(said: str, commands: Sequence[Command], world: World) -> list[Command]:
    """Where as many times were said as wishes, and one time was copied for two of them: to each its
    own, in the order in which they were said."""
    spans = [span for span in times.find(said) if not span.describes]
    named: list[tuple[int, int, str]] = []
    for at, command in enumerate(commands):
        slots = _time_slots(command, world)
        others = {s: w for s, w in getattr(command, "slots", {}).items() if s not in slots}
        places = _places(said, Begin("", others))
        if slots and others and places:
            named.append((min(places)[0], at, slots[0]))
    if len(spans) < 2 or len(named) != len(spans):
        return list(commands)
    owned = [_owned(said, commands[at], short, spans) for _, at, short in named]
    if len(set(owned)) == len(spans) and None not in owned:
        return list(commands)
    found = list(commands)
    for span, (_, at, short) in zip(spans, sorted(named), strict=True):
        command = found[at]
        assert isinstance(command, Begin)
        found[at] = replace(command, slots={**command.slots, short: span.text})
    return found


def _time_slots(command: Command, world: World) -> list[str]:
    """Short names of the wish's times, those it copied first."""
    if not isinstance(command, Begin):
        return []
    hint = next((h for tool, h in world.hints.items() if command.wish in (h.wish, tool)), None)
    slots = hint.slots.items() if hint is not None else ()
    found = [slot.name or name for name, slot in slots if slot.kind == "time"]
    return sorted(found, key=lambda short: short not in command.slots)


def _owned(said: str, command: Command, short: str, spans: Sequence[times.Span]) -> int | None:
    """Which of the times it copied from."""
    places = _places(said, command, only={short})
    return next(
        (n for n, one in enumerate(spans) for s, e in places if s < one.end and one.start < e), None
    )


def allotted(said: str, commands: Sequence[Command], world: World) -> list[list[times.Span]]:
    """For each command the words about time that are its own: those it copied from, or those
    nearest to what it copied. Words that name a thing are nobody's time."""
    places = [_places(said, command) for command in commands]
    naming = [
        place
        for command in commands
        for place in _places(said, command, only=_things_named(command, world))
    ]
    shares: list[list[times.Span]] = [[] for _ in commands]
    found = times.find(said)
    plain = [span for span in found if not span.describes] if naming else found
    for span in [part for one in plain or found for part in _outside(said, one, naming)]:
        sharing = [
            (at, place)
            for at, copied in enumerate(places)
            for place in copied
            if place[0] < span.end and span.start < place[1]
        ]
        if len({at for at, _ in sharing}) > 1:  # "at eight and at nine": to each its own
            for at, (start, end) in sharing:
                for _, (first, last) in sharing:
                    if first < end and start < last:  # two copies of one
                        start, end = min(start, first), max(end, last)
                shares[at].append(times.Span(start, end, said[start:end]))
            continue
        best, distance = -1, len(said) + 1
        for at, copied in enumerate(places):
            for start, end in copied:
                apart = max(start - span.end, span.start - end, 0)
                if apart < distance:
                    best, distance = at, apart
        if best < 0 and len(commands) == 1:
            best = 0
        if best >= 0:
            shares[best].append(span)
    return shares


def _outside(said: str, span: times.Span, naming: Sequence[tuple[int, int]]) -> list[times.Span]:
    """What of it does not name a thing: of "everything tomorrow to Monday" only Monday."""
    for start, end in naming:
        if start <= span.start and span.end <= end:
            return []
        onward = re.match(r"(?i)\W*(?:to|until|till|onto)\b", said[end : span.end])
        if start <= span.start < end < span.end and onward:
            rest = times.find(said[end : span.end])
            return [replace(one, start=one.start + end, end=one.end + end) for one in rest]
    return [span]


def marked(said: str, command: Begin | Fill, world: World) -> list[times.Span]:
    """The words about time that were marked as such, where they stand."""
    timed = {
        short
        for hint in world.hints.values()
        for name, slot in hint.slots.items()
        if slot.kind == "time"
        for short in (slot.name, name)
    }
    words = [one for short, one in command.slots.items() if short in timed]
    places = sorted(place for one in words for place in _pieces(said, one))
    return [times.Span(start, end, said[start:end]) for start, end in places]


def _pieces(said: str, words: str) -> list[tuple[int, int]]:
    """Where these words stand, which may have been put together from several places: each time as
    many of them as stand in one."""
    found, rest, low = [], words.split(), said.casefold()
    while rest:
        for many in range(len(rest), 0, -1):
            piece = " ".join(rest[:many]).casefold().strip(" ,.;:!?")
            if piece and (at := low.find(piece)) >= 0:
                found.append((at, at + len(piece)))
                break
        rest = rest[many:]
    return found


def _things_named(command: Command, world: World) -> set[str]:
    if not isinstance(command, Begin | Fill):
        return set()
    return {
        short
        for short in command.slots
        for hint in world.hints.values()
        for name, slot in hint.slots.items()
        if slot.kind == "thing" and short in (slot.name, name)
    }


def _places(said: str, command: Command, only: set[str] | None = None) -> list[tuple[int, int]]:
    if not isinstance(command, Begin | Fill):
        return []
    found = []
    for short, words in command.slots.items():
        at = said.casefold().find(words.casefold().strip())
        if at >= 0 and words.strip() and (only is None or short in only):
            found.append((at, at + len(words.strip())))
    return found


# --- Filling --------------------------------------------------------------------------


def filled(wish: Wish, given: Mapping[str, str], heard: Heard) -> Wish:
    """The wish with what these words say, things first: times can depend on them."""
    hint = heard.world.hints[wish.tool]
    given = _with_things(wish, hint, given, heard)
    given = given if heard.sure else _with_place(hint, given, heard)
    given = _continued(
        {n: w for n, w in given.items() if _plausible(n, w, hint, given, heard)}, given, hint, heard
    )
    for name in [n for n in given if hint.slots[n].kind == "thing"]:
        if hint.slots[name].many and means_all(given[name]):
            # Of "everything tomorrow" the time is no new one.
            whole = (given[name], *sets_in(heard.said))
            given = {n: w for n, w in given.items() if n == name or not _names(w, whole, heard)}
            spans = [span for span in heard.spans if not _names(span.text, whole, heard)]
            spans = [part for span in spans for part in _onward_of(span, whole, heard.said)]
            heard = replace(heard, spans=spans)
        wish = _put(wish, name, hint.slots[name], given.pop(name), heard)
    if heard.spans and any(slot.kind == "time" for slot in hint.slots.values()):
        given = _with_times(wish, hint, given, heard)
    elif heard.spans and (slot := _loosely_timed(hint, given, heard.world)):
        given[slot] = _joined(heard.said, heard.spans)
    for name in sorted(given, key=lambda n: hint.slots[n].kind == "words"):
        wish = _put(wish, name, hint.slots[name], given[name], heard)
    return _anchored(_chosen(wish, hint, heard), hint, heard)


def _onward_of(span: times.Span, sets: Sequence[str], said: str) -> list[times.Span]:
    """Of "everything Ines has tomorrow, to Monday" only Monday, though both were marked as one."""
    for words in sets:
        end = said.casefold().find(words.casefold()) + len(words)
        if end >= len(words) and span.start < end < span.end:
            rest = said[end : span.end]
            start = end + len(rest) - len(rest.lstrip(" ,"))
            return [times.Span(start, span.end, said[start : span.end])]
    return [span]


def _names(time: str, things: Sequence[str], heard: Heard) -> bool:
    """Whether a time is one of the words for these things, and is said nowhere else."""
    once = heard.said.casefold().count(time.casefold()) == 1
    return once and any(time.casefold() in words.casefold() for words in things)


def _continued(
    kept: dict[str, str], given: Mapping[str, str], hint: Hint, heard: Heard
) -> dict[str, str]:
    """What was no place goes on with what it was said after: "ring the vet", "about the cat"."""
    for name, words in kept.items():
        for other in (w for n, w in given.items() if n not in kept and not times.find(w)):
            longer = f"{words} {other}"
            if hint.slots[name].kind == "words" and longer.casefold() in heard.said.casefold():
                kept = {**kept, name: longer}
    return kept


def _plausible(name: str, words: str, hint: Hint, given: Mapping[str, str], heard: Heard) -> bool:
    """Whether the words can be what the slot is for: a time has a word of time in it, and a place
    sets something off only where it is said so."""
    slot = hint.slots[name]
    if heard.sure and slot.kind != "time":
        return True
    if slot.kind == "time" and mentions.one_thing(words) and not times.only(heard.said):
        # "He's the one who fell" names nobody's hour.
        return any("one" in span.text.casefold().split() for span in times.find(heard.said))
    if slot.kind == "time" and not times.find(words):
        return not slot.required and not slot.required_when and mentions.somewhen(words)
    if slot.kind != "place" or places_in(words):
        return True
    at = heard.said.casefold().find(words.casefold())
    if at < 0:
        return True
    if any(
        len(places_in(heard.said[begin : at + len(words)])) for begin in _words_before(heard, at)
    ):
        return True
    timed = any(hint.slots[n].kind == "time" and times.find(w) for n, w in given.items())
    first = " ".join(words.split()[:2])
    whole = not heard.said.replace(words, "").strip(" ,.!?")
    placed = mentions.places_follow(heard.said[:at]) or mentions.places_follow(first) or whole
    return not timed and not heard.spans and bool(placed)


def _words_before(heard: Heard, at: int) -> list[int]:
    """Where the few words right before begin: "when I'm next in"."""
    return [match.start() for match in re.finditer(r"\S+", heard.said[:at])][-_NEAR:]


def _loosely_timed(hint: Hint, given: Mapping[str, str], world: World) -> str | None:
    """A slot for words that other tools know for a time ("what's on tomorrow?")."""
    timed = {
        slot.name or name
        for other in world.hints.values()
        for name, slot in other.slots.items()
        if slot.kind == "time"
    }
    names = [n for n, s in hint.slots.items() if s.kind == "words" and (s.name or n) in timed]
    return next((name for name in names if name not in given), None)


def _put(wish: Wish, name: str, slot: Slot, words: str, heard: Heard) -> Wish:
    if slot.kind == "thing" and (name in wish.values or wish.many) and mentions.only_points(words):
        return wish  # asked when, "push it to Friday" is about what is spoken of
    wish = replace(wish, words={**wish.words, name: words}, problem="")
    if slot.kind == "thing":
        return _thing(wish, name, slot, words, heard)
    value: Any = words
    there = wish if wish.amends is None else wish.amends.wish
    before = str(there.values.get(name, ""))
    renamed = wish.amends is not None or (before and utterances.replaced(heard.said, before))
    # What a flow is told is a value, as it was said, and no title.
    if slot.kind == "words" and renamed and not isinstance(heard.world.hints[wish.tool], Flow):
        value = retitled(before, words, wish, heard)
    elif slot.kind == "time":
        value = _time(wish, name, words, heard)
    elif slot.kind == "repeat":
        value = " ".join(times.repeats(words)) or words
    elif slot.kind == "choice":
        denied = words in heard.said and words not in _NOT_ONLY.sub(" ", heard.said)
        value = choice(slot, heard.said if denied else words)
        value = value == "true" if slot.boolean and value else value
    elif slot.kind == "number":
        numbers = numbers_in(words)
        value = numbers[0] if numbers else None
    elif slot.kind in ("words", "place"):
        place = mentions.place_named(words, heard.said).strip(" .,!?")
        value = _title(words, wish, heard) if slot.kind == "words" else place
    values = {key: one for key, one in wish.values.items() if key != name}
    return replace(wish, values=values | ({name: value} if value not in (None, "") else {}))


def choice(slot: Slot, words: str) -> str | None:
    """Which of them the words name; what they say it is not is not named."""
    said = f" {' '.join(re.findall(r'[a-z0-9]+', _NOT_ONLY.sub(' ', words).casefold()))} "
    fitting = [
        value
        for value, called in slot.choices.items()
        if any(f" {one.casefold().replace('_', ' ')} " in said for one in (*called, value))
    ]
    return fitting[0] if len(fitting) == 1 else None


def _chosen(wish: Wish, hint: Hint, heard: Heard) -> Wish:
    """What is said in so many words about something that repeats ("only this once"), though no
    slot copied it."""
    repeats = any(
        thing.rule
        for id_ in (*wish.many, *map(str, wish.values.values()))
        if (thing := heard.state.things.get(id_)) is not None
    )
    for name, slot in hint.slots.items():
        if repeats and slot.kind == "choice" and not slot.derived and name not in wish.values:
            value = choice(slot, heard.said)
            if value is not None:
                wish = replace(wish, values={**wish.values, name: value})
    return wish


# Things


def candidates(slot: Slot, state: State) -> list[Thing]:
    there = [t for t in state.things.values() if t.open and (not slot.of or t.kind == slot.of)]
    return sorted(there, key=times.sooner)


def find_things(
    slot: Slot, words: str, heard: Heard, among: Sequence[str] = (), *, loose: bool = False
) -> Found:
    """Among those that were asked about first, then among all."""
    state, world = heard.state, heard.world
    last = [thing.id for deed in state.last for thing in deed.things]
    there = candidates(slot, state)
    known = Known(there, state.view, state.listed, last, world.now, world.briefing.time_zone)
    asked = [thing for thing in there if thing.id in (among or heard.among)]
    if asked:
        asking = known._replace(things=asked)
        found = resolve(words, asking, many=slot.many, said=heard.said, loose=loose)
        if found.ids or len(asked) == len(there):
            return _there(found, words, slot, known, heard)
    found = resolve(words, known, many=slot.many, said=heard.said, loose=loose)
    return _there(found, words, slot, known, heard)


def _there(found: Found, words: str, slot: Slot, known: Known, heard: Heard) -> Found:
    """What was found, unless the words name something better that was done away with in this talk:
    the viewing that is gone is not the other viewing."""
    if len(found.ids) > 1 or means_all(words):
        return found
    closed = [t for t in heard.state.things.values() if not t.open and slot.of in ("", t.kind)]
    gone = closer(words, known.things, closed, known)
    return Found(gone=tuple(gone)) if gone else found


def _thing(wish: Wish, name: str, slot: Slot, words: str, heard: Heard) -> Wish:
    for phrase in sets_in(heard.said) if slot.many else ():
        bare = nameless(titles.untimed(words, None)) or phrase.casefold() in words.casefold()
        if bare or find_things(slot, words, heard) == Found():
            words = phrase  # "anything tomorrow, push it to Friday", of which "it" was copied
    found = find_things(slot, words, heard)
    first = re.split(r"[,;.!?]\s", words, maxsplit=1)[0]
    if first != words and not means_all(
        first
    ):  # "the dentist, and scrap the book club" is copied too long
        nearer = find_things(slot, first, replace(heard, said=""))
        found = nearer if len(nearer.ids) == 1 else found
    if slot.many and len(found.ids) < 2 and (each := _each(slot, words, heard)):
        found = Found(ids=each)
    if not found.ids and (words in (heard.said, untimed(heard)) or nameless(words)):
        # "The plumber cancelled. Take him off the list."
        named = find_things(slot, untimed(heard), replace(heard, said=""), loose=True)
        found = named if len(named.ids) == 1 or not found.left else found
    if len(found.ids) > 1:
        before = heard.said[: max(heard.said.casefold().rfind(words.casefold()), 0)]
        theirs = of_whom(found.ids, words, before, candidates(slot, heard.state))
        found = Found(ids=theirs)
    values = {key: one for key, one in wish.values.items() if key != name}
    wish = replace(wish, gone=found.gone)
    if len(found.ids) == 1:
        return replace(wish, values={**values, name: found.ids[0]}, many=(), left=())
    if found.ids and slot.many:
        chosen = bool(heard.among) and set(found.ids) <= set(heard.among) and bool(wish.left)
        return replace(wish, values=values, many=found.ids, left=(), agreed=chosen)
    return replace(wish, values=values, many=(), left=found.left or found.ids)


def _each(slot: Slot, words: str, heard: Heard) -> tuple[str, ...]:
    """ "The boiler thing and the dentist": two, each plain by itself."""
    parts = [part for part in re.split(r",\s*(?:and\s+)?|\s+and\s+", words) if part.strip()]
    if len(parts) < 2:
        return ()
    alone = replace(heard, said="")
    found = [find_things(slot, part, alone, loose=True).ids for part in parts]
    ids = tuple(dict.fromkeys(id_ for one in found for id_ in one))
    return ids if all(len(one) == 1 for one in found) and len(ids) == len(parts) else ()


def anchor_slot(hint: Hint) -> str | None:
    """The parameter for what a time is relative to."""
    if not any(slot.kind == "time" for slot in hint.slots.values()):
        return None
    return next((n for n, s in hint.slots.items() if s.kind == "thing" and not s.required), None)


def _anchored(wish: Wish, hint: Hint, heard: Heard) -> Wish:
    """ "An hour before my train": the train is the anchor, where the tool can take one."""
    name = anchor_slot(hint)
    timed = next((n for n, s in hint.slots.items() if s.kind == "time" and n in wish.values), None)
    if name is None or timed is None or name in wish.values:
        return wish
    if not read(str(wish.values[timed]), wish, heard).anchor:
        return wish
    slot, alone = hint.slots[name], replace(heard, said="")
    words = mentions.beside(heard.said)
    found = find_things(slot, words, alone) if words else Found()
    if len(found.ids) != 1:  # "You know my train? An hour before that …"
        at = heard.said.find(words) if words else len(heard.said)
        named = find_things(slot, heard.said[:at], alone) if heard.said[:at].strip() else found
        found = named if len(named.ids) == 1 else found
    if len(found.ids) == 1:
        return replace(wish, values={**wish.values, name: found.ids[0]})
    return replace(wish, left=found.left)


def _with_things(wish: Wish, hint: Hint, given: Mapping[str, str], heard: Heard) -> dict[str, str]:
    """Where the wish is about a thing and no words for it were copied, the utterance may have them
    all the same: "push it to Friday", "the bins are out"."""
    found = dict(given)
    said = untimed(heard) if any(s.kind == "time" for s in hint.slots.values()) else heard.said
    for name, slot in hint.slots.items():
        bare = name not in given and name not in wish.values and not wish.many
        sought = slot.required or (hint.does == "tell" and not given)
        if slot.kind == "thing" and sought and bare and name not in wish.words:
            alone = replace(heard, said="")
            if find_things(slot, said, alone, loose=True).ids:
                found[name] = said
    return found


def untimed(heard: Heard) -> str:
    """What was said, without its times: they may be those that something shall have."""
    text = heard.said
    for span in reversed(heard.spans or times.find(heard.said)):
        text = f"{text[: span.start]} {text[span.end :]}"
    return text


def place_slot(hint: Hint) -> str | None:
    return next((name for name, slot in hint.slots.items() if slot.kind == "place"), None)


def _with_place(hint: Hint, given: Mapping[str, str], heard: Heard) -> dict[str, str]:
    """ "When I'm at the shop" is where, though it answers "When?"."""
    found, place = dict(given), place_slot(hint)
    for name, words in given.items():
        timed = hint.slots[name].kind == "time"
        if timed and place and place not in found and not times.find(words):
            where = words if places_in(words) else heard.said if places_in(heard.said) else ""
            if where and not times.find(where):
                del found[name]
                found[place] = where
    return found


# Times


def dayless(words: str, wish: Wish, heard: Heard) -> bool:
    """An hour of no day, or of one that was said before."""
    meant = read(words, wish, heard)
    return mentions.same_day(words) or (meant.hour and not meant.day and not meant.rule)


def on_the_same_day(earlier: str, words: str, wish: Wish, heard: Heard) -> str:
    day = part_of(earlier, wish, heard, day=True)
    bare = mentions.without_day(words)
    # If that can be two times, it is on the same side of noon.
    at = read(earlier, wish, heard).at
    local = at.astimezone(ZoneInfo(heard.world.briefing.time_zone)) if at else None
    half = ", am" if local is None or local.hour < 12 else ", pm"
    # "Tuesday" alone can be today; with its hour it was one day.
    day = day or (f"{local.day} {local:%B}" if local is not None else "")
    wholes = (f"{day}, {bare}", f"{day}, {bare}{half}")
    return next((one for one in wholes if day and read(one, wish, heard).whole), words)


def base(wish: Wish, hint: Hint, state: State) -> datetime | None:
    """The time of what the wish is about: what the words leave out stays as it is there."""
    if wish.amends is not None:
        return next((t.at for t in wish.amends.things if t.at is not None), None)
    for name, slot in hint.slots.items():
        if slot.kind == "thing":
            ids = [wish.values[name]] if name in wish.values else list(wish.many)
            for id_ in ids:
                thing = state.things.get(str(id_))
                if thing is not None and thing.at is not None:
                    return thing.at
    return None


def read(words: str, wish: Wish, heard: Heard) -> times.Meant:
    hint = heard.world.hints[wish.tool]
    return times.meant(
        words,
        now=heard.world.now,
        zone=heard.world.briefing.time_zone,
        base=base(wish, hint, heard.state),
    )


def _with_times(wish: Wish, hint: Hint, given: Mapping[str, str], heard: Heard) -> dict[str, str]:
    """The time slot's words extended to whole phrases, and what no slot copied put into it."""
    slot = next(name for name, one in hint.slots.items() if one.kind == "time")
    repeat = next((name for name, one in hint.slots.items() if one.kind == "repeat"), None)
    copied = [given[name] for name in (slot, repeat) if name and name in given]
    places = [at for words in copied if (at := heard.said.casefold().find(words.casefold())) >= 0]
    ends = [(at, at + len(words)) for at, words in zip(places, copied, strict=False)]
    own = [s for s in heard.spans if any(s.start < end and start < s.end for start, end in ends)]
    own = list(heard.spans) if heard.sure else own
    others = [span for span in heard.spans if span not in own]
    own = own if heard.sure else _covered(heard.said, own, ends)
    text = _joined(heard.said, own) or ", ".join(copied)
    if referring := _from_the_other(wish, heard):
        text = referring
    elif not _enough(text, wish, heard) and not _waits(text, wish, hint, heard):
        for span in others:
            longer = _joined(heard.said, sorted((*own, span), key=lambda s: s.start))
            longer = longer if own or not text else f"{text}, {span.text}"
            if not text or _better(longer, text, wish, heard):
                own, text = sorted((*own, span), key=lambda s: s.start), longer
    text = _changed(text, own, wish, heard)
    if len(own) > 1 and not read(text, wish, heard).whole:  # "to six, it's always six now"
        alone = [one.text for one in own if read(one.text, wish, heard).whole]
        same = {read(one, wish, heard).at for one in alone}
        text = alone[-1] if len(alone) == len(own) and len(same) == 1 else text
    found = dict(given)
    there = base(wish, hint, heard.state)
    if there is not None:
        text = mentions.day_after(mentions.brought_in(text, heard.said))
    hours = [span.text for span in others if times.says_hour(span.text)]
    if there is not None and hours and times.repeats(text) and not times.says_hour(text):
        text = hours[-1]  # "make it eight, every week like": that it repeats is known
    if text and there is not None and read(text, wish, heard).at == there:
        # The time that it has names it: "the Saturday run, make it eight".
        others = [s for s in heard.spans if read(s.text, wish, heard).at not in (there, None)]
        text = others[-1].text if others else text
    if text and not read(text, wish, heard).turned:
        text = mentions.turned(text, f"{heard.said} {_said_before(wish, slot)}")
    if text and not referring:
        text = _on_its_day(text, wish, hint, given, heard)
    if text:
        text = mentions.before_its_end(text, heard.said)
        about = any(one.kind == "thing" and one.required for one in hint.slots.values())
        text = mentions.moved_to(text) if about else text
        if not referring:
            text = elsewhere(text, heard.said, _context(wish, heard))
        found[slot] = text
        if repeat is not None and times.repeats(text):
            found[repeat] = " and ".join(times.repeats(text))
        elif repeat is not None:
            found.pop(repeat, None)
    return found


def _on_its_day(text: str, wish: Wish, hint: Hint, given: Mapping[str, str], heard: Heard) -> str:
    """With the day that was taken for part of what it is called: of "I have an interview on
    Thursday with the bank, eleven in the morning" the eleven is on Thursday. Only of what takes
    place then, and an hour that is said after it: what shall be done at eleven may be about
    Thursday."""
    plain, said = bare(text), heard.said.casefold()  # whose clock it is by, is said later
    if not makes(hint) or wish.amends is not None or not dayless(plain, wish, heard):
        return text
    behind = said.rfind(plain.split(",", maxsplit=1)[0].casefold())
    for words in (w for n, w in given.items() if hint.slots[n].kind == "words"):
        day, at = titles.day_of_event(words, heard.said), said.find(words.casefold())
        after = 0 <= at < at + len(words) <= behind
        if day and after and times.says_clock(text) and _enough(f"{day}, {plain}", wish, heard):
            return f"{day}, {text}"
    return text


def _context(wish: Wish, heard: Heard) -> list[str]:
    """What else was said of it, and what it is called: there may be a place in it."""
    things = heard.state.things
    ids = [*map(str, wish.values.values()), *wish.many]
    there = [things[one].title for one in ids if one in things]
    before = [] if wish.amends is None else [wish.amends.wish.said, *_texts(wish.amends.wish)]
    return [heard.state.said, wish.said, *_texts(wish), *there, *before]


def _texts(wish: Wish) -> list[str]:
    return [one for one in wish.values.values() if isinstance(one, str)]


def _changed(text: str, own: Sequence[times.Span], wish: Wish, heard: Heard) -> str:
    """With what was said later, after a change of mind: "at nine … Or wait. Make it Sunday"."""
    end, changed = max((one.end for one in own), default=len(heard.said)), False
    for span in heard.spans:
        if span.start >= end:
            changed = changed or takes_back(f"{heard.said[end : span.start]} {span.text}")
            text = combined(text, span.text, wish, heard) if changed else text
            end = span.end
    return text


def _from_the_other(wish: Wish, heard: Heard) -> str:
    """ "The mass is on the ninth at seven, call me at six that same evening", "… wake me at six",
    "… an hour before that": of several times, the one that is told by another is meant."""
    hint = heard.world.hints[wish.tool]
    about = any(slot.kind == "thing" and slot.required for slot in hint.slots.values())
    if about or base(wish, hint, heard.state) is not None:
        return ""  # its times count from what it is about
    for at in range(len(heard.spans) - 1, 0, -1):
        for other in reversed(heard.spans[:at]):
            if found := _told_by(other, heard.spans[at], wish, heard):
                return found
    return ""


def _told_by(first: times.Span, second: times.Span, wish: Wish, heard: Heard) -> str:
    if times.says_hour(first.text):
        theirs = elsewhere(first.text, heard.said, _context(wish, heard))
        first = replace(first, text=theirs)
    since, two = read(first.text, wish, heard), len(heard.spans) == 2
    told = two and since.whole and utterances.speaks_to_me(heard.said[: second.start])
    named = since.day and not since.rule and not times.leans(first.text)
    same = mentions.same_day(second.text) and named
    if same or (told and dayless(second.text, wish, heard)):
        whole = on_the_same_day(first.text, second.text, wish, heard)
        return whole if whole != second.text else ""
    leaning = times.leans(second.text) and read(second.text, wish, heard).anchor
    if since.at is None or not leaning:
        return ""
    zone = heard.world.briefing.time_zone
    at = times.meant(second.text, now=heard.world.now, zone=zone, base=since.at).at
    return times.exactly(at, zone) if at is not None else ""


def _said_before(wish: Wish, name: str) -> str:
    """What was said of it in what is corrected."""
    return str(wish.amends.wish.values.get(name, "")) if wish.amends is not None else ""


def _covered(
    said: str, spans: Sequence[times.Span], copied: Sequence[tuple[int, int]]
) -> list[times.Span]:
    """The phrases, each made longer by what was copied with it."""
    found: list[times.Span] = []
    for span in spans:
        start, end = span.start, span.end
        for first, last in copied:
            if first < end and start < last:
                start, end = min(start, first), max(end, last)
        if found and start < found[-1].end:
            start, end = found[-1].start, max(end, found.pop().end)
        found.append(times.Span(start, end, said[start:end].strip(" ,.;!?")))
    return found


def _waits(text: str, wish: Wish, hint: Hint, heard: Heard) -> bool:
    """ "The day after, same hour": of what is not known yet; the other times name it."""
    about = any(slot.kind == "thing" and slot.required for slot in hint.slots.values())
    bare = about and bool(text) and base(wish, hint, heard.state) is None
    return bare and (mentions.same_time(text) or read(text, wish, heard).anchor)


def _enough(text: str, wish: Wish, heard: Heard) -> bool:
    if not text:
        return False
    meant = read(text, wish, heard)
    return meant.whole and meant.day


def _better(longer: str, text: str, wish: Wish, heard: Heard) -> bool:
    old, new = read(text, wish, heard), read(longer, wish, heard)
    return (new.at is not None, new.hour, new.day) > (old.at is not None, old.hour, old.day)


def _joined(said: str, spans: Sequence[times.Span]) -> str:
    text, end = "", -1
    for span in spans:
        between = said[end : span.start] if end >= 0 else ""
        joint = between if end >= 0 and mentions.joins(between) else ", "
        if end >= 0 and joint == ", " and takes_back(between):
            joint = ", no, "  # "every other Friday …, no wait, every Friday"
        text += (joint if end >= 0 else "") + span.text
        end = span.end
    return text


def _time(wish: Wish, name: str, words: str, heard: Heard) -> str:
    """The words, with what was said before where they are an answer to "at what time?"."""
    before = str(wish.values.get(name) or wish.refuted.get(name) or "")
    if before and read(before, wish, heard).place:
        before = bare(before)  # asked what time that is here, they say it by their own clock
    return combined(before, words, wish, heard)


def combined(before: str, words: str, wish: Wish, heard: Heard) -> str:
    """What is said now, with the day or the hour of what was said before where it has none."""
    whole = _enough(words, wish, heard)
    if whole and before and times.says_hour(before) and not times.says_hour(words):
        # "Every week", said of what is on Wednesdays at half past seven.
        tried = (f"{before}, {words}", f"{words}, {before}")
        return next((both for both in tried if _keeps(before, both, wish, heard)), words)
    if not before or whole:
        return words
    # "Thursday" and "at six" go together; "Thursday at six" and "seven" only as a change of mind.
    tried = (f"{before}, {words}", f"{before}, no, {words}")
    for together in tried:
        if _enough(together, wish, heard):
            return together
    # "Next week", and then "Tuesday": still without an hour.
    alone, both = read(words, wish, heard), read(tried[0], wish, heard)
    return tried[0] if alone.day and both.day and not alone.hour and not both.question else words


def _keeps(before: str, both: str, wish: Wish, heard: Heard) -> bool:
    """Whether the hour is still the one that was said."""
    zone = ZoneInfo(heard.world.briefing.time_zone)
    old, new = (read(words, wish, heard).at for words in (before, both))
    if old is None or new is None:
        return False
    return old.astimezone(zone).time() == new.astimezone(zone).time()


def part_of(text: str, wish: Wish, heard: Heard, *, day: bool) -> str:
    """The longest stretch of the words that says the day and no hour, or the hour and no day."""
    pieces = text.split()
    bare = replace(wish, values={}, many=())
    for length in range(len(pieces), 0, -1):
        for start in range(len(pieces) - length + 1):
            stretch = titles.TRAILING.sub("", " ".join(pieces[start : start + length])).strip(" ,.")
            if not times.find(stretch):
                continue
            meant = read(stretch, bare, heard)
            if meant.day is day and meant.hour is not day:
                return stretch
    return ""


# Words


def _title(words: str, wish: Wish, heard: Heard) -> str:
    """As one would write it on a list. Only where the tool knows times are they taken out."""
    hint = heard.world.hints[wish.tool]
    if isinstance(hint, Flow):  # "from three to five" is no time
        return words.strip(" ,.;!?")
    if not any(s.kind == "time" for s in hint.slots.values()):
        return _whole_times(words, heard).strip(" ,.;!?")
    timed = [n for n, s in hint.slots.items() if s.kind in ("time", "repeat") and n in wish.words]
    text = titles.untimed(words, " ".join(str(wish.words[name]) for name in timed))
    text = titles.stripped(text)
    text = titles.of_what(text, words, heard.said) if text else text
    text = titles.bare(text)
    text = titles.of_whom(without_clock(text, heard.said), words, heard.said)
    if not titles.says_something(text):
        pointed = titles.before(words, heard.said) if titles.POINTS.search(words) else ""
        text = titles.stripped(titles.untimed(pointed, None))
        text = text if titles.says_something(text) else ""
    return text[:1].upper() + text[1:]


def retitled(before: str, words: str, wish: Wish, heard: Heard) -> str:
    """ "I meant Stella": the name in "Call Sheila" is another one, the rest is as it was."""
    new = _title(words, wish, heard)
    new = new[:1].lower() + new[1:] if words[:1].islower() else new
    bare = re.sub(r"(?i)\s*,?\s*\bnot\b.*$", "", new).strip(" ,.") or new
    bare = _RELATIVE.sub("", bare)  # "it's the car I want to fuel"
    for wrong in utterances.denied(heard.said):
        # A name may be cut short, "not the gen" of a generator; it is replaced as a whole.
        rest = r"\w*" if len(wrong) >= _CUT_SHORT else r"\b"
        if at := re.search(rf"(?i)\b{re.escape(wrong)}{rest}", before):
            head = before[: at.start()]
            new = head + _onward(head, bare) + before[at.end() :]
            return new[:1].upper() + new[1:] if before[:1].isupper() else new
    named = [w for w in re.findall(r"[^\W\d_]+", before)[1:] if w[:1].isupper()]
    if len(bare.split()) == 1 and words[:1].isupper() and len(named) == 1:
        return before.replace(named[0], bare, 1)
    return bare[:1].upper() + bare[1:]


def _onward(head: str, words: str) -> str:
    """Without what both have: "Phone" and "phone Stuart"."""
    before, after = head.casefold().split(), words.split()
    for count in range(min(len(before), len(after) - 1), 0, -1):
        if before[-count:] == [word.casefold() for word in after[:count]]:
            return " ".join(after[count:])
    return words


def _whole_times(words: str, heard: Heard) -> str:
    """Where nothing but a time was copied, all of it."""
    at = heard.said.casefold().find(words.casefold())
    if at < 0 or not times.find(words) or not times.only(words):
        return words
    for span in times.find(heard.said):
        if span.start < at + len(words) and at < span.end:
            return heard.said[min(at, span.start) : max(at + len(words), span.end)]
    return words
