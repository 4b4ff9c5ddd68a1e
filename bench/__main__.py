"""`python -m bench [--quick] [name …]`: all of them but the long ones, or the named ones.

A benchmark that fails does not keep the others from running; the exit code says so.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
import traceback

from bench import QUICK, report

SHORT = {
    "startup": "bench.startup",
    "store": "bench.store",
    "sse": "bench.sse",
    "sideband": "bench.sideband",
    "memory": "bench.memory",
    "conductor": "bench.conductor",
    "media": "bench.media.delay",
    "mouth": "bench.mouth",
    "tools": "bench.tools.calls",
    "grep": "bench.tools.grep",
    "sandbox": "bench.tools.sandbox",
}
LONG = {
    "continuity": "bench.continuity",
    "conversations": "bench.conversations",
    "engine": "bench.engine.answers",
    "load": "bench.load",
    "page": "bench.page",
    "cut_ins": "bench.cut_ins.rounds",
    "hearing": "bench.hearing.words",
    "round_trip": "bench.round_trip",
    "tool_choice": "bench.tool_choice.text",
    "tool_choice_spoken": "bench.tool_choice.spoken",
    "intents": "bench.intents.text",
    "intents_spoken": "bench.intents.spoken",
    "talks": "bench.talks.judged",
}
"""Minutes each, in real time: by name only."""


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    options.add_argument("names", nargs="*", metavar="name", help=", ".join((*SHORT, *LONG)))
    options.add_argument("--all", action="store_true", help="the long ones too")
    options.add_argument("--quick", action="store_true", help="only whether each one runs")
    given = options.parse_args()
    known = {**SHORT, **LONG}
    wanted = given.names or list(known if given.all else SHORT)
    if unknown := [name for name in wanted if name not in known]:
        options.error(f"no benchmark {', '.join(unknown)}; there are: {', '.join(known)}")
    if given.quick:
        os.environ[QUICK] = "1"
    print("ours beside its peer; × is how many times better ours is\n")
    failed = [name for name in wanted if not _ran(name, known[name])]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def _ran(name: str, module: str) -> bool:
    print(f"== {name}", flush=True)
    begun = time.monotonic()
    try:
        importlib.import_module(module).run(report)
    except Exception:  # the boundary of one benchmark
        traceback.print_exc()
        return False
    print(f"   ({time.monotonic() - begun:.0f} s)", flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main())
