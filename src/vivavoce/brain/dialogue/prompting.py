"""How the model is asked what was meant, and what it may write. Pure.

It translates: the things of the user, the assistant's last line and the person's words in, a line
of commands out, each with the person's own words:

    move task="the boiler man" to="Monday at noon"; remind what="ring Vera" when="Sunday"+"at ten"

The beginning of the prompt (`head`) is the same for every talk with an agent, made from what its
tools say of themselves: it is read once and kept. What changes is short (`tail`). A grammar, made
anew for every utterance (`grammar`), lets it write only commands that can be meant now, and only
words that were said: a small model that may write a time writes one, whether or not anybody named
it.

`WISH name="" - about` is how a wish is shown; `set` is an answer or a correction.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from itertools import islice

from vivavoce.brain.dialogue import times
from vivavoce.brain.dialogue.commands import Begin, Command, Fill, Plain
from vivavoce.brain.dialogue.flows.results import Match
from vivavoce.brain.dialogue.state import View, makes
from vivavoce.brain.dialogue.things import named
from vivavoce.language.en import titles, wishes
from vivavoce.language.en.answers import answer, corrects
from vivavoce.language.en.ending import VERBS
from vivavoce.language.en.pointing import keeps
from vivavoce.language.en.utterances import (
    clauses,
    hesitates,
    intends,
    points_back,
    questions,
    requests,
    settles,
    subject,
    wants,
)
from vivavoce.wire.hints import Flow, Hint, Lessons, Shown, Slot, Thing, Told
from vivavoce.wire.values import Record

SET = "set"
PLAIN = ("yes", "no", "undo", "drop", "thanks", "cannot", "chat", "unclear")
MOST_COMMANDS = 3
_SENTENCE = 3
"""Words; fewer say little on their own."""
_WEIGHT, _DOUBT, _ANSWER, _QUESTION, _THERE = 40.0, 0.01, 2.0, 3.0, 3.0
"""What a similarity counts against a log-probability; how likely anything is whatever the model
thinks; how much likelier an answer is once something was asked; and how much less likely it is that
something is changed by a question, or made anew that is there."""
_NEARBY, _SORT = 10.0, 1.0
"""What a similarity, and what was learned from the examples, count where there are both."""
_TWO = 2
_LEAST_SHOWN, _MOST_SHOWN, _MOST_THINGS = 4, 32, 8
_LONGEST_SAID, _LONGEST_TOLD = 600, 240
_PAIR = re.compile(r'(\w+)=("[^"]*"(?:\+"[^"]*")*)')
_STOP = re.compile(r"(?<![ap]\.m)[.!?;]+(?=\s|$)")
_WORDS = re.compile(r"[^\W_]+")
_BESIDE = re.compile(
    r"(?i)\W*(?:(?:and|but|so|oh)\s+)*(?:because|'?cause|cos|since|as|after|before|when|while|if|unless|"
    r"until|till|like|with|for|at|in|on|than|instead of|that|which|who|whose|where|about|of|to)\b"
)
"""What hangs on something else, and wants nothing by itself."""
_QUOTES = re.compile(r'["“”„«»]')
_MARKUP = re.compile(r"<(?=\|)")

_TASK = (
    "You translate what a person says to an assistant into commands. You never answer the person."
)
_GENERAL = {
    "yes / no": "to the bot's question",
    "undo": "take back what the bot just did",
    "drop": "the person drops what they began to ask for",
    "thanks": "thanks or goodbye",
    "cannot": "wants something else done, which is not in this list",
    "chat": "small talk, or a question that is not about their things",
    "unclear": "broken off, nothing to go by",
}
_SET = "an answer to the bot's question, or a correction of what the bot just did"
_RULES = (
    "Copy the person's own words. Words about time are copied in full: day, hour, part of the day, "
    "how often. Leave out what is not said. Several wishes: several commands with ; between."
)


SYSTEM, USER, ASSISTANT = (
    (f"<|im_start|>{role}\n", "<|im_end|>\n") for role in ("system", "user", "assistant")
)
"""What stands before and after a message, in ChatML; who sends a prompt puts it into the model's
own marks."""


class Likely(Record):
    """What could be meant first, with how likely the model and the examples hold it."""

    by_model: Mapping[str, float]
    """Log-probabilities; of what is not among them it is less than of any of them."""
    by_examples: Mapping[str, float]
    """How near the nearest of its examples is, from -1 to 1."""
    by_sort: Mapping[str, float] = field(default_factory=dict)
    """Log-probabilities by what tells the examples of one from those of another, where that was
    learned."""


# --- The prompt


def head(hints: Iterable[Hint]) -> str:
    """The same for every talk with these tools."""
    hints = [hint for hint in hints if hint.wish and hint.does in ("act", "tell")]
    wishes = [_described(hint) for hint in hints]
    names = dict.fromkeys(name for hint in hints for name in said_slots(hint))
    answers = " ".join(f'{name}=""' for name in names)
    general = [f"{word} - {about}" for word, about in _GENERAL.items()]
    commands = "\n".join([*wishes, f"{SET} ... - {_SET}: {answers}", *general])
    text = _wrapped(SYSTEM, f"{_TASK}\n\nCommands:\n{commands}\n\n{_RULES}")
    for one in islice(_shown(hints), _MOST_SHOWN):
        text += _wrapped(USER, _asked(one.things, one.asked, one.said))
        text += _wrapped(ASSISTANT, one.means)
    return text


def shortened(head: str, read: int) -> str:
    """What is used of it while only the first `read` letters have been read: the examples that are,
    and a few in any case. Who waits for all of it waits half a minute, once on a new machine."""
    starts = [match.start() for match in re.finditer(re.escape(USER[0]), head)]
    starts.append(len(head))
    least = starts[min(_LEAST_SHOWN, len(starts) - 1)]
    return head[: max([least, *(start for start in starts if start <= read)])]


def tail(view: View, said: str, now: datetime) -> str:
    """What changes from turn to turn, to where the model begins to write."""
    things = [shown_thing(thing, now) for thing in view.things[:_MOST_THINGS]]
    return _wrapped(USER, _asked(things, view.told, said)) + ASSISTANT[0]


def beginning(view: View, said: str, now: datetime) -> str:
    """The same while the person still speaks."""
    things = [shown_thing(thing, now) for thing in view.things[:_MOST_THINGS]]
    return USER[0] + safe(_before(things, view.told) + clean(said)).rstrip()


def clean(said: str) -> str:
    """An utterance as it is shown, and as words can be copied from it."""
    return " ".join(_QUOTES.sub("", safe(said)).split())[:_LONGEST_SAID].rstrip()


def sentences(said: str) -> list[str]:
    """All of it, and each of its sentences: what is wished for may be in one of many."""
    text = clean(said)
    each = [part.strip() for part in _STOP.split(text) if len(part.split()) >= _SENTENCE]
    return [text, *each] if len(each) > 1 else [text]


def shown_thing(thing: Thing, now: datetime) -> str:
    """In a few words: `Book club, Friday 7:30 pm`."""
    title = clean(thing.title)[:60]
    if thing.at is not None:
        return f"{title}, {_moment(thing.at.astimezone(now.tzinfo), now)}"
    where = thing.place or (thing.kind if thing.kind != "task" else "")
    return f"{title}, {clean(where)[:40]}" if where else title


def _moment(at: datetime, now: datetime) -> str:
    days = (at.date() - now.date()).days
    hour = f"{at.hour % 12 or 12}" + (f":{at.minute:02}" if at.minute else "")
    clock = f"{hour} {'am' if at.hour < 12 else 'pm'}"
    if 0 <= days <= 1:
        day = ("today", "tomorrow")[days]
    elif 1 < days < 7:
        day = f"{at:%A}"
    else:
        day = f"{at.day} {at:%B}"
    return f"{day} {clock}"


def _described(hint: Hint) -> str:
    slots = "".join(f' {name}=""' for name in said_slots(hint))
    return f"{hint.wish}{slots} - {clean(hint.about)}"


def said_slots(hint: Hint) -> tuple[str, ...]:
    """Short names of what a person says of it. How often is said with when."""
    slots = {slot.name or name: slot for name, slot in hint.slots.items() if not slot.derived}
    timed = any(slot.kind == "time" for slot in slots.values())
    return tuple(name for name, slot in slots.items() if not (timed and slot.kind == "repeat"))


def _shown(hints: Sequence[Hint]) -> Iterator[Told]:
    """What the agent shows, then one of each tool's own, then a second of each, and so on."""
    for hint in hints:
        if hint.lessons is not None:
            yield from hint.lessons.shown
    longest = max((len(hint.examples) for hint in hints), default=0)
    for place in range(longest):
        for hint in hints:
            if place < len(hint.examples):
                yield _as_told(hint, hint.examples[place])


