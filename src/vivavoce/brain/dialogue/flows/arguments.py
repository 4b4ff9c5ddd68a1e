"""How words become what a tool takes: patterns, paths, commands, sums, addresses.

A template in a flow names the way after a colon: `{what:spelt}`. A way gives all that could be
meant, the likeliest first; nothing means that something is missing.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any

from vivavoce.brain.dialogue.flows.results import ROWS, asked_about
from vivavoce.language.en import filenames, naming, reckoning, utterances
from vivavoce.language.en.dictation import dictated
from vivavoce.language.en.quantities import conversion, limit, over_column

Known = Mapping[str, Any]

_PART = re.compile(r"\{(?P<name>\w+)(?P<must>!)?(?::(?P<way>\w+))?\}")


class Missing(Exception):
    """Something that nobody said, and that the call needs."""

    def __init__(self, slot: str) -> None:
        self.slot = slot


def made(template: Any, known: Known) -> tuple[Any, ...]:
    """What an argument can be, the likeliest first; nothing where it is left out."""
    if not isinstance(template, str):
        return (template,)
    whole = _PART.fullmatch(template)
    if whole is None:
        texts = {one[0]: _values(one, known) for one in _PART.finditer(template)}
        if not all(texts.values()):
            return ()
        return (_PART.sub(lambda one: str(texts[one[0]][0]), template),)
    return _values(whole, known)


def _values(part: re.Match[str], known: Known) -> tuple[Any, ...]:
    name, way = part["name"], part["way"]
    slot = name.removesuffix("_path")
    given = known.get(name)
    if way is None:
        if given in (None, "") and part["must"]:
            raise Missing(slot)
        return () if given in (None, "") else (given,)
    made = WAYS[way](str(given or ""), known)
    if not made:
        raise Missing(slot)
    return made


def _spelt(text: str, known: Known) -> tuple[str, ...]:
    """In a file that was named a name may be there only in short: "the discount" as calcDisc."""
    short = naming.shortened(text) if known.get("where_path") else ()
    return (*naming.patterns(text), *short) if text else ()


def _distinctive(text: str, known: Known) -> tuple[str, ...]:
    """Where all of a phrase is nowhere: what of it is likeliest to be written so."""
    return tuple(naming.patterns(one)[0] for one in naming.distinctive(text)) or _spelt(text, known)


def _settings(text: str, known: Known) -> tuple[str, ...]:
    old = str(known.get("from_written") or "")
    wrong, _ = naming.misspelling(f"{text} {known.get('to') or ''}", str(known["said"]))
    if wrong:
        return (re.escape(wrong),)
    if naming.about_spelling(known["said"]):
        return (*naming.patterns(text)[:1], *naming.misspelt(f"{text} {known.get('to') or ''}"))
    made = naming.settings(text) if text else ()
    # "And prod?": what was asked for before, of that.
    made = (*made, *naming.settings(str(known.get("last") or "")))
    return (*made, *naming.patterns(old)[:3]) if old else made


_KINDS = {
    "test": r"^\s*(?:(?:async )?def test_|(?:it|test)\(|func Test|#\[test\])",
    "function": r"^\s*(?:export )?(?:async )?(?:def|function|func|fn) ",
    "method": r"^\s+(?:async )?(?:def|function|func|fn) ",
    "class": r"^\s*(?:export )?class ",
    "import": r"^\s*(?:import|from|use|require)\b",
    "line": r"^",
    "comment": r"^\s*(?:#|//)",
    "heading": r"^#{1,6} ",
    "section": r"^#{1,6} ",
}


def _counted(text: str, known: Known) -> tuple[str, ...]:
    """A kind of line that code has, or a text."""
    kind = _kind_counted(text)
    if kind:
        return (_KINDS[kind],)
    if not text:
        return ()
    (*_, last) = naming.telling(text) or [text]
    level = naming.stem(last)
    as_level = rf"\b{re.escape(level)}(?:ing|ed|e)?s?\b"
    if level in _LEVELS:
        return (as_level,)
    whole = naming.patterns(text)
    if str(known.get("where_path") or "").endswith(_TABLES):
        names = tuple(rf"\b{re.escape(one)}\b" for one in naming.proper(f"- {text}"))
        return (*whole, *names, ROWS)
    place = str(known.get("where_path") or "")
    words = [naming.stem(one) for one in naming.telling(text)]
    own = set(map(naming.stem, naming.pieces(place)))
    # In a file that was named one word of several may tell them apart: "bugs that are still open".
    parts = [rf"\b{one}" for one in reversed(words) if one not in own] if place else []
    # Without one, a name or the kind at its end: "customers who sit in Portugal", "smoke tests".
    named = () if place else tuple(rf"\b{re.escape(n)}\b" for n in naming.proper(f"- {text}"))
    return (
        *_items(text, place),
        *whole,
        *((as_level,) if len(words) == 1 else (*parts, *named)),
        *((_KINDS[last_kind],) if (last_kind := _kind_counted(last)) and not place else ()),
    )


_ITEM = re.compile(r"\b(?:items?|entries|entry|bullets?|points?|tasks?|to-?dos?|things)\b", re.I)
_BULLET = r"^\s*(?:[-*+•]|\d+[.)])\s+"


def _items(text: str, path: str) -> tuple[str, ...]:
    """Of a list in a file: all that is on it, or what is still open, or what is ticked off."""
    if not _ITEM.search(text) or PurePosixPath(path).suffix not in (".md", ".txt"):
        return ()
    if re.search(
        r"\b(?:open|left|unticked|unchecked|outstanding|undone|not done|to do)\b", text, re.I
    ):
        return (r"^\s*[-*+] \[ \]",)
    if re.search(r"\b(?:done|ticked|checked|finished|completed?|closed)\b", text, re.I):
        return (r"^\s*[-*+] \[[xX]\]",)
    return (_BULLET,) if not naming.telling(text) or _ITEM.fullmatch(naming.bare(text)) else ()


_TABLES = (".csv", ".tsv")
"""Of a table whatever it is about is counted by its rows."""
_LEVELS = frozenset(map(naming.stem, ("warning", "error", "info", "debug", "critical", "fatal")))
"""What lines of a log are marked with, in one form or another: WARN, WARNING."""


def _kind_counted(text: str) -> str:
    """The kind of line, where it is nothing but that: "unit tests", "lines", "lines of code"."""
    rest = {naming.stem(one) for one in naming.telling(text)}
    for word in naming.pieces(text):
        kind = next((k for k in _KINDS if naming.stem(k) == naming.stem(word)), "")
        beside = {naming.stem(one) for one in ("unit", "case", "cod", "code", kind, "file")}
        if kind and rest <= beside | {naming.stem(one) for one in naming.KINDS}:
            return kind
    return ""


_HOW_MANY = re.compile(
    r"(?i)\b(?:how many|number of|count(?: of)?|word)\W+(?:\w+\W+){0,2}?"
    r"(?P<unit>words?|characters?|letters|bytes)\b|\b(?P<one>word|character) count\b"
)


def _words(text: str, known: Known) -> tuple[str, ...]:
    """The program that counts words or letters, where they are asked for: "the journal takes sixty
    words, how many have I got"."""
    named = _HOW_MANY.search(text) or re.search(r"(?i)\b(?P<unit>words|characters)\b", text)
    if named is None:
        return ()
    unit = next(filter(None, named.groups())).lower()
    return ("wc -w" if unit.startswith("word") else "wc -c" if unit == "bytes" else "wc -m",)


