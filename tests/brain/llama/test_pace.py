"""What may be read while somebody waits."""

from __future__ import annotations

from pathlib import Path

from vivavoce.brain.llama.brain import LlamaBrain, Pace
from vivavoce.wire.brain import Tool


def test_a_slow_reader_gets_short_results(tmp_path: Path) -> None:
    slow, fast = Pace(tmp_path / "slow"), Pace(tmp_path / "fast")
    slow.read(1000, 25_000)
    fast.read(1000, 1_000)
    assert slow.budget(4_000).result_chars < 600
    assert fast.budget(4_000).result_chars == 4_000
    assert slow.budget(4_000).context_tokens == 4_000
    # Of a talk that goes on it begins with what it reads while the call is made.
    assert 300 <= (slow.budget(4_000).history_tokens or 0) < 2_000
    assert slow.budget(4_000).aside == "quiet"


def test_a_busy_moment_changes_little(tmp_path: Path) -> None:
    pace = Pace(tmp_path / "pace")
    pace.read(1000, 20_000)
    pace.read(100, 50_000)
    assert pace.tokens_per_second > 35


def test_a_few_tokens_tell_nothing(tmp_path: Path) -> None:
    pace = Pace(tmp_path / "pace")
    before = pace.tokens_per_second
    pace.read(3, 1_000)
    assert pace.tokens_per_second == before


def test_it_is_known_at_the_next_start(tmp_path: Path) -> None:
    pace = Pace(tmp_path / "pace")
    pace.read(1000, 20_000)
    pace.keep()
    assert Pace(tmp_path / "pace").tokens_per_second == pace.tokens_per_second


def test_a_damaged_file_is_as_good_as_none(tmp_path: Path) -> None:
    (tmp_path / "pace").write_text("{")
    assert Pace(tmp_path / "pace").budget(100).result_chars > 0


def test_counting_learns_from_what_was_read(tmp_path: Path) -> None:
    pace = Pace(tmp_path / "pace")
    for _ in range(20):
        pace.weighed(2_000, 1_000)
    assert 48 <= pace.count("x" * 100) <= 56
    assert pace.count("") == 0
    assert pace.count("日本語日本語") >= 6


def test_what_was_never_measured_is_not_kept(tmp_path: Path) -> None:
    Pace(tmp_path / "pace").keep()
    assert not Pace(tmp_path / "pace").measured


def test_writing_is_measured_beside_reading_and_known_at_the_next_start(tmp_path: Path) -> None:
    pace = Pace(tmp_path / "pace", "one")
    pace.read(1000, 20_000)
    pace.wrote(3, 1_000)  # too few to tell
    assert pace.written_per_second == 0
    pace.wrote(30, 1_000)
    pace.keep()
    assert Pace(tmp_path / "pace", "one").written_per_second == 30


def test_another_file_under_the_same_name_is_measured_anew(tmp_path: Path) -> None:
    pace = Pace(tmp_path / "pace", "one")
    pace.read(1000, 20_000)
    pace.keep()
    assert not Pace(tmp_path / "pace", "another").measured


def test_instructions_and_tools_weigh_what_is_written_of_them(tmp_path: Path) -> None:
    by_itself = LlamaBrain(tmp_path / "m.gguf", tmp_path / "a", name="m", led=False)
    led = LlamaBrain(tmp_path / "m.gguf", tmp_path / "b", name="m")
    clock = Tool("current_time", "Tells the time.", {"type": "object", "properties": {}})
    hinted = Tool("current_time", "Tells the time.", {"type": "object", "x-vivavoce": {}})
    bare, full = by_itself.fixed("Be brief.", ()), by_itself.fixed("Be brief.", (clock,))
    assert 0 < bare < full
    assert by_itself.fixed("Be brief. " * 400, (clock,)) > full + 900
    # A talk that is led is not read with them.
    assert led.fixed("Be brief.", (hinted,)) == 0
    assert led.fixed("Be brief.", (clock,)) > 0
