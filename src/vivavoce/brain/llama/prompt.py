"""The question as the model reads it, laid out for its memory and for haste. Pure.

What never changes comes first (how to answer, the tools, the instructions,
examples), then what is known today, then the talk: whatever was read once is a
prefix of what comes next. When the talk grows too long its oldest part goes,
in big steps, so that the rest stays a prefix for many turns.

The talk is lines, one a turn, in a single message of the model's own:

    > what time is it
    @current_time {}
    = 10:42
    It's ten forty-two.

Between the user's last word and the answer there is one token. The marks that
chat models have for it are five, and each takes as long as a word to read.

It would talk about its tools unless it has just seen itself use them. So before the
talk it sees one that never was: the session's own tools used, by the examples in their
descriptions, and between them small talk that needs none. Where tools bring no
examples, it sees tools that nobody has: they teach the manner, and no answer. Where
there are no tools it sees small talk only, or it would claim to have used some.

An agent's prompt may bring talks of its own, one a line. They take the place of
the small talk, which would teach an agent with one errand to chat:

    - "Who won the game?" > "I only know about your garden. What shall I plant?"

An id of 36 letters is 25 tokens: a third of a second to read and a whole one to
write, and a small model gets it wrong. So what stands as `(id: …)` in what is
known today, or comes back as an id from a tool, has a name made of the words
beside it; what the model writes is turned back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any

from vivavoce.brain.dialogue.state import worked
from vivavoce.brain.llama.grammar import MARK
from vivavoce.brain.llama.markup import END, START
from vivavoce.errors import BrainFull
from vivavoce.language.en.claims import FAILED, NOT_DONE
from vivavoce.wire.brain import Ask, Call, CallArguments, CallEnded, Piece, Result, Said, Tool, Turn
from vivavoce.wire.values import Value

_LISTED = re.compile(r"([^\n;(]{0,200})\(id: ([\w.:-]{1,64})\)")
_RETURNED = re.compile(r'"(?:\w{1,32}_)?id"\s*:\s*"([\w.:-]{1,64})"')
_LONG = 20
_MOST_NAMES = 50
_WORDS = 3
_SMALL = frozenset(["the", "and", "for", "with", "today", "task", "tasks", "due", "this", "about"])
_PARAMETER = re.compile(r"(?:^|_)id$")


class Listed(Value):
    id: str
    about: str
    """The words beside it."""


@dataclass
class Names:
    """Short names and the ids they stand for."""

    ids: Mapping[str, str]
    _held: dict[str, str] = field(default_factory=dict)

    def feed(self, piece: Piece) -> Iterator[Piece]:
        """The same answer with whole ids. Arguments wait until they are whole themselves."""
        match piece:
            case CallArguments(call_id, delta) if self.ids:
                self._held[call_id] = self._held.get(call_id, "") + delta
            case CallEnded(call_id) if call_id in self._held:
                yield CallArguments(call_id, self.whole(self._held.pop(call_id)))
                yield piece
            case _:
                yield piece

    def whole(self, arguments: str) -> str:
        try:
            given = json.loads(arguments)
        except ValueError:
            return arguments
        if not isinstance(given, dict):
            return arguments
        for key, value in given.items():
            if isinstance(value, str) and is_id(key):
                given[key] = self.ids.get(value, value)
        return json.dumps(given, ensure_ascii=False)


def is_id(parameter: str) -> bool:
    return _PARAMETER.search(parameter) is not None


def shortened(ask: Ask) -> tuple[Ask, Names]:
    """The question with short names in place of long ids."""
    names: dict[str, str] = {}
    for one in listed(ask):
        if len(one.id) > _LONG and one.id not in names.values():
            names[_name(one.about, names)] = one.id
    if not names:
        return ask, Names({})
    short = {whole: name for name, whole in names.items()}
    pattern = re.compile("|".join(map(re.escape, sorted(short, key=len, reverse=True))))

    def cut(text: str) -> str:
        return pattern.sub(lambda found: short[found.group()], text)

    turns = tuple(_cut(turn, cut) for turn in ask.turns)
    return replace(ask, instructions=cut(ask.instructions), turns=turns), Names(names)


def listed(ask: Ask) -> list[Listed]:
    """All the ids the model may know of, in the order in which they came up."""
    found: dict[str, Listed] = {}
    today = ask.instructions[max(ask.instructions.rfind("\n## "), 0) :]
    for match in _LISTED.finditer(today):
        found.setdefault(match[2], Listed(match[2], match[1].rpartition(": ")[2]))
    calls = {turn.call_id: turn.arguments for turn in ask.turns if isinstance(turn, Call)}
    for turn in ask.turns:
        if isinstance(turn, Result):
            for match in _RETURNED.finditer(turn.output[:4_000]):
                about = _values(calls.get(turn.call_id, ""))
                found.setdefault(match[1], Listed(match[1], about))
    return list(found.values())[:_MOST_NAMES]


def _values(arguments: str) -> str:
    try:
        given = json.loads(arguments)
    except ValueError:
        return ""
    values = given.values() if isinstance(given, dict) else ()
    return " ".join(value for value in values if isinstance(value, str))[:200]


def _name(about: str, taken: Mapping[str, str]) -> str:
    words = [w for w in re.findall(r"[a-z]{2,}", about.lower()) if w not in _SMALL]
    name = "-".join([w for w in words if w not in ("am", "pm", "at")][:_WORDS]) or "item"
    if name not in taken:
        return name
    return next(f"{name}-{n}" for n in range(2, _MOST_NAMES + 3) if f"{name}-{n}" not in taken)


def _cut(turn: Turn, cut: Callable[[str], str]) -> Turn:
    match turn:
        case Call(call_id, name, arguments):
            return Call(call_id, name, cut(arguments))
        case Result(call_id, output):
            return Result(call_id, cut(output))
    return turn


Count = Callable[[str], int]
_STEPS = 3
_SHORT_RESULT = 400
_CHANGING = 2_500
"""Letters."""
_SPOKEN = (
    "You are a voice assistant. You answer each line of the user with one line: one or two short "
    "spoken sentences, plain words, no lists, no markup, no code."
)
_WRITTEN = "You answer each line of the user with one line, in plain sentences."
_HELPFUL = "You are a helpful assistant."
_WITH_TOOLS = f""" You act through tools: {MARK}name and its arguments as JSON.