def _tally(text: str, known: Known) -> tuple[str, ...]:
    return (f"{text} {shlex.quote(str(known['where_path']))}",)


def _kinds(text: str, known: Known) -> tuple[str, ...]:
    """Only in files of this kind, where one is named: "the python files"."""
    named = naming.kind_of_files(text)
    return (f"*.{named}",) if named else ()


def _word_count(text: str, known: Known) -> tuple[str, ...]:
    """The program that counts, where it is asked for by name."""
    if not re.search(r"\b(?:wc|w c)\b", str(known["said"]), re.IGNORECASE):
        return ()
    place = str(known.get("file_path") or "")
    kind = naming.kind_of_files(str(known["said"]))
    ends = tuple(f".{one}" for one in kind.strip("{}").split(",")) if kind else ("",)
    files = [f for f in known.get("files") or () if f.endswith(ends) and f.startswith(place)]
    return (f"wc -l {shlex.join(sorted(files)[:_MOST_FILES])}",) if files else ()


_MOST_FILES = 50


def _literal(text: str, known: Known) -> tuple[str, ...]:
    made = naming.literal(text)
    return (made,) if made else ()


_GIT_ORDER = re.compile(r"\bgit (init|fetch|pull|stash|gc|tag)\b")
"""Commands of git that say all that is needed, by their own names."""


