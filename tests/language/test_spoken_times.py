"""Times as people say them, in running speech and as answers, and told back to them.

What they say is in `said/`: written before the grammar, and half of it was not looked at while the
grammar was made.
"""

from __future__ import annotations

import re
import time as stopwatch
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from vivavoce.language.en.resolving import Profile, Resolution, resolve
from vivavoce.language.en.telling import hour_in_words, in_words, rule_in_words
from vivavoce.language.en.times.reading import find, read, without
from vivavoce.wire.records.plans import Person

LONDON = ZoneInfo("Europe/London")
NOW = datetime(2026, 11, 17, 10, tzinfo=LONDON)  # a Tuesday
_STOPS = re.compile(r"[,!?]|\.(?!\d)")
SAID = Path(__file__).parent / "said"


def lines(name: str) -> Iterator[str]:
    for line in (SAID / name).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            yield line


def phrases() -> Iterator[tuple[str, str, datetime | None]]:
    anchor = None
    for line in lines("times.tsv"):
        if line.startswith("!anchor"):
            at = line.removeprefix("!anchor").strip()
            anchor = datetime.fromisoformat(f"2026-{at}").replace(tzinfo=LONDON) if at else None
        else:
            words, meant = line.split("\t")
            yield words, meant.removeprefix("2026-"), anchor


def told(found: Resolution) -> str:
    """As the file writes it."""
    if found.trouble == "past":
        return "past"
    if found.rule:
        open_ = "day" if "day" in found.missing else "hour"
        hour = f"@ {found.clock:%H:%M}" if found.clock and not found.missing else f"?{open_}"
        return f"{found.rule} {hour}"
    if found.at:
        return f"{found.at:%Y-%m-%d %H:%M}".removeprefix("2026-")
    if found.missing == ("hour",) and found.day:
        return f"{found.day} ?hour".removeprefix("2026-")
    return "-" if found.trouble == "unclear" else f"?{found.missing[0]}"


@pytest.mark.parametrize(("words", "meant", "anchor"), list(phrases()))
def test_what_people_say_is_understood(words: str, meant: str, anchor: datetime | None) -> None:
    assert told(resolve(words, now=NOW, anchor=anchor)) == meant


@pytest.mark.parametrize("heard", ["lower case", "Title Case", "no hyphens", "small talk"])
def test_however_the_ears_write_it_it_is_understood(heard: str) -> None:
    written: Callable[[str], str] = {
        "lower case": lambda words: _STOPS.sub("", words.lower()),
        "Title Case": str.title,
        "no hyphens": lambda words: words.replace("-", " "),
        "small talk": lambda words: f"um, well, {words}, please",
    }[heard]
    wrong = [
        words
        for words, meant, anchor in phrases()
        if told(resolve(written(words), now=NOW, anchor=anchor)) != meant
    ]
    assert [words for words in wrong if ", eight" not in words and "y-T" not in words] == []


def utterances() -> Iterator[tuple[str, list[str], str]]:
    for line in lines("utterances.tsv"):
        words, times, rest = line.split("\t")
        yield words, [one for one in times.split(" | ") if one], rest


@pytest.mark.parametrize(("words", "times", "rest"), list(utterances()))
def test_times_are_found_in_running_speech_and_a_title_is_left(
    words: str, times: list[str], rest: str
) -> None:
    assert [mention.words for mention in find(words)] == times
    assert without(words) == rest


# --- From several places and turns --------------------------------------------------------


@pytest.mark.parametrize(
    ("turns", "meant"),
    [
        (["Thursday", "at half six"], "11-19 18:30"),
        (["tomorrow evening at eight", "no, nine"], "11-18 21:00"),
        (["tomorrow at 8 pm", "no, nine"], "11-18 21:00"),
        (["at nine in the morning", "on Saturday"], "11-21 09:00"),
        (["tomorrow at eight", "in the evening"], "11-18 20:00"),
        (["in the evening", "tomorrow, at eight"], "11-18 20:00"),
        (["next Friday at noon", "the 27th"], "11-27 12:00"),
        (["Thursday at ten", "no, Friday"], "11-20 10:00"),
        (["Thursday at ten", "not Thursday, Friday"], "11-20 10:00"),
        (["every morning", "seven"], "FREQ=DAILY @ 07:00"),
        (["every evening", "half past eight"], "FREQ=DAILY @ 20:30"),
        (["twice a week at seven am", "Mondays and Thursdays"], "FREQ=WEEKLY;BYDAY=MO,TH @ 07:00"),
        (["twice a week at seven am", "Monday and Thursday"], "FREQ=WEEKLY;BYDAY=MO,TH @ 07:00"),
        (["every Monday", "at noon"], "FREQ=WEEKLY;BYDAY=MO @ 12:00"),
        (["on Boxing Day", "quarter to eleven in the morning"], "12-26 10:45"),
    ],
)
def test_later_words_complete_and_correct_the_earlier_ones(turns: list[str], meant: str) -> None:
    assert told(resolve(turns, now=NOW)) == meant