def _as_told(hint: Hint, one: Shown) -> Told:
    """An answer where something had been asked and the wish is open; else the wish itself."""
    slots = "".join(f' {name}="{clean(words)}"' for name, words in one.slots.items())
    means = f"{SET if one.asked else hint.wish}{slots}"
    return Told(said=one.said, asked=one.asked, things=one.things, means=means)


def _asked(things: Iterable[str], told: str, said: str) -> str:
    return f"{_before(things, told)}{clean(said)}"


def _before(things: Iterable[str], told: str) -> str:
    numbered = "; ".join(f"{at} {clean(thing)}" for at, thing in enumerate(things, 1))
    last = clean(told)
    if len(last) > _LONGEST_TOLD:
        last = f"… {last[-_LONGEST_TOLD:].partition(' ')[2]}"
    lines = [f"Things: {numbered}"] if numbered else []
    lines += [f"Bot: {last}"] if last else []
    return "\n".join([*lines, "Person: "])


def _wrapped(marks: tuple[str, str], text: str) -> str:
    return f"{marks[0]}{safe(text)}{marks[1]}"


def safe(text: str) -> str:
    """Words from outside must not end a message or begin another."""
    return _MARKUP.sub("< ", text)


# --- What may be written


def narrowed(view: View, said: str, hints: Sequence[Hint]) -> View:
    """Without slots that nothing was said for: a small model puts other words there, and loses what
    they were said for. So there is none for one of the user's things where they have none, unless
    nothing goes without it; a question is about no time where no time is said; and nothing is
    chosen that has not been named."""
    timed = {
        slot.name or name for h in hints for name, slot in h.slots.items() if slot.kind == "time"
    }
    spare: set[tuple[str, str]] = set()
    for hint in hints:
        for name, slot in hint.slots.items():
            short = slot.name or name
            thing = slot.kind == "thing" and not slot.required and not view.things
            when = hint.does == "tell" and short in timed and not slot.required
            if thing or (when and not times.find(said)) or _unchosen(slot, said):
                spare.add((hint.wish, short))
    wishes = {
        wish: [name for name in names if (wish, name) not in spare]
        for wish, names in view.wishes.items()
    }
    return replace(view, wishes=wishes)


