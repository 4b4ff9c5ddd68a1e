"""Prometheus metrics (seed 003 §6.4), in a registry of the app's own."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from vivavoce.wire.records import CallStatus, ToolCall

_SECONDS = (0.1, 0.5, 1, 2, 5, 10, 30, 60, 300)


class _Total(Collector):
    """A counter that somebody else counts."""

    def __init__(self, name: str, text: str, value: Callable[[], float]) -> None:
        self._name, self._text, self._value = name, text, value

    def collect(self) -> list[CounterMetricFamily]:
        return [CounterMetricFamily(self._name, self._text, value=self._value())]


class Metrics:
    """What this process counts."""

    def __init__(
        self,
        *,
        sessions_total: Callable[[], float],
        sessions_active: Callable[[], float],
        streams: Callable[[], float],
        log_position: Callable[[], float],
    ) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(
            _Total("voice_sessions_total", "Total voice sessions", sessions_total)
        )
        self._registry.register(
            _Total("voice_events_total", "Position of the event log", log_position)
        )
        for name, text, value in (
            ("voice_sessions_active", "Current active sessions", sessions_active),
            ("voice_event_streams", "Open event streams", streams),
        ):
            Gauge(name, text, registry=self._registry).set_function(value)
        self._executions = Counter(
            "tool_executions", "Total tool executions", ["tool"], registry=self._registry
        )
        self._failures = Counter(
            "tool_failures", "Tool executions that failed", ["tool"], registry=self._registry
        )
        self._durations = Histogram(
            "tool_execution_duration_seconds",
            "Tool execution duration",
            ["tool"],
            buckets=_SECONDS,
            registry=self._registry,
        )

    def tool_settled(self, call: ToolCall) -> None:
        self._executions.labels(call.tool).inc()
        if call.status is not CallStatus.COMPLETED:
            self._failures.labels(call.tool).inc()
        if call.duration_ms is not None:
            self._durations.labels(call.tool).observe(call.duration_ms / 1000)

    def text(self) -> bytes:
        return generate_latest(self._registry)
