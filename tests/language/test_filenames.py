"""Names of files as they are said, and as they are written."""

from __future__ import annotations

import pytest

from vivavoce.language.en.filenames import joined, written

SAID = {
    # By character.
    "packing dash list dot m d": "packing-list.md",
    "old underscore rota dot c s v": "old_rota.csv",
    "bisque underscore v two dot final dot t x t": "bisque_v2.final.txt",
    "scripts slash tally dash shifts dot py": "scripts/tally-shifts.py",
    "settings dot q a dot toml, all lower case": "settings.qa.toml",
    "n p m dash debug dot log": "npm-debug.log",
    # With nothing between the words.
    "harvest log dot csv": "harvest_log.csv",
    "a little shell script called greet dot sh": "greet.sh",
    "tide table, all one word": "tidetable",
    "seating plan two": "seating_plan_2",
    "budget twenty twenty-six dot csv": "budget_2026.csv",
    "index dot html in the public folder": "index.html",
    # What every project calls so.
    "the git ignore": ".gitignore",
    "dot git ignore": ".gitignore",
    "the ignore file for it": ".gitignore",
    "dot env dot example": ".env.example",
    "a docker ignore": ".dockerignore",
    "the licence": "LICENSE",
    "a read me dot m d": "README.md",
    # Letters and capitals.
    "T O D O dot m d": "TODO.md",
    "todo dot md, all caps": "TODO.md",
    "star dot sqlite three, all one word, digit three": "*.sqlite3",
    "": "",
}


@pytest.mark.parametrize("said", SAID)
def test_a_name_is_written_as_it_was_said(said: str) -> None:
    assert written(said) == SAID[said]


def test_words_are_put_together_as_in_the_names_that_are_there() -> None:
    assert written("harvest log dot csv", ["seed-list.csv", "bee-diary.md"]) == "harvest-log.csv"
    assert written("harvest log dot csv", ["seed_list.csv", "notes.md"]) == "harvest_log.csv"


@pytest.mark.parametrize("prose", ["We meet at the dot", "three plus two", "a dash of salt"])
def test_prose_loses_no_word(prose: str) -> None:
    assert len(joined(prose)) >= len(prose) - len(" dash of ")


def test_a_name_that_is_written_stays() -> None:
    for name in ("main.py", "src/app/settings.dev.toml", "Makefile", ".gitignore", "a-b_c.txt"):
        assert written(name) == joined(name) == name
