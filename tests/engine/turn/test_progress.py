"""How far what is said has been heard, as our own server is told."""

from __future__ import annotations

import pytest

from tests.engine.turn.scene import ME, Scene
from vivavoce.engine.ports import Position
from vivavoce.engine.turn import facts, orders
from vivavoce.wire.realtime import client

HEARD = "vivavoce.heard"


def saying(*, paced: bool, accounts: bool = True, here: bool = True) -> tuple[Scene, str, str]:
    """An answer of two clauses, a second each; its response and its item."""
    scene = Scene(paced=paced, accounts=accounts)
    scene.machine.state.here = here
    scene.write("Hello.")
    response = scene.respond()
    scene.say(response, "One two. Three four.")
    scene.sound(response, "One two.", 1000)
    scene.sound(response, " Three four.", 1000)
    if paced:
        scene.tell(facts.Playing(response))
    item = str(scene.last("response.output_audio_transcript.delta")["item_id"])
    return scene, response, item


def heard(scene: Scene) -> tuple[str, str]:
    last = scene.last(HEARD)
    return str(last["transcript"]), str(last["state"])


def at(response: str, item: str, ms: int) -> Position:
    return Position(response, item, ms)


def test_nothing_is_heard_before_it_is_played_and_then_word_by_word() -> None:
    scene, response, item = saying(paced=True)
    assert heard(scene) == ("", "playing")
    scene.tell(facts.TimerFired("heard"), position=at(response, item, 600))
    assert heard(scene) == ("One", "playing")
    scene.tell(facts.TimerFired("heard"), position=at(response, item, 1000))
    assert heard(scene) == ("One two.", "playing")
    assert scene.orders(orders.StartTimer)[-1].name == "heard"
    scene.finish(response)
    scene.tell(facts.Played(response), position=at(response, item, 2000))
    assert heard(scene) == ("One two. Three four.", "played")
    assert not any(event["estimated"] for event in scene.all(HEARD))


def test_other_peoples_calls_are_told_nothing_of_it() -> None:
    scene, response, item = saying(paced=True, accounts=False)
    scene.tell(facts.TimerFired("heard"), facts.CallOver(), position=at(response, item, 600))
    assert not scene.all(HEARD)


def test_a_call_that_ends_ends_what_is_said_where_it_was_heard() -> None:
    scene, response, item = saying(paced=True)
    told = scene.tell(facts.CallOver(), position=at(response, item, 1000))
    assert heard(scene) == ("One two.", "cut")
    assert scene.last("conversation.item.truncated")["audio_end_ms"] == 1000
    assert scene.last("response.done")["response"]["status"] == "cancelled"
    assert told.index(HEARD) < told.index("output_audio_buffer.cleared")


def test_where_the_client_plays_it_the_clock_says_how_far_and_that_it_is_an_estimate() -> None:
    scene, _, item = saying(paced=False)
    scene.now += 1.0
    scene.tell(facts.TimerFired("heard"))
    assert heard(scene) == ("One two.", "playing")
    assert scene.last(HEARD)["estimated"] is True
    scene.ask(client.Truncate(item, 600), sender=ME)
    assert heard(scene) == ("One", "cut")
    assert scene.last(HEARD)["estimated"] is False, "the client itself said so"


def test_a_mouth_that_pauses_is_not_taken_for_sound() -> None:
    scene, response, _ = saying(paced=False)
    scene.now += 5.0
    scene.sound(response, " Five six.", 1000)
    scene.tell(facts.TimerFired("heard"))
    assert heard(scene) == ("One two. Three four.", "playing")


def test_what_waits_for_who_plays_it_is_not_heard_before_they_join() -> None:
    scene, response, _ = saying(paced=False, here=False)
    scene.finish(response)
    assert not [o for o in scene.orders(orders.StartTimer) if o.name.startswith("played")]
    scene.now += 30.0
    scene.tell(facts.TimerFired("heard"))
    assert heard(scene) == ("", "playing")
    scene.tell(facts.PeerJoined())
    scene.now += 1.0
    scene.tell(facts.TimerFired("heard"))
    assert heard(scene) == ("One two.", "playing")
    [ending] = [o for o in scene.orders(orders.StartTimer) if o.name.startswith("played")]
    assert ending.seconds == 2.0


