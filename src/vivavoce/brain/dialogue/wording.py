"""What is said: built from results and from what is known, never from what is hoped for.

Sentences come from the tools' hints and the agent's briefing; those here are for agents that bring
none. Which of several is taken depends on the number of the turn, so that the same talk is worded
the same way each time and not every turn alike.

Whatever else is said is held beside the results too: a deed that none of them shows ("Done, I've
set that up") must not be claimed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from string import Formatter
from typing import Any

from vivavoce.brain.dialogue.completing import Gap
from vivavoce.brain.dialogue.state import Deed, State, World
from vivavoce.language.en import claims
from vivavoce.language.en.numbers import cardinal
from vivavoce.wire.hints import Hint, Slot, Thing

_WORDS: Mapping[str, tuple[str, ...]] = {
    "done": ("Done: {title}, {when}.", "Done: {title}.", "Done."),
    "undone": ("That is taken back: {title}.", "That is taken back."),
    "pending": ("That is on its way, and not confirmed yet.",),
    "nothing": ("There is nothing there.", "I find nothing."),
    "failed": ("That did not work, and nothing has changed. {error}",),
    "failed_bare": (
        "That did not work, and nothing has changed. You can try again in a moment.",
        "I could not do that just now; nothing has changed.",
    ),
    "failed_tell": ("I could not find that out. {error}",),
    "failed_tell_bare": ("I could not find that out just now.",),
    "unknown": ("I have not heard back about that, so I can't say yet whether it went through.",),
    "garbled": ("The answer I got can't be read, so I can't say whether that went through.",),
    "more": ("Anything else?", "Is there anything else?", "Anything else, {name}?"),
    "bye": ("You're welcome!", "Any time, {name}.", "My pleasure.", "You're welcome, {name}!"),
    "okay": ("Good.", "Great.", "All right."),
    "go_on": ("Go ahead.", "What is it?"),
    "no_more": ("All right, {name}.", "Okay, I'm here if you need me.", "All right."),
    "dropped": (
        "All right, I'll leave it.",
        "Okay, I'll leave that.",
        "No problem, left as it is.",
    ),
    "back": ("Back to {title}.", "And about {title}."),
    "no_open": ("All right.", "Okay."),
    "cannot": (
        "I can't do that, I'm afraid. What you can ask me for: {abilities}.",
        "That is not something I can do. Ask me for one of these: {abilities}.",
    ),
    "unclear": ("Sorry, I did not get that. What would you like?", "Could you say that again?"),
    "unclear_again": (
        "I still don't follow. In a few words, please: is it {abilities}?",
        "Let's try other words. What is it about: {abilities}?",
    ),
    "unclear_open": ("Sorry, I did not get that.", "I did not quite get that."),
    "chat": ("I'm here. What can I do for you?", "I'm listening. What would you like to do?"),
    "chat_open": ("I see.", "All right."),
    "this_one": ("Do you mean {choices}?",),
    "which": ("Which one do you mean, {choices}?", "Which one is it, {choices}?"),
    "none": ("I don't find that. There is {choices}. Which one do you mean?",),
    "none_at_all": ("There is nothing like that here.",),
    "sure": ("That is {count}: {choices}. Shall I do that with all of them?",),
    "nothing_to_undo": ("There is nothing that I could take back.",),
    "cannot_undo": ("I can't take that back, I'm afraid.",),
    "nothing_to_change": ("What is that about?", "What should that be for?"),
    "already": ("That is there already.",),
    "conditional": (
        "I can't make that hang on something else, so I've left it. Tell me once it is so.",
    ),
    "closed": ("{title} is not there any more.",),
    "same_time": ("{title} is at that time already, {when}.",),
    "take_time": ("Take your time.", "Of course, I'm here.", "No hurry."),
    "hour": ("At what time?", "What time should it be?"),
    "day": ("On which day?", "Which day should it be?"),
    "time": ("When should it be?", "What day and time should it be?"),
    "file": ("Which file do you mean?",),
    "place": ("Where should that be?",),
    "slot": ("What is the {slot}?", "Which {slot} do you mean?"),
}
_EVERY = 3
"""So often, and not more, is the user asked whether there is more, or called by name."""
_LISTED = 6
_ABLE = 5
_FEW = 4
_LONGEST = 700
_CODE = re.compile(r"[\[\]{}<>`]|\bTraceback\b")


def words(occasion: str, state: State, world: World, **known: Any) -> str:
    """The agent's sentence for the occasion, or ours: one of those that can be filled."""
    known = {"name": world.briefing.user, "user": world.briefing.user, **known}
    if "abilities" not in known:
        known["abilities"] = abilities(world)
    own = world.briefing.words.get(occasion, ())
    return chosen(own, known, state.turn) or chosen(_WORDS.get(occasion, ()), known, state.turn)


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


