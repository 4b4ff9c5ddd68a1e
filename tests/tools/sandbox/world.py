"""A small world around a sandbox, with secrets to steal, doors to knock at and a victim."""

from __future__ import annotations

import asyncio
import itertools
import os
import platform
import socket
import subprocess
import tempfile
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

SECRET = "SECRET-b7f1c0"
KEPT = "as it was"
_NAPS = itertools.count()
_NAMES = (
    *("clone", "keyctl", "bpf", "io_uring_setup", "open_by_handle_at"),
    *("pidfd_getfd", "userfaultfd", "add_key"),
)
CALLS = {
    machine: dict(zip(_NAMES, numbers.split(), strict=True))
    for machine, numbers in (
        ("x86_64", "56 250 321 425 304 438 323 248"),
        ("aarch64", "220 219 280 425 265 438 282 217"),
    )
}
"""Numbers of system calls."""


@dataclass
class World:
    folder: Path
    knocks: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    @property
    def data(self) -> Path:
        """The server's own, and inside the workspace of all places."""
        return self.workspace / "data"

    @property
    def outside(self) -> Path:
        return self.folder / "outside"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def furnish(self) -> Self:
        for folder in (self.workspace, self.data, self.outside, self.home / ".ssh"):
            folder.mkdir(parents=True)
        (self.outside / "secret.txt").write_text(SECRET)
        (self.outside / "keep.txt").write_text(KEPT)
        (self.home / ".ssh/id_rsa").write_text(SECRET)
        (self.home / ".netrc").write_text(SECRET)
        (self.home / ".bashrc").write_text(KEPT)
        (self.data / "vivavoce.db").write_text(SECRET)
        git = ["git", "-c", "user.name=A", "-c", "user.email=a@b"]
        for arguments in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
            subprocess.run([*git, *arguments], cwd=self.workspace, check=True)
        hooks = self.workspace / ".git/hooks"
        hooks.mkdir(exist_ok=True)
        (hooks / "pre-commit").unlink(missing_ok=True)
        return self

    def damage(self) -> list[str]:
        """What is not as it was."""
        found = [f"a knock: {knock}" for knock in self.knocks]
        if (self.outside / "keep.txt").read_text() != KEPT:
            found.append("keep.txt changed")
        if sorted(os.listdir(self.outside)) != ["keep.txt", "secret.txt", "socket"]:
            found.append(f"outside: {os.listdir(self.outside)}")
        if (self.home / ".bashrc").read_text() != KEPT:
            found.append(".bashrc changed")
        if os.listdir(self.home / ".ssh") != ["id_rsa"]:
            found.append("keys planted")
        if (self.data / "vivavoce.db").read_text() != SECRET:
            found.append("data changed")
        return found


def _process(stack: ExitStack) -> subprocess.Popen[bytes]:
    """A victim, with a secret in its environment and a number that no small namespace has."""
    while True:
        made = subprocess.Popen(["sleep", "86400"], env={"PATH": os.defpath, "KEY": SECRET})
        if made.pid > 2000:
            stack.callback(made.wait)
            stack.callback(made.kill)
            return made
        made.kill()
        made.wait()


@asynccontextmanager
async def a_world() -> AsyncIterator[World]:
    """Doors listen on loopback, on a Unix socket, on an abstract one and by UDP."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory())).resolve()
        world = World(folder).furnish()
        victim, stand_in = _process(stack), _process(stack)

        def knocked(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            world.knocks.append(str(writer.get_extra_info("sockname")))
            writer.close()

        class Udp(asyncio.DatagramProtocol):
            def datagram_received(self, data: bytes, addr: object) -> None:
                world.knocks.append("udp")

        abstract = f"vivavoce-{os.getpid()}-{folder.name}"
        socket_path = world.outside / "socket"
        tcp = await asyncio.start_server(knocked, "127.0.0.1", 0)
        unix = await asyncio.start_unix_server(knocked, socket_path)
        hidden = socket.socket(socket.AF_UNIX)
        hidden.bind("\0" + abstract)
        unseen = await asyncio.start_unix_server(knocked, sock=hidden)
        loop = asyncio.get_running_loop()
        udp, _ = await loop.create_datagram_endpoint(Udp, ("127.0.0.1", 0))
        world.names = {
            "outside": str(world.outside),
            "home": str(world.home),
            "data": str(world.data),
            "workspace": str(world.workspace),
            "server": str(stand_in.pid),
            "victim": str(victim.pid),
            "port": str(tcp.sockets[0].getsockname()[1]),
            "udp": str(udp.get_extra_info("sockname")[1]),
            "socket": str(socket_path),
            "abstract": abstract,
            "nap": f"9{os.getpid()}{next(_NAPS):04}",  # seconds that nobody else sleeps
            **CALLS[platform.machine()],
        }
        try:
            yield world
            assert victim.poll() is None, "the victim was killed"
            assert stand_in.poll() is None, "the server's stand-in was killed"
        finally:
            udp.close()
            for server in (tcp, unix, unseen):
                server.close()
                await server.wait_closed()


def filled(command: str, names: dict[str, str]) -> str:
    """Only our names: shell and Python have braces of their own."""
    for name, value in names.items():
        command = command.replace("{" + name + "}", value)
    return command


async def outlived(marker: str) -> list[str]:
    """Who still lives when the kernel has had time to end them."""
    for _ in range(1000):
        if not alive(marker):
            break
        await asyncio.sleep(0.01)
    return alive(marker)


def alive(marker: str) -> list[str]:
    """Processes whose command line has the marker in it."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            dead = " Z " in Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            continue
        if marker in line and not dead:
            found.append(line)
    return found
