"""A written session whose client reads the answers out: what is sounding, what was heard, and what
the model goes on from."""

from __future__ import annotations

from tests.session.scene import Scene, message, sent, told
from vivavoce.session.aloud import OVERHEARD, PATIENCE
from vivavoce.session.effects import Confirm, Resolve, Speak, StartTimer, StopTimer
from vivavoce.session.events import (
    ApprovalAsked,
    ApprovalSettled,
    Interrupted,
    Overheard,
    Spoken,
    TimerFired,
    TypedText,
)
from vivavoce.session.policy import Policy
from vivavoce.wire.events import SessionStatus, TranscriptionCompleted
from vivavoce.wire.realtime import facts as rt
from vivavoce.wire.realtime.client import CancelResponse, CreateItem, CreateResponse, DeleteItem

WORDS = "The battery is full. You can go now."


def scene(policy: Policy | None = None) -> Scene:
    return Scene(policy or Policy(aloud="answers", one_connection=True)).connect()


def written(response: str, item_id: str, text: str, *, done: bool = True) -> list[rt.ProviderEvent]:
    """An answer in text."""
    events: list[rt.ProviderEvent] = [
        rt.ResponseCreated(response),
        rt.OutputItemAdded(response, message(item_id)),
        rt.ItemAdded(message(item_id), None),
        rt.AssistantDelta(response, item_id, text),
    ]
    if done:
        events += [
            rt.AssistantTranscript(response, item_id, text, spoken=False),
            rt.ResponseDone(response, items=(message(item_id, text=text),)),
        ]
    return events


def asked(one: Scene, text: str = "Hello") -> Scene:
    item_id = f"vvt_{len(one.effects)}"
    one.send(TypedText(item_id, text), rt.ItemAdded(message(item_id, "user", text)))
    return one


def spoken(one: Scene) -> list[tuple[int, str]]:
    return [(e.start, e.text) for e in one.effects if isinstance(e, Speak)]


def states(one: Scene) -> list[str]:
    return [event.state for event in told(one.effects, SessionStatus)]


def last(one: Scene) -> tuple[str, dict[str, object]]:
    entries = sorted(one.entries().values(), key=lambda e: e.ordinal)
    return entries[-1].text, dict(entries[-1].data)


def test_an_answer_is_stored_and_told_before_it_is_handed_over_to_be_read_out() -> None:
    one = asked(scene())
    effects = one.send(*written("r1", "a1", WORDS))
    kinds = [type(e).__name__ for e in effects]
    completed = next(
        at
        for at, e in enumerate(effects)
        if getattr(getattr(e, "event", None), "type", "") == TranscriptionCompleted.type
    )
    assert kinds.index("Record") < completed < kinds.index("Speak")
    assert spoken(one) == [(0, WORDS)]
    assert one.phase == "speaking"
    text, data = last(one)
    assert data["playing"] is True
    assert data["generated"] == WORDS
    assert WORDS.startswith(text)


def test_it_speaks_until_the_client_has_read_it_out_and_then_all_was_heard() -> None:
    one = asked(scene())
    one.send(*written("r1", "a1", WORDS))
    one.wait(2).send(Spoken("a1", 0))
    assert states(one)[-2:] == ["speaking", "ready"]
    text, data = last(one)
    assert text == WORDS
    assert not {"playing", "interrupted", "generated"} & data.keys()


def test_another_answer_waits_until_the_one_before_it_is_read_out() -> None:
    one = asked(scene())
    one.send(*written("r1", "a1", "One."), TypedText("vvt_x", "Go on"))
    one.send(*written("r2", "a2", "Two."))
    assert spoken(one) == [(0, "One.")]
    one.wait(1).send(Spoken("a1", 0))
    assert spoken(one) == [(0, "One."), (0, "Two.")]
    assert one.phase == "speaking"
    one.wait(1).send(Spoken("a2", 0))
    assert one.phase == "ready"


def test_a_piece_that_is_over_already_ends_nothing() -> None:
    one = asked(scene())
    one.send(*written("r1", "a1", "One."))
    assert one.send(Spoken("a0", 0), Spoken("a1", 4)) == []
    assert one.phase == "speaking"


def test_sentences_are_handed_over_while_the_answer_is_made() -> None:
    one = asked(scene(Policy(aloud="sentences", one_connection=True)))
    one.send(*written("r1", "a1", WORDS[:25], done=False))
    assert spoken(one) == [(0, "The battery is full. ")]
    one.wait(1).send(rt.AssistantDelta("r1", "a1", WORDS[25:]))
    one.send(Spoken("a1", 0))
    assert one.phase == "speaking"
    one.send(
        rt.AssistantTranscript("r1", "a1", WORDS, spoken=False),
        rt.ResponseDone("r1", items=(message("a1", text=WORDS),)),
    )
    assert spoken(one) == [(0, "The battery is full. "), (21, "You can go now.")]
    one.wait(1).send(Spoken("a1", 21))
    assert one.phase == "ready"
    assert last(one)[0] == WORDS


