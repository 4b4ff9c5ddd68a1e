"""Pipecat's `OpenAIRealtimeLLMService` in a pipeline: only the address and the key are ours.

Between a microphone and a loudspeaker, which are a transport of Pipecat's own kind. It takes
a written turn only at its beginning, so the turns after that are spoken.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from loguru import logger
from pipecat.frames.frames import (
    ErrorFrame,
    Frame,
    InputAudioRawFrame,
    LLMRunFrame,
    LLMSetToolsFrame,
    LLMUpdateSettingsFrame,
    OutputAudioRawFrame,
    StartFrame,
)
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair
from pipecat.services.llm_service import FunctionCallParams
from pipecat.services.openai.realtime.events import (
    AudioConfiguration,
    AudioInput,
    AudioOutput,
    InputAudioNoiseReduction,
    InputAudioTranscription,
    Reasoning,
    SemanticTurnDetection,
    SessionProperties,
    TurnDetection,
)
from pipecat.services.openai.realtime.llm import OpenAIRealtimeLLMService
from pipecat.transports.base_input import BaseInputTransport
from pipecat.transports.base_output import BaseOutputTransport
from pipecat.transports.base_transport import TransportParams
from pipecat.workers.runner import WorkerRunner
from scene import RATE, cut, given, keep, live, pieces, play, silence, speech, tell, until

logger.remove()
logger.add(sys.stderr, level="WARNING")


class Microphone(BaseInputTransport):
    async def start(self, frame: StartFrame) -> None:
        await super().start(frame)
        await self.set_transport_ready(frame)

    async def say(self, pcm: bytes) -> None:
        for piece in pieces(pcm):
            await self.push_audio_frame(InputAudioRawFrame(piece, RATE, 1))


class Loudspeaker(BaseOutputTransport):
    """Plays as long as a real one would, or so many times quicker."""

    def __init__(self, params: TransportParams, quicker: float) -> None:
        super().__init__(params)
        self.heard = b""
        self._quicker = quicker

    async def start(self, frame: StartFrame) -> None:
        await super().start(frame)
        await self.set_transport_ready(frame)

    async def write_audio_frame(self, frame: OutputAudioRawFrame) -> bool:
        self.heard += frame.audio
        await asyncio.sleep(len(frame.audio) / 2 / RATE / self._quicker)
        return True


async def current_time(params: FunctionCallParams) -> None:
    """The time of day."""
    tell("called")
    await params.result_callback({"time": given["time"]})


class Talk:
    def __init__(self, first: str | None, quicker: float) -> None:
        first_words = [{"role": "user", "content": first}] if first else []
        self.context = LLMContext(first_words, tools=[current_time])
        self.llm = OpenAIRealtimeLLMService(
            api_key=given["key"],
            base_url=f"{given['url'].replace('http', 'ws', 1)}/realtime",
            settings=OpenAIRealtimeLLMService.Settings(
                system_instruction="Be brief.",
                session_properties=SessionProperties(
                    audio=AudioConfiguration(
                        input=AudioInput(
                            transcription=InputAudioTranscription(),
                            turn_detection=SemanticTurnDetection(),
                            noise_reduction=InputAudioNoiseReduction(type="near_field"),
                        )
                    )
                ),
            ),
        )
        params = TransportParams(audio_in_enabled=True, audio_out_enabled=True)
        self.microphone = Microphone(params)
        self.speaker = Loudspeaker(params, quicker)
        user, assistant = LLMContextAggregatorPair(self.context)
        self.worker = PipelineWorker(
            Pipeline([self.microphone, user, self.llm, self.speaker, assistant]),
            params=PipelineParams(audio_in_sample_rate=RATE, audio_out_sample_rate=RATE),
        )
        self.errors: list[str] = []

    def said(self, role: str = "assistant") -> list[str]:
        found = [one for one in self.context.get_messages() if one.get("role") == role]
        return [str(one.get("content")) for one in found if one.get("content")]

    async def queue(self, frame: Frame) -> None:
        await self.worker.queue_frame(frame)

    async def answer(self, before: int = 0) -> str:
        await until("an answer", lambda: len(self.said()) > before)
        return self.said()[-1]

    async def say(self, pcm: bytes) -> str:
        before = len(self.said())
        await self.microphone.say(pcm + silence(2))
        return await self.answer(before)


@asynccontextmanager
async def talking(first: str | None = None, quicker: float = 50.0) -> AsyncIterator[Talk]:
    talk = Talk(first, quicker)

    @talk.worker.event_handler("on_pipeline_error")
    async def _(_worker: PipelineWorker, frame: ErrorFrame) -> None:
        talk.errors.append(frame.error)
        tell("error", error=frame.error)

    started = asyncio.Event()

    @talk.worker.event_handler("on_pipeline_started")
    async def _(_worker: PipelineWorker, _frame: StartFrame) -> None:
        started.set()

    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(talk.worker)
    async with asyncio.TaskGroup() as group:
        group.create_task(runner.run())
        await started.wait()
        await talk.queue(LLMRunFrame())
        yield talk
        await talk.worker.cancel()


async def text() -> None:
    async with talking("The moon is bright.") as talk:
        tell("text", answer=await talk.answer())


async def spoken() -> None:
    async with talking("Hello.") as talk:
        await talk.answer()
        heard = len(talk.speaker.heard)
        answer = await talk.say(speech())
        keep("heard", talk.speaker.heard[heard:])
        tell("spoken", user=talk.said("user")[-1], answer=answer)


async def tool() -> None:
    async with talking("What time is it?") as talk:
        await until("the time", lambda: "9:30" in "".join(talk.said()[-1:]))
        tell("tool", answer=talk.said()[-1])


async def interruption() -> None:
    async with talking("Tell me a story.", quicker=1.0) as talk:
        await until("some of it", lambda: len(talk.speaker.heard) > RATE * 2 * 3)
        async for piece in live(speech() + silence(2)):
            await talk.microphone.say(piece)
        await until("the user's words", lambda: len(talk.said("user")) >= 2)
        await until("an answer to them", lambda: "garden" in "".join(talk.said()[-1:]))
        tell("spoken", user=talk.said("user")[-1], answer=talk.said()[-1])
        tell("text", answer=await talk.say(speech("moon")))


async def update() -> None:
    async with talking("The moon is bright.") as talk:
        await talk.answer()
        settings = OpenAIRealtimeLLMService.Settings(
            system_instruction="Speak of boats.",
            session_properties=SessionProperties(
                audio=AudioConfiguration(
                    input=AudioInput(
                        transcription=InputAudioTranscription("whisper-1", "en", "boats"),
                        turn_detection=TurnDetection(),
                    ),
                    output=AudioOutput(speed=1.2),
                ),
                include=["item.input_audio_transcription.logprobs"],
                max_output_tokens=500,
                reasoning=Reasoning(effort="low"),
                tool_choice="auto",
                tracing={"workflow_name": "talk", "group_id": "tests"},
            ),
        )
        await talk.queue(LLMUpdateSettingsFrame(delta=settings))
        await talk.queue(LLMSetToolsFrame(tools=[]))
        tell("text", answer=await talk.say(speech("clock")))


async def error() -> None:
    async with talking("The moon is bright.") as talk:
        await talk.answer()
        try:
            await talk.llm.retrieve_conversation_item("item_of_nobody")
        except Exception as refusal:  # it tells the words, and lives on for this code alone
            tell("refused", code="item_retrieve_invalid_item_id", message=str(refusal))
        tell("text", answer=await talk.say(speech("sun")))


async def reconnect() -> None:
    """It does not come back by itself: the program that uses it asks it to."""
    async with talking("The moon is bright.") as talk:
        tell("before", answer=await talk.answer())
        await cut()
        await talk.llm.reset_conversation()
        tell("text", answer=await talk.say(speech("sun")))


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
