"""How people speak of things that they have without naming them: "that one", "both", "all but the
dentist", and how a name is told from what is done with it. By ending and by sound a word is near to
another. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from difflib import SequenceMatcher

from vivavoce.language.en.numbers import ORDINALS
from vivavoce.language.en.times.lexicon import listed
from vivavoce.language.en.words import STOP, alike

GENERIC = frozenset(
    listed(
        "task tasks reminder reminders thing things one ones appointment appointments item items "
        "entry entries event events todo todos stuff goal goals note notes list plan plans"
    )
)
"""What any of the user's things may be called."""
POINTING = frozenset(listed("it that this them those these him her same"))
ALL = frozenset(listed("all everything both whatever anything lot every each whole rest others"))
QUANTIFIED = frozenset(listed("all everything both every"))
HANDLING = frozenset(
    listed(
        "move shift push put change make delete remove cancel scrap drop bin clear done finished "
        "tick cross off mark get rid please want need would could mine also again back instead "
        "later sooner earlier no yes not now okay ok forget take only just other another"
    )
)
UNITS = frozenset(listed("minute minutes hour hours day days week weeks month months else"))
_KEPT = re.compile(
    r"(?i)\b(?:stays?|still (?:on|going ahead|happening|coming|wanted|going to)|"
    r"keep|must stay|can stay|leave (?:the|my|that|it)|remains?|not the|not my|"
    r"except|but not|apart from|other than|barring|bar (?=(?:the|my|our|that)\b)|"
    r"save (?:for )?(?=(?:the|my|our|that)\b))\b"
)
_SOMEBODY = re.compile(
    r"(?i)\b(?:(?:i|we|he|she|you)(?:['’](?:ll|ve|d|m|re|s))?|(?:have|has|had|got|need|needs|want|"
    r"wants|going|asked) to)"
    r"(?: (?:must|have|has|had|need|needs|got|gotta|am|is|are|will|can|can['’]t|could|might|should|"
    r"shall|want|wants|to|going|gonna|really|always|still|all))*"
    r" (?:stay(?:s|ed|ing)?|remain(?:s|ed|ing)?|keep(?:s|ing)? (?=\w+ing\b))\b"
)
"""Who stays late at work is not what stays on the list."""
_ALL_BUT = re.compile(
    r"(?i)\b(all|everything|anything|the lot|every \w+|all of \w+),? but\b(?! not)"
)
_BEFORE = 12
"""Characters: "everything" stands right before its "but"."""
STAYING = re.compile(
    r"(?i)\b(?:and|but|leave|keep|stays?|must|can|remains?|except|apart from|other than|not|alone|"
    r"barring|bar|save(?: for)?|mind|"
    r"(?:just )?(?:where|as) (?:it|that) (?:is|was)|one)\b|[.,;!?]"
)
"""What is said around the name of what stays."""
THATS_ALL = re.compile(r"(?i)\b(?:and )?that(?:'?s| is) (?:all|it|everything|the lot)\b")
NOBODY = re.compile(
    r"(?i)(?<!\bat )(?<!\bby )(?<!\bto )(?<!\bpast )(?<!\baround )(?<!\babout )"
    r"\bones?\b(?! (?:o'?clock|in the|a\.?m|p\.?m|thirty|fifteen|forty))"
)
"""The "one" that stands for a thing; the other is an hour."""
CLAUSE = re.compile(r"(?<=[.!?;,])\s+|\s+(?=(?:but|except|apart from|other than|barring)\b)")
_LETTERS = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ß": "s", "æ": "e", "œ": "e", "þ": "t"})
_SOUNDS = (("ph", "f"), ("ck", "k"), ("th", "t"), ("w", "v"), ("c", "k"), ("q", "k"), ("z", "s"),
           ("y", "i"), ("j", "i"))  # fmt: skip
_ALIKE = 0.8
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")


def means_all(words: str) -> bool:
    """ "Both", "all of them", "everything tomorrow"."""
    return bool(ALL & set(plain_words(words)))


def leaves_out(words: str) -> bool:
    """ "Everything else", "the rest": without what was spoken of before."""
    return bool({"else", "rest", "others", "other"} & set(plain_words(words))) and means_all(words)


def keeps(clause: str, before: str = "") -> bool:
    """Whether it says what is to stay as it is."""
    return stays(excepting(f"{before[-_BEFORE:].rstrip()} {clause}"))


def stays(clause: str) -> bool:
    """The same, of a clause by itself."""
    return _KEPT.search(_SOMEBODY.sub(" ", clause)) is not None


