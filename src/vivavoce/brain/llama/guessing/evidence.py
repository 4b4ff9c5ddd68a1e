"""What the user has said of what a tool must not make up: a time, a place, a repetition. Pure.

A word of that kind among what the user said is the evidence (`language.en.mentions`). What one call
has used is spent: the time of the last reminder is not the time of the next.

Several wishes in one breath ("I want to start running, and remind me to buy shoes this
weekend") are told one after the other: a small model gives the first the second's time, and
then says that both are done. So it is told the first, and the second once something came of
that, as if it had been said then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from vivavoce.brain.llama.guessing.descriptions import Told, held, questions, told
from vivavoce.language.en.answers import corrects, dismisses
from vivavoce.language.en.mentions import (
    FINDERS,
    asks_for,
    leaves_days_open,
    only_time,
    requests_in,
)
from vivavoce.language.en.words import foreign
from vivavoce.wire.brain import Ask, Call, Result, Said, Tool, Turn
from vivavoce.wire.values import Value

_TURNS = 12
_TEXT = 2_000
_SHORT = 8
_SAYINGS, _LAST, _RUN = 4, 300, 7
_STOPS = ".,:;'’-"
_PIECES = re.compile(r"\band\b|[,;!?]", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9'’:.-]*")
_QUESTIONS = re.compile(r"[^.!?]*\?")
_FAILED = re.compile(r'"(?:success"\s*:\s*false|error"\s*:\s*["{])')
_LATELY = 600
DONE = "That's done. "
"""Said before a question for the next."""
_MOST = 3


class Evidence(Value):
    """What has been said and not been used, and what was asked already."""

    said: frozenset[str] = frozenset()
    asked: frozenset[str] = frozenset()
    vague: frozenset[str] = frozenset()
    """Said, and still worth a question."""
    words: str = ""
    """A pattern of what can be said with the user's own; none where it may be anything."""


def evidence(turns: Sequence[Turn], tools: Sequence[Tool]) -> Evidence:
    """From the last things said: since the call before, and what that was called for."""
    lately = recent(turns)
    words = [turn.text for turn in lately if isinstance(turn, Said) and turn.role == "user"]
    used = _used(lately, {tool.name: told(tool) for tool in tools})
    heard = {kind: sum(len(find(text)) for text in words) for kind, find in FINDERS.items()}
    said = {kind for kind in heard if heard[kind] > used.get(kind, 0)}
    elsewhere = foreign(" ".join(words)[-_TEXT:])
    if elsewhere:
        said = set(FINDERS)
    before = [t.text for t in lately if isinstance(t, Said) and t.role == "assistant"][-1:]
    last = [one for text in before for one in _QUESTIONS.findall(text[-_LATELY:])[-1:]]
    asked = {kind for question in last for kind in asks_for(question)}
    open_ = {"repeat"} if leaves_days_open(" ".join(words)) else set[str]()
    own = "" if elsewhere else own_words(words)
    return Evidence(frozenset(said), frozenset(asked), frozenset(open_), own)


def own_words(words: Sequence[str]) -> str:
    """A pattern of what they said, in pieces as they said it: "Sunday" becomes no "Sunday at 7"."""
    parts = (part for text in words[-_SAYINGS:] for part in _PIECES.split(text[-_LAST:]))
    said = [_WORD.findall(part) for part in parts]
    starts = (one[at : at + _RUN] for one in said for at in range(len(one)))
    piece = "|".join(dict.fromkeys(_run(start) for start in starts))
    return f"({piece})( (and )?({piece})){{0,2}}" if piece else ""


def _run(words: Sequence[str]) -> str:
    """The first of them, or the first two, and so on."""
    first, *more = words
    bare = first.strip(_STOPS)
    forms = dict.fromkeys(map(re.escape, (bare, bare.lower(), *([first] if "." in bare else ()))))
    head = f"({'|'.join(forms)})" if len(forms) > 1 else "".join(forms)
    return f"{head}( {_run(more)})?" if more else head


def dismissed(turns: Sequence[Turn]) -> bool:
    """Has the user just let it go? Then there is nothing to submit."""
    last = turns[-1] if turns else None
    return isinstance(last, Said) and last.role == "user" and dismisses(last.text)


def corrected(turns: Sequence[Turn]) -> bool:
    """Does the user take back the time, the place or the days of what was just done?"""
    match turns[-3:]:
        case [Result(_, output), Said("assistant", _), Said("user", text)]:
            return not failed(output) and (corrects(text) or only_time(text)) and _says(text)
        case _:
            return False


def answered(turns: Sequence[Turn], tools: Sequence[Tool]) -> Tool | None:
    """Who asked: the answer to a tool's question, if it is one, is for that tool."""
    match turns[-2:]:
        case [Said("assistant", asked), Said("user", text)] if len(text.split()) <= _SHORT:
            for tool in tools if _says(text) else ():
                if any(asked.rstrip().endswith(one) for one in questions(tool).values()):
                    return tool
    return None


def _says(text: str) -> bool:
    """Any time, place or repetition."""
    return any(find(text) for find in FINDERS.values())


def recent(turns: Sequence[Turn]) -> Sequence[Turn]:
    """From what the user said that led to the last call which did something."""
    start = 0
    results = {t.call_id: t.output for t in turns if isinstance(t, Result)}
    asked = 0
    for index, turn in enumerate(turns):
        if isinstance(turn, Said) and turn.role == "user":
            asked = index
        elif isinstance(turn, Call) and not failed(results.get(turn.call_id, "")):
            start = asked
    return turns[start:][-4 * _TURNS :]


def _used(turns: Sequence[Turn], tools: Mapping[str, Sequence[Told]]) -> dict[str, int]:
    """How many of each kind went into calls."""
    results = {t.call_id: t.output for t in turns if isinstance(t, Result)}
    used: dict[str, int] = {}
    for turn in turns:
        if isinstance(turn, Call) and not failed(results.get(turn.call_id, "")):
            for one in tools.get(turn.name, ()):
                used[one.kind] = used.get(one.kind, 0) + (f'"{one.name}"' in turn.arguments)
    return used


def failed(output: str) -> bool:
    return _FAILED.search(output[:2_000]) is not None


# --- One wish at a time


def one_by_one(ask: Ask) -> Ask:
    """Only where tools leave things to the user, and none of them is demanded."""
    if ask.tool_choice != "auto" or not any(map(held, ask.tools)):
        return ask
    return replace(ask, turns=tuple(_untangled(ask.turns)))


def goes_on(ask: Ask) -> bool:
    """Has something just come of the first wish, and the next is to be told?"""
    return isinstance(ask.turns[-1] if ask.turns else None, Result) and isinstance(
        one_by_one(ask).turns[-1], Said
    )


def _untangled(turns: Sequence[Turn]) -> Iterator[Turn]:
    waiting: list[str] = []
    for turn in turns:
        match turn:
            case Said("user", text):
                first, *more = requests_in(text)
                waiting = [*waiting, *more][:_MOST]
                yield replace(turn, text=first) if more else turn
            case Result(_, output) if waiting and not failed(output):
                yield turn
                yield Said("user", waiting.pop(0))
            case _:
                yield turn
