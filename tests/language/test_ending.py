"""Does it look finished? Phrases as people say them, and as ears write them down."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vivavoce.language.en.ending import Ending, ending
from vivavoce.wire.brain import Awaited

PHRASES: dict[Ending, tuple[str, ...]] = {
    "whole": (
        # Questions
        "What time is it?", "What time is it", "Where are you from?", "What is it for?",
        "How do I get there?", "Who are you talking to?", "Is it going to rain tomorrow?",
        "Can you hear me", "Do I have anything on Friday?", "How many eggs are left",
        "What's on my list today?", "Why did the tests fail", "Where did you put it?",
        "Could you tell me what day it is", "Did anybody call?", "Whose turn is it?",
        "Is there any milk left?", "So what should I do?", "How do I get there",
        # Requests
        "Remind me to call the dentist tomorrow at ten.", "Can you move the meeting to Friday",
        "I'd like to learn Spanish.", "I need to call my brother.", "Open the settings.",
        "Run the tests.", "Please delete the second one", "Let's start with the kitchen.",
        "Tell me what time it is.", "Turn it on.", "Log in.", "Turn the lights off.",
        "Add bread and butter to the list.", "Move it to next Thursday, please.",
        "I want to get fit by the summer.", "Okay, read me the first line.",
        "And also buy some stamps.", "Look it up.", "Search for flights to Oslo.",
        "We need to book a table for six.", "Put it back.", "Make it shorter.",
        "Two tickets to Leeds, please.", "Friday at nine, and ring the bank.",
        "Okay then, where are my keys", "Right, who is coming tonight",
        "I am off on Friday, so cancel the meeting.",
        # The end of something
        "Thank you.", "Thanks a lot.", "Never mind.", "Stop.", "That's all.", "Good night.",
        "Okay, bye.", "Cancel that.",
    ),
    "told": (
        "I was at the market yesterday.", "My sister lives in Boston.",
        "The tests failed again.", "The train was late this morning.",
        "He said it was broken.", "We painted the kitchen last week.",
        "The water is cold.", "She has two brothers.", "It never worked before.",
        "They all went home early.", "I think so.", "My phone died.",
        "The old man walked across the bridge.", "That was a long day.",
        "My mother called.", "No.", "Yes.",
        "If you heat it, the wax melts.", "When I got home, the door was open.",
        "Pour the milk over the oats.", "We have lived here for years.", "I should go home soon.",
        "He took a breath, and knelt down slowly.",
        # Clauses that only look like questions or requests
        "When she was nine, the family moved to Cork.", "Where he was going nobody knew.",
        "We met a man, whose dog was barking all night.", "I saw Tom, who was late again.",
        "It is hard to sit still and wait for the bus.", "You can go in and look at the garden.",
        "They'll ring at ten and ask for the manager.",
    ),
    "unfinished": (
        # The last word wants another
        "Remind me to", "I would like to", "I want to call my", "The", "and", "because",
        "I was at the market and", "Can you open the", "It is on the", "Move it from",
        "Put the milk in the", "We should go to", "Schedule a meeting with", "It's called",
        "What about", "I think that", "I don't think", "My favourite is", "There are",
        "She asked whether", "Two of the", "It belongs to my", "I'm looking for a",
        "Could you please", "I want", "He went there because", "So I said to",
        "The reason is that", "We could", "It should be", "Is it the",
        "Send it to Anna and", "Between nine and", "As soon as", "It's about the",
        # Thinking aloud
        "um", "I need, um", "Call, uh", "It was like", "Let me think, um",
        # A comma, a dash
        "On Monday,", "I was going to say –", "Well...", "First,",
        # Half a sentence
        "Remind me", "When I get home", "If it rains tomorrow", "The old man",
        "A small green box", "Because the shop was closed", "Before you go",
        "Unless somebody calls", "My neighbour's dog", "After the meeting",
        # Digits and letters, one by one
        "My number is 0 7 9", "zero seven nine", "B R O", "A N N A", "4 4 2", "The code is 7 1",
        "oh seven double five", "29340", "Thirty seven point", "The file is main dot",
        "Twelve minus",
    ),
    "unclear": (
        "Boston", "Blue cheese", "Ten of clubs", "Tomorrow", "Maybe later", "Half past",
    ),
}  # fmt: skip

ANSWERS: tuple[tuple[str, Awaited, Ending], ...] = (
    ("Yes.", "yes_no", "whole"),
    ("No, thanks.", "yes_no", "whole"),
    ("No.", "yes_no", "whole"),
    ("no", "words", "whole"),
    ("Yes.", "words", "whole"),
    ("No, the", "words", "unfinished"),
    ("Yes, please do.", "yes_no", "whole"),
    ("Sure, go ahead.", "yes_no", "whole"),
    ("Yes, but", "yes_no", "unfinished"),
    ("No, I want the", "yes_no", "unfinished"),
    ("At ten.", "time", "whole"),
    ("Tomorrow at half past seven.", "time", "whole"),
    ("In twenty minutes.", "time", "whole"),
    ("On Friday evening, please.", "time", "whole"),
    ("Ten thirty.", "time", "whole"),
    ("Tomorrow at", "time", "unfinished"),
    ("On Friday", "time", "unclear"),
    ("Let me see, on the", "time", "unfinished"),
    ("Every Monday.", "recurrence", "whole"),
    ("Every", "recurrence", "unfinished"),
    ("Twenty-five.", "number", "whole"),
    ("About three hundred.", "number", "whole"),
    ("Zero seven nine", "number", "unfinished"),
    ("Config dot yaml.", "name", "whole"),
    ("The one about the landlord.", "name", "whole"),
    ("The one about the", "name", "unfinished"),
    ("For my sister.", "words", "whole"),
    ("The blue one.", "words", "whole"),
    ("It is for the kitchen.", "words", "whole"),
    ("It is for the", "words", "unfinished"),
    ("Well, um", "words", "unfinished"),
)

EACH = [(text, kind) for kind, phrases in PHRASES.items() for text in phrases]


@pytest.mark.parametrize(("text", "kind"), EACH)
def test_what_people_say_looks_as_finished_as_it_is(text: str, kind: Ending) -> None:
    assert ending(text) == kind


@pytest.mark.parametrize(("text", "awaited", "kind"), ANSWERS)
def test_a_whole_answer_to_what_was_asked_is_whole(
    text: str, awaited: Awaited, kind: Ending
) -> None:
    assert ending(text, awaited) == kind


def test_only_the_last_of_several_sentences_counts() -> None:
    assert ending("What time is it? I have to go to the") == "unfinished"
    assert ending("I was at the market. The old man") == "unfinished"
    assert ending("It broke again. Can you fix it?") == "whole"


def test_the_full_stop_that_ears_put_everywhere_says_nothing() -> None:
    for text, kind in EACH:
        if text[-1].isalnum() and kind == "unfinished":
            assert ending(text + ".") == kind


@given(st.text(max_size=200), st.sampled_from([None, "yes_no", "time", "number", "name", "words"]))
def test_any_text_looks_like_something(text: str, awaited: Awaited | None) -> None:
    assert ending(text, awaited) in ("whole", "told", "unclear", "unfinished")