def _unchosen(slot: Slot, said: str) -> bool:
    if slot.kind != "choice" or slot.required or not slot.choices:
        return False
    words = f" {' '.join(re.findall(r'[a-z]+', said.casefold()))} "
    named = (one for value, others in slot.choices.items() for one in (value, *others))
    return not any(f" {one.casefold().replace('_', ' ')} " in words for one in named)


def candidates(view: View, said: str = "") -> tuple[str, ...]:
    """The words that a first command can begin with now. What says no is no yes, whatever it is
    near to: several things may be lost by that."""
    words = [word for word in view.wishes if word]
    if view.answers:
        words.append(SET)
    if view.yes_no:
        plain = answer(said)
        words += [word for word in ("yes", "no") if plain in (None, word)]
    if view.undo:
        words.append("undo")
    if view.drop:
        words.append("drop")
    return (*words, "thanks", "cannot", "chat", "unclear")


def settled_by(
    said: str,
    words: Sequence[str],
    things: Sequence[Thing],
    hints: Iterable[Hint],
    *,
    asked: bool = False,
) -> list[str]:
    """Without what it cannot be: what was done is ticked off, what is called off goes, though
    people cross out either. Of several things it can be both. Of one that is named, and of which no
    time is said, it is nothing else."""
    became = settles(said)
    becomes = {hint.wish: hint.becomes for hint in hints if hint.wish in words}
    ends = {wish for wish, what in becomes.items() if what == "done"}
    goes = {wish for wish, what in becomes.items() if what == "gone"}
    other = {"done": goes, "did": goes, "gone": ends}.get(became, set[str]())
    rest = [word for word in words if word not in other]
    both = ends and goes
    spoken_of = named(said, things)
    if not both or len(spoken_of) >= _TWO:
        return list(words)
    plain = became in ("done", "gone")
    open_ = asked or bool(times.find(said)) or questions(said) or intends(said)
    if plain and len(spoken_of) == 1 and not open_:
        return [word for word in rest if word in (goes if became == "gone" else ends)]
    return rest


def grammar(view: View, said: str, first: Sequence[str] = (), written: int = 0) -> str:
    """In Lark, for llguidance. `first`: which words the first command may begin with; all that
    can be meant where none are given. `written`: how many commands there are already."""
    known = candidates(view, said)
    rules = {f"c{at}": word for at, word in enumerate(known)}
    names = {word: rule for rule, word in rules.items()}
    begin = " | ".join(names[word] for word in (first or known) if word in names)
    more = " | ".join(names[word] for word in known if word in view.wishes or word == SET)
    lines = ["%llguidance {}"]
    # A plain word says it all; after a wish there may be another. (Not `{0,0}`: llama.cpp passes
    # over a grammar that it cannot read.)
    left = MOST_COMMANDS - 1 - written
    lines.append(
        f"start: ({begin})" + (f' ("; " ({more})){{0,{left}}}' if more and left > 0 else "")
    )
    for rule, word in rules.items():
        slots = view.wishes.get(word, view.answers if word == SET else ())
        parts = "".join(f' (" {name}=" w)?' for name in slots)
        if word == SET and slots:
            # An answer answers something.
            either = " | ".join(
                f'" {name}=" w' + "".join(f' (" {n}=" w)?' for n in slots[at + 1 :])
                for at, name in enumerate(slots)
            )
            parts = f" ({either})"
        lines.append(f"{rule}: {json.dumps(word)}{parts}")
    lines.append('w: v ("+" v)?')
    lines.append('v: "\\"" SUB "\\""')
    lines.append(f"SUB: %regex {json.dumps({'substring_words': clean(said) or '-'})}")
    return "\n".join(lines) + "\n"