def _together(values: Sequence[str]) -> str:
    """With semicolons where the values have commas."""
    if not any("," in value for value in values):
        return listed(values)
    return "; ".join(values[:-1]) + ("; and " if len(values) > 1 else "") + "".join(values[-1:])


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
    """What can be asked of this agent, by the words of its wishes."""
    able = [h.wish for h in world.hints.values() if h.wish and h.does in ("act", "tell")]
    return listed(able[:_ABLE], "or") or "nothing yet"


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
    return " ".join(dict.fromkeys(one for one in sentences if one))


def _of(deeds: Sequence[Deed], state: State, world: World) -> list[str]:
    if not deeds[0].ok:
        return [_failure(deed, state, world) for deed in deeds]
    if deeds[0].wish.retracts is not None:
        return [_undone(deeds, state, world)]
    templates = _confirming(deeds[0], world)
    if len(deeds) > 1:
        known = [_known(deed) for deed in deeds]
        shared = {
            name: _together(list(dict.fromkeys(str(one[name]) for one in known)))
            for name in set.intersection(*(_given(one) for one in known))
        }
        alone = [one for one in templates if _names(one) <= {"title", "summary", "list"}]
        together = chosen(alone, shared, state.turn)
        if together:
            return [together]
    return [_success(deed, templates, state, world, at) for at, deed in enumerate(deeds)]


def _confirming(deed: Deed, world: World) -> Sequence[str]:
    """The tool's sentences; what was amended is told as if it were new."""
    hint = world.hints.get(deed.tool)
    if hint is not None and hint.confirm:
        return hint.confirm
    amended = deed.wish.amends is not None and world.hints.get(deed.wish.tool)
    return amended.confirm if amended else ()


def does(deed: Deed, world: World) -> str:
    hint = world.hints.get(deed.tool)
    return hint.does if hint is not None else "tell"


def _success(deed: Deed, templates: Sequence[str], state: State, world: World, at: int) -> str:
    known = _known(deed)
    if _is_pending(deed):
        return words("pending", state, world, **known)
    said = chosen(templates, known, state.turn + at)
    if said:
        return said
    if does(deed, world) == "tell":
        return _answer(deed, state, world)
    for key in ("told", "message", "summary"):
        own = deed.result.get(key)
        if isinstance(own, str) and own.strip():
            return _sentence(plain(own))
    return words("done", state, world, **known)


def _is_pending(deed: Deed) -> bool:
    return str(deed.result.get("status", "")).casefold() == "pending"


def _undone(deeds: Sequence[Deed], state: State, world: World) -> str:
    """That it is taken back, and what is there again, as it is."""
    titles = [t.title for d in deeds for t in (d.things or _taken(d))]
    back = [t for d in reversed(deeds) for t in d.things if t.open]
    said = chosen(_confirming(deeds[0], world), _known(deeds[0]), state.turn)
    said = said or words("undone", state, world, title=listed(list(dict.fromkeys(titles))))
    return joined((said, _sentence(told(back)) if back else ""))


def _taken(deed: Deed) -> Sequence[Thing]:
    return deed.wish.retracts.things if deed.wish.retracts is not None else ()


