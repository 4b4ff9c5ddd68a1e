"""What is said: built from results and from what is known, never from what is hoped for.

Sentences come from the tools' hints and the agent's briefing; those here are for agents that bring
none. Which of several is taken depends on the number of the turn, so that the same talk is worded
the same way each time and not every turn alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from string import Formatter
from typing import Any

from vivavoce.brain.dialogue.state import Deed, State, World
from vivavoce.wire.hints import Hint, Slot, Thing

_WORDS: Mapping[str, tuple[str, ...]] = {
    "done": ("Done: {title}.", "All right: {title}.", "{title}, done."),
    "done_bare": ("Done.", "All right, that's done."),
    "told_nothing": ("There is nothing there.", "I find nothing."),
    "failed": ("That did not work, so nothing has changed. {error}",),
    "failed_bare": (
        "That did not work, and nothing has changed. You can try again in a moment.",
        "I could not do that just now; nothing has changed.",
    ),
    "unknown": ("I have not heard back about that, so I can't say yet whether it went through.",),
    "garbled": ("I got an answer that I can't read, so I can't say whether that went through.",),
    "again": ("I can't get that through: {error} I'll leave it for now.",),
    "more": ("Anything else?", "Is there anything else?", "What else can I do?"),
    "bye": ("You're welcome!", "Any time.", "My pleasure."),
    "bye_named": ("You're welcome, {name}!", "Any time, {name}."),
    "okay": ("Good.", "Great.", "All right."),
    "dropped": ("All right, I'll leave it.", "Okay, forgotten.", "No problem, I'll leave that."),
    "no_open": ("All right.", "Okay."),
    "cannot": (
        "I can't do that, I'm afraid. What I can do is {abilities}.",
        "That is not something I can do; I can {abilities}.",
    ),
    "unclear": ("Sorry, I did not get that. What would you like?", "Could you say that again?"),
    "unclear_again": (
        "I still don't follow. Tell me in a few words what you want; I can {abilities}.",
        "Let's try it in other words: what should I do? I can {abilities}.",
    ),
    "chat": ("I'm here. What can I do for you?", "I'm listening. What would you like to do?"),
    "which": ("Which one do you mean, {choices}?", "Is it {choices}?"),
    "none": ("I don't find that. There is {choices}. Which one is it?",),
    "none_at_all": ("There is nothing like that on your list.",),
    "sure": ("That is {count}: {choices}. Shall I {wish} them all?",),
    "nothing_to_undo": ("There is nothing that I could take back.",),
    "cannot_undo": ("I can't take that back, I'm afraid.",),
    "nothing_to_change": ("What should I change?", "What is that about?"),
    "undone": ("I've taken that back.", "That is undone."),
    "hour": ("At what time?", "What time should it be?"),
    "day": ("On which day?", "Which day should it be?"),
    "time": ("When should it be?", "What day and time?"),
    "slot": ("What is the {slot}?",),
}
_EVERY = 3
"""So often, and not more, is the user asked whether there is more, or called by name."""
_LISTED = 6
_LONGEST = 700
_CODE = re.compile(r"[\[\]{}<>`]|\bTraceback\b")


def words(occasion: str, state: State, world: World, **known: Any) -> str:
    """The agent's sentence for the occasion, or ours; the first in turn that can be filled."""
    own = world.briefing.words.get(occasion, ())
    return (
        chosen(own, known, state.turn)
        or chosen(_WORDS.get(occasion, ()), known, state.turn)
        or chosen(_WORDS.get(f"{occasion}_bare", ()), known, state.turn)
        or ""
    )


def chosen(templates: Sequence[str], known: Mapping[str, Any], turn: int) -> str:
    """One that has everything it names; empty where there is none."""
    able = [one for one in templates if _names(one) <= _given(known)]
    return able[turn % len(able)].format_map(_Known(known)).strip() if able else ""


def _names(template: str) -> set[str]:
    try:
        return {name for _, name, _, _ in Formatter().parse(template) if name}
    except ValueError:
        return {"\0"}  # not a template: it can never be filled


def _given(known: Mapping[str, Any]) -> set[str]:
    return {name for name, value in known.items() if value not in (None, "", (), [])}