Tools:
"""
_LINES = "\n\nLines with > are the user's, with = what a tool returned, with # notes."
_REMINDER = (
    f"Asked for what a tool does, answer with {MARK} and its name at once: do not announce, "
    "explain or refuse. Greetings, feelings, words, people, common knowledge: answer in "
)
_BY_MOUTH, _IN_WRITING = "a short sentence, no tool.", "words, no tool."

_FOCUSED = (
    f"Go on in the same way: a short question for what is not said yet, {MARK} and the tool's name "
    "once all is said, and what was submitted told afterwards."
)
"""For an agent that brings its own talks, and so its own way with small talk."""
# Text from outside must not end a message or begin another.
_MARKUP = re.compile(r"<(?=\|)")
_STOPS = " .,!?;:…"
_MARKS = f">=#{MARK} "
"""What the lines of others begin with, and its own never."""
_ASIDE = '- "'
_EXAMPLE = 'Example: "'
_NEXT = re.compile('" (?:> )?"')
_EACH = 6
_LONGEST = 500
"""Letters of one. Descriptions come from anywhere."""
_MOST = 32
"""Every one of them costs half a second of reading, once."""


def prompt(ask: Ask, *, room: int, count: Count, finished: bool = True) -> str:
    """`room` is how many tokens it may have. Not `finished`: more may come in the last turn."""
    if is_chat(ask):
        return _chat(ask, room, count, finished)
    head = "".join(_head(ask))
    turns = _fitting(ask.turns, room - count(head), count)
    text = head + "".join(_rendered(turns))
    return text if finished else text.removesuffix("\n")


def is_chat(ask: Ask) -> bool:
    """For the eye and without tools, nothing has to fit in a line or be told from a call: the
    model writes as it was trained to, with lists and code if it likes."""
    return not ask.spoken and not ask.tools


def _chat(ask: Ask, room: int, count: Count, finished: bool) -> str:
    text = _message("system", ask.instructions.strip() or _HELPFUL)
    for turn in _fitting(ask.turns, room - count(text), count):
        match turn:
            case Said(role, said):
                text += _message(role, said)
            case Call(_, name, arguments):
                text += _message("assistant", f"{name} {arguments}")
            case Result(_, output):
                text += _message("user", output)
    return f"{text}{START}assistant\n" if finished else text.removesuffix(f"{END}\n")


def unshown(turns: Sequence[Turn]) -> str | None:
    """What is so, where no result shows that anything was done: none came, or those of this turn
    all say that it failed. None: one does, or one of before, if nothing was called since."""
    since = next((at for at, t in reversed([*enumerate(turns)]) if _is_users(t)), 0)
    every = [turn for turn in turns if isinstance(turn, Result)]
    lately = [turn for turn in turns[since:] if isinstance(turn, Result)]
    if not any(_worked(result.output) for result in lately or every):
        return FAILED if lately else NOT_DONE
    return None


def _is_users(turn: Turn) -> bool:
    return isinstance(turn, Said) and turn.role == "user"


def _worked(output: str) -> bool:
    try:
        given = json.loads(output)
    except (ValueError, RecursionError):
        return bool(output.strip())
    return worked(given) if isinstance(given, dict) else True


def _message(role: str, text: str) -> str:
    return f"{START}{role}\n{_safe(text)}{END}\n"


def _head(ask: Ask) -> Iterable[str]:
    """Examples come after the instructions, or a page of manners makes the model forget them; but
    before what changes from one conversation to the next, or they would be read each time."""
    lasting, changing = _parted(_safe(ask.instructions).strip())
    lasting, talks = parted(lasting)
    told = _SPOKEN if ask.spoken else _WRITTEN
    if ask.tools:
        told += _WITH_TOOLS + "\n".join(_line(signature(tool)) for tool in ask.tools)
    told += _LINES
    # What is read is as its author wants it: there our own rules are only those of the format.
    system = f"{told}\n\n{lasting}" if ask.spoken else f"{lasting}\n\n{told}"
    yield f"{START}system\n{system.strip()}{END}\n{START}assistant\n"
    yield from _rendered(examples(ask.tools, talks))
    plain = _REMINDER + (_BY_MOUTH if ask.spoken else _IN_WRITING)
    reminder = [_FOCUSED if talks else plain] if ask.tools else []
    notes = ["A new talk begins.", *changing.splitlines(), *reminder]
    yield from (f"# {note.lstrip('# ')}\n" for note in notes if note.strip())


def _parted(instructions: str) -> tuple[str, str]:
    """What changes is told last, under a heading of its own, and is short."""
    at = instructions.rfind("\n## ")
    if at < 0 or len(instructions) - at > _CHANGING:
        return instructions, ""
    return instructions[:at].rstrip(), instructions[at:].strip()


def signature(tool: Tool) -> str:
    """`name(path, limit?: integer): what it does`: a fifth of the tokens of its schema."""
    schema = tool.parameters or {}
    required = set(schema.get("required", ()))
    parts = [
        _parameter(name, given if isinstance(given, Mapping) else {}, name in required)
        for name, given in (schema.get("properties") or {}).items()
    ]
    return f"{tool.name}({', '.join(parts)}): {described(tool)}"


def _parameter(name: str, schema: Mapping[str, Any], required: bool) -> str:
    kind = schema.get("type", "any")
    if isinstance(options := schema.get("enum"), Sequence):
        kind = "|".join(str(option) for option in options)
    said = f"{name}{'' if required else '?'}"
    said += "" if kind == "string" else f": {kind}"
    about = " ".join(str(schema.get("description", "")).split())
    return f"{said} ({about})" if about else said


def _rendered(turns: Iterable[Turn]) -> Iterable[str]:
    """What the assistant said and called in one answer is one line, as it wrote it."""
    writing = False
    for turn in turns:
        if writing and not isinstance(turn, Call):
            yield "\n"
            writing = False
        match turn:
            case Said("assistant", text):
                words = _line(text).lstrip(_MARKS)
                writing = bool(words)
                yield words
            case Said("user", text):
                # Without the stop at its end, which comes and goes while somebody speaks.
                yield f"> {_line(text).rstrip(_STOPS)}\n"
            case Said(_, text):
                yield f"# {_line(text)}\n"
            case Call(_, name, arguments):
                writing = True
                yield f"{MARK}{_line(name)} {_line(arguments)}"
            case Result(_, output):
                yield f"= {_line(output)}\n"
    if writing:
        yield "\n"


def _line(text: str) -> str:
    return " ".join(_safe(text).split())


def _safe(text: str) -> str:
    return _MARKUP.sub("< ", text)


def _fitting(turns: tuple[Turn, ...], room: int, count: Count) -> tuple[Turn, ...]:
    """The oldest go in steps of a third of the room, counted from the first turn ever: the same
    ones go at the next turn too, and what is left is still a prefix of what will be asked."""
    weights = [count(text) for text in _each(turns)]
    if sum(weights) <= room:
        return turns
    step = max(1, room // _STEPS)
    over = sum(weights) - room
    dropped = -(-over // step) * step
    kept = _from(turns, weights, dropped)
    if sum(count(text) for text in _each(kept)) <= room:
        return kept
    shortened = tuple(_shortened(turn) for turn in kept)
    if sum(count(text) for text in _each(shortened)) <= room:
        return shortened
    raise BrainFull("That is more than this language model can read at once.")


def _from(turns: tuple[Turn, ...], weights: Sequence[int], dropped: int) -> tuple[Turn, ...]:
    """From the first thing the user said after `dropped` tokens, or the last that was said."""
    gone, last = 0, 0
    for index, (turn, weight) in enumerate(zip(turns, weights, strict=True)):
        if isinstance(turn, Said) and turn.role == "user":
            last = index
            if gone >= dropped:
                return turns[index:]
        gone += weight
    return turns[last:]


def clipped(result: Result, most: int) -> Result:
    """Head and tail of a long one."""
    text = result.output
    if len(text) <= most:
        return result
    head, tail = most * 2 // 3, most // 3
    return replace(result, output=f"{text[:head]}\n[… cut …]\n{text[len(text) - tail :]}")


def _shortened(turn: Turn) -> Turn:
    if isinstance(turn, Result) and len(turn.output) > _SHORT_RESULT:
        return replace(turn, output=f"{turn.output[:_SHORT_RESULT]} … (cut)")
    return turn


def _each(turns: Iterable[Turn]) -> Iterable[str]:
    return ("".join(_rendered((turn,))) for turn in turns)


# --- A talk that never was


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


def _own(tools: Sequence[Tool]) -> Iterator[tuple[Turn, ...]]:
    """One of each tool, then a second of each: next to each other they would blur."""
    found = [list(islice(uses(tool), _EACH)) for tool in tools]
    for place in range(_EACH):
        for tool, lines in zip(tools, found, strict=True):
            if place < len(lines):
                said, arguments, answer = lines[place]
                yield *_turns(said), Call("", tool.name, arguments), *_end(answer)


def _end(answer: str) -> tuple[Turn, ...]:
    """What is done is told, and not done again."""
    return (Result("", _ACCEPTED), Said("assistant", answer)) if answer else ()


# --- What a tool's description shows
#
#     Example: "What changed in git?" {"command": "git diff"}
#     Example: "Set an alarm." > "For when?" > "For six." {"at": "six"}


def described(tool: Tool) -> str:
    """What it does, without the examples."""
    told = (line for line in tool.description.splitlines() if not _example(line))
    return " ".join(" ".join(told).split())


def uses(tool: Tool) -> Iterator[tuple[str, str, str]]:
    """Its examples: what is said, the arguments, and what is said when it is done, if anything."""
    for line in tool.description.splitlines():
        example = _example(line)
        if example and len(line) <= _LONGEST and _is_json(example[1]):
            yield example


def _example(line: str) -> tuple[str, str, str] | None:
    """What is said, the arguments, and what is said when it is done, if anything. No pattern: the
    worst line must not cost more than others."""
    line, answer = line.rstrip(), ""
    if line.startswith(_EXAMPLE) and line.endswith('"'):
        line, _, answer = line.removesuffix('"').rpartition(' "')
    if not (line.startswith(_EXAMPLE) and line.endswith("}")):
        return None
    said, found, rest = line.removeprefix(_EXAMPLE).partition('" {')
    return (said, "{" + rest, answer) if found and said.strip() else None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
