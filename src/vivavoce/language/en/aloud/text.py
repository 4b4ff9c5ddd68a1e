"""Written English as one would say it, so that the phonemes leave nothing out. Pure.

Marks go first, then the names that machines gave, then what has a shape of
its own (dates, times, money) becomes words, then bare numbers, words that are
said otherwise than written, and symbols. Afterwards no digit is left.
"""

from __future__ import annotations

import re
import unicodedata

from vivavoce.language.en.aloud.counted import (
    AMOUNTS,
    BARE,
    DATES,
    PHONES,
    TIMES,
    UNCOUNTED,
    VERSIONS,
    Match,
    Rules,
    applied,
    one_of,
    rules,
)
from vivavoce.language.en.aloud.identifiers import names
from vivavoce.language.en.aloud.words import (
    COUNTED_IN_ROMAN,
    HOUSE_NUMBERS,
    ROMAN,
    SAID,
    SHORT,
    TITLES,
)
from vivavoce.language.en.numbers import cardinal

_LONGEST, _KEPT = 200, 40
"""What is longer than any word is no word; nobody would read out more than its beginning."""


def spoken(text: str) -> str:
    """The words to say; nothing when there is nothing to say."""
    text = re.sub(rf"\S{{{_LONGEST},}}", lambda m: m[0][:_KEPT], plain(text))
    if not text.isascii():
        text = _folded(text)
    text = names(applied(_FIRST, text))
    if _DIGIT.search(text):  # most clauses have none, and need not pay for them
        text = applied(_COUNTED, text)
    text = applied(_REST, text)
    return " ".join(text.split()) if re.search(r"[A-Za-z]", text) else ""


_DIGIT = re.compile(r"\d")

_TYPOGRAPHY = str.maketrans(
    {"’": "'", "‘": "'", "−": "-", "½": " 1/2", "¼": " 1/4", "¾": " 3/4", "×": " times ",
     "÷": " divided by ", "±": " plus or minus ", "≠": " is not ", "≤": " at most ",
     "≥": " at least ", "≈": " about ", "→": " to ", "⇒": " to ", "➜": " to ", "➡": " to ",
     "←": " from ", "©": " copyright ", "•": " ", "·": " ", "\u00a0": " ", "\u202f": " "}
)  # fmt: skip


def _folded(text: str) -> str:
    """Accents and typographic forms, which the pronouncing dictionary does not know; no emoji."""
    text = re.sub(r"(\d) ?[x×] ?(?=\d)", r"\1x", text)
    text = re.sub(r"(?<!m)²", " squared ", re.sub(r"(?<!m)³", " cubed ", text))
    folded = unicodedata.normalize("NFKD", text.translate(_TYPOGRAPHY))
    return "".join(c for c in folded if c == "°" or unicodedata.category(c) not in _UNSAID)


_UNSAID = frozenset(("Mn", "Me", "So", "Sk", "Cf", "Cs", "Co", "Cn", "Cc")) - {"Cc"}


# --- What becomes of a match ----------------------------------------------------------


def _short(match: Match) -> str:
    """A short form; its dot is the sentence's too, if that ends here."""
    text = match[1]
    said = SHORT[text.lower()]
    if text.endswith(".") and not match.string[match.end() :].strip(" \n\"'”’)*_"):
        return said.rstrip(",") + "."
    return said.rstrip(",") if match.string[match.end() : match.end() + 1] == "," else said


def _known(match: Match) -> str:
    return SAID.get(match[0].lower(), match[0])


_FIRST: Rules = rules(
    (rf"(?i)(?<![\w/.])({one_of(SHORT)})(?![\w/])", _short),
    (r"(?<=\w)\(\)", ""),
    (r"\b([CF])#(?!\w)", r"\1 sharp"),
    (r"\b(Ctrl|Cmd|Alt|Shift|Option)\+(?=\w)", r"\1 "),
    (r"\b[Nn]os?\. ?(?=\d)|#(?=\d+\b(?![A-Fa-f]))", "number "),
    (r"(?m)^\s{0,9}(\d{1,3})[.)]\s", lambda m: f"{cardinal(m[1])}: "),
    (
        rf"(?<=\w )({one_of(HOUSE_NUMBERS)})\.(?=\s*$|,|\s[a-z])",
        lambda m: HOUSE_NUMBERS[m[1]] + ("" if m.string[m.end() :].strip() else "."),
    ),
    (rf"\b({one_of(TITLES)})\.? (?=[A-Z])(?<!\bSt )(?<!\bHon )", lambda m: f"{TITLES[m[1]]} "),
    (r"\b(St|Hon)\. (?=[A-Z])", lambda m: f"{TITLES[m[1]]} "),
    (r"\bUS(?= [a-z]|[.,?!]|$)|\bUSA\b", lambda m: "-".join(m[0])),
    (r"\bIT(?= (?:team|department|support|staff|guy|infrastructure|desk)\b)", "I-T"),
    (
        rf"\b({COUNTED_IN_ROMAN}) ({one_of(ROMAN)})\b",
        lambda m: f"{m[1]} {ROMAN[m[2]]}",
    ),
    (r"\bp\. ?(?=\d)", "page "),
    (r"\bpp\. ?(?=\d)", "pages "),
    (r"(?<!\S)--(?=[A-Za-z])", "dash dash "),
    (r"(?<=\w )-(?=[A-Za-z]{1,3}(?:[\s.,]|$))", "dash "),
)

