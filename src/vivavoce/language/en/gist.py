"""The gist of a talk, without a model: what it is about, what was decided, which files it touched,
what is open, what the user likes (seed 001 §7.2). A model's words may be put beside it, and never
take anything away.

A gist grows line by line and always in the same way. What stands in it are words that somebody
said, shortened, and names of files that a tool was called with: it can be wrong about what
matters, and not about what was said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Literal

from vivavoce.language.en.answers import consent
from vivavoce.wire.clean import clean_line, clean_text
from vivavoce.wire.values import Record, Value

HEADING = "Previous conversation summary:"

_SENTENCE = 240  # characters of what is kept of one
_TITLE = 60
_NOTES = 60  # of the other things that the user said; the newest
_PROSE = 1_200
_READ = 20_000  # characters of one thing that was said
_FEWEST_CHARS = 40
_PATHS = ("path", "file", "file_path")


class Line(Value):
    """One thing of a talk, as far as a gist looks at it."""

    who: Literal["user", "assistant", "system", "call", "result"]
    text: str = ""
    """Of a call its tool's name."""
    arguments: Mapping[str, Any] | None = None


class Gist(Record):
    """In the order in which it was said; the later of two that differ holds."""

    title: str = ""
    topic: str = ""
    decisions: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    open_work: tuple[str, ...] = ()
    preferences: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """What else the user told, the newest of it."""
    prose: str = ""
    """In a model's or a client's words."""
    turns: int = 0
    asked: str = ""
    """What the assistant asked last: a yes to it decides it."""
    upto: float = -1.0
    """The place of the last entry that is in it (`Entry.ordinal`)."""
    at: float = -1.0
    """When the last of its entries was made: one that was missed and comes later is newer."""
    seen: float = -1.0
    """The place up to which a model has summed it up."""

    @property
    def empty(self) -> bool:
        return not (self.turns or self.prose or self.topic or self.decisions)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def gist_of(kept: Any) -> Gist:
    """As it was stored; whatever is no gist is an empty one."""
    if not isinstance(kept, Mapping):
        return Gist()
    known: dict[str, Any] = {}
    for name, default in asdict(Gist()).items():
        value = kept.get(name)
        if isinstance(default, tuple) and isinstance(value, Sequence) and not _is_text(value):
            known[name] = tuple(one for one in value if isinstance(one, str))
        elif isinstance(default, float) and isinstance(value, int | float):
            known[name] = float(value)
        elif type(value) is type(default):
            known[name] = value
    return Gist(**known)


def _is_text(value: object) -> bool:
    return isinstance(value, str | bytes)


# --- Reading ------------------------------------------------------------------------------