def chosen(
    likely: Likely,
    words: Sequence[str],
    *,
    asked: bool = False,
    unlikely: Container[str] = (),
    there: Container[str] = (),
    missing: Container[str] = (),
    short: bool = False,
) -> str:
    """The likeliest by both; the model's own choice where there are no examples to be near to.
    `asked`: for something that `set` would answer. `unlikely`: what changes something, where
    something was only asked. `there`: what makes something new, where one of the user's things is
    spoken of. `missing`: what is done to a thing, where they have none. `short`: of a clause, which
    says less than an utterance: what it is near to counts half."""
    # A wish without any examples is no less likely for that.
    usual = sum(likely.by_examples.values()) / max(1, len(likely.by_examples))
    unknown = min(likely.by_sort.values(), default=0.0)
    weight = _NEARBY if likely.by_sort else _WEIGHT

    def score(word: str) -> float:
        by_model = math.exp(likely.by_model.get(word, -math.inf))
        near = likely.by_examples.get(word, usual)
        return (
            math.log(by_model + _DOUBT)
            + (weight / 2 if short else weight) * near
            + (_SORT / 2 if short else _SORT) * likely.by_sort.get(word, unknown)
            + (_ANSWER if word == SET and asked else 0.0)
            - (_QUESTION if word in unlikely else 0.0)
            - (_THERE if word in there or word in missing else 0.0)
        )

    return max(words, key=score)


# --- What was written


def read(text: str, view: View) -> tuple[Command, ...]:
    """The commands of a line; what is no command is left out."""
    found = (_command(part, view) for part in parts(text))
    return tuple(command for command in found if command is not None)


def agreed(
    made: tuple[Command, ...], doubted: Collection[str], other: tuple[Command, ...]
) -> tuple[Command, ...]:
    """What one reader made of it, but for what it was not sure of and another does not find."""
    found = {one.wish for one in other if isinstance(one, Begin)}
    kept = tuple(
        one
        for one in made
        if not isinstance(one, Begin) or one.wish not in doubted or one.wish in found
    )
    return kept or other


def grounded(commands: Sequence[Command], said: str) -> tuple[Command, ...]:
    """Only with words that were said, whatever was written: a grammar may be passed over."""
    heard = set(_WORDS.findall(said.casefold()))
    found: list[Command] = []
    for command in commands:
        if isinstance(command, Begin | Fill):
            slots = {
                short: words
                for short, words in command.slots.items()
                if heard.issuperset(_WORDS.findall(words.casefold()))
            }
            if slots or not command.slots or isinstance(command, Begin):
                found.append(replace(command, slots=slots))
        else:
            found.append(command)
    return tuple(found)


def settled(command: Command, clause: str, hints: Iterable[Hint]) -> bool:
    """Whether a stretch that was passed over says enough by itself: something that is there is done
    or gone, or gets a time that is said; or it is an order."""
    hint = next((h for h in hints if isinstance(command, Begin) and h.wish == command.wish), None)
    if hint is None:
        return False
    if any(True for _ in requests(clause)) or (wants(clause) and times.find(clause)):
        return True
    timed = any(slot.kind == "time" for slot in hint.slots.values())
    return hint.does == "act" and not makes(hint) and (not timed or bool(times.find(clause)))


def called(said: str) -> frozenset[str]:
    """Its words: what somebody wishes for by its name is meant as that."""
    return frozenset(_WORDS.findall(said.casefold()))


def spoken_of(said: str, view: View) -> bool:
    """Whether it begins with one of the user's things: before anything else is ordered or timed."""
    for start, end in clauses(said):
        clause = said[start:end]
        if named(clause, view.things):
            return True
        if times.find(clause) or any(True for _ in requests(clause)):
            return False
    return False


def apart(view: View, said: str, hints: Iterable[Hint]) -> list[str]:
    """What was said, in stretches that each want something: a small model reads one wish well, and
    of several it takes the second for the first. An answer or a correction is about one thing, and
    what is done with files goes by the whole sentence."""
    text = clean(said)
    if view.asked or (view.undo and corrects(text)) or any(isinstance(h, Flow) for h in hints):
        return [text]
    cuts = wishes.apart(
        text, lambda words, loose: frozenset(named(words, view.things, loose=loose)), keeps
    )
    return [text[start:end].strip(" ,;") for start, end in cuts] if len(cuts) > 1 else [text]


