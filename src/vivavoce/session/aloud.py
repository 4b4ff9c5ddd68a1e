"""A written session whose client speaks: it reads out what the assistant writes, a piece at a time,
and tells how far it came.

The piece that the client has counts as sounding, so all that holds for sound holds here: the
phase, how much was heard, what is kept of it while it goes on. A piece is a whole answer, or a
sentence of one where the client takes them so. One is with the client, the others wait.
"""

from __future__ import annotations

from vivavoce.session import news, saying
from vivavoce.session.draft import Draft
from vivavoce.session.effects import Speak, StartTimer, StopTimer
from vivavoce.session.events import Interrupted, Overheard, Spoken
from vivavoce.session.speech import Piece, Utterance, heard_text, sentences
from vivavoce.session.state import Phase, Signal
from vivavoce.wire.realtime.client import CancelResponse, message_item

PATIENCE = "aloud"
"""The timer after which a piece is not waited for any more."""
OVERHEARD = "overheard"
"""The timer after which a user who began to speak is taken to have said nothing."""
_LISTENS = 15.0
_LEAST_PATIENCE, _SLOWEST = 30.0, 6.0  # seconds; characters a second


def settle(draft: Draft) -> None:
    """After every event: take what there is more of, hand over what begins, and let the model go
    on from what was heard, once it has stopped saying more."""
    told = draft.state.talk.aloud
    fresh, told.fresh = told.fresh, {}
    for item_id in fresh:
        if (item := draft.state.talk.speech.get(item_id)) is not None:
            _take(item, draft)
    _next(draft)
    if told.now is not None and not told.handed:
        told.handed = True
        draft.do(Speak(told.now.item_id, told.now.start, told.now.text))
        draft.do(StartTimer(PATIENCE, _LEAST_PATIENCE + len(told.now.text) / _SLOWEST))
    for item_id in list(told.cut):
        _trim(item_id, draft)


def _take(item: Utterance, draft: Draft) -> None:
    """There is more of it, or all."""
    told = draft.state.talk.aloud
    if item.interrupted or not item.spoken:
        return
    given = told.given.get(item.item_id, 0)
    rest = item.generated[given:]
    if not item.complete:
        by_sentence = draft.state.policy.aloud == "sentences"
        rest = "".join(sentences(rest)) if by_sentence else ""
    if rest.strip():
        told.given[item.item_id] = given + len(rest)
        told.waiting.append(Piece(item.item_id, given, rest))


def _next(draft: Draft) -> None:
    talk = draft.state.talk
    while talk.aloud.now is None and talk.aloud.waiting:
        piece = talk.aloud.waiting.pop(0)
        item = talk.speech.get(piece.item_id)
        if item is None or item.interrupted:
            continue
        piece.began_ms = draft.now_ms
        talk.aloud.now, talk.aloud.handed = piece, False
        saying.begin_sound(item, draft)
        if item.complete:
            saying.store(item, draft)  # the store knows that it is not heard yet


def spoken(event: Spoken, draft: Draft) -> None:
    """The client has read the piece out, or says that it could not: then it was read on its
    screen, where it was anyway."""
    talk = draft.state.talk
    piece = talk.aloud.now
    if piece is None or (piece.item_id, piece.start) != (event.item_id, event.start):
        return
    _over(piece, draft, silent=event.failed)
    draft.active()


def waited(draft: Draft) -> None:
    """Nobody tells: it is taken to have been heard."""
    piece = draft.state.talk.aloud.now
    if piece is None:
        return
    _over(piece, draft, silent=False, sure=False)


def _over(piece: Piece, draft: Draft, *, silent: bool, sure: bool = True) -> None:
    talk = draft.state.talk
    talk.aloud.now = None
    draft.do(StopTimer(PATIENCE))
    item = talk.speech.get(piece.item_id)
    if item is not None:
        left = [one for one in talk.aloud.waiting if one.item_id == item.item_id]
        if silent:
            item.spoken = False
            talk.aloud.waiting = [one for one in talk.aloud.waiting if one not in left]
            saying.end_sound(item, draft, cut=False)
            news.shown(item.response_id, draft)
        elif item.complete and not left:
            saying.end_sound(item, draft, cut=False)
            news.heard_out(item.response_id, draft)
        else:
            item.reported = (item.generated[: piece.end], item.elapsed(draft.now_ms))
            saying.store(item, draft)
        if not sure:
            item.estimated = True
            saying.store(item, draft)


