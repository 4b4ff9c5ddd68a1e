"""Written English as one would say it, so that the phonemes leave nothing out. Pure.

Marks go first, then the names that machines gave, then what has a shape of
its own (dates, times, money) becomes words, then bare numbers, words that are
said otherwise than written, and symbols. Afterwards no digit is left.

Names that machines gave (addresses, paths, identifiers, hashes) are read token by
token, and ordinary words are left alone.
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
from vivavoce.language.en.aloud.words import (
    COUNTED_IN_ROMAN,
    HOUSE_NUMBERS,
    IN_NAMES,
    PER,
    ROMAN,
    SAID,
    SHORT,
    TITLES,
    UNITS,
)
from vivavoce.language.en.numbers import cardinal, label, one_by_one

_TOKEN = re.compile(r"[^\s,;\"<>“”|]{2,}")
_OPENING, _CLOSING = "(['{", ")]'}!?:.…"

_URL = re.compile(r"(?:https?|wss?|ftp|file)://(?:www\.)?|www\.", re.IGNORECASE)
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_HASH = re.compile(r"(?=[0-9]*[a-fA-F])(?=[a-fA-F]*[0-9])(?:[0-9a-f]{7,}|[0-9A-F]{7,})")
_HEX = re.compile(r"(0x|#)([0-9a-fA-F]+)")
_IP = re.compile(r"(\d{1,3}(?:\.\d{1,3}){3})(?:/(\d\d?))?")
_DOTTED = re.compile(r"\.?\w[\w-]*(?:\.[A-Za-z][\w-]*)*\.[A-Za-z_][\w-]*|\.[a-z][\w-]+")
_ABBREVIATED = re.compile(r"[A-Za-z]\.[A-Za-z]|[Pp]h\.[Dd]|(?:[A-Z]\.)+[A-Z]s?")
_LINE = re.compile(r":(\d+)(?::\d+)?")
_DRIVE = re.compile(r"([A-Za-z]):[\\/]")
_HUMPS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_]+")
_HUMP = re.compile(r"[A-Za-z]*[a-z][A-Z][A-Za-z]*|[A-Z]{2,}[a-z]{2,}[A-Za-z]*")
_UNSPLIT = re.compile(r"(?:Mc|Mac|O'|De|Di|La|Le|Van)[A-Z][a-z]+|[A-Z]{2,}(?:s|ed|ing)")
_SPELLED, _FIRST_FEW = 8, 4
"""Hashes as short as git shows them are read whole; of longer ones the first few."""


def names(text: str) -> str:
    return _TOKEN.sub(_token, text)


def _token(match: re.Match[str]) -> str:
    token = match.group()
    if token.isalpha() and (token.islower() or token.istitle()):
        return token
    start = len(token) - len(token.lstrip(_OPENING))
    core = token[start:].rstrip(_CLOSING)
    if len(core) < 2:
        return token
    said = _name(core)
    return token if said is None else f"{token[:start]}{said}{token[start + len(core) :]}"


def _name(core: str) -> str | None:
    """What is said for it; None where it is no such name."""
    if core.lower() in SAID or core in UNITS:
        return None  # a word of its own, said wherever it stands
    if scheme := _URL.match(core):
        return _address(core[scheme.end() :])
    if _EMAIL.fullmatch(core):
        return _email(core)
    if _UUID.fullmatch(core) or _HASH.fullmatch(core):
        return _letters(core if len(core) <= _SPELLED else core[:_FIRST_FEW])
    if found := _HEX.fullmatch(core):
        return _hex(*found.groups())
    if _is_host(core):
        return _address(core)
    if _is_path(core):
        return _path(core)
    if _DOTTED.fullmatch(_LINE.sub("", core)) and not _ABBREVIATED.fullmatch(core):
        return _file(core)
    if "_" in core or (_HUMP.fullmatch(core) and not _UNSPLIT.fullmatch(core)):
        return _words(core)
    return None


# --- Addresses ------------------------------------------------------------------------


def _is_host(core: str) -> bool:
    host = re.split(r"[:/]", core, maxsplit=1)[0]
    if _IP.fullmatch(host):
        return True
    return bool(re.fullmatch(r"(?:localhost|[\w-]+(?:\.[\w-]+)+):\d{2,5}(?:/\S*)?", core)) and (
        host.rpartition(".")[2] not in ("py", "js", "ts", "md", "rs", "go", "c", "h", "tsx")
    )


def _address(text: str) -> str:
    """A host with its port and path; what comes after "?" or "#" nobody reads out."""
    text = re.split(r"[?#]", text, maxsplit=1)[0].rstrip("/")
    host, *parts = text.split("/")
    host, _, port = host.partition(":")
    if _IP.fullmatch(host):
        said = " dot ".join(label(group) for group in host.split("."))
        if len(parts) == 1 and parts[0].isdigit():
            return f"{said} slash {label(parts[0])}"
    else:
        said = " dot ".join(_words(part) for part in host.split("."))
    if port.isdigit():
        said += f" port {label(port)}"
    return " slash ".join([said, *(_file(part) for part in parts if part)])


def _email(text: str) -> str:
    name, _, host = text.partition("@")
    marks = {".": " dot ", "_": " underscore ", "-": " dash ", "+": " plus "}
    pieces = re.split(r"([._+-])", name)
    said = "".join(marks.get(piece) or _words(piece) for piece in pieces)
    return f"{said} at {' dot '.join(_words(part) for part in host.split('.'))}"


def _hex(mark: str, digits: str) -> str | None:
    if mark == "#" and (digits.isdigit() or len(digits) not in (3, 6, 8)):
        return None
    return ("hex " if mark == "0x" else "") + _letters(digits[:_SPELLED])


def _letters(text: str) -> str:
    """One by one: a3f as ay three F."""
    said = (
        one_by_one(c) if c.isdigit() else "ay" if c in "aA" else c.upper() for c in text if c != "-"
    )
    return " ".join(said)


# --- Paths and identifiers ------------------------------------------------------------


def _is_path(core: str) -> bool:
    parts = re.split(r"[/\\]", core)
    if len(parts) < 2 or not any(c.isalpha() for c in core):
        return False
    if _DRIVE.match(core) or parts[0] in ("", "~", ".", "..") or parts[-1] == "":
        return True
    if parts[-1] in PER and (len(parts[0]) < 2 or parts[0][0].isdigit() or parts[0] in UNITS):
        return False
    ends = (parts[0], parts[-1].partition(":")[0])
    return len(parts) > 2 or "_" in core or any(map(_DOTTED.fullmatch, ends))


def _path(core: str) -> str:
    core, line = _at_line(core)
    start = ""
    if drive := _DRIVE.match(core):
        core, start = core[drive.end() :], f"{drive[1].upper()} colon backslash "
    mark = "backslash" if "\\" in core else "slash"
    parts = re.split(r"[/\\]+", core)
    if parts[0] == "":
        start += f"{mark} "
    said = [{"~": "tilde", ".": "dot", "..": "dot dot"}.get(p) or _file(p) for p in parts if p]
    return start + f" {mark} ".join(said) + line


def _file(name: str) -> str:
    """A name with dots: a file, a host, something of a module."""
    name, line = _at_line(name)
    said = " dot ".join(filter(None, map(_words, name.split("."))))
    return (f"dot {said}" if name.startswith(".") else said) + line


def _at_line(name: str) -> tuple[str, str]:
    """`main.py:12:5` is main.py, line 12."""
    found = re.search(_LINE.pattern + "$", name)
    return (name[: found.start()], f", line {found[1]}") if found else (name, "")


def _words(name: str) -> str:
    """The words of an identifier, its marks left out."""
    if name.lower() in SAID:
        return SAID[name.lower()]
    parts = re.split(r"[_-]", name.replace("@", "_at_").replace("+", "_plus_"))
    said = (_word(word) for part in parts for word in _HUMPS.findall(part))
    return " ".join(said)


def _word(word: str) -> str:
    low = word.lower()
    if found := SAID.get(low) or IN_NAMES.get(low):
        return found
    # The dictionary spells out what it does not know in capitals, such as TOKENS.
    return low if word.isupper() and len(word) > 1 else word


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
