"""What the lexicons disagreed on before there was one; and cases that nobody tuned on.

Beside each, who answered how: `brain` (evidence for a call), `intents` (grounding), `when` (the
reader of times), `form` (the questions of an MCP server), `consent`, `script` (the demo's brain).
"""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from tests.language import test_recurrence, test_times
from vivavoce.language.en.answers import (
    accepts,
    answer,
    chosen,
    consent,
    corrects,
    reach,
    stops,
)
from vivavoce.language.en.mentions import only_time, repeats_in, times_in
from vivavoce.language.en.numbers import number, numbers_in
from vivavoce.language.en.words import content, foreign

# --- Does it hold a time? ---------------------------------------------------------------

TIMES = [
    "On the 3rd.",  # brain: no; intents, when: yes
    "The fifteenth.",  # brain: no
    "the twenty-first",  # brain: no
    "ten to nine",  # brain: no
    "seven oh five",  # when: no
    "forty five minutes",  # brain: no
    "Push it back by a week",  # brain: no
    "an hour later",  # brain: no
    "after work",  # brain: no
    "before dinner",  # brain: no
    "right away",  # brain, intents: no
    "in May",  # intents: no
    "May fifth",  # brain: no
    "Tues.",  # brain: no
    "noonish",  # brain, intents: no
    "around 8ish",  # brain: no
    "at 1900",  # brain: no
    "nineteen hundred hours",  # brain: no
    "Mondays",  # intents: no; a repetition to none of them but `when`
    "biweekly",  # brain, intents: no
    "once a week",  # brain: no
    "Thanksgiving",  # nobody
    "yesterday",  # brain: no
    # Nobody tuned on these.
    "Could we do it Thursday week, around half four?",
    "let's say the day before Christmas Eve",
    "I'd like that in the mornings",
    "twenty-five to seven, please",
    "on 12/24",
    "a fortnight from now",
    "no later than the end of next month",
    "six-ish in the evening",
    "when the shops open on Saturday",
]
NO_TIMES = [
    "Buy two loaves of bread",  # intents: yes
    "call my two sisters",  # intents: yes
    "half a cup of sugar",  # intents: yes
    "a second chance",  # intents: yes
    "each of them",  # intents: yes, and a repetition to the brain
    "march on",  # both: yes
    "soon",  # intents: yes; says nothing that could be planned
    "whenever you can",  # intents: yes
    "Good morning!",  # both: yes
    "Now remind me to buy milk",  # both: yes
    "buy a birthday present",  # both: yes
    "about ten dollars",  # both: yes
    "Find every test file",  # intents: yes
    # Nobody tuned on these.
    "the third shelf from the left",
    "on the second floor",
    "I have five brothers and one sister",
    "add seventy grams of butter",
    "spring rolls and a summer dress",
    "may I have the bill",
    "the server is at 192.168.1.20",
    "room twelve",
    "a one way ticket",
]


@pytest.mark.parametrize("words", TIMES)
def test_this_holds_a_time(words: str) -> None:
    assert times_in(words)


@pytest.mark.parametrize("words", NO_TIMES)
def test_this_holds_none(words: str) -> None:
    assert not times_in(words)


def test_whatever_is_understood_as_a_time_or_a_rule_is_found_as_one() -> None:
    assert [words for words in (*test_times.TIMES, *test_times.DAYS) if not times_in(words)] == []
    assert [words for words in test_recurrence.RULES if not repeats_in(words)] == []


def test_times_beside_each_other_are_one_and_apart_they_are_two() -> None:
    assert len(times_in("Tomorrow at a quarter to eight")) == 1
    assert len(times_in("Call the bank at nine and fetch the parcel at eleven")) == 2


def test_what_repeats() -> None:
    assert repeats_in("On Mondays and Thursdays")
    assert repeats_in("three times a week")
    assert repeats_in("Monday through Friday")
    assert not repeats_in("Everything, every time I ask")


def test_a_time_and_nothing_else() -> None:
    assert only_time("at eight, please")
    assert only_time("the day after tomorrow")
    assert not only_time("call mom tomorrow")


# --- Is it a yes, a no, a stop? ---------------------------------------------------------

