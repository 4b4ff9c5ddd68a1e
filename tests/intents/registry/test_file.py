"""What is wrong with an `intents.yaml` is told with its line and what would be right."""

from __future__ import annotations

from pathlib import Path

import pytest

from vivavoce.intents.registry.intents import IntentRegistry, check_tools, load_intents
from vivavoce.runtime.agents.yaml_file import FileProblems

ONE = """\
intents:
  - name: submit_it
    route: IT
    description: It.
    parameters:
      - name: what
        required: true
      - name: how
        enum: [slow, quick]
      - name: when
"""


def file(tmp_path: Path, said: str) -> Path:
    (tmp_path / "intents.yaml").write_text(said, encoding="utf-8")
    return tmp_path


def complaints(folder: Path) -> list[str]:
    with pytest.raises(FileProblems) as caught:
        load_intents(folder)
    return [problem.replace(f"{folder}/", "") for problem in caught.value.problems]


def test_a_small_file_is_enough(tmp_path: Path) -> None:
    [intent] = load_intents(file(tmp_path, ONE)).definitions
    assert (intent.name, intent.route, intent.required) == ("submit_it", "IT", ("what",))
    assert intent.check({"what": "ab", "how": "slow"}) == {"what": "ab", "how": "slow"}


def test_everything_can_be_said(tmp_path: Path) -> None:
    said = """\
intents:
  - name: rate-it
    route: RATE
    description: >
      Rate
      it.
    url: https://api.example.org/ratings
    parameters:
      - {name: stars, type: integer, required: true, minimum: 1, maximum: 5}
      - {name: tags, type: array, enum: [food, place], max_length: 2}
      - {name: share, type: boolean}
      - {name: "with", type: string, required_when: {share: true}, grounded: true}
      - {name: at, slot: when, grounded: true, kind: time, ask: true, pattern: "[0-9]"}
      - {name: mood, enum: [good, bad], called: {good: [fine, lovely]}, slot: how}
      - {name: whom, type: string, kind: thing, of: task, many: true, questions: ["Whom, {name}?"]}
      - {name: kind, type: string, derived: {whom: person, at: hour}, enum: [person, hour]}
      - {name: place, ask: until_said, ask_unless: [at], questions: ["Where?"]}
      - {name: notes, slot: false}
    wish: rate
    about: they rate it
    careful: true
    confirm: ["Rated, {title}."]
    examples:
      - {said: Five stars, slots: {stars: Five}}
      - {said: My mom, asked: "With whom then?", slots: {with: My mom}}
      - {said: it was fine, things: ["Lunch, today"], slots: {how: fine}}
"""
    [intent] = load_intents(file(tmp_path, said)).definitions
    assert (intent.url, intent.description) == ("https://api.example.org/ratings", "Rate it.")
    assert [example.said for example in intent.examples] == ["Five stars", "My mom", "it was fine"]
    assert intent.hint().slots["mood"].choices == {"good": ("fine", "lovely"), "bad": ()}
    assert "notes" not in intent.hint().slots
    assert [p.name for p in intent.parameters if p.grounded] == ["with", "at"]
    assert intent.missing({"stars": 3, "share": True})[0].name == "with"


def test_the_example_of_the_docs_is_one(tmp_path: Path) -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "intents.md"
    said = page.read_text(encoding="utf-8").split("```yaml\n")[1].split("```")[0]
    [intent] = load_intents(file(tmp_path, said)).definitions
    assert intent.missing({"stars": 5, "reply": True})[0].name == "mail"


