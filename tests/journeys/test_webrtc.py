"""A real WebRTC call through `/sdp`: sound and data flow between the client and the provider.

Both ends are aiortc. The server carries only the offer and the answer, as written.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aioice.ice
import pytest
from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import AudioStreamTrack, MediaStreamTrack

from tests.journeys.stage import stage
from vivavoce.testing.provider import ScriptedProvider


@asynccontextmanager
async def peer() -> AsyncIterator[RTCPeerConnection]:
    connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))  # nobody outside is asked
    try:
        yield connection
    finally:
        await connection.close()


async def test_sound_and_data_flow_between_the_browser_and_the_provider(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # aioice leaves loopback out; here it is the only way there should be.
    monkeypatch.setattr(aioice.ice, "get_host_addresses", lambda use_ipv4, use_ipv6: ["127.0.0.1"])
    heard: asyncio.Queue[MediaStreamTrack] = asyncio.Queue(4)
    messages: asyncio.Queue[str] = asyncio.Queue(4)
    async with peer() as browser, peer() as service:
        service.on("track", heard.put_nowait)
        service.on("datachannel", lambda channel: channel.on("message", messages.put_nowait))

        async def answer(offer: str) -> str:
            await service.setRemoteDescription(RTCSessionDescription(offer, "offer"))
            service.addTrack(AudioStreamTrack())
            await service.setLocalDescription(await service.createAnswer())
            return str(service.localDescription.sdp)

        async with stage(tmp_path, ScriptedProvider(answer=answer)) as st:
            browser.addTrack(AudioStreamTrack())
            channel = browser.createDataChannel("oai-events")
            channel.on("open", lambda: channel.send('{"type": "hello"}'))
            await browser.setLocalDescription(await browser.createOffer())
            session = await st.post("/session")
            watcher = await st.watch(session["session_id"])
            response = await st.http.post(
                "/sdp",
                content=browser.localDescription.sdp,
                headers={
                    "content-type": "application/sdp",
                    "authorization": f"Bearer {session['client_secret']['value']}",
                },
            )
            assert response.status_code == 200
            assert response.headers["content-type"].startswith("application/sdp")
            await browser.setRemoteDescription(RTCSessionDescription(response.text, "answer"))
            async with asyncio.timeout(20):
                track = await heard.get()
                assert track.kind == "audio"
                await track.recv()  # a frame of real, decrypted, decoded sound
                assert await messages.get() == '{"type": "hello"}'
            call = await st.provider.next_call()
            await call.user_says("Can you hear me?")
            assert (await watcher.wait_for("transcription.completed"))["role"] == "user"