_GIT_NAMED = re.compile(r"\b(?:git \w+|status|diff|log|branch(?:es)?|commit\w*)\b")


def _git(text: str, known: Known) -> tuple[str, ...]:
    said = f"{text} {known['said']}".lower()
    path = str(known.get("file_path") or "")
    of = f" -- {shlex.quote(path)}" if path else ""
    # Of two orders in one sentence each has its own words.
    own = text.lower()
    said = own if _GIT_NAMED.search(own) else said
    if named := _GIT_ORDER.search(said):
        return (f"git {named[1]}",)
    # Who did something, or when, is in the log of that file; what was done, in the last commits.
    last = re.search(r"\b(?:who|whose|when|how long ago|history)\b", said)
    if last or (
        re.search(r"\bcommit(?:s|ted)?\b|\blog\b", said)
        and not re.search(r"\buncommitted\b|n't committed|not committed|since the", said)
    ):
        return (f"git log -5{of}",)
    if re.search(r"\bbranch(?:es)?\b", said):
        every = re.search(r"\bbranches\b|\bother branch", said)
        return ("git branch" if every else "git branch --show-current",)
    if re.search(r"\bdiff(?:erences?)?\b", said) or of:
        return (f"git diff --stat{of}" if not of else f"git diff{of}",)
    return ("git status -sb",)


_PROGRAMS = frozenset(
    re.findall(
        r"\S+",
        "pytest ls pwd wc git make npm npx yarn pnpm node python python3 pip uv ruff mypy black "
        "isort flake8 cargo rustc go docker kubectl curl cat echo df du free date uname whoami env "
        "which ps uptime head tail sort grep rg find tree java mvn gradle tsc eslint prettier jest "
        "tox nox sqlite3 psql redis-cli bash sh hostname",
    )
)
_STARTERS = {".py": "python3", ".sh": "bash", ".js": "node", ".ts": "npx tsx", ".rb": "ruby"}
_JOBS = (
    (r"\b(?:lint(?:er|ing)?|ruff)\b", "ruff check ."),
    (r"\btype[ -]?check(?:er|ing|s)?\b|\bmypy\b", "mypy ."),
    (r"\b(?:build)\b", "make build"),
    (r"\bdisk (?:space|usage)\b|\bspace (?:is )?left\b", "df -h ."),
    (r"\bfree memory\b|\bmemory\b|\bram\b", "free -h"),
    (r"\bformatter\b", "ruff format ."),
)


def _program(text: str, known: Known) -> tuple[str, ...]:
    """A command as it was dictated, the one by which such a job is done, or a script that is there
    under that name."""
    if known.get("file") and (script := _started(str(known.get("file_path") or ""), known)):
        return script
    if counting := _word_count(text, known):
        return counting
    if picked := known.get("picked"):
        return (str(picked),)
    said = _command_words(text)
    first = said.split(" ", 1)[0].lower()
    if first in _PROGRAMS:
        return (said[: len(first)].lower() + said[len(first) :],)
    for sounds, line in _JOBS:
        if re.search(sounds, text or known["said"], re.IGNORECASE):
            return (line,)
    scripts = [f for f in known.get("files") or () if PurePosixPath(f).suffix in _STARTERS]
    path = naming.chosen(text, scripts).only if text else None
    return _started(path or str(known.get("file_path") or ""), known)


def _started(path: str, known: Known) -> tuple[str, ...]:
    """What starts this file, with what it is handed."""
    start = _STARTERS.get(PurePosixPath(path).suffix)
    given = naming.handed_to(path, str(known["said"])) if start else ()
    return (shlex.join([*start.split(), path, *given]),) if start else ()


def _command_words(text: str) -> str:
    said = dictated(text).strip().strip(".!?\"'`")
    said = re.sub(r"^(?:the )?(?:command|program)\s+", "", said, flags=re.IGNORECASE)
    said = re.sub(r"\b(?:dash|minus) (?:dash|minus) (?=\w)", "--", said, flags=re.IGNORECASE)
    said = re.sub(r"\b(?:dash|minus) (?=\w\b)", "-", said, flags=re.IGNORECASE)
    said = re.sub(r"\b(python|pip) (?:three|3)\b", r"\g<1>3", said, flags=re.IGNORECASE)
    return re.sub(r"\s+(?:for me|please|again|now)$", "", said, flags=re.IGNORECASE)


