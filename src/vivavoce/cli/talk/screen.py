"""The talk on the whole terminal, with Textual: what is said, tools at work, what needs a yes, and
the keys. It draws the store's state and decides nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Footer, Input, Static

from vivavoce.cli.talk.core import words
from vivavoce.cli.talk.core.state import Approval, Line, State
from vivavoce.cli.talk.talk import Talk

_FRAMES = 1 / 15
_METER = 12
_LOUD = 0.12
"""What fills the meter: a voice close to a microphone."""

_COLOURS = {
    "loading": "yellow",
    "connecting": "yellow",
    "listening": "green",
    "hearing": "cyan",
    "thinking": "magenta",
    "speaking": "blue",
    "tool": "magenta",
    "reconnecting": "red",
    "leaving": "yellow",
    "ended": "white",
    "failed": "red",
}
_WHO = {
    "user": ("You", "bold cyan"),
    "assistant": ("Assistant", "bold green"),
    "due": ("Due", "bold yellow"),
    "note": ("", "dim"),
}
_CARDS = {"tool": "Tool", "task": "Task", "intent": "Noted"}


class LineView(Static):
    """One line of the talk, or a card."""

    def __init__(self, line: Line) -> None:
        super().__init__(line_text(line), classes=f"line {line.kind}")
        self.line = line

    def show(self, line: Line) -> None:
        if line != self.line:
            self.line = line
            self.update(line_text(line))


def line_text(line: Line) -> Text:
    if line.kind in _CARDS:
        return _card(line)
    who, style = _WHO[line.kind]
    text = Text()
    if who:
        text.append(f"{who}  ", style)
    text.append(words.harmless(line.text), "" if line.done and not line.pending else "italic")
    if line.unheard:
        text.append(words.harmless(line.unheard), "strike dim")
    if line.cut:
        text.append("  (cut off)", "dim")
    if not line.done and not line.pending:
        text.append(" …", "dim")
    if line.pending:
        text.append("  (sending)", "dim")
    return text


def _card(line: Line) -> Text:
    sign, style = ("…", "magenta")
    if line.done:
        sign, style = ("✗", "red") if line.failed else ("✓", "green")
    text = Text()
    text.append(f"{sign} {_CARDS[line.kind]}  ", f"bold {style}")
    text.append(words.harmless(line.text))
    if line.percentage is not None and not line.done:
        full = round(line.percentage / 100 * _METER)
        text.append(f"  {'━' * full}", "magenta").append("━" * (_METER - full), "dim")
        text.append(f" {line.percentage:.0f} %")
    if line.note:
        text.append(f"\n  {words.harmless(line.note)}", "red" if line.failed else "dim")
    return text


def approval_text(approval: Approval, waiting: int, now: datetime, *, writing: bool) -> Text:
    """All of it: what is approved unread is not approved."""
    yes, no = ("Ctrl-Y", "Ctrl-N") if writing else ("y", "n")
    text = Text()
    text.append(words.harmless(approval.question) + "\n", "bold")
    for name, value in words.argument_rows(approval.arguments):
        text.append(f"{name}: ", "dim").append(value + "\n")
    text.append(yes, "bold green").append(" yes   ").append(no, "bold red").append(" no")
    if (left := words.seconds_left(approval, now)) is not None:
        text.append(f"   no answer is a no, in {left} s", "dim")
    if waiting > 1:
        text.append(f"   {waiting - 1} more wait", "dim")
    return text


class TalkScreen(App[None]):
    """Draws what changed, fifteen times a second at most."""

    TITLE = "Vivavoce"
    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = None
    CSS = """
    Screen { layout: vertical; }
    #bar { height: 1; background: $panel; padding: 0 1; }
    #status { width: auto; text-wrap: nowrap; }
    #who { width: 1fr; margin-left: 2; color: $text-muted; text-align: right;
           text-wrap: nowrap; text-overflow: ellipsis; }
    #said { height: 1fr; padding: 1 2 0 2; scrollbar-size-vertical: 1; }
    .line { margin-bottom: 1; width: 100%; }
    .tool, .task, .intent { border-left: thick $secondary; padding: 0 1; background: $panel; }
    .note { color: $text-muted; }
    #asks { display: none; height: auto; max-height: 60%; margin: 0 1; padding: 0 1;
            border: round $warning; border-title-color: $warning; overflow-y: auto; }
    #asks.open { display: block; }
    #notice { height: auto; padding: 0 2; color: $warning; display: none; }
    #notice.open { display: block; }
    #typing { display: none; margin: 0 1; }
    #typing.open { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes"),
        Binding("n", "answer(False)", "No"),
        Binding("space", "talk_key", "Talk"),
        Binding("m", "mute", "Mute"),
        Binding("p", "push", "Push to talk"),
        Binding("t,enter", "type", "Write"),
        Binding("s", "stop", "Stop it"),
        Binding("escape", "back", "Back", show=False),
        Binding("q", "hang_up", "Hang up"),
        # While one writes, letters are letters.
        Binding("ctrl+y", "answer(True)", show=False, priority=True),
        Binding("ctrl+n", "answer(False)", show=False, priority=True),
        Binding("ctrl+c,ctrl+q", "hang_up", show=False, priority=True),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
    ]

    def __init__(self, talk: Talk) -> None:
        super().__init__()
        self._talk = talk
        self._views: dict[str, LineView] = {}
        self._changed = True
        self._drawn: dict[Static, Text] = {}
        self._status, self._who = Static(id="status"), Static(id="who")
        self._said = VerticalScroll(id="said", can_focus=False)
        self._asks, self._question = Vertical(id="asks"), Static(id="question")
        self._notice = Static(id="notice")
        self._typing = Input(placeholder="Write to the assistant, Enter sends", id="typing")

    def compose(self) -> ComposeResult:
        with Horizontal(id="bar"):
            yield self._status
            yield self._who
        yield self._said
        with self._asks:
            yield self._question
        yield self._notice
        yield self._typing
        yield Footer()

    def on_mount(self) -> None:
        self._talk.store.listeners.append(self._told)
        self.set_interval(_FRAMES, self.draw)
        if self._talk.desk is None:
            self.action_type()

    def on_unmount(self) -> None:
        self._talk.store.listeners.remove(self._told)

    def _told(self, state: State) -> None:
        self._changed = True

    # --- Drawing -------------------------------------------------------------------------

    async def draw(self) -> None:
        if not self._status.is_attached:
            return  # the end: the screen goes before its clock stops
        state = self._talk.store.state
        self._draw_bar(state)
        self._draw_asked(state)
        if self._changed:
            self._changed = False
            self._notice.set_class(bool(state.notice), "open")
            self._notice.update(Text(words.harmless(state.notice)))
            await self._draw_lines(state)
            self.refresh_bindings()

    def _draw_bar(self, state: State) -> None:
        now = words.situation(state)
        bar = Text()
        bar.append("● ", _COLOURS[now]).append(words.words(state), "bold")
        if (desk := self._talk.desk) is not None and state.stage == "live":
            full = min(_METER, round(_METER * desk.level / _LOUD))
            bar.append("   ").append("▮" * full, "green").append("·" * (_METER - full), "dim")
        self._show(self._status, bar)
        sound = f"{state.microphone} → {state.speaker}" if state.microphone else "in writing"
        self._show(self._who, Text(f"{state.agent or 'vivavoce'} · {sound}"))

    def _draw_asked(self, state: State) -> None:
        self._asks.set_class(bool(state.approvals), "open")
        if state.approvals:
            first = state.approvals[0]
            self._asks.border_title = f"{first.tool} needs your yes"
            text = approval_text(
                first,
                len(state.approvals),
                datetime.now(UTC),
                writing=isinstance(self.focused, Input),
            )
            self._show(self._question, text)

    async def _draw_lines(self, state: State) -> None:
        said = self._said
        at_end = said.scroll_y >= said.max_scroll_y - 1
        wanted = {line.id: line for line in state.lines}
        for line_id in [known for known in self._views if known not in wanted]:
            await self._views.pop(line_id).remove()
        before: LineView | None = None
        for line in state.lines:
            view = self._views.get(line.id)
            if view is None:
                view = self._views[line.id] = LineView(line)
                if before is not None:
                    await said.mount(view, after=before)
                else:
                    await said.mount(view, before=0 if said.children else None)
            else:
                view.show(line)
            before = view
        if at_end:
            said.scroll_end(animate=False)

    def _show(self, view: Static, text: Text) -> None:
        """Nothing is drawn twice: a layout costs more than all else here."""
        if self._drawn.get(view) != text:
            self._drawn[view] = text
            view.update(text)

    # --- Keys ----------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only keys that do something are shown."""
        state, aloud = self._talk.store.state, self._talk.desk is not None
        match action:
            case "answer":
                return bool(state.approvals)
            case "talk_key":
                return aloud
            case "mute" | "push" | "stop":
                return aloud
            case _:
                return True

    def action_answer(self, granted: bool) -> None:
        self._talk.answer(granted=granted)

    def action_talk_key(self) -> None:
        self._talk.talk_key()

    def action_mute(self) -> None:
        self._talk.mute()

    def action_push(self) -> None:
        self._talk.push_to_talk()

    def action_stop(self) -> None:
        self._talk.stop()

    def action_type(self) -> None:
        self._typing.add_class("open")
        self._typing.focus()

    async def action_back(self) -> None:
        if self._talk.desk is not None:
            self._typing.remove_class("open")
        self.set_focus(None)

    def action_page(self, pages: int) -> None:
        self._said.scroll_relative(y=pages * self._said.size.height, animate=False)

    def action_hang_up(self) -> None:
        self._talk.hang_up()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self._talk.write(event.value)
        event.input.clear()


@asynccontextmanager
async def shown(talk: Talk) -> AsyncIterator[None]:
    """While the talk runs; whoever closes the screen hangs up."""
    app = TalkScreen(talk)

    async def drawn() -> None:
        await app.run_async()
        talk.hang_up()

    async with asyncio.TaskGroup() as group:
        group.create_task(drawn())
        try:
            yield
        finally:
            app.exit()
