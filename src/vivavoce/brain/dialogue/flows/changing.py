"""Readings for a change: which value of a file or which text in it is meant, and what it becomes.
Nothing is written that was not said of that very place; what could be several is asked about."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from vivavoce.brain.dialogue.flows.results import (
    CUT,
    FEW,
    Known,
    Match,
    clipped,
    counting,
    evidence,
    is_file,
    is_prose,
    joined,
    matches_in,
    overlap,
    prose,
    sentence,
    spoken_path,
)
from vivavoce.brain.dialogue.flows.structure import (
    PAIR,
    Chosen,
    Place,
    pairs_in,
    piece,
    places_in,
    plain_name,
    plain_step,
    plain_value,
)
from vivavoce.brain.dialogue.flows.tables import (
    TABLES,
    is_row,
    path_of,
    spoken_row,
    table_cell,
)
from vivavoce.brain.dialogue.flows.values import Setting, picked, settings_in
from vivavoce.brain.dialogue.flows.written import (
    NUMBER,
    beside_old,
    cased_like,
    fitting,
    is_tagged,
    is_value,
    said_apart,
    said_to_become,
    typed,
    unclear,
    understood,
)
from vivavoce.language.en.naming import (
    about_spelling,
    bare,
    changes_name,
    literal,
    misspelling,
    name_now,
    nearly,
    patterns,
    pieces,
    stem,
    telling,
)
from vivavoce.language.en.numbers import numbers_in
from vivavoce.language.en.pointing import without_what_stays
from vivavoce.language.en.quantities import written_like


def line_to_change(output: str, known: Known) -> Mapping[str, Any] | None:
    """In which file it is, to be looked at as a whole; or a text that is another wherever it is."""
    there = counting(matches_in(output), known)
    what, path = str(known.get("what") or ""), str(known.get("file_path") or "")
    to = str(known.get("to_written") or known.get("to") or "")
    if not to and (split := _value_in(what, str(known["said"]))):
        known = {**known, **split}
        return {**split, **(line_to_change(output, known) or {})}
    wrong, right = misspelling(f"{what} {to}", known["said"])
    if wrong:
        return _everywhere(there, wrong, right, known["said"])
    once, now = name_now(known["said"])
    if once and any(once.lower() in m.text.lower() for m in there):
        return _everywhere(there, once, now, known["said"])
    if is_file(path, known):
        return {"several": True, "within_path": path}
    if there and len({m.path for m in there}) == 1:
        return {"several": True, "within_path": there[0].path}
    found = [one for one in settings_in(there, what) if _meant(one, what)] if what else []
    old = str(known.get("from_written") or known.get("from") or "")
    if old:
        same = [one for one in found if is_value(plain_value(one.value), old)]
        found = same or [one for one in found if old.lower() in one.value.lower()]
    if found:
        best = [one for one in found if one.rate > found[0].rate - 0.08]
        paths = list(dict.fromkeys(one.match.path for one in best))
        return {"choices": paths} if len(paths) > 1 else {"several": True, "within_path": paths[0]}
    if there and (likely := _likely_path(there, what)):
        return {"several": True, "within_path": likely}
    return _one_for_another(there, (), known)


def _value_in(what: str, said: str) -> Mapping[str, Any]:
    """The new value, where it was taken for the name or for a part of it: "the second FROM, node
    twenty", "make the heading say Hello"."""
    name = what.strip()
    if told := re.search(rf"(?i){_SAYS}\s+[\"'“]?{re.escape(name)}", said):
        name, value = re.sub(rf"(?i)^.*\b{_MAKES}\s+", "", told["name"]), name
    else:
        name, _, value = (one.strip() for one in what.partition(","))
    return {"what": name, "to": value, "to_written": literal(value)} if name and value else {}


