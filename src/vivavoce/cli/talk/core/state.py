"""What the terminal knows of a talk, and how each fact changes it. No I/O, no clock.

The state comes from the event stream, as the page's does (ADR 21); a fact is an event of the
server's or something that happened here. Events and fields that are not known are ignored: the
server may be newer than this client.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

Kind = Literal["user", "assistant", "tool", "task", "intent", "due", "note"]
Stage = Literal["loading", "connecting", "live", "reconnecting", "leaving", "ended", "failed"]
Mode = Literal["voice", "text"]

KEPT = 500
"""Lines that are shown; the server has them all."""
_SETTLED = 200
_WAITS = "waits for your yes"


@dataclass(frozen=True, slots=True)
class Line:
    """Something that was said, called or told. `unheard` was meant to follow, and never played."""

    id: str
    kind: Kind
    text: str = ""
    unheard: str = ""
    cut: bool = False
    done: bool = False
    failed: bool = False
    note: str = ""
    percentage: float | None = None
    written: bool = False
    pending: bool = False
    """Typed here, and not known to have arrived."""


@dataclass(frozen=True, slots=True)
class RunningTool:
    call_id: str
    name: str
    percentage: float | None = None


@dataclass(frozen=True, slots=True)
class Approval:
    id: str
    tool: str
    question: str
    arguments: Mapping[str, Any]
    expires_at: str
    requested_at: str
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    """How it came to its end; `broken` if nobody wanted that."""

    words: str
    broken: bool = False


@dataclass(frozen=True, slots=True)
class State:
    mode: Mode = "voice"
    stage: Stage = "loading"
    voice: str = "disconnected"
    """The session's state, in the server's word."""
    sounding: bool = False
    streaming: bool = True
    muted: bool = False
    held: bool = False
    """Push to talk: the microphone is closed but while the key is down."""
    microphone: str = ""
    speaker: str = ""
    session: str | None = None
    conversation: str | None = None
    agent: str = ""
    loading: str = ""
    lines: tuple[Line, ...] = ()
    tools: tuple[RunningTool, ...] = ()
    approvals: tuple[Approval, ...] = ()
    settled: tuple[str, ...] = ()
    notice: str = ""
    ending: Ending | None = None


# --- Facts ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Event:
    """One of `GET /events`."""

    name: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Began:
    """Who is talked to, and with what."""

    mode: Mode
    agent: str = ""
    microphone: str = ""
    speaker: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Waiting:
    """The server is not ready yet, and why."""

    words: str


@dataclass(frozen=True, slots=True)
class Opened:
    session: str | None
    conversation: str | None


@dataclass(frozen=True, slots=True)
class Recalled:
    """What was said before, oldest first: the messages of a conversation that goes on."""

    messages: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Reread:
    """The server's record after a gap in the stream."""

    entries: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Asked:
    """All requests that are open at the server; what is not among them has its answer."""

    approvals: Sequence[Mapping[str, Any]]
    session: str | None


@dataclass(frozen=True, slots=True)
class Call:
    """The call that carries the sound."""

    state: Literal["placing", "up", "lost"]


@dataclass(frozen=True, slots=True)
class Stream:
    up: bool


@dataclass(frozen=True, slots=True)
class VoiceRead:
    voice: str


@dataclass(frozen=True, slots=True)
class Sounding:
    on: bool


@dataclass(frozen=True, slots=True)
class Microphone:
    muted: bool
    held: bool


@dataclass(frozen=True, slots=True)
class Typed:
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Refused:
    """What was typed did not arrive."""

    key: str
    words: str


@dataclass(frozen=True, slots=True)
class Decided:
    approval: str


@dataclass(frozen=True, slots=True)
class Told:
    """A word to whoever sits here; it goes when something else is to be said."""

    words: str


@dataclass(frozen=True, slots=True)
class Leaving:
    pass


@dataclass(frozen=True, slots=True)
class Over:
    ending: Ending


Fact = (
    Event
    | Began
    | Waiting
    | Opened
    | Recalled
    | Reread
    | Asked
    | Call
    | Stream
    | VoiceRead
    | Sounding
    | Microphone
    | Typed
    | Refused
    | Decided
    | Told
    | Leaving
    | Over
)


