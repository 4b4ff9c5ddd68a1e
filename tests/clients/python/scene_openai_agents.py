"""`RealtimeRunner` of openai-agents over its own WebSocket: only the address and the key are ours.

The address has to name a model; in the session the library names its own default.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agents import function_tool, set_tracing_disabled
from agents.realtime import (
    RealtimeAgent,
    RealtimeModelSendInterrupt,
    RealtimeModelSendRawMessage,
    RealtimeRunner,
)
from agents.realtime.session import RealtimeSession
from scene import cut, given, keep, live, pieces, play, silence, speech, tell, until

set_tracing_disabled(True)  # its own traces go to OpenAI; the session's `tracing` stays


@function_tool(name_override=given["tool"])
def clock() -> str:
    """The time of day."""
    tell("called")
    return str(given["time"])


AGENT = RealtimeAgent(name="tester", instructions="Be brief.", tools=[clock])


class Talk:
    def __init__(self, session: RealtimeSession) -> None:
        self.session = session
        self.heard = b""
        self.history: list[object] = []
        self.errors: list[str] = []
        self.interruptions = 0
        self.turns = 0
        self.ended = False

    async def watch(self) -> None:
        try:
            async for event in self.session:
                self._take(event)
        except Exception as lost:  # the connection; that is how it tells
            tell("lost", error=repr(lost))
        self.ended = True

    def _take(self, event) -> None:
        match event.type:
            case "audio":
                self.heard += event.audio.data
            case "audio_interrupted":
                self.interruptions += 1
            case "agent_end":
                self.turns += 1
            case "history_updated":
                self.history = event.history
            case "history_added":
                known = [item for item in self.history if item.item_id != event.item.item_id]
                self.history = [*known, event.item]
            case "error":
                self.errors.append(getattr(event.error, "code", None) or repr(event.error))
                tell("error", error=repr(event.error))

    def said(self, role: str = "assistant") -> list[str]:
        done = [
            item
            for item in self.history
            if item.type == "message"
            and item.role == role
            and getattr(item, "status", "completed") in (None, "completed")
        ]
        texts = ["".join(_text(part) for part in item.content) for item in done]
        return [text for text in texts if text]

    async def write(self, text: str) -> str:
        before = len(self.said())
        await self.session.send_message(text)
        await until("an answer", lambda: len(self.said()) > before)
        return self.said()[-1]


def _text(part) -> str:
    return getattr(part, "transcript", None) or getattr(part, "text", None) or ""


@asynccontextmanager
async def talking(**settings: object) -> AsyncIterator[Talk]:
    address = f"{given['url'].replace('http', 'ws', 1)}/realtime?model={given['model']}"
    runner = RealtimeRunner(AGENT, config={"model_settings": settings})
    async with (
        await runner.run(model_config={"url": address, "api_key": given["key"]}) as session,
        asyncio.TaskGroup() as group,
    ):
        talk = Talk(session)
        watching = group.create_task(talk.watch())
        yield talk
        watching.cancel()


async def text() -> None:
    async with talking() as talk:
        tell("text", answer=await talk.write("The moon is bright."))


async def spoken() -> None:
    async with talking() as talk:
        for piece in pieces(speech() + silence(3)):
            await talk.session.send_audio(piece)
        await until("the user's words", lambda: talk.said("user"))
        await until("an answer", talk.said)
        keep("heard", talk.heard)
        tell("spoken", user=talk.said("user")[-1], answer=talk.said()[-1])


async def tool() -> None:
    async with talking() as talk:
        tell("tool", answer=await talk.write("What time is it?"))


async def interruption() -> None:
    async with talking() as talk:
        await talk.session.send_message("Tell me a story.")
        await until("some of it", lambda: len(talk.heard) > 48_000 * 3)
        async for piece in live(speech() + silence(2)):
            await talk.session.send_audio(piece)
        await until("the interruption", lambda: talk.interruptions)
        await until("the user's words", lambda: len(talk.said("user")) >= 2)
        await until("an answer to them", lambda: "garden" in "".join(talk.said()[-1:]))
        await until("the end of both answers", lambda: talk.turns >= 2)
        tell("spoken", user=talk.said("user")[-1], answer=talk.said()[-1])
        heard = len(talk.heard)
        await talk.session.send_message("Tell me a story.")
        await until("some of it", lambda: len(talk.heard) > heard + 48_000)
        # `session.interrupt()` leaves it to the server's ears to cancel; this is for buttons.
        await talk.session.model.send_event(RealtimeModelSendInterrupt(force_response_cancel=True))
        await until("the end of the story", lambda: talk.turns >= 3)
        tell("text", answer=await talk.write("The moon is bright."))


async def update() -> None:
    settings = {
        "audio": {
            "input": {
                "noise_reduction": {"type": "far_field"},
                "transcription": {
                    "model": "gpt-live-transcribe",
                    "languages": ["en"],
                    "keywords": ["boat"],
                    "delay": "low",
                },
                "turn_detection": {"type": "server_vad", "threshold": 0.6},
            },
            "output": {"voice": "cedar", "speed": 1.2},
        },
        "max_output_tokens": 500,
        "parallel_tool_calls": False,
        "reasoning": {"effort": "low"},
        "tool_choice": "auto",
        "tracing": {"workflow_name": "talk", "group_id": "tests", "metadata": {"of": "ours"}},
    }
    async with talking(**settings) as talk:
        await talk.write("The moon is bright.")
        await talk.session.update_agent(
            RealtimeAgent(name="sailor", instructions="Speak of boats.")
        )
        tell("text", answer=await talk.write("What time is it?"))


async def error() -> None:
    async with talking() as talk:
        cut_off = {"item_id": "item_of_nobody", "content_index": 0, "audio_end_ms": 0}
        await talk.session.model.send_event(
            RealtimeModelSendRawMessage(
                message={"type": "conversation.item.truncate", "other_data": cut_off}
            )
        )
        await until("the error", lambda: talk.errors)
        tell("refused", code=talk.errors[-1])
        tell("text", answer=await talk.write("The sun is warm."))


async def reconnect() -> None:
    """It does not come back by itself: the program that uses it opens another session."""
    async with talking() as talk:
        tell("before", answer=await talk.write("The moon is bright."))
        await cut()
        await until("the end of the session", lambda: talk.ended)
    async with talking() as talk:
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
