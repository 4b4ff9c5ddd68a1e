"""A call that becomes too long for its model: what goes, what comes in its place, and when."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.session.scene import SESSION, Scene, answer, call, sent, told, user_turn
from vivavoce.language.en.gist import Gist
from vivavoce.session.context import SUMMARY
from vivavoce.session.effects import Effect, Send
from vivavoce.session.events import CallPlaced, CallSurvived, SidebandLost, SidebandUp, ToolFinished
from vivavoce.session.policy import Policy, Window
from vivavoce.session.window import FULL, Held
from vivavoce.wire.events import ContextUpdated
from vivavoce.wire.realtime import client as cmd
from vivavoce.wire.realtime import facts as rt

SMALL = Policy(window=Window(tokens=1_000, fixed=100, turns=3))


def says(scene: Scene, number: int, words: str, usage: rt.Usage | None = None) -> list[Effect]:
    """A turn of the user's and its answer, heard to its end."""
    user, response, item = f"u{number}", f"r{number}", f"a{number}"
    effects = scene.send(*user_turn(user, f"a{number - 1}" if number else None))
    effects += scene.send(rt.UserTranscript(user, words))
    *begins, done = answer(response, item, f"All right, that was number {number}.", user)
    assert isinstance(done, rt.ResponseDone)
    done = rt.ResponseDone(response, items=done.items, usage=usage or rt.Usage())
    effects += scene.send(*begins, done)
    effects += scene.send(rt.PlaybackStopped(response))
    return effects


def confirm(scene: Scene, effects: list[Effect]) -> list[Effect]:
    """The provider says that it is so."""
    out: list[Effect] = []
    for item in sent(effects, cmd.CreateItem):
        made = item.item
        text = " ".join(part.get("text", "") for part in made.get("content", ()))
        fact = rt.Item(made["id"], made["type"], role=made.get("role"), text=text)
        out += scene.send(rt.ItemAdded(fact, None))
    for gone in sent(effects, cmd.DeleteItem):
        out += scene.send(rt.ItemDeleted(gone.item_id))
    return out


def long_talk(scene: Scene, *, usage: bool = True) -> list[Effect]:
    """Until something goes: the effects of that moment."""
    for number in range(200):
        words = "Let's use the blue door." if number == 2 else f"Sentence {number}, " + "w " * 20
        used = rt.Usage(input=100 + number * 30, output=20) if usage else None
        effects = says(scene, number, words, used)
        if sent(effects, cmd.DeleteItem):
            return effects
    raise AssertionError("nothing ever went")


def test_before_the_window_is_full_the_oldest_turns_give_way_to_a_summary() -> None:
    scene = Scene(SMALL).connect()
    effects = long_talk(scene)
    gone = [one.item_id for one in sent(effects, cmd.DeleteItem)]
    assert gone[:2] == ["u0", "a0"]
    (summary,) = sent(effects, cmd.CreateItem)
    assert (summary.previous_item_id, summary.item["role"]) == ("root", "system")
    assert summary.item_id.startswith(SUMMARY)
    assert "Let's use the blue door" in summary.item["content"][0]["text"]
    (updated,) = told(effects, ContextUpdated)
    assert updated.reason == "window"
    assert updated.estimated_tokens <= 600
    commands = [e.command for e in effects if isinstance(e, Send)]
    assert commands.index(summary) < commands.index(sent(effects, cmd.DeleteItem)[0])


def test_without_figures_of_the_provider_it_goes_by_what_it_sent_and_heard() -> None:
    scene = Scene(SMALL).connect()
    assert "u0" in [one.item_id for one in sent(long_talk(scene, usage=False), cmd.DeleteItem)]


def test_another_summary_takes_the_place_of_the_first_and_has_what_that_had() -> None:
    scene = Scene(SMALL).connect()
    effects = long_talk(scene)
    (first,) = sent(effects, cmd.CreateItem)
    confirm(scene, effects)
    again: list[Effect] = []
    for number in range(100, 200):
        used = rt.Usage(input=500 + (number - 100) * 30)
        again = says(scene, number, f"Sentence {number}, " + "w " * 20, used)
        if sent(again, cmd.DeleteItem):
            break
    assert first.item_id in [one.item_id for one in sent(again, cmd.DeleteItem)]
    (second,) = sent(again, cmd.CreateItem)
    assert "Let's use the blue door" in second.item["content"][0]["text"]