def one_more(stretch: str, made: Sequence[Command]) -> str:
    """ "The other is …" is of the kind of the one before it; empty where nothing is counted."""
    begun = [command.wish for command in made if isinstance(command, Begin)]
    return begun[-1] if begun and wishes.counts(stretch) else ""


def left_out(said: str, commands: Sequence[Command], things: Sequence[Thing] = ()) -> list[str]:
    """Stretches of what was said that want something of their own and of which no command has a
    word: orders, what is wanted at a time, and what is told of one of the user's things. A small
    model stops too early. Where it heard an answer or a correction, the rest is about that; a
    command without any words may be about any of them."""
    begun = [command for command in commands if isinstance(command, Begin)]
    if not begun or any(isinstance(command, Fill) for command in commands):
        return []
    places: list[tuple[int, int]] = []
    wordless = 0
    for command in begun:
        found = [at for words in command.slots.values() if (at := _place(words, said))]
        places += found
        wordless += not found
    passed_over = [
        (start, end)
        for start, end in requests(said)
        if not any(first < end and start < last for first, last in places)
    ]
    copied = " ".join(words for command in begun for words in command.slots.values())
    spoken_of = named(copied, things)
    for id_, (start, end) in named(said, things).items():
        alone = _stretch(said, start, end, places)
        mine = said[alone[0] : alone[1]]
        kept = keeps(mine, said[: alone[0]])
        covered = any(first < alone[1] and alone[0] < last for first, last in passed_over)
        aside = kept or _BESIDE.match(mine) is not None or len(mine.split()) < _SENTENCE
        if id_ not in spoken_of and not covered and not aside:
            passed_over.append(alone)
    for span in times.find(said):
        alone = _stretch(said, span.start, span.end, places)
        taken = any(a < alone[1] and alone[0] < b for a, b in (*places, *passed_over))
        if not taken and wants(said[alone[0] : alone[1]]):
            passed_over.append(alone)
    return [said[start:end].strip(" ,;") for start, end in sorted(passed_over)[wordless:]]


def whole_list(
    said: str, commands: Sequence[Command], hints: Iterable[Hint]
) -> tuple[Command, ...]:
    """With what was passed over of a list of new things that was said in one breath: each time in
    it begins another, and what announces the list is none of them."""
    wishes = {command.wish if isinstance(command, Begin) else "" for command in commands}
    hint = next((h for h in hints if wishes == {h.wish} and makes(h)), None)
    if hint is None:
        return tuple(commands)
    own = {slot.kind: slot.name or name for name, slot in reversed(hint.slots.items())}
    what, when = own.get("words"), own.get("time")
    things = titles.listed(clean(said)) if what and when else []
    if not what or not when or not things:
        return tuple(commands)
    found: list[Command] = []
    for title, time in things:
        copied = [
            c.slots[what] for c in commands if isinstance(c, Begin) and _about(c, what, title)
        ]
        words = copied[0] if len(copied) == 1 else title
        found.append(Begin(hint.wish, {what: words, when: time}))
    return tuple(found)


def _about(command: Begin, short: str, title: str) -> bool:
    words = command.slots.get(short, "").casefold()
    return bool(words) and words in title.casefold()


def _place(words: str, said: str) -> tuple[int, int] | None:
    at = said.casefold().find(words.casefold()) if words.strip() else -1
    return (at, at + len(words)) if at >= 0 else None


