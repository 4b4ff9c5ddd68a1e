"""Which open task is meant: by its id, or by words that all fit exactly one title.

Models hand over titles and slugs where an id is asked for, and ids that are not
there. What does not fit exactly one open task of this user is refused, with the
titles that come near or those there are: an id is never guessed.
"""

from __future__ import annotations

from collections.abc import Sequence

from vivavoce.errors import IntentRefused
from vivavoce.language.en.words import STOP, alike, pieces
from vivavoce.runtime.people.ports import AgendaStore
from vivavoce.wire.records.plans import Todo

LOOKED_AT = 200
NAMED = 8
# What people call any task.
_ANY = frozenset({"session", "appointment", "meeting", "event", "id", "reminders", "tasks"})


async def open_task(store: AgendaStore, words: str, *, user_id: str) -> Todo:
    """Raises `IntentRefused` naming the candidates."""
    todo = await store.todo(words, user_id=user_id)
    if todo is not None and todo.status.open:
        return todo
    todos = await store.todos(user_id=user_id, open_only=True, limit=LOOKED_AT)
    best, found = matching(words, todos)
    if len(found) == 1 and best == 1.0:
        return found[0]
    raise _refusal(best, found, todos)


def matching(words: str, todos: Sequence[Todo]) -> tuple[float, list[Todo]]:
    """Those with this title; else those that share the most of its words, and how much of them.
    Half of them is only near: "team lunch" is not "Lunch with Ann"."""
    wanted = pieces(words)
    same = [todo for todo in todos if pieces(todo.title) == wanted]
    if same:
        return 1.0, same
    shares = [(_share(wanted, pieces(todo.title)), todo) for todo in todos]
    best = max((share for share, _ in shares), default=0.0)
    return best, [todo for share, todo in shares if share == best and best >= 0.5]


def _share(wanted: list[str], title: list[str]) -> float:
    """How much of what was asked for is in the title."""
    meant = [w for w in wanted if w not in STOP and w not in _ANY] or wanted
    if not meant:
        return 0.0
    return sum(any(alike(w, other) for other in title) for w in meant) / len(meant)


def _refusal(best: float, found: Sequence[Todo], todos: Sequence[Todo]) -> IntentRefused:
    if not todos:
        return IntentRefused(
            "There are no open tasks",
            suggestion="Say that there is no such task, and ask whether to make a new one",
            open_tasks=[],
        )
    titles = [todo.title for todo in (found or todos)][:NAMED]
    listed = "; ".join(titles)
    if found and best < 1.0:
        message = f"No open task is called that. Do you mean: {listed}?"
    elif found:
        message = f"More than one open task fits: {listed}"
    else:
        message = f"There is no such open task. The open tasks are: {listed}"
    return IntentRefused(message, suggestion="Ask which task is meant", open_tasks=titles)
