"""A model copies too little, too much or nothing, and takes answers for something else. What comes
of the talk is the same, or it asks; it never does something else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.brain.dialogue.talking import (
    CHAT,
    UNCLEAR,
    UNDO,
    YES,
    Talk,
    begin,
    fill,
    move,
    remind,
    thing,
)
from vivavoce.brain.dialogue.commands import Begin, Command, Fill

Turn = tuple[str, list[Command]]
THINGS = (
    thing("dent", "Dentist", "Friday at 9:15 am"),
    thing("ola", "Meeting with Ola", "tomorrow at 10 am"),
    thing("land", "Meeting with the landlord", "tomorrow at 3 pm"),
    thing("club", "Book club", "Saturday at 7:30 pm"),
)
TALKS: list[list[Turn]] = [
    [("the day after tomorrow at two in the afternoon remind me to ring the vet",
      [remind(what="ring the vet", when="the day after tomorrow at two in the afternoon")])],
    [("remind me to ring Mum", [remind(what="ring Mum")]),
     ("on Friday, half past six in the evening",
      [fill(when="on Friday, half past six in the evening")])],
    [("Can you put the dentist off to Monday at twenty to twelve",
      [move(task="the dentist", to="Monday at twenty to twelve")])],
    [("push my meeting to Friday", [move(task="my meeting", to="Friday")]),
     ("the one with Ola", [fill(task="the one with Ola")])],
    [("get rid of the book club", [begin("delete", task="the book club")])],
    [("swim on Saturday at nine in the morning",
      [remind(what="swim", when="on Saturday at nine in the morning")]),
     ("no, sorry, ten", [fill(when="ten")])],
    [("scrap everything tomorrow", [begin("delete", task="everything tomorrow")]), ("yes", [YES])],
    [("bring the meeting with Ola forward by half an hour",
      [move(task="the meeting with Ola", to="half an hour")])],
    [("an hour before the book club I have to bake the cake",
      [remind(what="bake the cake", when="an hour before the book club")])],
    [("the dentist is done", [begin("done", task="the dentist")]),
     ("no wait, it isn't", [UNDO])],
    [("Monday to Friday, half past seven in the morning, give Amma her tablet",
      [remind(what="give Amma her tablet", when="Monday to Friday, half past seven in the morning")
       ])],
]  # fmt: skip


def worse(said: str, command: Command) -> Iterator[Command]:
    """What a small model might have made of it."""
    if not isinstance(command, Begin | Fill):
        return
    for name, words in command.slots.items():
        parts = words.split()
        rest = {key: value for key, value in command.slots.items() if key != name}
        changed = []
        if name in ("when", "to"):
            changed += [" ".join(parts[len(parts) // 2 :]), " ".join(parts[: len(parts) // 2])]
        if name == "what":
            changed.append(said)
        slots = [{**rest, name: one} for one in changed if one]
        slots += [rest] if name in ("when", "to", "task") else []
        for one in slots:
            yield Begin(command.wish, one) if isinstance(command, Begin) else Fill(one)
    if isinstance(command, Fill):
        yield UNCLEAR
        yield CHAT


def played(turns: list[Turn]) -> Talk:
    talk = Talk(*THINGS)
    for said, commands in turns:
        talk.says(said, *commands)
    return talk


@pytest.mark.parametrize("turns", TALKS, ids=lambda turns: turns[0][0][:40])
def test_what_is_copied_badly_is_made_up_for_or_asked_about(turns: list[Turn]) -> None:
    right = played(turns).there
    assert right != played([]).there or len(turns) > 1
    same = tried = 0
    for at, (said, (command,)) in enumerate(turns):
        for other in worse(said, command):
            talk = played([*turns[:at], (said, [other]), *turns[at + 1 :]])
            tried += 1
            if talk.there == right:
                same += 1
            else:
                assert talk.told.rstrip().endswith("?"), (said, other, talk.there)
    assert same >= 0.7 * tried