_MAKES = r"(?:make|let|have|get|change|set|want|like)"
_SAYS = (
    r"(?P<name>[^.,;:!?]{2,40}?)\s+(?:(?:should|to|must|has|have|needs|ought|now|just)\s+)*"
    r"(?:says?|reads?|be called|becomes?)"
)


def _likely_path(there: Sequence[Match], what: str) -> str:
    """The one file whose lines have more of what was said than those of any other."""
    words, rates = {*pieces(what)}, dict[str, int]()
    for one in there:
        rates[one.path] = max(rates.get(one.path, 0), len(words & {*pieces(one.text)}))
    best = [path for path, rate in rates.items() if rate == max(rates.values())]
    return best[0] if len(best) == 1 and rates[best[0]] > 1 else ""


def _one_for_another(
    there: Sequence[Match], lines: Sequence[str], known: Known
) -> Mapping[str, Any] | None:
    """A text becomes another one, where it is no name of a value."""
    what, said = str(known.get("what") or ""), str(known["said"])
    to = beside_old(known) or str(known.get("to_written") or known.get("to") or "")
    old = str(known.get("from_written") or known.get("from") or "")
    if about_spelling(said):
        return _respelt(there, f"{what} {to}")
    if unclear(to):
        return {"ask": "to"}
    every = changes_name(said) and len(there) > 1 and what and to
    if every and (made := _everywhere(there, bare(what), bare(to), said)):
        return made
    if old or said_to_become(what, str(known.get("to") or ""), said):
        return _replaced(there, old or what, to, known, lines)
    return None


_ALL_OVER = re.compile(
    r"(?i)\b(?:everywhere|wherever|throughout|all (?:over|of them|files|through)|"
    r"(?:in |on )?(?:every|each|all)(?: of)?(?: the| my| our)? (?:files?|places?|pages?|"
    r"documents?|ones?))\b"
)


def _everywhere(
    there: Sequence[Match], wrong: str, right: str, said: str
) -> Mapping[str, Any] | None:
    """A word that is spelt wrongly, wherever it is in one file, or in all where that was said."""
    hits = [m for m in there if wrong.lower() in m.text.lower()]
    paths = list(dict.fromkeys(m.path for m in hits))
    if len(paths) > 1 and not _ALL_OVER.search(said):
        return {"choices": paths}
    if not hits:
        return None
    at = hits[0].text.lower().find(wrong.lower())
    written = hits[0].text[at : at + len(wrong)]
    right = cased_like(written, right)
    edit = {"path": paths[0], "old": written, "new": right, "name": written, "before": written}
    return {**edit, "all": True, "paths": paths}


def line_within(output: str, known: Known) -> Mapping[str, Any] | None:
    """What to replace in a file that was read. Where it can be several, it is asked which."""
    path, text = path_of(known), CUT.sub("", output)
    lines = text.rstrip("\n").split("\n")
    if path.endswith(TABLES) or any(is_row(line) for line in lines):
        cell = table_cell(lines, known)
        if cell is not None or path.endswith(TABLES):
            return cell
    found = picked(lines, path, known)
    if not found.there:
        found = _by_tag(lines, path, known)
    group, old = list(found.there), str(known.get("from_written") or known.get("from") or "")
    group = [one for one in group if one.value[:1] not in "{[("]
    if old and group:
        same = [one for one in group if is_value(plain_value(one.value), old)]
        group = same or [one for one in group if old.lower() in one.value.lower()]
    if not group or not found.sure:
        there = [Match(path, at, line) for at, line in enumerate(lines, 1) if line.strip()]
        return _one_for_another(there, lines, known)
    if (several := _of_one_head(group, known)) is not None:
        group = several
    if (names := _share_a_word(group, known)) and not old:
        return {"ask": "section", "called": bare(str(known.get("what"))), "lacking": "",
                "sections": f"“{joined(names, 'or')}”"}  # fmt: skip
    if len({one.name for one in group}) > 1:  # named by what they lie in: that it fits decides
        able = [one for one in group if typed(one.value) and fitting(one.name, one.value, known)]
        to = {*pieces(str(known.get("to") or ""))}
        named = [one for one in able if to & {*re.findall(r"[a-z]{3,}", one.value.lower())}]
        able = named or able
        group = able if len(able) == 1 else group
    if any(_moves(one, known) for one in group):
        return None
    if len(group) > 1 and _EVERY.search(f"{known.get('section') or ''}. {known['said']}"):
        return _edits(lines, group, path, known)
    if len(group) > 1 or found.lacking:
        return _which_of(found, group)
    return _edits(lines, group, path, known)


