"""Talks of a folder against a server of our own, judged by the folder's `judge.py`.

    python -m bench.talks.judged FOLDER [--kind flux|workbench] [--brain NAME] [--speech VOICE]
        [--noise DB] [--part K/N | --but K/N] [--only IDS] [--show] [--report FILE]

`--part 0/3` runs every third talk, beginning with the first: a part can be kept closed while
something is tuned on the rest (`--but 0/3`). By speech each line is said by a Kokoro voice in a
call of its own, in real time, through ears, turn taking and mouth; `--noise 10` adds noise at
10 dB below the voice.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bench import size
from bench.engine.server import serving
from bench.talks.spoken import Voice, spoken_talk

Report = Callable[[str, float, float, str], None]
Json = dict[str, Any]
FOLDER = "TALKS_FOLDER"
KINDS = ("flux", "workbench")
_WRONG = {"flux": 20.0, "workbench": 40.0}
"""The most that is allowed, in per cent."""


def judge_of(folder: Path) -> Any:
    """Somebody else's code, which whoever names the folder wants to run."""
    spec = importlib.util.spec_from_file_location("judge", folder / "judge.py")
    if spec is None or spec.loader is None or not (folder / "judge.py").exists():
        sys.exit(f"There is no judge.py in {folder}.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def talks_of(folder: Path) -> list[Json]:
    """In the order of the files."""
    lines = [one for file in sorted(folder.glob("*.jsonl")) for one in file.read_text().split("\n")]
    return [json.loads(line) for line in lines if line.strip()]


def judged(
    judge: Any,
    kind: str,
    talks: Sequence[Json],
    brain: str,
    voice: Voice | None = None,
    tell: Callable[[Json], None] = lambda record: None,
) -> list[Json]:
    """What the judge says of each, on a server that is up for all of them."""
    if voice is not None:
        spoken: Any = spoken_talk(judge)
        judge.Talk = partial(spoken, voice=voice)
    records: list[Json] = []
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as workspace:
        settings = {"VIVAVOCE_BRAIN": brain, "VIVAVOCE_AGENT": kind}
        settings["VIVAVOCE_WORKSPACE"] = workspace
        with serving(settings, Path(home)) as server:
            place = judge.Place(server.origin, str(Path(home) / "vivavoce.db"), workspace)
            for talk in talks:
                records.append(judge.run_one(place, talk))
                tell(records[-1])
    return records


def _figures(judge: Any, records: Sequence[Json]) -> float:
    """Told in the judge's own words; how many went wrong, in per cent."""
    print(judge.summary(records))
    early = sum("nobody wanted" in reason for r in records for reason in r["reasons"])
    print(f"stored what nobody wanted: {early}")
    wrong: int = sum(record["verdict"] != "ok" for record in records)
    return 100.0 * wrong / max(1, len(records))


def run(report: Report) -> None:
    named = os.environ.get(FOLDER)
    if not named:
        print(f"   no talks: {FOLDER} names a folder with a judge.py and *.jsonl files")
        return
    folder = Path(named)
    judge = judge_of(folder)
    for kind in KINDS:
        talks = [talk for talk in talks_of(folder) if talk["kind"] == kind]
        talks = size(talks, quick=talks[:1])
        wrong = _figures(judge, judged(judge, kind, talks, "qwen-1.5b"))
        about = f"{kind} talks as text that went wrong, beside the most allowed"
        report(about, wrong or 0.1, _WRONG[kind], "%")


def _within(part: str, number: int) -> bool:
    first, _, every = part.partition("/")
    return number % int(every) == int(first)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("folder", type=Path)
    options.add_argument("--kind", choices=KINDS)
    options.add_argument("--brain", default="qwen-1.5b")
    options.add_argument("--speech", metavar="VOICE", help="a voice of Kokoro's, such as bm_lewis")
    options.add_argument("--noise", type=float, metavar="DB", help="how far below the voice")
    options.add_argument("--part", help="K/N: only these")
    options.add_argument("--but", help="K/N: all but these")
    options.add_argument("--only", default="", help="ids, with commas between")
    options.add_argument("--show", action="store_true", help="what was said")
    options.add_argument("--report", type=Path, help="everything about each talk, as JSON lines")
    given = options.parse_args()
    judge = judge_of(given.folder)
    talks = [
        talk
        for number, talk in enumerate(talks_of(given.folder))
        if (not given.part or _within(given.part, number))
        and not (given.but and _within(given.but, number))
        and (not given.only or talk["id"] in given.only.split(","))
    ]
    voice = Voice(given.speech, given.noise) if given.speech else None

    def tell(record: Json) -> None:
        print(judge.told(record, given.show), flush=True)
        if given.report:
            with given.report.open("a") as file:
                file.write(json.dumps(record) + "\n")

    for kind in [given.kind] if given.kind else KINDS:
        some = [talk for talk in talks if talk["kind"] == kind]
        if some:
            _figures(judge, judged(judge, kind, some, given.brain, voice, tell))


if __name__ == "__main__":
    main()
