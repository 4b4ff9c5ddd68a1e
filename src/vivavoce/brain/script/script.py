"""A script: what to answer to which words. Data, and one decision; no streaming, no clock.

Rules are tried in order, and the first that fits decides. A rule fits when its
pattern is found in what the user said last (or in a tool's output, for a rule
about results), when the tools it calls are offered, and when its templates can
be filled in:

    {text}        what the user said, without its full stop
    {1} {city}    groups of the pattern
    {output}      what the tool returned; {output.error} is a field of its JSON
    {1:number}    "twenty-one" as 21; also {2:operator} and {1:counting}

As a file it is YAML, and every mistake in it is named by its path:

    rules:
      - when: what time
        call: {current_time: {}}
      - result_of: current_time
        say: "It is {output}."
    otherwise: "You said: {text}."
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

import yaml

from vivavoce.language.en.numbers import counting, number, operator
from vivavoce.wire.brain import Ask, Call, Result, Said
from vivavoce.wire.values import Record, Value

ANY = "*"
_SLOT = re.compile(r"\{([A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*)(?::([a-z]+))?\}")
_CASTS: Mapping[str, Callable[[str], object]] = {
    "number": number,
    "operator": operator,
    "counting": counting,
}
DEMO = Path(__file__).with_name("demo.yaml")
"""What the voice says until a language model or another script is configured."""
_WORDS = ("otherwise", "silence", "opening", "nudge", "result")
_RULE = ("when", "result_of", "note", "say", "call", "fail")


class ToolUse(Value):
    """A call to make; strings inside `arguments` are templates."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


class Rule(Record):
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


class Script(Record):
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


class Plan(Value):
    """What to do: say this, then call these, or break."""

    say: str = ""
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    fails: str | None = None


# --- Deciding


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


# --- Templates


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


# --- From YAML


class ScriptError(ValueError):
    """What is wrong with a script, one line a mistake."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def load(text: str) -> Script:
    """Raises `ScriptError`."""
    try:
        raw = yaml.safe_load(text)
    except yaml.YAMLError as exc:
        raise ScriptError([f"this is not YAML: {getattr(exc, 'problem', None) or exc}"]) from None
    problems: list[str] = []
    if not isinstance(raw, dict):
        raise ScriptError(["there should be keys and values here, such as 'rules'"])
    problems += [f"{key}: there is no such key" for key in raw if key not in ("rules", *_WORDS)]
    words = {key: raw[key] for key in _WORDS if key in raw}
    for key, value in words.items():
        known = ("output",) if key == "result" else ("text",) if key == "otherwise" else ()
        problems += _bad_template(value, key, known)
    rules = raw.get("rules") or []
    if not isinstance(rules, list):
        raise ScriptError([*problems, "rules: a list is expected"])
    read = [_rule(rule, f"rules[{i}]", problems) for i, rule in enumerate(rules)]
    if problems:
        raise ScriptError(problems)
    return Script(rules=tuple(rule for rule in read if rule is not None), **words)


def _rule(raw: Any, where: str, problems: list[str]) -> Rule | None:
    if not isinstance(raw, dict):
        problems.append(f"{where}: a rule is keys and values")
        return None
    found = [f"{where}.{key}: there is no such key" for key in raw if key not in _RULE]
    texts = [key for key in ("when", "result_of", "say", "fail") if key in raw]
    found += [f"{where}.{key}: text is expected" for key in texts if not isinstance(raw[key], str)]
    if not isinstance(raw.get("note", False), bool):
        found.append(f"{where}.note: true or false is expected")
    if "when" not in raw and "result_of" not in raw:
        found.append(f"{where}: 'when' or 'result_of' is needed")
    if not {"say", "call", "fail"} & set(raw):
        found.append(f"{where}: 'say', 'call' or 'fail' is needed")
    uses = _uses(raw.get("call"), f"{where}.call", found)
    if not found:
        found += _bad_rule(raw, uses, where)
    problems += found
    if found:
        return None
    return Rule(
        when=raw.get("when", ""),
        result_of=raw.get("result_of"),
        note=raw.get("note", False),
        say=raw.get("say", ""),
        calls=uses,
        fails=raw.get("fail"),
    )


def _uses(raw: Any, where: str, problems: list[str]) -> tuple[ToolUse, ...]:
    """`{name: arguments}`, or a list of them for several calls, even of one tool."""
    if raw is None:
        return ()
    uses: list[ToolUse] = []
    for entry in raw if isinstance(raw, list) else [raw]:
        if not isinstance(entry, dict) or not entry:
            problems.append(f"{where}: '{{tool: {{arguments}}}}' is expected")
            continue
        for name, arguments in entry.items():
            if not isinstance(name, str) or not isinstance(arguments or {}, dict):
                problems.append(f"{where}.{name}: the arguments are keys and values")
            else:
                problems += [f"{where}.{name}: {words}" for words in _no_names(arguments or {})]
                uses.append(ToolUse(name, arguments or {}))
    return tuple(uses)


def _no_names(raw: Any) -> Iterator[str]:
    """YAML reads `on`, `off`, `yes`, `no` and numbers as what they are elsewhere."""
    for key, value in raw.items() if isinstance(raw, dict) else enumerate(raw):
        if isinstance(raw, dict) and not isinstance(key, str):
            yield f"the name of an argument was read as {key}: put it in quotes"
        if isinstance(value, dict | list):
            yield from _no_names(value)


def _bad_rule(raw: Mapping[str, Any], uses: tuple[ToolUse, ...], where: str) -> Iterator[str]:
    try:
        pattern = re.compile(raw.get("when", ""))
    except re.error as exc:
        yield f"{where}.when: not a regular expression: {exc}"
        return
    known = (
        "output" if "result_of" in raw else "text",
        *map(str, range(1, pattern.groups + 1)),
        *pattern.groupindex,
    )
    yield from _bad_template(raw.get("say", ""), f"{where}.say", known)
    for use in uses:
        for template in _texts(use.arguments):
            yield from _bad_template(template, f"{where}.call.{use.name}", known)


def _bad_template(raw: Any, where: str, known: tuple[str, ...]) -> Iterator[str]:
    if not isinstance(raw, str):
        yield f"{where}: text is expected"
        return
    for name, cast in _SLOT.findall(raw):
        if name.split(".")[0] not in known:
            yield f"{where}: nothing is called '{{{name}}}' here"
        if cast and cast not in _CASTS:
            yield f"{where}: '{cast}' is none of {', '.join(_CASTS)}"


def _texts(raw: Any) -> Iterator[str]:
    if isinstance(raw, str):
        yield raw
    elif isinstance(raw, dict | list):
        for value in raw.values() if isinstance(raw, dict) else raw:
            yield from _texts(value)
