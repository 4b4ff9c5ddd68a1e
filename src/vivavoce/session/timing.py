"""Time: silence, the caps of a call and of the session, and answers that never come."""

from __future__ import annotations

from vivavoce.errors import row_of
from vivavoce.session import aloud, calling, faults, news, saying, talk, turns
from vivavoce.session.draft import IDLE, Draft
from vivavoce.session.effects import Failed, StartTimer, StopTimer
from vivavoce.session.events import TimerFired
from vivavoce.session.state import Phase
from vivavoce.wire.events import SessionExpired, SessionWarning
from vivavoce.wire.records.talk import Status

BUDGET = "budget"
LONGEST = "longest"
_PARTING_SECONDS = 2.0  # between two looks whether the last words were said


def start(draft: Draft, age: float = 0.0) -> None:
    """With every call: the idle clock, the cap of the provider's session, which is `age`
    seconds old, and what is left of our own."""
    policy = draft.state.policy
    draft.active()
    if policy.idle is not None:
        draft.do(StartTimer("idle", max(0.0, policy.idle - policy.idle_warning)))
    cap(draft, age)
    if policy.longest is not None:
        left = _left(draft, policy.longest)
        draft.do(StartTimer(LONGEST, max(0.0, left - policy.cap_warning)))


def cap(draft: Draft, age: float = 0.0) -> None:
    """A call that is so old began a new session at the provider."""
    policy = draft.state.policy
    draft.do(StopTimer("cap_end"))
    if policy.cap is not None:
        draft.do(StartTimer("cap", max(0.0, policy.cap - policy.cap_lead - age)))


def created(draft: Draft) -> None:
    """A session that nobody connects to does not stay."""
    draft.do(StartTimer("connect", draft.state.policy.connect))


def fired(event: TimerFired, draft: Draft) -> None:
    match event.name:
        case "connect" if draft.state.phase is Phase.DISCONNECTED:
            expire(draft, "never connected")
        case "idle" if draft.state.policy.idle is not None:
            _idle(draft, draft.state.policy.idle)
        case "cap":
            # A new call begins a new session at the provider, so ours can go on.
            _warn(draft, "cap", draft.state.policy.cap_lead, action="reconnect")
            draft.do(StartTimer("cap_end", draft.state.policy.cap_lead))
        case "cap_end":
            call_over(draft)
        case "longest" if draft.state.policy.longest is not None:
            _longest(draft, draft.state.policy.longest)
        case "budget":
            _part(draft)
        case "turn":
            faults.nothing_came(draft)
        case faults.RETRY:
            faults.again(draft)
        case faults.OVERDUE:
            if faults.overdue(draft):
                calling.abandon(draft)
        case saying.HEARD:
            saying.keep_heard(draft)
        case aloud.PATIENCE:
            aloud.waited(draft)
        case aloud.OVERHEARD:
            aloud.fell_silent(draft)
        case talk.INTERIM:
            news.interim(draft)
        case turns.TIMER:
            draft.state.talk.turns.wake = None


def _idle(draft: Draft, limit: float) -> None:
    """One timer: it fires, looks how long it was really quiet, and waits for the rest."""
    state, policy = draft.state, draft.state.policy
    speaking = state.talk.speech.sounding or state.talk.responses.active
    if state.work.open_calls or state.work.tasks or (speaking and not state.asking_who_is_there):
        draft.active()
    quiet = (draft.now - (state.clock.last_activity or draft.now)).total_seconds()
    if quiet >= limit:
        expire(draft, "idle")
    elif quiet >= limit - policy.idle_warning:
        if not state.clock.warned:
            state.clock.warned = True
            _warn(draft, "idle", limit - quiet)
            if policy.idle_question:
                state.talk.responses.say(policy.idle_question, key=IDLE)
        draft.do(StartTimer("idle", max(0.05, limit - quiet)))
    else:
        draft.do(StartTimer("idle", max(0.05, limit - policy.idle_warning - quiet)))


def _left(draft: Draft, longest: float) -> float:
    return longest - (draft.now - draft.state.clock.started_at).total_seconds()


def _longest(draft: Draft, longest: float) -> None:
    """The hard end (seed 004 §10): told before, and no call makes it any later."""
    left, warning = _left(draft, longest), draft.state.policy.cap_warning
    if left <= 0:
        expire(draft, "cap")
    elif left <= warning:
        _warn(draft, "cap", left)
        draft.do(StartTimer(LONGEST, max(0.05, left)))
    else:
        draft.do(StartTimer(LONGEST, left - warning))


def budget_spent(draft: Draft) -> None:
    """The user hears why, once; then the session ends, also if those words never come."""
    state, policy = draft.state, draft.state.policy
    if state.clock.broke_at is not None:
        return
    state.clock.broke_at = draft.now
    _warn(draft, BUDGET, policy.budget_grace)
    state.talk.responses.say(policy.budget_words, key=BUDGET)
    draft.do(StartTimer(BUDGET, _PARTING_SECONDS))


def _part(draft: Draft) -> None:
    state = draft.state
    left = state.policy.budget_grace
    if state.clock.broke_at is not None:
        left -= (draft.now - state.clock.broke_at).total_seconds()
    responses = state.talk.responses
    speaking = responses.busy or responses.saying or state.talk.speech.sounding
    if speaking and left > 0 and state.sideband.up:
        draft.do(StartTimer(BUDGET, min(_PARTING_SECONDS, left)))
    else:
        draft.end(BUDGET, Status.COMPLETED)


def _warn(draft: Draft, reason: str, seconds: float, action: str | None = None) -> None:
    left = max(0, round(seconds))
    draft.tell(
        SessionWarning,
        reason=reason,
        warning=f"{left}s remaining",
        seconds_remaining=left,
        action=action,
    )


def call_over(draft: Draft) -> None:
    """The provider has had enough of the call, and no other came about: the session ends, and the
    conversation need not. Clients that can place another are told to."""
    row = row_of("session_expired")
    draft.do(Failed("session_expired", row.recovery, row.level))
    faults.notify(row.level, row.message, draft, row.action)
    expire(draft, "cap")


def expire(draft: Draft, reason: str) -> None:
    draft.tell(SessionExpired, reason=reason)
    draft.end("timeout", Status.COMPLETED)