def _new_path(text: str, known: Known) -> tuple[str, ...]:
    """A name for a file that is not there yet."""
    if path := known.get("file_path"):
        return (str(path),)
    name = filenames.written(text, known.get("files") or ())
    plain = "." not in name.rpartition("/")[2] and name == name.lower()
    return (f"{name}.txt" if plain else name,) if name else ()


def _instruction(text: str, known: Known) -> tuple[str, ...]:
    """The work in the user's words: all of them, where only a part was taken for it."""
    said = str(known["said"]).strip()
    part = text.strip()
    most = 2 * len(part.split()) >= len(said.split())
    work = part if part and most else said
    return (work,) if len(work) > 2 else ()


def _globs(text: str, known: Known) -> tuple[str, ...]:
    ends = {PurePosixPath(one).suffix.lstrip(".").lower() for one in known.get("files") or ()}
    words = re.findall(r"[a-z0-9]+", text.lower())
    said = [one for one in words if one.removesuffix("s") in ends - {""}]
    by_ending = tuple(f"**/*.{one.removesuffix('s')}" for one in said)
    return (*by_ending, *naming.globs(text)) if text else ("**/*",)


_ZONES = {
    "london": "Europe/London", "new york": "America/New_York", "tokyo": "Asia/Tokyo",
    "paris": "Europe/Paris", "berlin": "Europe/Berlin", "sydney": "Australia/Sydney",
    "los angeles": "America/Los_Angeles", "san francisco": "America/Los_Angeles",
    "california": "America/Los_Angeles", "chicago": "America/Chicago", "delhi": "Asia/Kolkata",
    "india": "Asia/Kolkata", "mumbai": "Asia/Kolkata", "singapore": "Asia/Singapore",
    "hong kong": "Asia/Hong_Kong", "dubai": "Asia/Dubai", "toronto": "America/Toronto",
    "dublin": "Europe/Dublin", "madrid": "Europe/Madrid", "rome": "Europe/Rome",
    "amsterdam": "Europe/Amsterdam", "warsaw": "Europe/Warsaw", "lagos": "Africa/Lagos",
    "nairobi": "Africa/Nairobi", "beijing": "Asia/Shanghai", "shanghai": "Asia/Shanghai",
    "seoul": "Asia/Seoul", "moscow": "Europe/Moscow", "boston": "America/New_York",
    "seattle": "America/Los_Angeles", "denver": "America/Denver", "auckland": "Pacific/Auckland",
    "utc": "UTC", "germany": "Europe/Berlin", "japan": "Asia/Tokyo", "lisbon": "Europe/Lisbon",
}  # fmt: skip


def _zone(text: str, known: Known) -> tuple[str, ...]:
    low = f"{text}".lower()
    return tuple(zone for place, zone in _ZONES.items() if re.search(rf"\b{place}\b", low))[:1]


_AS_LINES = re.compile(r"(?i)\bhow (?:long|big)\b|\blength\b|\bline count\b")


def _as_file(text: str, known: Known) -> tuple[str, ...]:
    """A file in the place of what is counted in it: "how long is parser dot py, in lines"."""
    where = str(known.get("where") or "")
    swapped = bool(_kind_counted(where)) or (not where and _AS_LINES.search(str(known["said"])))
    return (text,) if swapped and re.search(r"\w\.\w", dictated(text)) else ()


def _as_kind(text: str, known: Known) -> tuple[str, ...]:
    return (_kind_counted(text) or "lines",) if known.get("named") else ()


def _named(text: str, known: Known) -> tuple[str, ...]:
    return (text,) if text else ()


def _single(make: Callable[[str], str]) -> Callable[[str, Mapping[str, Any]], tuple[str, ...]]:
    def way(text: str, known: Known) -> tuple[str, ...]:
        made = make(text) or make(str(known["said"]))
        return (made,) if made else ()

    return way


def _figures(text: str, known: Known) -> tuple[str, ...]:
    """Whether there is a sum in it, or at least what one could be made of."""
    said = str(known["said"])
    sums = _sum(text, known) or _story(text, known) or naming.sounds_like_sum(said)
    return ("figures",) if sums else ()