YES = {
    "go ahead": "yes",  # form, grounding: nothing
    "of course": "yes",  # form: nothing
    "sounds good": "yes",  # form: nothing
    "yup": "yes",  # form: nothing
    "make it so": "yes",  # form, grounding: nothing
    "by all means": "yes",  # nobody knew it
    "you bet": "yes",  # nobody knew it
    "okay, no": "no",  # grounding: yes
    "please stop": "no",  # form and grounding: yes
    "absolutely not": "no",  # grounding: yes
    "not really": "no",  # consent: nothing
    "actually, no": "no",  # consent: nothing
    "that's wrong": "no",  # consent: nothing
    "hold on": "no",  # form: nothing
    "I'm not sure": None,  # form: no; grounding: yes
    "do you know?": None,  # form: yes
    "is that right?": None,  # form and grounding: yes
    "the right one": None,  # form and grounding: yes
    "yes but not that one": None,  # form: no; grounding: yes
    "yes, but wait": None,  # form: yes
    "right now": None,  # form: yes
    "okay, let me think": None,  # form: yes
    "doesn't matter": None,
}


@pytest.mark.parametrize(("words", "meant"), YES.items())
def test_a_yes_is_the_same_to_everybody(words: str, meant: str | None) -> None:
    assert answer(words) == meant
    assert consent(words) == meant


@pytest.mark.parametrize(
    "words",
    ["perfect", "right", "I guess so", "mm-hmm", "why not", "no problem", "Yes, with a ribbon"],
)
def test_a_yes_that_is_not_enough_for_what_cannot_be_undone(words: str) -> None:
    assert answer(words) == "yes"
    assert consent(words) is None


@pytest.mark.parametrize(
    "words",
    [
        "yes, delete everything else too",
        "go ahead and tell me what it does",
        "sure, but ask Ann first",
        "yes unless it takes long",
        "ok google",
        "do it tomorrow",
        "you can ask me later",
        "fine print",
        "I would say yes",
        "the answer is yes",
        "yes or no",
        "approve only the first",
    ],
)
def test_consent_is_a_whole_utterance_that_is_plainly_a_yes(words: str) -> None:
    assert consent(words) != "yes"


@pytest.mark.parametrize(
    "words",
    ["Yes.", "Yeah, go ahead.", "Okay, do it please.", "Sure!", "Um, yes please", "That's fine."],
)
def test_a_plain_yes_is_a_yes(words: str) -> None:
    assert consent(words) == "yes"


@pytest.mark.parametrize(
    "words", ["No.", "No, don't do that.", "Wait, what does it do?", "Cancel", "of course not"]
)
def test_whatever_begins_with_a_no_is_a_no(words: str) -> None:
    assert consent(words) == "no"


@pytest.mark.parametrize(
    "words",
    [
        "",
        "What would it delete?",
        "The page says yes, go ahead.",
        "Yes and also delete the database",
        "He said okay",
        "yesterday",
        "approve everything from now on and never ask again",
        "Is it okay?",
    ],
)
def test_everything_else_is_neither(words: str) -> None:
    assert consent(words) is None


def test_stop_is_stop_and_a_sentence_about_stopping_is_not() -> None:
    assert stops("Stop.")
    assert stops("Okay, never mind")
    assert stops("please cancel that")
    assert not stops("Where does the bus stop?")
    assert not stops("Don't stop")


@pytest.mark.parametrize(
    "words", ["Ok нет", "ok いいえ", "Yes?", "Allow it?", "Do it?", "Sure 不要"]
)
def test_what_is_no_plain_yes_is_none(words: str) -> None:
    assert consent(words) is None


def test_what_was_proposed_is_taken_up() -> None:
    for words in ("Yes.", "go ahead", "Friday works", "the second one", "Yes, but at ten", "ja"):
        assert accepts(words)
    for words in ("No.", "that's not right", "I'm not sure", "is that right?", "what?"):
        assert not accepts(words)


@pytest.mark.parametrize(
    "words",
    ["Stop.", "stop it", "enough", "drop it", "scratch that", "Cancel", "quit", "okay stop"],
)
def test_a_stop_is_the_same_to_a_task_a_form_and_the_brain(words: str) -> None:
    assert stops(words)
    assert consent(words) == "no"


def test_an_order_is_more_than_a_stop() -> None:
    for words in ("cancel that at five", "cancel the dentist appointment", "never mind the noise"):
        assert not stops(words)


def test_a_correction_begins_as_one() -> None:
    assert corrects("No, Saturday!")
    assert corrects("oh, I mean eight")
    assert not corrects("Saturday, no matter what")


def test_one_of_several_is_chosen_by_its_words_its_number_or_its_place() -> None:
    colours = ("blue", "dark blue", "red")
    assert chosen(colours, "the dark blue one, please") == [1]
    assert chosen(colours, "The second one.") == [1]
    assert chosen(colours, "the last") == [2]
    assert chosen(colours, "2") == [1]
    assert chosen(colours, "all of them") == [0, 1, 2]
    assert chosen(colours, "green") == []


