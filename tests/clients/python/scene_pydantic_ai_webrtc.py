"""Pydantic AI on a call by WebRTC: it relays the offer and takes a seat beside the call.

The browser is aiortc. Only the address and the key are ours.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from fractions import Fraction
from typing import Any

import aioice.ice
import av
import httpx
from aiortc import MediaStreamTrack, RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import MediaStreamError
from pydantic_ai import Agent
from pydantic_ai.messages import (
    RealtimeOutputSpeechEndEvent,
    RealtimeOutputSpeechStartEvent,
    RealtimeSessionReconnectEvent,
)
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.realtime import RealtimeSession, WebRTCSession
from pydantic_ai.realtime.openai import OpenAIRealtimeModel
from scene import RATE, cut, given, keep, pieces, play, said, speech, tell, until

# aioice leaves loopback out; here it is the only way there should be.
aioice.ice.get_host_addresses = lambda use_ipv4, use_ipv6: ["127.0.0.1"]


class Microphone(MediaStreamTrack):
    kind = "audio"

    def __init__(self) -> None:
        super().__init__()
        self._ahead: list[bytes] = []
        self._sent, self._began = 0, 0.0

    async def say(self, pcm: bytes) -> None:
        await said(len(pcm) // 2 * 1000 // RATE)
        self._ahead.extend(pieces(pcm)[:-1])

    async def recv(self) -> av.AudioFrame:
        self._began = self._began or time.monotonic()
        await asyncio.sleep(self._began + self._sent / RATE - time.monotonic())
        frame = av.AudioFrame(format="s16", layout="mono", samples=RATE // 50)
        frame.planes[0].update(self._ahead.pop(0) if self._ahead else bytes(RATE // 50 * 2))
        frame.sample_rate, frame.pts, frame.time_base = RATE, self._sent, Fraction(1, RATE)
        self._sent += RATE // 50
        return frame


class Browser:
    def __init__(self) -> None:
        self.connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self.microphone = Microphone()
        self.connection.addTrack(self.microphone)
        self.channel = self.connection.createDataChannel("oai-events")
        self.heard = b""

    async def offer(self) -> str:
        await self.connection.setLocalDescription(await self.connection.createOffer())
        return str(self.connection.localDescription.sdp)

    async def accept(self, answer: str) -> None:
        await self.connection.setRemoteDescription(RTCSessionDescription(answer, "answer"))
        await until("the call", lambda: self.channel.readyState == "open")

    async def listen(self) -> None:
        track = self.connection.getReceivers()[0].track
        narrow = av.AudioResampler(format="s16", layout="mono", rate=RATE)
        with contextlib.suppress(MediaStreamError):
            while True:
                for frame in narrow.resample(await track.recv()):
                    self.heard += frame.to_ndarray().tobytes()


def clock() -> str:
    """The time of day."""
    tell("called")
    return str(given["time"])


def agent(instructions: str = "Be brief.", *, tools: bool = True) -> Agent[None, str]:
    made: Agent[None, str] = Agent(instructions=instructions)
    if tools:
        made.tool_plain(name=given["tool"])(clock)
    return made


def model() -> OpenAIRealtimeModel:
    provider = OpenAIProvider(base_url=given["url"], api_key=given["key"])
    return OpenAIRealtimeModel(given["model"], provider=provider)


class Talk:
    def __init__(self, session: RealtimeSession, browser: Browser) -> None:
        self.session, self.browser = session, browser
        self.said: dict[str, list[str]] = {"user": [], "assistant": []}
        self.reconnects = 0
        self.playing = False

    async def watch(self) -> None:
        async for event in self.session:
            if isinstance(event, RealtimeOutputSpeechStartEvent | RealtimeOutputSpeechEndEvent):
                self.playing = isinstance(event, RealtimeOutputSpeechStartEvent)
            elif isinstance(event, RealtimeSessionReconnectEvent):
                self.reconnects += 1

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
async def seated(
    made: Agent[None, str], call: WebRTCSession, browser: Browser, **settings: Any
) -> AsyncIterator[Talk]:
    realtime = made.realtime(model(), model_settings=settings)
    async with realtime.session(provider_session=call) as session, asyncio.TaskGroup() as group:
        talk = Talk(session, browser)
        tasks = [group.create_task(job()) for job in (talk.watch, talk.read, browser.listen)]
        yield talk
        for task in tasks:
            task.cancel()


@asynccontextmanager
async def talking(**settings: Any) -> AsyncIterator[Talk]:
    browser, made = Browser(), agent()
    answer = await made.realtime(model()).answer_webrtc_offer(await browser.offer())
    await browser.accept(answer.sdp)
    async with seated(made, answer.session, browser, **settings) as talk:
        yield talk
        await talk.session.hang_up()
    await browser.connection.close()


async def text() -> None:
    async with talking() as talk:
        tell("text", answer=await talk.write("The moon is bright."))


async def spoken() -> None:
    async with talking() as talk:
        await talk.browser.microphone.say(speech())
        # On a machine with too much to do the sound may come with a pause, which ends a turn.
        heard, answers = talk.said["user"], talk.said["assistant"]
        await until("the user's words", lambda: "roses" in " ".join(heard))
        await until("an answer", lambda: len(answers) >= len(heard))
        await until("the end of its sound", lambda: not talk.playing)
        keep("heard", talk.browser.heard)
        tell("spoken", user=" ".join(heard), answer=answers[-1])


async def tool() -> None:
    async with talking() as talk:
        tell("tool", answer=await talk.write("What time is it?"))


async def interruption() -> None:
    async with talking() as talk:
        await talk.session.send("Tell me a story.")
        await until("its sound", lambda: talk.playing)
        await talk.browser.microphone.say(speech())
        await until("the user's words", lambda: talk.said["user"])
        await until("an answer to them", lambda: len(talk.said["assistant"]) >= 2)
        await until("the end of its sound", lambda: not talk.playing)
        tell("spoken", user=talk.said["user"][-1], answer=talk.said["assistant"][-1])
        await talk.session.send("Tell me a story.")
        await until("its sound", lambda: talk.playing)
        await talk.session.interrupt()
        await until("silence", lambda: not talk.playing)
        await until("what there is of it", lambda: len(talk.said["assistant"]) >= 3)
        tell("text", answer=await talk.write("The moon is bright."))


async def update() -> None:
    """A browser calls by itself, with a secret; who takes the seat configures the call anew."""
    browser = Browser()
    secret = await agent(tools=False).realtime(model()).create_client_secret()
    headers = {"Authorization": f"Bearer {secret.value}", "Content-Type": "application/sdp"}
    async with httpx.AsyncClient(trust_env=False) as http:
        answer = await http.post(secret.webrtc_url, content=await browser.offer(), headers=headers)
    answer.raise_for_status()
    await browser.accept(answer.text)
    call = WebRTCSession("openai", session_id=answer.headers["location"].rsplit("/", 1)[-1])
    sailor = agent("Speak of boats.", tools=False)
    async with seated(sailor, call, browser, openai_output_speed=1.2) as talk:
        tell("text", answer=await talk.write("What time is it?"))
        await talk.session.hang_up()
    await browser.connection.close()


async def error() -> None:
    nobody = WebRTCSession("openai", session_id="rtc_0123456789abcdef012345")
    try:
        async with seated(agent(), nobody, Browser()):
            raise AssertionError("there is no such call")
    except Exception as refusal:
        status = getattr(refusal, "status_code", None)
        tell("refused", code=f"HTTP {status}", message=repr(refusal))
    async with talking() as talk:
        tell("text", answer=await talk.write("The sun is warm."))


async def reconnect() -> None:
    """Its seat is lost, and the call goes on meanwhile."""
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