def _story(text: str, known: Known) -> tuple[str, ...]:
    """What somebody has to read who knows what is done with the numbers."""
    both = [one for one in (text, str(known["said"])) if one]
    before = tuple(map(str, known.get("numbers") or ()))
    if any(conversion(one) or naming.continued(one, before) for one in both):
        return ()
    if any(reckoning.plain(one) and naming.expression(one) for one in both):
        return ()
    told = next(filter(None, map(reckoning.story, reversed(both))), "")
    return (told,) if told else ()


def _sum(text: str, known: Known) -> tuple[str, ...]:
    """A sum that was said, or one that goes on from what came out before."""
    if reckoned := known.get("reckoned"):
        return (str(reckoned),)
    before = tuple(map(str, known.get("numbers") or ()))
    both = [one for one in dict.fromkeys((text, str(known["said"]))) if one]
    sums = [naming.expression(words) for words in both]
    going_on = [naming.continued(words, before) for words in both]
    # What was copied may be only a part of it: "… a month, what's that over a year".
    made = max(sums, key=len, default="") or max(going_on, key=len, default="")
    return (made,) if made else ()


def _defined(text: str, known: Known) -> tuple[str, ...]:
    """Where a function or a class of that name begins."""
    if not text:
        return ()
    place = str(known.get("where_path") or "")
    if place and any(naming.only_names(text, one) for one in (place, *known.get("files", ()))):
        return (_KINDS["function"], _KINDS["class"])
    begins = (
        r"\b(?:def|class|function|func|fn|const|let|var|struct|interface|type)\s+(?:\([^)]*\)\s*)?"
    )
    return tuple(rf"{begins}{one}" for one in naming.patterns(text)[:2])


def _listed(text: str, known: Known) -> tuple[str, ...]:
    """Lines that have any of the words that were said of an item."""
    said = [re.escape(naming.stem(word)) for word in naming.telling(text)]
    return (rf"\b(?:{'|'.join(dict.fromkeys(said))})",) if said else ()


_ANY_WORDS = 8


def _any_word(text: str, known: Known) -> tuple[str, ...]:
    """Lines that have any word of what was asked about, or what was meant as one name."""
    names = [str(known[slot]) for slot in ("what", "file", "about") if known.get(slot)]
    spelt = [naming.patterns(one)[0] for one in names if len(naming.telling(one)) < _ANY_WORDS]
    words = [rf"\b\w*{re.escape(one)}" for one in asked_about(text) if len(one) > 2]
    some = [*spelt, *words[:_ANY_WORDS]]
    return ("|".join(dict.fromkeys(some)),) if some else ()


def _quoted(text: str, known: Known) -> tuple[str, ...]:
    return (shlex.quote(text),) if text else ()


def _moved(text: str, known: Known) -> tuple[str, ...]:
    """Where a file goes: another name beside it, or a folder."""
    old = PurePosixPath(str(known.get("file_path") or ""))
    if folder := _folder_meant(text, known):
        return (shlex.quote(f"{folder}/{old.name}"),)
    name = filenames.written(text, known.get("files") or ())
    name += "" if "." in name.rpartition("/")[2] else old.suffix
    said = naming.bare(dictated(text))
    return (shlex.quote(name if "/" in name else str(old.parent / name)),) if said else ()


def _folder_meant(text: str, known: Known) -> str:
    """The folder that something goes to: one that is there, or a new one that is called so."""
    files = known.get("files") or ()
    made = str(known.get("last_folder") or "")  # "in there", of one just made
    if made and (naming.points_there(text) or PurePosixPath(made).name in naming.pieces(text)):
        return made
    new = filenames.folder(text)
    there = naming.chosen(text, files, folders=True).only or ""
    if there.endswith("/") and (not new or PurePosixPath(there).name == PurePosixPath(new).name):
        return there.rstrip("/")
    several = bool(known.get("file_paths"))
    name = new or (filenames.written(text, files) if several and "." not in dictated(text) else "")
    if not name or "/" in name:
        return name
    # Beside what is moved, where that is all in one folder.
    paths = [str(one) for one in known.get("file_paths") or [known.get("file_path") or ""]]
    above = {str(PurePosixPath(one).parent) for one in paths if one}
    inside = above.pop() if len(above) == 1 else "."
    return name if inside == "." else f"{inside}/{name}"


