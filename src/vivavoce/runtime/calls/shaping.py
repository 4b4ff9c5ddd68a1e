"""Long output made short enough for a model, by what kind of text it is. No I/O.

"Tokens are precious" (seed 000 §4.3): at most 4,000 characters, less where the
brain reads slowly. Code keeps its outline, a list of files its counts and
folders, a log its head and its tail. The whole is in the record; the mark at
the end says how to read more of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable

from vivavoce.runtime.ports import OutputKind

MODEL_LIMIT = 4_000
_LEAST = 400
"""A brain that reads less than this at a time can do nothing with an output."""
_OUTLINE = re.compile(
    r"^\s*(?:export\s+|pub(?:\(\w+\))?\s+|public\s+|private\s+|protected\s+|static\s+|async\s+|"
    r"abstract\s+|final\s+|default\s+)*"
    r"(?:def|class|function|interface|struct|enum|trait|impl|fn|func|type|module|namespace|"
    r"const\s+\w+\s*=\s*(?:async\s*)?\()\b.*|^#{1,6}\s+\S.*"
)


_MATCH = re.compile(r"[^\s:]+:\d+[:-]")
_PATH = re.compile(r"[\w.@+-]*[/.][\w./@+ -]*$")
_CODE = re.compile(r"\s{2,}|.*[{};)\]:=]$")
_FEW, _LONG, _DEFINITIONS = 12, 60, 3


def shape(
    output: str,
    kind: OutputKind | None = None,
    ref: str = "",
    limit: int = MODEL_LIMIT,
    frame: tuple[int, int] = (0, 0),
) -> tuple[str, bool]:
    """The output within the limit, and whether anything is missing. `frame` is how many lines
    before and after the entries of a list are none.

    Half a surrogate pair (a file name that is no UTF-8, say) goes over no wire.
    """
    output = output.encode("utf-8", "replace").decode()
    limit = max(_LEAST, min(limit, MODEL_LIMIT))
    if len(output) <= limit:
        return output, False
    mark = _mark(output, ref)
    room = limit - len(mark)
    kind = kind or kind_of(output)
    if kind in _LISTS and any(frame):
        return _listed(output, kind, frame, room) + mark, True
    return _WAYS[kind](output, room) + mark, True


def _listed(output: str, kind: OutputKind, frame: tuple[int, int], room: int) -> str:
    """What the tool says about its list stays as it is said, and only entries are counted."""
    lines = output.split("\n")
    before, after = frame
    end = len(lines) - after
    head, tail = "\n".join(lines[:before])[: room // 4], "\n".join(lines[end:])[: room // 4]
    left = room - len(head) - len(tail) - bool(head) - bool(tail)
    entries = _WAYS[kind]("\n".join(lines[before:end]), left)
    return "\n".join(part for part in (head, entries, tail) if part)


def kind_of(output: str) -> OutputKind:
    """What it looks like, for tools that do not say (seed 000 §4.3)."""
    lines = [line for line in output.split("\n") if line.strip()]
    if len(lines) < _FEW:
        return "text"

    def most(pattern: re.Pattern[str], share: float) -> bool:
        return sum(bool(pattern.match(line)) for line in lines) >= share * len(lines)

    if most(_MATCH, 0.6):
        return "matches"
    if most(_PATH, 0.9):
        return "files"
    if sum(bool(_OUTLINE.match(line)) for line in lines) >= _DEFINITIONS and most(_CODE, 0.3):
        return "code"
    return "log" if len(lines) > _LONG and sum(map(len, lines)) < 200 * len(lines) else "text"


def _mark(output: str, ref: str) -> str:
    lines = output.count("\n") + 1
    more = f'; read_output("{ref}", from_line) shows the rest' if ref else ""
    return f"\n...[truncated, {len(output)} characters, {lines} lines in all{more}]"


def _text(output: str, room: int) -> str:
    """The beginning, cut at the end of a line where one is near."""
    kept = output[:room]
    line = kept.rfind("\n")
    return kept[:line] if line > len(kept) * 3 // 4 else kept


def _log(output: str, room: int) -> str:
    """Where it began, and, what matters more, how it ended."""
    note = "\n... [lines left out] ...\n"
    head = _text(output, (room - len(note)) // 4)
    tail = output[-(room - len(note) - len(head)) :]
    line = tail.find("\n")
    if 0 <= line < len(tail) // 4:
        tail = tail[line + 1 :]
    return head + note + tail


def _code(output: str, room: int) -> str:
    """The top, then what is defined where."""
    lines = output.split("\n")
    head = _text(output, room * 2 // 5)
    seen = head.count("\n") + 1
    rest = enumerate(lines[seen:], seen + 1)
    outline = [f"{number}: {line.rstrip()[:120]}" for number, line in rest if _OUTLINE.match(line)]
    if not outline:
        return _log(output, room)
    return _fill(f"{head}\n... outline of the rest, with line numbers:", outline, room)


def _files(output: str, room: int) -> str:
    """How many, in which folders, and the first of them."""
    names = [line for line in output.split("\n") if line.strip()]
    folders = Counter(name.rpartition("/")[0].split("/")[0] or "." for name in names)
    shown = ", ".join(f"{folder}/ {count}" for folder, count in folders.most_common(12))
    return _fill(f"{len(names)} entries. By folder: {shown}. The first:", names, room)


def _matches(output: str, room: int) -> str:
    """How many, in which files, and the first of them."""
    lines = [line for line in output.split("\n") if line.strip()]
    files = Counter(line.split(":", 1)[0] for line in lines if ":" in line)
    shown = ", ".join(f"{name} {count}" for name, count in files.most_common(12))
    return _fill(f"{len(lines)} lines in {len(files)} files. Most in: {shown}.", lines, room)


def _fill(head: str, lines: Iterable[str], room: int) -> str:
    kept, size = [head[:room]], len(head)
    for line in lines:
        size += len(line) + 1
        if size > room:
            break
        kept.append(line)
    return "\n".join(kept)


_LISTS: tuple[OutputKind, ...] = ("files", "matches")
_WAYS: dict[OutputKind, Callable[[str, int], str]] = {
    "text": _text,
    "json": _text,
    "log": _log,
    "code": _code,
    "files": _files,
    "matches": _matches,
}
