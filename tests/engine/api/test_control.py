"""The control plane: secrets, calls, sidebands, hang-ups, limits; in OpenAI's shape."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest
from openai import AsyncOpenAI, AuthenticationError, BadRequestError
from openai.types.realtime import ClientSecretCreateResponse
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.engine.stage import KEY, OWN_KEY, EngineStage, Line, engine_server
from tests.offers import OFFER
from tests.server.serving import until
from vivavoce.engine.api.control import EngineOptions
from vivavoce.engine.shell.session import MAX_CLIENTS

REALTIME = {"type": "realtime", "model": "gpt-realtime", "instructions": "Be brief."}


async def refused(stage: EngineStage, query: str, **how: Any) -> tuple[int, dict[str, Any]]:
    with pytest.raises(InvalidStatus) as caught:
        await stage.line(query, **how)
    error: dict[str, Any] = orjson.loads(caught.value.response.body or b"{}")["error"]
    return caught.value.response.status_code, error


async def call_by_websocket(stage: EngineStage, key: str = OWN_KEY) -> tuple[str, str]:
    """A call that waits for its client: id and secret."""
    body = {"transport": "websocket", "session": REALTIME}
    answer = await stage.post("/realtime/calls", body, key=key)
    assert answer.status_code == 201, answer.text
    assert answer.headers["location"].endswith(answer.json()["id"])
    return answer.json()["id"], answer.json()["client_secret"]["value"]


def with_secret(secret: str) -> dict[str, Any]:
    return {"protocols": ["realtime", f"openai-insecure-api-key.{secret}"]}


# --- Keys and secrets ----------------------------------------------------------------------


async def test_nobody_comes_in_without_a_key_that_is_known() -> None:
    async with engine_server() as stage:
        for key in (None, "sk-other", "ek_made_up"):
            assert (await stage.post("/realtime/client_secrets", {}, key=key)).status_code == 401
            status, error = await refused(stage, "model=vivavoce", key=key)
            assert (status, error["code"]) == (401, "invalid_api_key")


async def test_a_client_secret_opens_several_sessions_until_it_lapses() -> None:
    async with engine_server() as stage:
        answer = await stage.post("/realtime/client_secrets", {"session": {"type": "realtime"}})
        first = await stage.line("model=gpt-realtime", **with_secret(answer.json()["value"]))
        second = await stage.line("model=another-name", **with_secret(answer.json()["value"]))
        shown = [line.seen[0]["session"] for line in (first, second)]
        assert [session["model"] for session in shown] == ["gpt-realtime", "another-name"]
        assert shown[0]["id"] == answer.json()["session"]["id"]
        assert shown[1]["id"] != shown[0]["id"]


async def test_where_the_operator_wants_it_a_client_secret_opens_its_session_once() -> None:
    async with engine_server(single_use=True) as stage:
        answer = await stage.post(
            "/realtime/client_secrets",
            {"session": REALTIME, "expires_after": {"anchor": "created_at", "seconds": 60}},
        )
        minted = ClientSecretCreateResponse.model_validate(answer.json(), strict=True)
        line = await stage.line("model=gpt-realtime", **with_secret(minted.value))
        assert line.socket.subprotocol == "realtime"
        session = line.seen[0]["session"]
        assert session["instructions"] == "Be brief."
        assert session["id"] == answer.json()["session"]["id"]
        await line.configure(instructions="A user's own key leaves its client free.")
        assert (await refused(stage, "model=gpt-realtime", **with_secret(minted.value)))[0] == 401


async def test_a_secret_of_our_own_server_lets_its_holder_talk_and_change_nothing() -> None:
    async with engine_server() as stage:
        minted = await stage.post("/realtime/client_secrets", {"session": REALTIME}, key=OWN_KEY)
        line = await stage.line("model=gpt-realtime", **with_secret(minted.json()["value"]))
        await line.send("session.update", session={"type": "realtime"}, event_id="x")
        fault = (await line.until("error"))["error"]
        assert (fault["code"], fault["event_id"]) == ("not_allowed", "x")
        for kind in ("conversation.item.create", "response.create", "conversation.item.delete"):
            await line.send(kind, event_id=kind)
            assert (await line.until("error"))["error"]["event_id"] == kind
        await line.speak()
        assert (await line.until("response.done"))["response"]["status"] == "completed"
        spent = await refused(stage, "model=gpt-realtime", **with_secret(minted.json()["value"]))
        assert spent[0] == 401, "the keys of our own pages open once"


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"sessio": {}}, "sessio"),
        ({"session": {"type": "realtime", "voise": 1}}, "session.voise"),
        ({"session": {"type": "realtime", "model": ["a"]}}, "session.model"),
        ({"expires_after": {"anchor": "created_at", "seconds": 5}}, "expires_after.seconds"),
    ],
)
async def test_a_secret_for_nonsense_is_refused_with_the_place(
    body: dict[str, Any], param: str
) -> None:
    async with engine_server() as stage:
        answer = await stage.post("/realtime/client_secrets", body)
        assert answer.status_code in (400, 404)
        assert answer.json()["error"]["param"] == param


async def test_models_are_listed_for_the_sdk() -> None:
    async with engine_server() as stage:
        client = AsyncOpenAI(base_url=stage.url, api_key=KEY)
        assert [model.id async for model in client.models.list()] == ["vivavoce"]
        for name in ("vivavoce", "gpt-realtime", "my-own-deployment"):
            found = await client.models.retrieve(name)
            assert (found.id, found.owned_by, found.object) == (name, "vivavoce", "model")
        with pytest.raises(AuthenticationError) as wrong:
            await client.with_options(api_key="sk-other").models.list()
        assert (wrong.value.code, wrong.value.type) == ("invalid_api_key", "invalid_request_error")
        await client.close()


async def test_what_is_not_there_is_a_404_in_openais_shape() -> None:
    async with engine_server() as stage:
        answer = await stage.post("/realtime/calls/rtc_x/refer", {})
        assert answer.status_code == 404
        assert answer.json()["error"]["type"] == "invalid_request_error"


# --- Calls and sidebands ----------------------------------------------------------------------


async def joined(stage: EngineStage) -> tuple[str, Line]:
    call_id, secret = await call_by_websocket(stage)
    return call_id, await stage.line(f"call_id={call_id}", **with_secret(secret))


async def test_a_call_has_one_microphone_and_many_observers() -> None:
    async with engine_server() as stage:
        call_id, peer = await joined(stage)
        first, second = [
            await stage.line(f"call_id={call_id}", key=OWN_KEY, greeted=False) for _ in range(2)
        ]
        await first.configure(instructions="From the sideband.")
        assert (await second.until("session.updated"))["session"]["instructions"]
        await peer.speak()
        for line in (peer, first, second):
            await line.until("response.done")
        assert peer.all("response.output_audio.delta")
        assert not first.all("response.output_audio.delta"), "observers are spared the sound"
        assert first.all("output_audio_buffer.started"), "and told that there is some"
        assert not peer.all("output_audio_buffer.started")
        assert first.types() == second.types()


async def test_only_the_calls_own_secret_has_the_microphone() -> None:
    async with engine_server() as stage:
        call_id, secret = await call_by_websocket(stage)
        other, _ = await call_by_websocket(stage)
        watcher = await stage.line(f"call_id={call_id}", key=OWN_KEY, greeted=False)
        await watcher.send("input_audio_buffer.append", audio="AAAA", event_id="a")
        assert (await watcher.until("error"))["error"]["code"] == "not_allowed"
        assert (await refused(stage, f"call_id={other}", **with_secret(secret)))[0] == 403


async def test_what_is_said_before_the_microphone_is_there_waits_for_it() -> None:
    async with engine_server() as stage:
        call_id, secret = await call_by_websocket(stage)
        sideband = await stage.line(f"call_id={call_id}", key=OWN_KEY, greeted=False)
        await sideband.configure(instructions="Greet the user.")
        await sideband.send("response.create")
        await sideband.until("response.done")
        peer = await stage.line(f"call_id={call_id}", **with_secret(secret))
        await peer.until("response.done")
        assert peer.all("response.output_audio.delta")
        assert peer.types()[:2] == ["session.created", "session.updated"]
        assert "Greet the user." not in str(peer.seen)


async def test_errors_go_to_whoever_made_them() -> None:
    async with engine_server() as stage:
        call_id, peer = await joined(stage)
        watcher = await stage.line(f"call_id={call_id}", key=OWN_KEY, greeted=False)
        await watcher.send("response.cancel", event_id="mine")
        await watcher.until("error")
        await watcher.configure()
        await peer.until("session.updated")
        assert not peer.all("error")


async def test_a_sideband_comes_and_goes_and_the_call_goes_on() -> None:
    async with engine_server() as stage:
        call_id, peer = await joined(stage)
        watcher = await stage.line(f"call_id={call_id}", key=OWN_KEY, greeted=False)
        await watcher.socket.close()
        await peer.speak()
        await peer.until("response.done")
        again = await stage.line(f"call_id={call_id}", key=OWN_KEY, greeted=False)
        await again.configure()


async def test_when_the_peer_hangs_up_the_sideband_closes_cleanly() -> None:
    async with engine_server() as stage:
        call_id, peer = await joined(stage)
        watcher = await stage.line(f"call_id={call_id}", key=OWN_KEY, greeted=False)
        await peer.socket.close()
        with pytest.raises(ConnectionClosed) as closed:
            await watcher.until("nothing more")
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1000
        await until(lambda: stage.engine.sessions == 0)
        status, error = await refused(stage, f"call_id={call_id}", key=OWN_KEY, greeted=False)
        assert (status, error["code"]) == (404, "call_id_not_found")


async def test_hanging_up_ends_the_call_for_everyone() -> None:
    async with engine_server() as stage:
        call_id, peer = await joined(stage)
        assert (await stage.post(f"/realtime/calls/{call_id}/hangup")).status_code == 200
        with pytest.raises(ConnectionClosed):
            await peer.until("nothing more")
        await until(lambda: stage.engine.sessions == 0)
        gone = await stage.post(f"/realtime/calls/{call_id}/hangup")
        assert (gone.status_code, gone.json()["error"]["code"]) == (404, "call_id_not_found")


async def test_a_call_nobody_joins_is_over_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vivavoce.engine.shell.calls.JOIN_SECONDS", 0.05)
    async with engine_server() as stage:
        await call_by_websocket(stage)
        await until(lambda: stage.engine.sessions == 0)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"v=0\r\n", "application/sdp"),
        (b"\xff", "application/sdp"),
        (b"hello", "text/plain"),
        (b"{}", "application/json"),
        (b"{", "application/json"),
        (b"", "multipart/form-data; boundary=x"),
    ],
)
async def test_an_offer_that_is_none_is_refused(content: bytes, kind: str) -> None:
    async with engine_server() as stage:
        headers = {"authorization": f"Bearer {KEY}", "content-type": kind}
        answer = await stage.http.post(
            f"{stage.url}/realtime/calls", content=content, headers=headers
        )
        assert answer.status_code == 400
        assert answer.json()["error"]["message"]
        assert stage.engine.sessions == 0


async def test_an_offer_of_an_old_browser_without_security_is_refused_and_leaves_nothing() -> None:
    async with engine_server() as stage:
        files = {
            "sdp": (None, OFFER, "application/sdp"),
            "session": (None, "{}", "application/json"),
        }
        headers = {"authorization": f"Bearer {KEY}"}
        answer = await stage.http.post(f"{stage.url}/realtime/calls", files=files, headers=headers)
        assert answer.status_code == 400, answer.text
        assert stage.engine.sessions == 0


# --- Limits -----------------------------------------------------------------------------------


async def test_a_full_engine_says_so_and_when_to_come_back() -> None:
    async with engine_server(options=EngineOptions(max_sessions=2)) as stage:
        first = await stage.line()
        await stage.line()
        status, error = await refused(stage, "model=vivavoce")
        assert (status, error["code"]) == (503, "service_unavailable")
        assert "2 sessions" in error["message"]
        await first.socket.close()
        await until(lambda: stage.engine.sessions == 1)
        await stage.line()


async def test_a_busy_machine_refuses_a_new_voice_and_nothing_else() -> None:
    busy = "The mouth is behind."
    async with engine_server(crowded=lambda: busy) as stage:
        call = {"transport": "websocket", "session": REALTIME}
        assert (await stage.post("/realtime/calls", call)).status_code == 201, "nobody is there"
        full = await stage.post("/realtime/calls", call)
        assert (full.status_code, full.json()["error"]["message"]) == (503, busy)
        assert full.headers["retry-after"]
        minted = await stage.post("/realtime/client_secrets", {"session": REALTIME})
        assert minted.status_code == 200, "when it will be used nobody knows"


async def test_who_hung_up_is_no_voice_while_the_call_is_put_away() -> None:
    async with engine_server(crowded=lambda: "The mouth is behind.") as stage:
        call = {"transport": "websocket", "session": REALTIME}
        assert (await stage.post("/realtime/calls", call)).status_code == 201
        (ending,) = stage.engine._calls.values()
        ending.session.end("hung up")
        stage.engine._weigh()  # at once: its task has not even run
        assert (await stage.post("/realtime/calls", call)).status_code == 201


async def test_our_own_server_is_told_when_it_mints_and_not_where_it_goes_on() -> None:
    async with engine_server(crowded=lambda: "The mouth is behind.") as stage:
        await call_by_websocket(stage, KEY)
        url, body = f"{stage.url}/realtime/client_secrets", {"session": REALTIME}
        headers = {"authorization": f"Bearer {OWN_KEY}"}
        assert (await stage.http.post(url, json=body, headers=headers)).status_code == 503
        headers["x-vivavoce-resumed"] = "true"
        assert (await stage.http.post(url, json=body, headers=headers)).status_code == 200
        await call_by_websocket(stage, OWN_KEY)


async def test_a_written_session_is_no_voice_until_it_brings_sound() -> None:
    async with engine_server(crowded=lambda: "The ears are behind.") as stage:
        alone = await stage.line()
        await alone.speak()
        await alone.until("response.done")
        written = await stage.line()
        await written.configure(output_modalities=["text"])
        await written.write("Hello.")
        assert (await written.answer())["status"] == "completed"
        await written.send("input_audio_buffer.append", audio="AAAA", event_id="sound")
        error = (await written.until("error"))["error"]
        assert (error["code"], error["event_id"]) == ("service_unavailable", "sound")
        with pytest.raises(ConnectionClosed) as closed:
            await written.next()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1013
        assert not alone.all("error")


async def test_before_its_models_are_loaded_the_engine_says_what_it_waits_for() -> None:
    async with engine_server(ready=False) as stage:
        status, error = await refused(stage, "model=vivavoce")
        assert (status, error["code"]) == (503, "model_unavailable")
        assert (
            await stage.http.get(f"{stage.url}/models", headers={"authorization": f"Bearer {KEY}"})
        ).status_code == 200


async def test_a_session_ends_at_its_cap_and_says_so() -> None:
    async with engine_server(options=EngineOptions(session_seconds=0.3)) as stage:
        line = await stage.line()
        assert (await line.until("error"))["error"]["code"] == "session_expired"
        with pytest.raises(ConnectionClosed):
            await line.next()


async def test_an_intent_that_means_nothing_is_refused() -> None:
    async with engine_server() as stage:
        assert (await refused(stage, "intent=song"))[0] == 400


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("model=gpt-realtime-2.1", "gpt-realtime-2.1"),
        ("model=whatever", "whatever"),
        ("api-version=2025-04-01-preview&deployment=my-voice", "my-voice"),
        ("model=whatever&safety_identifier=ann", "whatever"),
        ("", "vivavoce"),
    ],
)
async def test_the_engine_answers_to_every_models_name(query: str, shown: str) -> None:
    async with engine_server() as stage:
        line = await stage.line(query)
        assert line.seen[0]["session"]["model"] == shown


async def test_azures_header_has_the_key_too() -> None:
    async with engine_server() as stage:
        answer = await stage.http.get(f"{stage.url}/models", headers={"api-key": KEY})
        assert answer.status_code == 200


async def test_an_event_that_is_too_large_is_an_error_and_the_session_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("vivavoce.engine.api.realtime.MAX_FRAME", 5000)
    async with engine_server() as stage:
        line = await stage.line()
        await line.send("input_audio_buffer.append", audio="A" * 8000)
        assert (await line.until("error"))["error"]["code"] == "event_too_large"
        await line.configure(instructions="Still here.")


async def test_the_beta_subprotocol_is_refused_like_the_beta_header() -> None:
    async with engine_server() as stage:
        names = ["realtime", f"openai-insecure-api-key.{KEY}", "openai-beta.realtime-v1"]
        status, error = await refused(stage, "model=vivavoce", protocols=names)
        assert (status, error["code"]) == (400, "beta_api_shape_disabled")


async def test_the_beta_shape_is_refused_in_words() -> None:
    async with engine_server() as stage:
        client = AsyncOpenAI(
            base_url=stage.url, api_key=KEY, default_headers={"OpenAI-Beta": "realtime=v1"}
        )
        headers = {"OpenAI-Beta": "realtime=v1"}
        with pytest.raises(InvalidStatus) as caught:
            await client.realtime.connect(model="vivavoce", extra_headers=headers).enter()
        assert b"beta_api_shape_disabled" in (caught.value.response.body or b"")
        with pytest.raises(BadRequestError, match="The beta API is gone"):
            await client.realtime.client_secrets.create(extra_headers=headers)
        await client.close()


async def test_stopping_ends_every_call_and_leaves_nothing() -> None:
    async with engine_server() as stage:
        lines = [await stage.line() for _ in range(3)]
        await asyncio.gather(*(line.speak() for line in lines))
    assert stage.engine.sessions == 0


async def test_so_many_may_watch_a_call_and_no_more() -> None:
    async with engine_server() as stage:
        call_id, _ = await joined(stage)
        for _ in range(MAX_CLIENTS):
            await stage.line(f"call_id={call_id}", key=OWN_KEY, greeted=False)
        assert (await refused(stage, f"call_id={call_id}", key=OWN_KEY))[0] == 503