_SENTENCES = re.compile(r"(?<=[.!?…])[\"'”’)]*\s+|\s*\n+\s*")
_QUESTION = re.compile(r"\?\W*$")
_FILLER = re.compile(
    r"(?i)^(?:[\s,.;:!-]+|(?:please|so|well|um+|uh+|er+|oh|okay|ok|alright|right|yes|yeah|yep|sure|"
    r"hi|hey|hello|good (?:morning|afternoon|evening)|thanks|thank you|great|cool|perfect|"
    r"actually|and|then|now|also|but)\b)+"
)
_DECIDED = re.compile(
    r"(?ix)\b(?:let'?s(?!\s+(?:see|talk|look|start|begin|think|try\s+to\s+understand)\b)|let\ us\b|"
    r"decid\w+|decision|agreed|settle[ds]?\ (?:on|for)|(?:go|going|went)\ with|stick\ (?:with|to)|"
    r"opt(?:ed)?\ for|cho[os]e\w*|pick(?:ed)?\b|instead\ of|rather\ than|from\ now\ on|"
    r"final(?:ly|ised|ized)?\ (?:answer|version|choice)|make\ sure|must(?:\ not)?\b|"
    r"(?:remember|note|keep\ in\ mind)\ that|the\ plan\ is|it\ is\ then|"
    r"(?:we|it|they)(?:'ll|\ will|\ should|\ shall|\ won'?t|\ (?:are|is)\ going\ to))\b"
)
_ORDERED = re.compile(
    r"(?i)^(?:use|call it|name it|make it|keep|rename|drop|skip|avoid|never|always|put|set|switch "
    r"to|replace)\b"
)
_STATED = re.compile(
    r"(?i)^(?:the|our|my|this|that)\b.{2,80}?\b(?:is|are|will be|should be|must be|has to be|was|"
    r"were|starts|ends|costs)\b"
)
_OPEN = re.compile(
    r"(?i)\b(?:(?:still|we|i|you|they) (?:need|needs|have|has|want) to|still (?:open|missing|to do|"
    r"to be done)|next (?:step|thing|up|time)|to-?do\b|remind me|don'?t forget|later on|"
    r"(?:do|finish|look at|come back to|get back to) (?:it|that|this|them)? ?later|"
    r"(?:is|are)(?:n'?t| not) (?:yet )?(?:done|finished|ready)|not yet|pending|remains? to)\b"
)
_DONE = re.compile(
    r"(?i)\b(?:done|finished|completed|fixed|implemented|works? now|is working|i'?ve (?:added|"
    r"changed|made|written|updated|fixed|finished|implemented|moved|sent|removed))\b"
)
_LIKED = re.compile(
    r"(?i)\b(?:i(?:'d| would)? (?:really |always |usually )?(?:prefer|like it|love|hate|"
    r"don'?t like|can'?t stand)|i (?:always|never|usually) |i like\b|call me\b|"
    r"please (?:always|never|don'?t|keep)|my favou?rite)\b"
)
_PROPOSED = re.compile(
    r"(?i)^(?:so |then |and |ok(?:ay)?,? )*(?:shall|should|do you want|would you like|do we|are we|"
    r"is it (?:ok|okay|fine|all right)|may i|can i|want me to)\b"
)
_FILE = re.compile(
    r"(?<![\w@/.-])(?:~?/|\.{1,2}/)?(?:[\w.-]+/)*[\w-][\w.-]*\.(?:py|pyi|js|mjs|ts|tsx|jsx|md|rst|"
    r"txt|json|ya?ml|toml|csv|html?|css|go|rs|java|kt|c|h|cc|cpp|hpp|rb|php|sh|sql|xml|ini|cfg|"
    r"conf|pdf|docx?|xlsx?|pptx?|png|jpe?g|svg|log|lock|env|ipynb|swift|vue)\b(?![\w/])",
    re.IGNORECASE,
)
_NO_FILE = frozenset("node.js vue.js next.js react.js three.js express.js d3.js".split())  # noqa: SIM905
_SMALL = frozenset(
    """a an the to of in on at for and or but with from by it is are was were be been i you we they
    he she this that these those my our your their me us them do does did have has had will would
    can could should shall must not no yes so then now just also please still need needs want
    there here what which who when where how why as if than into out up about over let lets
    ll ve re don t s m d""".split()  # noqa: SIM905
)


def told(gist: Gist, lines: Iterable[Line]) -> Gist:
    """The gist with these lines in it."""
    found = _Reading(gist)
    for line in lines:
        found.read(line)
    return found.gist()


