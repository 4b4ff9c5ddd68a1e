"""`write_file` and `edit_file`: changes, and what they were, told shortly.

An edit replaces exactly the text it names. When that is not there, or is there
more than once, nothing is written and the model is told what would help.
"""

from __future__ import annotations

import difflib
import re

from vivavoce.errors import ToolFailed
from vivavoce.runtime.ports import ToolOutput
from vivavoce.tools.workspace.root import Workspace
from vivavoce.tools.workspace.writing import write

MAX_DIFF = 60
_DIFF_LINES = 5_000  # comparing more takes longer than an edit should
_NAMED = 5


def write_file(workspace: Workspace, path: str, content: str) -> ToolOutput:
    name, new = write(workspace, path, _encoded(content))
    plural = "" if len(content) == 1 else "s"
    words = f"Wrote {len(content)} character{plural} to {name}"
    return ToolOutput(
        f"{words}{'' if new else ', replacing what was there'}.", files_changed=(name,)
    )


def edit_file(
    workspace: Workspace, path: str, old_string: str, new_string: str, replace_all: bool = False
) -> ToolOutput:
    if old_string == new_string:
        raise ToolFailed("Both texts are the same: there is nothing to change")
    with workspace.file(path) as found:
        data = found.read(workspace.max_bytes)
    name = found.name
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise ToolFailed(f"{name} is no text in UTF-8 and cannot be edited") from None
    if old_string not in text and "\r\n" in text:  # models write lines as most files have them
        old_string, new_string = (s.replace("\n", "\r\n") for s in (old_string, new_string))
    count = text.count(old_string)
    if count == 0:
        raise ToolFailed(_not_there(name, text, old_string))
    if count > 1 and not replace_all:
        raise ToolFailed(
            f"That text is in {name} {count} times ({_lines_of(text, old_string)}): "
            "give more of the text around it, or set replace_all"
        )
    changed = text.replace(old_string, new_string)
    write(workspace, found.path, _encoded(changed), replaces=found.about)
    head = f"Replaced {count} place{'' if count == 1 else 's'} in {name}."
    return ToolOutput("\n".join([head, *diff(name, text, changed)]), "code", files_changed=(name,))


def diff(name: str, old: str, new: str) -> list[str]:
    """A short unified one; none where the file is very long."""
    before, after = old.splitlines(), new.splitlines()
    if len(before) > _DIFF_LINES:
        return []
    lines = list(difflib.unified_diff(before, after, name, name, lineterm="", n=2))
    if len(lines) > MAX_DIFF:
        return [*lines[:MAX_DIFF], f"({len(lines) - MAX_DIFF} more lines)"]
    return lines


def _not_there(name: str, text: str, wanted: str) -> str:
    """Spoken words have no case and no spaces of their own: is there something that sounds so?"""
    words = [re.escape(word) for word in wanted.split()][:200]
    loose = re.compile(r"[\s_-]+".join(words), re.IGNORECASE)
    near = loose.search(text) if words else None
    if near is None:
        return f"That text is not in {name}: read the file and give it exactly as it is there"
    line = text.count("\n", 0, near.start()) + 1
    return f"That text is not in {name} as given; line {line} has: {near[0][:500]}"


def _lines_of(text: str, wanted: str) -> str:
    numbers: list[str] = []
    at = text.find(wanted)
    while at >= 0 and len(numbers) < _NAMED:
        numbers.append(str(text.count("\n", 0, at) + 1))
        at = text.find(wanted, at + len(wanted))
    return f"line {', '.join(numbers)}{', …' if at >= 0 else ''}"


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ToolFailed("The text has characters that cannot be written") from None