def _only_wrong(text: str, known: Known) -> tuple[dict[str, str], ...]:
    """Something is to be otherwise, and what is not said."""
    return ({},) if utterances.only_complains(text) or utterances.changes_unnamed(text) else ()


def _room(text: str, known: Known) -> tuple[str, ...]:
    """What makes the folder first, where it is not there."""
    folder = _folder_meant(text, known)
    there = any(str(one).startswith(f"{folder}/") for one in known.get("files") or ())
    return (f"mkdir -p -- {shlex.quote(folder)} && " if folder and not there else "",)


def _folder(text: str, known: Known) -> tuple[dict[str, str], ...]:
    """A folder, where a file seemed to be meant."""
    said = str(known["said"])
    name = (
        filenames.folder(said) if filenames.folder(text) or filenames.folder(said) in text else ""
    )
    return ({"folder": name, "file": filenames.folder_around(said)},) if name else ()


_STARTS = re.compile(
    r"(?i)\b(?:run|running|start|starting|execute|launch|command|script|program)\b"
)


def _asked_value(text: str, known: Known) -> tuple[dict[str, str], ...]:
    """ "Which version of the image is it on": nothing is run for that."""
    what = str(known.get("what") or "")
    asks = utterances.questions(text) and not _STARTS.search(text) and not known.get("file")
    return ({"what": what},) if asks and what and _of_setting(text) else ()


_OF_GIT = re.compile(
    r"(?i)\b(?:git|commit\w*|branch\w*|chang\w*|diff\w*|status|who|whose|when|push\w*|pull\w*|merg\w*|log|"
    r"histor\w*|stag\w*|stash\w*|tag\w*|repo\w*|edit\w*|touch\w*|version\w*|new|since|work\w*)\b"
)


def _of_a_file(text: str, known: Known) -> tuple[dict[str, str], ...]:
    """ "What's the last thing on it": of what a file says, and nothing of its history."""
    asks = utterances.questions(text) and not _OF_GIT.search(text)
    return ({"file": str(known.get("file") or ""), "about": text},) if asks else ()


def _of_setting(text: str) -> bool:
    return re.match(r"(?i)\W*(?:and |also |then |so )*(?:which|what|how many)\b", text) is not None


def _name_spelt(text: str, known: Known) -> tuple[str, ...]:
    """A name as a whole, however common its words are: `do_stuff`, `user_name`."""
    parts = naming.pieces(naming.name_said(text))
    close = "[_-]?".join(map(re.escape, parts))
    return (rf"\b{close}\b", *_spelt(text, known)) if parts else ()


def _new_folder(text: str, known: Known) -> tuple[str, ...]:
    inside = str(known.get("file_path") or "").rstrip("/")
    name = filenames.written(text, known.get("files") or ()) or text
    return (shlex.quote(f"{inside}/{name}" if inside else name),) if name else ()


_KINDS_OF_FILES = re.compile(
    r"\b(?:files?|scripts?|documents?|modules?|pictures?|images?)\b", re.IGNORECASE
)


def _files(text: str, known: Known) -> tuple[str, ...]:
    """Whether files are meant, and not what is in them."""
    return ("files",) if _KINDS_OF_FILES.search(text) and not _kind_counted(text) else ()


def _line(text: str, known: Known) -> tuple[str, ...]:
    return (f"{dictated(text).strip()}\n",) if text else ()


def _whole(text: str, known: Known) -> tuple[str, ...]:
    return (naming.whole(text, str(known["said"])),) if text else ()


def _tests(text: str, known: Known) -> tuple[str, ...]:
    """Whether it is the project's tests that are to be run."""
    only = set(map(naming.stem, naming.telling(text))) <= {"test", "unit", "suit", "run"}
    return ("tests",) if only and re.search(r"\btests?\b", text, re.IGNORECASE) else ()


