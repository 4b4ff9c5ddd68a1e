"""Pydantic AI's realtime agent over a WebSocket: only the address and the key are ours."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import (
    RealtimeSessionErrorEvent,
    RealtimeSessionReconnectEvent,
    SystemPromptPart,
)
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.realtime import RealtimeSession
from pydantic_ai.realtime.openai import OpenAIRealtimeModel
from scene import RATE, cut, given, keep, live, pieces, play, silence, speech, tell, until


def clock() -> str:
    """The time of day."""
    tell("called")
    return str(given["time"])


def agent() -> Agent[None, str]:
    made = Agent(instructions="Be brief.")
    made.tool_plain(name=given["tool"])(clock)
    return made


def model(name: str) -> OpenAIRealtimeModel:
    provider = OpenAIProvider(base_url=given["url"], api_key=given["key"])
    return OpenAIRealtimeModel(name, provider=provider)


class Talk:
    def __init__(self, session: RealtimeSession, quicker: float) -> None:
        self.session = session
        self.heard = b""
        self.played = 0.0
        """Seconds."""
        self.said: dict[str, list[str]] = {"user": [], "assistant": []}
        self.errors: list[str | None] = []
        self.reconnects = 0
        self._quicker = quicker

    async def watch(self) -> None:
        async for event in self.session:
            if isinstance(event, RealtimeSessionErrorEvent):
                self.errors.append(event.code)
                tell("error", message=event.message, code=event.code)
            elif isinstance(event, RealtimeSessionReconnectEvent):
                self.reconnects += 1

    async def listen(self) -> None:
        """A loudspeaker, or one so many times quicker."""
        async for chunk in self.session.stream_audio():
            self.heard += chunk
            await asyncio.sleep(len(chunk) / 2 / RATE / self._quicker)
            self.played += len(chunk) / 2 / RATE

    async def read(self) -> None:
        async for part in self.session.stream_transcripts():
            self.said[part.speaker].append(part.transcript or "")

    async def write(self, text: str) -> str:
        before = len(self.said["assistant"])
        await self.session.send(text)
        await self.session.wait_for_reply()
        await until("an answer", lambda: len(self.said["assistant"]) > before)
        return self.said["assistant"][-1]


@asynccontextmanager
async def talking(
    made: Agent[None, str] | None = None,
    quicker: float = 50.0,
    barge_in: bool = False,
    name: str = given["model"],
    **settings: Any,
) -> AsyncIterator[Talk]:
    realtime = (made or agent()).realtime(model(name), model_settings=settings)
    async with (
        realtime.session(handle_barge_in=barge_in) as session,
        asyncio.TaskGroup() as group,
    ):
        talk = Talk(session, quicker)
        tasks = [group.create_task(job()) for job in (talk.watch, talk.listen, talk.read)]
        yield talk
        for task in tasks:
            task.cancel()


async def text() -> None:
    async with talking() as talk:
        tell("text", answer=await talk.write("The moon is bright."))


async def spoken() -> None:
    async with talking() as talk:
        for piece in pieces(speech() + silence(3)):
            await talk.session.send_audio(piece)
        await until("the user's words", lambda: talk.said["user"])
        await until("an answer", lambda: talk.said["assistant"])
        await talk.session.wait_for_playback()
        keep("heard", talk.heard)
        tell("spoken", user=talk.said["user"][-1], answer=talk.said["assistant"][-1])


async def tool() -> None:
    async with talking() as talk:
        tell("tool", answer=await talk.write("What time is it?"))


async def interruption() -> None:
    async with talking(quicker=1.0, barge_in=True) as talk:
        await talk.session.send("Tell me a story.")
        await until("some of it", lambda: talk.played > 3)
        await talk.session.send_audio(live(speech() + silence(2)))
        await until("the user's words", lambda: talk.said["user"])
        await until("an answer to them", lambda: len(talk.said["assistant"]) >= 2)
        await talk.session.wait_for_playback()
        tell("spoken", user=talk.said["user"][-1], answer=talk.said["assistant"][-1])
        played = talk.played
        await talk.session.send("Tell me a story.")
        await until("some of it", lambda: talk.played > played + 1)
        await talk.session.interrupt(played_ms=1000)
        await until("what there is of it", lambda: len(talk.said["assistant"]) >= 3)
        tell("text", answer=await talk.write("The moon is bright."))


async def update() -> None:
    """It configures a session once, when it opens it, and adds system messages later."""
    made: Agent[None, str] = Agent(instructions="Speak of boats.")
    settings = {
        "max_tokens": 500,
        "parallel_tool_calls": False,
        "thinking": "low",
        "tool_choice": "none",
        "openai_voice": "cedar",
        "openai_input_noise_reduction": "far_field",
        "openai_output_speed": 1.2,
        "openai_turn_detection": {"type": "semantic_vad", "eagerness": "high"},
        "openai_truncation": {"type": "retention_ratio", "retention_ratio": 0.8},
    }
    # Only for a model of this name does it say how hard to think.
    async with talking(made, name="gpt-realtime-2.1", **settings) as talk:
        await talk.session.send(SystemPromptPart("The user is at sea."), respond=False)
        tell("text", answer=await talk.write("What time is it?"))


async def error() -> None:
    async with talking(turn_detection=False) as talk:
        await talk.session.commit_audio()
        await until("the error", lambda: talk.errors)
        tell("refused", code=talk.errors[-1])
        tell("text", answer=await talk.write("The sun is warm."))


async def reconnect() -> None:
    async with talking(reconnect={"base_delay": 0.1}) as talk:
        tell("before", answer=await talk.write("The moon is bright."))
        await cut()
        await until("the new connection", lambda: talk.reconnects)
        tell("text", answer=await talk.write("The sun is warm."))


play(
    {
        "text": text,
        "spoken": spoken,
        "tool": tool,
        "interruption": interruption,
        "update": update,
        "error": error,
        "reconnect": reconnect,
    }
)
