"""`python -m bench [name …]`: all of them, or the named ones."""

from __future__ import annotations

import importlib
import sys

from bench import report

ALL = ("startup", "store", "sse", "sideband", "memory", "media")


def main(names: list[str]) -> int:
    wanted = names or list(ALL)
    if unknown := [name for name in wanted if name not in ALL]:
        print(f"no benchmark {', '.join(unknown)}; there are: {', '.join(ALL)}", file=sys.stderr)
        return 2
    print("ours beside its peer; × is how many times better ours is\n")
    for name in wanted:
        print(f"== {name}", flush=True)
        importlib.import_module(f"bench.{name}").run(report)
    return 0


sys.exit(main(sys.argv[1:]))