def _stretch(said: str, start: int, end: int, others: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The clauses that these words are in, as far as they are not others'."""
    cuts = [cut for clause in clauses(said) for cut in clause]
    first = max((c for c in (*cuts, *(e for _, e in others)) if c <= start), default=0)
    last = min((c for c in (*cuts, *(s for s, _ in others)) if c >= end), default=len(said))
    for begin, stop in clauses(said):
        taken = any(a < stop and begin < b for a, b in others)
        if 0 <= begin - last <= _SENTENCE and points_back(said[begin:stop]) and not taken:
            last = stop  # "the window thing, move that to Friday"
    return first, last


def pointing(
    command: Command, said: str, hints: Iterable[Hint], earlier: str = ""
) -> tuple[str, str] | None:
    """The slot of something new that names what it is about only by "it", with what was said before
    that, `earlier` included; or that says nothing ("set a reminder"), with what was said after."""
    hint = next((h for h in hints if isinstance(command, Begin) and h.wish == command.wish), None)
    if hint is None or not makes(hint) or not isinstance(command, Begin):
        return None
    for name, slot in hint.slots.items():
        words = command.slots.get(slot.name or name, "")
        at = _place(words, clean(said))
        if slot.kind != "words" or not slot.required or not at:
            continue
        before, after = clean(said)[: at[0]].strip(), clean(said)[at[1] :].strip(" .,;!?")
        if titles.points(words):
            before = before if _name_in(before) else f"{earlier} {before}".strip()
            return (slot.name or name, before) if _name_in(before) else None
        if not titles.says_something(titles.stripped(words)) and not hesitates(after):
            return (slot.name or name, after) if _name_in(after) else None
    return None


def naming(command: Begin, short: str, before: str) -> str:
    """In Lark: nothing but that slot, with words from there."""
    given = json.dumps(f'{command.wish} {short}="')
    words = json.dumps({"substring_words": clean(before) or "-"})
    return f'%llguidance {{}}\nstart: {given} SUB "\\""\nSUB: %regex {words}\n'


def with_name(command: Begin, short: str, name: str, before: str = "") -> Begin:
    """The first of its clauses that names something: a model copies too much of them. Where it
    copied what is done rather than what it is done to, what the clause is about."""
    bare, words = _name_in(name) or _last_name(before), command.slots[short]
    if (at := _place(bare, before)) and bare.split(maxsplit=1)[0].casefold() in VERBS:
        bare = subject(before[slice(*_stretch(before, *at, ()))]) or bare
    if bare:
        words = titles.named(words, bare) if titles.points(words) else bare
    return replace(command, slots={**command.slots, short: words})


def _last_name(text: str) -> str:
    """Of what was said before, the last clause that is nothing but a name: "footy boots"."""
    for start, end in reversed(clauses(text)):
        one = titles.stripped(titles.untimed(text[start:end], None))
        bare = len(one.split()) <= _SENTENCE and not wants(one) and not subject(one)
        if titles.says_something(one) and bare and one.split()[0].casefold() not in VERBS:
            return one
    return ""


def _name_in(text: str) -> str:
    each = (titles.stripped(titles.untimed(text[a:b], None)) for a, b in clauses(text))
    return next((one for one in each if titles.says_something(one)), "")


def parts(line: str) -> list[str]:
    """Its commands, as they were written: cut at each `;` outside of quotation marks."""
    found, quoted = [""], False
    for letter in line:
        if letter == '"':
            quoted = not quoted
        if letter == ";" and not quoted:
            found.append("")
        else:
            found[-1] += letter
    return [part.strip() for part in found if part.strip()]


def joined(written: Sequence[str]) -> str:
    """The beginning of a line that goes on."""
    return "".join(f"{part}; " for part in written)


def word(part: str) -> str:
    """What a command begins with."""
    begin, slots, _ = part.partition('="')
    return begin.rpartition(" ")[0] if slots else begin.strip()


def clause(part: str, said: str, before: Sequence[str] = ()) -> str:
    """The clause of the utterance that a command is about: it begins with the words for that.
    `before`: the commands that are written already."""
    text = clean(said)
    own = next((at for words in _values(part) if (at := _place(words, text))), None)
    if own is None:
        return text
    others = [at for one in before for words in _values(one) if (at := _place(words, text))]
    start, end = _stretch(text, *own, [at for at in others if at[1] <= own[0] or own[1] <= at[0]])
    return text[start:end].strip(" ,;") or text


def _values(part: str) -> list[str]:
    return [piece for _, words in _PAIR.findall(part) for piece in words.strip('"').split('"+"')]


def _command(text: str, view: View) -> Command | None:
    begun = word(text)
    slots = {name: _value(words) for name, words in _PAIR.findall(text)}
    slots = {name: words for name, words in slots.items() if words}
    if begun == SET:
        return Fill({n: w for n, w in slots.items() if n in view.answers}) if slots else None
    if begun in view.wishes:
        return Begin(begun, {n: w for n, w in slots.items() if n in view.wishes[begun]})
    if begun in PLAIN:
        return Plain(begun)  # type: ignore[arg-type] # it is one of them
    return None


def _value(words: str) -> str:
    pieces = (piece.strip().strip(",;").strip() for piece in words.strip('"').split('"+"'))
    return " ".join(dict.fromkeys(piece for piece in pieces if piece))


def sayings(
    hints: Iterable[Hint], general: Mapping[str, Sequence[str]], others: Container[str] = ()
) -> dict[str, list[str]]:
    """Lines to be near to, by what they mean: everybody's, the agent's, and the tools' own. Of
    `others`, wishes for tools that say nothing of how, it is the name, and what it is for."""
    lines: dict[str, list[str]] = {word: list(known) for word, known in general.items()}
    for hint in (hints := list(hints)):
        for one in hint.examples:
            lines.setdefault(SET if one.asked else hint.wish, []).append(clean(one.said))
        given = hint.lessons or Lessons()
        for meaning, heard in given.heard.items():
            lines.setdefault(meaning, []).extend(map(clean, heard))
        for told in given.shown:
            lines.setdefault(word(parts(told.means)[0]), []).append(clean(told.said))
    for hint in hints:
        if hint.wish in others and hint.wish not in lines:
            lines[hint.wish] = [clean(one) for one in (hint.wish, hint.about) if one]
    return {word: list(dict.fromkeys(known)) for word, known in lines.items()}


# --- Which line is meant

NONE = "none"
_MARKS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmn"
"""One token each, other than numbers."""
_MOST_READ, _LONGEST_LINE = 1800, 140
"""Letters that are read while somebody waits, and of one line."""
_BY_WORDS, _UNLIKELY = 2.5, -9.0
"""What all the words of a question count against a log-probability, and what a line is worth that
is not among those that the model thought of."""
_FEW_POINTED = 6
_READS = (
    "You are shown lines of files and what a person says about them. Write the letters of the "
    "lines that answer, or that are meant; mostly it is one line. Write none if no line does."
)
_READING = (
    (
        "pump.yaml",
        "host: north\nretry_after: 20\npressure_max: 6\nowner: Lena Brandt",
        "how many bar can it take at most",
        "C",
    ),
    (
        "trades.csv",
        "trade,name,phone\nplumber,Rita Moss,0117 55\nroofer,Jan Kos,0118 21",
        "who do we ring about a leaking tap",
        "B",
    ),
    (
        "notes.md",
        "# Notes\n- the van is booked for Tuesday\n- Emil wants the key back",
        "what's the password for the wifi",
        NONE,
    ),
    (
        "jobs.txt",
        "backup runs at 2 am\nreport runs at noon\ncleanup runs at 3 am",
        "which ones run during the night",
        "A C",
    ),
    (
        "",
        "src/door.py: def open_door(badge):\nsrc/door.py: if badge.expires < today:\n"
        "src/lamp.py: def switch(lamp):",
        "where do we check that a badge is still good",
        "B",
    ),
)


def _as_lines(name: str, texts: Sequence[str], question: str) -> str:
    head = f"Lines of {name}:\n" if name else "Lines:\n"
    marked = "\n".join(f"{mark} {text}" for mark, text in zip(_MARKS, texts, strict=False))
    return _wrapped(USER, f"{head}{marked}\nPerson: {question}")


_TELLS = (
    "You are shown lines of files and asked about them. Answer with the few words of the lines "
    "that are asked for, as they are written there; every part of the question has its own. Write "
    "none if the lines do not say it."
)
_TELLING = (
    (*_READING[0][:3], "6"),
    (*_READING[1][:3], "Rita Moss, 0117 55"),
    (*_READING[2][:3], NONE),
    (
        "lab.toml",
        "[north]\ndoor = 14\nheating = false\n[south]\ndoor = 22\nheating = true",
        "two things, which door has the south lab, and is the heating on in there?",
        "22, true",
    ),
    (
        "",
        "src/door.py: def open_door(badge):\nsrc/door.py: if badge.expires < today:\n"
        "src/lamp.py: def switch(lamp):",
        "I want to know which file it is that looks whether a badge is still good",
        "src/door.py",
    ),
)


def _as_asked(name: str, texts: Sequence[str], question: str) -> str:
    head = f"Lines of {name}:\n" if name else "Lines:\n"
    return _wrapped(USER, head + "\n".join(texts) + f"\nPerson: {question}")


TELLING = _wrapped(SYSTEM, _TELLS) + "".join(
    _as_asked(name, text.split("\n"), question) + _wrapped(ASSISTANT, answer)
    for name, text, question, answer in _TELLING
)
"""The beginning of every question that lines are to answer."""
TOLD = "%llguidance {}\nstart: /[^\\n]{1,200}/\n"
"""What such an answer may be, in Lark: one line."""

POINTING = _wrapped(SYSTEM, _READS) + "".join(
    _as_lines(name, text.split("\n"), question) + _wrapped(ASSISTANT, answer)
    for name, text, question, answer in _READING
)
"""The beginning of every question about lines."""


_RECKONS = (
    "You write the sum that answers a question, with the numbers that were said, and nothing else."
)
_SUMS = (
    ("We have 3 crates of 12 bottles and 5 loose ones, how many is that", "3 * 12 + 5"),
    ("I had 200 chairs, lent 40 to the school and 6 broke. How many are left?", "200 - 40 - 6"),
    (
        "the bill was 84 pounds and there are 6 of us, 10 percent tip on top, what does each pay",
        "84 * 1.10 / 6",
    ),
    ("7 tickets at 4.50 and 2 at half that", "7 * 4.50 + 2 * 4.50 / 2"),
    (
        "9 boxes of 20 came, 3 whole boxes were wet, and we sold 50 pieces. what is left",
        "(9 - 3) * 20 - 50",
    ),
    ("8 bags of 15 onions, and 11 of all those onions are bad", "8 * 15 - 11"),
    ("40 guests, each drinks 3 glasses, 6 glasses in a bottle. How many bottles?", "40 * 3 / 6"),
    ("how far on 1 litre if I drove 240 kilometres on 15", "240 / 15"),
    ("we paid 5 times 30 and the room was 120, what is left over", "5 * 30 - 120"),
    ("90 euros, 20 percent off", "90 * 0.80"),
    ("a page takes 30 seconds, there are 240 of them, how many hours is that", "240 * 30 / 3600"),
)
RECKONING = _wrapped(SYSTEM, _RECKONS) + "".join(
    _wrapped(USER, said) + _wrapped(ASSISTANT, expression) for said, expression in _SUMS
)
"""The beginning of every question about a sum."""
SUM = """%llguidance {}
start: term (sign term){0,8}
term: number | "(" number (sign number){1,4} ")"
number: /[0-9]{1,7}(\\.[0-9]{1,4})?/
sign: " + " | " - " | " * " | " / "
"""
"""What a sum may be, in Lark."""


def reckoning(story: str) -> str:
    return RECKONING + _wrapped(USER, safe(clean(story))) + ASSISTANT[0]


class Lines(Record):
    """Lines that the model is shown, a letter before each, and asked which of them are meant."""

    prompt: str
    telling: str
    """The same lines, and what of them answers is asked for."""
    places: tuple[int, ...]
    """Which of all lines they are."""
    texts: tuple[str, ...]
    """As they were shown."""
    rates: tuple[float, ...]
    """How many of the words that were said each has, from 0 to 1."""

    @property
    def marks(self) -> tuple[str, ...]:
        return (*_MARKS[: len(self.places)], NONE)

    def best(self, by_model: Mapping[str, float]) -> str:
        """The mark of the likeliest, by the model and by the words; or none."""
        rates = dict(zip(self.marks, self.rates, strict=False))

        def score(mark: str) -> float:
            return by_model.get(mark, _UNLIKELY) + _BY_WORDS * rates.get(mark, 0.0)

        return max(self.marks, key=score)

    def grammar(self, first: str) -> str:
        """In Lark: that line, and maybe others."""
        others = " | ".join(f'" {mark}"' for mark in _MARKS[: len(self.places)])
        most = _FEW_POINTED - 1
        return f'%llguidance {{}}\nstart: "{first}" ({others}){{0,{most}}}\n'

    def saying(self, told: str) -> tuple[int, ...]:
        """The places of the lines that an answer is from, each part of it; of several that say
        the same, that with most words of the question. What no line says does not count."""
        found = list[int]()
        for part in [told, *re.split(r",\s+|;\s+|\s+and\s+", told)]:
            words = re.findall(r"\w+(?:[.:]\w+)*", part.casefold())
            rule = r"\W+".join(map(re.escape, words))
            own = [at for at, text in enumerate(self.texts) if _says(rule, text)] if words else []
            if own and not set(own) & set(found):
                found.append(max(own, key=lambda at: (self.rates[at], -at)))
            if own and part == told:
                break
        return tuple(sorted(self.places[at] for at in found[:_FEW_POINTED]))

    def read(self, text: str) -> tuple[int, ...]:
        """The places of the lines that were pointed at, in their order."""
        found = {_MARKS.find(mark) for mark in text.split() if len(mark) == 1}
        return tuple(self.places[at] for at in sorted(found) if 0 <= at < len(self.places))


def _says(rule: str, text: str) -> bool:
    return re.search(rf"(?<!\w){rule}(?!\w)", text.casefold()) is not None


def too_long(lines: Sequence[Match]) -> bool:
    """More than is read while somebody waits."""
    letters = sum(min(len(one.text), _LONGEST_LINE) for one in lines)
    return len(lines) > len(_MARKS) or letters > _MOST_READ


def lines(
    question: str, every: Sequence[Match], rates: Sequence[float], near: Sequence[float] = ()
) -> Lines:
    """As many of the lines as can be read, those first that have the words of the question or are
    near to it; the first line of a file names its columns."""
    worth = [
        rate + (near[at] if near else 0.0) + (1.0 if every[at].number == 1 else 0.0)
        for at, rate in enumerate(rates)
    ]
    places, letters = list[int](), 0
    for at in sorted(range(len(every)), key=lambda at: -worth[at])[: len(_MARKS)]:
        letters += min(len(every[at].text), _LONGEST_LINE)
        if places and letters > _MOST_READ:
            break
        places.append(at)
    places.sort()
    paths = list(dict.fromkeys(one.path for one in every))
    name = paths[0] if len(paths) == 1 else ""
    texts = [
        safe(("" if name else f"{every[at].path}: ") + " ".join(every[at].text.split()))
        for at in places
    ]
    texts = [text[:_LONGEST_LINE] for text in texts]
    return Lines(
        prompt=POINTING + _as_lines(name, texts, clean(question)) + ASSISTANT[0],
        telling=TELLING + _as_asked(name, texts, clean(question)) + ASSISTANT[0],
        places=tuple(places),
        texts=tuple(texts),
        rates=tuple(rates[at] for at in places),
    )
