"""llama.cpp's server in a process of its own, and the connection to it.

The process owns the model's memory and its threads, and listens on a Unix socket that
only we may open. Its settings and its key come as one line of JSON on standard input,
never as arguments that `ps` would show. It lives until that input closes, so that it
never outlives who started it.

The connection is llama.cpp's own HTTP. It knows requests and replies, and turns whatever
goes wrong into `BrainError`; it knows no questions and no policy.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import httpx

from vivavoce.errors import BrainError, ModelUnavailable
from vivavoce.processes.supervised import follow_parent
from vivavoce.wire.values import Value

_GONE = "The language model stopped in the middle of it."
_NOT_THERE = "The language model is not ready yet."
_POLL = 0.05


# --- The connection


class Heard(Value):
    """A piece of what the model writes, and what it has done so far."""

    text: str
    input_tokens: int = 0
    cached_tokens: int = 0
    read_tokens: int = 0
    read_ms: float = 0.0
    write_ms: float = 0.0
    output_tokens: int = 0
    last: bool = False
    limited: bool = False


class Connection:
    def __init__(self, socket: Path, key: str) -> None:
        self._client = httpx.AsyncClient(
            # A new connection costs a tenth of a millisecond; an old one may have been closed.
            transport=httpx.AsyncHTTPTransport(
                uds=str(socket), limits=httpx.Limits(max_keepalive_connections=0)
            ),
            base_url="http://llama",
            headers={"authorization": f"Bearer {key}"},
            timeout=httpx.Timeout(600, connect=5),
        )

    async def close(self) -> None:
        await self._client.aclose()

    async def until_ready(self) -> None:
        """The model is loaded. Who waits sets the limit."""
        while True:
            try:
                if (await self._client.get("/health")).status_code == 200:
                    return
            except httpx.HTTPError:
                pass  # not listening yet
            await asyncio.sleep(_POLL)

    async def tokenize(self, text: str) -> list[int]:
        # As the same text would be read in a question: some models have a token before all others.
        body = {"content": text, "parse_special": True, "add_special": True}
        tokens: list[int] = (await self._post("/tokenize", body))["tokens"]
        return tokens

    async def template(self, messages: Sequence[Mapping[str, str]], answered: bool) -> str:
        """Messages as the model's own template writes them; `answered`: and an answer begins."""
        body = {"messages": list(messages), "add_generation_prompt": answered}
        return str((await self._post("/apply-template", body))["prompt"])

    async def read(self, slot: int, tokens: list[int]) -> Heard:
        """Read it, and write nothing."""
        given = {"prompt": tokens, "id_slot": slot, "n_predict": 0, "cache_prompt": True}
        return _heard(await self._post("/completion", given))

    async def likely(self, slot: int, text: str, most: int) -> tuple[dict[int, float], Heard]:
        """Log-probabilities of the likeliest tokens after it."""
        given = {"prompt": text, "id_slot": slot, "n_predict": 1, "cache_prompt": True}
        reply = await self._post("/completion", given | {"temperature": 0, "n_probs": most})
        first = (reply.get("completion_probabilities") or [{}])[0]
        found = {one["id"]: one["logprob"] for one in first.get("top_logprobs", ())}
        return found, _heard(reply)

    async def save(self, slot: int, file: str) -> None:
        await self._post(f"/slots/{slot}?action=save", {"filename": file})

    async def restore(self, slot: int, file: str) -> None:
        await self._post(f"/slots/{slot}?action=restore", {"filename": file})

    async def erase(self, slot: int) -> None:
        await self._post(f"/slots/{slot}?action=erase", {})

    async def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        try:
            reply = await self._client.post(path, json=body)
            if reply.status_code != 200:
                raise _refused(reply)
            return reply.json()
        except (httpx.HTTPError, ValueError) as fault:
            raise BrainError(_NOT_THERE) from fault

    async def write(self, request: Mapping[str, Any]) -> AsyncGenerator[Heard, None]:
        """What the model writes, piece by piece. Closing it stops the model."""
        begun = False
        try:
            async with self._client.stream("POST", "/completion", json=request) as reply:
                if reply.status_code != 200:
                    await reply.aread()
                    raise _refused(reply)
                async with aclosing(reply.aiter_lines()) as lines:  # type: ignore[type-var] # it is a generator
                    async for line in lines:
                        begun = True
                        if line.startswith("data: "):
                            heard = _heard(json.loads(line[6:]))
                            yield heard
                            if heard.last:
                                return
        except (httpx.HTTPError, ValueError) as fault:
            raise BrainError(_GONE if begun else _NOT_THERE) from fault
        raise BrainError(_GONE)


def _heard(given: Mapping[str, Any]) -> Heard:
    if "error" in given:
        raise BrainError("The language model failed.", reason=str(given["error"])[:200])
    timings = given.get("timings") or {}
    return Heard(
        text=given.get("content", ""),
        input_tokens=given.get("tokens_evaluated", 0),
        cached_tokens=timings.get("cache_n", 0),
        read_tokens=timings.get("prompt_n", 0),
        read_ms=timings.get("prompt_ms", 0.0),
        write_ms=timings.get("predicted_ms", 0.0),
        output_tokens=given.get("tokens_predicted", 0),
        last=bool(given.get("stop")),
        limited=given.get("stop_type") == "limit",
    )


def _refused(reply: httpx.Response) -> BrainError:
    if reply.status_code == 503:
        return BrainError(_NOT_THERE)
    if "exceed_context_size" in reply.text:
        return BrainError("That is more than this language model can read at once.")
    return BrainError(
        "The language model refused the question.",
        status=reply.status_code,
        reason=reply.text[:200],
    )


# --- The process


def _read_line() -> bytes:
    """Without a buffer: what follows the line belongs to `follow_parent`."""
    line = b""
    while not line.endswith(b"\n"):
        piece = os.read(0, 1)
        if not piece:
            os._exit(0)
        line += piece
    return line


ALL_LAYERS = 999


def layers(device: str, kinds: Sequence[str]) -> int:
    """How many of the model's layers go to a GPU, by the kinds of device that llama.cpp has found.
    Raises `ModelUnavailable` where one is wanted."""
    found = any("GPU" in kind for kind in kinds)
    if device == "gpu" and not found:
        raise ModelUnavailable(
            "VIVAVOCE_DEVICE is gpu, and llama.cpp finds none: install xllamacpp for your GPU "
            "(CUDA, ROCm or Vulkan), or set auto or cpu."
        )
    return ALL_LAYERS if found and device != "cpu" else 0


def _placed(given: dict[str, Any]) -> int:
    """Decided here, where the devices are; told to our parent by a file that only we two have."""
    import xllamacpp

    found = xllamacpp.get_device_info()
    try:
        count = layers(given["device"], [each["type"].name for each in found])
    except ModelUnavailable as fault:
        Path(given["told"]).write_text(json.dumps({"failed": fault.message}))
        os._exit(1)
    gpus = [str(each["description"]) for each in found if "GPU" in each["type"].name]
    Path(given["told"]).write_text(json.dumps({"device": ", ".join(gpus) if count else "cpu"}))
    return count


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
    parameters.n_gpu_layers = _placed(given)
    parameters.ctx_shift = False
    parameters.warmup = True
    # A talk that ends with an answer is whole: its template tells how answers end.
    parameters.prefill_assistant = False
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
