"""A small language for talks: what was said, what the model made of it, what came of that.

The hints are like those of an agent for plans and of one for a workspace; behind the calls is a
list that does as it is told, or refuses, or answers nonsense.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from vivavoce.brain.dialogue.commands import Begin, Command, Fill, Plain
from vivavoce.brain.dialogue.flows.carrying import Point, Story
from vivavoce.brain.dialogue.manager import Chosen, heard, returned, settled, view
from vivavoce.brain.dialogue.state import Say, State, View, World
from vivavoce.language.en.telling import rule_words, spoken
from vivavoce.language.en.understanding import understand
from vivavoce.wire.hints import Briefing, Hint, Slot, Thing

ZONE = "Europe/London"
NOW = datetime(2026, 11, 17, 10, 0, tzinfo=ZoneInfo(ZONE))
"""A Tuesday."""

_TASK = Slot(name="task", kind="thing", of="task", required=True, questions=("Which task?",))
PLANS: Mapping[str, Hint] = {
    "add_goal": Hint(
        wish="goal",
        about="a big aim for months or years",
        slots={
            "statement": Slot(name="what", required=True, questions=("What is the goal?",)),
            "timeline": Slot(
                name="by", kind="time", worth_asking=True, questions=("By when?", "Until when?")
            ),
        },
        confirm=("Noted as a goal: {title}.", "Your goal is down: {title}."),
    ),
    "add_task": Hint(
        wish="remind",
        about="a reminder or an errand",
        slots={
            "title": Slot(name="what", required=True, questions=("What should I put down?",)),
            "trigger": Slot(kind="choice", required=True, derived={"place": "place", "at": "time"}),
            "at": Slot(
                name="when",
                kind="time",
                required_when={"trigger": ("time",)},
                questions=("When should that be: {title}?", "When should I put down: {title}?"),
            ),
            "relative_to": Slot(name="event", kind="thing", of="task"),
            "place": Slot(name="place", kind="place"),
        },
        confirm=("It is on your list: {title}, {when}.", "It is on your list: {title}, {place}."),
    ),
    "move_task": Hint(
        wish="move",
        about="a task gets another time",
        slots={
            "task_id": _TASK,
            "to": Slot(
                name="to",
                kind="time",
                required=True,
                questions=("When should {title} be instead?",),
            ),
        },
        confirm=("Moved: {title}, {when}.",),
    ),
    "finish_task": Hint(
        wish="done",
        about="something is done",
        becomes="done",
        slots={"task_id": _TASK.model_copy(update={"many": True})},
        confirm=("Ticked off: {title}.",),
    ),
    "delete_task": Hint(
        wish="delete",
        about="a task goes away",
        becomes="gone",
        careful=True,
        slots={"task_id": _TASK.model_copy(update={"many": True})},
        confirm=("Deleted: {title}.",),
    ),
    "list_tasks": Hint(
        wish="list",
        about="what is on",
        does="tell",
        slots={"when": Slot(name="when", kind="words")},
    ),
    "amend": Hint(wish="change", does="amend", slots={"changes": Slot(), "intent_id": Slot()}),
    "retract": Hint(wish="undo", does="retract", slots={"intent_id": Slot()}),
}
_MOVE = PLANS["move_task"]
MANY = {
    **PLANS,
    "move_task": _MOVE.model_copy(
        update={"slots": {**_MOVE.slots, "task_id": _TASK.model_copy(update={"many": True})}}
    ),
}
"""With a list that several things can be moved on at once."""
WORKSPACE: Mapping[str, Hint] = {
    "read_file": Hint(
        wish="read",
        about="what is in a file",
        does="tell",
        slots={"path": Slot(name="file", kind="file", required=True)},
    ),
    "grep": Hint(
        wish="find",
        about="where something is used",
        does="tell",
        slots={"pattern": Slot(name="what", required=True, questions=("What should I look for?",))},
    ),
    "write_file": Hint(
        wish="write",
        about="a new file",
        slots={
            "path": Slot(name="file", kind="file", required=True, questions=("Which file?",)),
            "content": Slot(name="text", kind="text", required=True),
        },
        confirm=("Written: {path}.",),
    ),
}


def thing(key: str, title: str, at: datetime | str | None = None, **more: Any) -> Thing:
    when = understand(at, now=NOW, time_zone=ZONE).at if isinstance(at, str) else at
    told = spoken(when, now=NOW, time_zone=ZONE) if when else ""
    return Thing(id=key, title=title, at=when, when=told, **more)


class Plans:
    """The list behind the calls."""

    def __init__(self, *things: Thing) -> None:
        self.things = {one.id: one for one in things}
        self.submitted: dict[str, tuple[str, dict[str, Any], Thing | None]] = {}

    def __call__(self, tool: str, given: Mapping[str, Any]) -> dict[str, Any]:
        match tool:
            case "add_task":
                return self._added(dict(given))
            case "add_goal":
                made = Thing(id=self._id("g"), kind="goal", title=given["statement"])
                return self._kept(tool, given, made, None)
            case "move_task":
                before = self.things[given["task_id"]]
                return self._timed(tool, given, before, given["to"], before)
            case "finish_task" | "delete_task":
                before = self.things[given["task_id"]]
                gone = before.model_copy(update={"open": False})
                return self._kept(tool, given, gone, before)
            case "list_tasks":
                there = [t for t in self.things.values() if t.open]
                return {"status": "ok", "things": [t.model_dump(mode="json") for t in there]}
            case "amend":
                return self._amended(given)
            case "retract":
                return self._retracted(given)
        return {"success": False, "error": "There is no such tool."}

    def _id(self, kind: str) -> str:
        return f"{kind}{len(self.submitted) + 1}"

    def _added(self, given: dict[str, Any]) -> dict[str, Any]:
        made = Thing(id=self._id("t"), title=given["title"], place=given.get("place"))
        if "at" not in given:
            return self._kept("add_task", given, made, None)
        anchor = self.things.get(given.get("relative_to", ""))
        return self._timed("add_task", given, made, given["at"], None, anchor)

    def _timed(
        self,
        tool: str,
        given: Mapping[str, Any],
        about: Thing,
        words: str,
        before: Thing | None,
        anchor: Thing | None = None,
    ) -> dict[str, Any]:
        base = (anchor or about).at
        when = understand(words, now=NOW, time_zone=ZONE, base=base)
        if when.at is None:
            return {
                "success": False,
                "error": when.problem,
                "question": when.question,
                "missing": ["to" if tool == "move_task" else "at"],
            }
        told = spoken(when.at, now=NOW, time_zone=ZONE)
        told = f"{rule_words(when.rule)}, first {told}" if when.rule else told
        made = about.model_copy(update={"at": when.at, "when": told, "rule": when.rule})
        return self._kept(tool, given, made, before)

    def _kept(
        self, tool: str, given: Mapping[str, Any], made: Thing, before: Thing | None
    ) -> dict[str, Any]:
        self.things[made.id] = made
        key = f"i{len(self.submitted) + 1}"
        self.submitted[key] = (tool, {**given, "_id": made.id}, before)
        return {"status": "ok", "intent_id": key, **self._told(made)}

    def _told(self, made: Thing) -> dict[str, Any]:
        told = {"title": made.title, "when": made.when, "place": made.place or ""}
        return {**told, "things": [made.model_dump(mode="json")]}

    def _amended(self, given: Mapping[str, Any]) -> dict[str, Any]:
        _, old, _ = self.submitted[given["intent_id"]]
        made = self.things[old["_id"]]
        changes = given["changes"]
        made = made.model_copy(update={"title": changes.get("title", made.title)})
        words = changes.get("at") or changes.get("to")
        if words:
            when = understand(words, now=NOW, time_zone=ZONE, base=made.at)
            if when.at is None:
                return {"success": False, "error": when.problem, "question": when.question}
            told = spoken(when.at, now=NOW, time_zone=ZONE)
            made = made.model_copy(update={"at": when.at, "when": told})
        self.things[made.id] = made
        return {"status": "amended", "intent_id": given["intent_id"], **self._told(made)}

    def _retracted(self, given: Mapping[str, Any]) -> dict[str, Any]:
        _, old, before = self.submitted[given["intent_id"]]
        made = self.things[old["_id"]]
        back = before or made.model_copy(update={"open": False})
        self.things[made.id] = back
        return {
            "status": "retracted",
            "title": back.title,
            "things": [back.model_dump(mode="json")],
        }

    @property
    def there(self) -> dict[str, str]:
        """What is open, by title, with its time."""
        return {t.title: t.when for t in self.things.values() if t.open}


class Talk:
    def __init__(
        self,
        *things: Thing,
        hints: Mapping[str, Hint] = PLANS,
        backend: Callable[[str, Mapping[str, Any]], Any] | None = None,
        user: str = "",
        words: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        self.plans = Plans(*things)
        self.backend = backend or self.plans
        briefing = Briefing(
            user=user, time_zone=ZONE, things=things, words=dict(words or {}), agent="test"
        )
        self.world = World(hints=hints, briefing=briefing, now=NOW)
        self.state = State()
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.told = ""
        self.turns = 0
        self.points: Callable[[Any], Chosen | None] = lambda point: None

    def says(self, said: str, *commands: Command) -> str:
        """What is said in the end; the calls of this turn are in `calls`."""
        self.calls = []
        step = heard(self.state, said, commands, self.world)
        for _ in range(20):
            step = settled(step, self.world, self.points)
            (act,) = step.acts
            assert not isinstance(act, Point | Story)
            if isinstance(act, Say):
                self.state, self.told = step.state, act.text
                return act.text
            self.calls.append((act.tool, dict(act.arguments)))
            output = self.backend(act.tool, act.arguments)
            text = output if isinstance(output, str) else json.dumps(output)
            step = returned(step.state, act.tool, act.arguments, text, self.world)
        raise AssertionError("It never comes to words")

    @property
    def did(self) -> list[str]:
        return [tool for tool, _ in self.calls]

    @property
    def there(self) -> dict[str, str]:
        return self.plans.there

    @property
    def view(self) -> View:
        return view(self.state, self.world)


def begin(wish: str, **slots: str) -> Begin:
    return Begin(wish, slots)


def remind(**slots: str) -> Begin:
    return Begin("remind", slots)


def move(**slots: str) -> Begin:
    return Begin("move", slots)


def fill(**slots: str) -> Fill:
    return Fill(slots)


YES, NO, UNDO, DROP = Plain("yes"), Plain("no"), Plain("undo"), Plain("drop")
THANKS, CANNOT, CHAT, UNCLEAR = Plain("thanks"), Plain("cannot"), Plain("chat"), Plain("unclear")