class _Reading:
    def __init__(self, gist: Gist) -> None:
        self._before = gist
        self._decisions = _Kept(gist.decisions)
        self._files = _Kept(gist.files)
        self._open = _Kept(gist.open_work)
        self._liked = _Kept(gist.preferences)
        self._notes = _Kept(gist.notes)
        self._topic, self._asked, self._turns = gist.topic, gist.asked, gist.turns

    def gist(self) -> Gist:
        topic = self._topic
        return replace(
            self._before,
            title=self._before.title or title_of(topic),
            topic=topic,
            decisions=self._decisions.all,
            files=self._files.all,
            open_work=self._open.all,
            preferences=self._liked.all,
            notes=self._notes.all[-_NOTES:],
            turns=self._turns,
            asked=self._asked,
        )

    def read(self, line: Line) -> None:
        match line.who:
            case "user":
                self._user(line.text)
            case "assistant":
                self._assistant(line.text)
            case "call":
                for name in _paths(line.arguments or {}):
                    self._file(name)
            case "system" | "result":
                pass

    def _user(self, text: str) -> None:
        self._turns += 1
        text = text[:_READ]
        if self._asked and consent(text) == "yes":
            self._decisions.add(f"Yes to: {self._asked}")
        self._asked = ""
        self._named(text)
        for sentence in _sentences(text):
            if not self._topic and len(_words(sentence)) >= _A_TOPIC:
                self._topic = sentence
            if _QUESTION.search(sentence):
                continue
            self._settle(sentence)
            liked, open_ = _LIKED.search(sentence), _OPEN.search(sentence)
            if liked:
                self._liked.add(sentence)
            if open_:
                self._open.add(sentence)
            if _DECIDED.search(sentence) or _ORDERED.search(sentence):
                self._decisions.add(sentence)
            elif liked or open_:
                continue
            elif _STATED.search(sentence):
                self._decisions.add(sentence)
            elif len(_words(sentence)) >= _A_NOTE:
                self._notes.add(sentence)

    def _assistant(self, text: str) -> None:
        text = text[:_READ]
        self._named(text)
        sentences = list(_sentences(text))
        for sentence in sentences:
            if _QUESTION.search(sentence):
                continue
            self._settle(sentence)
            if _OPEN.search(sentence):
                self._open.add(sentence)
            elif _AGREED.search(sentence):
                self._decisions.add(sentence)
        last = sentences[-1] if sentences else ""
        asks = _QUESTION.search(last) and _PROPOSED.match(last)
        self._asked = last if asks else ""

    def _settle(self, sentence: str) -> None:
        """What is said to be done is not open any more: only where clearly that is meant."""
        if not _DONE.search(sentence) or _OPEN.search(sentence):
            return
        said = _words(sentence)
        for item in self._open.all:
            words = _words(item)
            common = words & said
            if len(common) >= _COMMON and len(common) >= _SHARE * len(words):
                self._open.drop(item)

    def _named(self, text: str) -> None:
        for match in _FILE.finditer(text):
            if match[0].lower() not in _NO_FILE:
                self._file(match[0])

    def _file(self, name: str) -> None:
        """Said without its folder it is the one that is known with it."""
        known = self._files.all
        if any(one.endswith(f"/{name}") for one in known):
            return
        self._files.drop(name.rpartition("/")[2])
        self._files.add(name)


_AGREED = re.compile(r"(?i)\b(?:we|you|we've|you've) (?:have )?(?:decided|agreed|settled)\b")
_A_TOPIC, _A_NOTE = 2, 3  # words that say something
_COMMON, _SHARE = 2, 0.6


class _Kept:
    """Sayings, each once: said again, it is the later one that stays, at its place."""

    def __init__(self, kept: Iterable[str]) -> None:
        self._by_words = {_same(one): one for one in kept}

    @property
    def all(self) -> tuple[str, ...]:
        return tuple(self._by_words.values())

    def add(self, text: str) -> None:
        text = clean_line(text, _SENTENCE)
        if text and (key := _same(text)):
            self._by_words.pop(key, None)
            self._by_words[key] = text

    def drop(self, text: str) -> None:
        self._by_words.pop(_same(text), None)


def _same(text: str) -> str:
    return " ".join(re.findall(r"[\w./-]+", text.casefold()))


def _words(text: str) -> frozenset[str]:
    """Those that say something, by their stem as far as an ending tells it."""
    found = re.findall(r"[\w-]+", text.casefold())
    return frozenset(re.sub(r"(?:ing|ed|es|s)$", "", w) or w for w in found if w not in _SMALL)


def _sentences(text: str) -> Iterable[str]:
    for sentence in _SENTENCES.split(text):
        bare = _FILLER.sub("", clean_line(sentence, _SENTENCE)).strip()
        if bare:
            yield bare[:1].upper() + bare[1:]


def _paths(arguments: Mapping[str, Any]) -> Iterable[str]:
    for key in _PATHS:
        name = arguments.get(key)
        if isinstance(name, str) and name.strip(" ./"):
            yield clean_line(name, 160)


_ASKED_FOR = re.compile(
    r"(?i)^(?:(?:can|could|would|will) (?:you|we|i)\b|i(?:'d| would) (?:like|love) (?:you )?to\b|"
    r"i (?:need|want) (?:you )?to\b|i(?:'m| am) (?:trying|going|looking) to\b|"
    r"(?:help|tell|show) me\b|we (?:need|want|have) to\b|let'?s\b|please\b|to\b|with\b|about\b|"
    r"[\s,.;:!-]+)+"
)


