"""What reaches the user without having been asked for: results, questions, requests for a yes.

Each piece of news has a key and is told once: as an item of ours, so that the
model knows it, and aloud in the next gap. It counts as told when the sound of
the response that covers it begins. A request for a yes is said word for word,
by us and not by the model, and even while the call that it is about is open.
Requests are put one at a time, and one that something else was said after is
put again: a yes is for what was asked last.
"""

from __future__ import annotations

import math
import re

from vivavoce.language.en.answers import consent, reach, stops
from vivavoce.session import faults
from vivavoce.session.draft import Draft
from vivavoce.session.effects import CancelCalls, Confirm, Resolve, StartTimer, Told
from vivavoce.session.events import (
    ApprovalAsked,
    ApprovalSettled,
    News,
    NewsOver,
    Update,
)
from vivavoce.session.state import Asked, Phase
from vivavoce.session.talk import INTERIM
from vivavoce.wire.realtime.client import message_item

_MOST_UPDATES = 20
_INTO_IT = 800.0
"""Milliseconds of a request: who says yes earlier cannot have heard what it is about."""


def arrived(event: News, draft: Draft) -> None:
    state = draft.state
    if event.settles in state.work.tasks:
        state.work.over(event.settles)
    if event.key in state.work.news:
        return
    item_id = state.item_id(event.key)
    state.work.news[event.key] = item_id
    state.work.untold[event.key] = event
    draft.add_item(message_item(item_id, "system", event.words))
    if event.say:
        state.work.word_for_word[event.key] = event.say
        state.talk.responses.say(event.say, key=event.key)
    else:
        state.talk.responses.wish(item_id)
    draft.active()


def over(event: NewsOver, draft: Draft) -> None:
    """It is not said word for word any more, unless that has begun."""
    if draft.state.work.word_for_word.pop(event.key, None) is not None:
        draft.state.talk.responses.unsay(event.key)


def updated(event: Update, draft: Draft) -> None:
    """No sign of life: nobody is there because of it."""
    work = draft.state.work
    work.updates.pop(event.key, None)
    if any(name.removeprefix("./") in work.files for name in event.files):
        _inform(event.words, draft)  # or it would go on from what is not so any more
    else:
        work.updates[event.key] = event.words
        for oldest in list(work.updates)[:-_MOST_UPDATES]:
            del work.updates[oldest]


def pause(draft: Draft) -> None:
    """What waited for it is told to the model, all at once."""
    updates = draft.state.work.updates
    if updates and draft.state.at_rest and not draft.state.going_over:
        _inform("\n".join(updates.values()), draft)
        updates.clear()


def _inform(words: str, draft: Draft) -> None:
    item_id = draft.state.item_id(f"update:{draft.state.next_id()}")
    if draft.state.going_over:
        draft.state.work.updates[item_id] = words  # the other call is told in its first pause
    draft.add_item(message_item(item_id, "system", words))


def approval_asked(event: ApprovalAsked, draft: Draft) -> None:
    state = draft.state
    if event.approval_id in state.work.approvals:
        return
    state.work.approvals[event.approval_id] = Asked(event.question)
    if state.policy.aloud:
        draft.do(Confirm(event.approval_id, event.question))
    _put_next(draft)
    draft.active()


def _put_next(draft: Draft) -> None:
    """One at a time, or a yes to one would be taken for another."""
    for key, asked in list(draft.state.work.approvals.items())[:1]:
        if not asked.put:
            asked.put = True
            draft.state.talk.responses.say(asked.question, key=key)


def approval_settled(event: ApprovalSettled, draft: Draft) -> None:
    if draft.state.work.approvals.pop(event.approval_id, None) and draft.state.policy.aloud:
        draft.do(Confirm(event.approval_id, None))
    draft.state.talk.responses.unsay(event.approval_id)
    _put_next(draft)