_PRINTS = re.compile(
    r"\b(?:prints?|printing|outputs?|echo(?:es)?|puts|displays?|"
    r"says?)\s+(?:out\s+)?(?P<what>[^.!?]+)",
    re.IGNORECASE,
)
_PRINTED = {
    ".py": 'print("{}")\n',
    ".sh": '#!/bin/sh\necho "{}"\n',
    ".js": 'console.log("{}");\n',
    ".ts": 'console.log("{}");\n',
    ".rb": 'puts "{}"\n',
}
_PROSE = ("", ".txt", ".md", ".rst", ".csv", ".log")
_SAYING = re.compile(
    r"^(?:(?:that|which|it|just|simply|should|and|with|a|the|line|text|words?|content|contents|"
    r"says?|saying|containing|contains?|reads?|reading)\s+)+|\s+in(?:side)? it$",
    re.IGNORECASE,
)


_LISTED = r"(?:bullets?|bullet points?|items?|points?|lines|entries|tasks|list)"
_SEVERAL = re.compile(
    rf"(?i)\b{_LISTED}\b|\b(?:one|each|all) (?:on|in) (?:each|every|its own|a|their own|"
    rf"separate) lines?\b|"
    r"\b(?:one|a line) (?:per line|each)\b"
)
_LEAVES_OUT = re.compile(
    r"(?i)\b(?:leav\w+ out|ignor(?:es|ing)|exclud\w+|skip\w*|keep\w* out|with|listing|"
    r"containing|"
    r"saying)\s+(?P<what>[^.!?]*(?:\.\w[^.!?]*)*)"
)


def _ignored(text: str, said: str) -> str:
    """What an ignore file leaves out, one a line, each as it is written."""
    told = _LEAVES_OUT.search(said)
    whole = told["what"] if told else text
    whole = re.sub(r"(?i)\s+(?:in(?:side)? (?:it|there)|please)$", "", whole.strip(" ."))
    made = list[str]()
    for one in re.split(r",\s*(?:and\s+)?|\s+and\s+", whole):
        name = filenames.joined(re.sub(r"(?i)^(?:the|all|any|my|our|both)\s+", "", one.strip()))
        folder = re.sub(r"(?i)\s+(?:folder|directory)s?$", "", name)
        plain = re.sub(r"(?i)\s+(?:files?|stuff)$", "", folder)
        if plain.strip():
            made.append("_".join(plain.split()) + ("/" if folder != name else ""))
    return "".join(f"{one}\n" for one in made)


_HEADED = re.compile(rf"(?i)^(?:\w+ )?{_LISTED}\W*(?:of|with)?\s*")


def _bullets(text: str, suffix: str, said: str) -> str:
    """What is said to be a list, one thing a line: "three bullets, fix login, write tests"."""
    if not _SEVERAL.search(said):
        return ""
    parts = [one.strip(" .") for one in re.split(r",\s*(?:and\s+)?|;\s*|\s+and\s+", text)]
    parts = [_SAYING.sub("", one).strip() for one in parts if one]
    first = _HEADED.sub("", parts[0]) if parts else ""
    parts = [one for one in [first, *parts[1:]] if one]
    mark = "- " if suffix in (".md", ".rst") or re.search(r"(?i)\bbullet", said) else ""
    return "".join(f"{mark}{one}\n" for one in parts) if len(parts) > 1 else ""


def _to_the_end(text: str, said: str) -> str:
    """An enumeration with its last: "milk, eggs" of "milk, eggs, flour" is all of it."""
    at = said.casefold().find(text.casefold())
    rest = re.match(r",\s*[^,.;:!?]+(?=[.!?]*\s*$)", said[at + len(text) :]) if at >= 0 else None
    return f"{text}{rest[0]}" if rest and "," in text else text


def _text(text: str, known: Known) -> tuple[str, ...]:
    """What a new file says, where it was said: words, or a program that only prints some. Nothing
    where somebody has to think of it."""
    suffix = PurePosixPath((_new_path(str(known.get("file") or ""), known) or ("",))[0]).suffix
    text = _to_the_end(text, str(known["said"]))
    if (_new_path(str(known.get("file") or ""), known) or ("",))[0].endswith("ignore"):
        listed = _ignored(text, str(known["said"]))
        return (listed,) if listed else ()
    if suffix in _PROSE and (items := _bullets(text, suffix, str(known["said"]))):
        return (items,)
    if suffix in _PROSE:
        said = _SAYING.sub("", text.strip()).strip()
        return (f"{naming.literal(said)}\n",) if said else ()
    prints = _PRINTS.search(text) or _PRINTS.search(str(known["said"]))
    if prints is None or suffix not in _PRINTED:
        return ()
    said = re.sub(r'["\\$`]', "", prints["what"]).strip().strip(",;:'")
    return (_PRINTED[suffix].format(said),) if said else ()


