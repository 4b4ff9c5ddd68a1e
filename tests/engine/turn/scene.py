"""A turn machine on a table: facts in by hand, what it does kept for the test to look at."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

from tests.engine.strict import strict
from vivavoce.engine.ports import Position
from vivavoce.engine.turn import facts, orders
from vivavoce.engine.turn.configuration import Configuration, initial, updated
from vivavoce.engine.turn.machine import Machine
from vivavoce.engine.turn.state import Policy
from vivavoce.wire import brain
from vivavoce.wire.realtime import client
from vivavoce.wire.realtime.events import held

VOICES = frozenset({"marin", "cedar"})
ME, OTHER = 1, 2
PCM_PER_MS = 48


def configured(**audio_input: Any) -> Configuration:
    first = initial("vivavoce", voice="marin", voices=VOICES)
    patch: dict[str, Any] = {"audio": {"input": audio_input}} if audio_input else {}
    return updated(first, patch, voices=VOICES)


class Scene:
    """Every event that leaves is held to the SDK's types and to ours, to the letter."""

    def __init__(
        self,
        configuration: Configuration | None = None,
        *,
        paced: bool = False,
        foreign: bool = False,
        **policy: Any,
    ) -> None:
        """`foreign`: somebody else's session, which did not ask for manners."""
        self.now = 100.0
        numbers = itertools.count(1)
        wanted = configuration or configured()
        if policy.get("manners") is not None and not foreign:
            wanted = replace(wanted, manners=True)
        self.machine = Machine(
            Policy("sess_1", "conv_1", VOICES, 2_000_000_000, paced=paced, **policy),
            wanted,
            lambda prefix: f"{prefix}_{next(numbers)}",
        )
        self.done: list[orders.Order] = []
        self.sent: list[dict[str, Any]] = []
        strict(held({**self.machine.greeting(), "event_id": "event_0"}))

    # --- Telling it things ----------------------------------------------------------------

    def tell(self, *given: facts.Fact, position: Position | None = None) -> list[str]:
        """The types of the events that this led to."""
        before = len(self.sent)
        for fact in given:
            for order in self.machine.receive(fact, self.now, position):
                self.done.append(order)
                if isinstance(order, orders.Send):
                    whole = held({**order.event, "event_id": "event_1"})
                    if not order.event["type"].startswith("vivavoce."):  # to our own server alone
                        strict(whole)
                    self.sent.append(order.event)
        return [event["type"] for event in self.sent[before:]]

    def ask(
        self, event: client.ClientEvent, event_id: str | None = None, **stood: Any
    ) -> list[str]:
        """`stood`: how things stood (`buffered_ms`, `end_ms`, `position`), and who sends it."""
        sent = replace(event, event_id=event_id) if event_id else event
        position = stood.pop("position", None)
        return self.tell(facts.Request(sent, stood.pop("sender", ME), **stood), position=position)

    def write(self, text: str, role: str = "user", **more: Any) -> list[str]:
        kind = "output_text" if role == "assistant" else "input_text"
        part = {"type": kind, "text": text}
        item = {"type": "message", "role": role, "content": [part], **more}
        return self.ask(client.CreateItem(item))

    def respond(self, **params: Any) -> str:
        """Ask for a response; its id."""
        self.ask(client.CreateResponse(response=params or None))
        return self.response_id

    def say(self, response_id: str, text: str) -> None:
        self.tell(facts.Thought(response_id, brain.Words(text)))

    def sound(self, response_id: str, text: str, ms: int) -> None:
        self.tell(facts.Spoken(response_id, text, b"\1\0" * (24 * ms), ms))

    def finish(self, response_id: str, reason: Any = "stop") -> list[str]:
        finished = brain.Finished(reason, input_tokens=7, output_tokens=3)
        return self.tell(facts.Thought(response_id, finished), facts.AllSpoken(response_id))

    def speak(self, start: int, stop: int, position: Position | None = None) -> str:
        """The user says something; the item's id."""
        self.tell(facts.SpeechStarted(start), facts.SpeechStopped(stop), position=position)
        return str(self.last("input_audio_buffer.committed")["item_id"])

    # --- Looking ----------------------------------------------------------------------------

    def all(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.sent if event["type"] == kind]

    def last(self, kind: str) -> dict[str, Any]:
        found = self.all(kind)
        assert found, f"no {kind} among {[event['type'] for event in self.sent]}"
        return found[-1]

    def orders(self, kind: type[Any]) -> list[Any]:
        return [order for order in self.done if isinstance(order, kind)]

    @property
    def response_id(self) -> str:
        return str(self.last("response.created")["response"]["id"])

    @property
    def asked(self) -> brain.Ask:
        question: brain.Ask = self.orders(orders.Answer)[-1].ask
        return question

    @property
    def error(self) -> dict[str, Any]:
        error: dict[str, Any] = self.last("error")["error"]
        return error

    def text_of(self, item_id: str) -> str | None:
        """What the conversation has of it, as the brain will see it."""
        self.ask(client.RetrieveItem(item_id))
        part: dict[str, Any] = self.last("conversation.item.retrieved")["item"]["content"][0]
        return part.get("transcript", part.get("text"))