def response_began(response_id: str, draft: Draft) -> None:
    """Which news this response tells."""
    state = draft.state
    covered = state.talk.responses.covered
    keys = tuple(key for key, item_id in state.work.news.items() if item_id in covered)
    if state.talk.responses.said_key in state.work.word_for_word:
        keys = (*keys, state.talk.responses.said_key)
    if keys:
        state.work.telling[response_id] = keys
    if (key := state.talk.responses.said_key) in state.work.approvals:
        asked = state.work.approvals[key]
        asked.response_id, asked.heard_ms, asked.until_ms = response_id, None, None


def sideband_lost(draft: Draft) -> None:
    """Whether what was about to be said was heard, nobody knows: it is said again."""
    for response_id in [*draft.state.work.telling, *_unheard(draft)]:
        response_over(response_id, "cancelled", draft)


def another_began(response_id: str, draft: Draft) -> None:
    """The response that began was not ours after all; ours is wished again already."""
    state = draft.state
    state.work.telling.pop(response_id, None)
    for asked in state.work.approvals.values():
        if asked.response_id == response_id:
            asked.response_id, asked.heard_ms = "", None


def sounded(response_id: str, draft: Draft) -> None:
    """The user hears it now."""
    state = draft.state
    state.talk.quiet_turn = False
    _heard(response_id, _INTO_IT, draft)
    _spoken_over(response_id, draft)
    for key in state.work.telling.pop(response_id, ()):
        _told(key, draft)


def heard_out(response_id: str, draft: Draft) -> None:
    """The user heard it to its end: whatever it asks is clear."""
    for asked in draft.state.work.approvals.values():
        if asked.response_id == response_id:
            asked.clear_ms = min(asked.clear_ms, draft.now_ms)


def shown(response_id: str, draft: Draft) -> None:
    """Whoever was to read it out could not: it is on the screen."""
    _heard(response_id, _INTO_IT, draft)


def cut_short(response_id: str, heard_ms: float, draft: Draft) -> None:
    """The user spoke over it, after so much of it. Who cannot know yet what was asked is asked
    again; a no counts all the same."""
    for key, asked in draft.state.work.approvals.items():
        if asked.response_id == response_id and heard_ms < _INTO_IT:
            asked.clear_ms = math.inf
            _put_again(key, asked, draft)


def said_already(words: str, draft: Draft) -> None:
    """What is to be said word for word was said by a response that we do not know as ours: we
    asked for it in an earlier life. It is not said again."""
    state = draft.state
    for key, wanted in list(state.work.word_for_word.items()):
        on_its_way = any(key in keys for keys in state.work.telling.values())
        if not on_its_way and key in state.work.news and _alike(words, wanted):
            state.talk.responses.unsay(key)
            _told(key, draft)


def _told(key: str, draft: Draft) -> None:
    draft.state.work.word_for_word.pop(key, None)
    draft.state.work.untold.pop(key, None)
    draft.do(Told(key))


def _alike(words: str, wanted: str) -> bool:
    said, meant = (re.sub(r"\W+", " ", one).strip().casefold() for one in (words, wanted))
    return bool(meant) and said == meant


def response_over(response_id: str, status: str, draft: Draft) -> None:
    """News whose response came to nothing is told again; a written answer has told it. One that
    fails is asked again with what else it was to answer (`faults`)."""
    state = draft.state
    if status == "completed":
        # What is spoken is heard once it sounds, here or where somebody else reads it out.
        if any(not item.spoken for item in state.talk.speech.of_response(response_id)):
            _heard(response_id, 0.0, draft)
            _spoken_over(response_id, draft)
    elif status == "cancelled":
        for key in _unheard(draft).get(response_id, ()):
            state.work.approvals[key].response_id = ""
            _put_again(key, state.work.approvals[key], draft)
    for key in state.work.telling.pop(response_id, ()):
        if status == "completed":
            _told(key, draft)
        elif status != "failed":
            if key in state.work.word_for_word:
                state.talk.responses.say(state.work.word_for_word[key], key=key)
            else:
                state.talk.responses.wish(state.work.news[key])


