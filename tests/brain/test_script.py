"""A script from YAML: what it says is what runs, and every mistake has its place."""

from __future__ import annotations

import pytest

from tests.brain.asking import answer, ask, brain, returned
from vivavoce.brain.script.script import Script, ScriptError, load

TEXT = r"""
rules:
  - when: what time
    say: One moment.
    call: {current_time: }
  - result_of: current_time
    say: "It is {output}."
  - when: both (\w+)
    call:
      - look: {what: "{1}"}
      - look: {what: "not {1}"}
  - when: nobody said
    note: true
    say: Hello?
  - when: break
    fail: The model is gone.
otherwise: "Pardon, {text}?"
opening: Welcome.
"""


async def test_a_script_from_a_file_is_a_script() -> None:
    script = load(TEXT)
    thinker = brain(script=script)

    assert (await answer(thinker, ask())).text == "Welcome."
    assert (await answer(thinker, ask("Salt."))).text == "Pardon, Salt?"
    asked = await answer(thinker, ask("What time?", tools=("current_time",)))
    assert (asked.text, asked.calls) == ("One moment.", [("current_time", {})])
    assert (await answer(thinker, ask(*returned("current_time", "noon")))).text == "It is noon."
    both = await answer(thinker, ask("Both sides.", tools=("look",)))
    assert both.calls == [("look", {"what": "sides"}), ("look", {"what": "not sides"})]
    assert script.rules[-1].fails == "The model is gone."
    assert script.rules[-2].note


def test_an_empty_list_of_rules_is_a_script_too() -> None:
    assert load("rules: []") == load("rules:") == Script()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("rules: [", "this is not YAML"),
        ("- a", "keys and values here"),
        ("", "keys and values here"),
        ("rulez: []", "rulez: there is no such key"),
        ("rules: 7", "rules: a list is expected"),
        ("rules: [7]", "rules[0]: a rule is keys and values"),
        ("rules: [{when: a, says: b}]", "rules[0].says: there is no such key"),
        (
            "rules: [{when: a, call: {lamp: {room: hall, set: [{on: true}]}}}]",
            "rules[0].call.lamp: the name of an argument was read as True: put it in quotes",
        ),
        ("rules: [{when: a}]", "rules[0]: 'say', 'call' or 'fail' is needed"),
        ("rules: [{say: a}]", "rules[0]: 'when' or 'result_of' is needed"),
        ("rules: [{when: 7, say: a}]", "rules[0].when: text is expected"),
        ("rules: [{when: a, note: 7, say: a}]", "rules[0].note: true or false is expected"),
        ("rules: [{when: '(', say: a}]", "rules[0].when: not a regular expression"),
        ("rules: [{when: a, say: '{1}'}]", "rules[0].say: nothing is called '{1}' here"),
        ("rules: [{when: a, say: '{output}'}]", "nothing is called '{output}' here"),
        ("rules: [{when: a, say: '{text:loud}'}]", "'loud' is none of number"),
        ("rules: [{when: a, call: [look]}]", "rules[0].call: '{tool: {arguments}}' is expected"),
        ("rules: [{when: a, call: {look: 7}}]", "rules[0].call.look: the arguments are"),
        ("rules: [{when: a, call: {look: {b: ['{c}']}}}]", "rules[0].call.look: nothing is called"),
        ("otherwise: '{output}'", "otherwise: nothing is called '{output}' here"),
        ("silence: 7", "silence: text is expected"),
    ],
)
def test_a_mistake_is_named_by_its_place(text: str, problem: str) -> None:
    with pytest.raises(ScriptError) as caught:
        load(text)

    assert problem in str(caught.value)


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(ScriptError) as caught:
        load("{rules: [{when: '('}, {say: a}], mood: good}")

    assert len(caught.value.problems) == 3