def _of_one_head(group: Sequence[Place], known: Known) -> list[Place] | None:
    """ "The retries" are `max_retries` rather than `retry_delay`: what a name ends with is what it
    is the name of. Or the one that was named when it was asked which."""
    said = [stem(one) for one in telling(str(known.get("what") or ""))]
    if len({one.name for one in group}) < 2 or not said:
        return None
    if of := {stem(one) for one in pieces(str(known.get("section") or ""))}:
        rates = [len(of & {*map(stem, pieces(one.name))}) for one in group]
        best = [one for one, rate in zip(group, rates, strict=True) if rate and rate == max(rates)]
        return best if len({one.name for one in best}) == 1 else None
    heads = [one for one in group if stem(pieces(one.name)[-1]) == said[-1]]
    return heads if heads and len(heads) < len(group) else None


def _share_a_word(group: Sequence[Place], known: Known) -> list[str]:
    """The names of several settings of which the one word that was said is a part."""
    said = [stem(one) for one in telling(str(known.get("what") or ""))]
    names = list(dict.fromkeys(plain_name(one.name) for one in group))
    shared = len(said) == 1 and all(said[0] in map(stem, pieces(one)) for one in names)
    return names if shared and 1 < len(names) <= _MOST_NAMED else []


_MOVED = r"(?:moved|moves|moving|relocat\w+|emigrated|travel\w*|flew|drove)\b[^.!?,]{0,20}?"


def _moves(one: Place, known: Known) -> bool:
    """Whether somebody only went there: "the manager moved to Leeds" makes Leeds no manager."""
    to = bare(str(known.get("to") or ""))
    if typed(one.value) or not to or re.search(r"\d", one.value):
        return False
    there = rf"(?i)\b{_MOVED}\b(?:to|into)\s+(?:\w+\s+)?{re.escape(to.split()[0])}"
    return re.search(there, str(known["said"])) is not None


_NO_TAGS = frozenset(("one", "first", "second", "third", "last", "version", "tag"))
_THE_ONE = re.compile(
    r"(?i)\bthe (?!(?:first|second|third|last|other|same|only|next)\b)(?P<tag>[\w.]+) ones?\b"
)


def _by_tag(lines: Sequence[str], path: str, known: Known) -> Chosen:
    """What is called by the version or the tag that it has: "the slim one", "the eighteen"."""
    words = [one for one in telling(str(known.get("what") or "")) if one not in _NO_TAGS]
    said = without_what_stays(str(known["said"]), str(known.get("to") or ""))
    words = words or [one["tag"].lower() for one in _THE_ONE.finditer(said)]
    every = [one for one in places_in("\n".join(lines), path) if is_tagged(one.value)]
    there = [one for one in every if words and {*words} <= {*pieces(one.value)}]
    return Chosen(tuple(there))


_EVERY = re.compile(
    r"(?i)\b(?:both|all (?:of (?:them|those|these)|three|four|the)|each|every|everywhere|"
    r"throughout)\b"
)