_SYMBOLS: Rules = rules(
    (r"\bversion version\b", "version"),
    (r"(?<=[A-Za-z])\.(?=[A-Za-z]{2})", " dot "),
    (r"(?<=[\w.])/(?=\w)|_", " "),
    (r"(?<!\S)/(?=\w)", "slash "),
    (r"\^", " to the power of "),
    (r"&&?", " and "),
    (r"\|\|", " or "),
    (r"\+", " plus "),
    (r"(?:->|=>)", " to "),
    (r"!=", " is not "),
    (r">=", " at least "),
    (r"<=", " at most "),
    (r"={1,3}", " equals "),
    (r"@", " at "),
    (r"~", " about "),
    (r"(?<=\s)\*(?=\s)", " times "),
    (r"(?<=\s)<(?=\s)", " less than "),
    (r"(?<=\s)>(?=\s)", " to "),
    (r"[\\#*<>|^`{}\[\]]", " "),
    (r"(?<=[\w'\")])[ \t]{0,99}\n\s{0,99}(?=\S)", ", "),  # the lines of a list
    (r"\.{3,}", "…"),
    (r"\s{1,9}(?=[,.!?;:](?:\s|$))", ""),
)

_COUNTED: Rules = (
    *rules((r"(?<=\d) (?=000\b)", "")),
    *DATES,
    *PHONES,
    *VERSIONS,
    *TIMES,
    *rules(
        (r"(?<![\w)])-(?=[$€£¥])", "minus "),
        (r"(?<![-=<])>\s?(?=[$€£]?\d)", " more than "),
        (r"<\s?(?=[$€£]?\d)", " less than "),
        (r"[~≈]\s?(?=[$€£]?\d)", " about "),
    ),
    *AMOUNTS,
    *BARE,
)

_REST: Rules = (*UNCOUNTED, *rules((r"[A-Za-z][A-Za-z'-]*", _known)), *_SYMBOLS)


# --- Markdown -------------------------------------------------------------------------

# What could be as long as the text is bounded: hostile text would cost the square of it.
_MARKS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.MULTILINE), words)
    for pattern, words in (
        (r"^[ \t]{0,9}(```|~~~)(?s:.*?)(?:\n[ \t]{0,9}\1[`~]{0,9}[ \t]{0,9}$|\Z)", "\n"),
        (r"(?s)<!--.{0,500}?-->", " "),
        (r"!?\[([^\[\]\n]{0,300})\]\([^()\n]{0,500}(?:\([^()\n]{0,99}\)[^()\n]{0,99})?\)", r"\1"),
        (r"!?\[([^\[\]\n]{1,300})\]\[[^\[\]\n]{0,99}\]", r"\1"),
        (r"^[ \t]{0,9}\[[^\[\]\n]{1,99}\]:[ \t]{0,9}\S{1,500}$", ""),  # where a link leads
        (r"<(https?://[^<>\s]{1,500})>", r"\1"),
        (r"</?[A-Za-z][^<>\n]{0,300}>", " "),  # HTML
        (r"^[ \t]{0,9}(?:[-*_][ \t]{0,3}){3,}$", ""),  # rules
        (r"^[ \t]{0,9}\|?(?:[ \t]{0,9}:?-{2,99}:?[ \t]{0,9}\|){1,99}[-: \t]{0,99}$", ""),
        (r"^[ \t]{0,9}(?:>[ \t]?){1,9}", ""),
        (r"^[ \t]{0,9}#{1,6}[ \t]{1,9}|[ \t]{1,9}#{1,6}$", ""),
        (r"^[ \t]{0,99}[-*+•][ \t]{1,9}(?:\[[ xX]\][ \t]{1,9})?", ""),
        (r"^[ \t]{0,9}\|[ \t]{0,9}|\|[ \t]{0,9}$", ""),
        (r"(?<=[^\s|])[ \t]{1,99}\|[ \t]{1,99}", ", "),
        (r"(?<![*\w])\*(?=\.\w)|(?<=[\w/])\*(?=\.\w)|(?<=/)\*(?=$|\s)", " star "),  # test_*.py
        (r"\*{2,}|_{2,}|~{2}|`+", ""),
        (r"(?<![\w*])\*(?=\S)|(?<=[^\s*])\*(?!\w)", ""),
        (r"(?<!\w)_(?=\w)|(?<=\w)_(?!\w)", ""),
    )
)


def plain(text: str) -> str:
    """Without its marks: what is left is what one would read out. Text comes a clause at a time,
    so that a mark may have lost its partner; marks that stand alone go too. Code between fences
    is for the eye: it goes whole, to the end of the text if the fence is not closed."""
    for pattern, words in _MARKS:
        text = pattern.sub(words, text)
    return text