def title_of(words: str) -> str:
    """What a talk is called after these words."""
    bare = _ASKED_FOR.sub("", _FILLER.sub("", words)).strip(" .!?,;:…")
    bare = bare or words.strip(" .!?,;:…")
    bare = bare[:1].upper() + bare[1:]
    if len(bare) <= _TITLE:
        return bare
    cut = bare[: _TITLE - 1]
    return f"{cut[: cut.rfind(' ')] if ' ' in cut[_TITLE // 2 :] else cut}…"


# --- What a model says of it ----------------------------------------------------------------

GROUNDED = 0.6
"""So many of its words were said: a small model makes up what sounds right."""


def with_model(gist: Gist, offered: Mapping[str, Any], said: str) -> Gist:
    """The gist with what a model made of it: nothing goes, and nothing comes that was not said."""
    known = _words(said) | _words(" ".join((*gist.decisions, *gist.notes, gist.topic)))

    def grounded(text: object) -> str:
        line = clean_line(text, _SENTENCE) if isinstance(text, str) else ""
        words = _words(line)
        return line if words and len(words & known) >= GROUNDED * len(words) else ""

    def more(before: tuple[str, ...], name: str) -> tuple[str, ...]:
        kept, given = _Kept(before), offered.get(name)
        seen = [_words(one) for one in before]
        for one in given if isinstance(given, list) else ():
            line = grounded(one)
            if line and not any(_words(line) <= words for words in seen):
                kept.add(line)
        return kept.all

    title, topic = grounded(offered.get("title")), grounded(offered.get("topic"))
    return replace(
        gist,
        title=title_of(title) or gist.title,
        topic=topic or gist.topic,
        decisions=more(gist.decisions, "decisions"),
        files=gist.files,  # the records know them better
        open_work=more(gist.open_work, "open_work"),
        preferences=more(gist.preferences, "preferences"),
    )


# --- Telling --------------------------------------------------------------------------------

_LENGTHS = (_SENTENCE, 120, 80, 60, _FEWEST_CHARS)


def summary(gist: Gist, chars: int) -> str:
    """The gist in words, in at most so many characters: shorter before fewer; what was decided,
    which files and what is open stays longest."""
    if gist.empty:
        return ""
    for length in _LENGTHS:
        text = _summary(gist, length)
        if len(text) <= chars:
            return _with_notes(gist, text, length, chars)
    fewer = replace(gist, preferences=(), prose="")
    text = _summary(fewer, _FEWEST_CHARS)
    every, left = gist.decisions, len(gist.decisions)
    while len(text) > chars and left > 2:  # from the middle: how it began, and the last
        left = max(2, left * 3 // 4)
        gap = f"({len(every) - left} more are left out here)"
        kept = (*every[: left // 2], gap, *every[len(every) - (left - left // 2) :])
        text = _summary(replace(fewer, decisions=kept), _FEWEST_CHARS)
    return text if len(text) <= chars else clean_text(text, max(0, chars)).rstrip()


def _summary(gist: Gist, length: int) -> str:
    parts = [HEADING]
    if gist.prose:
        most = _PROSE if length == _SENTENCE else 2 * length
        parts.append(gist.prose if len(gist.prose) <= most else _short(gist.prose, most))
    if gist.topic:
        parts.append(f"Topic: {_short(gist.topic, length)}.")
    lists = (
        ("Decided or stated by the user, oldest first", gist.decisions),
        ("Files", gist.files),
        ("Open when last mentioned", gist.open_work),
        ("The user's preferences", gist.preferences),
    )
    for name, given in lists:
        if given:
            parts.append(f"{name}: {'; '.join(_short(one, length) for one in given)}.")
    return " ".join(parts)


def _with_notes(gist: Gist, text: str, length: int, chars: int) -> str:
    """What else was said, as far as there is room: the newest, oldest of them first."""
    lead, kept = " The user also said: ", list[str]()
    room = chars - len(text) - len(lead) - 1
    for note in reversed(gist.notes):
        short = _short(note, min(length, 120))
        if len(short) + 2 > room:
            break
        room -= len(short) + 2
        kept.append(short)
    return f"{text}{lead}{'; '.join(reversed(kept))}." if kept else text


def _short(text: str, limit: int) -> str:
    text = " ".join(text.split()).rstrip(".")
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"