def reduce(state: State, fact: Fact) -> State:
    match fact:
        case Event(name, data):
            return _heard(state, name, data)
        case Began(mode, agent, microphone, speaker, note):
            return replace(
                state,
                mode=mode,
                agent=agent,
                microphone=microphone,
                speaker=speaker,
                lines=_noted(state.lines, note),
            )
        case Waiting(words):
            return replace(state, loading=words, stage="loading")
        case Opened(session, conversation):
            known = conversation or state.conversation
            return replace(state, session=session, conversation=known, loading="")
        case Recalled(messages):
            notes = tuple(line for line in state.lines if line.kind == "note")
            return replace(state, lines=(*_recalled(messages), *notes))
        case Reread(entries):
            return replace(state, lines=_reread(state.lines, entries))
        case Asked(approvals, session):
            return _asked(state, approvals, session)
        case Call(state="placing"):
            again = state.stage in ("live", "reconnecting")
            return state if again else replace(state, stage="connecting", loading="")
        case Call(state="up"):
            back = "" if state.stage == "reconnecting" else state.notice
            return replace(state, stage="live", notice=back)
        case Call():
            return replace(state, stage="reconnecting", sounding=False, tools=())
        case Stream(up):
            return replace(state, streaming=up)
        case VoiceRead(voice):
            return replace(state, voice=voice)
        case Sounding(on):
            return replace(state, sounding=on)
        case Microphone(muted, held):
            return replace(state, muted=muted, held=held)
        case Typed(key, text):
            line = Line(f"typed:{key}", "user", text, written=True, pending=True)
            return replace(state, lines=_added(state.lines, line), notice="")
        case Refused(key, words):
            left = tuple(line for line in state.lines if line.id != f"typed:{key}")
            return replace(state, lines=left, notice=words)
        case Decided(approval):
            return _settle(state, approval)
        case Told(words):
            return replace(state, notice=words)
        case Leaving():
            return replace(state, stage="leaving")
        case Over(ending):
            return _over(state, ending)


# --- Events -----------------------------------------------------------------------


def _heard(state: State, name: str, data: Mapping[str, Any]) -> State:
    if name.startswith("tool."):
        return _tooled(state, name, data)
    if name.startswith("task."):
        return _worked(state, name, data)
    match name:
        case "session.status":
            # The only word on the state: durable events come once they are stored, and too late.
            return replace(state, voice=str(data.get("state", state.voice)))
        case "speech.started":
            return _speech_started(state, data)
        case "transcription.delta":
            return _growing(state, data)
        case "transcription.completed":
            return _completed(state, data)
        case "intent.submitted" | "intent.retracted":
            return _intended(state, name, data)
        case "approval.requested":
            return _asks(state, _approval(data, "approval_id", "timestamp"))
        case "approval.resolved":
            return _resolved(state, data)
        case "session.warning":
            # Before a provider's cap the session goes on by itself, and nobody needs to hear of it.
            return state if data.get("action") == "reconnect" else _said(state, _warned(data))
        case "session.moved":
            stops = "This server stops. One moment, I look for another."
            return state if data.get("owner") else _said(state, stops)
        case "call.wanted" | "notification" | "error":
            return _said(state, str(data.get("message") or state.notice))
        case _:
            return state


def _said(state: State, words: str) -> State:
    return replace(state, notice=words)


def _warned(data: Mapping[str, Any]) -> str:
    seconds = data.get("seconds_remaining", "a few")
    if data.get("reason") == "idle":
        return f"Still there? Without a word this ends in {seconds} seconds."
    return f"This conversation ends in {seconds} seconds."


def _speech_started(state: State, data: Mapping[str, Any]) -> State:
    item = data.get("item_id")
    lines = _opened(state.lines, str(item), "user") if item else state.lines
    return replace(state, lines=lines, notice="")


def _growing(state: State, data: Mapping[str, Any]) -> State:
    item, delta = str(data["item_id"]), str(data.get("delta", ""))
    lines = _opened(state.lines, item, _speaker(data))

    def grown(line: Line) -> Line:
        return line if line.done else replace(line, text=line.text + delta)

    return replace(state, lines=_changed(lines, item, grown))


def _completed(state: State, data: Mapping[str, Any]) -> State:
    """What was said or heard. Of an answer that was cut off, the rest is kept as unheard."""
    item, kind = str(data["item_id"]), _speaker(data)
    text, cut = str(data.get("transcript", "")).strip(), data.get("interrupted") is True
    written = data.get("modality") == "text"
    lines = _arrived(state.lines, text) if kind == "user" and written else state.lines
    if not text and not cut:
        return replace(state, lines=tuple(line for line in lines if line.id != item))
    lines = _opened(lines, item, kind, after=data.get("previous_item_id"))

    def said(line: Line) -> Line:
        whole = line.text + line.unheard
        rest = whole[len(text) :] if cut and whole.startswith(text) else ""
        return replace(line, text=text, unheard=rest, cut=cut, written=written, done=True)

    return replace(state, lines=_changed(lines, item, said))


def _arrived(lines: tuple[Line, ...], text: str) -> tuple[Line, ...]:
    """What was typed here is known to the server, and shown as it tells it."""
    for line in lines:
        if line.pending and line.text.strip() == text:
            return tuple(other for other in lines if other is not line)
    return lines


