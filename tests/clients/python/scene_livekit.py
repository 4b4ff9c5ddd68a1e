"""`AgentSession` of livekit-agents on its OpenAI plug-in: only the address and the key are ours.

A microphone and a loudspeaker take the place of a LiveKit room.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from livekit import rtc
from livekit.agents import Agent, AgentSession, function_tool
from livekit.agents.voice import io
from livekit.plugins.openai import realtime
from openai.types.realtime import AudioTranscription, RealtimeReasoning
from openai.types.realtime.realtime_session_create_response import TracingTracingConfiguration
from scene import RATE, cut, given, keep, live, pieces, play, silence, speech, tell, until

logging.basicConfig(level=logging.WARNING)


class Microphone(io.AudioInput):
    def __init__(self) -> None:
        super().__init__(label="microphone")
        self._frames: asyncio.Queue[rtc.AudioFrame] = asyncio.Queue()

    async def __anext__(self) -> rtc.AudioFrame:
        return await self._frames.get()

    def say(self, pcm: bytes) -> None:
        for piece in pieces(pcm):
            self._frames.put_nowait(rtc.AudioFrame(piece, RATE, 1, len(piece) // 2))


class Loudspeaker(io.AudioOutput):
    """Plays as long as a real one would, or so many times quicker."""

    def __init__(self, quicker: float = 1.0) -> None:
        super().__init__(
            label="loudspeaker",
            capabilities=io.AudioOutputCapabilities(pause=False),
            sample_rate=RATE,
        )
        self._quicker = quicker
        self.heard = b""
        self._seconds = 0.0
        self._since: float | None = None
        self._end: asyncio.TimerHandle | None = None

    @property
    def played(self) -> float:
        gone = 0.0 if self._since is None else time.monotonic() - self._since
        return min(gone * self._quicker, self._seconds)

    async def capture_frame(self, frame: rtc.AudioFrame) -> None:
        await super().capture_frame(frame)
        if self._since is None:
            self._since = time.monotonic()
            self.on_playback_started(created_at=time.time())
        self.heard += bytes(frame.data)
        self._seconds += frame.duration

    def flush(self) -> None:
        super().flush()
        if self._since is not None:
            left = (self._seconds - self.played) / self._quicker
            self._end = asyncio.get_running_loop().call_later(left, self._finish, False)

    def clear_buffer(self) -> None:
        if self._since is not None:
            self._finish(True)

    def _finish(self, interrupted: bool) -> None:
        if self._end is not None:
            self._end.cancel()
        position, self._seconds, self._since, self._end = self.played, 0.0, None, None
        self.on_playback_finished(playback_position=position, interrupted=interrupted)


@function_tool(name=given["tool"])
async def clock() -> str:
    """The time of day."""
    tell("called")
    return str(given["time"])


class Talk:
    def __init__(self, quicker: float) -> None:
        self.model = realtime.RealtimeModel(
            model=given["model"], base_url=given["url"], api_key=given["key"]
        )
        self.session: AgentSession[None] = AgentSession(llm=self.model)
        self.agent = Agent(instructions="Be brief.", tools=[clock])
        self.microphone, self.speaker = Microphone(), Loudspeaker(quicker)
        self.errors: list[str] = []
        self.user: list[str] = []

    def said(self, role: str = "assistant") -> list[str]:
        items = self.session.history.items
        return [
            one.text_content or "" for one in items if one.type == "message" and one.role == role
        ]

    async def write(self, text: str) -> str:
        before = len(self.said())
        await self.session.generate_reply(user_input=text)
        await until("an answer", lambda: len(self.said()) > before)
        return self.said()[-1]


@asynccontextmanager
async def talking(quicker: float = 50.0) -> AsyncIterator[Talk]:
    talk = Talk(quicker)
    talk.session.input.audio = talk.microphone
    talk.session.output.audio = talk.speaker

    @talk.session.on("error")
    def _(event) -> None:
        talk.errors.append(getattr(getattr(event.error.error, "body", None), "code", "") or "")
        tell("error", error=repr(event.error.error), recoverable=event.error.recoverable)

    @talk.session.on("user_input_transcribed")
    def _(event) -> None:
        if event.is_final:
            talk.user.append(event.transcript)

    await talk.session.start(talk.agent)
    try:
        yield talk
    finally:
        await talk.session.aclose()
        await talk.model.aclose()


async def text() -> None:
    async with talking() as talk:
        tell("text", answer=await talk.write("The moon is bright."))


async def spoken() -> None:
    async with talking() as talk:
        talk.microphone.say(speech() + silence(3))
        await until("the user's words", lambda: talk.user)
        await until("an answer", talk.said)
        keep("heard", talk.speaker.heard)
        tell("spoken", user=talk.user[-1], answer=talk.said()[-1])


async def tool() -> None:
    async with talking() as talk:
        tell("tool", answer=await talk.write("What time is it?"))


async def interruption() -> None:
    async with talking(quicker=1.0) as talk:
        story = talk.session.generate_reply(user_input="Tell me a story.")
        await until(
            "some of it, past what it keeps for its echo canceller", lambda: talk.speaker.played > 4
        )
        async for piece in live(speech() + silence(2)):
            talk.microphone.say(piece)
        await story
        tell("interrupted", interrupted=story.interrupted, told=talk.said())
        await until("the user's words", lambda: talk.user)
        await until("an answer to them", lambda: len(talk.said()) >= 2)
        tell("spoken", user=talk.user[-1], answer=talk.said()[-1])
        again = talk.session.generate_reply(user_input="Tell me a story.")
        await until(
            "some of it, past what it keeps for its echo canceller", lambda: talk.speaker.played > 4
        )
        await talk.session.interrupt()
        await again
        tell("stopped", interrupted=again.interrupted)
        tell("text", answer=await talk.write("The moon is bright."))


async def update() -> None:
    async with talking() as talk:
        await talk.agent.update_instructions("Speak of boats.")
        await talk.agent.update_tools([])
        talk.model.update_options(
            speed=1.2,
            tool_choice="none",
            max_response_output_tokens=500,
            input_audio_noise_reduction="far_field",
            input_audio_transcription=AudioTranscription(
                model="gpt-live-transcribe", languages=["en"], keywords=["boat"], delay="low"
            ),
            reasoning=RealtimeReasoning(effort="low"),
            tracing=TracingTracingConfiguration(workflow_name="talk", group_id="tests"),
            truncation="auto",
        )
        tell("text", answer=await talk.write("What time is it?"))


async def error() -> None:
    async with talking() as talk:
        await talk.write("The moon is bright.")
        talk.model.update_options(voice="cedar")
        await until("the error", lambda: talk.errors)
        tell("refused", code=talk.errors[-1])
        tell("text", answer=await talk.write("The sun is warm."))


async def reconnect() -> None:
    async with talking() as talk:
        tell("before", answer=await talk.write("The moon is bright."))
        back = asyncio.Event()
        talk.agent.realtime_llm_session.on("session_reconnected", lambda _: back.set())
        await cut()
        await back.wait()
        items = talk.agent.realtime_llm_session
        await until("the talk so far", lambda: len(items.chat_ctx.items) >= 2)
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
