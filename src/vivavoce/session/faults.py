"""What goes wrong in a session, and what comes of it: the table of `errors.SPOKEN` in action.

An answer that fails is asked for again, as its row says, and the user hears why if that does
not help at once: words about a fault are said once, are no answer to anything, and are taken
out of the conversation before the next try, so that the model is not asked to go on from them.
When no try is left the row's last words are the answer. Words that cannot be spoken are not
spoken about: the page has them in the notification.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from vivavoce.errors import SPOKEN, Level, Recovery, Translation, is_known, name_of, row_of
from vivavoce.session import trimming
from vivavoce.session.draft import IDLE, Draft
from vivavoce.session.effects import Failed, StartTimer, StopTimer
from vivavoce.session.state import Phase
from vivavoce.session.talk import ASIDE, FAULT, INTERIM, Wish
from vivavoce.wire.events import Notification
from vivavoce.wire.realtime.client import DeleteItem

RETRY = "retry"
"""The timer after which what failed is asked again."""
OVERDUE = "overdue"
"""The timer after which a tool has run for long."""
LAST = "fault:last"
"""The key of the words with which an answer is given up."""
GO_ON = (
    "You go on in the middle of a conversation. If the user's last message has no whole answer "
    "yet, answer it, or say what was missing where your last words end. Do not greet, do not "
    "apologise, and do not repeat what you have said."
)
"""Told a call that takes another's place in the middle of something."""
_GO_ON = (
    "Your last answer was cut off by a fault of ours. Go on where it stopped, without repeating "
    "what was said."
)


def met(code: str, message: str, draft: Draft, *, shown: str = "") -> None:
    """One that takes no answer away; `shown` is another name for it on the wire."""
    row = row_of(code)
    draft.complain(shown or code, message, recoverable=row.recoverable)
    draft.do(Failed(code, Recovery.WAIT, row.level))


def answer_failed(
    code: str,
    wish: Wish,
    draft: Draft,
    message: str = "The answer could not be generated.",
    *,
    begun: bool = False,
) -> None:
    """What was wished comes to nothing this time. `begun`: some of it was said."""
    responses, row = draft.state.talk.responses, row_of(code)
    if wish.key in ASIDE or wish.key in (LAST, IDLE):
        draft.complain(code, message, recoverable=row.recoverable)
        draft.do(Failed(code, Recovery.WAIT, row.level))
        return
    responses.failures += 1
    number = responses.failures
    if begun and wish.say is None:
        wish = replace(wish, instructions=wish.instructions or _GO_ON)
    if number <= len(row.waits):
        draft.complain(code, message, recoverable=row.recoverable)
        draft.do(Failed(code, row.recovery, row.level))
        responses.failed.append(wish)
        if row.recovery is Recovery.SHORTEN:
            trimming.halve(draft)
        draft.do(StartTimer(RETRY, row.waits[number - 1]))
        if number == row.said_at:
            _say(code, FAULT, row.level, draft, aloud=not _only_news(wish, draft))
        return
    recovery = Recovery.NEXT_PROVIDER if row.waits else row.recovery
    aloud = not _only_news(wish, draft)
    draft.do(Failed(code, recovery, "error"))
    last = partial(_no_answer, code, message, draft, aloud=aloud)
    if recovery is Recovery.NEXT_PROVIDER:
        draft.give_up(name_of(row), last, owed=aloud)
    else:
        last()


def _no_answer(code: str, message: str, draft: Draft, *, aloud: bool) -> None:
    """And nobody takes over: the last words are the answer."""
    row = row_of(code)
    draft.complain(code, message, recoverable=row.recoverable)
    _settle(draft)
    level: Level = "error" if row.waits else row.level
    _say(code, LAST, level, draft, aloud=aloud)


def hopeless(code: str) -> bool:
    """A fault that no patience mends, though another provider may."""
    return is_known(code) and row_of(code).recovery is Recovery.NEXT_PROVIDER


def _only_news(wish: Wish, draft: Draft) -> bool:
    """Nobody asked, so nobody waits: it is told in the next session."""
    work = draft.state.work
    if wish.key:
        return wish.key in work.word_for_word
    return bool(wish.covers) and wish.covers <= set(work.news.values())