def test_what_was_heard_is_told_in_characters_and_is_cut_at_a_word() -> None:
    one = asked(scene())
    one.send(*written("r1", "a1", WORDS))
    one.wait(1).send(Interrupted("a1", characters=13))
    text, data = last(one)
    assert text == "The battery"
    assert (data["interrupted"], data["generated"]) == (True, WORDS)
    assert "estimated" not in data
    assert one.phase == "listening"


def test_without_a_position_it_is_reckoned_and_marked() -> None:
    one = asked(scene())
    one.send(*written("r1", "a1", WORDS))
    one.wait(1).send(Interrupted("a1"))  # fifteen characters a second
    text, data = last(one)
    assert (text, data["estimated"]) == ("The battery is", True)
    other = asked(scene())
    other.send(*written("r1", "a1", WORDS))
    other.wait(5).send(Interrupted("a1", ms=1000))
    assert last(other)[0] == text
    assert last(other)[1]["estimated"] is True


def test_an_interruption_of_the_second_sentence_keeps_the_first() -> None:
    one = asked(scene(Policy(aloud="sentences", one_connection=True)))
    one.send(*written("r1", "a1", WORDS[:25], done=False))
    one.send(rt.AssistantDelta("r1", "a1", WORDS[25:]), Spoken("a1", 0))
    one.send(rt.AssistantTranscript("r1", "a1", WORDS, spoken=False))
    one.send(rt.ResponseDone("r1", items=(message("a1", text=WORDS),)))
    one.wait(1).send(Interrupted("a1", characters=3))
    assert last(one)[0] == "The battery is full. You"


def test_the_model_goes_on_from_what_was_heard() -> None:
    one = asked(scene())
    one.send(*written("r1", "a1", WORDS))
    effects = one.wait(1).send(Interrupted("a1", characters=11))
    (again,) = sent(effects, CreateItem)
    assert again.item["content"][0]["text"] == "The battery"
    assert again.previous_item_id == "a1"
    assert [gone.item_id for gone in sent(effects, DeleteItem)] == ["a1"]


def test_of_an_answer_that_nobody_heard_the_model_knows_nothing() -> None:
    one = asked(scene())
    one.send(*written("r1", "a1", WORDS))
    effects = one.send(Interrupted("a1", characters=0))
    assert sent(effects, CreateItem) == []
    assert len(sent(effects, DeleteItem)) == 1
    assert last(one)[0] == ""


def test_an_interruption_stops_what_is_being_made_and_what_was_to_be_read_out() -> None:
    one = asked(scene())
    one.send(*written("r1", "a1", "One."), TypedText("vvt_x", "Go on"))
    one.send(*written("r2", "a2", "Two, and then", done=False))
    effects = one.wait(1).send(Interrupted("a1", characters=4))
    assert len(sent(effects, CancelResponse)) == 1
    one.send(
        rt.AssistantTranscript("r2", "a2", "Two, and then", spoken=False),
        rt.ResponseDone("r2", "cancelled", items=(message("a2", text="Two, and then"),)),
    )
    assert spoken(one) == [(0, "One.")]
    heard = {e.data["item_id"]: e.text for e in one.entries().values()}
    assert (heard["a1"], heard["a2"]) == ("One.", "")


def test_an_interruption_of_an_answer_that_is_over_changes_nothing() -> None:
    one = asked(scene())
    one.send(*written("r1", "a1", "One."))
    one.wait(1).send(Spoken("a1", 0))
    assert one.send(Interrupted("a1", characters=1)) == []
    assert last(one)[0] == "One."


def test_nothing_is_said_over_a_user_who_speaks_until_they_have() -> None:
    one = scene()
    one.send(Overheard())
    assert one.phase == "listening"
    effects = one.send(TypedText("vvt_1", "Hello"))
    assert len(sent(effects, CreateResponse)) == 1


def test_a_user_who_began_to_speak_and_did_not_is_not_waited_for_for_ever() -> None:
    one = scene()
    (timer,) = [e for e in one.send(Overheard()) if isinstance(e, StartTimer)]
    assert timer.name == OVERHEARD
    one.send(TimerFired(OVERHEARD))
    assert one.phase == "ready"


