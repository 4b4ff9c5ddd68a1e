"""Which of the user's things is meant: by its id, or by words that all fit exactly one title.

Models hand over titles and slugs where an id is asked for, and ids that are not there. An id is
never guessed: what does not fit exactly one is refused, with those that come near as choices.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TypeVar

from vivavoce.errors import IntentRefused
from vivavoce.intents.orchestrator.ports import asking, needed
from vivavoce.language.en.words import STOP, alike, pieces
from vivavoce.runtime.people import things
from vivavoce.runtime.ports import Plans
from vivavoce.wire.hints import Thing
from vivavoce.wire.records.plans import Goal, GoalStatus, Submission, Todo

T = TypeVar("T", bound=Todo | Goal)

WHICH = "Which one do you mean?"
_LOOKED_AT = 200
_NAMED = 8
# What people call any task.
_ANY = frozenset({"session", "appointment", "meeting", "event", "id", "reminders", "tasks", "goal"})


async def open_task(store: Plans, given: Submission, key: str) -> Todo:
    """Raises `IntentRefused`."""
    words = needed(given.payload, key, WHICH)
    todo = await store.todo(words, user_id=given.user_id)
    if todo is not None and todo.status.open:
        return todo
    todos = await _todos(store, given)
    return await _one(words, todos, given, key, "task")


async def active_goal(store: Plans, given: Submission, key: str) -> Goal:
    """Raises `IntentRefused`."""
    words = needed(given.payload, key, WHICH)
    goal = await store.goal(words, user_id=given.user_id)
    if goal is not None and goal.status is GoalStatus.ACTIVE:
        return goal
    return await _one(words, await _goals(store, given), given, key, "goal")


async def open_thing(store: Plans, given: Submission, key: str) -> Todo | Goal:
    """A task or a goal. Raises `IntentRefused`."""
    words = needed(given.payload, key, WHICH)
    todo = await store.todo(words, user_id=given.user_id)
    if todo is not None and todo.status.open:
        return todo
    goal = await store.goal(words, user_id=given.user_id)
    if goal is not None and goal.status is GoalStatus.ACTIVE:
        return goal
    there: list[Todo | Goal] = [*await _todos(store, given), *await _goals(store, given)]
    return await _one(words, there, given, key, "task or goal")


async def thing_named(store: Plans, given: Submission, key: str, of: str | None) -> Todo | Goal:
    """Of the kind that is meant there. Raises `IntentRefused`."""
    if of == "task":
        return await open_task(store, given, key)
    if of == "goal":
        return await active_goal(store, given, key)
    return await open_thing(store, given, key)


async def _todos(store: Plans, given: Submission) -> list[Todo]:
    return await store.todos(user_id=given.user_id, open_only=True, limit=_LOOKED_AT)


async def _goals(store: Plans, given: Submission) -> list[Goal]:
    return await store.goals(user_id=given.user_id, status="active", limit=_LOOKED_AT)


async def _one(words: str, there: Sequence[T], given: Submission, key: str, what: str) -> T:
    best, found = _matching(words, there)
    if len(found) == 1 and best == 1.0:
        return found[0]
    near = [thing_of(one, given) for one in (found or there)[:_NAMED]]
    raise await asyncio.to_thread(_refusal, best, near, key, what, fits=bool(found))


def thing_of(one: Todo | Goal, given: Submission) -> Thing:
    if isinstance(one, Todo):
        return things.task(one, given.now, given.time_zone)
    return things.goal(one, given.now, given.time_zone)


def title_of(one: Todo | Goal) -> str:
    return one.title if isinstance(one, Todo) else one.statement


def _matching(words: str, there: Sequence[T]) -> tuple[float, list[T]]:
    """Those with this title; else those that share the most of its words, and how much of them.
    Half of them is only near: "team lunch" is not "Lunch with Ann"."""
    wanted = pieces(words)
    same = [one for one in there if pieces(title_of(one)) == wanted]
    if same:
        return 1.0, same
    shares = [(_share(wanted, pieces(title_of(one))), one) for one in there]
    best = max((share for share, _ in shares), default=0.0)
    return best, [one for share, one in shares if share == best and best >= 0.5]


def _share(wanted: list[str], title: list[str]) -> float:
    """How much of what was asked for is in the title."""
    meant = [w for w in wanted if w not in STOP and w not in _ANY] or wanted
    if not meant:
        return 0.0
    return sum(any(alike(w, other) for other in title) for w in meant) / len(meant)


def _refusal(
    best: float, near: Sequence[Thing], key: str, what: str, *, fits: bool
) -> IntentRefused:
    if not near:
        return IntentRefused(
            f"There is no open {what}",
            suggestion="Say that there is no such one, and ask whether to make a new one",
        )
    listed = "; ".join(one.title for one in near)
    if fits and best < 1.0:
        message = f"No open {what} is called that. Do you mean: {listed}?"
    elif fits:
        message = f"More than one open {what} fits: {listed}"
    else:
        message = f"There is no such open {what}. There is: {listed}"
    return asking(message, WHICH, key, choices=near)
