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
from vivavoce.language.patterns import lazily
from vivavoce.wire.clean import clean_line, clean_text
from vivavoce.wire.values import Record, Value

HEADING = "Previous conversation summary:"

_SENTENCE = 240  # characters of what is kept of one
_TITLE = 60
_NOTES = 200  # of the other things that the user said; the newest
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

_SENTENCES = lazily(r"(?<=[.!?…])[\"'”’)]*\s+|\s*\n+\s*")
_QUESTION = lazily(r"\?\W*$")
_FILLER = lazily(
    r"(?i)^(?:[\s,.;:!-]+|(?:please|so|well|um+|uh+|er+|oh|okay|ok|alright|right|yes|yeah|yep|sure|"
    r"hi|hey|hello|good (?:morning|afternoon|evening)|thanks|thank you|great|cool|perfect|"
    r"actually|and|then|now|also|but)\b)+"
)
_DECIDED = lazily(
    r"(?ix)\b(?:decid\w+|decision|agreed|settle[ds]?\ (?:on|for)|(?:go|going|went)\ with|"
    r"stick\ (?:with|to)|opt(?:ed)?\ for|cho[os]e\w*|pick(?:ed)?\b|instead\ of|rather\ than|"
    r"from\ now\ on|final(?:ly|ised|ized)?\ (?:answer|version|choice)|make\ sure|must(?:\ not)?\b|"
    r"(?:remember|note|keep\ in\ mind)\ that|the\ plan\ is|it\ is\ then|"
    r"(?:it|they)(?:'ll|\ will|\ won'?t|\ (?:are|is)\ going\ to)|"
    r"(?:we|it|they)\ (?:should|shall))\b"
)
_ORDERED = lazily(
    r"(?i)^(?:use|call it|name it|make it|keep|rename|drop|skip|avoid|never|always|put|set|switch "
    r"to|replace)\b"
)
_STATED = lazily(
    r"(?i)^(?:the|our|my|this|that)\b.{2,80}?\b(?:is|are|will be|should be|must be|has to be|was|"
    r"were|starts|ends|costs)\b"
)
_OPEN = lazily(
    r"(?i)\b(?:(?:still|we|i|you|they) (?:need|needs|have|has|want) to|still (?:open|missing|to do|"
    r"to be done)|next (?:step|thing|up|time)|to-?do\b|remind me|don'?t forget|later on|"
    r"(?:do|finish|look at|come back to|get back to) (?:it|that|this|them)? ?later|"
    r"(?:is|are)(?:n'?t| not) (?:yet )?(?:done|finished|ready)|not yet|pending|remains? to)\b"
)
_DONE = lazily(
    r"(?i)\b(?:done|finished|completed|fixed|implemented|works? now|is working|i'?ve (?:added|"
    r"changed|made|written|updated|fixed|finished|implemented|moved|sent|removed))\b"
)
_LIKED = lazily(
    r"(?i)\b(?:i(?:'d| would)? (?:really |always |usually )?(?:prefer|like it|love|hate|"
    r"don'?t like|can'?t stand)|i (?:always|never|usually) |i like\b|call me\b|"
    r"please (?:always|never|don'?t|keep)|my favou?rite)\b"
)
_PROPOSED = lazily(
    r"(?i)^(?:so |then |and |ok(?:ay)?,? )*(?:shall|should|do you want|would you like|do we|are we|"
    r"is it (?:ok|okay|fine|all right)|may i|can i|want me to)\b"
)
_FILE = lazily(
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


# --- Deciding in ordinary words -------------------------------------------------------------

# By how English commits somebody, and not by which words they choose: who speaks of themselves
# in the future or in the present ("we'll meet at six", "we take the train"), tells somebody what
# to do with a thing ("make it Tuesday"), agrees to a thing by its name alone ("fine, the blue
# one"), or draws a conclusion ("then it's Lisbon"). What is asked, in doubt, imagined or
# past is none of it.

_MARK = lazily(
    r"(?:ok(?:ay)?(?: then)?|fine|right|al(?:l ?)?right|good|great|perfect|deal|yes|yeah|yep|sure|"
    r"no|nah|then|so|thus|therefore|well|and|but|oh|hm+|you'?re right|you win|in that case|done|"
    r"fair enough|go on then)\b[\s,.!:-]*"
)
_LEAN = lazily(
    r"(?:(?:i (?:think|guess|suppose|say)|i'?d say|actually|really|honestly|just|please|this "
    r"(?:time|year|week))\b[\s,]*)+"
)
_CLAUSES = lazily(r"\s*[,;:–—]\s*|\s+(?=(?:but|so|and)\s)")
_DOUBT = lazily(
    r"\b(?:maybe|perhaps|possibly|might|could|may|whether|unsure|not sure|wonder\w*|no idea|"
    r"depends?|undecided|(?:don'?t|do not|didn'?t|doesn'?t) (?:\w+ )?(?:know|think|mind|care)|"
    r"(?:haven'?t|have not|hasn'?t|not) (?:yet )?(?:been )?decided|would have|if only|"
    r"(?:thinking|think|talk|thought) (?:about|of|it over))\b"
)
_WE = r"(?:i|we|you and i)"
_NO = r"(?:not |never |just |only |now |all |both |definitely |certainly |simply |then )*"
_MIND = (
    r"(?:see|think|hope|talk|look|know|wonder|try|check|ask|say|guess|suppose|believe|remember|"
    r"forget|call you|tell|let|wait|imagine|pretend|admit|understand|feel|hear|read|be (?:back|"
    r"right back|honest|late|here|there)|find out|get back|need|miss|like|love|hate|face|begin|"
    r"start)"
)
_STATE = (
    r"(?:have|has|know|like|need|think|believe|live|feel|love|hate|hope|mean|see|hear|remember|"
    r"seem|own|belong|understand|guess|suppose|wonder|are|were|had|did|do|said|went|met|used|came|"
    r"got|saw|took|made|could|would|might|may|should|can|must|wish|usually|often|always|sometimes|"
    r"rarely|both|all|never|still|already|also|only|just|really|work|speak|talk|tend|lost|won|left|"
    r"ate|drank|slept|spent|bought|brought|thought|found|felt|kept|gave|told|sat|stood|ran|began|"
    r"wrote|drove|flew|paid|sent|built|held|knew|grew|broke|spoke|chose|\w+ed)"
)
_PLACE = r"(?:the|a|an|my|our|his|her|their|your|work|bed|school|town|church)"
_CHOICE = (
    r"(?:tak|stick|keep|go|drop|rent|buy|hir|stay|mov|leav|cancel|us|choos|pick|order|mak|switch|"
    r"paint|invit|sell|book|call|nam|hav|renew|chang|skip|postpon|mov|put|add|remov|us)"
)
_THING = (
    r"(?:the|that|this|those|these|it|them|him|her|us|my|our|your|his|a|an|one|two|both|all|no|"
    r"every|number|option|with|for|ahead|on|to|at|monday|tuesday|wednesday|thursday|friday|saturday|"
    r"sunday|[a-z]*teen|three|four|five|six|seven|eight|nine|ten|\d+)"
)
_WHENEVER = (
    r"every (?:single )?(?:other )?(?:day|time|morning|evening|night|week|month|year|now|once|"
    r"summer|winter|\w+day)"
)
_OFTEN = lazily(r"\b(?:every|usually|often|always|sometimes|each|normally|mostly)\b")
_SETTLES: tuple[re.Pattern[str], ...] = tuple(
    lazily(one)
    for one in (
        rf"(?:let'?s|let us) {_NO}(?!{_MIND}\b)\w+",
        rf"{_WE}(?:'ll| will| shall| won'?t|'(?:m|re) {_NO}(?:going to|gonna)|"
        rf" (?:am|are) {_NO}going to) {_NO}(?!{_MIND}\b|{_PLACE}\b)\w+",
        rf"{_WE}(?:'m|'re| am| are) {_NO}{_CHOICE}p?t?l?ing "
        r"(?!(?:to|crazy|mad|home|(?:my|our) time)\b)",
        r"i(?:'d| would) (?:rather|sooner) \w+",
        r"i (?:want|choose|pick|take|insist|go for|go with|vote for) (?:on )?(?:the|that|this|"
        r"those|these|both|number|option)\b",
        rf"we {_NO}(?!{_STATE}\b|{_MIND}\b)\w+(?: \w+|$)",
        r"(?:i|we|we all|both of us|all of us) (?:all |both )?agree (?:on|to)\b",
        rf"(?:make|call|name|put|order|book|keep|take|leave|drop|forget|skip|go|use|pick|choose|"
        rf"cancel|move|paint|buy|get|hire|rent|stick|stay|switch|change|send|write) "
        rf"(?:back to )?(?!me\b|your time\b){_THING}\b",
        r"(?:that settles it|it'?s (?:settled|decided|a deal)|we have a deal|agreed|deal\b|"
        r"you(?:'ve| have)? convinced me|i(?:'?ve| have) made up my mind|my mind is made up)",
        r"from now on\b",
        r".{2,60}\bit is$",
    )
)
# Only where something before it shows that it is drawn from what was said:
_CONCLUDES: tuple[re.Pattern[str], ...] = tuple(
    lazily(one)
    for one in (
        r"(?:it'?s|it is|that'?s|that is|it'?ll be|it will be) (?!a pity|a shame|nice|fine|good|"
        r"true|not\b|why|how|what|where|when|raining|late|hot|cold|too\b|so\b|very\b)\w+",
        r"(?:the|our|my|that|this|\w+day)\b.{0,40}\b(?:moves|stays|goes|becomes|gets|works|remains|"
        r"starts|ends|leaves|wins)\b",
        rf"i (?!{_STATE}\b|{_MIND}\b)\w+ (?:the|that|this|it|them|both|a)\b",
    )
)
# What holds for all, how much at most, what has to be, and one thing in another's place: nobody
# says that of what has happened already.
_PAST = lazily(
    r"\b(?:was|were|had|did|didn'?t|went|came|took|said|saw|got|made|told|knew|thought|felt|ran|"
    r"(?!hundred)\w{2,}(?<!e)ed)\b"
)
_PASSIVE = lazily(r"\b(?:is|are|be|been|being|gets?) (?:\w+ly )?\w+ed\b")
_LAYS_DOWN: tuple[re.Pattern[str], ...] = tuple(
    lazily(one)
    for one in (
        r"(?:at most|at least|up to|(?:no|not) (?:more|less|fewer|later|earlier|sooner) than|only|"
        r"nobody|no one|everybody|everyone|everything|nothing|none of|all|each|both|"
        rf"(?!{_WHENEVER})every|"
        r"no (?!problem|idea|doubt|wonder|way|matter|worr|thank|need|one|more$|use|offen[cs]e))"
        r"\W*\w+(?:\W+\w+)+",
        r"(?!(?:i|we|you|they|he|she|there|who|what|it all|that)\b)\w+(?:\W+\w+){0,6}\W+"
        r"(?:has|have|needs?|ought) to \w+",
        r"(?:the|our|this|that|these|those|\w+day)\b.{0,40}\b(?:moves to|goes to|stays|stay|"
        r"becomes?|remains?)\b",
    )
)
_NOT_THAT = lazily(
    r"(?!.*\b(?:i|you|he|she|they|is|are|it'?s)\b)[^,]{2,60}, (?:and )?(?:not|never) "
    r"(?!sure|really|bad|yet|only|even|much|so|very|too|now|at all)[^,]{2,60}"
)
_HABIT = lazily(rf"\b(?:{_WHENEVER}|usually|often|always|sometimes|normally|mostly)\b")
# A thing by its name, and no verb: what was agreed to.
_NO_VERB = (
    r"(?!.*\b(?:is|are|was|were|has|have|had|do|does|did|can|will|i|you|he|she|it|we|they|what|who|"
    r"how|why|where|problem|idea|way|thank|thanks|worries|bye|see|like)\b)"
)
_NAMED = lazily(
    r"(?:the|that|this|those|these|no|not|two|three|both|neither|none|number|option|a|an|at|on|by|"
    rf"\w+day|half|\d+)\b{_NO_VERB}(?:\W+\w+){{1,8}}"
)
_THEN = lazily(rf"{_NO_VERB}(?!bye|now|well|back|since|until|till|by)(?:\w+,? ){{0,4}}\w+,? then")


def decides(sentence: str) -> Literal["whole", "short"] | None:
    """Is it a decision of whoever says it? A short one only names what it answers a question
    with."""
    text = sentence.casefold().replace("’", "'").strip(" \"'")
    if _QUESTION.search(text):
        return None
    agreed, text = False, text.rstrip(".!… ")
    settled = not _DOUBT.search(text) and not _PAST.search(_PASSIVE.sub("", text))
    if settled and not _HABIT.search(text):
        lays_down = any(one.match(text) for one in _LAYS_DOWN)
        if lays_down or _NOT_THAT.fullmatch(text):
            return "whole"
    if _THEN.fullmatch(text) and not _DOUBT.search(text):
        return "short"
    for clause in _CLAUSES.split(text):
        bare, before = clause.strip(), None
        marked = agreed
        while before != bare:  # "well okay then, so"
            if marked and _NAMED.fullmatch(bare):  # "no dessert" begins like a no
                return "short"
            before, bare = bare, _LEAN.sub("", bare, count=1) if _LEAN.match(bare) else bare
            if (mark := _MARK.match(bare)) is not None and mark.end() < len(bare):
                bare, marked = bare[mark.end() :], True
        if _MARK.fullmatch(bare):
            agreed = True
            continue
        agreed = False
        if _DOUBT.search(bare):
            continue
        if any(one.match(bare) for one in _SETTLES) and not _OFTEN.search(bare):
            return "whole"
        if marked and any(one.match(bare) for one in _CONCLUDES):
            return "whole"
    return None


def _cued(sentence: str) -> bool:
    """Does a word of it speak of deciding, and is it meant? Of whoever it was: what others
    decided was told because it counts."""
    clauses = _CLAUSES.split(sentence.casefold().replace("’", "'"))
    meant = [clause for clause in clauses if not _DOUBT.search(clause)]
    return any(_DECIDED.search(one) or _ORDERED.search(one) for one in meant)


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
                for name in paths(line.arguments or {}):
                    self._file(name)
            case "system" | "result":
                pass

    def _user(self, text: str) -> None:
        self._turns += 1
        text = text[:_READ]
        asked, self._asked = self._asked, ""
        if _PROPOSED.match(asked) and not _OFFERED.search(asked) and (said := consent(text)):
            self._decisions.add(f"{said.capitalize()} to: {asked}")
        self._named(text)
        for number, (sentence, whole) in enumerate(_sentences(text)):
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
            how = decides(whole) or ("whole" if _cued(sentence) else None)
            if how is None and number == 0 and _replies(whole, asked):
                how = "short"
            if how:
                about = f' (asked: "{asked}")' if asked and how == "short" else ""
                self._decisions.add(f"{sentence}{about}")
            elif liked or open_:
                continue
            elif _STATED.search(sentence):
                self._decisions.add(sentence)
            elif len(_words(sentence)) >= _A_NOTE:
                self._notes.add(sentence)

    def _assistant(self, text: str) -> None:
        text = text[:_READ]
        self._named(text)
        sentences = [sentence for sentence, _ in _sentences(text)]
        for sentence in sentences:
            if _QUESTION.search(sentence):
                continue
            self._settle(sentence)
            if _OPEN.search(sentence):
                self._open.add(sentence)
            elif _AGREED.search(sentence):
                self._decisions.add(sentence)
        last = sentences[-1] if sentences else ""
        self._asked = last if _QUESTION.search(last) else ""

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


# What was asked for is what the answer settles, in however few words: "Blue."
_ASKED = lazily(
    r"(?i)\b(?:which|what|who|whom|whose|where|when|or|how (?:many|much|long|often|far|early|late|"
    r"soon|big|large|small|wide|high|old|tall|hot))\b"
)
_OFFERED = lazily(
    r"(?i)\b(?:anything|something else|what else|help you|can i do|may i do|going on|you up to)\b"
)


def _replies(sentence: str, asked: str) -> bool:
    """Does it answer that, with more than a yes or a no, and in no doubt?"""
    if not _ASKED.search(asked) or _OFFERED.search(asked) or _DOUBT.search(sentence.casefold()):
        return False
    return consent(sentence) is None and bool(re.search(r"\w\w|\d", sentence))


_AGREED = lazily(r"(?i)\b(?:we|you|we've|you've) (?:have )?(?:decided|agreed|settled)\b")
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


def _sentences(text: str) -> Iterable[tuple[str, str]]:
    """Each without the words it begins with and that say nothing, and with them."""
    for sentence in _SENTENCES.split(text):
        whole = clean_line(sentence, _SENTENCE)
        bare = _FILLER.sub("", whole).strip()
        if bare:
            yield bare[:1].upper() + bare[1:], whole


def paths(arguments: Mapping[str, Any]) -> Iterable[str]:
    """The files that a tool was called with."""
    for key in _PATHS:
        name = arguments.get(key)
        if isinstance(name, str) and name.strip(" ./"):
            yield clean_line(name, 160)


_ASKED_FOR = lazily(
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