def test_a_user_who_says_nothing_after_all_is_not_waited_for() -> None:
    one = scene()
    effects = one.send(Overheard(), Overheard(over=True))
    assert one.phase == "ready"
    assert StopTimer(OVERHEARD) in effects
    one = asked(scene())
    one.send(*written("r1", "a1", WORDS))
    assert one.send(Overheard(over=True)) == [StopTimer(OVERHEARD)]
    assert one.phase == "speaking"


def test_an_answer_that_could_not_be_spoken_was_read() -> None:
    one = asked(scene())
    one.send(*written("r1", "a1", WORDS), Spoken("a1", 0, failed=True))
    text, data = last(one)
    assert text == WORDS
    assert "interrupted" not in data
    assert one.phase == "ready"


def test_a_client_that_never_says_so_is_taken_to_have_read_it_out() -> None:
    one = asked(scene())
    effects = one.send(*written("r1", "a1", WORDS))
    assert PATIENCE in [e.name for e in effects if isinstance(e, StartTimer)]
    one.wait(60).send(TimerFired(PATIENCE))
    text, data = last(one)
    assert (text, data["estimated"]) == (WORDS, True)
    assert one.phase == "ready"


def test_a_request_for_a_yes_is_read_out_shown_and_answered_in_words() -> None:
    one = scene()
    effects = one.send(ApprovalAsked("apr_1", "May I switch the light on?"))
    assert [e for e in effects if isinstance(e, Confirm)] == [
        Confirm("apr_1", "May I switch the light on?")
    ]
    (wanted,) = sent(one.effects, CreateResponse)
    assert wanted.say == "May I switch the light on?"
    one.send(*written("r1", "a1", "May I switch the light on?"))
    one.wait(2).send(Spoken("a1", 0))
    effects = one.wait(1).send(TypedText("vvt_1", "Yes"))
    assert [e.granted for e in effects if isinstance(e, Resolve)] == [True]
    effects = one.send(ApprovalSettled("apr_1"))
    assert Confirm("apr_1", None) in effects


QUESTION = "May I delete everything there is?"


def questioned(one: Scene, response: str = "r2", item_id: str = "a2") -> Scene:
    one.send(ApprovalAsked("apr_1", QUESTION))
    one.send(*written(response, item_id, QUESTION))
    return one


def granted(one: Scene, words: str = "Yes") -> list[bool]:
    effects = one.send(TypedText(f"vvt_{len(one.effects)}", words))
    return [e.granted for e in effects if isinstance(e, Resolve)]


def puts(one: Scene) -> int:
    """How often the question was to be said."""
    return [e.say for e in sent(one.effects, CreateResponse)].count(QUESTION)


def test_a_yes_to_what_is_being_read_out_is_none_to_a_question_that_waits() -> None:
    one = asked(scene())
    one.send(*written("r1", "a1", "Are you feeling well today?"))
    questioned(one)
    assert spoken(one) == [(0, "Are you feeling well today?")]
    assert granted(one.wait(3)) == []
    one.wait(1).send(Spoken("a1", 0))
    assert spoken(one)[-1] == (0, QUESTION)
    assert granted(one.wait(0.5)) == []
    assert granted(one.wait(1)) == [True]


def test_a_question_that_was_spoken_over_before_it_began_is_put_again() -> None:
    one = asked(scene())
    one.send(*written("r1", "a1", "Are you feeling well today?"))
    questioned(one)
    one.wait(3).send(Interrupted("a1", characters=10))
    assert granted(one.wait(1)) == []
    one.send(*written("r3", "a3", "Fine."), Spoken("a3", 0))
    assert puts(one) == 2


def test_a_question_of_which_too_little_was_heard_is_put_again_and_takes_a_no() -> None:
    for answer, settled in (("Yes", []), ("No", [False])):
        one = questioned(scene(), "r1", "a1")
        one.wait(5).send(Interrupted("a1", characters=3))
        assert granted(one.wait(1), answer) == settled


def test_a_question_that_was_spoken_over_late_enough_is_answered() -> None:
    one = questioned(scene(), "r1", "a1")
    one.wait(2).send(Interrupted("a1", characters=20))
    assert granted(one) == [True]


def test_a_question_that_could_not_be_read_out_was_read_on_the_screen() -> None:
    one = questioned(scene(), "r1", "a1")
    one.send(Spoken("a1", 0, failed=True))
    assert granted(one.wait(0.5)) == []
    assert granted(one.wait(1)) == [True]


def test_a_session_without_such_a_client_reads_nothing_out() -> None:
    one = asked(Scene(Policy(one_connection=True)).connect())
    one.send(*written("r1", "a1", WORDS))
    assert spoken(one) == []
    assert one.phase == "ready"
