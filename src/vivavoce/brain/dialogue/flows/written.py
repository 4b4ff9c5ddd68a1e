"""How a new value is written where an old one stands, and what was said of it. Pure.

What is not understood as a value of the old one's kind is asked for, and never written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from vivavoce.brain.dialogue.flows.results import Known
from vivavoce.brain.dialogue.flows.structure import plain_value
from vivavoce.language.en.naming import (
    bare,
    becomes,
    figures_only,
    in_seconds,
    literal,
    pieces,
    stem,
    telling,
)
from vivavoce.language.en.numbers import found, nth, numbers_in
from vivavoce.language.en.quantities import written_like

NUMBER = re.compile(r"-?\d[\d_]*(?:\.\d+)?")


def is_value(written: str, said: str) -> bool:
    """ "Two ten" where it says 210."""
    return said.lower() == written.lower() or written_like(written, said) == written


_INTO = r"(?:to|with|into|by|for|as|should be|is now|becomes?|is actually|ought to be|instead of)"


def said_to_become(what: str, to: str, said: str) -> bool:
    """Whether one text is said to become the other ("change hello to hi"), and not only that
    something about it is another now ("the party moved to the ninth")."""
    if not bare(what) or not bare(to):
        return False
    last, first = re.escape(bare(what).split()[-1]), re.escape(bare(to).split()[0])
    between = rf"(?:\W+in \S+(?: dot \w+)?| in there)?\W+{_INTO}\W+(?:the |a |an |just )*"
    if re.search(rf"(?i){last}[\"'”]?{between}[\"'“]?{first}", said):
        return True
    # Further apart only a number becomes a number, and a name a name.
    figures = bool(written_like("1", what)), bool(written_like("1", to))
    named = all(re.match(r"[A-Z]", bare(one)) for one in (what, to)) and not any(figures)
    if not (all(figures) or named):
        return False
    return re.search(rf"(?i){last}\b[^!?]{{0,80}}?\b{_NOW}\W+{_LEADING}{first}", said) is not None


_NOW = (
    r"(?:(?:that|it)['’]?s|that is|it is|(?:should|ought to|must|has to|have to|needs to|wants to)"
    r" (?:be|say|read)|now (?:called|named|reads|says)|becomes?|make (?:it|that|them)|call it|"
    r"instead of it)"
)
_LEADING = r"(?:(?:the|a|an|just|now|called|actually)\s+)*"


_NOT_SO = re.compile(
    r"(?i),?\s*\b(?:not|instead of|rather than|as opposed to)\s+(?P<old>[^,.;!?]+?)"
    r"(?= (?:in|on|at|please)\b|[,.;!?]\s|[,.;!?]?$)"
)


def beside_old(known: Known) -> str:
    """The new value as it stands right before the old one: "two hundred thirty instead of two ten".
    Empty where what was taken for it is one already, or where nothing stands there."""
    to, old = str(known.get("to") or ""), str(known.get("from") or "")
    if not old or written_like("1", to) or not written_like("1", old):
        return ""
    told = re.search(
        rf"(?i)(?:.*(?:[,.;:!?]\s|\b(?:to|be|is|at)\s))?(?P<new>[^,.;:!?]+?),?\s+"
        rf"(?:instead of|rather than|in place of|not)\s+(?:the )?{re.escape(old)}",
        str(known["said"]),
    )
    return written_like("1", re.sub(r"(?i)\s+now$", "", told["new"])) if told else ""


def said_apart(known: Known) -> tuple[str, str]:
    """The new value and the old one, as they were said: "four fifty not three fifty"."""
    to, old = str(known.get("to") or ""), str(known.get("from") or "")
    if both := _NOT_SO.search(to):
        return to[: both.start()].strip(), old or both["old"]
    told = _NOT_SO.search(str(known["said"]))
    return to, old or (told["old"] if told else "")


BY_BEFORE = re.compile(
    r"(?i)\b(?:double|twice|triple|(?<!and )(?<!and a )half|halve|by \w+|as much|as many)\b"
)


def by_so_much(known: Known) -> bool:
    words = re.escape(str(known.get("to") or "").strip())
    return re.search(rf"(?i)\bby (?:another )?{words}", str(known["said"])) is not None


_VERSION = re.compile(r"(?P<before>\W{0,2}v?)\d+(?:\.\d+)+(?:[-+.][\w.]+)?")


def understood(old: str, said: str) -> str:
    """The new value as it is written where the old one is, if it was understood as one of its kind:
    a number stays a number ("ninety or so" is 90), a version a version, a switch a switch. Empty
    where it was not; that is asked for, and never written."""
    plain = plain_value(old)
    if _SWITCH.fullmatch(plain):
        new = _switched(plain, said)
        return _like(old, new) if new else ""
    if NUMBER.fullmatch(plain) and not NUMBER.fullmatch(said):
        figures = numbers_in(said)
        if "." in plain and len(figures) > 1 and (dotted := _version(said, plain.count("."))):
            return _like(old, dotted)  # "three point twelve"
        return _like(old, f"{figures[0]}") if len(figures) == 1 and not unclear(said) else ""
    if NUMBER.fullmatch(plain):
        return _like(old, _with_decimals(plain, said))
    if measured := MEASURED.fullmatch(plain):
        many = _so_many(said, measured["unit"])
        return _like(old, f"{many}{measured['unit']}") if many else _if_measured(old, said)
    if (version := _VERSION.fullmatch(plain)) and not version["before"].strip("v"):
        if not re.fullmatch(r"v?\d+(?:\.\d+)*(?:[-+.]\w+)?", said):
            said = _version(said, plain.count("."))
        if not said:
            return ""
        return _like(old, version["before"] + said.removeprefix("v"))
    if tagged := _TAGGED.fullmatch(plain):
        new = _tagged(tagged, said)
        return _like(old, new) if new else ""
    if date := _day_of(plain, said):
        return _like(old, date)
    if _PORTS.fullmatch(plain) and (figures := numbers_in(said)):
        return _like(old, f"{figures[0]}:{plain.partition(':')[2]}") if len(figures) == 1 else ""
    if _COLOUR.fullmatch(plain) and not re.fullmatch(r"#?[0-9a-fA-F]{3,8}|[A-Za-z]+", said):
        return ""
    if " " not in plain and re.search(rf"(?i)\b(?:{'|'.join(m for m, _ in _MARKS)})\b", said):
        said = _marked(said)
    if re.search(r"\d", plain) and not re.search(r"\d", said):
        said = _in_figures(said)
    return "" if unclear(said) or not said else _like(old, said)


def _in_figures(said: str) -> str:
    """Numbers as figures, where what was there has figures: "ten to six" for 9 to 5."""
    words = said.split()
    for one in sorted(found([w.lower().strip(",.") for w in words]), key=lambda one: -one.start):
        figures = literal(" ".join(words[one.start : one.end]))
        if not one.ordinal and figures.isdigit():
            words[one.start : one.end] = [figures]
    return " ".join(words)


def _marked(said: str) -> str:
    """An address or a path that was dictated: "db dot internal"."""
    for word, mark in _MARKS:
        said = re.sub(rf"(?i)\s*\b{word}\b\s*", mark, said)
    return said


_MARKS = (("dot", "."), ("slash", "/"), ("at", "@"), ("dash", "-"), ("underscore", "_"),
          ("colon", ":"))  # fmt: skip


_PORTS = re.compile(r"\d+:\d+")
"""Outside and inside; who says one number means what they see from outside."""
_COLOUR = re.compile(r"#[0-9a-fA-F]{3,8}")


def typed(value: str) -> bool:
    """Whether a value is of a kind that not all words can be: a number, a measure, a version."""
    plain = plain_value(value)
    kinds = (NUMBER, MEASURED, _VERSION, _TAGGED, _SWITCH)
    return any(kind.fullmatch(plain) for kind in kinds)


def is_tagged(value: str) -> bool:
    return _TAGGED.fullmatch(plain_value(value)) is not None


def _with_decimals(old: str, new: str) -> str:
    """4.2 is 4.20 where it said 3.80: of money and the like."""
    decimals = len(old.partition(".")[2])
    return f"{float(new):.{decimals}f}" if decimals > len(new.partition(".")[2]) else new


_TAGGED = re.compile(
    r"(?:(?P<name>[A-Za-z][\w./-]*?)(?P<mark>:|@|[=~>]=?=?|-))?"
    r"(?P<before>[\^~v]?)(?P<version>\d+(?:\.\d+)*)(?P<rest>(?:-[A-Za-z][\w.]*)*)"
)
"""A name with a version, such as an image with its tag: it keeps its name."""
_TAG_WORDS = frozenset(
    re.findall(
        r"\w+",
        "latest stable lts edge nightly alpine slim bookworm bullseye buster main beta rc",
    )
)
_FILLING = frozenset(
    re.findall(
        r"\w+",
        "to the a version v tag still just only up now go goes at on image be please one colon and "
        "then",
    )
)


def _version(said: str, dots: int) -> str:
    """A version as it is written: "four point nineteen" is 4.19, and "two four zero" is 2.4.0 where
    the old one had three parts."""
    parts = [one.strip() for one in re.split(r"(?i)\s*\b(?:point|dot)\b\s*|\.", said.strip())]
    plain = [one if one.isdigit() else literal(one) for one in parts]
    if not all(re.fullmatch(r"\d+(?:\.\d+)?", one) for one in plain):
        return ""
    words = said.split()
    if len(plain) == 1 and dots and len(words) == dots + 1 and len(plain[0]) == dots + 1:
        return ".".join(plain[0])
    return ".".join(plain)


def _tagged(old: re.Match[str], said: str) -> str:
    """The same name with the version that was said: "node twenty slim" for node:18-slim."""
    written = _TAGGED.fullmatch(said.strip())
    if written and written["mark"] == old["mark"] and (written["name"] or old["name"] is None):
        return said.strip()
    words = [one.strip(".,;:!?").lower() for one in re.split(r"[\s:]+|(?<=[a-z\d])-", said)]
    own = {*pieces(old["name"] or ""), *_FILLING}
    figures = [at for at, word in enumerate(words) if word[:1].isdigit() or figures_only(word)]
    name = f"{old['name']}{old['mark']}" if old["name"] else ""
    if not figures:
        rest = [word for word in words if word and word not in own]
        return f"{name}{rest[0]}" if name and len(rest) == 1 and rest[0] in _TAG_WORDS else ""
    first, last = figures[0], figures[-1]
    version = _version(" ".join(words[first : last + 1]), old["version"].count("."))
    before = [word for word in words[:first] if word and word not in own]
    rest = [word for word in words[last + 1 :] if word and word not in own]
    if before or len(figures) != last - first + 1 or not re.fullmatch(r"\d+(?:\.\d+)*", version):
        return ""
    if not all(word in _TAG_WORDS or word in pieces(old["rest"]) for word in rest):
        return ""
    tail = "".join(f"-{word}" for word in rest) or old["rest"]
    return f"{name}{old['before']}{version}{tail}"


_UNITS = {
    "px": "px pixel pixels",
    "pt": "pt point points",
    "em": "em",
    "rem": "rem",
    "%": "% percent",
    "ms": "ms millisecond milliseconds",
    "s": "s sec secs second seconds",
    "m": "m min mins minute minutes",
    "min": "m min mins minute minutes",
    "h": "h hour hours",
    "d": "d day days",
    "kb": "kb kilobyte kilobytes",
    "mb": "mb meg megs megabyte megabytes",
    "gb": "gb gig gigs gigabyte gigabytes",
}
"""How what stands behind a number is said."""


MEASURED = re.compile(rf"-?\d[\d_]*(?:\.\d+)?(?P<unit> ?(?:{'|'.join(_UNITS)}))", re.IGNORECASE)


def _if_measured(old: str, said: str) -> str:
    """Another unit, where it is written with its number; else nobody knows what is meant."""
    written = re.sub(r"(?<=\d)\s+(?=[a-z%])", "", said.strip(), flags=re.IGNORECASE)
    return _like(old, written) if MEASURED.fullmatch(written) else ""


def _so_many(said: str, unit: str) -> str:
    """A number of the same unit, or of none: "eighteen pixels" where it says 14px. Empty where
    anything else is said with it."""
    words = re.findall(r"[^\W\d_]+|%|\d[\d.]*", said.lower())
    there = [one for one in found(words) if not one.ordinal]
    numbers = {at for one in there for at in range(one.start, one.end)}
    rest = [word for at, word in enumerate(words) if at not in numbers]
    named = _UNITS[unit.strip().lower()].split()
    return f"{there[0].value:g}" if len(there) == 1 and set(rest) <= {*named, "to"} else ""


_DATE = re.compile(
    r"(?P<day>\d{1,2})(?P<th>st|nd|rd|th)?(?P<between>(?: of)? )(?P<month>[A-Z][a-z]{2,})"
)


_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]


def _day_of(old: str, said: str) -> str:
    """A day as the one that is there is written: "the nineteenth" for 12 June is 19 June."""
    before = _DATE.search(old)
    words = re.findall(r"[a-z]+|\d+(?:st|nd|rd|th)?", said.lower())
    days = [int(one.value) for one in found(words) if one.ordinal or one.value == int(one.value)]
    if before is None or len(days) != 1 or not 0 < days[0] <= _LAST_DAY:
        return ""
    named = [one for one in _MONTHS if one.lower() in words]
    month = named[0] if named else before["month"]
    day = nth(days[0]) if before["th"] else f"{days[0]}"
    if len(before["month"]) == _SHORT_MONTH:
        month = month[:_SHORT_MONTH]
    return f"{old[: before.start()]}{day}{before['between']}{month}{old[before.end() :]}"


_LAST_DAY, _SHORT_MONTH = 31, 3


def unclear(said: str) -> bool:
    """Words of a number that make none."""
    return figures_only(said) and re.search(r"\d", said) is None


def _like(old: str, new: str) -> str:
    """In quotes where the old one is."""
    mark = old[:1]
    if mark in "\"'" and old.endswith(mark) and new[:1] != mark:
        return f"{mark}{new}{mark}"
    return new


_SWITCHES = (("true", "false"), ("yes", "no"), ("on", "off"), ("enabled", "disabled"))
_SWITCH = re.compile(r"(?i)true|false|yes|no|on|off|enabled|disabled")
_ON = re.compile(
    r"(?i)(?:be |set to |turned |switched |to )*(?:true|yes|on|enabled?|active|activated)\b"
)
_OFF = re.compile(
    r"(?i)(?:be |set to |turned |switched |to )*(?:false|no|off|disabled?|inactive|deactivated)\b"
)
_TURNED = re.compile(
    r"(?i)\b(?:turn|switch|flip|put|have|want|set)\w*\b[^.!?]*?\b(?P<how>on|off)\b"
    r"(?! (?:the|my|our)\b)"
    r"|\b(?P<enabled>enabl\w+|activat\w+)|\b(?P<disabled>disabl\w+|deactivat\w+)"
)


def turned(said: str) -> str:
    """What a switch becomes by what is done to it: "turn debug off", "disable it"."""
    told = _TURNED.search(said)
    if told is None:
        return ""
    return (told["how"] or ("on" if told["enabled"] else "off")).lower()


def _switched(old: str, new: str) -> str:
    """On is `true` where it was `false`, in the same letters; nothing where it is neither."""
    if not (_ON.match(new) or _OFF.match(new)):
        return ""
    words = next(pair for pair in _SWITCHES if old.lower() in pair)
    word = words[0] if _ON.match(new) else words[1]
    if old.isupper():
        return word.upper()
    return word.capitalize() if old[:1].isupper() else word


def cased_like(old: str, new: str) -> str:
    """A word at the beginning of a sentence stays one; a name keeps the way it is spelt."""
    if old[:1].isupper() and old[1:].islower() and new.islower() and " " not in new:
        return new.capitalize()
    return new


def fitting(name: str, value: str, known: Known) -> str:
    """What a value becomes, by all that was said of it: from what it is now ("double it"), or as it
    was named, in the form of the old one. Empty where that was not understood, or not said."""
    before, said = plain_value(value), str(known["said"])
    to = beside_old(known) or str(known.get("to_written") or known.get("to") or "")
    if _SWITCH.fullmatch(before):
        return understood(value, to) or understood(value, turned(said))
    if not to or BY_BEFORE.search(to) or by_so_much(known):
        return understood(value, becomes(said, before))
    return understood(value, _as_said(name, before, to, known))


def _as_said(name: str, before: str, to: str, known: Known) -> str:
    """The new value in the form in which it can be understood: an amount as the old one is
    written, a time in the setting's own unit, a measure or a tag in its own words."""
    said = said_apart(known)[0]
    if MEASURED.fullmatch(before) or (_TAGGED.fullmatch(before) and not NUMBER.fullmatch(before)):
        return to if _VERSION.fullmatch(before) else said or to
    cents = "." in before and not re.search(r"(?i)\b(?:point|dot)\b|[.]\d", said)
    priced = written_like(before, said)
    if priced and (cents or not NUMBER.fullmatch(to)):
        to = priced
    money = _MONEY.search(name)
    if money and NUMBER.fullmatch(before) and NUMBER.fullmatch(to) and "." not in f"{before}{to}":
        to = _in_cents(float(before), to, said)
    return (NUMBER.fullmatch(before) and in_seconds(said, name)) or to


