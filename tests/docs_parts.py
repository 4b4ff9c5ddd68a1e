"""The generated parts of the documents: states, packages, turns, events, decisions, settings.

`python -m tests.docs_parts --write` brings them up to date (`make docs`); a
test fails when they are not.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from pathlib import Path

from tests import docs_rooms, docs_settings
from vivavoce.engine.turn import machine as engine_turns
from vivavoce.errors import SPOKEN, Recovery
from vivavoce.session.machine import diagram
from vivavoce.wire import events as voice_events
from vivavoce.wire.conductor import published
from vivavoce.wire.conductor.cards.board import document_schema
from vivavoce.wire.conductor.codes import BROKEN, CLOSES, CODES, RECONNECT

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"


@dataclass(frozen=True)
class Part:
    """What stands between two markers of a file."""

    file: Path
    name: str
    make: Callable[[], str]

    def current(self) -> str:
        return self.file.read_text(encoding="utf-8")

    def expected(self) -> str:
        begin, end = f"<!-- {self.name}: begin (generated) -->", f"<!-- {self.name}: end -->"
        text = self.current()
        assert text.count(begin) == text.count(end) == 1, f"{self.file.name} lacks {begin}"
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(end)
        return f"{before}{begin}\n{self.make()}\n{end}{after}"


def states() -> str:
    return f"```mermaid\n{diagram()}\n```"


def turns() -> str:
    return f"```mermaid\n{engine_turns.diagram()}\n```"


def events() -> str:
    rows = ["| event | kept | fields | |", "|---|---|---|---|"]
    for name, event in voice_events.CATALOGUE.items():
        kept = "durable" if event.durable else "ephemeral"
        rows.append(f"| `{name}` | {kept} | {_fields(event)} | {_words(event)} |")
    return "\n".join(rows)


def _fields(event: type[voice_events.VoiceEvent]) -> str:
    common = {field.name for field in fields(voice_events.VoiceEvent)}
    shown = []
    for field in fields(event):
        if field.name not in common:
            name = f"`{voice_events._RENAMED.get(field.name, field.name)}`"
            shown.append(name if field.default is MISSING else f"*{name}*")
    return ", ".join(shown)


def _words(event: type[voice_events.VoiceEvent]) -> str:
    words = " ".join((event.__doc__ or "").split())
    return "" if words.startswith(f"{event.__name__}(") else words  # a dataclass's own


def faults() -> str:
    rows = [
        "| fault | what is done | tries after | said, with which try | said last | notification |",
        "|---|---|---|---|---|---|",
    ]
    for code, row in SPOKEN.items():
        tries = ", ".join(f"{wait:g} s" for wait in row.waits)
        said = f"{row.message} ({row.said_at})" if row.said_at else ""
        last = row.last or (row.message if row.recovery in _SAID_AT_ONCE else "")
        quiet = row.recovery is Recovery.MODEL or code in _QUIET
        level = "" if quiet else row.level
        rows.append(f"| `{code}` | {row.recovery} | {tries} | {said} | {last} | {level} |")
    return "\n".join(rows)


_SAID_AT_ONCE = (Recovery.TELL, Recovery.NEXT_PROVIDER)
_QUIET = ("transcription_failed", "not_the_protocol")


def codes() -> str:
    rows = ["| code | from | means | send it again later? |", "|---|---|---|---|"]
    rows += [
        f"| `{name}` | {code.source} | {code.means} | {'yes' if code.again else ''} |"
        for name, code in CODES.items()
    ]
    return "\n".join(rows)


def closes() -> str:
    rows = ["| closed with | because | connect again? |", "|---|---|---|"]
    rows += [
        f"| {int(code)} | {words} | {'yes' if code in RECONNECT else 'no'} |"
        for code, words in sorted({**CLOSES, **BROKEN}.items())
    ]
    return "\n".join(rows)


def decisions() -> str:
    pages = sorted((DOCS / "adr").glob("[0-9]*.md"))
    return "\n".join(f"- [{_title(page)}](adr/{page.name})" for page in pages)


def _title(page: Path) -> str:
    first, _, _ = page.read_text(encoding="utf-8").partition("\n")
    return first.removeprefix("# ")


PARTS = (
    Part(DOCS / "architecture.md", "states", states),
    Part(DOCS / "architecture.md", "faults", faults),
    Part(DOCS / "architecture.md", "rooms", docs_rooms.table),
    Part(ROOT / "README.md", "map", docs_rooms.the_map),
    Part(DOCS / "conductor.md", "conductor codes", codes),
    Part(DOCS / "conductor.md", "conductor closes", closes),
    Part(DOCS / "engine.md", "turns", turns),
    Part(DOCS / "events.md", "events", events),
    Part(DOCS / "index.md", "decisions", decisions),
    Part(docs_settings.FILE, "settings", docs_settings.table),
)


@dataclass(frozen=True)
class Whole:
    """A file that is made as a whole."""

    file: Path
    made: Callable[[], object]
    name: str = "all of it"

    def current(self) -> str:
        return self.file.read_text(encoding="utf-8") if self.file.exists() else ""

    def expected(self) -> str:
        return json.dumps(self.made(), indent=2) + "\n"


FILES = (
    Whole(DOCS / "conductor" / "event.schema.json", published.schema),
    Whole(DOCS / "conductor" / "asyncapi.json", published.asyncapi),
    Whole(DOCS / "conductor" / "cards.schema.json", document_schema),
)


def main() -> None:
    stale = [part for part in (*PARTS, *FILES) if part.expected() != part.current()]
    for part in stale:
        if "--write" in sys.argv[1:]:
            part.file.write_text(part.expected(), encoding="utf-8")
        print(f"{part.file.relative_to(ROOT)}: {part.name}")
    if stale and "--write" not in sys.argv[1:]:
        sys.exit("out of date: run make docs")


if __name__ == "__main__":
    main()
