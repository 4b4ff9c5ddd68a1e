"""What the user types instead of saying it, and when it has been answered.

A typed message is an item of ours: recorded before anything else is done about
it, put into the conversation, and answered when the floor is free. It counts
as answered when nothing is said, wished or run any more; what the assistant
said last until then is the reply. So a tool's follow-up belongs to it.
"""

from __future__ import annotations

from vivavoce.session import news
from vivavoce.session.context import item_of
from vivavoce.session.effects import Answered, Record
from vivavoce.session.events import TypedText
from vivavoce.session.state import Draft, Phase, Question, UserItem
from vivavoce.wire.events import TranscriptionCompleted
from vivavoce.wire.realtime.commands import message_item
from vivavoce.wire.records.talk import Entry, Kind

MOST_KEPT = 64
_AWAY = (Phase.DISCONNECTED, Phase.INITIALIZING, Phase.RECONNECTING)


def arrived(event: TypedText, draft: Draft) -> None:
    """The same item twice is the same message."""
    state = draft.state
    if event.item_id in state.typed:
        return
    if event.kept is not None:
        _taken_up(event.item_id, event.kept, draft)
        return
    ordinal = state.order.place(event.item_id, None, draft.now_ms)
    state.heard[event.item_id] = UserItem(event.item_id, ordinal, None, settled=True)
    key = draft.record(Kind.USER, event.item_id, event.text, ordinal=ordinal, modality="text")
    state.typed[event.item_id] = Question(_recorded(draft)[-1])
    for old in [name for name, one in state.typed.items() if one.over][:-MOST_KEPT]:
        del state.typed[old]
    draft.tell(
        TranscriptionCompleted,
        item_id=event.item_id,
        transcript=event.text,
        role="user",
        entry_id=key,
        modality="text",
    )
    state.turns.typed(event.item_id, draft.now)
    draft.add_item(message_item(event.item_id, "user", event.text))
    state.responses.wish(event.item_id)
    state.quiet_turn = True
    news.user_said(event.text, draft.now_ms, draft)
    draft.active()


def _taken_up(item_id: str, kept: Entry, draft: Draft) -> None:
    """Where it is in the history, whatever is said next is the answer: one to all that was
    kept. A call that began before it was stored has yet to be told of it."""
    state = draft.state
    asked = any(_is_kept(one, draft) and not one.over for one in state.typed.values())
    state.typed[item_id] = Question(kept)
    state.turns.typed(item_id, draft.now)
    if item_of(kept) not in {item["id"] for item in state.history}:
        draft.add_item(message_item(item_id, "user", kept.text))
        state.responses.wish(item_id)
    elif not asked:
        state.responses.wish()
    state.quiet_turn = True
    draft.active()


def _is_kept(question: Question, draft: Draft) -> bool:
    return question.message.session_id != draft.state.identity.session_id


def _recorded(draft: Draft) -> list[Entry]:
    return [effect.entry for effect in draft.effects if isinstance(effect, Record)]


def settle(draft: Draft) -> None:
    """After every event: what was said may be the reply, and the reply may be whole."""
    state = draft.state
    waiting = {name: one for name, one in state.typed.items() if not one.over}
    if not waiting:
        return
    for entry in _recorded(draft):
        if entry.kind is Kind.ASSISTANT and entry.text:
            for question in waiting.values():
                if entry.ordinal > question.message.ordinal:
                    question.reply = entry
    responses = state.responses
    under_way = responses.busy or responses.wished or responses.saying or state.open_calls
    if under_way or state.phase in _AWAY:
        return
    for item_id, question in waiting.items():
        if state.phase is Phase.TERMINATED and question.reply is None:
            continue  # it never will be, here: another session may take it up
        question.over = True
        draft.do(Answered(item_id, question.reply))
