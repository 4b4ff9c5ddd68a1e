"""The intents of an agent, from its `intents.yaml`: by name, and as tools for the model.

Owns no words of any agent: the file says what there is to submit, what it takes
and where it goes (seed 004 §6.2).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from vivavoce.intents.registry.file import AMEND, RETRACT, read_intents
from vivavoce.intents.registry.intent import IntentDefinition
from vivavoce.runtime.agents.explain import complaint, did_you_mean
from vivavoce.runtime.agents.yaml_lines import FileProblems, YamlFile
from vivavoce.runtime.ports import ToolDefinition

__all__ = [
    "AMEND",
    "FILE",
    "RETRACT",
    "IntentRegistry",
    "check_routes",
    "check_tools",
    "load_intents",
]

FILE = "intents.yaml"


@dataclass(frozen=True, slots=True)
class IntentRegistry:
    """In the order of the file. An agent without one has none."""

    definitions: tuple[IntentDefinition, ...] = ()

    def get(self, name: str) -> IntentDefinition | None:
        return next((one for one in self.definitions if one.name == name), None)

    def tools(self) -> list[ToolDefinition]:
        """The intents as function tools; amending and retracting are the service's own."""
        return [one.tool() for one in self.definitions]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.definitions)

    @property
    def tool_names(self) -> tuple[str, ...]:
        """What the agent has because of its intents: with any, what corrects them too."""
        return (*self.names, AMEND, RETRACT) if self.definitions else ()


def load_intents(folder: Path) -> IntentRegistry:
    """Of an agent's folder; none where it has no `intents.yaml`. Raises `FileProblems`."""
    path = folder / FILE
    if not path.exists() and not path.is_symlink():
        return IntentRegistry()
    return IntentRegistry(read_intents(path))


def check_routes(registry: IntentRegistry, folder: Path, routes: Collection[str] | None) -> None:
    """One that nobody acts on would always be refused. `routes` are those that are acted on here;
    None is all of them. Raises `FileProblems`."""
    if routes is None:
        return
    lost = [
        (at, one.route)
        for at, one in enumerate(registry.definitions)
        if one.url is None and one.route not in routes
    ]
    if lost:
        source = YamlFile(folder / FILE)
        raise FileProblems(
            [
                complaint(source, ("intents", at, "route"), _lost(route, routes))
                for at, route in lost
            ]
        )


def _lost(route: str, routes: Collection[str]) -> str:
    near = did_you_mean(get_close_matches(route.upper(), routes, n=1))
    return f"nobody acts on '{route}': there is neither a handler for it nor a url{near}"


def check_tools(registry: IntentRegistry, folder: Path, tools: Collection[str]) -> None:
    """One that is named like a tool could not be told from it. Raises `FileProblems`."""
    taken = [(at, name) for at, name in enumerate(registry.names) if name in tools]
    if taken:
        source = YamlFile(folder / FILE)
        raise FileProblems(
            [
                complaint(source, ("intents", at, "name"), f"there is a tool '{name}' already")
                for at, name in taken
            ]
        )
