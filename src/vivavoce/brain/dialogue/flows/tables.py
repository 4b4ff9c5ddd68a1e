"""Tables, in files of their own or in a text: their cells, their rows, their columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any

from vivavoce.brain.dialogue.flows.results import (
    CUT,
    FEW,
    Known,
    counted,
    joined,
    prose,
    spoken_path,
)
from vivavoce.brain.dialogue.flows.structure import piece, plain_name
from vivavoce.brain.dialogue.flows.written import (
    BY_BEFORE,
    by_so_much,
    said_apart,
    said_to_become,
)
from vivavoce.language.en.naming import bare, becomes, literal, pieces, stem, telling
from vivavoce.language.en.numbers import numbers_in
from vivavoce.language.en.pointing import without_what_stays
from vivavoce.language.en.quantities import (
    Limit,
    limit,
    over_column,
    rate_between,
    with_alike,
    written_like,
)
from vivavoce.wire.values import Value

TABLES = (".csv", ".tsv")
_ROW = re.compile(r"\s*\|.*\|\s*")
_RULE = re.compile(r":?-+:?")
BULLET = re.compile(r"\s*(?:[-*+•]\s+(?:\[[ xX]\]\s+)?|\d+[.)]\s+)")


def is_row(line: str) -> bool:
    """Of a table in a text."""
    return _ROW.fullmatch(line) is not None and line.count("|") > 2


def plain_item(line: str) -> str:
    return prose(BULLET.sub("", line))


def path_of(known: Known) -> str:
    return str(known.get("within_path") or known.get("file_path") or "")


def table_in(lines: Sequence[str], path: str, said: str) -> tuple[int, list[int]]:
    """The line with the names of the columns, and those of the rows. Of several tables in a text
    the one whose columns or rows were spoken of."""
    if path.endswith(TABLES):
        there = [at for at, line in enumerate(lines) if line.strip()]
        return (there[0], there[1:]) if there else (0, [])
    found, run = list[list[int]](), list[int]()
    for at, line in enumerate((*lines, "")):
        if is_row(line):
            run.append(at)
        elif run:
            found, run = [*found, run], []
    words = {*map(stem, pieces(said))}
    rates = [len(words & {*map(stem, pieces(" ".join(lines[a] for a in one)))}) for one in found]
    if not found:
        return 0, []
    best = found[rates.index(max(rates))]
    rows = [a for a in best[1:] if not all(_RULE.fullmatch(c.text) for c in cells(lines[a], path))]
    return best[0], rows


class Cell(Value):
    """Of a table: where its text is on its line."""

    text: str
    start: int
    end: int


def cells(line: str, path: str) -> list[Cell]:
    if is_row(line):
        texts = re.finditer(r"(?<=\|)\s*(?P<text>[^|]*?)\s*(?=\|)", line)
        return [Cell(one["text"], *one.span("text")) for one in texts]
    between = "\t" if path.endswith(".tsv") else ","
    rule = re.compile(rf'\s*(?:"(?P<quoted>[^"]*)"|(?P<plain>[^{between}]*))(?:{between}|$)')
    found, at = list[Cell](), 0
    while at <= len(line) and (one := rule.match(line, at)):
        name = "quoted" if one["quoted"] is not None else "plain"
        text = one[name].rstrip()
        found.append(Cell(text, one.start(name), one.start(name) + len(text)))
        if one.end() == len(line) and not one[0].endswith(between):
            break
        at = one.end()
    return found


_FIGURES = re.compile(r"[^\w-]*-?\d[\d,_]*(?:\.\d+)?\s*[^\w]*")


def table_cell(lines: Sequence[str], known: Known) -> Mapping[str, Any] | None:
    """The cell that is meant, by its row and its column or what is in it, and what it becomes. None
    where it could be several. What a row is known by is never written over by a value."""
    path, to = path_of(known), str(known.get("to") or "")
    said = without_what_stays(str(known["said"]), to)
    what, (to, old) = str(known.get("what") or ""), said_apart(known)
    first, those = table_in(lines, path, said)
    rows = {at: cells(lines[at], path) for at in those}
    head = [set(map(stem, pieces(cell.text))) for cell in cells(lines[first], path)]
    asked = {*map(stem, telling(what)), *(f"{one}" for one in numbers_in(what))}
    if written_like("1.00", what):  # the new value was copied for what it is of
        to = what if not to or to == old else to
        own = {*map(stem, pieces(f"{what} {to} {old} {path}"))}
        asked = {*map(stem, telling(said))} - own
    around = with_alike(asked | set(map(stem, pieces(said))))
    rates: dict[int, float] = {
        at: len(asked & {stem(part) for cell in row for part in pieces(cell.text)})
        for at, row in rows.items()
    }
    best = max(rates.values(), default=0)
    if list(rates.values()).count(best) > 1:  # the row is named elsewhere in the sentence
        other = {*map(stem, pieces(said))} - {word for own in head for word in own}
        other -= {*map(stem, pieces(f"{to} {old}"))}
        rates = {
            at: rate + 0.1 * len(other & {*map(stem, pieces(" ".join(c.text for c in rows[at])))})
            for at, rate in rates.items()
        }
        best = max(rates.values(), default=0)
    spots = [
        (at, column)
        for at, rate in rates.items()
        if best and rate == best
        for column, cell in enumerate(rows[at])
        if old and (cell.text.lower() == old.lower() or written_like(cell.text, old) == cell.text)
    ]
    if not spots:
        at = next((at for at, rate in rates.items() if best and rate == best), -1)
        if at < 0 or list(rates.values()).count(best) > 1:
            return None
        spots = [(at, column) for column in _columns(rows[at], head, asked, around, to)]
    if len(spots) != 1:
        return None
    at, column = spots[0]
    cell = rows[at][column]
    if _FIGURES.fullmatch(cell.text):
        by_before = not to or bool(BY_BEFORE.search(to)) or by_so_much(known)
        new = becomes(said, cell.text) if by_before else written_like(cell.text, to)
    else:
        new = bare(to) if _becomes_that(cell.text, what, to, said) else ""
    if not new:
        return {"ask": "to"} if not to else None
    line = lines[at][: cell.start] + new + lines[at][cell.end :]
    begins, ends = piece(lines, at, at + 1)
    now = [*lines[begins:at], line, *lines[at + 1 : ends]]
    edit = {"old": "\n".join(lines[begins:ends]), "new": "\n".join(now), "to_written": new}
    return {"path": path, **edit, "before": cell.text, "name": cell.text}


def _becomes_that(text: str, what: str, to: str, said: str) -> bool:
    """Whether a text in a table is to be another: where it is what a row is known by, only if that
    was said of it ("change Ana to Anna"), or it is nearly the same."""
    own = set(map(stem, pieces(text)))
    if not own & set(map(stem, telling(what))):
        return True
    if SequenceMatcher(None, text.lower(), bare(to).lower()).ratio() > _NEARLY_SAME:
        return True
    return said_to_become(what, to, said)


_NEARLY_SAME = 0.6


def _columns(
    row: Sequence[Cell], head: Sequence[set[str]], asked: set[str], around: set[str], to: str
) -> list[int]:
    """Which columns of a row a new value can go to, the key not among them for a number."""
    there = range(min(len(row), len(head)))
    named = [at for at in there if head[at] & with_alike(asked)] or [
        at for at in there if head[at] & around
    ]
    if len(named) > 1:  # what the row is known by was named for that
        named = [at for at in named if not {*map(stem, pieces(row[at].text))} & asked] or named
    if len(named) == 1:
        return named
    if any(written_like(cell.text, to) for cell in row if _FIGURES.fullmatch(cell.text)):
        return [at for at in named or there if _FIGURES.fullmatch(row[at].text)]
    own = [at for at in there if {*map(stem, pieces(row[at].text))} & asked]
    amount = bool(written_like("1.00", to))
    return [at for at in there if at not in own] if amount or len(row) == 2 else own


def rows_in(text: str, path: str) -> tuple[list[str], list[list[str]]]:
    """The names of the columns and the rows of a table; of a list what each line ends with."""
    lines = [line for line in text.split("\n") if line.strip()]
    if path.endswith(TABLES):
        table = [[cell.text for cell in cells(line, path)] for line in lines]
    elif piped := [line for line in lines if line.count("|") > 1]:
        table = [[one.strip() for one in line.strip().strip("|").split("|")] for line in piped]
        table = [row for row in table if not all(_RULE.fullmatch(one) for one in row)]
    else:
        ends = [
            re.match(r"(.*?\w)\W+?(\S*\d\S*)\s*(?:h|hrs?|hours?)?$", plain_item(line))
            for line in lines
        ]
        return ["", "amount"], [[one[1], one[2].rstrip(".")] for one in ends if one]
    if table and not any(_amount(cell) is not None for cell in table[0]):
        return table[0], table[1:]
    return [], table


def _of_rows(
    rows: list[list[str]], numeric: Sequence[int], words: set[str]
) -> tuple[list[list[str]], str]:
    """Only those that are named, where some are: "the hours for Anna"."""
    texts = [[cell for at, cell in enumerate(row) if at not in numeric] for row in rows]
    keys = [{tuple(map(stem, pieces(cell))) for cell in text if cell} for text in texts]
    meant = [i for i, row in enumerate(keys) if any(key and set(key) <= words for key in row)]
    if not meant:  # "how many mugs", where they are red and blue
        meant = [i for i, row in enumerate(keys) if any(words & set(key) for key in row)]
    if not meant or len(meant) == len(rows):
        return rows, ""
    names = dict.fromkeys(c for i in meant for c in texts[i] if {*map(stem, pieces(c))} & words)
    return [rows[i] for i in meant], f" of {joined(list(names)[:FEW])}"


# --- Over a column


def column(output: str, known: Known) -> Mapping[str, Any] | None:
    """What the numbers of a column come to, on average or at most, of the rows that are meant."""
    path, said = str(known.get("file_path") or ""), str(known["said"])
    asked = over_column(said, table=True)
    head, rows = rows_in(CUT.sub("", output), path)
    if asked is None or not rows or CUT.search(output):
        return None
    width = min(map(len, rows))
    numeric = [at for at in range(width) if all(_amount(row[at]) is not None for row in rows)]
    stems = [set(map(stem, pieces(name))) for name in head]
    words = with_alike(set(map(stem, pieces(said))))
    named = [at for at in numeric if at < len(stems) and stems[at] & words]
    if not named and re.search(r"(?i)\bhow many\b", said):
        return None  # nothing there says how many
    picked = named or (numeric if len(numeric) == 1 else _likeliest(numeric, stems))
    if len(picked) != 1:
        return None
    at = picked[0]
    own = {w for one in stems for w in one} | {*map(stem, pieces(path))}
    rows, of = _of_rows(rows, numeric, {*map(stem, telling(said))} - own)
    values = [_amount(row[at]) or 0.0 for row in rows]
    name = plain_name(head[at]) if at < len(head) and head[at] else "numbers"
    what, place = f"{name}{of}", spoken_path(path)
    if asked.work in ("sum", "average"):
        total = sum(values) / (len(values) if asked.work == "average" else 1)
        result = f"{total:,.2f}".rstrip("0").rstrip(".")
        how = "in all" if asked.work == "sum" else "on average"
        told = f"{result} {how}: the {what} in {counted(len(values), 'row')} of {place}."
        return {"told": told, "path": path, "number": f"{round(total, 6):.12g}"}
    end = max(values) if asked.work == "largest" else min(values)
    most = [row for row, value in zip(rows, values, strict=True) if value == end]
    keys = [" ".join(cell for i, cell in enumerate(row) if i not in numeric) for row in most]
    who = joined([key for key in keys[:FEW] if key]) or place
    told = f"{who}, with {most[0][at]}: the {asked.work} of the {what} in {place}."
    return {"told": told, "path": path, "number": f"{end:.12g}"}


_NEGATED = re.compile(r"(?i)\b(?:not|never|without|no)\b|n['’]?t\b|\bstill (?:have|need|to|owe)\b")
_TRUE = {"yes": True, "y": True, "true": True, "x": True, "1": True, "done": True}
_TRUTH = _TRUE | {"no": False, "n": False, "false": False, "": False, "0": False, "-": False}


_ANSWERED = re.compile(
    r"(?i)\b(?:said|say|says|saying|answered|answers?|replied|replies|put|marked|with|a|it says)\s+"
    r"[\"'“]?(?P<answer>yes|no|maybe)\b(?! (?:one|more|idea|way))"
)
"""What people were asked, and what stands in a table for it."""
_OF_YEARS = range(1500, 2200)


def _bounded(
    head: Sequence[str], columns: Mapping[int, Sequence[str]], bound: Limit, said: str, path: str
) -> tuple[int, list[bool]]:
    """Of each row whether its number is within the bound, and of which column. Nothing where it is
    not clear which column is meant."""
    amounts = {at: [*map(_amount_or_year, cells_)] for at, cells_ in columns.items()}
    numeric = [at for at, own in amounts.items() if own and None not in own]
    # What a table is called is no column: "fewer than five of in the prices".
    words = with_alike({*map(stem, pieces(said))} - {*map(stem, pieces(path))})
    named = [at for at in numeric if {*map(stem, pieces(head[at]))} & words]
    by_unit = {
        at: rate
        for at in numeric
        for part in pieces(head[at])
        if (rate := rate_between(bound.unit, part)) is not None
    }
    if len(named) > 1:  # "in stock, and under five pounds"
        named = [at for at in named if at in by_unit] or named
    if len(named) != 1 and len(by_unit) == 1:
        named = [*by_unit]
    if not named and not bound.special:
        plain = [at for at in numeric if at or len(head) == 1]
        dated = bound.bound in _OF_YEARS
        years = [at for at in plain if all(int(one or 0) in _OF_YEARS for one in amounts[at])]
        named = years if dated else [at for at in plain if at not in years]
    if len(named) != 1:
        return -1, []
    (at,) = named
    cents = any("." in cell for cell in columns[at])
    rate = by_unit.get(at, 1.0)
    return at, [bound.holds(one or 0.0, cents=cents, rate=rate) for one in amounts[at]]


def _amount_or_year(cell: str) -> float | None:
    """Of a date its year."""
    dated = re.fullmatch(r"((?:1[5-9]|20|21)\d\d)-\d\d(?:-\d\d)?", cell)
    return float(dated[1]) if dated else _amount(cell)


_ANY_ROW = {
    stem(one) for one in ["item", "row", "entry", "record", "line", "thing", "data", "table", "csv"]
}
"""What a row of any table may be called."""


def rows_meant(output: str, known: Known) -> Mapping[str, Any] | None:
    """How many rows of a table are as it was said: a cell says so ("weak", "gold"), a column of yes
    and no is called so ("haven't paid"), or a number is so large ("over fifty")."""
    path = str(known.get("where_path") or known.get("file_path") or "")
    head, rows = rows_in(CUT.sub("", output), path)
    if not head or not rows or CUT.search(output):
        return None
    answer = _ANSWERED.search(str(known["said"]))
    said = _ANSWERED.sub(" ", str(known["said"]))
    words = {*map(stem, telling(said))} - {*map(stem, pieces(path))}
    words |= {answer["answer"].lower()} if answer else set()
    columns = {at: [row[at].strip() if at < len(row) else "" for row in rows]
               for at in range(len(head))}  # fmt: skip
    called = [at for at, name in enumerate(head) if {*map(stem, pieces(name))} & words]
    flags = [at for at in called if all(cell.casefold() in _TRUTH for cell in columns[at])]
    flags = [] if answer else flags
    denied, meant = _NEGATED.search(said) is not None, list[list[bool]]()
    bound, by = limit(said), ""
    if bound is not None:
        at, holding = _bounded(head, columns, bound, said, path)
        if not holding:
            return None
        meant.append(holding)
        by = f", by {plain_name(head[at])}" if head[at] else ""
        denied, columns = False, {n: cells_ for n, cells_ in columns.items() if n != at}
    for at, column_ in columns.items():
        if at in flags:
            meant.append([_TRUTH[cell.casefold()] is not denied for cell in column_])
        elif at and any(here := [_says(cell, words) for cell in column_]) and not all(here):
            turned = denied and not flags
            meant.append([one is not turned for one in here])
    if not meant:
        return _all_rows(head, rows, path, known)
    fitting = [all(one) for one in zip(*meant, strict=True)]
    there = [row[0] for row, one in zip(rows, fitting, strict=True) if one and row]
    some = f": {joined(there)}" if 0 < len(there) <= FEW else ""
    told = f"{len(there)} of the {counted(len(rows), 'row')} in {spoken_path(path)}{by}{some}."
    return {"told": told, "path": path, "count": len(there)}


def _all_rows(
    head: Sequence[str], rows: Sequence[Sequence[str]], path: str, known: Known
) -> Mapping[str, Any] | None:
    """How many there are, where nothing tells some of them from the others."""
    what = [one for one in telling(str(known.get("what") or "")) if stem(one) not in _ANY_ROW]
    own = {*map(stem, pieces(f"{path} {head[0]}"))}  # by what its rows are called, or are known by
    if not what or {*map(stem, what)} <= own:
        number = len(rows)
        are = "is" if number == 1 else "are"
        told = f"There {are} {counted(number, 'row')} in {spoken_path(path)}, besides its head."
        return {"told": told, "path": path, "count": number}
    return None


def _says(cell: str, words: set[str]) -> bool:
    own = {stem(one) for one in pieces(cell)}
    return bool(own) and not cell.strip()[:1].isdigit() and own <= words


_AMOUNTS = frozenset(map(stem, ("amount", "total", "price", "cost", "sum", "value", "hours")))


def _likeliest(numeric: Sequence[int], stems: Sequence[set[str]]) -> list[int]:
    """Nobody adds up numbers of rows: the column of an amount, where only one is called so."""
    return [at for at in numeric if at < len(stems) and stems[at] & _AMOUNTS]


def _amount(text: str) -> float | None:
    plain = re.fullmatch(
        r"[^\w.-]*(-?\d[\d,_]*(?:\.\d+)?)\s*(?:[^\w\s]|[A-Za-z]{1,3})?", text.strip()
    )
    return float(re.sub(r"[,_]", "", plain[1])) if plain else None


# --- A new row

_SPELT = re.compile(
    r"(?:,?\s*\b(?:that(?:['’]s| is)|it(?:['’]s| is)|spelled|spelt|spelling|as in)\b,?\s*)*"
    r"(?:,\s*)?(?<![\w'’.])(?P<letters>(?:[A-Z][\s.,-]+)+[A-Z]|(?:[a-z][\s.-]+){2,}[a-z])(?![\w'’])\.?(?=\s*(?:,|[.;!?]|$|\s))"
)
_WITH_LETTER = re.compile(
    r"(?i),?\s*\b(?:with|has|and) (?:an?|two|double|one) ['\"]?[a-z]['\"]?s?\b"
    r"(?: (?:at|in|on) (?:the )?(?:front|end|start|beginning|middle))?(?=\s*(?:[,.;!?]|and\b|$))"
)


def without_spelling(text: str) -> str:
    """Without the letters by which a word is spelled right after it; the word as they spell it."""
    text, made, at = _WITH_LETTER.sub("", text), "", 0
    for spelt in _SPELT.finditer(text):
        letters = re.sub(r"[^A-Za-z]", "", spelt["letters"])
        made += text[at : spelt.start()]
        at = spelt.end()
        before = re.search(r"[\w'’-]+\W*$", made)
        word = before[0].rstrip(" ,.;:") if before else ""
        near = SequenceMatcher(None, word.lower(), letters.lower()).ratio() if word else 0
        if before and (near >= _SPELT_SO or letters.lower() == word.lower()):
            cased = (
                letters.capitalize()
                if word[:1].isupper() or not word.islower()
                else letters.lower()
            )
            made = made[: before.start()] + cased
        else:
            made = f"{made.rstrip()} {letters.upper()}"
    return made + text[at:]


_SPELT_SO = 0.5
_NUMERIC = re.compile(r"[^\w-]?-?\d[\d,_]*(?:\.\d+)?\W?")
_IS = (
    r"(?:\s*[:=,]\s*|['’]s\s+|\s+)(?:(?:is|are|was|be|of|equals|called|named|name|to|at)\b[\s:,]*)*"
)
_WHO = re.compile(
    r"(?i)^(?:and |then |also )*(?:he|she|it|they|who|which|that)(?:['’](?:s|re)|\s+\w+)\s+(?=\S)"
)
_TRIM = re.compile(
    r"(?i)^[\s,;:.-]*(?:(?:and|then|also|the|a|an|with|is|her|his|its|their|please)\b[\s,]*)*"
    r"|[\s,;:.!?-]*(?:,?\s*\b(?:and|then|the|her|his|its|their|with|please|in the|for the|thanks)\b"
    r"[\s,]*)*$"
)


_BETWEEN = re.compile(r"\s*[,;]\s*(?:and\s+)?|\s+and\s+")


def new_row(text: str, lines: Sequence[str], path: str, said: str) -> list[str] | None:
    """The cells of a row that was dictated, by the names of their columns wherever these are said,
    or in order; None where it is not clear which is which. What was not said is left empty, but
    not what a row is known by."""
    first, those = table_in(lines, path, said)
    head = [cell.text for cell in cells(lines[first], path)] if lines else []
    rows = [[cell.text for cell in cells(lines[at], path)] for at in those]
    columns = [[row[at] for row in rows if at < len(row) and row[at]] for at in range(len(head))]
    if len(head) < _LEAST_COLUMNS:
        return None
    spoken = without_spelling(said)
    named, behind = _before_columns(without_spelling(text), head, columns)
    if not named:
        named, behind = _by_columns(spoken, head, columns)
    if len(named) < len(head):
        marked = without_spelling(text)
        for inside in dict.fromkeys((marked, _from_there(marked, spoken), *_spelt_in(said, head))):
            if not named and _names_columns(inside, head):
                continue  # "only name and voice": that is what it has, and not what it says
            more = _in_order(inside, {}, columns) or _left_over(inside, behind, named, columns)
            if more and len({**more, **named}) > 1:
                named = {**more, **named}
                break
    if 0 not in named and (following := _next_number(head[0], columns[0])):
        named[0] = following
    if 0 not in named or (len(named) < 2 and len(head) > 1):
        return None
    return [named.get(at, "") for at in range(len(head))]


_LEAST_COLUMNS = 2


def _names_columns(text: str, head: Sequence[str]) -> bool:
    names = {stem(one) for name in head for one in pieces(name)}
    return all({*map(stem, telling(part))} & names for part in _BETWEEN.split(text)[:2])


def _spelt_in(said: str, head: Sequence[str]) -> Iterator[str]:
    """The end of a sentence in which a word was spelled: that one was dictated, whatever was
    marked."""
    for sentence in re.split(r"(?<=[.;!?])\s", said):
        if _SPELT.search(sentence):
            parts = _BETWEEN.split(without_spelling(sentence).rstrip(".;!? "))
            yield ", ".join(parts[-len(head) :])


def _before_columns(
    text: str, head: Sequence[str], columns: Sequence[Sequence[str]]
) -> tuple[dict[int, str], list[str]]:
    """Values that stand before the names of their columns, where at least two do: "two ten small,
    two ninety large"."""
    made, there = dict[int, str](), list[str]()
    for part in _BETWEEN.split(text):
        for at, name in enumerate(head):
            words = r"[\s_-]+".join(map(re.escape, pieces(name)))
            told = re.fullmatch(
                rf"(?i)(?P<value>.+?)\s+(?:for\s+)?(?:the\s+|an?\s+)?{words}\W*", part
            )
            if words and told and (value := _cell(told["value"], columns[at])):
                made[at] = value
                there.append(part)
    return (made, there) if len(made) > 1 else ({}, [])


