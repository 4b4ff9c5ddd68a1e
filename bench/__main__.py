"""`python -m bench [name …]`: all of them but the long ones, or the named ones."""

from __future__ import annotations

import importlib
import sys

from bench import report

ALL = (
    *("startup", "store", "sse", "sideband", "memory", "media", "mouth"),
    *("tools", "tools_grep", "tools_sandbox"),
)
LONG = (
    *("conversations", "engine", "load", "cut_ins", "hearing", "round_trip"),
    *("tool_choice", "tool_choice_spoken", "intents", "intents_spoken"),
)
"""Minutes each, in real time: by name only."""


def main(names: list[str]) -> int:
    wanted = names or list(ALL)
    if unknown := [name for name in wanted if name not in (*ALL, *LONG)]:
        there = ", ".join((*ALL, *LONG))
        print(f"no benchmark {', '.join(unknown)}; there are: {there}", file=sys.stderr)
        return 2
    print("ours beside its peer; × is how many times better ours is\n")
    for name in wanted:
        print(f"== {name}", flush=True)
        importlib.import_module(f"bench.{name}").run(report)
    return 0


sys.exit(main(sys.argv[1:]))