def test_of_a_client_that_vanished_nothing_more_counts_as_heard_and_the_answer_is_finished() -> (
    None
):
    scene, response, item = saying(paced=True)
    scene.tell(facts.PeerLost(), position=at(response, item, 600))
    assert heard(scene) == ("One", "cut")
    played = len(scene.orders(orders.Play))
    scene.say(response, " And more.")
    scene.sound(response, " And more.", 500)
    scene.finish(response)
    assert len(scene.orders(orders.Play)) == played, "to nobody"
    assert scene.last("response.output_audio_transcript.done")["transcript"].endswith("And more.")
    assert heard(scene) == ("One", "cut")


def test_what_is_answered_after_that_was_heard_by_nobody() -> None:
    scene = Scene(paced=True, accounts=True)
    scene.tell(facts.PeerLost())
    scene.write("Are you there?")
    response = scene.respond()
    scene.say(response, "Yes.")
    scene.sound(response, "Yes.", 400)
    scene.finish(response)
    assert heard(scene) == ("", "cut")
    assert not scene.orders(orders.Play)


def played(scene: Scene, item: str, ms: int) -> None:
    scene.ask(client.Played(item, ms), sender=ME)  # type: ignore[arg-type]


def test_a_client_that_says_how_far_it_is_is_believed_and_not_the_clock() -> None:
    scene, response, item = saying(paced=False)
    scene.now += 1.0
    played(scene, item, 600)  # its line stuttered
    assert (heard(scene), scene.last(HEARD)["estimated"]) == (("One", "playing"), False)
    scene.now += 5.0
    scene.tell(facts.TimerFired("heard"))
    assert heard(scene) == ("One", "playing")
    scene.finish(response)
    scene.tell(facts.PeerLost())
    assert (heard(scene), scene.last(HEARD)["estimated"]) == (("One", "cut"), False)


def test_such_a_client_is_waited_for_until_it_has_played_all() -> None:
    scene, response, item = saying(paced=False)
    played(scene, item, 900)
    scene.finish(response)
    scene.now += 2.0
    scene.tell(facts.TimerFired(f"played:{response}"))
    assert not scene.all("output_audio_buffer.stopped")
    played(scene, item, 1995)  # samples make no whole milliseconds
    assert heard(scene) == ("One two. Three four.", "played")
    assert scene.last("output_audio_buffer.stopped")["response_id"] == response
    played(scene, item, 2000)
    assert len(scene.all("output_audio_buffer.stopped")) == 1


def test_one_that_stands_still_heard_no_more_than_it_said() -> None:
    scene, response, item = saying(paced=False)
    played(scene, item, 1000)
    scene.finish(response)
    for _ in range(2):
        scene.now += 5.0
        scene.tell(facts.TimerFired(f"played:{response}"))
    assert heard(scene) == ("One two.", "cut")
    assert scene.last("conversation.item.truncated")["audio_end_ms"] == 1000
    assert scene.text_of(item) == "One two."
    assert not scene.machine.state.playing
    played(scene, item, 1200)
    assert heard(scene) == ("One two.", "cut")


def test_only_the_peer_of_our_own_call_may_say_so() -> None:
    frame = '{"type": "vivavoce.played", "item_id": "a", "audio_end_ms": 20}'
    assert client.parse(frame, locked=True) == client.Played("a", 20)
    for others in ({}, {"ours": True}):
        with pytest.raises(client.BadFrame, match="Supported values"):
            client.parse(frame, **others)


def test_what_was_played_after_the_last_sign_of_a_lost_client_was_heard_by_nobody() -> None:
    scene, response, item = saying(paced=False)
    scene.finish(response)
    scene.now += 5.0
    scene.tell(facts.TimerFired(f"played:{response}"))
    assert heard(scene) == ("One two. Three four.", "played"), "by the clock"
    scene.tell(facts.PeerLost(silent=4.0))
    assert heard(scene) == ("One two.", "cut")
    assert scene.last(HEARD)["item_id"] == item


def test_one_that_was_heard_of_until_it_was_lost_heard_what_the_clock_says() -> None:
    scene, response, _ = saying(paced=False)
    scene.finish(response)
    scene.now += 5.0
    scene.tell(facts.TimerFired(f"played:{response}"))
    scene.tell(facts.PeerLost())
    assert heard(scene) == ("One two. Three four.", "played")
