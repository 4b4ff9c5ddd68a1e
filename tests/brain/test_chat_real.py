"""A real chat server: llama.cpp's own, on loopback, with a key and the small brain."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.brain.asking import answer, ask
from tests.speech import model_folder
from vivavoce.brain.chat.brain import ChatBrain
from vivavoce.errors import BrainError
from vivavoce.wire.brain import Call, Result, Tool, Words

KEY = "the-key-of-this-test"
SERVER = """
import sys
import xllamacpp

params = xllamacpp.CommonParams()
params.model.path, key = sys.argv[1:]
params.n_ctx, params.n_parallel, params.kv_unified = 4096, 2, False
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
params.hostnames, params.port, params.api_keys = ["127.0.0.1"], 0, [key]
params.verbosity, params.warmup = 0, False
server = xllamacpp.Server(params)
print("at", server.listening_address, flush=True)
sys.stdin.read()
"""
CLOCK = Tool(
    "current_time",
    "Tells the time of day in a city.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


@contextmanager
def llama_server(weights: Path) -> Iterator[str]:
    command = [sys.executable, "-c", SERVER, str(weights), KEY]
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nowhere, text=True) as process:
        try:
            assert process.stdout is not None
            told = (line.split() for line in process.stdout)
            address = next(words[1] for words in told if words[:1] == ["at"])
            yield f"{address}/v1"
        finally:
            process.kill()


@pytest.mark.full
@pytest.mark.timeout(300)
async def test_llama_cpp_talks_calls_a_tool_and_keeps_strangers_out() -> None:
    with llama_server(model_folder("qwen-0.5b") / "model.gguf") as url:
        brain, stranger = ChatBrain(url, key=KEY), ChatBrain(url, model="m", key="another")
        try:
            hello = await answer(brain, ask("Say hello.", max_tokens=12))
            assert hello.text.strip()
            assert sum(isinstance(piece, Words) for piece in hello.pieces) > 1
            assert hello.end.input_tokens > 5
            assert 0 < hello.end.output_tokens <= 12

            time = ask(
                "What time is it in Rome?", tools=(CLOCK,), tool_choice="required", max_tokens=40
            )
            called = await answer(brain, time)
            (name, arguments), *_ = called.calls
            assert name == "current_time"
            assert "Rome" in arguments["city"]

            turns = (Call("c", name, json.dumps(arguments)), Result("c", "12:07"))
            after = ask(
                "What time is it in Rome?",
                *turns,
                tools=(CLOCK,),
                tool_choice="none",
                max_tokens=40,
            )
            # So small a model often writes a call in words, though it may make none.
            told: list[str] = []
            while not any("12:07" in text for text in told) and len(told) < 10:
                told.append((await answer(brain, after)).text)
            assert "12:07" in told[-1], told

            cut = await answer(brain, ask("Count from one to a hundred.", max_tokens=5))
            assert cut.end.reason == "length"
            with pytest.raises(BrainError, match="too long"):
                await answer(brain, ask("word " * 5000))
            with pytest.raises(BrainError, match="does not accept the key"):
                await answer(stranger, ask("Hi."))
        finally:
            await brain.close()
            await stranger.close()
