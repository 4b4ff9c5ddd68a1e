"""The assistant's half of a scripted conversation: one response at a time.

Pure: each method returns the events to send. The order of messages is that
of recorded traffic; that of function calls and of the audio buffer, which
the recordings lack, follows OpenAI's reference.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vivavoce.testing.realtime.ledger import MS_PER_WORD, Ledger, pieces
from vivavoce.testing.realtime.session import Json


@dataclass(frozen=True, slots=True)
class ToolUse:
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
        self._ledger = ledger
        self.active: Response | None = None
        self.playing: tuple[str, str] | None = None

    def begin(self) -> list[Json]:
        """`response.created`, unless one is in progress already."""
        if self.active is not None:
            return []
        self.active = Response(self._ledger.new_id("resp"))
        created = self._response(self.active, "in_progress")
        return [self._ledger.event("response.created", response=created)]

    def speak(self, text: str) -> list[Json]:
        """More of the message that is open, or the beginning of a new one."""
        response, events = self._responding(), []
        if response.message is None:
            item = {"type": "message", "status": "in_progress", "role": "assistant", "content": []}
            events += self._open({"id": self._ledger.new_id("item"), **item})
            response.message, response.text = response.output[-1], ""
            events.append(self._part("response.content_part.added", part=self._content(part="")))
        return events + self._deltas(response, text)

    def end_message(self, status: str = "completed") -> list[Json]:
        response = self._responding()
        if response.message is None:
            return []
        text = response.text
        if self._ledger.spoken:
            events = [
                self._part("response.output_audio.done"),
                self._part("response.output_audio_transcript.done", transcript=text),
            ]
        else:
            events = [self._part("response.output_text.done", text=text)]
        events.append(self._part("response.content_part.done", part=self._content(part=text)))
        response.message.update(status=status, content=[self._content(item=text)])
        response.message = None
        return events + self._close()

    def call_tool(self, call: ToolUse) -> list[Json]:
        words = call.arguments
        arguments = words if isinstance(words, str) else json.dumps(dict(words))
        call_id = call.call_id or self._ledger.new_id("call")
        item: Json = {
            "id": self._ledger.new_id("item"),
            "type": "function_call",
            "status": "in_progress",
            "name": call.name,
            "call_id": call_id,
            "arguments": "",
        }
        events = self._open(item)
        base = "response.function_call_arguments"
        events += [
            self._part(f"{base}.delta", call_id=call_id, delta=part) for part in pieces(arguments)
        ]
        done = self._part(f"{base}.done", call_id=call_id, name=call.name, arguments=arguments)
        item.update(status="completed", arguments=arguments)
        return [*events, done, *self._close()]

    def end(self, status: str = "completed", details: Json | None = None) -> list[Json]:
        """`response.done`, with whatever is open closed first."""
        message = "completed" if status == "completed" else "incomplete"
        events = self.end_message(message)
        done = self._response(self._responding(), status, details)
        self.active = None
        return [*events, self._ledger.event("response.done", response=done)]

    def cancel(self, reason: str) -> list[Json]:
        if self.active is None:
            return []
        return self.end("cancelled", {"type": "cancelled", "reason": reason})

    def stop_audio(self, how: str) -> list[Json]:
        """The buffer is `stopped` (played to its end) or `cleared`; nothing if it is empty."""
        if self.playing is None:
            return []
        response_id, _ = self.playing
        self.playing = None
        return [self._ledger.event(f"output_audio_buffer.{how}", response_id=response_id)]

    # --- Pieces ---------------------------------------------------------------------

    def _responding(self) -> Response:
        assert self.active is not None, "no response is in progress"
        return self.active

    def _content(self, *, part: str | None = None, item: str | None = None) -> Json:
        """A content part is `audio`, the same in an item `output_audio`; text likewise."""
        text, prefix = (part, "") if item is None else (item, "output_")
        if self._ledger.spoken:
            return {"type": f"{prefix}audio", "transcript": text}
        return {"type": f"{prefix}text", "text": text}

    def _part(self, kind: str, **fields: Any) -> Json:
        response = self._responding()
        place: Json = {} if "function_call" in kind else {"content_index": 0}
        return self._ledger.event(
            kind,
            response_id=response.id,
            item_id=response.output[-1]["id"],
            output_index=len(response.output) - 1,
            **place,
            **fields,
        )

    def _open(self, item: Json) -> list[Json]:
        response = self._responding()
        response.output.append(item)
        before = self._ledger.insert(item)
        return [
            self._output_item("added", dict(item)),
            self._ledger.event("conversation.item.added", previous_item_id=before, item=dict(item)),
        ]

    def _close(self) -> list[Json]:
        item = dict(self._responding().output[-1])
        return [
            # Recorded so: the predecessor is told when an item is added, and not again.
            self._ledger.event("conversation.item.done", previous_item_id=None, item=item),
            self._output_item("done", item),
        ]

    def _output_item(self, what: str, item: Json) -> Json:
        response = self._responding()
        return self._ledger.event(
            f"response.output_item.{what}",
            response_id=response.id,
            output_index=len(response.output) - 1,
            item=item,
        )

    def _deltas(self, response: Response, text: str) -> list[Json]:
        ledger, item_id = self._ledger, response.output[-1]["id"]
        kind = "output_audio_transcript" if ledger.spoken else "output_text"
        events = [self._part(f"response.{kind}.delta", delta=part) for part in pieces(text)]
        response.text += text
        if ledger.spoken:
            words = MS_PER_WORD * len(text.split())
            ledger.audio_ms[item_id] = ledger.audio_ms.get(item_id, 0) + words
            if not ledger.webrtc:  # else the sound goes over the media line, not over this one
                events.append(self._part("response.output_audio.delta", delta="AAAA"))
            elif self.playing is None:
                self.playing = (response.id, item_id)
                started = ledger.event("output_audio_buffer.started", response_id=response.id)
                events.insert(1, started)
        return events

    def _response(self, response: Response, status: str, details: Json | None = None) -> Json:
        session = self._ledger.session
        output = session["audio"]["output"]
        return {
            "object": "realtime.response",
            "id": response.id,
            "status": status,
            "status_details": details,
            "output": [dict(item) for item in response.output],
            "conversation_id": self._ledger.conversation_id,
            "output_modalities": session["output_modalities"],
            "max_output_tokens": session["max_output_tokens"],
            "audio": {"output": {"format": output["format"], "voice": output["voice"]}},
            "usage": None if status == "in_progress" else self._usage(response),
            "metadata": None,
        }

    def _usage(self, response: Response) -> Json:
        """Plausible numbers that grow with the conversation; cached is a part of input."""
        took = 12 * max(1, len(self._ledger.items) - len(response.output))
        text = 5 + len(response.text.split())
        audio = 10 * len(response.text.split()) if self._ledger.spoken else 0
        given = {"text_tokens": took, "audio_tokens": 0, "image_tokens": 0}
        cached = {**given, "text_tokens": took // 2}
        return {
            "total_tokens": took + text + audio,
            "input_tokens": took,
            "output_tokens": text + audio,
            "input_token_details": {
                **given,
                "cached_tokens": took // 2,
                "cached_tokens_details": cached,
            },
            "output_token_details": {"text_tokens": text, "audio_tokens": audio},
        }
