"""Tool calls and tasks: each call is run once and answered once; then the session settles."""

from __future__ import annotations

from dataclasses import replace

from vivavoce.session import faults, news
from vivavoce.session.draft import Draft
from vivavoce.session.effects import RunTool, StartTimer
from vivavoce.session.events import ToolFinished
from vivavoce.session.state import Phase, Signal, State
from vivavoce.session.talk import INTERIM
from vivavoce.session.window import named
from vivavoce.wire.realtime.client import CreateResponse, message_item, output_item, picture_item
from vivavoce.wire.realtime.facts import CallRequested

_AWAY = (Phase.DISCONNECTED, Phase.INITIALIZING, Phase.RECONNECTING, Phase.TERMINATED)

_FAILED = ('{"success": false', '{"success":false')
NEVER_ANSWERED = (
    '{"success": false, "error": "It never answered; what came of it is not known.", '
    '"recoverable": false, "suggestion": "Say so, and look before trying again"}'
)
IF_UNANSWERED = (
    "You were away for a moment. If the user's last message, or what came of your last tool call, "
    "has no answer yet, answer it now. If you have answered it, do not repeat that: say in a few "
    "words that you are here."
)
AND_NEWS = "Then tell them in a sentence or two what the newest results and system messages say."


def requested(event: CallRequested, draft: Draft) -> None:
    """The model wants a tool. The same call may be reported twice (arguments, then the
    whole response): it runs once."""
    state = draft.state
    if event.response_id == state.talk.responses.active:
        state.talk.responses.acted = True
    if event.call_id in state.work.ran:
        return
    begun = state.work.names.pop(event.item_id, "")
    name = event.name or begun
    state.work.ran.add(event.call_id)
    state.work.open_calls.add(event.call_id)
    state.work.asked[event.call_id] = event if event.name else replace(event, name=name)
    state.talk.held.called(event.item_id, event.call_id, name, event.arguments)
    ordinal = state.talk.order.place(event.item_id, None, draft.now_ms)
    state.talk.turns.called(event.response_id, event.call_id, name, draft.now)
    draft.do(RunTool(event.call_id, name, event.arguments, ordinal))
    news.tool_began(name, draft)
    draft.active()
    draft.signal(Signal.TOOL_CALLED)


def finished(event: ToolFinished, draft: Draft) -> None:
    """One output for one call, whatever happens; late copies are dropped."""
    state = draft.state
    if event.call_id in state.work.tasks or event.call_id in state.work.open_calls:
        asked = state.work.asked.get(event.call_id)
        if asked is not None and not event.output.startswith(_FAILED):
            state.work.touched(named(asked.arguments))
        state.work.touched(event.files_changed)
    if event.call_id in state.work.tasks:
        # Its call is gone with the old one: the result is told instead of returned, in the next
        # gap, as a message of the system's.
        state.work.over(event.call_id)
        words = f"A tool that was still running has finished. Its result: {event.output}"
        told = state.item_id(f"task:{event.call_id}")
        draft.add_item(message_item(told, "system", words))
        state.talk.responses.wish(told)
        draft.active()
        return
    if event.call_id not in state.work.open_calls:
        return
    state.talk.responses.unsay(INTERIM)
    if _words_on_their_way(state):
        state.work.held[event.call_id] = event
        return
    state.work.over(event.call_id)
    asked = state.work.asked.pop(event.call_id, None)
    if asked is not None and state.move is not None and state.move.next is not None:
        state.move.results.append((asked, event.output))
    state.work.owned_up = state.work.owned_up and bool(state.work.open_calls)
    state.talk.turns.finished(event.call_id)
    item_id = state.item_id(f"output:{event.call_id}")
    draft.add_item(output_item(item_id, event.call_id, event.output))
    state.talk.responses.wish(item_id)
    for number, picture in enumerate(event.pictures):
        shown = state.item_id(f"picture:{event.call_id}:{number}")
        draft.add_item(picture_item(shown, picture))
        state.talk.responses.wish(shown)
    draft.active()


def abandon(draft: Draft) -> None:
    """The calls that never answered: the model is told so, and a late result is dropped."""
    for call_id in sorted(draft.state.work.open_calls):
        finished(ToolFinished(call_id, NEVER_ANSWERED), draft)


def _words_on_their_way(state: State) -> bool:
    """Is something about to be said while tools run, and not in the conversation yet? A result
    comes after it, or the model would be asked to go on from our own words."""
    responses = state.talk.responses
    if responses.asked is not None:
        return responses.asked[1].say is not None
    if responses.active is None or responses.answering.say is None:
        return False
    return not state.talk.speech.of_response(responses.active)


def _release(draft: Draft) -> None:
    """The results that waited for such words."""
    held = draft.state.work.held
    if held and not _words_on_their_way(draft.state):
        draft.state.work.held = {}
        for event in held.values():
            finished(event, draft)


def settle(draft: Draft) -> None:
    """After every event: ask for the response that is due, or come to rest."""
    state = draft.state
    if state.phase in _AWAY:
        return
    _release(draft)
    responses, calls_open = state.talk.responses, bool(state.work.open_calls)
    if responses.busy:  # most events are pieces of what is being said
        return
    # While tools run, their outputs wait for each other; while the user speaks, all wait.
    listening, unconfirmed = state.phase is Phase.LISTENING, state.sideband.unconfirmed
    wish = None if listening else responses.due(calls_open=calls_open, unconfirmed=unconfirmed)
    if wish is not None:
        event_id = state.next_id()
        responses.asked = (event_id, wish)
        unprompted = wish.instructions is not None and wish.say is None
        state.talk.turns.asked(draft.now, unprompted=unprompted)
        words = wish.instructions
        if wish.unsure and not words:
            words = IF_UNANSWERED
        if words and wish.covers - wish.unsure:  # a greeting must not swallow what came meanwhile
            words = f"{words} {AND_NEWS}"
        # Instructions of a response take the place of the session's: who greets the user
        # would not know their name.
        if words and (ours := state.setup.session.get("instructions")):
            words = f"{ours}\n\n{words}"
        if wish.say is None:
            faults.forget_words(draft)
        draft.send(CreateResponse.of(event_id, words, wish.say))
        draft.do(StartTimer("turn", state.policy.turn_patience))
    if state.talk.responses.busy or state.talk.speech.sounding is not None:
        return
    if state.work.open_calls:
        draft.signal(Signal.CALLS_OPEN)
    elif state.work.tasks:
        draft.signal(Signal.TASKS_OPEN)
    else:
        draft.signal(Signal.SETTLED)
