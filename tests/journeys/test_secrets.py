"""The provider's key is in no answer, no log line and no error, whatever goes wrong."""

from __future__ import annotations

import signal
from pathlib import Path

import httpx

from tests.journeys.process import Server
from tests.offers import OFFER
from vivavoce.testing.provider import ScriptedProvider
from vivavoce.testing.realtime.faults import Drop, HttpError

KEY = "sk-very-secret-0123456789abcdef"


async def test_the_key_shows_up_nowhere(tmp_path: Path) -> None:
    shown: list[str] = []
    async with ScriptedProvider(key=KEY) as provider:
        server = Server(provider, tmp_path, VIVAVOCE_LOG_LEVEL="debug", VIVAVOCE_LOG_PRIVATE="true")
        await server.start()

        async def keep(response: httpx.Response) -> None:
            shown.append(f"{response.headers} {(await response.aread()).decode()}")

        hooks = {"response": [keep]}
        async with httpx.AsyncClient(base_url=server.url, timeout=30, event_hooks=hooks) as http:
            session = (await http.post("/session")).json()
            ephemeral = session["client_secret"]["value"]
            headers = {"content-type": "application/sdp", "authorization": f"Bearer {ephemeral}"}
            assert (await http.post("/sdp", content=OFFER, headers=headers)).status_code == 200
            call = await provider.next_call()
            await call.attached()
            await call.calls_tool("current_time", {}, call_id="call_1")
            await call.expect("conversation.item.create")
            await call.inject(Drop())
            await call.attached()
            for status in (401, 400, 404):
                provider.inject(HttpError(status, message=f"Incorrect API key provided: {KEY}"))
                assert (await http.post("/session")).status_code in (200, 502)
            for path in ("/config", "/status", "/ready", "/health", "/metrics", "/openapi.json"):
                await http.get(path)
            await http.get(f"/sessions/{session['session_id']}")
            await http.get("/events", params={"follow": "false"})
        assert await server.stop(signal.SIGINT) == 0
        log = server.log()
    assert len(shown) > 10
    assert len(log) > 1000, "the log was really at debug"
    for text in (*shown, log):
        assert KEY not in text
    assert ephemeral not in log
    # Of the data: nothing that was written holds the key either.
    for file in tmp_path.rglob("*"):
        if file.is_file():
            assert KEY.encode() not in file.read_bytes(), file.name