@pytest.mark.parametrize("while_", ["answering", "sounding", "speaking", "calling"])
def test_nothing_goes_while_somebody_speaks_or_something_is_under_way(while_: str) -> None:
    scene = Scene(SMALL).connect()
    for number in range(6):
        says(scene, number, "Word " * 20)
    full = rt.Usage(input=950)
    scene.send(*user_turn("u9", "a5"), rt.UserTranscript("u9", "Go on."))
    parts = answer("r9", "a9", "This goes on.", "u9")
    done = rt.ResponseDone("r9", usage=full)
    if while_ == "calling":
        effects = scene.send(rt.ResponseCreated("r9"), call("c9", "r9"), done)
    elif while_ == "speaking":
        effects = scene.send(*parts[:-1], rt.UserSpeechStarted("u10", 0), done)
    elif while_ == "sounding":
        effects = scene.send(*parts[:-1], done)
    else:
        effects = scene.send(*parts[:-1], done, rt.PlaybackStopped("r9"))
        effects = scene.send(*user_turn("u10", "a9"), rt.ResponseCreated("r10"))
        scene.machine.state.talk.held.used(full)
        effects = scene.send(rt.AssistantDelta("r10", "a10", "Well"))
    assert sent(effects, cmd.DeleteItem) == []


def test_results_become_short_before_a_turn_goes_and_stay_beside_their_call() -> None:
    scene = Scene(Policy(window=Window(tokens=2_000, fixed=100, turns=3))).connect()
    scene.send(*user_turn("u0"), rt.UserTranscript("u0", "Read it."), rt.ResponseCreated("r0"))
    scene.send(call("c0", "r0"), rt.ResponseDone("r0"))
    effects = scene.send(ToolFinished("c0", "begin " + "x" * 4_000 + " end"))
    (output,) = sent(effects, cmd.CreateItem)
    confirm(scene, effects)
    scene.send(rt.ResponseCreated("r1"), rt.ResponseDone("r1"))
    effects = []
    for number in range(3, 8):
        effects = says(scene, number, "Go on.", rt.Usage(input=1_700))
        if sent(effects, cmd.DeleteItem):
            break
    assert [one.item_id for one in sent(effects, cmd.DeleteItem)] == [output.item_id]
    (short,) = sent(effects, cmd.CreateItem)
    assert (short.item["type"], short.item["call_id"]) == ("function_call_output", "c0")
    assert short.previous_item_id == "f_c0"
    text = short.item["output"]
    assert len(text) < 1_800
    assert (text[:6], text[-4:]) == ("begin ", " end")


def test_what_was_to_go_when_the_sideband_broke_goes_when_it_is_back() -> None:
    scene = Scene(SMALL).connect()
    gone = {one.item_id for one in sent(long_talk(scene), cmd.DeleteItem)}
    scene.wait(10).send(SidebandLost(1006, hung_up=False))
    again = scene.send(SidebandUp())
    assert {one.item_id for one in sent(again, cmd.DeleteItem)} == gone


def test_an_item_that_was_gone_already_is_no_fault() -> None:
    scene = Scene(SMALL).connect()
    first = sent(long_talk(scene), cmd.DeleteItem)[0]
    fault = rt.Fault("item_delete_invalid_item_id", "It is not there.", first.event_id)
    assert scene.send(fault) == []


def test_the_summary_of_a_call_goes_on_from_what_was_told_before_it() -> None:
    scene = Scene(SMALL)
    before = Gist(topic="A house", decisions=("Paint it green.",), turns=9)
    history = (cmd.message_item(f"{SUMMARY}1", "system", "Previous conversation summary: …"),)
    scene.send(CallPlaced("rtc_1", history=history, gist=before))
    confirm(scene, scene.send(SidebandUp()))
    scene.send(rt.Configured(False, {}))
    effects = long_talk(scene)
    assert f"{SUMMARY}1" in [one.item_id for one in sent(effects, cmd.DeleteItem)]
    text = sent(effects, cmd.CreateItem)[0].item["content"][0]["text"]
    assert "Paint it green" in text
    assert "Let's use the blue door" in text


