"""Prometheus metrics (seed 003 §6.4), in a registry of the app's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from vivavoce.errors import is_known
from vivavoce.runtime.journal.log import Journal
from vivavoce.runtime.sessions.registry import Registry
from vivavoce.session.effects import Failed
from vivavoce.wire.events import TurnTraced
from vivavoce.wire.records.talk import CallStatus, ToolCall

_SECONDS = (0.1, 0.5, 1, 2, 5, 10, 30, 60, 300)
# Finest where a listener begins to notice that nothing comes.
_TURN_SECONDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1, 1.5, 2, 3, 5, 10, 30, 60)
_STAGES = [field.name for field in fields(TurnTraced) if field.name.endswith("_ms")]


class _Total(Collector):
    """A counter that somebody else counts."""

    def __init__(self, name: str, text: str, value: Callable[[], float]) -> None:
        self._name, self._text, self._value = name, text, value

    def collect(self) -> list[CounterMetricFamily]:
        return [CounterMetricFamily(self._name, self._text, value=self._value())]


class Metrics:
    """What this process counts."""

    def __init__(self, sessions: Registry, journal: Journal) -> None:
        self._registry = CollectorRegistry()
        for name, text, value in (
            ("voice_sessions_total", "Total voice sessions", lambda: sessions.total),
            ("voice_events_total", "Position of the event log", lambda: max(0, journal.position)),
        ):
            self._registry.register(_Total(name, text, value))
        for name, text, value in (
            ("voice_sessions_active", "Current active sessions", lambda: len(sessions)),
            ("voice_event_streams", "Open event streams", lambda: journal.streams),
        ):
            self.gauge(name, text, value)
        count = partial(Counter, registry=self._registry)
        observe = partial(Histogram, registry=self._registry)
        self._executions = count("tool_executions", "Total tool executions", ["tool"])
        self._failures = count("tool_failures", "Tool executions that failed", ["tool"])
        duration = ("tool_execution_duration_seconds", "Tool execution duration")
        self._durations = observe(*duration, ["tool"], buckets=_SECONDS)
        self._faults = count(
            "vivavoce_faults", "Faults that sessions met, and what was done", ["code", "recovery"]
        )
        self._turns = count("vivavoce_turns", "Turns that are over", ["began_with", "outcome"])
        stage = "From the end of the user's speech to each stage of the turn"
        self._stages = observe(
            "vivavoce_turn_seconds", stage, ["stage", "began_with"], buckets=_TURN_SECONDS
        )

    def gauge(self, name: str, text: str, value: Callable[[], float]) -> None:
        """What somebody else counts."""
        Gauge(name, text, registry=self._registry).set_function(value)

    def fault_met(self, fault: Failed) -> None:
        self._faults.labels(fault.code if is_known(fault.code) else "other", fault.recovery).inc()

    def turn_traced(self, turn: TurnTraced) -> None:
        self._turns.labels(turn.began_with, turn.outcome).inc()
        for stage in _STAGES:
            if (ms := getattr(turn, stage)) is not None:
                self._stages.labels(stage.removesuffix("_ms"), turn.began_with).observe(ms / 1000)

    def tool_settled(self, call: ToolCall) -> None:
        self._executions.labels(call.tool).inc()
        if call.status is not CallStatus.COMPLETED:
            self._failures.labels(call.tool).inc()
        if call.duration_ms is not None:
            self._durations.labels(call.tool).observe(call.duration_ms / 1000)

    def text(self) -> bytes:
        return generate_latest(self._registry)
