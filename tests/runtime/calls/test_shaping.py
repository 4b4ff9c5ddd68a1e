"""Long output is cut by what it is, and says how to read on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vivavoce.runtime.calls.shaping import MODEL_LIMIT, kind_of, shape
from vivavoce.runtime.ports import OutputKind

CODE = "import os\n\n" + "\n".join(
    f"def function_{n}(x):\n    #  Does {n}.\n    y = x + {n}\n    return y\n" for n in range(200)
)
FILES = "\n".join(f"src/part{n % 7}/file{n}.py" for n in range(900))
MATCHES = "\n".join(f"src/a{n % 9}.py:{n}: session = Machine()" for n in range(500))
LOG = "\n".join(f"2026-01-31 step {n} ok" for n in range(900)) + "\nFAILED test_the_last_one"


def test_what_is_short_stays_as_it_is() -> None:
    assert shape("fine") == ("fine", False)


@pytest.mark.parametrize(
    ("text", "kind"), [(CODE, "code"), (FILES, "files"), (MATCHES, "matches"), (LOG, "log")]
)
def test_the_kind_is_seen(text: str, kind: str) -> None:
    assert kind_of(text) == kind


def test_code_keeps_its_outline_with_line_numbers() -> None:
    shown, cut = shape(CODE, "code", "call_1")
    assert cut
    assert shown.startswith("import os")
    lines = CODE.split("\n")
    number = int(shown.split("def function_60(")[0].rsplit("\n", 1)[1].strip(": "))
    assert lines[number - 1] == "def function_60(x):"
    assert 'read_output("call_1", from_line)' in shown


def test_files_are_counted_by_folder() -> None:
    shown, _ = shape(FILES, "files")
    assert shown.startswith("900 entries. By folder: src/ 900")


def test_what_a_tool_says_about_its_list_is_no_entry_of_it() -> None:
    told = f"Found 1900 files, the newest first:\n{FILES}\n(1000 more)"
    shown, _ = shape(told, "files", frame=(1, 1))
    head, counted, *_ = shown.split("\n")
    assert head == "Found 1900 files, the newest first:"
    assert counted.startswith("900 entries. By folder: src/ 900. The first:")
    assert "(1000 more)\n...[truncated" in shown
    assert len(shown) <= MODEL_LIMIT
    found = f"Found 500 matches in 9 files:\n{MATCHES}"
    assert "\n500 lines in 9 files. Most in: src/" in shape(found, "matches", frame=(1, 0))[0]


def test_a_log_keeps_its_end() -> None:
    shown, _ = shape(LOG, "log")
    assert "FAILED test_the_last_one" in shown
    assert shown.startswith("2026-01-31 step 0 ok")


def test_a_slow_reader_gets_less() -> None:
    shown, _ = shape(LOG, "log", limit=1000)
    assert len(shown) <= 1000


@given(st.text(max_size=9000), st.sampled_from(["text", "code", "files", "log", "matches", "json"]))
def test_nothing_is_ever_longer_than_the_limit(text: str, kind: OutputKind) -> None:
    shown, cut = shape(text * 3, kind, "call_1")
    assert len(shown) <= MODEL_LIMIT
    assert cut or shown == (text * 3).encode("utf-8", "replace").decode()