def end(extra: str) -> str:
    """`ONE` with more keys of its last parameter, from line 11 on."""
    return ONE + "".join(f"        {line}\n" for line in extra.splitlines())


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ("intents: []\nx: 1\n", "2: x: there is no such key"),
        ("intents: 5\n", "1: intents: should be a list, and is 5"),
        (
            "intents:\n  - route: A\n    name: a\n",
            "2: intents.0.description: is missing",
        ),
        ("intents:\n  - 5\n", "2: intents.0: should be keys and values, and is 5"),
        (end("requird: true"), "11: intents.0.parameters.2.requird: there is no such key; did you"),
        (end("type: text"), "11: intents.0.parameters.2.type: should be 'string', 'integer', "),
        (end("required: 'yes'"), "11: intents.0.parameters.2.required: should be a valid boolean"),
        (
            ONE.replace("name: submit_it", "name: submit it"),
            "2: intents.0.name: should match ^[A-Za-z0-9_-]{1,64}$, and is 'submit it'",
        ),
        (ONE.replace("route: IT", "route: ''"), "3: intents.0.route: should match"),
        (ONE.replace("name: how", "name: what"), "8: intents.0.parameters.1.name: 'what' is there"),
        (
            end("required_when: {hov: quick}"),
            "11: intents.0.parameters.2.required_when.hov: there is no parameter 'hov'; did you "
            "mean 'how'?",
        ),
        (
            end("required_when: {how: fast}"),
            "11: intents.0.parameters.2.required_when.how: 'how' is never 'fast'; it is one of: "
            "'slow', 'quick'",
        ),
        (end("required_when: {how: on}"), "put it between quotation marks"),
        (end("required_when: {what: 5}"), "'what' is string, and this is 5"),
        (end("required_when: {when: now}"), "should name another parameter"),
        (end("required_when: {how: []}"), "required_when.how: should have a value"),
        (end("required: true\nrequired_when: {how: slow}"), "since it is required always"),
        (
            end("min_length: 5\nmax_length: 2"),
            "11: intents.0.parameters.2.min_length: should be at most max_length, which is 2, "
            "and is 5",
        ),
        (end("type: number\nminimum: 2.5\nmaximum: 1"), "12: intents.0.parameters.2.minimum: "),
        (end("minimum: 1"), "minimum: is for integer and number, and 'when' is string"),
        (end("type: boolean\nenum: [a]"), "enum: is for string and array, and 'when' is boolean"),
        (end("enum: [a, a]"), "enum: has a value twice"),
        (end("enum: [on]"), "enum.0: should be a valid string, and is True"),
        (end("enum: []"), "enum: should have at least 1 item"),
        (end("max_length: 0"), "max_length: should be at least 1"),
        (end("pattern: '['"), "11: intents.0.parameters.2.pattern: should be a regular expression"),
        (end("pattern: '(?=a)b'"), "pattern: should be a regular expression"),
        (end("required: true\nask: true"), "ask: is not needed"),
        (ONE + "    url: ftp://x\n", "11: intents.0.url: should be an http or https address"),
        (ONE + "    url: https://me:pw@x.org\n", "without a user or a password"),
        (
            ONE + "    examples:\n      - {said: Hi, slots: {who: Hi}}\n",
            "12: intents.0.examples.0.slots.who: there is no slot 'who'; did you mean 'how'?",
        ),
        (
            ONE + "    examples:\n      - {said: Hi, slots: {what: bye}}\n",
            "12: intents.0.examples.0.slots.what: should be words of what was said",
        ),
        (ONE + "    examples:\n      - {slots: {what: ab}}\n", "examples.0.said: is missing"),
        (
            ONE + "    examples:\n      - {said: 'Say \"hi\"'}\n",
            "examples.0.said: should match",
        ),
        (end("slot: what"), "slot: 'what' is what 'what' is called already"),
        (end("kind: clock"), "kind: should be 'words', 'time', "),
        (end("type: integer\nkind: time"), "kind: 'time' is for strings, and 'when' is integer"),
        (end("many: true"), "11: intents.0.parameters.2.many: is for a parameter of the kind"),
        (end("called: {a: [b]}"), "called.a: 'a' is no value of its enum"),
        (end("slot: false\nquestions: ['When?']"), "questions: says nothing, since slot is false"),
        (end("ask_unless: [how]"), "ask_unless: is for what is asked for 'until_said'"),
        (end("ask: until_said\nask_unless: [hov]"), "there is no parameter 'hov'; did you mean"),
        (end("derived: {hov: x}"), "derived.hov: there is no parameter 'hov'; did you mean 'how'?"),
        (end("derived: {how: 5}"), "derived.how: 'when' is string, and this is 5"),
        (end("questions: [When]"), "questions.0: should match"),
        (
            end("questions: ['When is {waht}?']"),
            "11: intents.0.parameters.2.questions.0: there is no '{waht}' to be filled in; did "
            "you mean 'what'?",
        ),
        (ONE + "    confirm: ['{']\n", "confirm.0: should "),
        (
            ONE + "    wish: undo\n",
            "11: intents.0.wish: 'undo' is the wish of 'correcting' already",
        ),
        (ONE + "    does: tell\n    url: https://x.org\n", "url: is not for an intent that only"),
        (ONE.replace("submit_it", "amend_intent"), "'amend_intent' is the name of a tool of our"),
    ],
)
def test_a_mistake_is_told_with_its_line_and_what_would_be_right(
    tmp_path: Path, said: str, complaint: str
) -> None:
    [told] = complaints(file(tmp_path, said))
    assert told.startswith("intents.yaml:")
    assert complaint in told


def test_names_that_are_taken_are_told_with_the_line_of_the_first(tmp_path: Path) -> None:
    twice = ONE + ONE.removeprefix("intents:\n")
    assert complaints(file(tmp_path, twice)) == [
        "intents.yaml:11: intents.1.name: 'submit_it' is taken by the intent in line 2"
    ]


def test_one_intents_mistakes_do_not_hide_anothers(tmp_path: Path) -> None:
    said = ONE.replace("name: when", "nme: when") + "  - name: b\n    route: B\n"
    said += "    description: B.\n    parameters:\n      - {name: c, minimum: 1}\n"
    told = complaints(file(tmp_path, said))
    assert [line.split(":")[1] for line in told] == ["10", "10", "15"]


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{b}: &{b} [{','.join(['*' + a] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        (BOMB + "intents: *i\n", "1: there is too much in this file"),
        ("intents: &x [*x]\n", "1: there is too much in this file"),
        ("intents: " + "[" * 1200, "1: it is nested too deeply"),
        ("intents: !!python/object/apply:os.system [ls]\n", "could not determine a constructor"),
        ("intents:\n  - name: 2026-99-99\n", "intents.yaml:1: month must be in 1..12"),
        ("intents:\n  - name: a\n    name: b\n", "3: 'name' is written twice"),
        ("", "1: there should be keys and values here"),
        ("intents: [" + "{name: a}," * 70 + "]\n", "should have at most 64 items"),
    ],
)
def test_a_hostile_file_is_refused_in_one_line(tmp_path: Path, said: str, complaint: str) -> None:
    [told] = complaints(file(tmp_path, said))
    assert complaint in told
    assert len(told) < 300


def test_an_intent_must_not_be_named_like_a_tool_that_is_there(tmp_path: Path) -> None:
    registry = load_intents(file(tmp_path, ONE))
    check_tools(registry, tmp_path, ["bash"])
    with pytest.raises(
        FileProblems, match=r"yaml:2: intents\.0\.name: there is a tool 'submit_it'"
    ):
        check_tools(registry, tmp_path, ["submit_it"])
    check_tools(IntentRegistry(), tmp_path / "nowhere", ["bash"])
