"""One server and one voice for all the clients: both take seconds to load."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.clients.serving import Served, serve
from tests.clients.voice import Voice


def pytest_addoption(parser: pytest.Parser) -> None:
    """Known where this folder is asked for by name, and that is how one records."""
    parser.addoption(
        "--record", action="store_true", help="keep what the clients send in tests/clients/frames"
    )


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture(scope="session")
def voice() -> Voice:
    return Voice()