def _which_of(found: Chosen, group: Sequence[Place]) -> Mapping[str, Any] | None:
    """The question which of them is meant, by what they lie in."""
    labels = list(dict.fromkeys(found.label(one) for one in group))
    name = plain_name(group[0].name)
    if len(labels) < len(group) or not all(labels) or len({one.name for one in group}) > 1:
        return None
    lacking = f"“I find no {found.lacking} there.”" if found.lacking else ""
    named = [plain_step(one) for one in labels]
    shown = named if len(named) <= _MOST_NAMED else [*named[: _MOST_NAMED - 1], "another one"]
    return {
        "ask": "section",
        "called": name,
        "sections": f"“{joined(shown, 'or')}”",
        "lacking": lacking,
    }


_MOST_NAMED = 5


def _edits(
    lines: Sequence[str], group: Sequence[Place], path: str, known: Known
) -> Mapping[str, Any] | None:
    """The lines with the new value, as one piece that is there only once."""
    now, after = list(lines), ""
    for one in sorted(group, key=lambda one: (-one.line, -one.start)):
        after = fitting(one.name, one.value, known)
        if not after:
            return {"ask": "to", "called": plain_name(one.name)}
        text = now[one.line - 1]
        now[one.line - 1] = text[: one.start] + after + text[one.end :]
    first, last = piece(lines, min(o.line for o in group) - 1, max(o.line for o in group))
    names = [plain_step(one) for one in Chosen(tuple(group)).labels() if one]
    name = f"The {plain_name(group[0].name)}{f' for {joined(names)}' if names else ''}"
    before = joined(list(dict.fromkeys(plain_value(one.value) for one in group)))
    edit = {"old": "\n".join(lines[first:last]), "new": "\n".join(now[first:last])}
    if edit["old"] == edit["new"]:
        where = spoken_path(path)
        return {"told": f"{name} in {where} is {before} already, so I've changed nothing."}
    return {"path": path, **edit, "name": name, "before": before, "after": plain_value(after)}


def line_pointed(output: str, known: Known) -> Mapping[str, Any] | None:
    """All lines of which one may be the one to change."""
    path, said = str(known.get("file_path") or ""), str(known["said"])
    if not known.get("to") and not known.get("from"):
        return None
    found = evidence(CUT.sub("", output), path, said) if path else matches_in(output).there
    rates = overlap(str(known.get("what") or ""), found)
    named = tuple(m for m, rate in zip(found, rates, strict=True) if rate >= _NAMED)
    if any(PAIR.search(one.text) for one in named):  # a value that bears the name is meant
        found = named
    if len(named) > 1 and _ONE_OF.search(said):  # and which one they have not said
        return {"ask": "what"}
    if not found or (path and CUT.search(output)):
        return None
    return {"point": found, "lines": output.rstrip("\n").split("\n") if path else []}


_NAMED = 0.5
_ONE_OF = re.compile(r"(?i)\b(?:one|some) of (?:the|my|our|those|these)\b")


def line_as_meant(chosen: Sequence[Match], known: Known) -> Mapping[str, Any] | None:
    """That line with what it becomes: another value where it has one, or one text for another. What
    was not understood as such a value is asked for."""
    if len(chosen) != 1:
        return None
    line, (_, old) = chosen[0], said_apart(known)
    lines = list(known.get("lines") or ())
    to = beside_old(known) or str(known.get("to_written") or known.get("to") or "")
    if not to:
        return {"ask": "to"}
    if old and (made := _replaced([line], old, to, known, lines)) is not None and "path" in made:
        return made
    if line.path.endswith(TABLES):
        return None
    pairs = [*pairs_in(line.text)]
    figures = [*re.finditer(r"(?<![\w.])\d[\d_]*(?:\.\d+)*(?![\w.]*\w)", line.text)]
    if len(pairs) == 1 and pairs[0]["value"][:1] not in "{[(":
        value, start = pairs[0]["value"].strip(), pairs[0].start("value")
        name = pairs[0]["name"]
    elif len(figures) == 1 and re.match(r"\d", to):
        value, start, name = figures[0][0], figures[0].start(), ""
    else:
        return None
    written = fitting(name, value, known)
    if not written:
        return {"ask": "to"}
    new = line.text[:start] + written + line.text[start + len(value) :]
    called = f"The {plain_name(name)}" if name else "That"
    made = edit_of(line, new, called, plain_value(value), lines)
    return {**made, "after": plain_value(written)} if new != line.text else None


