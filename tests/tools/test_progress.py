from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vivavoce.tools.bash import Progress, ProgressReader

Told = list[tuple[str, int | None]]


def told(text: str, piece: int | None = None) -> Told:
    reader = ProgressReader()
    parts = text.splitlines(keepends=True) if piece is None else _cut(text, piece)
    found = [reader.feed(part) for part in parts]
    return [(one.message, one.percentage) for one in found if one is not None]


def _cut(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


DOTS = (
    "============ test session starts ============\n"
    "collected 50 items\n\n"
    "tests/test_a.py ............                 [ 24%]\n"
    "tests/test_b.py ....F...............................  [ 96%]\n"
    "tests/test_c.py .s                           [100%]\n"
    "FAILED tests/test_b.py::test_x - assert 1 == 2\n"
    "==== 1 failed, 48 passed, 1 skipped in 0.5s ====\n"
)


def test_pytest_with_dots_as_in_the_seed() -> None:
    said = told(DOTS)
    assert ("12 of 50 tests passed", 24) in said
    assert said[-1] == ("50 of 50 tests run, 1 failed", 100)


def test_pytest_is_told_dot_by_dot_before_the_line_ends() -> None:
    said = told("collected 4 items\n\ntests/test_a.py ....", piece=1)
    assert [message for message, _ in said][-4:] == [f"{n} of 4 tests passed" for n in (1, 2, 3, 4)]


def test_pytest_quiet_has_percentages_only() -> None:
    assert told("........................ [ 24%]\n........ [ 32%]\n") == [
        ("24 tests passed", 24),
        ("32 tests passed", 32),
    ]


def test_pytest_verbose_and_deselected() -> None:
    said = told(
        "collecting ... collected 9 items / 7 deselected / 2 selected\n\n"
        "tests/test_a.py::test_one PASSED                    [ 50%]\n"
        "tests/test_a.py::test_two[a b] FAILED               [100%]\n"
        "FAILED tests/test_a.py::test_two[a b] - assert 0\n"
    )
    assert said == [
        ("0 of 2 tests passed", 0),
        ("1 of 2 tests passed", 50),
        ("2 of 2 tests run, 1 failed", 100),
    ]


def test_pytest_with_workers() -> None:
    said = told(
        "created: 2/2 workers\n2 workers [3 items]\n\n"
        "[gw0] [ 33%] PASSED tests/test_a.py::test_one \n"
        "[gw1] [ 66%] PASSED tests/test_a.py::test_two \n"
        "[gw0] [100%] SKIPPED tests/test_a.py::test_three \n"
    )
    assert said[0] == ("0 of 3 tests passed", 0)
    assert said[-1] == ("3 of 3 tests passed", 100)


def test_unittest_verbose() -> None:
    said = told(
        "test_one (tests.A.test_one) ... ok\ntest_two (tests.A.test_two) ... FAIL\n"
        "test_three (tests.A.test_three)\nWhat it does ... ok\n"
    )
    assert said == [("1 tests passed", None), ("2 tests run, 1 failed", None)]


def test_jest_verbose_and_vitest() -> None:
    assert told("PASS src/a.test.ts\n  ✓ adds (2 ms)\n  ✕ subtracts\n  ○ skipped it\n")[-1] == (
        "3 tests run, 1 failed",
        None,
    )
    assert told(" ✓ src/a.test.ts (12 tests) 5ms\n ❯ src/b.test.ts (3 tests | 1 failed) 9ms\n") == [
        ("12 tests passed", None),
        ("15 tests run, 1 failed", None),
    ]


def test_go() -> None:
    said = told(
        "=== RUN   TestOne\n--- PASS: TestOne (0.00s)\n=== RUN   TestTwo\n"
        "    --- FAIL: TestTwo/sub (0.00s)\n--- FAIL: TestTwo (0.01s)\n"
    )
    assert said[0] == ("Running TestOne", None)
    assert said[-1] == ("2 tests run, 1 failed", None)


def test_cargo_over_several_crates() -> None:
    said = told(
        "running 2 tests\ntest a::one ... ok\ntest a::two ... FAILED\n\nrunning 2 tests\n"
        "test b::one ... ok\ntest b::two ... ignored\n"
    )
    assert said[1] == ("1 of 2 tests passed", 50)
    assert said[-1] == ("4 of 4 tests run, 1 failed", 100)


def test_tap() -> None:
    said = told("TAP version 13\n1..4\nok 1 - a\nnot ok 2 - b # TODO later\nnot ok 3\nok 4\n")
    assert said[-1] == ("4 of 4 tests run, 1 failed", 100)


def test_steps_of_ninja_and_make() -> None:
    assert told("[12/50] Building CXX object a.o\n") == [("Step 12 of 50", 24)]
    assert told("[ 24%] Building C object a.o\n") == [("Building C object a.o", 24)]


def test_bars_that_draw_over_themselves() -> None:
    said = told("Downloading:  10%|█         | 1/10\rDownloading:  20%|██        | 2/10\r")
    assert said == [("Downloading 10 %", 10), ("Downloading 20 %", 20)]
    assert told("\x1b[2K 45%\r") == [("45 %", 45)]


@pytest.mark.parametrize(
    "line",
    [
        "The disk is 83% full, and nobody has looked at it for quite some while now.",
        "......",
        "ok then",
        "[2024/13] of something",
        "warning: 300% of nothing",
        "Everything passed",
    ],
)
def test_other_lines_tell_nothing(line: str) -> None:
    assert told(line + "\n") == []


def test_a_percentage_in_a_log_is_not_mistaken_for_the_tests() -> None:
    said = told("collected 2 items\n\nt.py::a PASSED [ 50%]\n  99%\nt.py::b PASSED [100%]\n")
    assert [percentage for _, percentage in said] == [0, 50, 100]


@given(st.text(), st.integers(1, 50))
def test_any_text_can_be_read(text: str, size: int) -> None:
    for message, percentage in told(text, size):
        assert message
        assert percentage is None or 0 <= percentage <= 100


def test_a_line_without_end_is_not_kept_whole() -> None:
    reader = ProgressReader()
    for _ in range(100):
        assert reader.feed("x" * 1000) is None
    assert len(reader._rest) <= 4096
    assert reader.feed("\n[1/2] a\n") == Progress("Step 1 of 2", 50)


def test_a_command_that_nobody_knows_says_every_ten_lines_how_far_it_is() -> None:
    reader = ProgressReader()
    told = [reader.feed(f"copied file {number}\n") for number in range(1, 36)]
    assert [one.message for one in told if one] == [
        "10 lines, the last: copied file 10",
        "20 lines, the last: copied file 20",
        "30 lines, the last: copied file 30",
    ]
    assert all(one.percentage is None for one in told if one)


def test_lines_are_not_counted_once_a_runner_is_known() -> None:
    reader = ProgressReader()
    reader.feed("collected 40 items\n")
    told = [reader.feed(f"some log line {number}\n") for number in range(40)]
    assert not any(told)