_CENTS, _FAR = 100, 20
_MONEY = re.compile(r"(?i)price|cost|fare|fee|rate|wage|salary|amount|pay|charge|tariff")


def _in_cents(before: float, to: str, said: str) -> str:
    """ "Twenty nine fifty" is 29.50 where it was 28, and no hundred times as much."""
    value = float(to)
    plain = re.search(r"(?i)\b(?:hundred|thousand|million|k)\b|\d", said) or " " not in said
    near = before and value / before > _FAR and value / _CENTS < _FAR * before
    return f"{value / _CENTS:.2f}" if near and not plain and value % _CENTS else to


# --- A new name with its value

_PAIR_LINE = re.compile(
    r"^\s*(?P<before>export\s+)?(?P<name>[\w.-]+)(?P<mark>\s*=\s*|:\s+)(?P<value>\S.*)$"
)
_GIVEN = re.compile(
    r"(?i)\s*(?:,\s*)?(?:\bequals?(?: sign)?\b|\bcolon\b|\bset to\b|\bis\b|\bwith (?:the|a) value\b"
    r"(?: of)?|\bof\b|=|:(?=\s)|\bto\b)\s*(?:,\s*)?"
)
_HOW_WRITTEN = re.compile(
    r"(?i)[\s,]*\b(?:all |in )*(?:(?:upper|lower)[ -]?case|caps|capitals?(?: letters)?|"
    r"small letters|one word|no spaces?)\b[\s,]*"
)
_LEADS = re.compile(
    r"(?i)^\W*(?:(?:add|put|write|set|a|an|the|new|line|one|key|variable|setting|entry|called|for|"
    r"saying|please|in|and|with)\b\W*)*"
)


