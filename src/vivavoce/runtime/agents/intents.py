"""The part of an agent folder about where its intents go, and what the runtime asks of them.

The intents themselves are read by the package `intents`, which the runtime does not know.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Protocol

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from vivavoce.runtime.agents.mcp import filled, http_address
from vivavoce.runtime.agents.yaml_file import UNTOLD, Part

Address = Annotated[str, Field(max_length=2000), AfterValidator(http_address)]


def _named(value: object) -> object:
    if isinstance(value, str) and _NAME.fullmatch(value):
        return value
    # A type of its own: the reader of the file shows no value with it.
    raise PydanticCustomError(
        UNTOLD, "be ${NAME}, a variable of the environment, and never the secret itself"
    )


_NAME = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")
Named = Annotated[str, BeforeValidator(_named)]
"""A secret is named, never written: ${NAME} is of the environment."""


class BackendFile(Part):
    """`orchestrator:` where it is the user's own, behind HTTP."""

    url: Address
    secret: Named
    timeout_seconds: float = Field(default=10, ge=1, le=60)

    def backend(self) -> Backend:
        return Backend(url=self.url, secret=self.secret, timeout=self.timeout_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """The user's orchestrator: where it is, and what its messages are signed with."""

    url: str
    secret: str = field(repr=False)
    """As the file names it, until `filled`."""
    timeout: float = 10.0

    def filled(self, environment: Mapping[str, str]) -> tuple[Backend | None, list[str]]:
        """With the secret in place; or why not, which names variables and never values."""
        missing: dict[str, None] = {}
        secret = filled(self.secret, environment, missing)
        if missing:
            return None, [f"orchestrator.secret: the environment has no {', '.join(missing)}"]
        return Backend(url=self.url, secret=secret, timeout=self.timeout), []


class IntentBook(Protocol):
    """The intents of an agent, as far as the runtime cares."""

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The tools that are there because of them."""
        ...
