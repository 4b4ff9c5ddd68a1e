"""`/sdp` and `/ice-config`: an offer, a key that opens once, an answer."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.offers import OFFER
from tests.server.doors import doors, refused
from vivavoce.server import services
from vivavoce.server.gate.tickets import home_of
from vivavoce.store import open_store
from vivavoce.testing import ManualClock
from vivavoce.testing.realtime.faults import HttpError


async def test_an_offer_is_exchanged_for_an_answer(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        opened = await d.post("/session")
        response = await d.sdp(opened["client_secret"]["value"])
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("application/sdp")
        assert response.text.startswith("v=0")
        call = await d.provider.next_call()
        assert call.offer == OFFER
        assert call.authorised_by == "secret"


async def test_a_key_opens_once(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        key = (await d.post("/session"))["client_secret"]["value"]
        assert (await d.sdp(key)).status_code == 200
        response = await d.sdp(key)
        refused(response, 401, "unauthorized")
        assert response.headers["www-authenticate"] == "Bearer"
        assert len(d.provider.calls) == 1


async def test_a_key_opens_for_a_minute(tmp_path: Path) -> None:
    clock = ManualClock()
    async with doors(tmp_path, clock=clock) as d:
        early = (await d.post("/session"))["client_secret"]["value"]
        late = (await d.post("/session"))["client_secret"]["value"]
        await clock.advance(59)
        assert (await d.sdp(early)).status_code == 200
        await clock.advance(1)
        refused(await d.sdp(late), 401, "token_expired")
        assert len(d.provider.calls) == 1


async def test_a_key_opens_its_own_session_and_no_other(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        mine = await d.post("/session", {"voice": "cedar"})
        theirs = await d.post("/session", {"voice": "ash"}, headers={"x-user-id": "eve"})
        headers = {
            "content-type": "application/sdp",
            "authorization": f"Bearer {theirs['client_secret']['value']}",
            "x-session-id": mine["session_id"],
        }
        await d.http.post("/sdp", content=OFFER, headers=headers)
        call = await d.provider.next_call()
        assert call.session["audio"]["output"]["voice"] == "ash"
        assert (await d.state(mine["session_id"]))["state"] == "disconnected"


async def test_the_key_of_a_session_that_ended_opens_nothing(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        opened = await d.post("/session")
        await d.post(f"/sessions/{opened['session_id']}/end")
        refused(await d.sdp(opened["client_secret"]["value"]), 401, "unauthorized")


async def test_a_key_outlives_an_offer_that_is_none(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        key = (await d.post("/session"))["client_secret"]["value"]
        for offer in ("", "hello", "v=0\r\nm=video 9 X 1\r\n", "v=0\r\nm=audio " + "x" * 70_000):
            refused(await d.sdp(key, offer), 400, "invalid_sdp")
        headers = {"content-type": "application/sdp", "authorization": f"Bearer {key}"}
        latin = await d.http.post("/sdp", content=b"v=0\r\n\xff", headers=headers)
        refused(latin, 400, "invalid_sdp")
        assert (await d.sdp(key)).status_code == 200


async def test_an_offer_without_a_key_or_of_another_kind_is_refused(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        key = (await d.post("/session"))["client_secret"]["value"]
        sdp, known = {"content-type": "application/sdp"}, {"authorization": f"Bearer {key}"}
        refused(await d.http.post("/sdp", content=OFFER, headers=sdp), 401, "unauthorized")
        basic = sdp | {"authorization": f"Basic {key}"}
        refused(await d.http.post("/sdp", content=OFFER, headers=basic), 401, "unauthorized")
        refused(await d.sdp("ek_made_up"), 401, "unauthorized")
        refused(await d.sdp(str(d.provider.key)), 401, "unauthorized")
        plain = known | {"content-type": "text/plain"}
        response = await d.http.post("/sdp", content=OFFER, headers=plain)
        refused(response, 415, "unsupported_media_type")


async def test_a_call_that_the_provider_refuses_is_a_502_and_can_be_tried_again(
    tmp_path: Path,
) -> None:
    async with doors(tmp_path) as d:
        opened = await d.post("/session")
        echo = f"No: {d.provider.key}"
        d.provider.inject(HttpError(400, path="/calls", message=echo))
        response = await d.sdp(opened["client_secret"]["value"])
        refused(response, 502, "openai_error")
        assert str(d.provider.key) not in response.text
        again = await d.get("/session/reconnect", params={"session_id": opened["session_id"]})
        assert again["session_id"] == opened["session_id"]
        assert (await d.sdp(again["ephemeral_key"])).status_code == 200


async def test_no_answer_contains_the_providers_key_or_secret(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        opened = await d.http.post("/session")
        session_id = opened.json()["session_id"]
        name = {"session_id": session_id}
        answers = [
            opened,
            await d.sdp(opened.json()["client_secret"]["value"]),
            await d.http.get("/session/reconnect", params=name),
            await d.http.post(f"/sessions/{session_id}/resume"),
            await d.http.post("/session/restore", json={"prev_session_id": session_id}),
            await d.http.get("/session", params=name),
            await d.http.get("/config"),
            await d.http.get("/status"),
            await d.http.get("/metrics"),
            await d.http.get("/events", params={"follow": False, "last_event_id": 0}),
        ]
        secrets = [str(d.provider.key), *d.provider._secrets]
        assert len(secrets) > 3
        for response in answers:
            assert response.status_code == 200
            assert not [secret for secret in secrets if secret in response.text]
        assert re.match("ek_", opened.json()["client_secret"]["value"])


async def test_ice_servers_are_the_operators(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        assert await d.get("/ice-config") == {"ice_servers": [], "ice_transport_policy": "all"}
    servers = ({"urls": ["stun:stun.example.org"]}, {"urls": ["turn:t"], "username": "u"})
    async with doors(tmp_path, ice_servers=servers) as d:
        assert (await d.get("/ice-config"))["ice_servers"] == list(servers)
    async with doors(tmp_path, ice_servers=servers, ice_transport_policy="relay") as d:
        assert (await d.get("/ice-config"))["ice_transport_policy"] == "relay"


async def test_made_up_keys_of_another_server_do_not_fill_the_database_they_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "CONNECTING_SECONDS", 0.5)
    monkeypatch.setattr("vivavoce.runtime.relay.PATIENCE", 0.5)
    url = f"sqlite:///{tmp_path}/shared.db"
    async with doors(tmp_path, store=open_store(url), instance="here") as d:
        there = open_store(url)
        await there.open()
        await there.join("there", 60)
        forged = [f"ek_{'A' * 30}{number:03}-{home_of('there')}" for number in range(50)]
        answers = await asyncio.gather(*map(d.sdp, forged))
        told = Counter(one.json()["error"]["code"] for one in answers)
        assert told["service_unavailable"] == 50 - services.MOST_PASSED_ON, told
        assert "at 'there'" in answers[-1].json()["error"]["message"]
        opened = await d.post("/session")
        assert (await d.sdp(opened["client_secret"]["value"])).status_code == 200
        assert (await d.sdp(forged[0])).json()["error"]["code"] != "service_unavailable"
        await there.close()
