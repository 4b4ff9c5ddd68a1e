"""The document of one conversation: from events of the log to cards.

It is made of the log and of nothing else, so that whoever reads the log again has the same. What it
holds is bounded: of what is over the oldest go first.

    task.*                 a task, and a diff where it changed files
    tool.*                 a tool that runs, and what came of it; a diff where it changed files
    approval.*             an approval
    intent.*               an intent
    task.due               a reminder
    notification           a notification
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import orjson

from vivavoce.wire.conductor.cards.card import (
    ApprovalCard,
    Card,
    DiffCard,
    IntentCard,
    Json,
    NotificationCard,
    Question,
    ReminderCard,
    TaskCard,
    ToolCard,
    arguments,
    changed,
    rows,
    schema,
    written,
)
from vivavoce.wire.conductor.cards.patch import Operations, between, whole
from vivavoce.wire.events import (
    ApprovalRequested,
    ApprovalResolved,
    IntentRetracted,
    IntentSubmitted,
    Notification,
    TaskCompleted,
    TaskDelegated,
    TaskDue,
    TaskFailed,
    TaskProgress,
    TaskQuestion,
    ToolCompleted,
    ToolError,
    ToolProgress,
    ToolStarted,
)

MOST, MOST_CLOSED = 40, 12

Data = Mapping[str, Any]


def document_schema() -> dict[str, Any]:
    return schema(MOST)


class Board:
    """`quiet`: of which tools no card says that they run: they have one of another type, or the
    runtime runs them itself."""

    def __init__(
        self, conversation_id: str, quiet: Callable[[str], bool] = lambda tool: False
    ) -> None:
        self._conversation_id, self._quiet = conversation_id, quiet
        self._cards: list[Json] = []  # the newest first
        self._foreign: set[str] = set()  # of other conversations, shown while they wait
        self._over: dict[str, None] = {}  # what is closed, as it came to an end
        self._position = 0
        self._told: Json | None = None
        self.unread = 0
        """Events that are none as we know them: another version may have written them."""

    @property
    def document(self) -> Json:
        return {"cards": list(self._cards)}

    def changes(self) -> Operations:
        """What makes the document of what it was when this was asked last; at first all of it."""
        old, new = self._told, self.document
        self._told = new
        return whole(new) if old is None else between(old, new)

    @property
    def waiting(self) -> dict[str, str]:
        """What of this conversation waits for a yes: questions by the ids of their requests."""
        mine = [card for card in self._cards if card["type"] == "approval" and card["open"]]
        return {
            card["approvalId"]: card.get("question", "")
            for card in reversed(mine)
            if card["id"] not in self._foreign
        }

    def hear(self, kind: str, encoded: bytes, position: int, conversation_id: str | None) -> None:
        """In the order of the log; what was heard already is nothing new."""
        act = _ACTS.get(kind)
        if act is None or position <= self._position:
            return
        self._position = position
        data = orjson.loads(encoded)
        ours = conversation_id == self._conversation_id
        if ours or kind in _OF_THE_USER or any(map(self._has, _named(kind, data))):
            try:
                act(self, data, ours)
            except (LookupError, TypeError, ValueError):
                self.unread += 1
            self._offer_undo()
            self._make_room()

    # --- Cards ------------------------------------------------------------------------

    def _has(self, card_id: str) -> bool:
        return self._find(card_id) is not None

    def _find(self, card_id: str) -> Json | None:
        return next((card for card in self._cards if card["id"] == card_id), None)

    def _put(self, card: Card) -> None:
        """On top."""
        made = written(card)
        self._drop(made["id"])
        self._cards.insert(0, made)

    def _drop(self, card_id: str) -> None:
        self._cards = [card for card in self._cards if card["id"] != card_id]
        self._foreign.discard(card_id)
        self._over.pop(card_id, None)

    def _change(self, known: Json, **changes: object) -> None:
        at = self._cards.index(known)
        self._cards[at] = changed(known, **changes)

    def _make_room(self) -> None:
        for card in reversed(self._cards):
            if card["open"]:
                self._over.pop(card["id"], None)
            else:
                self._over.setdefault(card["id"])
        for card_id in list(self._over)[:-MOST_CLOSED]:
            self._drop(card_id)
        while len(self._cards) > MOST:
            # More is open than anybody looks at. What waits for a yes is bounded where it is asked.
            lesser = [card for card in self._cards if card["type"] != "approval"]
            self._drop((lesser or self._cards)[-1]["id"])

    def _offer_undo(self) -> None:
        found = False
        for card in list(self._cards):
            if card["type"] != "intent":
                continue
            can = not found and card["status"] == "accepted"
            found = found or can
            if can != card.get("undo", False):
                self._change(card, undo=can or None)

    # --- Tasks ------------------------------------------------------------------------

    def _delegated(self, data: Data, ours: bool) -> None:
        if not self._has(_task(data)):
            told = _some(data, "title", "agent")
            self._put(TaskCard(id=_task(data), at=data["timestamp"], **told))

    def _task_of(self, data: Data) -> Json | None:
        """The one that is going on; None where it is over."""
        known = self._find(_task(data))
        if known is None:  # news without a beginning is shown all the same
            self._put(TaskCard(id=_task(data), at=data["timestamp"]))
            known = self._cards[0]
        return known if known["open"] else None

    def _task_progress(self, data: Data, ours: bool) -> None:
        if (known := self._task_of(data)) is not None:
            now = _some(data, "agent", "percentage")
            told = {"status": "running", "question": None, "progress": data.get("message")}
            self._change(known, **told, **now)

    def _task_question(self, data: Data, ours: bool) -> None:
        """Of a task, or of a tool that runs."""
        question = Question(
            id=data["question_id"], text=data["question"], choices=data.get("choices") or []
        )
        running = self._find(_tool_id(data["task_id"].removesuffix(f"@{self._conversation_id}")))
        known = running if running is not None and running["open"] else self._task_of(data)
        if known is not None:
            self._change(known, status="waiting", question=question)

    def _task_completed(self, data: Data, ours: bool) -> None:
        if (known := self._task_of(data)) is not None:
            told = {"status": "completed", "question": None, "percentage": 100, "open": False}
            self._change(known, **told, **_some(data, "title", "summary"))
            self._differs(_task(data), data, data.get("title"))

    def _task_failed(self, data: Data, ours: bool) -> None:
        if (known := self._task_of(data)) is not None:
            status = "cancelled" if data.get("cancelled") else "failed"
            told = {"status": status, "question": None, "open": False}
            self._change(known, **told, **_some(data, "title", "error", "suggestions"))

    def _due(self, data: Data, ours: bool) -> None:
        at, due_at, late = data["timestamp"], data["due_at"], bool(data.get("late"))
        card_id, title = f"reminder:{data['reminder_id']}", data["title"]
        self._put(
            ReminderCard(id=card_id, at=at, open=False, title=title, due_at=due_at, late=late)
        )

    # --- Tools ------------------------------------------------------------------------

    def _started(self, data: Data, ours: bool) -> None:
        if not self._quiet(data["tool_name"]):
            self._put(_running(data, data.get("description")))

    def _progress(self, data: Data, ours: bool) -> None:
        known = self._find(_call(data))
        if known is None and not self._quiet(data["tool_name"]):
            self._put(_running(data, None))
            known = self._cards[0]
        if known is not None and known["open"]:
            told = {"status": "running", "question": None, "progress": data.get("message")}
            self._change(known, **told, **_some(data, "percentage"))

    def _completed(self, data: Data, ours: bool) -> None:
        text = (data.get("output_preview") or "").strip()
        if (known := self._ended(data)) is not None:
            if text:
                self._change(known, status="completed", open=False, text=text, **_OVER)
            else:
                self._drop(known["id"])  # nothing to show
        self._differs(_call(data), data, data.get("tool_name"))

    def _failed(self, data: Data, ours: bool) -> None:
        if (known := self._ended(data)) is not None:
            told = _some(data, "error", "suggestion") | {"text": data.get("output_preview")}
            self._change(known, status="failed", open=False, **_OVER, **told)

    def _ended(self, data: Data) -> Json | None:
        """The card of a call that is over, with one where it has none yet and is to have one. What
        a call without a card asked goes with it."""
        self._drop(_task({"task_id": data["call_id"]}))
        known = self._find(_call(data))
        if known is None and not self._quiet(data["tool_name"]):
            self._put(_running(data, None))
            known = self._cards[0]
        return known

    def _differs(self, of: str, data: Data, by: object) -> None:
        if files := data.get("files_changed"):
            more = {"file": files[0], "files": files, "total": len(files), "by": by}
            self._put(DiffCard(id=f"diff:{of}", at=data["timestamp"], open=False, **more))

    # --- What needs the user ----------------------------------------------------------

    def _asked(self, data: Data, ours: bool) -> None:
        card_id = _approval(data)
        if self._has(card_id):
            return
        told = _some(data, "approval_id", "question", "asked_by", "because", "expires_at")
        given, more = arguments(data.get("arguments"))
        self._put(
            ApprovalCard(
                id=card_id,
                at=data["timestamp"],
                tool=data["tool_name"],
                holds=self._held_up(data),
                arguments=given,
                more=more or None,
                **told,
            )
        )
        if not ours:
            self._foreign.add(card_id)

    def _held_up(self, data: Data) -> str | None:
        """What does not run before the yes."""
        call_id = data.get("call_id") or ""
        names = [_tool_id(call_id.removesuffix(f"@{self._conversation_id}"))]
        names += [_task(data)] if data.get("task_id") else []
        for known in filter(None, map(self._find, names)):
            if known["status"] == "running":
                self._change(known, status="waiting")
                return str(known["id"])
        return None

    def _resolved(self, data: Data, ours: bool) -> None:
        known = self._find(_approval(data))
        if known is None or not known["open"]:
            return
        held = self._find(known.get("holds", ""))
        if held is not None and held["status"] == "waiting" and "question" not in held:
            self._change(held, status="running")
        if known["id"] in self._foreign:
            self._drop(known["id"])
            return
        by = data.get("by")
        lapsed = "expired" if by in ("timeout", "restart") else "denied"
        status = "granted" if data["granted"] is True else lapsed
        self._change(known, status=status, open=False, by=by, reach=data.get("reach"))

    def _submitted(self, data: Data, ours: bool) -> None:
        card_id, revision, status = _intent(data), data.get("revision", 0), data["status"]
        known = self._find(card_id)
        if known is not None:
            older = revision < known["revision"]
            same = revision == known["revision"] and status == "pending"
            if known["status"] == "retracted" or older or same:
                return
        now = {
            "status": status,
            "understood": rows(data.get("payload")),
            "revision": revision,
            "error": data.get("error"),
            "open": status == "pending",
        }
        if known is None:
            self._put(IntentCard(id=card_id, at=data["timestamp"], intent=data["intent"], **now))
        else:
            self._change(known, **now)

    def _retracted(self, data: Data, ours: bool) -> None:
        known = self._find(_intent(data))
        if known is None:
            self._put(
                IntentCard(
                    id=_intent(data), at=data["timestamp"], intent=data["intent"], understood=[]
                )
            )
            known = self._cards[0]
        self._change(known, status="retracted", error=None, open=False)

    def _notified(self, data: Data, ours: bool) -> None:
        action = rows(data.get("action")) or None
        self._put(
            NotificationCard(
                id=f"notification:{self._position}",
                at=data["timestamp"],
                open=False,
                level=data["level"],
                text=data["message"],
                action=action,
            )
        )


_OVER = {"progress": None, "percentage": None, "question": None}


def _running(data: Data, title: object) -> ToolCard:
    told = _some({"title": title}, "title")
    return ToolCard(id=_call(data), at=data["timestamp"], tool=data["tool_name"], **told)


def _some(data: Data, *names: str) -> dict[str, Any]:
    """Those that there are."""
    return {name: data[name] for name in names if data.get(name) is not None}


def _task(data: Data) -> str:
    return f"task:{data['task_id']}"


def _tool_id(call_id: str) -> str:
    return f"tool:{call_id}"


def _call(data: Data) -> str:
    return _tool_id(data["call_id"])


def _approval(data: Data) -> str:
    return f"approval:{data['approval_id']}"


def _intent(data: Data) -> str:
    return f"intent:{data['intent_id']}"


def _named(kind: str, data: Data) -> list[str]:
    """The cards that an event may be about, whichever conversation it came in."""
    if kind.startswith("tool.") or kind == TaskDue.type:
        return []  # of delegated work, or of another talk
    by = {"task_id": _task, "approval_id": _approval, "intent_id": _intent}
    return [name(data) for field, name in by.items() if data.get(field)]


_Act = Callable[[Board, Data, bool], None]
_ACTS: dict[str, _Act] = {
    TaskDelegated.type: Board._delegated,
    TaskProgress.type: Board._task_progress,
    TaskQuestion.type: Board._task_question,
    TaskCompleted.type: Board._task_completed,
    TaskFailed.type: Board._task_failed,
    TaskDue.type: Board._due,
    ToolStarted.type: Board._started,
    ToolProgress.type: Board._progress,
    ToolCompleted.type: Board._completed,
    ToolError.type: Board._failed,
    ApprovalRequested.type: Board._asked,
    ApprovalResolved.type: Board._resolved,
    IntentSubmitted.type: Board._submitted,
    IntentRetracted.type: Board._retracted,
    Notification.type: Board._notified,
}
_OF_THE_USER: Collection[str] = (ApprovalRequested.type,)
"""Asked wherever the user is: whoever hears the question sees its card."""

PROGRESS = (TaskProgress.type,)
OF_TOOLS = tuple(kind for kind in _ACTS if kind.startswith("tool."))
OF_WORK = tuple(kind for kind in _ACTS if kind not in (*PROGRESS, *OF_TOOLS))
"""What a document is made of, in three parts: a lot of one does not push out the others."""