# --- What was said, and what was taken for granted -------------------------------------------


def test_a_bare_hour_is_told_as_taken_for_granted_with_the_other_one() -> None:
    found = resolve("tomorrow at seven", now=NOW)
    assert found.at == datetime(2026, 11, 18, 7, tzinfo=LONDON)
    assert found.assumed == {"half"}
    assert found.other == datetime(2026, 11, 18, 19, tzinfo=LONDON)
    for sure in ("tomorrow at 7 pm", "seven tomorrow evening", "tomorrow at 19:00", "noon"):
        assert "half" not in resolve(sure, now=NOW).assumed


def test_ten_thirty_said_at_night_is_tonight_and_says_so() -> None:
    late = NOW.replace(hour=21)
    found = resolve("ten thirty", now=late)
    assert found.at == late.replace(hour=22, minute=30)
    assert found.assumed == {"half", "day"}
    assert found.other == datetime(2026, 11, 18, 10, 30, tzinfo=LONDON)
    assert resolve("ten thirty tomorrow", now=late).at == found.other


def test_which_parts_were_said() -> None:
    assert resolve("Thursday at half six", now=NOW).said == {"day", "hour"}
    assert resolve("every morning", now=NOW).said == {"repetition", "part"}
    assert resolve("an hour later", now=NOW, anchor=NOW).said == {"relative", "hour"}


def test_two_days_that_may_be_meant_are_both_given() -> None:
    found = resolve("next Friday at noon", now=NOW)
    assert (found.missing, found.trouble) == (("day",), "either")
    assert found.choices == (date(2026, 11, 20), date(2026, 11, 27))
    clash = resolve("Friday the 21st at noon", now=NOW)
    assert (clash.trouble, clash.choices) == ("conflict", (date(2026, 11, 21),))


def test_what_is_relative_to_something_unknown_says_so() -> None:
    assert resolve("an hour before that", now=NOW).missing == ("anchor",)
    assert resolve("tomorrow at ten their time", now=NOW).missing == ("place",)
    assert resolve("forward an hour", now=NOW, anchor=NOW).missing == ("direction",)


def test_a_day_has_the_hours_that_the_profile_says() -> None:
    nurse = Profile(wake=time(4, 30), sleep=time(20), work_start=time(6), work_end=time(14))
    assert _hour("after work", nurse) == "14:00"
    assert _hour("before work tomorrow", nurse) == "05:30"
    assert _hour("tomorrow before bed", nurse) == "19:30"
    assert _hour("tomorrow at five", nurse) == "05:00"
    assert _hour("tomorrow at five", Profile()) == "17:00"


def test_a_profile_is_read_from_the_record_of_a_person() -> None:
    sam = Person(
        id="u",
        created_at=NOW,
        updated_at=NOW,
        sleep_start="23:30",
        sleep_end="6:15",
        work_start="soon",
    )
    assert Profile.of(sam) == Profile(sleep=time(23, 30), wake=time(6, 15))
    assert Profile.of(None) == Profile()


def _hour(words: str, profile: Profile) -> str:
    found = resolve(words, now=NOW, profile=profile).at
    assert found is not None
    return f"{found:%H:%M}"


def test_a_mention_that_says_which_thing_is_meant_stays_in_the_words() -> None:
    words = "move my three o'clock call to Friday at ten"
    which, when = find(words)
    assert (which.describes, when.describes) == (True, False)
    assert without(words) == "move my three o'clock call"


# --- Told, and understood again ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("at", "words"),
    [
        ("2026-11-17 19:00", "today at seven in the evening"),
        ("2026-11-18 22:30", "tomorrow, Wednesday, at half past ten at night"),
        ("2026-11-18 00:00", "today at midnight"),
        ("2026-11-20 12:00", "on Friday, the twentieth, at noon"),
        ("2026-12-04 09:40", "on Friday the fourth of December at twenty to ten in the morning"),
        (
            "2027-05-03 16:05",
            "on Monday the third of May, twenty twenty-seven, at five past four in the afternoon",
        ),
    ],
)
def test_a_moment_is_told_in_words_that_leave_no_doubt(at: str, words: str) -> None:
    assert in_words(datetime.fromisoformat(at).replace(tzinfo=LONDON), now=NOW) == words


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("FREQ=WEEKLY;BYDAY=MO,TH", "every Monday and Thursday at seven in the evening"),
        ("FREQ=DAILY", "every day at seven in the evening"),
        ("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", "every weekday at seven in the evening"),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=TU", "every other Tuesday at seven in the evening"),
        ("FREQ=WEEKLY;INTERVAL=3;BYDAY=TU", "every three weeks on Tuesday at seven in the evening"),
        ("FREQ=MONTHLY;BYMONTHDAY=1", "every month on the first at seven in the evening"),
        ("FREQ=MONTHLY;BYDAY=1MO", "every month on the first Monday at seven in the evening"),
        ("FREQ=DAILY;COUNT=5", "every day at seven in the evening, five times"),
    ],
)
def test_a_rule_is_told_with_its_hour_and_read_back_as_the_same(rule: str, words: str) -> None:
    evening = NOW.replace(hour=19)
    assert rule_in_words(rule, evening) == words
    found = resolve(words, now=NOW)
    assert (found.rule, found.clock) == (rule, time(19))