def new_pair(text: str, lines: Sequence[str], path: str, said: str) -> tuple[str, str, int] | None:
    """For a file of names and values: the name, the line and where it goes, as the others are
    written. None where the file is none, or no value was said."""
    own = [(at, one) for at, line in enumerate(lines) if (one := _PAIR_LINE.match(line))]
    filled = [line for line in lines if line.strip() and not re.match(r"\s*(?:[#;\[]|//)", line)]
    if not own or len(own) * 2 < len(filled) or path.endswith((".md", ".txt", ".rst")):
        return None
    given = _GIVEN.search(_HOW_WRITTEN.sub(" ", text))
    plain = _HOW_WRITTEN.sub(" ", text)
    if given is None or not plain[given.end() :].strip() or not plain[: given.start()].strip():
        return None
    at, model = _beside(own, lines, said)
    names = [one["name"] for _, one in own]
    name = _named_like(_LEADS.sub("", plain[: given.start()]), names)
    value = _valued_like(plain[given.end() :], [one["value"] for _, one in own], path)
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    line = f"{indent}{model['before'] or ''}{name}{model['mark']}{value}"
    return (name, line, at + 1) if name and value else None


def _beside(
    own: Sequence[tuple[int, re.Match[str]]], lines: Sequence[str], said: str
) -> tuple[int, re.Match[str]]:
    """The last line of the section that was named, or of all."""
    words, section = {stem(one) for one in telling(said)}, ""
    named = list[tuple[int, re.Match[str]]]()
    by_line = dict(own)
    for at, line in enumerate(lines):
        if head := re.match(r"\s*\[+\s*(?P<name>[^\]]+)\]", line):
            section = head["name"]
        if at in by_line and section and {stem(one) for one in pieces(section)} <= words:
            named.append((at, by_line[at]))
    return (named or list(own))[-1]


