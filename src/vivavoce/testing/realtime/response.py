"""The assistant's half of a scripted conversation: one response at a time.

Pure: each method returns the events to send. The order of messages is that
of recorded traffic; that of function calls and of the audio buffer, which
the recordings lack, follows OpenAI's reference.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from vivavoce.testing.realtime.ledger import MS_PER_WORD, Json, Ledger, pieces
from vivavoce.wire.realtime import server
from vivavoce.wire.realtime.items import FunctionCall, Message, Part, Status, item_object
from vivavoce.wire.realtime.response import response_object
from vivavoce.wire.values import Value


class ToolUse(Value):
    """One function call of a response."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    call_id: str | None = None


@dataclass(slots=True)
class Response:
    """The one in progress: what it has put out, and the message that is still open."""

    id: str
    output: list[Json] = field(default_factory=list)
    message: Json | None = None
    text: str = ""


class Assistant:
    """`active` is the response in progress, `playing` the (response, item) in the buffer."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger, self._event = ledger, ledger.event
        self.active: Response | None = None
        self.playing: tuple[str, str] | None = None

    def begin(self) -> list[Json]:
        """`response.created`, unless one is in progress already."""
        if self.active is not None:
            return []
        self.active = Response(self._ledger.new_id("resp"))
        return [self._event("response.created", response=self._response("in_progress"))]

    def speak(self, text: str) -> list[Json]:
        """More of the message that is open, or the beginning of a new one."""
        response, events = self._responding(), []
        if response.message is None:
            item_id = self._ledger.new_id("item")
            events += self._open(item_object(Message(item_id, "assistant", (), "in_progress")))
            response.message, response.text = response.output[-1], ""
            events.append(
                self._event("response.content_part.added", self._place(), part=self._part(""))
            )
        return events + self._deltas(response, text)

    def end_message(self, status: Status = "completed") -> list[Json]:
        response = self._responding()
        if response.message is None:
            return []
        text, where = response.text, self._place()
        if self._ledger.spoken:
            part = Part("output_audio", transcript=text)
            events = [self._event("response.output_audio.done", where)]
            events.append(
                self._event("response.output_audio_transcript.done", where, transcript=text)
            )
        else:
            part = Part("output_text", text=text)
            events = [self._event("response.output_text.done", where, text=text)]
        events.append(self._event("response.content_part.done", where, part=self._part(text)))
        item_id = response.message["id"]
        response.message.update(item_object(Message(item_id, "assistant", (part,), status)))
        response.message = None
        return events + self._close()

    def call_tool(self, call: ToolUse) -> list[Json]:
        words = call.arguments
        arguments = words if isinstance(words, str) else json.dumps(dict(words))
        call_id, item_id = call.call_id or self._ledger.new_id("call"), self._ledger.new_id("item")
        item = item_object(FunctionCall(item_id, call_id, call.name, "", "in_progress"))
        events = self._open(item)
        place = self._place()
        where = {**place, "call_id": call_id}
        del where["content_index"]
        kind: Final = "response.function_call_arguments.delta"
        events += [self._event(kind, where, delta=part) for part in pieces(arguments)]
        whole = {"name": call.name, "arguments": arguments}
        done = self._event("response.function_call_arguments.done", where, **whole)
        item.update(status="completed", arguments=arguments)
        return [*events, done, *self._close()]

    def end(self, status: str = "completed", details: Json | None = None) -> list[Json]:
        """`response.done`, with whatever is open closed first."""
        events = self.end_message("completed" if status == "completed" else "incomplete")
        done = self._event("response.done", response=self._response(status, details))
        self.active = None
        return [*events, done]

    def cancel(self, reason: str) -> list[Json]:
        if self.active is None:
            return []
        return self.end("cancelled", {"type": "cancelled", "reason": reason})

    def stop_audio(self, *, cleared: bool = False) -> list[Json]:
        """The buffer was played to its end, or `cleared`; nothing if it is empty."""
        if self.playing is None:
            return []
        response_id, _ = self.playing
        self.playing = None
        kind: server.EventType = "output_audio_buffer.stopped"
        if cleared:
            kind = "output_audio_buffer.cleared"
        return [self._event(kind, response_id=response_id)]

    # --- Pieces ---------------------------------------------------------------------

    def _responding(self) -> Response:
        assert self.active is not None, "no response is in progress"
        return self.active

    def _part(self, text: str) -> Json:
        """In an item it is `output_audio` or `output_text`."""
        spoken = self._ledger.spoken
        return {"type": "audio", "transcript": text} if spoken else {"type": "text", "text": text}

    def _place(self) -> Json:
        response = self._responding()
        return {
            "response_id": response.id,
            "item_id": response.output[-1]["id"],
            "output_index": len(response.output) - 1,
            "content_index": 0,
        }

    def _open(self, item: Json) -> list[Json]:
        response = self._responding()
        response.output.append(item)
        before, shown = self._ledger.insert(item), dict(item)
        place: Json = {"response_id": response.id, "output_index": len(response.output) - 1}
        return [
            self._event("response.output_item.added", place, item=shown),
            self._event("conversation.item.added", previous_item_id=before, item=shown),
        ]

    def _close(self) -> list[Json]:
        response = self._responding()
        item = dict(response.output[-1])
        place: Json = {"response_id": response.id, "output_index": len(response.output) - 1}
        return [
            # Recorded so: the predecessor is told when an item is added, and not again.
            self._event("conversation.item.done", previous_item_id=None, item=item),
            self._event("response.output_item.done", place, item=item),
        ]

    def _deltas(self, response: Response, text: str) -> list[Json]:
        ledger, place = self._ledger, self._place()
        item_id = place["item_id"]
        kind: server.EventType = "response.output_text.delta"
        if ledger.spoken:
            kind = "response.output_audio_transcript.delta"
        events = [self._event(kind, place, delta=part) for part in pieces(text)]
        response.text += text
        if ledger.spoken:
            words = MS_PER_WORD * len(text.split())
            ledger.audio_ms[item_id] = ledger.audio_ms.get(item_id, 0) + words
            if not ledger.webrtc:  # else the sound goes over the media, not over this connection
                events.append(self._event("response.output_audio.delta", place, delta="AAAA"))
            elif self.playing is None:
                self.playing = (response.id, item_id)
                started = self._event("output_audio_buffer.started", response_id=response.id)
                events.insert(1, started)
        return events

    def _response(self, status: str, details: Json | None = None) -> Json:
        response, session = self._responding(), self._ledger.session
        output = session["audio"]["output"]
        return response_object(
            response_id=response.id,
            status=status,
            status_details=details,
            output=response.output,
            conversation_id=self._ledger.conversation_id,
            output_modalities=session["output_modalities"],
            max_output_tokens=session["max_output_tokens"],
            audio_format=output["format"],
            voice=output["voice"],
            usage=None if status == "in_progress" else self._usage(response),
        )

    def _usage(self, response: Response) -> Json:
        """Plausible numbers that grow with the conversation; cached is a part of input."""
        took = 12 * max(1, len(self._ledger.items) - len(response.output))
        words = len(response.text.split())
        return server.response_usage(
            input_tokens=took,
            cached_tokens=took // 2,
            output_tokens=5 + words,
            output_seconds=words / 2 if self._ledger.spoken else 0.0,
        )