def _answer(deed: Deed, state: State, world: World) -> str:
    """The result of a question."""
    for key in ("told", "answer", "text", "message", "summary", "output", "content"):
        own = deed.result.get(key)
        if isinstance(own, str) and own.strip():
            return _sentence(plain(own))
    if deed.things:
        return _sentence(told(deed.things))
    if deed.text.strip():
        return _sentence(plain(deed.text))
    values = [
        f"{name.replace('_', ' ')}: {value}"
        for name, value in deed.result.items()
        if isinstance(value, str | int | float) and name not in ("status", "success")
    ]
    return _sentence("; ".join(values)) or words("nothing", state, world)


def _failure(deed: Deed, state: State, world: World) -> str:
    """One sentence for what went wrong, and never that it went well."""
    if _is_pending(deed):
        return words("pending", state, world, **_known(deed))
    error = deed.result.get("error")
    why = ""
    if isinstance(error, str) and error.strip() and not _CODE.search(error):
        why = _sentence(_one(error))
    asks = deed.result.get("question")
    if isinstance(asks, str) and asks.strip():
        return joined((words("failed", state, world, error=why) if why else "", _sentence(asks)))
    if does(deed, world) == "tell":
        return words("failed_tell", state, world, error=why)
    if not deed.result:
        return words("garbled", state, world)
    return words("failed", state, world, error=why) or words("failed_bare", state, world)


def _one(text: str) -> str:
    """The first sentence."""
    return re.split(r"(?<=[.!?])\s", text.strip(), maxsplit=1)[0]


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


def asking(
    missing: Gap,
    slot: Slot,
    hint: Hint,
    things: Sequence[Thing],
    known: Mapping[str, Any],
    state: State,
    world: World,
) -> str:
    """The question for what is missing."""
    names = named(things[: _LISTED if missing.kind != "none" else _FEW])
    some = {**known, "choices": listed(names, "or" if missing.kind == "which" else "and")}
    match missing.kind:
        case "sure":
            count = f"{cardinal(str(len(things)))} things"
            return words("sure", state, world, **{**some, "count": count, "wish": hint.wish})
        case "which" if len(things) == 1:
            return words("this_one", state, world, **some)
        case "which":
            return words("which", state, world, **some)
        case "none":
            return words("none", state, world, **some)
    if missing.question:
        return missing.question
    if missing.part:
        return words(missing.part, state, world, **known)
    return question(slot, known, state, world)


def question(slot: Slot, known: Mapping[str, Any], state: State, world: World) -> str:
    """For a slot, in the hint's words, with what is known filled in."""
    said = chosen(slot.questions, {"user": world.briefing.user, **known}, state.turn)
    if said:
        return said
    if slot.kind == "choice" and slot.choices:
        called = [(*words_, value)[0] for value, words_ in slot.choices.items()]
        return words("which", state, world, choices=listed(called, "or"))
    kind = "time" if slot.kind == "repeat" else slot.kind
    if kind in _WORDS:
        return words(kind, state, world)
    if kind == "thing":
        return words("none_at_all", state, world)
    return words("slot", state, world, slot=(slot.name or "rest").replace("_", " "))


def more(state: State, world: World) -> str:
    return words("more", state, world)


def friendly(state: State) -> bool:
    """Whether it is time for "anything else?"."""
    return state.turn % _EVERY == 1


def inside(title: str) -> str:
    """A title in the middle of a sentence: "Ring Mum" is to ring Mum, but "BP tablet" stays."""
    first = title.split(" ", 1)[0]
    return title if not first[1:].islower() else title[:1].lower() + title[1:]


def joined(parts: Iterable[str]) -> str:
    return " ".join(part.strip() for part in parts if part and part.strip())


def unsupported(text: str, deeds: Sequence[Deed], world: World) -> bool:
    """Whether it claims a deed that none of these, the results of this turn, shows: a change only
    by a tool that changes something, a finding by any that answered."""
    went = [deed for deed in deeds if deed.ok]
    changed = any(does(deed, world) != "tell" for deed in went)
    return (claims.changed(text) and not changed) or (claims.found(text) and not went)