_SINGLE_LETTERS = re.compile(r"(?<![\w'’])(?:[A-Za-z] )+[A-Za-z](?![\w'’])")


def _named_like(words: str, names: Sequence[str]) -> str:
    """A name in the way of the others: PORT_NUMBER, port_number, port-number, portNumber."""
    words = _SINGLE_LETTERS.sub(lambda one: one[0].replace(" ", ""), words)
    parts = pieces(words)
    if re.fullmatch(r"[\w.-]+", words.strip()) and len(parts) > 1:
        return words.strip()
    if names and all(one.isupper() for one in names):
        return "_".join(parts).upper()
    if any("-" in one for one in names) and not any("_" in one for one in names):
        return "-".join(parts)
    if any(re.search(r"[a-z][A-Z]", one) for one in names):
        return parts[0] + "".join(one.capitalize() for one in parts[1:]) if parts else ""
    return "_".join(parts)


def _valued_like(words: str, values: Sequence[str], path: str) -> str:
    """A value as it is written: a dictated address with its dots, and in quotes where texts are."""
    value = literal(words.strip(" ,.;"))
    if re.search(r"(?i)\b(?:dot|slash|at|dash|underscore|colon)\b", value):
        value = _marked(value)
    plain = re.fullmatch(r"-?\d[\d.]*|true|false|\[.*\]|[\"'].*[\"']", value)
    quoted = path.endswith(".toml") or (values and all(one[:1] in "\"'" for one in values))
    return f'"{value}"' if quoted and not plain else value
