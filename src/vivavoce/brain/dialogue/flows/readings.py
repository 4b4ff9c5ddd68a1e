"""The readings by name: what a stage can give as `read`.

Each takes the text of a result and what is known of the wish, and gives values: `told` is what can
be said of it, the others are for the next stage. None: the result has nothing of what was wanted.
Nothing is told that is not in the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vivavoce.brain.dialogue.flows import commands, elsewhere, files, text
from vivavoce.brain.dialogue.flows.results import Known

Reading = Callable[[str, Known], Mapping[str, Any] | None]
READINGS: Mapping[str, Reading] = {
    one.__name__: one
    for one in (
        text.places,
        text.count,
        text.setting,
        text.line_to_change,
        text.within,
        text.line_within,
        text.changed,
        text.taken_back,
        text.spots,
        text.renamed,
        text.definition,
        text.function,
        files.names,
        files.how_many_names,
        files.end_of_file,
        files.end_of_part,
        files.added,
        files.item,
        files.struck,
        files.written,
        files.content,
        commands.command,
        commands.runner,
        commands.repository,
        commands.gone,
        elsewhere.page,
        elsewhere.hits,
        elsewhere.task_started,
        elsewhere.tasks,
        elsewhere.words,
        elsewhere.number,
        elsewhere.clock,
    )
}