def _by_columns(
    said: str, head: Sequence[str], columns: Sequence[Sequence[str]]
) -> tuple[dict[int, str], list[str]]:
    """The values that stand behind the names of their columns; and the texts in which these are."""
    spots = list[tuple[int, int, int]]()
    for at, name in enumerate(head):
        words = r"[\s_-]+".join(map(re.escape, pieces(name)))
        if words:
            found = re.finditer(rf"(?i)(?<![\w-]){words}(?P<is>{_IS})(?=\S)", said)
            spots += [(one.start(), one.end(), at) for one in found]
    spots.sort()
    made, behind = dict[int, str](), list[str]()
    every = {at for _, _, at in spots} == {*range(len(head))}
    for place, (start, end, at) in enumerate(spots):
        until = spots[place + 1][0] if place + 1 < len(spots) else len(said)
        raw = re.split(r"[.;!?](?:\s|$)" if every else r"[.,;!?](?:\s|$)", said[end:until])[0]
        if value := _cell(raw, columns[at]):
            made[at] = value
            behind.append(said[start : end + len(raw)])
    return made, behind


def _from_there(text: str, said: str) -> str:
    """What was dictated, to the end of its sentence, where only its beginning was marked."""
    at = said.casefold().find(text.split(",", maxsplit=1)[0].strip().casefold())
    if at < 0:
        return text
    whole = re.split(r"[.;!?](?:\s|$)|,?\s(?:to|into|in|on)\s\S+\.\w+", said[at:])[0]
    return whole if len(whole) > len(text) else text


