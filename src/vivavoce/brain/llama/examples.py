"""A talk that never was, for a small model to go on from. Pure.

It talks about its tools unless it has just seen itself use them. So it sees
the session's own tools used, by the examples in their descriptions, one a line:

    Example: "What changed in git?" {"command": "git diff"}

and between them small talk that needs none. Where tools bring no examples, it
sees tools that nobody has: they teach the manner, and no answer. Where there
are no tools it sees small talk only, or it would claim to have used some.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain, islice

from vivavoce.brain.ports import Call, Result, Said, Tool, Turn

_MARK = 'Example: "'
_LONGEST = 400
"""Letters of one. Descriptions come from anywhere."""
_EACH = 6
_MOST = 30
"""Every one of them costs half a second of reading, once."""


def _talk(user: str, assistant: str) -> tuple[Turn, ...]:
    return Said("user", user), Said("assistant", assistant)


def _use(user: str, tool: str, arguments: str, result: str, answer: str) -> tuple[Turn, ...]:
    called = Said("user", user), Call("", tool, arguments)
    return *called, Result("", result), Said("assistant", answer)


_FIRST = _talk("Hi there!", "Hello! What can I do for you?")
_WHOLE = _use("How far is it to the lake?", "distance", '{"to": "lake"}', '{"km": 18}',
              "It's eighteen kilometers to the lake.")  # fmt: skip
_LAST = _talk("Great, thanks.", "You're welcome.")
_SMALL_TALK = (
    _talk("How's life?", "Quite good, thank you. And yours?"),
    _talk("What's the biggest planet?", "Jupiter."),
    _talk("I think I need a holiday.", "You have earned one."),
    _talk("Who are you?", "I'm your voice assistant."),
    _talk("That sounds good to me.", "Glad to hear it."),
    _talk("What's the opposite of hot?", "Cold."),
    _talk("I slept badly.", "I'm sorry to hear that."),
    _talk("Make me laugh.", "Why did the bicycle fall over? It was two tired."),
    _talk("Who composed Carmen?", "Georges Bizet."),
    _talk("Our cat's name is Mia.", "What a lovely name."),
    _talk("Let me see, hm.", "Take your time."),
    _talk("What's the meaning of the word frugal?", "Careful with money."),
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
    if not tools:
        return *_FIRST, *chain.from_iterable(_SMALL_TALK), *_LAST
    uses = list(islice(_own(tools), _MOST)) or list(_IMAGINARY)
    asides = len(_SMALL_TALK)
    share = -(-len(uses) // asides)
    mixed = ((*uses[n * share : (n + 1) * share], _SMALL_TALK[n]) for n in range(asides))
    return *_FIRST, *_WHOLE, *chain.from_iterable(chain.from_iterable(mixed)), *_LAST


def spoken(tool: Tool) -> tuple[str, ...]:
    """What people say when they want it, by its examples."""
    return tuple(said for said, _ in islice(_usable(tool), _EACH))


def described(tool: Tool) -> str:
    """What it does, without the examples."""
    lines = tool.description.splitlines()
    return " ".join(" ".join(line for line in lines if not _example(line)).split())


def _own(tools: Sequence[Tool]) -> Iterator[tuple[Turn, ...]]:
    """One of each tool, then a second of each: next to each other they would blur."""
    found = [list(islice(_usable(tool), _EACH)) for tool in tools]
    for place in range(_EACH):
        for tool, lines in zip(tools, found, strict=True):
            if place < len(lines):
                said, arguments = lines[place]
                yield Said("user", said), Call("", tool.name, arguments)


def _usable(tool: Tool) -> Iterator[tuple[str, str]]:
    for line in tool.description.splitlines():
        example = _example(line)
        if example and len(line) <= _LONGEST and _is_json(example[1]):
            yield example


def _example(line: str) -> tuple[str, str] | None:
    """What is said and the arguments. No pattern: the worst line must not cost more than others."""
    line = line.rstrip()
    if not (line.startswith(_MARK) and line.endswith("}")):
        return None
    said, found, rest = line.removeprefix(_MARK).partition('" {')
    return (said, "{" + rest) if found and said.strip() else None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
