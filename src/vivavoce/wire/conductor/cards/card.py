"""What a card may be: one model for each type, as its JSON is.

What cards say was written by models, tools and agents. So whatever a field is given becomes text
that is short and has nothing hidden in it; what has no value is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

import orjson
from pydantic import BeforeValidator, Field, StringConstraints
from pydantic.json_schema import models_json_schema

from vivavoce.wire.clean import clean_line, clean_text
from vivavoce.wire.conductor.kinds import Wire

MOST_ROWS, MOST_CHOICES, MOST_FILES = 12, 20, 20
_LONG = 240
_ROOM = 4_000  # characters of one call's arguments

# --- Fields ---------------------------------------------------------------------------


def _cut(most: int, clean: Callable[[str, int], str]) -> BeforeValidator:
    """One character more is read than is shown, to see whether there are more."""

    def cut(value: object) -> object:
        if not isinstance(value, str):
            return value
        text = clean(value, most + 1)
        return text if len(text) <= most else text[: most - 1].rstrip() + "…"

    return BeforeValidator(cut)


def _as_it_is(text: str, limit: int) -> str:
    return text[:limit]


def _of_most(most: int) -> BeforeValidator:
    return BeforeValidator(lambda value: value[:most] if isinstance(value, list) else value)


Id = Annotated[str, _cut(256, clean_line), StringConstraints(max_length=256)]
Name = Annotated[str, _cut(64, clean_line), StringConstraints(max_length=64)]
Line = Annotated[str, _cut(_LONG, clean_line), StringConstraints(max_length=_LONG)]
Text = Annotated[str, _cut(1_000, clean_text), StringConstraints(max_length=1_000)]
Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Percentage = Annotated[
    int,
    BeforeValidator(lambda n: min(100, max(0, n)) if isinstance(n, int) else n),
    Field(ge=0, le=100),
]


class Row(Wire):
    """One value of several, by its name."""

    name: Name
    text: Line


class Argument(Wire):
    """As it is: what needs a yes was refused if anything in it is hidden."""

    name: Name
    text: Annotated[str, _cut(1_000, _as_it_is), StringConstraints(max_length=1_000)]


def rows(values: object) -> list[Row]:
    """What there is to read in a payload."""
    return [Row(name=name, text=text) for name, text in _told(values)][:MOST_ROWS]


def arguments(values: object) -> tuple[list[Argument], bool]:
    """And is there more than is shown?"""
    told = _told(values)
    shown: list[Argument] = []
    room = _ROOM
    for name, text in told[:MOST_ROWS]:
        shown.append(Argument(name=name, text=text[:room]))
        room -= len(shown[-1].text)
        if room <= 0:
            break
    return shown, [(one.name, one.text) for one in shown] != told


def _told(values: object) -> list[tuple[str, str]]:
    named = values.items() if isinstance(values, Mapping) else ()
    return [(str(name), _words(value)) for name, value in named if value is not None]


def _words(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


Rows = Annotated[list[Row], Field(max_length=MOST_ROWS)]


class Question(Wire):
    """Answered by what the user says next."""

    id: Id
    text: Text
    choices: Annotated[list[Line], _of_most(MOST_CHOICES), Field(max_length=MOST_CHOICES)]


# --- Cards ----------------------------------------------------------------------------


class Card(Wire):
    """What all cards have. `open` is false when nothing more comes: such cards go first."""

    id: Annotated[Id, Field(description="The same as long as the card is there.")]
    at: Annotated[Time, Field(description="When it began.")]
    open: bool = True


class TaskCard(Card):
    """Delegated work: how far it is, what it asks, what came of it."""

    type: Literal["task"] = "task"
    title: Line | None = None
    agent: Line | None = None
    status: Literal["running", "waiting", "completed", "failed", "cancelled"] = "running"
    progress: Line | None = None
    percentage: Percentage | None = None
    question: Question | None = None
    summary: Text | None = None
    error: Text | None = None
    suggestions: Annotated[list[Line], _of_most(5), Field(max_length=5)] | None = None


class ApprovalCard(Card):
    """A call that waits for the user's yes, and what they said. Only their own words or their own
    click answer it: `ui.confirm`."""

    type: Literal["approval"] = "approval"
    approval_id: Id
    question: Annotated[Text | None, Field(description="To be answered with yes or no.")] = None
    tool: Line
    holds: Annotated[
        Id | None, Field(description="The card of the tool or task that waits for it.")
    ] = None
    arguments: Annotated[list[Argument], Field(max_length=MOST_ROWS)]
    more: Annotated[
        bool | None,
        Field(description="Not all of the arguments is here. `GET /approvals` has all of it."),
    ] = None
    asked_by: Annotated[Line | None, Field(description="Absent: the assistant itself.")] = None
    because: Annotated[
        Line | None, Field(description="What the assistant had read, which may be behind it.")
    ] = None
    expires_at: Annotated[Time | None, Field(description="Then it is a no.")] = None
    status: Literal["pending", "granted", "denied", "expired"] = "pending"
    by: Line | None = None
    reach: Line | None = None


class DiffCard(Card):
    """Files that a tool or a task changed."""

    type: Literal["diff"] = "diff"
    file: Annotated[Line, Field(description="The first of them, below the user's workspace.")]
    files: Annotated[list[Line], _of_most(MOST_FILES), Field(max_length=MOST_FILES)]
    total: Annotated[int, Field(ge=1, description="How many there are in all.")]
    by: Annotated[Line | None, Field(description="The tool, or the title of the task.")] = None


class IntentCard(Card):
    """What was understood and handed in. `revision` rises when it is amended."""

    type: Literal["intent"] = "intent"
    intent: Line
    understood: Rows
    status: Literal["pending", "accepted", "failed", "retracted"] = "pending"
    revision: int = 0
    error: Text | None = None
    undo: Annotated[
        bool | None,
        Field(
            description='True on the latest one that can be taken back: "Undo that.", said or sent '
            "as a final transcript, is about this one."
        ),
    ] = None


class ToolCard(Card):
    """A call of a tool that runs, or what came of it."""

    type: Literal["tool"] = "tool"
    tool: Line
    title: Line | None = None
    status: Literal["running", "waiting", "completed", "failed"] = "running"
    progress: Line | None = None
    percentage: Percentage | None = None
    question: Question | None = None
    text: Annotated[Text | None, Field(description="The beginning of what it returned.")] = None
    error: Text | None = None
    suggestion: Line | None = None


class ReminderCard(Card):
    """Something on the user's list that has come due."""

    type: Literal["reminder"] = "reminder"
    title: Line
    due_at: Time
    late: bool = False