TWO_YEARS = st.integers(1, 2 * 365 * 24 * 60)


@settings(max_examples=400, deadline=None)
@given(TWO_YEARS)
@example(14 * 60)
@example(14 * 60 + 45)
def test_whatever_moment_is_told_is_understood_as_the_same(minutes: int) -> None:
    at = (NOW.astimezone(UTC) + timedelta(minutes=minutes)).astimezone(LONDON)
    assume(not at.fold)  # an hour that comes twice is taken for the first
    words = in_words(at, now=NOW)
    assert resolve(words, now=NOW).at == at, words


@given(st.times())
def test_an_hour_is_told_without_figures(at: time) -> None:
    assert not any(c.isdigit() for c in hour_in_words(at))


WORDS = st.sampled_from(sorted({word for words, _, _ in phrases() for word in words.split()}))
SPEECH = st.lists(WORDS, max_size=12).map(" ".join) | st.text(max_size=60)


@settings(max_examples=300, deadline=None)
@given(SPEECH)
def test_mentions_lie_in_the_text_in_order_and_none_over_another(words: str) -> None:
    end = 0
    for mention in find(words):
        assert end <= mention.start < mention.end <= len(words)
        assert mention.words == words[mention.start : mention.end]
        end = mention.end
    assert len(without(words)) <= len(words) + 1


@settings(max_examples=400, deadline=None)
@given(SPEECH, st.none() | st.integers(-48, 480), st.integers(0, 23))
def test_whatever_is_said_nothing_is_in_the_past(words: str, hours: int | None, hour: int) -> None:
    now = NOW.replace(hour=hour)
    anchor = None if hours is None else now + timedelta(hours=hours)
    found = resolve(words, now=now, anchor=anchor)
    assert (found.at is None) == bool(found.missing or found.trouble)
    for at in (found.at, found.other, found.usual):
        assert at is None or at >= now


def test_a_spoken_time_is_read_in_less_than_a_millisecond() -> None:
    said = [words for words, _, _ in phrases()] + [words for words, _, _ in utterances()]
    for words in said:
        read.__wrapped__(words)
    begun = stopwatch.process_time()
    for words in said:
        read.__wrapped__(words)
    assert (stopwatch.process_time() - begun) / len(said) < 0.001


def test_a_mention_is_resolved_as_it_was_read_in_its_sentence() -> None:
    friday = datetime(2026, 11, 20, 14, tzinfo=LONDON)
    for words, hour in (
        ("bring the meeting forward by half an hour", "13:30"),
        ("push the meeting back half an hour", "14:30"),
        ("they don't open till nine, so make it ten", "10:00"),
    ):
        found = resolve([find(words)[-1]], now=NOW, anchor=friday).at
        assert found is not None
        assert f"{found:%d %H:%M}" == f"20 {hour}"


def test_what_it_is_for_settles_the_half_of_the_day() -> None:
    assert _at("half five", about="wake me up") == "18 05:30"
    assert _at("half five") == "17 17:30"
    assert _at("tomorrow at eight", about="dinner with Priya") == "18 20:00"
    assert _at("tomorrow at eight") == "18 08:00"


def _at(words: str, about: str = "") -> str:
    found = resolve(words, now=NOW, about=about)
    assert found.at is not None
    assert "half" in found.assumed
    return f"{found.at:%d %H:%M}"


@pytest.mark.parametrize(
    ("words", "day"),
    [
        ("in March of 2030", "2030-03-01"),
        ("by thirty and I turn thirty in March of 2030", "2030-03-01"),
        ("March 2030", "2030-03-01"),
        ("by the end of March of 2029", "2029-03-31"),
        ("the third of June of next year", "2027-06-03"),
        ("the 3rd of June of 2028", "2028-06-03"),
        ("June of next year", "2027-06-01"),
        ("by the end of March of next year", "2027-03-31"),
        ("at Christmas of next year", "2027-12-25"),
        ("in the spring of next year", "2027-03-20"),
    ],
)
def test_a_year_goes_with_its_date_however_it_is_joined(words: str, day: str) -> None:
    (mention,) = find(words)
    assert str(resolve(mention.words, now=NOW).day) == day