def _meant(one: Setting, what: str) -> bool:
    """To be written to, a setting must have the name that was said, and a plain value."""
    parts = {stem(part) for part in (*pieces(one.name), *pieces(one.match.path))}
    said = {stem(word) for word in telling(what)}
    own = {stem(part) for part in pieces(one.name)}
    # "The log level" may be `level` in a section of its own.
    named = (said <= parts and bool(said & own)) or own <= said
    return named and one.value[:1] not in "{[("


def _replaced(
    there: Sequence[Match], old: str, new: str, known: Known, lines: Sequence[str] = ()
) -> Mapping[str, Any] | None:
    """A text in a line by another, as it is written there. Of several lines one that was named, or
    all where that was said; else it is asked which."""
    for pattern in patterns(old) if old else ():
        rule = re.compile(pattern, re.IGNORECASE)
        hits = [(m, one) for m in there if (one := rule.search(m.text))]
        if not hits:
            continue
        paths = list(dict.fromkeys(m.path for m, _ in hits))
        if len(paths) > 1 and _ALL_OVER.search(str(known["said"])):
            return _everywhere([m for m, _ in hits], hits[0][1][0], bare(new), str(known["said"]))
        if len(paths) > 1:
            return {"choices": paths}
        if len(hits) > 1 and (made := _of_these(hits, old, new, known)) is not None:
            return made
        hits = hits if len(hits) == 1 else _named_of(hits, known)
        if len(hits) != 1:  # which of them, nobody said
            return None
        match, one = hits[0]
        if not (written := _in_its_place(match, one, new)):
            return {"ask": "to"} if written == "" else None
        return edit_of(match, written, one[0], one[0], lines)
    return None


def _in_its_place(match: Match, one: re.Match[str], new: str) -> str | None:
    """The line with the one text for the other; empty where that would write words over a number,
    None where what is there is a name or a tag and no text."""
    behind = match.text[one.end() :]
    if re.match(r"(?:\s[^<>]*)?>", behind):
        return None
    if written_like("1", new) and re.match(r"[\"'`*]*\s*[:=,|]", behind):
        return None  # what has a value is not written over by one
    if NUMBER.fullmatch(one[0]) and not (new := understood(one[0], new)):
        return ""
    return match.text[: one.start()] + cased_like(one[0], new) + behind


def _of_these(
    hits: Sequence[tuple[Match, re.Match[str]]], old: str, new: str, known: Known
) -> Mapping[str, Any] | None:
    """On all of these lines, where that was said; else which, unless that was said already."""
    said = f"{known.get('section') or ''}. {known['said']}"
    if _ALL_OVER.search(said) or _EVERY.search(said):
        return _everywhere([m for m, _ in hits], hits[0][1][0], bare(new), said)
    if len(hits) > _MOST_NAMED or _named_of(hits, known):
        return None
    each = [f"line {m.number}, {clipped(m.text, 50)}" for m, _ in hits]
    sections = f"“{joined(each, 'or')}”"
    return {"ask": "section", "called": "line", "sections": sections, "lacking": ""}


def _named_of(
    hits: Sequence[tuple[Match, re.Match[str]]], known: Known
) -> list[tuple[Match, re.Match[str]]]:
    """The one of these lines that was named when it was asked which."""
    said = str(known.get("section") or "")
    words = {stem(one) for one in pieces(said)} | {f"{one}" for one in numbers_in(said)}
    rates = [len(words & {f"{m.number}", *map(stem, pieces(m.text))}) for m, _ in hits]
    best = [hit for hit, rate in zip(hits, rates, strict=True) if rate and rate == max(rates)]
    return best if len(best) == 1 else []