_UNTOUCHED = re.compile(
    r"(?i)\b(?:stays?|staying|remains?|unchanged|untouched|alone|hands off|exactly (?:as|where)|"
    r"keeps? (?:it|them|that|its|their|theirs|his|hers|the same|as)|(?:as|where|how) (?:it|they) "
    r"(?:is|are|was|were))\b"
    r"|^\W*(?:(?:and|but|so|please|just|also)\W+)*(?:(?:leave|keep) (?!\w+ing\b)|not\b)"
    r"|\b(?:don['’]?t|do not|never|no need to|without|not|doesn['’]?t|mustn['’]?t)"
    r" (?:\w+ )?(?:touch|chang|alter|mov|mess|need)\w*"
    r"|(?:\b(?:is|are)|['’](?:s|re)) (?:all |just |already )?(?:fine|okay|ok|right|correct|good)\b"
)
_PARTS = re.compile(
    r"(?<=[.!?;,:])\s+|\s+(?=but\b)|\s+(?=and (?:leave|keep|don['’]?t|do not|not|never|hands)\b)|"
    r"\s+(?=without (?:touch|chang|alter)\w+)"
)
_AND_NOT = re.compile(
    r"(?i)\b(?:not(?! (?:only|just)\b)|rather than|instead of|except(?: for)?|apart from|"
    r"other than|besides|unlike)\s+(?:(?:for|in|on|at|of|the|that|my|our|your|their)\s+)*[\w'’-]+"
)


def without_what_stays(said: str, new: str = "") -> str:
    """What is said of a change, without the parts that name what is to stay: "… for the guests.
    Members keep it", "the day's, not the night's". Where the new value is said nothing stays: "keep
    them ninety days"."""
    new = new.casefold()
    parts = [
        one
        for one in _PARTS.split(said)
        if (new and new in one.casefold()) or not _UNTOUCHED.search(one)
    ]
    return _AND_NOT.sub(" ", " ".join(parts))


def excepting(text: str) -> str:
    """ "All but the dentist" is all except the dentist."""
    return _ALL_BUT.sub(r"\1 except", text)


def similar(words: str, title: str) -> bool:
    """Whether they have a word in common that says something."""
    skipped = STOP | GENERIC | HANDLING | POINTING | ALL
    ones = [t for t in plain_words(words) if t not in skipped]
    others = [t for t in plain_words(title) if t not in skipped]
    return any(near(one, other) for one in ones for other in others)


def same_title(words: str, title: str) -> bool:
    """Whether they say the same, word for word but for the small ones."""
    one, other = ({t for t in plain_words(w) if t not in STOP | GENERIC} for w in (words, title))
    both = ((one, other), (other, one))
    same = all(any(near(a, b) for b in there) for here, there in both for a in here)
    return bool(one and other) and same


def goes_on(words: str) -> bool:
    """ "It's all done", "he was so kind": about what was named before, and no name of anything."""
    first = plain_words(words)[:1]
    return bool(first) and (first[0] in POINTING or first[0] in ("he", "she", "they"))


def nameless(words: str) -> bool:
    """ "It", "him", "both of them", "my appointment": words that name no title."""
    skipped = STOP | GENERIC | POINTING | HANDLING | ALL
    return not [t for t in plain_words(words) if t not in skipped and t not in ORDINALS]


def plain_words(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKD", text.replace("’", "'").casefold().translate(_LETTERS))
    bare = "".join(c for c in plain if not unicodedata.combining(c))
    return [word.removesuffix("'s").replace("'", "") for word in WORD.findall(bare)]


def near(word: str, other: str) -> float:
    """How much a word is like another: the same, with another ending, or by its sound."""
    if word == other:
        return 1.0
    if alike(word, other) and not word.isdecimal():
        return 0.9
    if min(len(word), len(other)) < 4 or other in STOP:
        return 0.0
    one, two = _sound(word), _sound(other)
    if one == two:
        return 0.8
    close = one[0] == two[0] and SequenceMatcher(None, one, two).ratio() >= _ALIKE
    return 0.7 if close else 0.0


def initials(word: str, title: str) -> bool:
    names = re.findall(r"\b[^\W\d_]", " ".join(w for w in title.split() if w[:1].isupper()))
    return len(word) in (2, 3) and word in "".join(names).casefold()


def _sound(word: str) -> str:
    for spelt, heard in _SOUNDS:
        word = word.replace(spelt, heard)
    return re.sub(r"(.)\1", r"\1", word)
