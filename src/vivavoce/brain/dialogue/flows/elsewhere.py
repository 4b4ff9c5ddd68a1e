"""Readings of what is not in the workspace: pages, searches, tasks, sums, the time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from vivavoce.brain.dialogue import times
from vivavoce.brain.dialogue.flows.files import ASKING
from vivavoce.brain.dialogue.flows.results import CUT, FEW, SHORT, Known, clipped, prose, sentence
from vivavoce.language.en.naming import bare, pieces, stem, telling


def page(output: str, known: Known) -> Mapping[str, Any] | None:
    """The sentences of a page that answer, or its first."""
    head, _, text = output.partition("\n\n")
    if not head.startswith("The page"):
        return {"told": sentence(clipped(output, SHORT))}
    lines = [prose(line) for line in CUT.sub("", text).split("\n") if len(line.split()) > 2]
    asked = [w for w in map(stem, telling(str(known.get("about") or ""))) if w not in ASKING]
    rates = [sum(one in map(stem, pieces(line)) for one in set(asked)) for line in lines]
    best = max(rates, default=0)
    picked = [
        line for line, rate in zip(lines, rates, strict=True) if best and rate == best
    ] or lines
    if not picked:
        return {"told": "There is no text on that page."}
    return {"told": "The page says: " + " ".join(sentence(clipped(one, 200)) for one in picked[:2])}


_HIT = re.compile(r"^\d+\. (?P<title>.+)\n\s+(?P<url>\S+)(?:\n\s+(?P<snippet>.+))?", re.MULTILINE)


def hits(output: str, known: Known) -> Mapping[str, Any] | None:
    found = [*_HIT.finditer(output)]
    if not found:
        return None
    first = found[0]
    told = f"The first page I find is {sentence(clipped(first['title'], 100))}"
    if first["snippet"]:
        told += f" It says: {sentence(clipped(first['snippet'], 220))}"
    return {"told": told}


def task_started(output: str, known: Known) -> Mapping[str, Any] | None:
    begun = re.match(r"Task started: \S+ with agent '([^']+)'", output)
    if begun is None:
        return {"told": sentence(clipped(output))}
    return {
        "told": f"I've handed that over to the {begun[1]}. I'll tell you what comes of it.",
        "undo_task": True,
    }


_TASK = re.compile(
    r"^\S+ \((?P<agent>[^)]*)\) (?P<title>.+?): "
    r"(?P<how>(?:running|done|failed|cancelled|waits).*)$",
    re.M,
)


def tasks(output: str, known: Known) -> Mapping[str, Any] | None:
    found = [*_TASK.finditer(output)]
    if not found:
        return {
            "told": "No task has been handed over."
            if "no tasks" in output
            else sentence(clipped(output))
        }
    open_ = [one for one in found if one["how"].startswith(("running", "waits"))]
    shown = (open_ or found)[:FEW]
    told = [f"“{clipped(one['title'], 60)}” is {_going(one['how'])}" for one in shown]
    more = len(found) - len(shown)
    return {
        "told": ". ".join(told)
        + (f". There {'is' if more == 1 else 'are'} {more} more." if more and open_ else ".")
    }


def _going(how: str) -> str:
    word, _, rest = how.partition(": ")
    share = re.sub(r"running, (\d+)%", r"running, \1 percent done", word)
    share = {"waits for an answer": "waiting for your answer"}.get(share, share)
    return f"{share}: {clipped(rest, 120)}" if rest else share


def words(output: str, known: Known) -> Mapping[str, Any] | None:
    """As the tool put it."""
    text = clipped(output, SHORT)
    return {"told": sentence(text[:1].upper() + text[1:])} if text else None


def number(output: str, known: Known) -> Mapping[str, Any] | None:
    text = result = output.strip()
    if re.fullmatch(r"-?\d+\.\d{5,}", text):
        text = (
            f"about {float(text):.4g}" if abs(float(text)) < 1000 else f"about {float(text):,.2f}"
        )
    elif re.fullmatch(r"-?\d{5,}", text):
        text = f"{int(text):,}"
    return {"told": f"That's {text}.", "number": result}


def clock(output: str, known: Known) -> Mapping[str, Any] | None:
    text = re.sub(r" in ([\w/+-]+) \(.*\)$", "", output.strip())
    place = bare(str(known.get("where") or ""))
    if times.find(place):  # "today" is no place
        place = ""
    if place and not known.get("zone"):
        return {"told": f"I don't know the time in {place}. Here it's {text}."}
    return {"told": f"It's {text}{f' in {place}' if place else ''}."}