def _tooled(state: State, name: str, data: Mapping[str, Any]) -> State:
    call, tool = str(data.get("call_id", "")), str(data.get("tool_name", ""))
    others = tuple(one for one in state.tools if one.call_id != call)
    known = next((line for line in state.lines if line.id == call), None)
    lines = _opened(state.lines, call, "tool")
    match name:
        case "tool.started":
            text = str(data.get("description") or tool)
            marked = _changed(lines, call, lambda line: replace(line, text=text))
            return replace(state, tools=(*others, RunningTool(call, tool)), lines=marked)
        case "tool.progress":
            if known is not None and known.done:
                return state  # late
            part, words = _percentage(data), str(data.get("message", ""))
            marked = _changed(
                lines,
                call,
                lambda line: replace(line, text=line.text or tool, note=words, percentage=part),
            )
            return replace(state, tools=(*others, RunningTool(call, tool, part)), lines=marked)
        case "tool.completed":
            preview = _one_line(str(data.get("output_preview") or ""))
            failed = data.get("success") is False
            note, text = preview, tool
        case "tool.error":
            told = (data.get("error"), data.get("suggestion"))
            note, failed = " ".join(str(one) for one in told if one), True
            text = tool
        case _:
            return state

    def ended(line: Line) -> Line:
        words = line.text or text
        return replace(line, text=words, note=note, failed=failed, done=True, percentage=None)

    return replace(state, tools=others, lines=_changed(lines, call, ended))


_TASKS = {
    "task.delegated": ("", "Handed over"),
    "task.progress": ("message", ""),
    "task.question": ("question", ""),
    "task.completed": ("summary", "Done"),
    "task.failed": ("error", "Failed"),
}


def _worked(state: State, name: str, data: Mapping[str, Any]) -> State:
    if name == "task.due":
        due = Line(str(data.get("reminder_id")), "due", str(data.get("title", "")), done=True)
        known = any(line.id == due.id for line in state.lines)
        return state if known else replace(state, lines=_added(state.lines, due))
    if name not in _TASKS:
        return state
    field, otherwise = _TASKS[name]
    task = str(data.get("task_id", ""))
    note = str(data.get(field) or otherwise)
    ends = name in ("task.completed", "task.failed")

    def changed(line: Line) -> Line:
        if line.done:
            return line  # an end is an end
        text = str(data.get("title") or line.text or "A task")
        failed, part = name == "task.failed", _percentage(data)
        return replace(line, text=text, note=note, done=ends, failed=failed, percentage=part)

    lines = _changed(_opened(state.lines, task, "task"), task, changed)
    return replace(state, lines=lines)


_INTENTS = {"pending": "On its way", "accepted": "Saved", "failed": "Not accepted"}


def _intended(state: State, name: str, data: Mapping[str, Any]) -> State:
    intent, back = str(data.get("intent_id", "")), name == "intent.retracted"
    status = str(data.get("status", ""))
    title = str(data.get("intent", "")).replace("_", " ").capitalize()
    payload = data.get("payload")
    main = ("title", "goal_statement", "name", "statement")
    what = next((str(payload[key]) for key in main if payload and payload.get(key)), "")
    words = "Taken back" if back else _INTENTS.get(status, status)

    def changed(line: Line) -> Line:
        if line.note == "Taken back":
            return line
        text = f"{title}: {what}" if what else line.text or title
        return replace(line, text=text, note=words, failed=status == "failed", done=True)

    lines = _changed(_opened(state.lines, intent, "intent"), intent, changed)
    return replace(state, lines=lines)


# --- Approvals --------------------------------------------------------------------


def _approval(data: Mapping[str, Any], id_field: str, at_field: str) -> Approval:
    given = data.get("arguments")
    return Approval(
        id=str(data[id_field]),
        tool=str(data.get("tool_name", "")),
        question=str(data.get("question", "")),
        arguments=given if isinstance(given, Mapping) else {},
        expires_at=str(data.get("expires_at", "")),
        requested_at=str(data.get(at_field, "")),
        call_id=data.get("call_id"),
    )


def _asks(state: State, approval: Approval) -> State:
    if approval.id in state.settled:
        return state
    others = [one for one in state.approvals if one.id != approval.id]
    ordered = sorted([*others, approval], key=lambda one: one.requested_at)
    lines = _noting(state.lines, approval, _WAITS)
    return replace(state, approvals=tuple(ordered), lines=lines)


def _noting(lines: tuple[Line, ...], approval: Approval, note: str) -> tuple[Line, ...]:
    """A call that waits for a yes does not run, whatever its description says."""

    def noted(line: Line) -> Line:
        return line if line.done else replace(line, note=note)

    return _changed(lines, approval.call_id or "", noted)


