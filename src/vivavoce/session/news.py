"""What reaches the user without having been asked for: results, questions, requests for a yes.

Each piece of news has a key and is told once: as an item of ours, so that the
model knows it, and aloud in the next gap. It counts as told when the sound of
the response that covers it begins. A request for a yes is said word for word,
by us and not by the model, and even while the call that it is about is open.
"""

from __future__ import annotations

from vivavoce.session.consent import consent, stops
from vivavoce.session.effects import CancelCalls, Resolve, StartTimer, Told
from vivavoce.session.events import ApprovalAsked, ApprovalSettled, News
from vivavoce.session.state import Asked, Draft, Phase
from vivavoce.wire.commands import message_item

INTERIM = "interim"
"""The timer after which a tool that still runs gets a word."""


def arrived(event: News, draft: Draft) -> None:
    state = draft.state
    if event.key in state.news:
        return
    item_id = state.item_id(event.key)
    state.news[event.key] = item_id
    state.tasks.discard(event.settles or "")
    draft.add_item(message_item(item_id, "system", event.words))
    if event.say:
        state.responses.say(event.say, key=event.key)
    else:
        state.responses.wish(item_id)
    draft.active()


def approval_asked(event: ApprovalAsked, draft: Draft) -> None:
    state = draft.state
    if event.approval_id in state.approvals:
        return
    state.approvals[event.approval_id] = Asked()
    state.responses.say(event.question, key=event.approval_id)
    draft.active()


def approval_settled(event: ApprovalSettled, draft: Draft) -> None:
    draft.state.approvals.pop(event.approval_id, None)
    draft.state.responses.unsay(event.approval_id)


def response_began(response_id: str, draft: Draft) -> None:
    """Which news this response tells."""
    state = draft.state
    covered = state.responses.covered
    keys = tuple(key for key, item_id in state.news.items() if item_id in covered)
    if keys:
        state.telling[response_id] = keys
    if (asked := state.responses.said_key) in state.approvals:
        state.approvals[asked].response_id = response_id


def sounded(response_id: str, draft: Draft) -> None:
    """The user hears it now."""
    state = draft.state
    state.quiet_turn = False
    _heard(response_id, draft)
    for key in state.telling.pop(response_id, ()):
        draft.do(Told(key))


def response_over(response_id: str, status: str, draft: Draft) -> None:
    """News whose response came to nothing is told again; a written answer has told it."""
    state = draft.state
    if status == "completed":
        _heard(response_id, draft)
    keys = state.telling.pop(response_id, ())
    for key in keys:
        if status == "completed":
            draft.do(Told(key))
        else:
            state.responses.wish(state.news[key])


def _heard(response_id: str, draft: Draft) -> None:
    for asked in draft.state.approvals.values():
        if asked.response_id == response_id and asked.heard_ms is None:
            asked.heard_ms = draft.now_ms


def user_said(words: str, began_ms: float, draft: Draft) -> None:
    """The user's own words, spoken or typed: an answer to a request, or an order to stop.

    Only what they began to say after they heard the request answers it: the
    transcript of an earlier "yes" may come late.
    """
    state = draft.state
    asked = [
        key
        for key, one in state.approvals.items()
        if one.heard_ms is not None and one.heard_ms <= began_ms
    ]
    if asked and (answer := consent(words)):
        # The oldest that they have heard; one yes is for one thing.
        draft.do(Resolve(asked[0], granted=answer == "yes", words=words))
    elif state.open_calls and stops(words):
        draft.do(CancelCalls(tuple(sorted(state.open_calls))))


def tool_began(name: str, draft: Draft) -> None:
    """A quick tool needs no words; a slow one gets some, once a turn."""
    state = draft.state
    state.slow_tool = name
    if state.policy.interim_after is not None:
        draft.do(StartTimer(INTERIM, state.policy.interim_after))


def interim(draft: Draft) -> None:
    state = draft.state
    silent = state.speech.sounding is None and not state.responses.busy
    asking = bool(state.approvals)
    if state.open_calls and silent and state.quiet_turn and not asking:
        if state.phase is Phase.LISTENING:
            return
        words = state.policy.interim.get(state.slow_tool, state.policy.interim_words)
        state.quiet_turn = False
        state.responses.say(words)
