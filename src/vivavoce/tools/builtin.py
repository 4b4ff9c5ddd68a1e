"""The tools that are always there: harmless, and made as any other.

What they need of the world (the clock, the zone) is handed in.
"""

from __future__ import annotations

import math
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import Field

from vivavoce.errors import InvalidArguments
from vivavoce.runtime.ports import Clock, ToolContext, ToolExample
from vivavoce.tools.arithmetic import MAX_LENGTH, evaluate
from vivavoce.tools.functions import Tool, tool

MAX_WAIT = 300.0


def builtins(clock: Clock, time_zone: str = "UTC") -> list[Tool]:
    """All of them, for `Registry(builtins(clock, zone))`."""
    return [_current_time(clock, time_zone), calculate, _wait(clock)]


def _current_time(clock: Clock, time_zone: str) -> Tool:
    @tool(
        category="utility",
        examples=[
            ToolExample(
                "What time is it in Tokyo?",
                {"time_zone": "Asia/Tokyo"},
                "Saturday, January 31, 2026, 11:30 PM in Asia/Tokyo (2026-01-31T23:30:22+09:00)",
            )
        ],
        describe=lambda given: f"Looking at the clock in {given.get('time_zone') or time_zone}",
    )
    async def current_time(
        time_zone: Annotated[
            str,
            Field(description="IANA name such as Europe/Berlin; the user's own if left out"),
        ] = time_zone,
    ) -> str:
        """The date and time now, in the user's time zone or another one."""
        now = clock.now().astimezone(_zone(time_zone))
        hour = now.hour % 12 or 12
        return (
            f"{now:%A}, {now:%B} {now.day}, {now.year}, {hour}:{now:%M %p} in {time_zone} "
            f"({now.isoformat(timespec='seconds')})"
        )

    return current_time


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # unknown, a path, a folder
        raise InvalidArguments(
            f"'{name[:64]}' is no IANA time zone such as Europe/Berlin", tool="current_time"
        ) from None


@tool(
    category="utility",
    timeout=10,
    examples=[
        ToolExample(
            "What is fifteen percent of eighty-four fifty?",
            {"expression": "84.50 * 0.15"},
            "12.675",
        ),
        ToolExample(
            "Ten times the square root of two, please.",
            {"expression": "sqrt(2) * 10"},
            "14.1421356237",
        ),
    ],
    describe=lambda given: f"Calculating {given['expression']}",
)
async def calculate(
    expression: Annotated[
        str,
        Field(
            description="Numbers, + - * / // % ^, brackets, pi, e, and functions such as "
            "sqrt, round, min, max, log, sin",
            min_length=1,
            max_length=MAX_LENGTH,
        ),
    ],
) -> str:
    """Exact arithmetic. Use it rather than working out numbers in your head."""
    return evaluate(expression)


def _wait(clock: Clock) -> Tool:
    @tool(
        category="utility",
        timeout=MAX_WAIT + 10,
        examples=[ToolExample("Wait five seconds.", {"seconds": 5}, "Waited 5 seconds.")],
        describe=lambda given: f"Waiting {given['seconds']:g} seconds",
    )
    async def wait(
        seconds: Annotated[float, Field(description="How long", ge=0, le=MAX_WAIT)],
        context: ToolContext,
    ) -> str:
        """Wait for some seconds, at most five minutes, then say so. It can be cancelled."""
        steps = max(1, math.ceil(seconds))
        for step in range(steps):
            left = math.ceil(seconds - seconds * step / steps)
            plural = "" if left == 1 else "s"
            await context.report(f"{left} second{plural} left", round(100 * step / steps))
            await clock.sleep(seconds / steps)
        return f"Waited {seconds:g} seconds."

    return wait
