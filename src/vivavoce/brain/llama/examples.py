"""A talk that never was, for a small model to go on from. Pure.

It talks about its tools unless it has just seen itself use them. So it sees
the session's own tools used, by the examples in their descriptions, one a line:

    Example: "What changed in git?" {"command": "git diff"}
    Example: "Set an alarm." > "For when?" > "For six." {"at": "six"}

and between them small talk that needs none. Where tools bring no examples, it
sees tools that nobody has: they teach the manner, and no answer. Where there
are no tools it sees small talk only, or it would claim to have used some.

An agent's prompt may bring talks of its own, one a line. They take the place of
the small talk, which would teach an agent with one errand to chat:

    - "Who won the game?" > "I only know about your garden. What shall I plant?"
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice

from vivavoce.brain.llama.unsaid import ASK
from vivavoce.brain.llama.unsaid import MARK as UNSAID
from vivavoce.brain.ports import Call, Result, Said, Tool, Turn

_MARK = 'Example: "'
_ASIDE = '- "'
_NEXT = re.compile('" (?:> )?"')
_LONGEST = 500
"""Letters of one. Descriptions come from anywhere."""
_EACH = 6
_MOST = 32
"""Every one of them costs half a second of reading, once."""


def _talk(user: str, assistant: str) -> tuple[Turn, ...]:
    return Said("user", user), Said("assistant", assistant)


def _use(user: str, tool: str, arguments: str, result: str, answer: str) -> tuple[Turn, ...]:
    called = Said("user", user), Call("", tool, arguments)
    return *called, Result("", result), Said("assistant", answer)


_FIRST = _talk("Hi there!", "Hello! What can I do for you?")
_WHOLE = _use("How far is it to the lake?", "distance", '{"to": "lake"}', '{"km": 18}',
              "It's eighteen kilometers to the lake.")  # fmt: skip
_ACCEPTED = '{"status": "accepted"}'
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
    _talk("Who wrote Faust?", "Johann Wolfgang von Goethe."),
    _talk("Our cat's name is Mia.", "What a lovely name."),
    _talk("Let me see, hm.", "Take your time."),
    _talk("What does the word frugal mean?", "Careful with money."),
)
_IMAGINARY = (
    _use("Could you set a timer for ten minutes?", "set_timer", '{"minutes": 10}',
         "Timer set.", "Your timer is running."),
    _use("Is the heating on?", "house", '{"command": "heating status"}',
         "on, 21 degrees", "Yes, it's on, at twenty-one degrees."),
    _use("Play the song home dot mp3 in the music folder.", "play", '{"path": "music/home.mp3"}',
         "Playing.", "Here it comes."),
)  # fmt: skip


def examples(tools: Sequence[Tool], talks: Sequence[tuple[Turn, ...]] = ()) -> tuple[Turn, ...]:
    """`talks` are the agent's own."""
    if not tools:
        small = talks or (_FIRST, *_SMALL_TALK, _LAST)
        return tuple(chain.from_iterable(small))
    uses = list(islice(_own(tools), _MOST)) or list(_IMAGINARY)
    if talks:
        return tuple(chain.from_iterable(_mixed(uses, talks)))
    return *_FIRST, *_WHOLE, *chain.from_iterable(_mixed(uses, _SMALL_TALK)), *_LAST


def _mixed(
    uses: Sequence[tuple[Turn, ...]], asides: Sequence[tuple[Turn, ...]]
) -> Iterator[tuple[Turn, ...]]:
    """As many uses before each aside; every aside is there."""
    share = -(-len(uses) // len(asides))
    for number, aside in enumerate(asides):
        yield from uses[number * share : (number + 1) * share]
        yield aside


def spoken(tool: Tool) -> tuple[str, ...]:
    """What people say when they want it, by its examples."""
    return tuple(_NEXT.split(said, 1)[0] for said, _, _ in islice(_usable(tool), _EACH))


def parted(instructions: str) -> tuple[str, tuple[tuple[Turn, ...], ...]]:
    """The instructions without the talks in them, and the talks."""
    lines = instructions.splitlines()
    found = {at: talk for at, line in enumerate(lines) if (talk := _aside(line))}
    if not found:
        return instructions, ()
    rest = "\n".join(line for at, line in enumerate(lines) if at not in found)
    return rest, tuple(islice(found.values(), _MOST))


def _aside(line: str) -> tuple[Turn, ...] | None:
    line = line.strip()
    if len(line) > _LONGEST or not (line.startswith(_ASIDE) and line.endswith('"')):
        return None
    turns = _turns(line.removeprefix(_ASIDE).removesuffix('"'))
    return turns if len(turns) > 1 and len(turns) % 2 == 0 else None


def _turns(said: str) -> tuple[Turn, ...]:
    """The user and the assistant in turn."""
    return tuple(
        Said("assistant" if at % 2 else "user", text.strip())
        for at, text in enumerate(_NEXT.split(said))
    )


def described(tool: Tool) -> str:
    """What it does, without the examples and what is meant for grammars."""
    lines = tool.description.splitlines()
    told = (line for line in lines if not (_example(line) or line.startswith((UNSAID, ASK))))
    return " ".join(" ".join(told).split())


def _own(tools: Sequence[Tool]) -> Iterator[tuple[Turn, ...]]:
    """One of each tool, then a second of each: next to each other they would blur."""
    found = [list(islice(_usable(tool), _EACH)) for tool in tools]
    for place in range(_EACH):
        for tool, lines in zip(tools, found, strict=True):
            if place < len(lines):
                said, arguments, answer = lines[place]
                yield *_turns(said), Call("", tool.name, arguments), *_end(answer)


def _end(answer: str) -> tuple[Turn, ...]:
    """What is done is told, and not done again."""
    return (Result("", _ACCEPTED), Said("assistant", answer)) if answer else ()


def _usable(tool: Tool) -> Iterator[tuple[str, str, str]]:
    for line in tool.description.splitlines():
        example = _example(line)
        if example and len(line) <= _LONGEST and _is_json(example[1]):
            yield example


def _example(line: str) -> tuple[str, str, str] | None:
    """What is said, the arguments, and what is said when it is done, if anything. No pattern: the
    worst line must not cost more than others."""
    line, answer = line.rstrip(), ""
    if line.startswith(_MARK) and line.endswith('"'):
        line, _, answer = line.removesuffix('"').rpartition(' "')
    if not (line.startswith(_MARK) and line.endswith("}")):
        return None
    said, found, rest = line.removeprefix(_MARK).partition('" {')
    return (said, "{" + rest, answer) if found and said.strip() else None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
