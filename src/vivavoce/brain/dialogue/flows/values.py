"""Readings of values that have a name: which one is meant, and what it is set to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from vivavoce.brain.dialogue.flows.results import (
    CUT,
    FEW,
    Known,
    Match,
    clipped,
    counting,
    is_file,
    is_prose,
    joined,
    matches_in,
    prose,
    sentence,
    spoken_path,
)
from vivavoce.brain.dialogue.flows.structure import (
    Chosen,
    chosen,
    close,
    pairs_in,
    places_in,
    plain_name,
    plain_step,
    plain_value,
)
from vivavoce.language.en.naming import pieces, stem, telling
from vivavoce.wire.values import Value


class Setting(Value):
    match: Match
    name: str
    value: str
    start: int
    end: int
    rate: float


def settings_in(matches: Iterable[Match], key: str, said: str = "") -> list[Setting]:
    """Everything on these lines that has a name and a value, the likeliest first."""
    wanted = list(dict.fromkeys(map(stem, telling(key))))
    around = {stem(word) for word in pieces(said) if len(word) > 3}
    found = []
    for match in matches:
        text = match.text
        for pair in pairs_in(text):
            rate = _named_so(
                pair["name"], wanted, match, at_start=not text[: pair.start()].strip(" -\"'*")
            )
            if rate > 0:
                # "Which port does staging use": the file is named, if not as one.
                rate += 0.3 * any(stem(part) in around for part in pieces(match.path))
                value = pair["value"].strip()
                start = pair.start("value")
                found.append(
                    Setting(
                        match, pair["name"].strip("\"'*"), value, start, start + len(value), rate
                    )
                )
    return sorted(found, key=lambda one: -one.rate)


def _named_so(name: str, wanted: Sequence[str], match: Match, *, at_start: bool) -> float:
    parts = [stem(part) for part in pieces(name)]
    hit = [one for one in wanted if one in parts or any(close(one, part) for part in parts)]
    if not hit or not parts:
        return 0.0
    unsaid = len([p for p in parts if p not in wanted and not any(close(w, p) for w in wanted)])
    rate = len(hit) / len(wanted) - 0.2 * unsaid / len(parts)  # its own name before a longer one
    around = [stem(part) for part in pieces(match.path)]
    rate += 0.3 * any(one in around for one in wanted if one not in hit)
    return rate + 0.1 * at_start - 0.2 * ("test" in around and "test" not in wanted)


def settings_matched(matches: Iterable[Match], key: str) -> list[Match]:
    return [one.match for one in settings_in(matches, key)] if key else []


def setting(output: str, known: Known) -> Mapping[str, Any] | None:
    """What something is set to; all of a file where nothing of it is asked for but itself."""
    path = str(known.get("where_path") or "")
    asked = set(map(stem, telling(str(known.get("what") or ""))))
    if path and asked and asked <= {*map(stem, pieces(path)), "content"}:
        return {"whole": True, "file_path": path}
    there = counting(matches_in(output), known)
    found = settings_in(there, str(known.get("what") or known["said"]), known["said"])
    if found:
        best = [one for one in found if one.rate > found[0].rate - 0.08]
        if _asks_more(asked, best, there):
            return None
        paths = list(dict.fromkeys(one.match.path for one in best))
        values = list(dict.fromkeys((plain_value(o.value), o.match.path) for o in best))
        name = plain_name(best[0].name).capitalize()
        if len({value for value, _ in values}) == 1:
            told = f"{name} is {values[0][0]}, in {spoken_path(paths[0], paths)}."
        else:
            each = [f"{value} in {spoken_path(path, paths)}" for value, path in values[:FEW]]
            told = f"{name} is {joined(each)}."
        # "Make that twenty": what was found is spoken of, by its own name.
        made = {"path": paths[0], "value": values[0][0], "called": name}
        if len(paths) == 1:  # which of its values is meant is seen in the whole of it
            return {**made, "several": True, "file_path": paths[0], "at_least": told}
        return {**made, "told": told}
    heads = [m for m in there if _heads(m, asked)]
    if heads and len({m.path for m in heads}) == 1:  # "and for staging?": all that lies in it
        return {"several": True, "of_section": True, "file_path": heads[0].path}
    same = {m.path for m in settings_matched(there, str(known.get("last") or ""))}
    if len(same) == 1:  # "and prod?": the same in another section, if there is one of that name
        return {"several": True, "of_section": True, "file_path": same.pop()}
    lines = [m for m in there if is_prose(m.path)]
    wanted = list(map(stem, telling(str(known.get("what") or ""))))
    rated = [(sum(one in [stem(p) for p in pieces(m.text)] for one in wanted), m) for m in lines]
    rated = [one for one in rated if one[0] >= max(1, (len(wanted) + 1) // 2)]
    if not rated and known.get("final") and is_file(path, known):
        return {"several": True, "file_path": path, "path": path}
    if not rated:
        return None
    line = max(rated, key=lambda one: one[0])[1]
    told = f"{spoken_path(line.path)} says: {sentence(clipped(prose(line.text)))}"
    return {"told": told, "path": line.path}


_OPENS = re.compile(
    r"\s*(?:\[+(?P<head>[^\]=]+)\]+|[\"']?(?P<key>[\w.-]+)[\"']?\s*[:=]?\s*\{?"
    r"|</?(?P<tag>\w+)[^<>]*>)\s*"
)


def _heads(match: Match, asked: set[str]) -> bool:
    """Whether a line only opens what was named."""
    opens = None if is_prose(match.path) else _OPENS.fullmatch(match.text)
    name = (opens["head"] or opens["key"] or opens["tag"]) if opens else ""
    return bool(asked) and asked <= {stem(one) for one in pieces(name)}


def _asks_more(asked: set[str], best: Sequence[Setting], there: Sequence[Match]) -> bool:
    """Whether other lines have what these have not: "the image, and the volume it writes to"."""
    own = {stem(one) for each in best for one in pieces(each.match.text)}
    own |= {stem(one) for each in best for one in pieces(each.match.path)}
    rest = [one for one in asked if not any(one == w or close(one, w) for w in own)]
    mine = {each.match for each in best}
    others = {
        stem(one)
        for m in there
        if m not in mine and not _OPENS.fullmatch(m.text)
        for one in pieces(m.text)
    }
    return any(one == w or close(one, w) for one in rest for w in others)


def picked(lines: Sequence[str], path: str, known: Known) -> Chosen:
    """The places in a file that are meant by what was said of it."""
    return chosen(
        places_in("\n".join(lines), path),
        str(known.get("what") or ""),
        str(known["said"]),
        path,
        of=str(known.get("section") or ""),
        last=str(known.get("last") or ""),
        to=str(known.get("to") or ""),
    )


def within(output: str, known: Known) -> Mapping[str, Any] | None:
    """What something is set to, with what it lies in; what was said that is not there is said not
    to be there."""
    path, lines = str(known["file_path"]), CUT.sub("", output).split("\n")
    found = picked(lines, path, known)
    there = found.there
    if known.get("of_section") and not any(one.path for one in there):
        return None
    if not there:
        told = str(known.get("at_least") or "")
        return {"told": told} if told else None
    names = {plain_name(one.name) for one in there}
    if len(names) > 1:
        # They have parts of the name that was said: which of them is meant?
        each = [f"{plain_name(one.name)} is {plain_value(one.value)}" for one in there[:FEW]]
        told = f"{joined(each).capitalize()}, in {spoken_path(path)}."
        some = [Match(path, one.line, lines[one.line - 1]) for one in there]
        return {"point": list(dict.fromkeys(some)), "instead": {"told": told, "path": path}}
    name, label = plain_name(there[0].name), found.label
    each = [
        f"{plain_value(one.value)}{f' for {plain_step(label(one))}' if one.path else ''}"
        for one in there[: FEW + 1]
    ]
    told = f"{name.capitalize()} is {joined(each)}, in {spoken_path(path)}."
    if found.lacking:
        told = f"There is no {name} for {found.lacking} in {spoken_path(path)}. {told}"
    value = plain_value(there[0].value) if len(there) == 1 and not found.lacking else ""
    return {"told": told, "path": path, "called": name, "value": value}
