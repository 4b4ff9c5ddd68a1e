"""A search in files for machines without ripgrep: a program of its own, run by `grep.py`.

It is a process so that it can be killed: a regular expression of Python's can
take for ever, holds the interpreter while it does, and no thread can be
stopped. Reads a JSON line and then names, with NULs between, from stdin; writes
what ripgrep would: `name NUL line:offset:`, a hyphen for lines around a match.
Only the standard library, for a quick start.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator

MAX_FILE = 50 * 1024 * 1024
_BINARY_LOOK = 65536
_SPECIAL = frozenset("\\^$.|?*+()[]{}\n")


def main() -> int:
    head, _, rest = sys.stdin.buffer.read().partition(b"\n")
    asked = json.loads(head)
    _limit_cpu(asked["seconds"])
    pattern = re.escape(asked["pattern"]) if asked["literal"] else asked["pattern"]
    try:
        found = re.compile(pattern, 0 if asked["case_sensitive"] else re.IGNORECASE)
    except (re.error, RecursionError, OverflowError) as fault:
        print(f"regex parse error: {fault}", file=sys.stderr)
        return 2
    simple = asked["literal"] or not set(pattern) & _SPECIAL
    for name in rest.split(b"\0"):
        if name and (data := _content(name)) is not None:
            if simple and not found.search(data.decode(errors="replace")):
                continue  # one look instead of one a line
            for number, offset, match in _lines(data, found.search, asked["context"]):
                mark = b":" if match else b"-"
                sys.stdout.buffer.write(b"%s\0%d%s%d%s\n" % (name, number, mark, offset, mark))
            sys.stdout.buffer.flush()
    return 0


def _content(name: bytes) -> bytes | None:
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(fd, "rb") as stream:
            data = stream.read(MAX_FILE + 1)
    except OSError:
        return None
    return None if len(data) > MAX_FILE or b"\0" in data[:_BINARY_LOOK] else data


def _lines(
    data: bytes, search: Callable[[str], object], context: int
) -> Iterator[tuple[int, int, bool]]:
    """The lines that match, and those around them: number, place in the file, which of both."""
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    hits = [n for n, line in enumerate(lines) if search(line.decode(errors="replace"))]
    if not hits:
        return
    matching = set(hits)
    wanted = {n for hit in hits for n in range(hit - context, hit + context + 1)}
    offset = 0
    for n, line in enumerate(lines):
        if n in wanted:
            yield n + 1, offset, n in matching
        offset += len(line) + 1


def _limit_cpu(seconds: int) -> None:
    """Should whoever started us die, nobody else would ever stop us."""
    import resource  # not on every system that has Python

    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


if __name__ == "__main__":
    sys.exit(main())