class NotificationCard(Card):
    """A word for the screen. Nobody says it aloud."""

    type: Literal["notification"] = "notification"
    level: Line
    text: Text
    action: Annotated[
        Rows | None, Field(description="`label` and what it does, where there is one.")
    ] = None


TYPES: Mapping[str, type[Card]] = {
    kind.model_fields["type"].default: kind
    for kind in (
        TaskCard,
        ApprovalCard,
        DiffCard,
        IntentCard,
        ToolCard,
        ReminderCard,
        NotificationCard,
    )
}

Json = dict[str, Any]
"""Of a card or a document. Never changed: who wants another makes one."""


def written(card: Card) -> Json:
    return card.model_dump(mode="json", by_alias=True, exclude_none=True)


def changed(card: Json, **changes: object) -> Json:
    """The same card with other values, by their names here; None takes one away."""
    kind = TYPES[card["type"]]
    return written(kind.model_validate(kind.model_validate(card).model_dump() | changes))


# --- As others read it ----------------------------------------------------------------


def schema(most: int) -> dict[str, Any]:
    """JSON Schema of the whole document; `$defs` has each type of card."""
    _, made = models_json_schema(
        [(kind, "validation") for kind in TYPES.values()],
        by_alias=True,
        ref_template="#/$defs/{model}",
    )
    defs: dict[str, Any] = made["$defs"]
    for kind in TYPES.values():
        defs[kind.__name__]["required"] = sorted({*defs[kind.__name__]["required"], "open", "type"})
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "vivavoce-conductor-cards.schema.json",
        "title": "What a runtime shows",
        "description": 'The document that `assistantUIPatch` changes. It begins as {"cards": []}, '
        "the newest card comes first. Clients ignore types and fields that they do not know.",
        "type": "object",
        "required": ["cards"],
        "properties": {
            "cards": {
                "type": "array",
                "maxItems": most,
                "items": {"oneOf": [{"$ref": f"#/$defs/{k.__name__}"} for k in TYPES.values()]},
            }
        },
        "$defs": defs,
    }
