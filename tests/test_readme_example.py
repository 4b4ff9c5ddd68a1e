"""The README's example, typed as it stands there: three terminals, nothing faked but the model."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx

from tests.docs_text import ROOT, example

BIN = Path(sys.executable).parent
PATIENCE = 30.0


class Terminal:
    """A command that runs, and what it has printed."""

    def __init__(self, command: str, log: Path, **environ: str) -> None:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("VIVAVOCE_", "OPEN"))}
        self._log = log
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            # A shell that started the tests in the background had them ignore Ctrl-C, and what
            # they start would inherit that: a terminal does not.
            signal.signal(signal.SIGINT, signal.default_int_handler)
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                ["bash", "-c", command],
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=ROOT,
                env=inherited | environ,
                start_new_session=True,
            )

    @property
    def shown(self) -> str:
        return self._log.read_text(encoding="utf-8")

    def wait_for(self, pattern: str) -> str:
        until(lambda: re.search(pattern, self.shown) or self.process.poll() is not None)
        found = re.search(pattern, self.shown)
        assert found, f"no {pattern!r} in:\n{self.shown}"
        return found[1] if found.groups() else found[0]

    def press_ctrl_c(self) -> int:
        os.killpg(self.process.pid, signal.SIGINT)
        return self.process.wait(PATIENCE)


def until(done: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not done() and time.monotonic() < deadline:
        time.sleep(0.02)


@contextmanager
def terminal(command: str, log: Path, **environ: str) -> Iterator[Terminal]:
    opened = Terminal(command, log, **environ)
    try:
        yield opened
    finally:
        with suppress(ProcessLookupError):
            os.killpg(opened.process.pid, signal.SIGKILL)  # also what it left in the background
        opened.process.wait()


def healthy(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health").status_code == 200
    except httpx.TransportError:
        return False


def here(folder: Path) -> dict[str, str]:
    return {
        "VIVAVOCE_DATA_DIR": str(folder / "data"),
        "VIVAVOCE_WORKSPACE": str(folder / "workspace"),
        "VIVAVOCE_PORT": "0",
        "VIVAVOCE_AUTH": "off",
    }


def provider_command(*options: str) -> str:
    typed = example("provider").replace("make setup\n", "").replace(".venv/bin", str(BIN))
    return " ".join([typed.strip(), *options])


def test_a_port_that_is_taken_is_told_in_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with terminal(provider_command(f"--port {port}"), tmp_path / "1") as first:
            assert first.process.wait(PATIENCE) == 2
    assert first.shown.splitlines() == [
        f"Port {port} is taken; --port chooses another, 0 any free one."
    ]


def test_without_a_provider_the_example_shows_the_words_of_the_server(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        nobody = f"http://127.0.0.1:{gone.getsockname()[1]}/v1"
    command = f"{BIN}/vivavoce serve"
    alone = {"VIVAVOCE_PROVIDER_URL": nobody, "VIVAVOCE_FALLBACKS": "none"}
    with terminal(command, tmp_path / "2", **alone, **here(tmp_path)) as second:
        url = second.wait_for(r"(http://127\.0\.0\.1:\d+)")
        until(lambda: healthy(url))
        client = example("client").replace("http://127.0.0.1:8080", url) + "kill %1"
        with terminal(client, tmp_path / "3") as third:
            third.wait_for('"code":"openai_error"')
            assert third.process.wait(PATIENCE) == 0
    assert "Error:" not in third.shown


def test_the_provider_says_in_one_line_that_vivavoce_hung_up(tmp_path: Path) -> None:
    with terminal(provider_command("--port 0 --pause 600"), tmp_path / "1") as first:
        url = first.wait_for(r"(http://\S+/v1)")
        offer = (ROOT / "docs" / "examples" / "offer.sdp").read_bytes()
        sdp = {"Content-Type": "application/sdp"}
        placed = httpx.post(f"{url}/realtime/calls?model=m", content=offer, headers=sdp)
        call = placed.headers["location"].rpartition("/")[2]
        first.wait_for(f"call {call}")
        assert httpx.post(f"{url}/realtime/calls/{call}/hangup").status_code == 200
        first.wait_for("hung up by Vivavoce")
        assert first.shown.splitlines()[1:] == [f"call {call}", f"call {call}: hung up by Vivavoce"]


def test_the_example_shows_a_conversation_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    run = re.search(r"^run:.*\n\t(.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert run
    server = example("server").replace("make run", run[1].replace("$(BIN)", str(BIN)))
    with terminal(provider_command("--port 0 --pause 0.1"), tmp_path / "1") as first:
        provider_url = first.wait_for(r"(http://\S+/v1)")
        server = server.replace("http://127.0.0.1:9090/v1", provider_url)
        with terminal(server, tmp_path / "2", **here(tmp_path)) as second:
            url = second.wait_for(r"(http://127\.0\.0\.1:\d+)")
            until(lambda: healthy(url))
            client = example("client").replace("http://127.0.0.1:8080", url) + "wait"
            with terminal(client, tmp_path / "3") as third:
                third.wait_for("event: session.ended\ndata: .*\n")
                assert '"output_preview":"42"' in third.shown
                assert re.search(r'"transcript":"I answer.*"interrupted":true', third.shown)
                assert second.press_ctrl_c() == 0, second.shown  # while the third still watches
        assert "Traceback" not in second.shown
        assert first.press_ctrl_c() == 0, first.shown
        assert "Traceback" not in first.shown
