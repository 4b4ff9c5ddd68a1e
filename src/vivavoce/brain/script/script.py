"""A script: what to answer to which words. Data, and one decision; no streaming, no clock.

Rules are tried in order, and the first that fits decides. A rule fits when its
pattern is found in what the user said last (or in a tool's output, for a rule
about results), when the tools it calls are offered, and when its templates can
be filled in:

    {text}        what the user said, without its full stop
    {1} {city}    groups of the pattern
    {output}      what the tool returned; {output.error} is a field of its JSON
    {1:number}    "twenty-one" as 21; also {2:operator} and {1:counting}
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vivavoce.brain.ports import Ask, Call, Result, Said
from vivavoce.language.en.numbers import counting, number, operator

ANY = "*"
_SLOT = re.compile(r"\{([A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*)(?::([a-z]+))?\}")
_CASTS: Mapping[str, Callable[[str], object]] = {
    "number": number,
    "operator": operator,
    "counting": counting,
}


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call to make; strings inside `arguments` are templates."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """`when` is a regular expression, found anywhere and in any case."""

    when: str = ""
    result_of: str | None = None
    """About what this tool returned (`*`: any tool); then `when` looks at the output."""
    note: bool = False
    """About a system message at the very end; then `when` looks at that."""
    say: str = ""
    calls: tuple[ToolUse, ...] = ()
    fails: str | None = None
    """The brain breaks with these words, after it said `say`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    rules: tuple[Rule, ...] = ()
    otherwise: str = "You said: {text}."
    silence: str = "Sorry, I didn't catch that."
    """When nothing was understood."""
    opening: str = "Hello."
    """When nobody said anything yet."""
    nudge: str = "I'm still here."
    """When everything is answered already."""
    result: str = "{output}"
    """For a tool's output that no rule is about."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do: say this, then call these, or break."""

    say: str = ""
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    fails: str | None = None


# --- Deciding ---------------------------------------------------------------------


def decide(script: Script, ask: Ask) -> Plan:
    """The answer to the last thing that wants one."""
    offered = () if ask.tool_choice == "none" else tuple(tool.name for tool in ask.tools)
    results = _open_results(ask)
    if results:
        names = {turn.call_id: turn.name for turn in ask.turns if isinstance(turn, Call)}
        plans = [_about(script, names.get(r.call_id, ""), r, offered) for r in results]
        # News that came with them would otherwise never be told.
        return _joined([*plans, noted] if (noted := _noted(script, ask, offered)) else plans)
    if plan := _noted(script, ask, offered):
        return plan
    text = last_words(ask)
    if text is None:
        heard_any = any(isinstance(turn, Said) and turn.role == "user" for turn in ask.turns)
        return Plan(script.nudge if heard_any else script.opening)
    if not text:
        return Plan(script.silence)
    values = {"text": text}
    for rule in script.rules:
        about_words = rule.result_of is None and not rule.note
        if about_words and (plan := _fit(rule, text, values, offered)):
            return plan
    return Plan(_filled(script.otherwise, values))


def _noted(script: Script, ask: Ask, offered: Sequence[str]) -> Plan | None:
    """What a system message at the very end wants."""
    if ask.turns and isinstance(last := ask.turns[-1], Said) and last.role == "system":
        for rule in script.rules:
            if rule.note and (plan := _fit(rule, last.text, {"text": last.text}, offered)):
                return plan
    return None


def last_words(ask: Ask) -> str | None:
    """What the user said and nobody answered, without its full stop; None if nothing waits."""
    for turn in reversed(ask.turns):
        match turn:
            case Said("user", text):
                return text.strip().rstrip(".!?…").rstrip()
            case Said("assistant"):
                return None
            case _:
                pass
    return None


def _open_results(ask: Ask) -> list[Result]:
    """The results at the end of the conversation, in order: nobody spoke about them yet."""
    results: list[Result] = []
    for turn in reversed(ask.turns):
        if isinstance(turn, Result):
            results.append(turn)
        elif isinstance(turn, Call) and results:
            break  # what came before this call led to it
        elif isinstance(turn, Said) and turn.role != "system":
            break
    return results[::-1]


def _about(script: Script, tool: str, result: Result, offered: Sequence[str]) -> Plan:
    values = {"output": result.output}
    for rule in script.rules:
        if rule.result_of in (tool, ANY) and (plan := _fit(rule, result.output, values, offered)):
            return plan
    return Plan(_filled(script.result, values))


def _joined(plans: Sequence[Plan]) -> Plan:
    return Plan(
        " ".join(plan.say for plan in plans if plan.say),
        tuple(call for plan in plans for call in plan.calls),
        next((plan.fails for plan in plans if plan.fails is not None), None),
    )


def _fit(rule: Rule, text: str, values: Mapping[str, str], offered: Sequence[str]) -> Plan | None:
    found = re.search(rule.when, text, re.IGNORECASE)
    if found is None or any(use.name not in offered for use in rule.calls):
        return None
    groups = {str(i): group or "" for i, group in enumerate(found.groups(), start=1)}
    named = {name: group or "" for name, group in found.groupdict().items()}
    known = {**values, **groups, **named}
    try:
        calls = tuple((use.name, _filled_all(use.arguments, known)) for use in rule.calls)
        return Plan(_filled(rule.say, known), calls, rule.fails)
    except ValueError:  # "count to the moon": a group is not what the template needs
        return None


# --- Templates --------------------------------------------------------------------


def slots(template: str) -> list[tuple[str, str | None]]:
    """The names in a template, each with its cast."""
    return [(name, cast or None) for name, cast in _SLOT.findall(template)]


def casts() -> tuple[str, ...]:
    return tuple(_CASTS)


def _filled(template: str, values: Mapping[str, str]) -> str:
    return _SLOT.sub(lambda slot: str(_value(slot, values)), template)


def _filled_all(raw: Any, values: Mapping[str, str]) -> Any:
    """A whole value that is one slot keeps its type: `{1:number}` is a number in JSON."""
    match raw:
        case str():
            alone = _SLOT.fullmatch(raw)
            return _value(alone, values) if alone else _filled(raw, values)
        case Mapping():
            return {key: _filled_all(value, values) for key, value in raw.items()}
        case list() | tuple():
            return [_filled_all(value, values) for value in raw]
        case _:
            return raw


def _value(slot: re.Match[str], values: Mapping[str, str]) -> object:
    name, *path = slot[1].split(".")
    value = values.get(name, "").strip()
    if path:
        value = _dug(value, path)
    return _CASTS[slot[2]](value) if slot[2] else value


def _dug(text: str, path: Sequence[str]) -> str:
    """A field of JSON; nothing where there is none."""
    try:
        found = json.loads(text)
    except ValueError:
        return ""
    for step in path:
        found = found.get(step) if isinstance(found, dict) else None
    if found is None:
        return ""
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
