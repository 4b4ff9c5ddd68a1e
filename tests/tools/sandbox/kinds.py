"""The sandboxes there are on this machine, made for a world."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.tools.sandbox.world import World
from vivavoce.tools.sandbox.bubblewrap import Bubblewrap
from vivavoce.tools.sandbox.places import tools_of
from vivavoce.tools.sandbox.probe import Landlock, bubblewraps

KINDS = ("bubblewrap", "sandlock")


def made(kind: str, world: World) -> Bubblewrap | Landlock:
    """With the Python that runs the tests, and pytest in it, to be seen inside."""
    tools = tools_of(os.defpath, [Path(sys.prefix)])
    if kind == "bubblewrap":
        return Bubblewrap(
            program=list(bubblewraps(os.defpath, Path("/nowhere")))[-1],
            workspace=world.workspace,
            tools=tools,
            hidden=[world.data],
        )
    return Landlock(workspace=world.workspace, tools=tools, hidden=[world.data])