class _Known(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return ""


# --- Lists ----------------------------------------------------------------------------


def listed(names: Sequence[str], last: str = "and") -> str:
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {last} {names[-1]}"


def named(things: Sequence[Thing]) -> list[str]:
    """Told apart: by title, and by time where titles are the same."""
    titles = [thing.title.casefold() for thing in things]
    shown = []
    for thing in things:
        alone = titles.count(thing.title.casefold()) == 1
        shown.append(thing.title if alone or not thing.when else f"{thing.title}, {thing.when}")
    return shown


def told(things: Sequence[Thing]) -> str:
    """Each with its time, as one reads a list out."""
    lines = [f"{t.title}, {t.when}" if t.when else t.title for t in things[:_LISTED]]
    rest = len(things) - len(lines)
    if rest > 0:
        lines.append(f"{rest} more")
    return "; ".join(lines[:-1]) + ("; and " if len(lines) > 1 else "") + "".join(lines[-1:])


def abilities(world: World) -> str:
    """What can be asked of this agent, in the words of its tools' hints."""
    wishes = [h.about or h.wish for h in world.hints.values() if h.does in ("act", "tell")]
    short = [_bare(one) for one in wishes][:4]
    return listed(short, "or") or "listen"


def _bare(about: str) -> str:
    first = re.split(r"[.;:(]", about.strip(), maxsplit=1)[0].strip()
    return first[:1].lower() + first[1:]


# --- After results --------------------------------------------------------------------


def outcome(deeds: Sequence[Deed], state: State, world: World) -> str:
    """One reply for all that came of a turn."""
    sentences: list[str] = []
    groups: list[list[Deed]] = []
    for deed in deeds:
        if groups and groups[-1][0].tool == deed.tool and groups[-1][0].ok and deed.ok:
            groups[-1].append(deed)
        else:
            groups.append([deed])
    for group in groups:
        sentences += _of(group, state, world)
    return " ".join(one for one in sentences if one)


def _of(deeds: Sequence[Deed], state: State, world: World) -> list[str]:
    hint = world.hints.get(deeds[0].tool)
    if not deeds[0].ok:
        return [_failure(deed, state, world) for deed in deeds]
    if len(deeds) > 1 and hint is not None:
        known = [_known(deed) for deed in deeds]
        joined = {
            name: listed(list(dict.fromkeys(str(one[name]) for one in known)))
            for name in set.intersection(*(_given(one) for one in known))
        }
        alone = [one for one in hint.confirm if _names(one) <= {"title", "name", "list"}]
        together = chosen(alone, joined, state.turn)
        if together:
            return [together]
    return [_success(deed, hint, state, world, at) for at, deed in enumerate(deeds)]


def _success(deed: Deed, hint: Hint | None, state: State, world: World, at: int) -> str:
    known = _known(deed)
    said = chosen(hint.confirm, known, state.turn + at) if hint is not None else ""
    if said:
        return said
    if hint is not None and hint.does == "tell":
        return _answer(deed, state, world)
    own = deed.result.get("message") or deed.text
    if isinstance(own, str) and own.strip():
        return plain(own)
    return words("done", state, world, **known)


def _answer(deed: Deed, state: State, world: World) -> str:
    """The result of a question."""
    for key in ("answer", "text", "message", "summary", "output", "content"):
        own = deed.result.get(key)
        if isinstance(own, str) and own.strip():
            return plain(own)
    if deed.things:
        return _sentence(told(deed.things))
    if "things" in deed.result:
        return words("nothing", state, world) or words("told_nothing", state, world)
    if deed.text.strip():
        return plain(deed.text)
    values = [
        f"{name.replace('_', ' ')}: {value}"
        for name, value in deed.result.items()
        if isinstance(value, str | int | float) and name not in ("status", "success")
    ]
    return _sentence("; ".join(values)) or words("told_nothing", state, world)


def _failure(deed: Deed, state: State, world: World) -> str:
    error = deed.result.get("error")
    if isinstance(error, str) and error.strip() and not _CODE.search(error):
        return words("failed", state, world, error=_sentence(error.strip()))
    if not deed.result:
        return words("garbled", state, world)
    return words("failed_bare", state, world)


def _known(deed: Deed) -> dict[str, Any]:
    """What can be told of it: values of the result, and of the thing it changed."""
    known: dict[str, Any] = {}
    if deed.things:
        thing = deed.things[0]
        known |= {"title": thing.title, "when": thing.when, "place": thing.place or ""}
        known |= {"list": told(deed.things), "count": len(deed.things)}
    known |= {
        name: value
        for name, value in deed.result.items()
        if isinstance(value, str | int | float) and not isinstance(value, bool)
    }
    return known


def plain(text: str) -> str:
    """A tool's own words, for the ear: not more than one listens to."""
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[:_LONGEST].rsplit(" ", 1)[0] + " …"


def _sentence(text: str) -> str:
    text = text.strip()
    if not text:
        return ""
    return text[:1].upper() + text[1:] + ("" if text[-1] in ".!?…" else ".")


# --- Questions ------------------------------------------------------------------------


def question(slot: Slot, known: Mapping[str, Any], state: State, world: World) -> str:
    """For a slot, in the hint's words, with what is known filled in."""
    said = chosen(slot.questions, known, state.turn)
    if said:
        return said
    bare = [one for one in slot.questions if not _names(one)]
    if bare:
        return bare[state.turn % len(bare)]
    if slot.kind in ("time", "repeat"):
        return words("time", state, world)
    return words("slot", state, world, slot=(slot.name or "rest").replace("_", " "))


def friendly(state: State) -> bool:
    """Whether it is time for a name, or for "anything else?"."""
    return state.turn % _EVERY == 1


def joined(parts: Iterable[str]) -> str:
    return " ".join(part.strip() for part in parts if part and part.strip())
