"""The gist of a talk: what was decided, which files, what is open; and that none of it is lost."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vivavoce.language.en.gist import Gist, Line, gist_of, summary, title_of, told, with_model

WORDS = "alpha bravo carbon delta echo forest garden harbour island jungle kettle lemon".split()  # noqa: SIM905
TALK = (
    Line("user", "Hi there. Can you help me add authentication to the user service?"),
    Line("assistant", "Sure. Shall we use JWT with refresh tokens?"),
    Line("user", "Yes, please."),
    Line("call", "read_file", {"path": "src/auth.py"}),
    Line("result", "class Auth: ..."),
    Line("assistant", "I see auth.py. We still need to implement the token refresh."),
    Line("user", "I prefer short answers. The launch date is March 3rd. What is left?"),
    Line("user", "We need to write the docs later, in docs/auth.md."),
)


def test_it_has_the_structure_that_a_restore_needs() -> None:
    gist = told(Gist(), TALK)
    assert gist.topic == "Can you help me add authentication to the user service?"
    assert gist.title == "Add authentication to the user service"
    assert gist.decisions == (
        "Yes to: Shall we use JWT with refresh tokens?",
        "The launch date is March 3rd.",
    )
    assert gist.files == ("src/auth.py", "docs/auth.md")
    assert gist.open_work == (
        "We still need to implement the token refresh.",
        "We need to write the docs later, in docs/auth.md.",
    )
    assert gist.preferences == ("I prefer short answers.",)


def test_what_is_said_to_be_done_is_not_open_any_more() -> None:
    gist = told(Gist(), [*TALK, Line("assistant", "I've implemented the token refresh.")])
    assert gist.open_work == ("We need to write the docs later, in docs/auth.md.",)


def test_a_question_is_no_decision_and_no_wish() -> None:
    gist = told(Gist(), [Line("user", "Should we use Redis? Do we need to test it?")])
    assert (gist.decisions, gist.open_work) == ((), ())


def test_a_no_to_what_was_proposed_decides_that() -> None:
    lines = [Line("assistant", "Shall I delete it?"), Line("user", "No.")]
    assert told(Gist(), lines).decisions == ("No to: Shall I delete it?",)


ANSWERS = (
    ("What time should dinner be?", "Half past seven."),
    ("Who brings the tent?", "Marco."),
    ("Red or blue?", "Blue."),
    ("Do you want it weekly or monthly?", "Monthly is enough."),
    ("Which size do you need?", "Medium."),
    ("Would you like the red or the white?", "The white, I think."),
    ("Where shall we put the piano?", "Next to the window."),
    ("How many chairs do we need?", "Twelve should do."),
    ("How many guests?", "42."),
)


@pytest.mark.parametrize(("asked", "words"), ANSWERS)
def test_what_was_asked_for_is_settled_by_the_answer_in_however_few_words(
    asked: str, words: str
) -> None:
    lines = [Line("assistant", f"Good. {asked}"), Line("user", words), Line("user", "Thanks.")]
    assert told(Gist(), lines).decisions == (f'{words} (asked: "{asked}")',)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("How are you today?", "Fine, thanks."),
        ("Which one do you want?", "I don't know."),
        ("Which one do you want?", "Which ones are there?"),
        ("What can I do for you?", "Tell me a joke."),
        ("Would you like to hear anything else?", "No."),
        ("Who brings the tent?", "No."),
    ],
)
def test_small_talk_and_what_stays_open_settles_nothing(asked: str, words: str) -> None:
    lines = [Line("assistant", asked), Line("user", words)]
    assert told(Gist(), lines).decisions == ()


def test_of_two_that_differ_the_later_comes_last() -> None:
    said = ("Let's use JWT.", "Let's use cookies instead.", "Let's use JWT.")
    gist = told(Gist(), [Line("user", text) for text in said])
    assert gist.decisions == ("Let's use cookies instead.", "Let's use JWT.")


# Written down before the rules were looked at; half of them were not looked at until the end. What
# others decided, and what is plainly stated, is kept beside decisions: those three are left out.
DECISIONS = (
    "Let's go with Postgres then.",
    "Fine, the blue one.",
    "We'll meet at six instead.",
    "Okay, we take the train and not the car.",
    "Let's keep the old logo.",
    "Then it's Lisbon in October.",
    "I'd rather have the smaller table, so order that one.",
    "No, make it Tuesday.",
    "We're going to drop the newsletter.",
    "I think we should stick with the first draft.",
    "Right, two bedrooms it is.",
    "I'll have the soup, please.",
    "From now on the reports go out on Fridays.",
    "Forget the balcony, we do the kitchen first.",
    "That settles it, we hire Marta.",
    "Okay then, let's paint it green.",
    "We'll use the spare room as the office.",
    "Good, then Thursday works, put us down for that.",
    "I'm taking the job in Leeds.",
    "Alright, no dessert for the kids' party.",
    "Then we call it Harbour House.",
    "We won't renew the contract.",
    "Let's not invite the neighbours this time.",
    "You've convinced me, we'll rent a van.",
    "I want the paper one after all.",
    "So the deadline moves to the ninth.",
    "Great, I choose the second option.",
    "Let's just do pasta tonight.",
    "We're sticking with the Dutch supplier.",
    "Yes, go for the cheaper flight.",
)
NO_DECISIONS = (
    "What would you go with?",
    "Is the blue one any good?",
    "We met at six yesterday.",
    "Let's see what the weather says.",
    "I don't know whether we should take the train.",
    "Maybe we could go with Postgres.",
    "Should we keep the old logo?",
    "It's raining in Lisbon.",
    "Let me think about it.",
    "Can you make it louder?",
    "I haven't decided yet.",
    "If it snows, we might go skiing.",
    "How much is the green one?",
    "I was going to call you yesterday.",
    "Let's hope it stays dry.",
    "We used the spare room last year.",
    "Do you think Thursday would work?",
    "I might take the job in Leeds.",
    "He wants to rent a van.",
    "The contract has twelve pages.",
    "We'll see.",
    "I like the paper one.",
    "Tell me more about the second option.",
    "It depends on the price of the flight.",
    "You could have told me earlier.",
    "Let me know when the pasta is ready.",
    "I'm not sure the Dutch supplier is any good.",
)


@pytest.mark.parametrize("words", DECISIONS)
def test_a_decision_in_ordinary_words_is_one(words: str) -> None:
    [kept] = told(Gist(), [Line("user", words)]).decisions
    assert kept.rstrip(".").casefold() in words.casefold()


@pytest.mark.parametrize("words", NO_DECISIONS)
def test_what_is_asked_in_doubt_imagined_or_past_is_none(words: str) -> None:
    assert told(Gist(), [Line("user", words)]).decisions == ()


# Of two lists that were written down before there were these rules, and answers to questions, they
# find 30 of 40 and 22 of 30 (before, 20 and 4). What is left are notes: what somebody does in the
# present ("Anna handles the invoices") does not say that it was decided.
LAID_DOWN = (
    "Nobody deploys on Fridays.",
    "Every guest gets a name tag.",
    "At most two hours for the whole thing.",
    "No more than three retries.",
    "No phones at the table.",
    "Everything gets stored in UTC.",
    "Green paint, not yellow.",
    "The ceremony in the garden, not in the church.",
    "Grandma has to sit near the door.",
    "It needs to run on Windows as well.",
    "The meeting moves to Wednesday.",
)
NOT_LAID_DOWN = (
    "Nobody told me.",
    "Everything was late.",
    "Every morning I feed the cat.",
    "No idea what that is.",
    "No problem at all.",
    "I have to go now.",
    "It took us three hours, not two.",
    "All of them laughed.",
    "They need to hurry.",
    "Only maybe a few.",
)


@pytest.mark.parametrize("words", LAID_DOWN)
def test_what_holds_from_now_on_is_a_decision_too(words: str) -> None:
    assert told(Gist(), [Line("user", words)]).decisions


@pytest.mark.parametrize("words", NOT_LAID_DOWN)
def test_what_was_so_or_is_so_every_day_is_none(words: str) -> None:
    assert told(Gist(), [Line("user", words)]).decisions == ()


def test_a_doubt_takes_nothing_from_the_decision_beside_it() -> None:
    said = "I wasn't sure about Redis, but we decided to use it, so maybe start there."
    assert told(Gist(), [Line("user", said)]).decisions == (said,)


def test_a_few_words_are_kept_with_what_they_answer() -> None:
    lines = [
        Line("assistant", "The red cover or the blue one?"),
        Line("user", "Fine, the blue one."),
    ]
    [kept] = told(Gist(), lines).decisions
    assert kept == 'Fine, the blue one. (asked: "The red cover or the blue one?")'


def test_in_parts_or_at_once_it_is_the_same() -> None:
    at_once, parts = told(Gist(), TALK), Gist()
    for line in TALK:
        parts = gist_of(json.loads(json.dumps(told(parts, [line]).to_json())))
    assert parts == at_once


def test_whatever_is_stored_is_read() -> None:
    odd: list[object] = [None, 7, [], {"decisions": "x", "turns": "y", "files": 3}]
    assert [gist_of(one) for one in odd] == [Gist()] * 4
    assert gist_of({"files": [1, "a.py"], "upto": 3}) == Gist(files=("a.py",), upto=3.0)


def test_a_title_is_what_it_is_about() -> None:
    assert title_of("Hello, could you please tell me about the history of tea?") == (
        "The history of tea"
    )
    assert title_of("Let's plan my trip to Rome.") == "Plan my trip to Rome"
    assert title_of("Hi") == "Hi"
    assert len(title_of("word " * 60)) <= 60


@given(
    st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(WORDS)), max_size=60, unique=True),
    st.lists(st.sampled_from(WORDS), max_size=12, unique=True),
)
def test_no_decision_file_or_open_work_is_lost_where_there_is_room(
    pairs: list[tuple[str, str]], names: list[str]
) -> None:
    lines = [Line("user", f"Let's use {one} with {two}.") for one, two in pairs]
    lines += [Line("call", "read_file", {"path": f"src/{name}.py"}) for name in names]
    lines += [Line("user", f"We still need to paint the {name}.") for name in names]
    lines += [Line("assistant", "Fine.")]
    gist = told(Gist(), lines)
    text = summary(gist, 20_000)
    assert all(f"Let's use {one} with {two}" in text for one, two in pairs)
    assert all(f"src/{name}.py" in text for name in names)
    assert all(f"paint the {name}" in text for name in names)
    # In less room each of them is there too, in fewer letters.
    if (least := 200 + 48 * (len(pairs) + 2 * len(names))) < len(text):
        tight = summary(gist, least)
        assert all(f"Let's use {one} with {two}"[:38] in tight for one, two in pairs)
        assert all(f"src/{name}.py" in tight for name in names)


@given(st.lists(st.text(max_size=300), max_size=30), st.integers(0, 3000))
def test_a_summary_is_never_longer_than_its_room(said: list[str], chars: int) -> None:
    gist = told(Gist(), [Line("user", f"Let's say {text}.") for text in said])
    assert len(summary(gist, chars)) <= chars


def test_what_does_not_fit_at_all_is_said_to_be_left_out() -> None:
    gist = told(Gist(), [Line("user", f"Let's use part number {n}.") for n in range(500)])
    text = summary(gist, 2_000)
    assert "part number 0;" in text
    assert "part number 499" in text
    assert "more are left out here" in text


# --- With a model


def test_a_model_adds_and_takes_nothing_away() -> None:
    gist = told(Gist(), TALK)
    said = "user: add login to the user service. We picked tokens that expire after an hour."
    offered = {
        "title": "Login for the user service",
        "topic": "Adding login to the user service",
        "decisions": ["Tokens expire after an hour"],
        "open_work": [],
    }
    better = with_model(gist, offered, said)
    assert better.title == "Login for the user service"
    assert set(gist.decisions) < set(better.decisions)
    assert "Tokens expire after an hour" in better.decisions
    assert (better.open_work, better.files) == (gist.open_work, gist.files)


def test_what_a_model_makes_up_is_not_taken() -> None:
    gist = told(Gist(), TALK)
    offered = {"title": "Quarterly revenue", "decisions": ["Fire the whole sales team"], "topic": 3}
    assert with_model(gist, offered, "user: add login") == gist
