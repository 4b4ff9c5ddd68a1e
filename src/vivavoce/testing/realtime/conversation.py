"""A scripted conversation: who says what, as the events a Realtime provider sends for it.

Pure: each method returns the events, in the order of recorded traffic; sending
is the call's. What a client sends is answered, when no script says otherwise
(`reply`), as strictly as by the real service, so that a test fails here and not
on someone's bill.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from vivavoce.testing.realtime.ledger import MS_PER_WORD, Json, Ledger, pieces
from vivavoce.testing.realtime.response import Assistant, ToolUse
from vivavoce.wire.realtime import client, server
from vivavoce.wire.realtime.items import (
    ROOT,
    FunctionCallOutput,
    Message,
    Part,
    item_object,
    read_item,
)
from vivavoce.wire.realtime.refusal import Refused, reading, refused
from vivavoce.wire.realtime.response import ResponseCreate
from vivavoce.wire.realtime.session import RealtimeSession

Transcript = Literal["now", "during", "late", "failed"]
"""When a user's transcript comes: at once, within the next response (as recorded),
after the next response, or not at all because it failed."""


_DELTA: Final = "conversation.item.input_audio_transcription.delta"
_COMPLETED: Final = "conversation.item.input_audio_transcription.completed"


class Conversation:
    """The provider's side of one call."""

    def __init__(self, session: Mapping[str, Any], *, webrtc: bool) -> None:
        self.ledger = Ledger(session, webrtc=webrtc)
        self.assistant = Assistant(self.ledger)
        self.audio_appended = False
        self._speech: str | None = None
        self._clock_ms = 1000
        self._waiting: list[tuple[Transcript, str, str]] = []

    # --- The user -----------------------------------------------------------------------

    def user_starts(self, *, heard_ms: int | None = None) -> list[Json]:
        """Speech begins; where the session allows it, that interrupts the assistant."""
        self._speech = self.ledger.new_id("item")
        where: Json = {"audio_start_ms": self._clock_ms, "item_id": self._speech}
        started = self.ledger.event("input_audio_buffer.speech_started", where)
        turns = self.ledger.session["audio"]["input"]["turn_detection"]
        if turns is None or not turns["interrupt_response"]:
            return [started]
        return [started, *self._interrupted(heard_ms)]

    def user_stops(self, text: str, transcript: Transcript = "now") -> list[Json]:
        """Speech ends and is committed; the transcript comes when `transcript` says."""
        assert self._speech is not None, "nobody speaks"
        item_id, self._speech = self._speech, None
        self._clock_ms += MS_PER_WORD * max(1, len(text.split()))
        where: Json = {"audio_end_ms": self._clock_ms, "item_id": item_id}
        stopped = self.ledger.event("input_audio_buffer.speech_stopped", where)
        self._waiting.append((transcript, item_id, text))
        return [stopped, *self.commit(item_id), *self.transcripts("now", "failed")]

    def user_says(
        self, text: str, *, transcript: Transcript = "now", heard_ms: int | None = None
    ) -> list[Json]:
        return self.user_starts(heard_ms=heard_ms) + self.user_stops(text, transcript)

    def commit(self, item_id: str) -> list[Json]:
        """What was heard becomes an item."""
        before = self.ledger.last_item
        where = {"previous_item_id": before, "item_id": item_id}
        committed = self.ledger.event("input_audio_buffer.committed", where)
        item = item_object(Message(item_id, "user", (Part("input_audio"),)))
        return [committed, *self.ledger.add_item(item)]

    def transcripts(self, *due: Transcript) -> list[Json]:
        """Those that are due, or all that are still to come."""
        ready = [one for one in self._waiting if not due or one[0] in due]
        self._waiting = [one for one in self._waiting if one not in ready]
        return [event for one in ready for event in self._transcript(*one)]

    # --- The assistant --------------------------------------------------------------------

    def assistant_starts(self, text: str) -> list[Json]:
        """A message that stays open, as when someone is about to interrupt."""
        events = self.assistant.begin() + self.assistant.speak(text)
        return events + self.transcripts("during")

    def assistant_finishes(self, *, played: bool = True) -> list[Json]:
        """`played=False` leaves the audio in the buffer, until `playback_ends`."""
        events = self.assistant.end()
        if played:
            events += self.playback_ends()
        return events + self.transcripts("late")

    def assistant_says(self, text: str, *, played: bool = True) -> list[Json]:
        return self.assistant_starts(text) + self.assistant_finishes(played=played)

    def calls_tools(self, *calls: ToolUse, saying: str | None = None) -> list[Json]:
        """One response with all these calls, after a message where `saying` has one."""
        events = self.assistant.begin()
        if saying is not None:
            events += self.assistant.speak(saying) + self.assistant.end_message()
        events += self.transcripts("during")
        for call in calls:
            events += self.assistant.call_tool(call)
        return events + self.assistant_finishes()

    def response_fails(self, code: str = "server_error", message: str = "It failed.") -> list[Json]:
        error = {"type": "server_error", "code": code, "message": message}
        details = {"type": "failed", "error": error}
        return self.assistant.begin() + self.assistant.end("failed", details)

    def playback_ends(self) -> list[Json]:
        return self.assistant.stop_audio()

    # --- Pieces ---------------------------------------------------------------------------

    def _interrupted(self, heard_ms: int | None) -> list[Json]:
        """Over WebRTC the server itself clears what is playing and truncates to what was heard."""
        events, playing = self.assistant.cancel("turn_detected"), self.assistant.playing
        if playing is None:
            return events
        _, item_id = playing
        whole = self.ledger.audio_ms[item_id]
        heard = whole // 2 if heard_ms is None else min(heard_ms, whole)
        self.ledger.audio_ms[item_id] = heard
        truncated = self.ledger.event(
            "conversation.item.truncated", item_id=item_id, content_index=0, audio_end_ms=heard
        )
        return [*events, *self.assistant.stop_audio(cleared=True), truncated]

    def _transcript(self, when: Transcript, item_id: str, text: str) -> list[Json]:
        event = self.ledger.event
        if when == "failed":
            return [event(server.transcript_failed(item_id, "It could not be transcribed."))]
        usage = server.transcription_usage(max(1, len(text.split()) * MS_PER_WORD // 1000))
        where = {"item_id": item_id, "content_index": 0}
        deltas = [event(_DELTA, where, delta=part) for part in pieces(text)]
        return [*deltas, event(_COMPLETED, where, transcript=text, usage=usage)]


# --- Answers to what a client sends ---------------------------------------------------------


def reply(conversation: Conversation, frame: Mapping[str, Any]) -> list[Json]:
    """The answer to one event of a client, or one `error`."""
    try:
        return _answer(conversation, client.read(dict(frame)))
    except Refused as fault:
        return [conversation.ledger.event(server.error(fault, frame.get("event_id")))]


def _answer(c: Conversation, event: client.ClientEvent) -> list[Json]:
    ledger = c.ledger
    match event:
        case client.UpdateSession(session):
            if session.get("type") != "realtime":
                raise refused("missing_required_parameter", "session.type")
            reading(RealtimeSession.model_validate, session, "session")
            return ledger.session_updated(session)
        case client.CreateItem():
            return _create(c, event)
        case client.DeleteItem(item_id):
            _known(c, item_id, "delete")
            del ledger.items[item_id]
            return [ledger.event("conversation.item.deleted", item_id=item_id)]
        case client.RetrieveItem(item_id):
            _known(c, item_id, "retrieve")
            return [ledger.event("conversation.item.retrieved", item=ledger.items[item_id])]
        case client.Truncate(item_id, end):
            _known(c, item_id, "truncate")
            if end > (have := ledger.audio_ms.get(item_id, 0)):
                words = f"Audio content of {have}ms is already shorter than {end}ms"
                raise Refused(words, code="invalid_value", param="audio_end_ms")
            ledger.audio_ms[item_id] = end
            where = {"item_id": item_id, "content_index": event.content_index}
            return [ledger.event("conversation.item.truncated", where, audio_end_ms=end)]
        case client.CreateResponse(_, params):
            # It begins; what it says is the test's to decide.
            reading(ResponseCreate.model_validate, params or {}, "response")
            if (active := c.assistant.active) is not None:
                raise Refused(
                    f"Conversation already has an active response in progress: {active.id}. "
                    "Wait until the response is finished before creating a new one.",
                    code="conversation_already_has_active_response",
                )
            return c.assistant.begin()
        case client.CancelResponse():
            if c.assistant.active is None:
                words = "Cancellation failed: no active response found"
                raise Refused(words, code="response_cancel_not_active")
            return c.assistant.cancel("client_cancelled")
        case client.AppendInput():
            c.audio_appended = True
            return []
        case client.CommitInput():
            if not c.audio_appended:
                words = "Error committing input audio buffer: buffer too small."
                raise Refused(words, code="input_audio_buffer_commit_empty")
            c.audio_appended = False
            return c.commit(ledger.new_id("item"))
        case client.ClearInput():
            c.audio_appended = False
            return [ledger.event("input_audio_buffer.cleared")]
        case client.ClearOutput():
            return c.assistant.stop_audio(cleared=True)


def _create(c: Conversation, event: client.CreateItem) -> list[Json]:
    items, item, previous = c.ledger.items, read_item(event.item), event.previous_item_id
    if item.id in items:
        words = f"Item with ID '{item.id}' already exists in the conversation."
        raise Refused(words, code="item_create_duplicate_item_id", param="item.id")
    if isinstance(item, FunctionCallOutput):
        calls = {one.get("call_id") for one in items.values() if one["type"] == "function_call"}
        if item.call_id not in calls:
            words = f"Tool call ID '{item.call_id}' not found in conversation."
            raise Refused(words, code="invalid_tool_call_id", param="item.call_id")
    if previous not in (None, ROOT) and previous not in items:
        words = f"Previous item with ID '{previous}' not found."
        code = "item_create_invalid_previous_item_id"
        raise Refused(words, code=code, param="previous_item_id")
    return c.ledger.add_item(event.item, previous)


def _known(c: Conversation, item_id: str, verb: str) -> None:
    if item_id not in c.ledger.items:
        words = f"Error in item.{verb}: item with ID '{item_id}' does not exist."
        raise Refused(words, code=f"item_{verb}_invalid_item_id", param="item_id")
