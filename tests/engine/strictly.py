"""Importing this holds every event that any engine of this process sends to the SDK's types, and
to ours."""

from __future__ import annotations

from tests.engine.strict import strict
from vivavoce.engine.shell.session import Session
from vivavoce.engine.turn.orders import Audience
from vivavoce.wire.realtime.events import held
from vivavoce.wire.realtime.server import Frame as Event

_straight = Session._send


def _send(session: Session, event: Event, to: Audience | int) -> None:
    whole = held({"event_id": "event_x", **event})
    if not event["type"].startswith("vivavoce."):  # to our own server alone
        strict(whole)
    _straight(session, event, to)


Session._send = _send  # type: ignore[method-assign, assignment]