def _asked(state: State, found: Iterable[Mapping[str, Any]], session: str | None) -> State:
    fresh = replace(state, approvals=())
    for one in found:
        if session is None or one.get("session_id") in (None, session):
            fresh = _asks(fresh, _approval(one, "id", "requested_at"))
    return fresh


_BY = {
    "voice": " by voice",
    "timeout": ": nobody answered in time",
    "cancel": ": it is not wanted any more",
    "restart": ": the server was restarted",
}


def _resolved(state: State, data: Mapping[str, Any]) -> State:
    """What was decided elsewhere is said: a card that just goes would be a riddle."""
    approval, by = str(data.get("approval_id", "")), str(data.get("by", ""))
    shown = any(one.id == approval for one in state.approvals)
    settled = _settle(state, approval)
    if not shown or by == "click":
        return settled
    word = "allowed" if data.get("granted") else "refused"
    return _said(settled, f"{data.get('tool_name', 'It')} was {word}{_BY.get(by, '')}.")


def _settle(state: State, approval: str) -> State:
    left = tuple(one for one in state.approvals if one.id != approval)
    settled = (*state.settled, approval)[-_SETTLED:]
    lines = state.lines
    for one in state.approvals:
        if one.id == approval:
            lines = _noting(lines, one, "")
    return replace(state, approvals=left, settled=settled, lines=lines)


# --- Lines ------------------------------------------------------------------------


def _opened(
    lines: tuple[Line, ...], line_id: str, kind: Kind, *, after: object = None
) -> tuple[Line, ...]:
    """A place for what is being said, so that a late transcript does not come after its answer."""
    if any(line.id == line_id for line in lines):
        return lines
    before = next((at for at, line in enumerate(lines) if line.id == after), None)
    at = len(lines) if before is None else before + 1
    return (*lines[:at], Line(line_id, kind), *lines[at:])[-KEPT:]


def _noted(lines: tuple[Line, ...], note: str) -> tuple[Line, ...]:
    return _added(lines, Line("note", "note", note, done=True)) if note else lines


def _added(lines: tuple[Line, ...], line: Line) -> tuple[Line, ...]:
    return (*lines, line)[-KEPT:]


def _changed(lines: tuple[Line, ...], line_id: str, change: Any) -> tuple[Line, ...]:
    return tuple(change(line) if line.id == line_id else line for line in lines)


def _recalled(messages: Iterable[Mapping[str, Any]]) -> tuple[Line, ...]:
    lines = []
    for one in messages:
        role, text = one.get("role"), str(one.get("content") or "")
        if role in ("user", "assistant") and text:
            kind: Kind = "user" if role == "user" else "assistant"
            written = one.get("input_modality") == "text"
            lines.append(Line(str(one["id"]), kind, text, written=written, done=True))
    return tuple(lines[-KEPT:])


def _reread(lines: tuple[Line, ...], entries: Iterable[Mapping[str, Any]]) -> tuple[Line, ...]:
    """The server's record; what is no entry there (cards, what was due) keeps its place."""
    fresh: tuple[Line, ...] = ()
    for entry in entries:
        kind, text = entry.get("entry_type"), str(entry.get("text") or "")
        if kind in ("user", "assistant"):
            cut, meant = entry.get("interrupted") is True, str(entry.get("generated_text") or "")
            rest = meant[len(text) :] if cut and meant.startswith(text) else ""
            item = str(entry.get("item_id") or entry["id"])
            said: Kind = "user" if kind == "user" else "assistant"
            fresh = (*fresh, Line(item, said, text, unheard=rest, cut=cut, done=True))
        elif kind == "tool_call":
            call = str(entry.get("tool_call_id") or entry["id"])
            fresh = (*fresh, Line(call, "tool", str(entry.get("tool_name") or ""), done=True))
    for at, line in enumerate(lines):
        if line.pending or line.kind in ("intent", "due", "task"):
            before = lines[at - 1].id if at else None
            fresh = _opened(fresh, line.id, line.kind, after=before)
            kept = line
            fresh = tuple(kept if one.id == kept.id else one for one in fresh)
    return fresh[-KEPT:]


def _over(state: State, ending: Ending) -> State:
    """What was said stays, what was going on does not."""
    lines = tuple(
        replace(line, done=True, percentage=None) for line in state.lines if line.text or line.done
    )
    stage: Stage = "failed" if ending.broken else "ended"
    return replace(
        state,
        stage=stage,
        voice="disconnected",
        sounding=False,
        lines=lines,
        tools=(),
        approvals=(),
        ending=ending,
    )


def _speaker(data: Mapping[str, Any]) -> Kind:
    return "user" if data.get("role") == "user" else "assistant"


def _percentage(data: Mapping[str, Any]) -> float | None:
    part = data.get("percentage")
    return None if part is None else min(100.0, max(0.0, float(part)))


def _one_line(text: str, longest: int = 160) -> str:
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[:longest]}…"
