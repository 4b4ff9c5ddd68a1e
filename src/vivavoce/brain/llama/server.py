"""The child process: llama.cpp's server on a Unix socket that only we may open.

Owns the model's memory and its threads. Its settings and its key come as one
line of JSON on standard input, never as arguments that `ps` would show. It
lives until that input closes, so that it never outlives who started it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

from vivavoce.processes.supervised import follow_parent


def _read_line() -> bytes:
    """Without a buffer: what follows the line belongs to `follow_parent`."""
    line = b""
    while not line.endswith(b"\n"):
        piece = os.read(0, 1)
        if not piece:
            os._exit(0)
        line += piece
    return line


def _parameters(given: dict[str, Any]) -> Any:
    import xllamacpp  # only ever in this process: it takes a core while it loads a model

    parameters = xllamacpp.CommonParams()
    parameters.model.path = given["model"]
    # A name that ends in .sock is a Unix socket to llama.cpp: there is no TCP port at all.
    parameters.hostnames = [given["socket"]]
    parameters.port = 0
    parameters.api_keys = [given["key"]]
    parameters.n_parallel = given["slots"]
    parameters.n_ctx = given["slots"] * given["context"]
    # Each slot has its own memory, so that a long background prompt cannot starve a live one.
    parameters.kv_unified = False
    parameters.slot_save_path = str(Path(given["cache"])) + os.sep
    parameters.endpoint_slots = True
    # Which prompt is kept for whom is decided by who asks; a second cache would double it.
    parameters.cache_ram_mib = 0
    # Prompts are read in pieces of this size; between two of them others get their turn.
    parameters.n_batch = parameters.n_ubatch = given["batch"]
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = given["threads"]
    parameters.ctx_shift = False
    parameters.warmup = True
    parameters.verbosity = -1
    return parameters


def main() -> None:
    os.umask(0o077)  # the socket and the kept prompts are ours alone
    given = json.loads(_read_line())
    follow_parent()
    import xllamacpp

    server = xllamacpp.Server(_parameters(given))
    sys.stdout.write(f"listening at {server.listening_address}\n")
    sys.stdout.flush()
    threading.Event().wait()


if __name__ == "__main__":
    main()
