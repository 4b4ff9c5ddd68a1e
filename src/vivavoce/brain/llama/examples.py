"""A talk that never was, for a small model to go on from. Pure.

It talks about its tools unless it has just seen itself use them. So it sees
the session's own tools used, by the examples in their descriptions, one a line:

    Example: "What changed in git?" {"command": "git diff"}

and between them small talk that needs none. Where tools bring no examples, it
sees tools that nobody has: they teach the manner, and no answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from vivavoce.brain.ports import Call, Result, Said, Tool, Turn

_LINE = re.compile(r'^Example: "(.+?)" (\{.*\})$', re.MULTILINE)
_EACH = 3
_MOST = 24
"""Every one of them costs half a second of reading, once."""


def _talk(user: str, assistant: str) -> tuple[Turn, ...]:
    return Said("user", user), Said("assistant", assistant)


def _use(user: str, tool: str, arguments: str, result: str, answer: str) -> tuple[Turn, ...]:
    called = Said("user", user), Call("", tool, arguments)
    return *called, Result("", result), Said("assistant", answer)


_FIRST = (
    *_talk("Hi there!", "Hello! What can I do for you?"),
    *_use("How far is it to the lake?", "distance", '{"to": "lake"}', '{"km": 18}',
          "It's eighteen kilometers to the lake."),
)  # fmt: skip
_LAST = _talk("Great, thanks.", "You're welcome.")
_SMALL_TALK = (
    _talk("I think I need a holiday.", "You have earned one."),
    _talk("What's the biggest planet?", "Jupiter."),
    _talk("That sounds good to me.", "Glad to hear it."),
    _talk("Do you ever sleep?", "Never. I'm always here for you."),
)
_IMAGINARY = (
    _use("Could you set a timer for ten minutes?", "set_timer", '{"minutes": 10}',
         "Timer set.", "Your timer is running."),
    _use("Is the heating on?", "house", '{"command": "heating status"}',
         "on, 21 degrees", "Yes, it's on, at twenty-one degrees."),
    _use("Play the song home dot mp3 in the music folder.", "play", '{"path": "music/home.mp3"}',
         "Playing.", "Here it comes."),
)  # fmt: skip


def examples(tools: Sequence[Tool]) -> tuple[Turn, ...]:
    uses = list(islice(_own(tools), _MOST)) or list(_IMAGINARY)
    asides = len(_SMALL_TALK)
    share = -(-len(uses) // asides)
    mixed = ((*uses[n * share : (n + 1) * share], _SMALL_TALK[n]) for n in range(asides))
    return *_FIRST, *chain.from_iterable(chain.from_iterable(mixed)), *_LAST


def described(tool: Tool) -> str:
    """What it does, without the examples."""
    return " ".join(_LINE.sub("", tool.description).split())


def _own(tools: Iterable[Tool]) -> Iterator[tuple[Turn, ...]]:
    """One of each tool, then a second of each: next to each other they would blur."""
    found = [_LINE.findall(tool.description)[:_EACH] for tool in tools]
    for place in range(_EACH):
        for tool, lines in zip(tools, found, strict=True):
            if place < len(lines):
                said, arguments = lines[place]
                yield Said("user", said), Call("", tool.name, arguments)