def another_line(draft: Draft) -> None:
    """The session went on to another call, which knows nothing yet of what was not heard."""
    state = draft.state
    state.work.telling = {}
    for key, event in state.work.untold.items():
        item_id = state.work.news[key] = state.item_id(key)
        draft.add_item(message_item(item_id, "system", event.words))
        if not event.say:
            state.talk.responses.wish(item_id)


def _unheard(draft: Draft) -> dict[str, list[str]]:
    """The responses that are to ask something, and what."""
    found: dict[str, list[str]] = {}
    for key, asked in draft.state.work.approvals.items():
        if asked.response_id and asked.heard_ms is None:
            found.setdefault(asked.response_id, []).append(key)
    return found


def _heard(response_id: str, into_it: float, draft: Draft) -> None:
    for asked in draft.state.work.approvals.values():
        if asked.response_id == response_id and asked.heard_ms is None:
            asked.heard_ms, asked.clear_ms = draft.now_ms, draft.now_ms + into_it


def _spoken_over(response_id: str, draft: Draft) -> None:
    """A yes after other words is an answer to those; so the request is put again."""
    for asked in draft.state.work.approvals.values():
        other = asked.heard_ms is not None and asked.response_id != response_id
        if other and asked.until_ms is None:
            asked.until_ms, asked.again = draft.now_ms, True


def put_again(draft: Draft) -> None:
    """After every event: the requests that something else was said after. It may have been said to
    the user's yes, whose words come a moment later: until then nobody is asked a second time."""
    waiting = [(key, one) for key, one in draft.state.work.approvals.items() if one.again]
    if waiting and all(item.settled for item in draft.state.talk.heard.values()):
        for key, asked in waiting:
            asked.again = False
            _put_again(key, asked, draft)


def _put_again(key: str, asked: Asked, draft: Draft) -> None:
    if not asked.answered:
        draft.state.talk.responses.say(asked.question, key=key)


def user_said(words: str, began_ms: float, draft: Draft) -> None:
    """The user's own words, spoken or typed: an answer to a request, or an order to stop.

    Only what they began to say after they heard the request answers it, and before
    they heard anything else: the transcript of an earlier "yes" may come late.
    """
    state = draft.state
    asked = state.work.approvals
    answer = consent(words) if asked else None
    granted = answer == "yes"
    heard = [key for key, one in asked.items() if one.answered_by(began_ms, granted=granted)]
    if heard and answer:
        # One yes is for one thing, and reaches as far as the words say.
        far = reach(words) or "once"
        asked[heard[0]].answered = True
        state.talk.responses.unsay(heard[0])
        draft.do(Resolve(heard[0], granted=granted, words=words, reach=far))
    elif state.work.open_calls and stops(words):
        draft.do(CancelCalls(tuple(sorted(state.work.open_calls))))


def tool_began(name: str, draft: Draft) -> None:
    """A quick tool needs no words; a slow one gets some, once a turn."""
    state = draft.state
    state.work.slow_tool = name
    if state.policy.interim_after is not None:
        draft.do(StartTimer(INTERIM, state.policy.interim_after))
    if state.policy.overdue_after is not None and name not in state.policy.unhurried:
        draft.do(StartTimer(faults.OVERDUE, state.policy.overdue_after))


def interim(draft: Draft) -> None:
    state = draft.state
    silent = state.talk.speech.sounding is None and not state.talk.responses.busy
    asking = bool(state.work.approvals)
    if state.work.open_calls and silent and state.talk.quiet_turn and not asking:
        if state.phase is Phase.LISTENING:
            return
        words = state.policy.interim.get(state.work.slow_tool, state.policy.interim_words)
        state.talk.quiet_turn = False
        state.talk.responses.say(words, key=INTERIM)
