"""Flows end, whatever tools answer, and a refusal is never told as a success."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from vivavoce.brain.dialogue.flows.carrying import (
    End,
    Next,
    Point,
    Scene,
    Story,
    begin,
    flows_in,
    pointed,
    reckoned,
    resume,
)
from vivavoce.brain.dialogue.flows.readings import command
from vivavoce.tools import wording
from vivavoce.wire.hints import Flow, Hint, Slot, Stage

FLOWS = flows_in({name: Hint.model_validate(hint) for name, hint in wording.WISHES.items()})
REFUSED = json.dumps({"success": False, "error": "You said no to that."})
OUTPUTS = [
    REFUSED,
    "",
    "No matches.",
    "No files match.",
    "Found 2 matches in 2 files:\nsrc/app.py:3:PORT = 80\nconfig.yaml:1:port: 81",
    "Found 1 match in 1 file:\nconfig.yaml:1:port: 81",
    "Found 2 files, the newest first:\nconfig.yaml\nsrc/app.py",
    "Replaced 1 place in config.yaml.\n-port: 81\n+port: 90",
    "Wrote 3 characters to notes.txt.",
    "Failed (exit code 1).\nboom",
    "Succeeded (exit code 0).\nfine",
    "port: 81\nname: x\n",
    '{"half": ',
    "…\x00\n\n:::\n1:",
]
WORDS = [
    "port",
    "it",
    "the config",
    "app dot py",
    "nine thousand",
    "to-dos",
    "the code",
    "",
    "***",
    "python files in the src folder",
    "example dot com",
    "12 times 3",
    "no wait, leave it",
]


def ended(
    flow: Flow, words: dict[str, Any], said: str, outputs: list[str], points: tuple[int, ...] = ()
) -> tuple[End, list[str]]:
    """How it came out, and what the tools had said, one after the other and then the last again.
    Of lines those are pointed at whose places are named, as far as there are so many."""
    step = begin(flow, words, said, Scene())
    heard: list[str] = []
    while isinstance(step, Next | Point | Story):
        if isinstance(step, Story):
            step = reckoned(flow, step.running, step.likeliest())
            continue
        if isinstance(step, Point):
            there = tuple(sorted({at for at in points if at < len(step.lines)}))
            step = pointed(flow, step.running, there)
            continue
        assert step.tool in {stage.do for stage in flow.stages} | {"glob"}
        heard.append(outputs[min(len(heard), len(outputs) - 1)])
        step = resume(flow, step.running, heard[-1])
    return step, heard


@settings(max_examples=400, deadline=None)
@given(
    name=st.sampled_from(sorted(FLOWS)),
    words=st.lists(st.sampled_from(WORDS), min_size=4, max_size=4),
    outputs=st.lists(st.sampled_from(OUTPUTS), min_size=1, max_size=8),
    points=st.tuples(st.integers(0, 3), st.integers(0, 3)) | st.just(()),
)
def test_every_flow_ends_in_words_or_a_question(
    name: str, words: list[str], outputs: list[str], points: tuple[int, ...]
) -> None:
    flow = FLOWS[name]
    given_ = {"at_first": "Nothing."} | dict(zip(flow.slots, words, strict=False))
    end, heard = ended(flow, given_, " ".join(words), outputs, points)
    result = json.loads(json.dumps(end.result))
    assert result.get("told") or result.get("error") or result.get("question")
    if heard and heard[-1] == REFUSED and not end.result.get("question"):
        looked = end.result.get("status") == "nothing"
        assert looked or result.get("success") is False or "told" in result
        assert "is now" not in result.get("told", "")
        assert "deleted" not in result.get("told", "")


_FRAME = {"says", "is", "in", "there", "and", "but", "nothing"}


@settings(max_examples=200, deadline=None)
@given(
    texts=st.lists(
        st.text(alphabet="abc:=,-.# \"'1()", min_size=1, max_size=20), min_size=1, max_size=6
    ),
    path=st.sampled_from(["a.csv", "b.md", "c.toml", "d.py"]),
    points=st.sets(st.integers(0, 5), min_size=1).map(tuple),
)
def test_what_was_pointed_at_is_told_in_its_own_words(
    texts: list[str], path: str, points: tuple[int, ...]
) -> None:
    found = "".join(f"\n{path}:{at}:{text}" for at, text in enumerate(texts, 1))
    output = f"Found {len(texts)} matches in 1 file:{found}"
    words = {"at_first": "Nothing."}
    end, _ = ended(
        FLOWS["look_around"], words, "what about the abc", [output, "\n".join(texts)], points
    )
    told = set(re.findall(r"[a-z]+|[0-9]+", str(end.result["told"]).lower()))
    there = set(re.findall(r"[a-z]+|[0-9]+", f"{found} {path}".lower()))
    assert told <= there | _FRAME


def test_a_flow_that_never_comes_to_an_end_is_ended() -> None:
    stages = (Stage(do="grep", given={"pattern": "{item}"}, each="paths", read="command"),)
    flow = Flow(name="long", wish="long", slots={"what": Slot()}, stages=stages)
    step = begin(flow, {"paths": [str(n) for n in range(1000)]}, "go", Scene())
    calls = 0
    while isinstance(step, Next):
        calls += 1
        step = resume(flow, step.running, "Succeeded (exit code 0).\nfine")
    assert calls < 50
    assert isinstance(step, End)
    assert step.result["success"] is False


def test_a_flow_is_there_only_with_all_its_tools() -> None:
    hints = {name: Hint.model_validate(hint) for name, hint in wording.WISHES.items()}
    del hints["edit_file"]
    assert "change_value" not in flows_in(hints)
    assert "find_text" in flows_in(hints)


def test_of_what_a_command_printed_the_lines_are_told_that_were_asked_for() -> None:
    output = "Succeeded (exit code 0).\nMISSING HOST\nok USER\nok NAME\nok PORT\n"
    for said in (
        "check the settings, I only want what's missing",
        "run it and tell me the missing",
    ):
        told = command(output, {"said": said, "command": "sh check.sh"})
        assert told == {"told": "It printed: MISSING HOST.", "ok": True}
    every = command(output, {"said": "run the check", "command": "sh check.sh"})
    assert every == {"told": "It printed: MISSING HOST. ok USER. ok NAME. ok PORT.", "ok": True}
    long = "Succeeded (exit code 0).\n" + "\n".join(f"row {n} is imported" for n in range(90))
    told = command(long, {"said": "import the rows", "command": "sh import.sh"})
    assert told == {"told": "It printed 90 lines. The last is: row 89 is imported.", "ok": True}
    trace = "Failed (exit code 1).\nTraceback (most recent call last):\n  x\nKeyError: 'day'\n"
    failed = command(trace, {"said": "run it", "command": "python3 a.py"})
    assert failed == {
        "told": "It failed with exit code 1. It printed: KeyError: 'day'.",
        "ok": False,
    }