def test_after_a_restart_of_ours_a_call_can_still_become_shorter() -> None:
    scene = Scene(SMALL)
    before = Gist(topic="A house", decisions=("Paint it green.",), turns=9)
    items: Any = (
        cmd.message_item(f"{SUMMARY}1", "system", ""),
        cmd.message_item("vvh_1", "user", "Let's take oak."),
        cmd.message_item("item_1", "assistant", "Oak it is."),
    )
    scene.send(CallSurvived(call_id="rtc_1", items=items, gist=before), SidebandUp())
    scene.send(rt.Configured(False, SESSION))
    effects = long_talk(scene)
    gone = [one.item_id for one in sent(effects, cmd.DeleteItem)]
    assert gone[:3] == [f"{SUMMARY}1", "vvh_1", "item_1"]
    text = sent(effects, cmd.CreateItem)[0].item["content"][0]["text"]
    assert "Paint it green" in text
    assert "Let's take oak" in text


def test_a_model_that_reads_slowly_is_left_with_what_it_can_read_anew() -> None:
    slow = Policy(window=Window(tokens=1_000, fixed=100, again=200, turns=1))
    scene = Scene(slow).connect()
    (updated,) = told(long_talk(scene), ContextUpdated)
    assert updated.estimated_tokens < 400


def test_a_window_that_nobody_knows_is_never_full() -> None:
    scene = Scene().connect()
    for number in range(20):
        effects = says(scene, number, "Word " * 50, rt.Usage(input=10**6))
        assert sent(effects, cmd.DeleteItem) == []


# --- The plan, whatever was said

SAID = st.tuples(st.sampled_from(["say", "tool", "note"]), st.integers(0, 4_000))


def held_of(said: list[tuple[str, int]]) -> Held:
    held = Held()
    for n, (what, size) in enumerate(said):
        held.words(f"u{n}", "user", f"Let's use door {n}. " + "x" * (size // 4))
        if what == "tool":
            held.called(f"f{n}", f"c{n}", "read_file", f'{{"path": "file{n}.py"}}')
            output: Any = cmd.output_item(f"o{n}", f"c{n}", "y" * size)
            held.joined(output)
        elif what == "note":
            held.joined(cmd.message_item(f"n{n}", "system", "Something happened."))
        held.words(f"a{n}", "assistant", "Fine.")
    return held


@settings(deadline=None)
@given(st.lists(SAID, min_size=1, max_size=40), st.integers(500, 20_000), st.integers(1, 12))
def test_what_stays_fits_has_its_pairs_and_its_minimum_and_nothing_is_lost(
    said: list[tuple[str, int]], tokens: int, turns: int
) -> None:
    window = Window(tokens=tokens, fixed=tokens // 10, turns=turns)
    held = held_of(said)
    if not held.full(window):
        return
    trim = held.trim(window)
    if trim is None:
        return
    before = dict(held.parts)
    short = {
        part.item_id: cmd.output_item(f"s{part.item_id}", part.call_id, text)
        for part, text in trim.short
    }
    held.trimmed(trim, short)
    parts = list(held.parts.values())
    calls = [part.call_id for part in parts if part.sort == "call"]
    assert calls == [part.call_id for part in parts if part.sort == "result"]
    kept = [part for part in parts if part.sort == "user"]
    assert kept[-1].item_id == f"u{len(said) - 1}"
    if len(kept) > 1:
        assert held.total(window.fixed) <= tokens * FULL + 200
    if len(kept) < min(turns, len(said)):  # one more would not have fitted
        first = kept[0].item_id.removeprefix("u")
        more = [p.tokens for p in before.values() if p.item_id[1:] == str(int(first) - 1)]
        assert held.total(window.fixed) + sum(more) > tokens * FULL * 0.5
    gone = {part.item_id for part in before.values()} - set(held.parts)
    for item_id in gone:
        n = item_id[1:]
        if item_id.startswith("u"):
            assert any(one.startswith(f"Let's use door {n}.") for one in trim.gist.decisions)
        if item_id.startswith("f"):
            assert f"file{n}.py" in trim.gist.files
