"""Which thing is meant."""

from __future__ import annotations

import pytest

from tests.brain.dialogue.talking import CHAT, NOW, ZONE, Talk, begin, fill, move, remind, thing
from vivavoce.brain.dialogue.things import Known, resolve

THINGS = (
    thing("pawel", "Meeting with Paweł", "Thursday at noon"),
    thing("paulina", "Meeting with Paulina", "Thursday at 2 pm"),
    thing("dent", "Dentist", "tomorrow at 9:15 am"),
    thing("bins", "Put the bins out", "tomorrow at 7 pm"),
    thing("car", "Wash the car", "Saturday at 10 am"),
    thing("jb", "Lunch with James Brown", "Friday at 1 pm"),
    thing("vat", "Submit VAT return for Brookes", "Monday at 4 pm"),
)


def known(*view: str, last: tuple[str, ...] = ()) -> Known:
    return Known(THINGS, view, (), last, NOW, ZONE)


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        ("the dentist", ("dent",)),
        ("my dentist appointment", ("dent",)),
        ("the dentist's", ("dent",)),
        ("meeting with Pavel", ("pawel",)),
        ("the one with Pawel", ("pawel",)),
        ("Paulina", ("paulina",)),
        ("the meeting at two", ("paulina",)),
        ("the meeting at noon", ("pawel",)),
        ("washing the car", ("car",)),
        ("the bin thing", ("bins",)),
        ("my lunch", ("jb",)),
        ("lunch with JB", ("jb",)),
        ("the Saturday one", ("car",)),
        ("the thing on Saturday", ("car",)),
        ("what I have tomorrow morning", ("dent",)),
        ("the seven o'clock one", ("bins",)),
        ("the VAT return", ("vat",)),
        ("Brooks", ("vat",)),
    ],
)
def test_one_is_meant(words: str, ids: tuple[str, ...]) -> None:
    assert resolve(words, known()).ids == ids


@pytest.mark.parametrize(
    ("words", "left"),
    [
        ("my meeting", {"pawel", "paulina"}),
        ("the meeting on Thursday", {"pawel", "paulina"}),
        ("the one tomorrow", {"dent", "bins"}),
    ],
)
def test_two_are_left(words: str, left: set[str]) -> None:
    found = resolve(words, known())
    assert not found.ids
    assert set(found.left) == left


@pytest.mark.parametrize("words", ["the plumber", "yoga", "my haircut on Saturday"])
def test_what_is_not_there_is_not_found(words: str) -> None:
    found = resolve(words, known())
    assert found.ids == () or words == "my haircut on Saturday"


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        ("everything tomorrow", ("dent", "bins")),
        ("everything on Thursday", ("pawel", "paulina")),
        ("both meetings", ("pawel", "paulina")),
        ("all my meetings", ("pawel", "paulina")),
        ("whatever there is on Saturday", ("car",)),
        ("all of it", tuple(t.id for t in THINGS)),
    ],
)
def test_a_set_is_meant(words: str, ids: tuple[str, ...]) -> None:
    assert set(resolve(words, known(), many=True).ids) == set(ids)


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        ("the second one", ("bins",)),
        ("the last one", ("car",)),
        ("the last", ("car",)),
        ("the middle one", ("bins",)),
        ("number one", ("dent",)),
        ("the first two", ("dent", "bins")),
        ("the first and the third one", ("dent", "car")),
        ("the latter", ("car",)),
    ],
)
def test_a_place_in_what_was_listed(words: str, ids: tuple[str, ...]) -> None:
    assert resolve(words, known("dent", "bins", "car"), many=True).ids == ids


@pytest.mark.parametrize("words", ["it", "that", "that one", "this one", "the same one"])
def test_pointing_means_what_is_in_view(words: str) -> None:
    assert resolve(words, known("car")).ids == ("car",)
    assert resolve(words, known(last=("jb",))).ids == ("jb",)


def test_pointing_at_several_is_a_question() -> None:
    assert set(resolve("that one", known("car", "jb")).left) == {"car", "jb"}


def test_them_and_both_are_those_in_view() -> None:
    assert resolve("them", known("car", "jb"), many=True).ids == ("car", "jb")
    assert resolve("both", known("car", "jb"), many=True).ids == ("car", "jb")
    assert resolve("both of them", known("car", "jb"), many=True).ids == ("car", "jb")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("meeting", "Please delete the meeting. The one with Paulina must stay."),
        ("the meeting, not the one with Paulina", ""),
        ("my meeting on Thursday", "my meeting on Thursday, but keep Paulina's"),
    ],
)
def test_what_is_to_stay_is_not_meant(words: str, said: str) -> None:
    assert resolve(words, known(), said=said).ids == ("pawel",)


def test_the_rest_of_the_utterance_helps() -> None:
    said = "Paulina is ill, so my meeting has to go"
    assert resolve("my meeting", known(), said=said).ids == ("paulina",)


def test_everything_about_something_is_all_of_it_though_only_that_was_copied() -> None:
    said = "The meetings are called off, so get rid of everything that's about the meeting."
    assert set(resolve("the meeting", known(), many=True, said=said).ids) == {"pawel", "paulina"}
    once = "get rid of the meeting"
    assert resolve("the meeting", known(), many=True, said=once).ids == ()


@pytest.mark.parametrize(
    "said",
    [
        "Yeah, nah, that haircut isn't gonna work, I'm gonna have to shift it.",
        "The haircut's no good for me, I need to move it",
    ],
)
def test_what_has_to_be_moved_is_asked_when(said: str) -> None:
    talk = Talk(thing("cut", "Haircut", "tomorrow at nine"), thing("rent", "Pay rent"))
    assert "Haircut" in talk.says(said, CHAT)
    talk.says("Friday at two in the afternoon", fill(to="Friday at two in the afternoon"))
    assert "Friday" in talk.there["Haircut"]


@pytest.mark.parametrize(
    "said",
    [
        "Gym at six in the bloody morning, who was I kidding? Bin it.",
        "Six in the morning for the gym, never. Scrap it, and no lectures",
    ],
)
def test_what_was_only_told_of_before_it_is_binned_is_what_goes(said: str) -> None:
    talk = Talk(thing("gym", "Gym", "Saturday at 6 am"), thing("rent", "Pay rent"))
    talk.says(said, move(task="gym", to="at six in the morning"))
    assert talk.did == ["delete_task"]
    assert list(talk.there) == ["Pay rent"]


def test_what_hangs_on_the_weather_is_not_deleted_yet() -> None:
    talk = Talk(thing("p", "Picnic", "Sunday at one in the afternoon"))
    talk.says("cancel the picnic if it rains on Sunday", begin("delete", task="the picnic"))
    assert talk.did == []
    assert list(talk.there) == ["Picnic"]


def test_what_is_on_the_list_may_have_a_condition_in_it() -> None:
    talk = Talk()
    talk.says(
        "tomorrow at nine remind me to take a coat if it rains",
        remind(what="take a coat if it rains", when="tomorrow at nine"),
    )
    assert talk.did == ["add_task"]
