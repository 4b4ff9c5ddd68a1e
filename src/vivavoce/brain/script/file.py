"""A script from YAML text, with every mistake named by its path.

    rules:
      - when: what time
        call: {current_time: {}}
      - result_of: current_time
        say: "It is {output}."
      - when: say goodbye to (\\w+)
        say: "Goodbye, {1}."
    otherwise: "You said: {text}."

What rules mean is the business of `script`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from vivavoce.brain.script.script import Rule, Script, ToolUse, casts, slots

_WORDS = ("otherwise", "silence", "opening", "nudge", "result")
_RULE = ("when", "result_of", "note", "say", "call", "fail")


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
                uses.append(ToolUse(name, arguments or {}))
    return tuple(uses)


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
    for name, cast in slots(raw):
        if name.split(".")[0] not in known:
            yield f"{where}: nothing is called '{{{name}}}' here"
        if cast is not None and cast not in casts():
            yield f"{where}: '{cast}' is none of {', '.join(casts())}"


def _texts(raw: Any) -> Iterator[str]:
    match raw:
        case str():
            yield raw
        case dict():
            for value in raw.values():
                yield from _texts(value)
        case list():
            for value in raw:
                yield from _texts(value)