# --- What is wished for by how it sounds, with its slots


def _column(text: str, known: Known) -> tuple[dict[str, str], ...]:
    """Something over all the numbers of a table."""
    table = str(known.get("last_file") or "").endswith(_TABLES)
    asked = over_column(text, table=table and _POINTING.search(text) is not None)
    return ({"what": asked.what},) if asked else ()


def _units(text: str, known: Known) -> tuple[dict[str, str], ...]:
    return ({"sum": text},) if conversion(text) else ()


_POINTING = re.compile(r"(?i)\b(?:it|that|them|those|these|there|which one|who)\b")
_OF_THOSE = re.compile(
    r"(?i)^\W*(?:(?:and|so|ok|okay|right|hm+|oh|well)\W+)*(?:which|what|any|are any|is any|"
    r"do any|does any)"
    r"(?: (?:one|ones))? (?:of|among|out of) (?:those|these|them)\b(?P<about>.*)"
    r"|^\W*(?:(?:and|so|ok|okay|right)\W+)*which ones? (?P<one>.*)"
)


def _of_those(text: str, known: Known) -> tuple[dict[str, str], ...]:
    """ "Which of those needs a login?", of what was read before."""
    asked = _OF_THOSE.search(text) if known.get("last_file") else None
    about = (asked["about"] or asked["one"] or "").strip(" ?.!") if asked else ""
    return ({"file": "it", "about": about},) if about else ()


_ASKS_WHICH = re.compile(
    r"(?i)\b(?:how many|count|number of|which|who|whose|what|list|show me|any(?:one|body)?)\b"
)


def _bounded(text: str, known: Known) -> tuple[dict[str, str], ...]:
    """Rows with a number over or under one that is said: "how many are over fifty"."""
    asks = _ASKS_WHICH.search(text) and not re.search(
        r"(?i)\blines?\b|\bfiles\b|\bdo i owe\b", text
    )
    return ({"what": text, "file": ""},) if asks and limit(text) else ()


def _compared(text: str, known: Known) -> tuple[dict[str, str], ...]:
    two = filenames.compared(text)
    return ({"file": two[0], "other": two[1]},) if two else ()


WAYS: Mapping[str, Callable[[str, Mapping[str, Any]], tuple[Any, ...]]] = {
    "spelt": _spelt,
    "setting": _settings,
    "counted": _counted,
    "literal": _literal,
    "glob": _globs,
    "git": _git,
    "program": _program,
    "new": _new_path,
    "instruction": _instruction,
    "zone": _zone,
    "sum": _sum,
    "kinds": _kinds,
    "words": _words,
    "tally": _tally,
    "distinctive": _distinctive,
    "column": _column,
    "units": _units,
    "of_those": _of_those,
    "bounded": _bounded,
    "folder": _folder,
    "other_work": lambda text, known: ({},) if utterances.of_other_work(text) else (),
    "only_wrong": _only_wrong,
    "asked_value": _asked_value,
    "of_a_file": _of_a_file,
    "name_spelt": _name_spelt,
    "new_folder": _new_folder,
    "room": _room,
    "folder_path": lambda text, known: (shlex.quote(_folder_meant(text, known)),),
    # `mv -n` leaves what would be written over, and says nothing.
    "all_gone": lambda text, known: (
        " && ".join(f"[ ! -e {shlex.quote(str(one))} ]" for one in known["file_paths"]),
    ),
    "each_quoted": lambda text, known: (shlex.join(map(str, known["file_paths"])),),
    "compared": _compared,
    "figures": _figures,
    "story": _story,
    "as_file": _as_file,
    "as_kind": _as_kind,
    "named": _named,
    "written": lambda text, known: (text,) if re.search(r"\w\.\w", dictated(text)) else (),
    "defined": _defined,
    "listed": _listed,
    "any_word": _any_word,
    "url": _single(naming.address),
    "quoted": _quoted,
    "moved": _moved,
    "files": _files,
    "line": _line,
    "content": lambda text, known: (naming.dictated_part(text),) if text else (),
    "text": _text,
    "whole": _whole,
    "tests": _tests,
    "true": lambda text, known: (True,),
}
"""How words become an argument: by the name that a template gives after the colon."""