def overheard(event: Overheard, draft: Draft) -> None:
    """The user began to speak. Nothing is said over them until they have, or have not."""
    draft.state.clock.user_heard = draft.now
    draft.active()
    draft.do(StartTimer(OVERHEARD, _LISTENS))
    draft.signal(Signal.SPEECH_STARTED)


def fell_silent(draft: Draft) -> None:
    """They said it, or nothing came of it."""
    if not draft.state.policy.aloud:
        return
    draft.do(StopTimer(OVERHEARD))
    if draft.state.phase is Phase.LISTENING:
        draft.signal(Signal.SPEECH_STOPPED)


def interrupted(event: Interrupted, draft: Draft) -> None:
    """The user spoke over it: no more is made or read out, and what was heard is what was said."""
    state = draft.state
    talk, told = state.talk, state.talk.aloud
    if event.item_id and (told.now is None or told.now.item_id != event.item_id):
        return  # of one that is over
    if talk.responses.active:
        draft.send(CancelResponse(state.next_id()), urgent=True)
    piece, told.now = told.now, None
    dropped = dict.fromkeys(one.item_id for one in told.waiting)
    told.waiting = []
    draft.do(StopTimer(PATIENCE))
    if piece is not None and (item := talk.speech.get(piece.item_id)) is not None:
        dropped.pop(piece.item_id, None)
        words, sure = _heard(piece, event, draft)
        news.cut_short(item.response_id, _so_far(piece, event, draft), draft)
        _cut(item, item.generated[: piece.start] + words, draft, sure=sure)
    for item_id in dropped:
        if (item := talk.speech.get(item_id)) is not None:
            news.cut_short(item.response_id, 0.0, draft)
            _cut(item, "", draft, sure=True)
    # What is still being made has nobody to hear it either.
    for item in talk.speech.of_response(talk.responses.active or ""):
        if not item.interrupted and not item.complete:
            _cut(item, "", draft, sure=True)
    overheard(Overheard(), draft)


def _heard(piece: Piece, event: Interrupted, draft: Draft) -> tuple[str, bool]:
    """The words of the piece that were heard, and whether that is told rather than reckoned."""
    text, speech = piece.text, draft.state.talk.speech
    if event.characters is not None:
        # So many characters of it in so many "milliseconds": whole words.
        return heard_text(text, event.characters, total_ms=len(text)), True
    ms = event.ms if event.ms is not None else draft.now_ms - piece.began_ms
    return heard_text(text, ms, chars_per_second=speech.rate), False


def _so_far(piece: Piece, event: Interrupted, draft: Draft) -> float:
    """Milliseconds of the whole answer that were heard. A position counts where there is one: when
    the sound of a piece really began, nobody tells."""
    a_character = 1000 / draft.state.talk.speech.rate
    if event.characters is not None:
        return (piece.start + event.characters) * a_character
    ms = event.ms if event.ms is not None else draft.now_ms - piece.began_ms
    return piece.start * a_character + ms


def _cut(item: Utterance, heard: str, draft: Draft, *, sure: bool) -> None:
    talk = draft.state.talk
    item.reported, item.estimated = (heard, item.elapsed(draft.now_ms)), not sure
    if item.complete and item.heard_whole:
        saying.end_sound(item, draft, cut=False)
        return
    if item.playing_since is None:  # it never began
        item.cut_ms = item.played_ms = 0.0
        if item.complete:
            saying.write_down(item, draft)
    else:
        saying.end_sound(item, draft, cut=True)
    talk.aloud.cut.append(item.item_id)


def _trim(item_id: str, draft: Draft) -> None:
    """In the provider's conversation: as far as it was heard."""
    talk = draft.state.talk
    item = talk.speech.get(item_id)
    if item is None or not item.complete or item.response_id == talk.responses.active:
        return
    talk.aloud.cut.remove(item_id)
    heard = talk.speech.heard(item)
    if heard:
        again = message_item(draft.state.item_id(f"heard:{item_id}"), "assistant", heard)
        draft.add_item(again, previous=item_id)
    draft.delete_item(item_id)
