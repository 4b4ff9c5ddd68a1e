"""Where a file has its values: each with its name and with what it lies in. Pure.

A section in brackets, nesting by indentation or in braces, a selector, a target, a stage of a
build, a heading, the item of a list: whatever holds a value is a step of its path. Which of them
was meant is chosen by what was said against the name, the path and the file together; where several
are left nothing is chosen.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from vivavoce.brain.dialogue.flows.results import clipped
from vivavoce.language.en.naming import pieces, stem, telling
from vivavoce.language.en.numbers import numbers_in
from vivavoce.language.en.pointing import without_what_stays
from vivavoce.wire.values import Value

PAIR = re.compile(
    r"(?P<name>[\w.\-]+|\"[^\"]+\"|'[^']+'|\*\*[^*]+\*\*)[\"'`*\])]*\s*(?::(?!:)\s?\w*\s*=|:=|=>|[:=](?!=))\s*"
    r"(?P<value>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|[\[{(][^\n]*|#[0-9a-fA-F]{3,8}\b|[^\s,;)\]}#][^,;)\]}#\n]*)"
)
TAG = re.compile(r"<(?P<name>[A-Za-z][\w:-]*)(?:\s[^<>]*)?>(?P<value>[^<>]+)</(?P=name)>")


def plain_value(value: str) -> str:
    value = value.strip().rstrip(",;")
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    return clipped(value, 80)


def plain_name(name: str) -> str:
    """A name for the ear."""
    if name in _CALLED:
        return _CALLED[name]
    return " ".join(part if part.isdigit() else part.lower() for part in pieces(name)) or name


def plain_step(step: str) -> str:
    """What a value lies in, for the ear: a selector without its dots, a name without its marks."""
    return " ".join(re.sub(r"[^\w\s,/-]|_", " ", step).split())


_CALLED = {"h1": "heading", "h2": "heading", "h3": "heading", "p": "paragraph", "a": "link",
           "li": "item", "FROM": "image", "recipe": "command", "td": "cell"}  # fmt: skip


def piece(lines: Sequence[str], first: int, last: int) -> tuple[int, int]:
    """These lines (`last` is not among them) with as many around them as it takes to be there only
    once: first those before, then those after."""
    whole = "\n".join(lines)
    while True:
        text = "\n".join(lines[first:last])
        if text.strip() and whole.count(text) == 1:
            return first, last
        if first == 0 and last >= len(lines):
            return first, last
        first, last = (first - 1, last) if first else (first, last + 1)


class Place(Value):
    """A value, and where it stands: its line from 1, its letters there, the names around it."""

    line: int
    path: tuple[str, ...]
    name: str
    value: str
    start: int
    end: int
    nth: int = 0
    """Of those that have the same name in a file of orders: which."""

    @property
    def section(self) -> str:
        """The nearest thing that it lies in, by its name."""
        return self.path[-1] if self.path else ""


@dataclass
class _Block:
    """What values lie in, while the lines are read."""

    name: str
    indent: int
    how: str
    """By what it ends: a `head` by the next, a `brace`, or less `indent`."""
    mark: str = ""
    """A brace, or the dash of an item."""
    own: str = ""
    """What an item of a list is known by: the first thing that it says of itself."""
    holds: int = 0


_Found = tuple[int, tuple[_Block, ...], str, str, int, int]


def places_in(text: str, path: str) -> list[Place]:
    """All values of a file."""
    name, suffix = PurePosixPath(path).name.lower(), PurePosixPath(path).suffix.lower()
    lines = text.split("\n")
    if suffix in (".html", ".htm", ".xml", ".svg", ".vue", ".plist", ".xhtml"):
        return list(_elements(lines))
    if name.startswith(("dockerfile", "containerfile")) or suffix == ".dockerfile":
        return list(_orders(lines))
    found = list(_makes(lines) if _is_make(name) else _nested(lines, suffix))
    return [
        Place(at, tuple(_steps(blocks, value)), called, value, start, end)
        for at, blocks, called, value, start, end in found
    ]


def _is_make(name: str) -> bool:
    return name in ("makefile", "gnumakefile", "justfile") or name.endswith(".mk")


def _steps(blocks: Sequence[_Block], value: str) -> Iterator[str]:
    for at, block in enumerate(blocks, 1):
        # What an item is known by does not lie in itself.
        own = block.own if at < len(blocks) or block.own != value.strip("\"',") else ""
        if said := " ".join(one for one in (block.name, own) if one):
            yield said


# --- Nesting

_HEAD = re.compile(r"^\s*\[+\s*\"?(?P<name>[^\]=\"]+?)\"?\s*\]+\s*(?:[#;].*)?$")
_TITLE = re.compile(r"^(?P<deep>#{1,6})\s+(?P<name>.+?)\s*#*$")
_OPENS = re.compile(
    r"^\s*(?:-\s+)?[\"']?(?P<name>[\w./ $@-]+?)[\"']?\s*:\s*(?:[&!]\S+|[|>][-+]?)?\s*(?:#.*)?$"
)
_DEFINES = re.compile(r"^\s*(?:async\s+)?(?:def|class)\s+(?P<name>\w+).*:\s*$")
_ITEM = re.compile(r"^\s*-\s+")
_REMARK = re.compile(r"^\s*(?:#(?!\w+[^\S\n]*[{,])|;|//|--\s|/?\*)")
_STRING = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|(?<!\w)'(?:[^'\\\n]|\\.)*'")
_KEY = re.compile(r"(?P<name>[\w.$@-]+|\"[^\"]*\"|'[^']*')\s*(?::|=>?|:=)\s*$")
_LEAD = re.compile(r"^(?:(?:export|default|const|let|var|return|public|static|final)\s+)+")
_PROSE = (".md", ".txt", ".rst", "")
_TOLD = re.compile(
    r"^\s*(?:[-*+•]\s+)?(?:\*\*)?(?P<name>[A-Z][\w'’/-]*(?: [\w'’/()-]+){1,4})"
    r"(?:\*\*)?:(?:\*\*)?\s+"
    r"(?P<value>\S.*?)\s*$"
)
"""A name of several words with its value, as people write it."""
_PINNED = re.compile(
    r"^\s*(?P<name>[A-Za-z][\w.\[\]-]*)\s*(?:[=~>]=|===)\s*(?P<value>\d[\w.]*)\s*(?:[#;].*)?$"
)
"""A package with its version."""
_SPACED = re.compile(r"^\s*(?P<name>[A-Za-z][\w.-]*)[^\S\n]+(?P<value>[^\s=:{][^{}\n]*?)\s*;?\s*$")
_KNOWN_BY = frozenset(("name", "id", "title", "key", "label", "slug", "user", "username"))
_WITHOUT_HEADS = (".json", ".jsonc", ".md", ".py", ".js", ".ts", ".tsx", ".jsx", ".yaml", ".yml")


def _nested(lines: Sequence[str], suffix: str) -> Iterator[_Found]:
    stack, before = list[_Block](), ""
    for at, line in enumerate(lines, 1):
        if suffix == ".md" and (title := _TITLE.match(line)):
            deep = len(title["deep"])
            stack = [one for one in stack if one.how == "head" and one.indent < deep]
            yield (at, tuple(stack), "heading", title["name"], title.start(2), title.end(2))
            stack.append(_Block(title["name"], deep, "head"))
            continue
        if suffix not in _WITHOUT_HEADS and (head := _HEAD.match(line)):
            stack = [_Block(head["name"], -1, "head")]
            continue
        if not line.strip() or (suffix != ".md" and _REMARK.match(line)):
            continue
        if suffix in (".css", ".scss", ".less") and line.rstrip().endswith(","):
            before += line.strip() + " "
            continue
        _left(stack, line)
        if item := _ITEM.match(line):
            stack.append(_Block("", len(line) - len(line.lstrip()), "indent", "-"))
        if suffix in _PROSE and (told := _TOLD.match(line)):
            yield (at, tuple(stack), told["name"], told["value"], *told.span("value"))
            continue
        yield from _of_line(
            at, line, stack, before, item.end() if item else 0, yaml=suffix in (".yaml", ".yml")
        )
        before = ""
        if item and stack[-1].mark == "-" and not stack[-1].holds and suffix in (".yaml", ".yml"):
            yield from _listed(at, line, item.end(), stack[:-1])
        if pinned := _PINNED.match(line):
            yield (at, tuple(stack), pinned["name"], pinned["value"], *pinned.span("value"))
        if suffix == ".conf" and not PAIR.search(line) and (two := _SPACED.match(line)):
            yield (at, tuple(stack), two["name"], two["value"], two.start(2), two.end(2))
        if (opens := _OPENS.match(line) or _DEFINES.match(line)) and suffix not in (".json", ".md"):
            deep = item.end() if item else len(line) - len(line.lstrip())
            stack.append(_Block(opens["name"].strip(), deep, "indent"))


def _listed(at: int, line: str, start: int, stack: Sequence[_Block]) -> Iterator[_Found]:
    """An item that has no name of its own is called by its list."""
    value = line[start:].split(" #", maxsplit=1)[0].strip()
    if stack and stack[-1].name and value and value[-1] != ":":
        yield (at, tuple(stack[:-1]), stack[-1].name, value, start, start + len(value))


def pairs_in(line: str, first: int = 0) -> Iterator[re.Match[str]]:
    """Names with their values, none that only seems to be one inside of a value or a text."""
    rule = TAG if TAG.search(line) else PAIR
    texts = [one.span() for one in _STRING.finditer(line)]
    place = first
    while pair := rule.search(line, place):
        start, end = pair.span("name")
        place = end + 1
        if any(begin < start and end < until for begin, until in texts):
            continue
        if pair["value"][:1] not in "{[(":
            place = max(place, pair.end("value"))
        yield pair


def _left(stack: list[_Block], line: str) -> None:
    """What a line does not lie in any more, by how far it is indented."""
    deep, item = len(line) - len(line.lstrip()), _ITEM.match(line)
    if line.strip()[0] in "}])":
        return
    while stack and stack[-1].how == "indent":
        last = stack[-1]
        # A list may stand right under its name, no further in.
        same = item is not None and not last.mark and last.indent == deep
        if last.indent < deep or same:
            break
        stack.pop()


def _of_line(
    at: int, line: str, stack: list[_Block], before: str, first: int, *, yaml: bool
) -> Iterator[_Found]:
    """The values of one line, with the braces that open and close on it."""
    plain = _STRING.sub(lambda one: re.sub(r"[{}\[\]]", " ", one[0]), line)
    pairs = {pair.start("name"): pair for pair in pairs_in(line, first)}
    if yaml:  # `redis:6.2` is a text there
        pairs = {
            at: one
            for at, one in pairs.items()
            if not re.match(r"[\"']?:\S", line[one.end("name") :])
        }
    since = first
    for now, mark in enumerate(plain):
        if pair := pairs.get(now):
            yield from _leaf(at, pair, stack)
        if mark in "{[":
            stack.append(_Block(_opened(before + line[since:now]), 0, "brace", mark))
            since, before = now + 1, ""
        elif mark in "}]":
            while stack and stack[-1].how == "indent":
                stack.pop()
            if stack and stack[-1].how == "brace":
                stack.pop()
            since = now + 1
        elif mark == ";":
            since = now + 1


def _leaf(at: int, pair: re.Match[str], stack: Sequence[_Block]) -> Iterator[_Found]:
    name, value = pair["name"].strip("\"'*"), pair["value"].strip()
    start = pair.start("value")
    if value[:1] in "{[(":
        closed = re.match(r"\[[^\[\]{}]*\]", value)
        if not closed:
            return
        value = closed[0]
    if stack:
        block, plain = stack[-1], value.strip("\"',")
        listed = block.mark == "-" or (
            block.mark == "{" and [o.mark for o in stack[-2:-1]] == ["["]
        )
        known = name.lower() in _KNOWN_BY and (listed or block.how == "head")
        if known or (listed and not block.holds):
            block.own = plain
        block.holds += 1
    above = list(stack)
    if _DOTTED.fullmatch(name):  # `server.port`
        *outer, name = name.split(".")
        above += [_Block(one, 0, "dot") for one in outer]
    yield (at, tuple(above), name, value, start, start + len(value))


_DOTTED = re.compile(r"[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)+")


def _opened(text: str) -> str:
    """What a brace belongs to: a key before it, or all that stands there, such as a selector."""
    if key := _KEY.search(text):
        return key["name"].strip("\"'")
    if "=" in text or "(" in text:
        text = re.split(r"[=(]", text)[0]
    return " ".join(_LEAD.sub("", text.strip(" ,\t").replace('"', "")).split())


# --- Targets

_TARGET = re.compile(r"^(?P<name>[\w./%-]+(?:\s+[\w./%-]+)*)\s*:(?!=)[^=]*$")


def _makes(lines: Sequence[str]) -> Iterator[_Found]:
    """What a target does, line by line, and variables."""
    target: _Block | None = None
    for at, line in enumerate(lines, 1):
        if target and line[:1] in "\t " and line.strip():
            start = len(line) - len(line.lstrip("\t @-"))
            text = line[start:].rstrip()
            yield (at, (target,), "recipe", text, start, start + len(text))
        elif (head := _TARGET.match(line)) and not line.startswith("."):
            target = _Block(head["name"], 0, "head")
        elif line.strip():
            target = None
            if (pair := PAIR.match(line)) and not line.startswith("."):
                yield from _leaf(at, pair, ())


# --- Orders of a build

_ORDER = re.compile(r"^\s*(?P<name>[A-Z]{2,})\s+(?P<value>\S.*?)\s*$")
_STAGE = re.compile(r"(?i)^(?P<image>(?:--\S+\s+)*\S+)(?:\s+as\s+(?P<stage>\S+))?$")


def _orders(lines: Sequence[str]) -> Iterator[Place]:
    stage, times = "", dict[str, int]()
    for at, line in enumerate(lines, 1):
        order = _ORDER.match(line)
        if order is None:
            continue
        name, value, start = order["name"], order["value"], order.start("value")
        times[name] = times.get(name, 0) + 1
        if name == "FROM" and (image := _STAGE.match(value)):
            stage, value = image["stage"] or "", image["image"]
        path = (stage,) if stage else ()
        given = [*PAIR.finditer(value)] if name in ("ENV", "ARG", "LABEL") else []
        for pair in given:
            own = pair["value"].split()[0] if pair["value"][:1] not in "\"'" else pair["value"]
            begins = start + pair.start("value")
            yield Place(at, path, pair["name"].strip("\"'"), own, begins, begins + len(own))
        if not given:
            yield Place(at, path, name, value, start, start + len(value), times[name])


# --- Elements

_ELEMENT = re.compile(r"<(?P<close>/?)(?P<name>[A-Za-z][\w:-]*)(?P<more>[^<>]*?)(?P<end>/?)>")
_ATTRIBUTE = re.compile(r"(?P<name>[\w:@.-]+)\s*=\s*[\"'](?P<value>[^\"']*)[\"']")
_PLAIN = frozenset(["html", "head", "body", "main", "div", "span"])
"""Elements that tell nothing of what is in them."""
_VOID = frozenset(
    [
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "source",
        "track",
        "wbr",
    ]
)


def _elements(lines: Sequence[str]) -> Iterator[Place]:
    """The text of each element, and its attributes."""
    stack = list[tuple[str, str]]()
    for at, line in enumerate(lines, 1):
        tags = [*_ELEMENT.finditer(line)]
        for number, tag in enumerate(tags):
            name = tag["name"].lower()
            if tag["close"]:
                while stack and stack[-1][0] != name:
                    stack.pop()
                if stack:
                    stack.pop()
                continue
            path = tuple(said for _, said in stack if said not in _PLAIN)
            known = list(_ATTRIBUTE.finditer(tag["more"]))
            for one in known:
                start = tag.start("more") + one.start("value")
                yield Place(
                    at, (*path, name), one["name"], one["value"], start, start + len(one["value"])
                )
            if tag["end"] or name in _VOID:
                continue
            own = " ".join(one["value"] for one in known if one["name"] in ("id", "class", "name"))
            stack.append((name, f"{name} {own}".strip()))
            until = tags[number + 1].start() if number + 1 < len(tags) else len(line)
            text = line[tag.end() : until]
            if text.strip():
                start = tag.end() + len(text) - len(text.lstrip())
                yield Place(at, path, name, text.strip(), start, start + len(text.strip()))
        if not tags and stack and line.strip():
            start = len(line) - len(line.lstrip())
            path = tuple(said for _, said in stack[:-1] if said not in _PLAIN)
            yield Place(at, path, stack[-1][0], line.strip(), start, len(line.rstrip()))


# --- Which of them is meant

_ALSO: Mapping[str, str] = {
    "h1": "heading headline title header", "h2": "heading headline subheading subtitle header",
    "h3": "heading subheading", "h4": "heading subheading", "heading": "title headline header",
    "p": "paragraph text", "a": "link", "href": "address url target", "li": "item bullet",
    "img": "image picture", "nav": "navigation menu", "alt": "description text", "td": "cell",
    "th": "column", "btn": "button", "font-size": "text letter writing", "color": "colour",
    "background": "colour color", "background-color": "colour color", "font-family": "typeface",
    "from": "image base", "image": "version", "cmd": "command", "entrypoint": "command",
    "workdir": "folder directory", "expose": "port", "mb": "megabyte meg", "kb": "kilobyte",
    "gb": "gigabyte gig", "ms": "millisecond", "sec": "second", "secs": "second",
    "min": "minute minimum", "mins": "minute", "hrs": "hour", "km": "kilometre kilometer",
    "kg": "kilo kilogram", "qty": "quantity", "pct": "percent", "max": "maximum most",
    "temp": "temperature", "addr": "address", "pwd": "password", "msg": "message",
    "num": "number", "desc": "description", "lang": "language", "dir": "folder directory",
    "db": "database", "env": "environment", "dev": "development", "prod": "production live",
    "qa": "quality", "tel": "telephone phone", "bg": "background", "auth": "login",
    "conn": "connection", "cfg": "config", "api": "interface", "py": "python", "js": "javascript",
    "md": "markdown", "yml": "yaml", "colour": "color", "recipe": "target command",
    "deps": "dependency", "production": "prod live", "staging": "stage", "development": "dev",
}  # fmt: skip
"""What else people say for what is written so."""
_NTH = re.compile(
    r"(?i)\b(?P<nth>first|second|third|fourth|fifth|last)\s+(?:of the\s+)?(?P<kind>[\w-]+)"
)
_ORDER_OF = ("first", "second", "third", "fourth", "fifth")
_STEPS = {
    stem(one)
    for one in re.findall(
        r"\w+", "stage section block target service rule group script job resource bit page"
    )
}
"""What it may be said to lie in, whatever that is called."""
_COUNTING = {stem(word) for word in (*_ORDER_OF, "last")}
_ONLY = re.compile(
    r"(?i)\b(?:only|just)\s+(?:(?:for|in|on|of|at|the|my|our)\s+)*(?P<what>[\w' -]+)"
)
_NEAR, _ALIKE, _OWN, _OTHER, _AROUND, _BESIDE = 0.08, 0.3, 1.0, 0.7, 0.9, 0.5


class Chosen(Value):
    """All places that can be meant, one where it is clear; and a word that was said of it for which
    there is nothing here."""

    there: tuple[Place, ...] = ()
    lacking: str = ""
    sure: bool = True
    """All that was said of it is its own, or all of its name was said."""

    def label(self, place: Place) -> str:
        """What tells a place from the others: what it lies in and they do not."""
        shared = set.intersection(*(set(one.path) for one in self.there))
        own = [step for step in place.path if step not in shared] if len(self.there) > 1 else []
        return " ".join(own) or place.section

    def labels(self) -> list[str]:
        return [self.label(one) for one in self.there]


def chosen(
    every: Sequence[Place],
    what: str,
    said: str,
    path: str,
    *,
    of: str = "",
    last: str = "",
    to: str = "",
) -> Chosen:
    """The places that are meant by `what`. What they lie in may be said anywhere in the sentence
    (`said`), but not where it says what stays; `of` is an answer to the question which of several;
    `last` the name that was spoken of before, `to` the new value, whose words name nothing."""
    said = without_what_stays(said, to)
    names = {word for one in every for word in pieces(one.name)}
    words = _Said(what, _stems(path), names)
    rates = [words.rate(place) for place in every]
    named = [(rate, place) for rate, place in zip(rates, every, strict=True) if rate]
    if not named:
        return _by_section(every, what, said, path, of=of, last=last, to=to)
    best = max(rate for rate, _ in named)
    near = _ALIKE if _NTH.search(f"{of} {what}") else _NEAR  # the second heading may be a lower one
    group = [place for rate, place in named if rate > best - near]
    group, told = _in_section(group, (of, what), said, to)
    group = _nth_of(group, f"{of} {what}", said)
    lacking = "" if told or not any(one.path for one in group) else _unknown(words, group, said)
    return Chosen(tuple(group), lacking, all(words.sure(one) for one in group))


def _by_section(
    every: Sequence[Place], what: str, said: str, path: str, *, of: str, last: str, to: str
) -> Chosen:
    """Where only what it lies in was named: by the name that was spoken of before, by another word
    of the sentence, or because nothing else lies there."""
    every_step = {step for one in every for step in _steps_of(one)}
    asked = ({*_stems(what)} or {*_stems(of)}) - _COUNTING
    asked -= {one for one in asked & _STEPS if one not in every_step}
    if not asked and _NTH.search(what):  # "there are two froms … the second one"
        words = {stem(one) for one in pieces(said)}
        group = [one for one in every if stem(one.name) in words]
        return Chosen(
            tuple(_nth_of(group, what, said)) if len({o.name for o in group}) == 1 else ()
        )
    around = [(sum(_has(_steps_of(one), word) for word in asked), one) for one in every]
    most = max((hits for hits, _ in around), default=0)
    if last and (not asked or most == len(asked)):
        found = chosen(every, f"{what} {last}", said, path, of=of, to=to)
        if found.there:
            return found
    if not most or most < len(asked):
        return Chosen()
    group = [one for hits, one in around if hits == most]
    words = {stem(one) for one in pieces(said)} - asked - {*_stems(to)}
    rates = [sum(_has(_own_of(one), word) for word in words) for one in group]
    group = [one for one, rate in zip(group, rates, strict=True) if rate == max(rates)]
    group, _ = _in_section(group, (of,), said, to)
    return Chosen(tuple(_nth_of(group, f"{of} {what}", said)))


class _Said:
    """The words that were said for a name, against what a place is called."""

    def __init__(self, what: str, file: Sequence[str], names: Collection[str]) -> None:
        told = pieces(what)
        # "The second FROM": a small word, but here it is a name; and an order is none.
        small = [stem(word) for word in told if word in names]
        said = [word for word in _stems(what) if word not in _COUNTING or word in names]
        self.words, self.file = list(dict.fromkeys([*said, *small])), set(file)
        self.runs = {
            "".join(told[at:to]): {*map(stem, told[at:to])}
            for at in range(len(told))
            for to in range(at + 2, min(len(told), at + _RUN) + 1)
        }

    def by_name(self, place: Place) -> dict[str, float]:
        """Its words that the name has, and how well."""
        own = [stem(one) for one in pieces(place.name)]
        whole = {"".join(pieces(place.name)), *pieces(place.name)}
        run = set[str]().union(*(words for joined, words in self.runs.items() if joined in whole))
        rates = {word: _OWN for word in self.words if word in own or word in run}
        also = _also(place.name)
        for word in self.words:
            if word not in rates and any(close(word, one) for one in own):
                rates[word] = _OWN
            elif word not in rates and word in also:
                rates[word] = _OTHER - 0.02 * also.index(word)
        return rates

    def rate(self, place: Place) -> float:
        """How well a place is named: by its own name, and by what it lies in besides. Nothing where
        no word of its name was said."""
        own = self.by_name(place)
        if not own:
            return 0.0
        rest = [word for word in self.words if word not in own]
        around = [word for word in rest if _has(_steps_of(place), word)]
        beside = [
            w for w in rest if w not in around and (w in self.file or w in _stems(place.value))
        ]
        parts = [stem(one) for one in pieces(place.name)]
        unsaid = [p for p in parts if p not in own and not any(close(p, w) for w in self.words)]
        unsaid = [] if any(_level(place.name) or w in _also(place.name) for w in own) else unsaid
        hits = sum(own.values()) + _AROUND * len(around) + _BESIDE * len(beside)
        rate = hits / len(self.words) - 0.2 * len(unsaid) / max(1, len(parts))
        return max(rate - _level(place.name), 0.01)

    def sure(self, place: Place) -> bool:
        own, around = self.by_name(place), _steps_of(place) | {*_stems(place.value)} | self.file
        if all(word in own or _has(around, word) for word in self.words):
            return True
        parts = {stem(one) for one in pieces(place.name)}
        return all(any(part == w or close(part, w) for w in own) for part in parts) or bool(
            {*own} & {*_also(place.name)}
        )


_RUN = 4


def _stems(text: str) -> list[str]:
    return [stem(one) for one in telling(text)]


def _also(name: str) -> list[str]:
    whole = _ALSO.get(name.lower(), "").split()
    own = [*pieces(name), *re.findall(r"[a-z]+\d", name)]
    parts = [word for part in own for word in _ALSO.get(part, "").split()]
    return [stem(one) for one in (*whole, *parts)]


def _level(name: str) -> float:
    """The first heading comes before those below it."""
    deep = re.fullmatch(r"h([1-6])", name.lower())
    return 0.1 * (int(deep[1]) - 1) if deep else 0.0


def _own_of(place: Place) -> set[str]:
    return {*(stem(one) for one in pieces(place.name)), *_also(place.name)}


def _steps_of(place: Place) -> set[str]:
    steps = " ".join(place.path)
    return {*(stem(one) for one in pieces(steps)), *(w for s in place.path for w in _also(s))}


def _has(stems: set[str], word: str) -> bool:
    return word in stems or any(close(word, one) for one in stems)


def close(one: str, other: str) -> bool:
    return min(len(one), len(other)) >= 4 and (one.startswith(other) or other.startswith(one))


def _in_section(
    group: list[Place], first: Sequence[str], said: str, to: str
) -> tuple[list[Place], bool]:
    """Those that lie in what was named, and whether anything was: by the first of these texts that
    names some of them and not the others, and at last by the whole sentence."""
    steps = [_steps_of(one) for one in group]
    shared = set.intersection(*steps) if steps else set()
    value = {*_stems(to), *(f"{one}" for one in numbers_in(to))}
    only = [one["what"] for one in _ONLY.finditer(said)]
    names = {word for one in group for word in _own_of(one)}
    beside = [one for one in re.split(r"[,.;!?]\s+", said) if names & {*map(stem, pieces(one))}]
    for at, text in enumerate((*first, *only, *beside, said)):
        own = set() if at < len(first) else value
        words = {*map(stem, pieces(text)), *_numbered(text, steps)} - own
        hits = [sum(_has(step - shared, one) for one in words) for step in steps]
        most = max(hits, default=0)
        if most:
            return [one for one, hit in zip(group, hits, strict=True) if hit == most], True
        if shared & words and at < len(first):
            return group, True
    return group, False


def _numbered(text: str, steps: Sequence[set[str]]) -> set[str]:
    """Numbers by which something is called: of "shop one", and not of "the back one"."""
    figures = {f"{one}" for one in numbers_in(text)}
    before = {stem(one) for one in re.findall(r"(?i)(\w+)\s+one\b", text)}
    named = any(before & step for step in steps if "1" in step)
    return figures if named or re.search(r"\b1\b", text) else figures - {"1"}


def _nth_of(group: list[Place], what: str, said: str) -> list[Place]:
    """The second of them, where that was said."""
    if len(group) < 2:
        return group
    names = {word for one in group for word in _own_of(one)} | {"one", "stag", "stage", "line"}
    for text in (what, said):
        for told in _NTH.finditer(text):
            if stem(told["kind"]) in names or text == what:
                word = told["nth"].lower()
                at = -1 if word == "last" else _ORDER_OF.index(word)
                return [group[at]] if at < len(group) else []
    return group


_LED = (
    r"(?:\b(?:for|of|on|in|to|from|with|by|at|do|does|did|has|have)\s+"
    r"(?:(?:the|our|my|your|that|this)\s+)?)"
)


def _unknown(words: _Said, group: Sequence[Place], said: str) -> str:
    """A word that was said of it as its place or its owner, and that nothing of it is called."""
    known = [(words.by_name(one), _steps_of(one), {*_stems(one.value)}) for one in group]
    for word in re.findall(r"[\w'’-]+", said):
        plain = stem(re.sub(r"['’]s$", "", word))
        if plain not in words.words or plain in words.file:
            continue
        if any(plain in own or _has(steps, plain) or plain in value for own, steps, value in known):
            continue
        exact = re.escape(word)
        owner = re.search(rf"{_LED}{exact}\b", said, re.IGNORECASE) or word.endswith(("'s", "’s"))
        if owner or (re.search(rf"(?<=[a-z,] ){exact}\b", said) and word[:1].isupper()):
            return re.sub(r"['’]s$", "", word)
    return ""
