"""Everyday talks about a list: moved by so much, whole days, corrected in sentences, many."""

from __future__ import annotations

import pytest

from tests.brain.dialogue.talking import Talk, move, thing


SATURDAY = "Saturday, November 21 at 10:15 AM"


@pytest.mark.parametrize(
    ("said", "copied", "when"),
    [
        ("kick the vet down the road two days same time's fine", "two days same time's", SATURDAY),
        ("push the vet back a week", "a week", "Thursday, November 26 at 10:15 AM"),
        ("shove the vet an hour later", "an hour later", "Thursday, November 19 at 11:15 AM"),
        ("bring the vet forward a day", "a day", "tomorrow at 10:15 AM"),
        ("bring the vet forward a day, same time", "a day, same time", "tomorrow at 10:15 AM"),
        ("put the vet off for a week", "a week", "Thursday, November 26 at 10:15 AM"),
        ("bump the vet by two days", "by two days", SATURDAY),
        ("can we slide the vet three days", "three days", "Sunday, November 22 at 10:15 AM"),
        ("delay the vet by two hours", "by two hours", "Thursday, November 19 at 12:15 PM"),
        ("push the vet out another week", "", "Thursday, November 26 at 10:15 AM"),
        ("nudge the vet along by half an hour", "half an hour", "Thursday, November 19 at 10:45 AM"),
    ],
)  # fmt: skip
def test_how_far_something_is_moved_counts_from_its_own_time(
    said: str, copied: str, when: str
) -> None:
    talk = Talk(thing("v", "Vet for Duke", "on Thursday at 10:15 am"), thing("c", "Choir"))
    talk.says(said, move(task="the vet", **({"to": copied} if copied else {})))
    assert talk.there["Vet for Duke"] == when