def _left_over(
    text: str, behind: Sequence[str], named: Mapping[int, str], columns: Sequence[Sequence[str]]
) -> dict[int, str]:
    """For columns that were not named what else was said, each the first part that fits it."""
    for one in behind:
        text = text.replace(one.strip(" ,"), "")
    told = {value.casefold() for value in named.values()}
    parts = [one for one in _BETWEEN.split(text) if one.strip() and one.casefold() not in told]
    made = dict[int, str]()
    for at, column in enumerate(columns):
        numeric = column and all(_NUMERIC.fullmatch(cell) for cell in column)
        for part in parts if at not in named else ():
            value = _cell(part, column)
            if value and (numeric or not _NUMERIC.fullmatch(value)) and value not in told:
                made[at] = value
                parts.remove(part)
                break
    return {} if parts else made


def _in_order(
    text: str, named: Mapping[int, str], columns: Sequence[Sequence[str]]
) -> dict[int, str]:
    """Parts that were said one after the other, for the columns that are left."""
    left = [at for at in range(len(columns)) if at not in named]
    parts = [part for part in _BETWEEN.split(text) if part.strip()]
    if len(parts) == 1 and len(left) == _LEAST_COLUMNS and (two := re.search(r"\s(?=\S+$)", text)):
        parts = [text[: two.start()], text[two.end() :]]
    made = [_cell(part, columns[at]) for part, at in zip(parts, left, strict=False)]
    if len(parts) != len(left) or not all(made):
        return {}
    return dict(zip(left, made, strict=True))