def _respelt(there: Sequence[Match], right: str) -> Mapping[str, Any] | None:
    """The one word that is nearly one of those that were said."""
    found = [
        (match, one, word)
        for word in telling(right)
        for match in there
        for one in nearly(word, match.text)
    ]
    if len({one[0].lower() for _, one, _ in found}) != 1:
        return None
    match, one, word = found[0]
    if len(found) > 1:
        return _every_one(found)
    text = match.text[: one.start()] + cased_like(one[0], word) + match.text[one.end() :]
    return {**edit_of(match, text, one[0], one[0]), "new_text": cased_like(one[0], word)}


def _every_one(found: Sequence[tuple[Match, re.Match[str], str]]) -> Mapping[str, Any] | None:
    """A word that is wrong in several places is put right in all of them, however it begins."""
    (_, one, word), paths = found[0], list(dict.fromkeys(match.path for match, _, _ in found))
    old, new = one[0], cased_like(one[0], word)
    if len({each[0] for _, each, _ in found}) > 1:  # "Seperate" and "seperate"
        if old[:1].lower() != new[:1].lower():
            return None
        old, new = old[1:].lower(), new[1:].lower()
    edit = {"path": paths[0], "old": old, "new": new, "name": one[0], "before": one[0]}
    told = {"old_word": one[0].lower(), "new_word": word.lower()}
    return {**edit, **told, "all": True, "paths": paths}


def edit_of(
    match: Match, new: str, name: str, before: str, lines: Sequence[str] = ()
) -> Mapping[str, Any]:
    """The line by another, with those around it that it takes to be there only once."""
    first, last = piece(lines, match.number - 1, match.number) if lines else (0, 1)
    own = list(lines[first:last]) or [match.text]
    now = list(own)
    now[match.number - 1 - first if lines else 0] = new
    old = "\n".join(own)
    return {"path": match.path, "old": old, "new": "\n".join(now), "name": name, "before": before}


ADDED = re.compile(r"^\+(?!\+\+)(.*)$", re.MULTILINE)


def changed(output: str, known: Known) -> Mapping[str, Any] | None:
    """The line as it is now, from the tool's own account of what it wrote."""
    if not re.match(r"Replaced \d+ place", output):
        return None
    name, place = str(known.get("name") or "That"), spoken_path(str(known.get("path") or ""))
    now, before = ADDED.search(output), str(known.get("before") or "")
    after = str(known.get("after") or "")
    if name.startswith("The ") and now and after and after.rstrip(" …") in now[1]:
        told = f"{name} in {place} is now {after}; it was {before}."
    elif now and is_prose(place):
        line = spoken_row(now[1], str(known.get("path") or "")) or prose(now[1])
        told = f"Changed. {place} now says: {sentence(clipped(line))}"
    else:
        new = known.get("to_written") or known.get("to") or known.get("new_text")
        told = f"Changed {before} to {new} in {place}."
    return {"told": told, **undo(known)}


def undo(known: Known) -> dict[str, Any]:
    """What takes an edit back."""
    if not (known.get("path") and known.get("new")) or known.get("all"):
        return {}
    return {"undo_path": known["path"], "undo_old": known["new"], "undo_new": known["old"]}


def taken_back(output: str, known: Known) -> Mapping[str, Any] | None:
    """The file is as it was, by the tool's own account."""
    if gone := re.match(r"Deleted (.+), which was new\.", output):
        return {"told": f"{spoken_path(gone[1])} is gone again."}
    if not re.match(r"(?:Replaced \d+ place|Put .+ back)", output):
        return None
    paths = [str(one) for one in known.get("undo_files") or [known.get("undo_path")]]
    files = joined([spoken_path(path, paths) for path in paths[:FEW]])
    files += f" and {len(paths) - FEW} more" if len(paths) > FEW else ""
    return {"told": f"I've put {files} back as {'they were' if len(paths) > 1 else 'it was'}."}