def answered(draft: Draft) -> None:
    """A response went well: there is nothing to be sorry for any more."""
    if draft.state.talk.responses.answering.say is None:
        _settle(draft)


def _settle(draft: Draft) -> None:
    responses = draft.state.talk.responses
    if responses.failures:
        responses.failures = 0
        responses.failed.clear()
        responses.unsay(FAULT)
        draft.do(StopTimer(RETRY))


def again(draft: Draft) -> None:
    """The wait is over."""
    responses = draft.state.talk.responses
    failed, responses.failed = responses.failed, []
    for wish in reversed(failed):
        responses.again(wish)


def forget_words(draft: Draft) -> None:
    """Before the model is asked: what was said about a fault is not what it goes on from."""
    talk = draft.state.talk
    said = [
        item for key in talk.responses.asides_of(FAULT) for item in talk.speech.of_response(key)
    ]
    for utterance in said:
        _take_out(utterance.item_id, draft)
    talk.responses.forget_asides(FAULT)


def nothing_came(draft: Draft) -> None:
    """The provider owed an answer, and was waited for."""
    talk = draft.state.talk
    owed = talk.responses.turn_pending
    wish = talk.responses.forget_turn()
    talk.turns.nothing_came()
    newest = talk.newest_heard
    spoken_to = owed and newest is not None and newest.words
    if wish is not None or spoken_to:
        words = "The provider gave no answer."
        answer_failed("no_answer", wish or Wish(), draft, words)


def empty(draft: Draft) -> None:
    """An answer came to its end without a word, a sound or a call. A noise that was taken for a
    turn needs none, and where there may be nothing left to say, nothing is an answer."""
    talk = draft.state.talk
    wish, newest = talk.responses.answering, talk.newest_heard
    noise = newest is not None and newest.settled and not newest.words
    nobody_asked = not wish.covers and wish.say is None and wish.instructions is None
    if (nobody_asked and noise) or (wish.instructions in (GO_ON, _GO_ON) and not wish.covers):
        answered(draft)
        return
    answer_failed("no_answer", wish, draft, "The provider's answer was empty.")


def overdue(draft: Draft) -> bool:
    """A tool has run for long: the user knows that it does, and how to end it. True once it is
    not to be waited for any more."""
    state = draft.state
    if not state.work.open_calls or state.work.approvals:
        return False
    if state.work.owned_up:
        draft.do(Failed("ETIMEDOUT", Recovery.MODEL, "error"))
        return True
    if state.phase in (Phase.LISTENING, Phase.SPEAKING) or state.talk.responses.busy:
        draft.do(StartTimer(OVERDUE, 2.0))
        return False
    state.work.owned_up = True
    left = state.policy.abandon_after - (state.policy.overdue_after or 0.0)
    draft.do(StartTimer(OVERDUE, max(0.0, left)))
    row = SPOKEN["tool_overdue"]
    draft.do(Failed("tool_overdue", row.recovery, row.level))
    _say("tool_overdue", INTERIM, row.level, draft)
    return False


def notify(level: Level, message: str, draft: Draft, action: str = "") -> None:
    shown = {"label": action.capitalize(), "do": action} if action else None
    draft.tell(Notification, level=level, message=message, action=shown)


def _say(code: str, key: str, level: Level, draft: Draft, *, aloud: bool = True) -> None:
    """On the page and aloud, in the agent's own words where it has some."""
    row = row_of(code)
    words = _words(code, row, draft, last=key == LAST)
    if aloud:
        draft.state.talk.responses.say(words, key=key)
    notify(level, words, draft, row.action)


def _words(code: str, row: Translation, draft: Draft, *, last: bool) -> str:
    own = draft.state.policy.fault_words.get(name_of(row), ())
    if own:
        return own[-1 if last else 0]
    return row.last if last and row.last else row.message


def _take_out(item_id: str, draft: Draft) -> None:
    event_id = draft.state.next_id()
    draft.state.sideband.taken_out.add(event_id)
    draft.state.talk.held.left(item_id)
    draft.send(DeleteItem(item_id, event_id))