def _cell(raw: str, column: Sequence[str]) -> str:
    """Words as a cell of a column, which is a number where all the others are. Empty where they are
    none such."""
    text = _TRIM.sub("", _WHO.sub("", _TRIM.sub("", raw)))
    if column and all(_NUMERIC.fullmatch(cell) for cell in column):
        return _figure(text, column[-1])
    if column and all(_CODE.fullmatch(cell) for cell in column):
        return _code(text)
    return literal(text) if text else ""


_CODE = re.compile(r"[A-Z]{1,3}[- ]?\d+")


def _code(text: str) -> str:
    """A letter and a number, such as a seat: "C one" is C1."""
    letters = re.match(r"(?:[A-Za-z]\b[\s.]*){1,3}|[A-Za-z]{1,3}(?=\d)", text)
    number = _figure(text[letters.end() :], "1") if letters else ""
    name = re.sub(r"[\s.]", "", letters[0]).upper() if letters else ""
    return f"{name}{number}" if number.isdigit() else ""


def _figure(text: str, like: str) -> str:
    """The number with which these words begin."""
    words = re.sub(r"['’]s\b", "", text).split()
    for many in range(min(len(words), _MOST_WORDS), 0, -1):
        part = " ".join(words[:many]).strip(",")
        if plain := re.fullmatch(r"\d[\d.,]*", part):
            return plain[0].rstrip(".,")
        year = literal(part)
        if re.fullmatch(r"\d{4}", year) and re.fullmatch(r"\d{4}", like):
            return year
        if written := written_like(like, part):
            return written
    return ""


_MOST_WORDS = 6


def _next_number(name: str, column: Sequence[str]) -> str:
    """Of rows that are numbered one after the other the next."""
    plain = pieces(name)[-1:]
    counts = [int(cell) for cell in column if cell.isdigit()]
    if plain not in (["id"], ["no"], ["nr"], ["number"], ["num"], []) or len(counts) < len(column):
        return ""
    steps = {b - a for a, b in pairwise(counts)}
    return f"{counts[-1] + 1}" if counts and steps <= {1} else ""


def spoken_row(line: str, path: str) -> str:
    """A row for the ear; empty where it is none."""
    if not (path.endswith(TABLES) or is_row(line)):
        return ""
    return ", ".join(cell.text for cell in cells(line, path) if cell.text)


def as_row(values: Sequence[str], path: str) -> str:
    if not path.endswith(TABLES):
        return f"| {' | '.join(value.replace('|', '/') for value in values)} |"
    between = "\t" if path.endswith(".tsv") else ","
    quoted = [f'"{v}"' if between in v and '"' not in v else v for v in values]
    return between.join(quoted)