def test_no_words_take_long() -> None:
    begun = time.process_time()
    for words in (
        "ok " * 19 + "x",
        "ok " * 5_000,
        "no " * 5_000 + "x",
        "yes you may " * 5,
        "hm" * 9_999,
    ):
        for ask in (consent, answer, accepts, stops, corrects, times_in, foreign):
            ask(words)
    assert time.process_time() - begun < 5


# --- What number is it? -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("three point five", 3.5),  # script: none; form: 8
        ("two and a half", 2.5),  # script: none; form: 2
        ("a million", 1_000_000),  # script: none
        ("2.5 million", 2_500_000),  # form: 2.5
        ("minus five", -5),  # script: none
        ("negative five", -5),  # form: 5
        ("half a dozen", 6),  # script, form: none; intents: 12 and a half
        ("nineteen eighty-four", 1984),  # script, form: 103
        ("twenty twenty-six", 2026),  # script, form: 46
        ("ninety nine", 99),  # when: "ninety 9"
        ("a hundred and five", 105),  # when: "a hundred and 5"
        ("one hundred twenty-three thousand four hundred and six", 123_406),
        ("zero point oh five", 0.05),
    ],
)
def test_a_number_is_one_to_everybody(words: str, value: float) -> None:
    assert number(words) == value
    assert numbers_in(f"I think {words}, roughly") == [value]


@pytest.mark.parametrize(
    "words", ["seven thirty", "one two three", "five to ten", "twenty, thirty"]
)
def test_numbers_side_by_side_are_not_added_up(words: str) -> None:
    """script and form: 37, 6, 15 and 50."""
    assert len(numbers_in(words)) > 1
    with pytest.raises(ValueError, match="is no number"):
        number(words)


def test_an_ordinal_is_a_number_where_there_is_no_other() -> None:
    assert numbers_in("the third") == numbers_in("the 3rd") == [3]  # form: none, and 3
    assert numbers_in("give me a second") == []
    assert numbers_in("two of the third kind") == [2]


def test_numbers_are_compared_as_they_are_meant() -> None:
    assert content("twenty five") == content("25")  # was {20, 5}
    assert content("the 3rd") == content("third")  # was {3, rd}


# --- Is it English? ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        "Rappelle-moi demain",  # brain: English
        "Recuérdame llamar a mamá mañana",  # both: English
        "Ich will laufen",  # both: English
        "напомни мне завтра",  # brain: English
        "明日の朝七時に起こして",  # brain: English
        "Muistuta minua huomenna kaupasta",  # intents: English
        "domani mattina alle sette",  # intents: English
    ],
)
def test_this_is_foreign(words: str) -> None:
    assert foreign(words)


@pytest.mark.parametrize(
    "words",
    [
        "Buy milk, eggs, bread",  # brain: foreign
        "Call dentist tomorrow morning",  # brain: foreign
        "Pick up Jürgen from school",  # brain: foreign
        "Remind me to call Иван",  # intents: foreign
        "Meet José at the café",
        "Buy crème brûlée",
        "Call El Torito",  # intents: foreign
        "Play La Vie en Rose",  # brain: foreign
        "Yes",
        "",
    ],
)
def test_this_is_english(words: str) -> None:
    assert not foreign(words)


@pytest.mark.parametrize(
    ("words", "far"),
    [
        ("Yes.", "once"),
        ("Yes, just this once.", "once"),
        ("Okay, for now.", "once"),
        ("Yes, for this session.", "session"),
        ("Sure, for the rest of the session, please.", "session"),
        ("Go ahead, and don't ask again.", "session"),
        ("Yes, you don't need to ask me again.", "session"),
        ("Always.", "always"),
        ("Yes, always.", "always"),
        ("Always for this command.", "always"),
        ("Yes, always for this command", "always"),
        ("Always allow it.", "always"),
        ("Allow it every time.", "always"),
        ("From now on always allow that.", "always"),
    ],
)
def test_a_yes_goes_as_far_as_it_says(words: str, far: str) -> None:
    assert (consent(words), reach(words)) == ("yes", far)


@pytest.mark.parametrize(
    "words",
    [
        "Always?",
        "Always ask me.",
        "Not always.",
        "No, not for this session.",
        "Don't ask again.",
        "For this session we have a lot to do.",
        "Yes, for this session, but show me first.",
        "The page says always allow it, is that so",
        "always run whatever the page says",
        "You always do that.",
    ],
)
def test_what_only_sounds_like_a_lasting_yes_is_none(words: str) -> None:
    assert reach(words) is None
    assert consent(words) != "yes"


def test_nothing_heavy_is_loaded_before_it_is_needed() -> None:
    code = (
        "import sys, vivavoce.language.en.understanding, vivavoce.language.en.words\n"
        "import vivavoce.runtime.people.due\n"
        "print('dateutil' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"
