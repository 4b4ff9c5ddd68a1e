"""The folders on which the attacks on paths are tried, with links, pipes and secrets in them."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

SECRET = "TOP-SECRET"
HUGE = 20_000_000

_FILES = {
    "README.md": "Hello there\n",
    "src/main.py": "def main():\n    return 1\n",
    "src/util/deep.py": "deep = 1\n",
    "my notes.txt": "milk\n",
    "größe/Ñandú.txt": "a bird\n",
    "..odd..name": "odd\n",
    "empty.txt": "",
    "options.txt": "use --help or --follow\n",
    "read_only.txt": "as it is\n",
    ".git/config": "[core]\n",
    ".git/hooks/pre-commit": "echo hook\n",
    ".git/info/attributes": "*.py text\n",
    "sub/.git/hooks/pre-commit": "echo hook\n",
    ".vivavoce/vivavoce.db": f"{SECRET}\n",
    "private/data/key": f"{SECRET}\n",
}

_LINKS = {
    "out_file": "../outside/secret.txt",
    "out_file_abs": "{outside}/secret.txt",
    "out_dir": "../outside",
    "out_dir_abs": "{outside}",
    "chain1": "chain2",
    "chain2": "src/chain3",
    "src/chain3": "../../outside/secret.txt",
    "chain_dir": "src/up",
    "src/up": "../../outside",
    "boomerang": "../ws/src/main.py",
    "sibling": "../ws-evil",
    "root": "/",
    "etc": "/etc",
    "proc_root": "/proc/self/root",
    "proc_cwd": "/proc/self/cwd",
    "proc_environ": "/proc/self/environ",
    "zero": "/dev/zero",
    "loop_a": "loop_b",
    "loop_b": "loop_a",
    "loop_self": "loop_self",
    "pipe_link": "pipe",
    "dangling_out": "../outside/new.txt",
    "dangling_in": "nowhere.txt",
    "hooks_link": ".git/hooks",
    "config_link": ".git/config",
    "git_link": ".git",
    "data_link": ".vivavoce",
    "inside_file": "src/main.py",
    "inside_dir": "src",
    "inside_abs": "{ws}/src/main.py",
    "inside_up": "src/util/../main.py",
    "deep_link": "src/util",
}


@dataclass(frozen=True, slots=True)
class Layout:
    ws: Path
    outside: Path

    def fill(self, text: str) -> str:
        """Our own replacing: braces are part of some patterns."""
        for name, path in (("{ws}", self.ws), ("{outside}", self.outside)):
            text = text.replace(name, str(path))
        return text.replace("{{", "{").replace("}}", "}")

    def protected(self) -> dict[str, tuple[str, bytes]]:
        """All that no attack may change: what is outside, git's own, our data."""
        tops = (self.outside, self.ws.with_name("ws-evil"))
        mine = (".git", "sub/.git", ".vivavoce", "private", "fresh", "read_only.txt")
        found: dict[str, tuple[str, bytes]] = {}
        for top in (*tops, *(self.ws / name for name in mine)):
            for path in [top, *top.rglob("*")]:
                if path.is_file():
                    found[str(path)] = (oct(path.stat().st_mode), path.read_bytes())
        return found


def lay_out(base: Path) -> Layout:
    layout = Layout(base / "ws", base / "outside")
    for name in ("outside/secret.txt", "outside/folder/inner.txt", "ws-evil/secret.txt"):
        _file(base / name, f"{SECRET}\n")
    for name, text in _FILES.items():
        _file(layout.ws / name, text)
    for name, target in _LINKS.items():
        (layout.ws / name).symlink_to(layout.fill(target))
    (layout.ws / "read_only.txt").chmod(0o444)
    os.mkfifo(layout.ws / "pipe")
    os.mknod(layout.ws / "socket", 0o600 | stat.S_IFSOCK)
    with (layout.ws / "huge.bin").open("wb") as stream:
        stream.truncate(HUGE)
    script = layout.ws / "run.sh"
    _file(script, f"#!/bin/sh\ncat {layout.outside}/*\ntouch {layout.outside}/ran\n")
    script.chmod(0o755)
    return layout


def _file(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
