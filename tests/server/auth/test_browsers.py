"""Pages of somebody else's: their backend's keys, their browsers' tokens, and who tries more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.journeys.stage import Stage, stage
from tests.offers import OFFER
from tests.server.auth.test_tokens import TOKEN
from tests.server.auth.test_tokens import _made as made
from tests.server.doors import Doors, Json, answered, doors, refused
from tests.server.tokens import ADA, EVE, SETTINGS, bearer
from tests.server.v1 import client as v1
from vivavoce.logs import Scrubber
from vivavoce.server.gate.browsers import KEY_SECONDS, TOKEN_SECONDS
from vivavoce.testing import ManualClock, MemoryStore

SHOP, OTHER = "https://shop.example", "https://other.example"
KEYS = "/api/v1/keys"
BY_TOKEN: Json = {"auth": "token", "auth_token": TOKEN, "allowed_origins": f"{SHOP},{OTHER}"}
BACKEND = {"authorization": f"Bearer {TOKEN}"}


def on(origin: str, token: str) -> dict[str, str]:
    """As a browser sends it from a page of that origin."""
    return {"authorization": f"Bearer {token}", "origin": origin, "sec-fetch-site": "cross-site"}


async def a_key(d: Doors, **body: Any) -> str:
    key: str = (await d.post(KEYS, body, headers=BACKEND))["key"]
    return key


async def a_token(d: Doors, user: str | None = "ada", origin: str = SHOP) -> str:
    """Without a user it is for whoever the backend's own token is."""
    key = await a_key(d, user_id=user)
    token: str = (await d.post(f"{KEYS}/exchange", headers=on(origin, key)))["token"]
    return token


# --- What a key and its token are for -----------------------------------------------------


async def test_a_backends_key_lets_one_browser_talk_as_its_user(tmp_path: Path) -> None:
    async with doors(tmp_path, **BY_TOKEN) as d:
        made_key = await d.post(KEYS, {"user_id": "ada", "origin": SHOP}, headers=BACKEND)
        assert made_key["key"].startswith("bk_")
        given = await d.post(f"{KEYS}/exchange", headers=on(SHOP, made_key["key"]))
        assert (given["user_id"], given["token_type"]) == ("ada", "Bearer")
        d.http.headers.update(on(SHOP, given["token"]))
        opened, call = await v1.talk(d)
        await call.user_says("Good morning")
        await d.until(opened["session_id"], "transcription.completed")
        said = await d.get(f"{v1.CONVERSATIONS}/{opened['conversation_id']}/messages")
        assert [one["content"] for one in said["messages"]] == ["Good morning"]
        session = await d.here.store.session(opened["session_id"], user_id="ada")
        assert session is not None
        assert session.role == "user", "whatever the role of whoever made the key"


async def test_a_key_works_once_and_for_a_minute(tmp_path: Path) -> None:
    clock = ManualClock()
    async with doors(tmp_path, clock=clock, **BY_TOKEN) as d:
        key = await a_key(d, user_id="ada")
        tries = [d.http.post(f"{KEYS}/exchange", headers=on(SHOP, key)) for _ in range(5)]
        codes = sorted(one.status_code for one in await asyncio.gather(*tries))
        assert codes == [200, 401, 401, 401, 401]
        old = await a_key(d, user_id="ada")
        await clock.advance(KEY_SECONDS)
        late = await d.http.post(f"{KEYS}/exchange", headers=on(SHOP, old))
        refused(late, 401, "token_expired")


async def test_a_browsers_token_lasts_ten_minutes_and_cannot_make_itself_another(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    async with doors(tmp_path, clock=clock, **BY_TOKEN) as d:
        token = await a_token(d)
        more = await d.http.post(KEYS, json={}, headers=on(SHOP, token))
        refused(more, 403, "forbidden")
        again = await d.http.post(f"{KEYS}/exchange", headers=on(SHOP, token))
        refused(again, 401, "unauthorized")
        await clock.advance(TOKEN_SECONDS)
        late = await d.http.get(v1.CONVERSATIONS, headers=on(SHOP, token))
        refused(late, 401, "token_expired")


async def test_a_key_opens_nothing_itself(tmp_path: Path) -> None:
    async with doors(tmp_path, **BY_TOKEN) as d:
        key = await a_key(d, user_id="ada")
        for path in (v1.CONVERSATIONS, "/sessions", "/tools", "/status"):
            refused(await d.http.get(path, headers=on(SHOP, key)), 401, "unauthorized")
        refused(await d.sdp(key), 401, "unauthorized")


async def test_each_browsers_user_has_what_is_theirs_and_nothing_of_others(tmp_path: Path) -> None:
    async with doors(tmp_path, **BY_TOKEN) as d:
        ada, eve = await a_token(d, "ada"), await a_token(d, "eve")
        hers = await d.post(v1.CONVERSATIONS, {"title": "Ada's"}, headers=on(SHOP, ada))
        path = f"{v1.CONVERSATIONS}/{hers['id']}/messages"
        assert (await d.http.get(path, headers=on(SHOP, ada))).status_code == 200
        refused(await d.http.get(path, headers=on(SHOP, eve)), 404, "not_found")
        refused(await d.http.get(path, headers=BACKEND), 404, "not_found")
        theirs = await d.get(v1.CONVERSATIONS, headers=on(SHOP, eve))
        assert theirs["total"] == 0


LESS = [
    ("GET", "/status"),
    ("GET", "/metrics"),
    ("GET", "/config"),
    ("POST", "/execute/bash"),
    ("POST", "/webhook/tool-call"),
    ("GET", "/api/v1/data"),
    ("DELETE", "/api/v1/data?confirm=everything"),
]


@pytest.mark.parametrize(("method", "path"), LESS)
async def test_a_browsers_token_is_a_plain_users(tmp_path: Path, method: str, path: str) -> None:
    async with doors(tmp_path, **BY_TOKEN) as d:
        token = await a_token(d)
        body: Json | None = {} if method == "POST" else None
        answer = await d.http.request(method, path, json=body, headers=on(SHOP, token))
        refused(answer, 403, "forbidden")


async def test_a_browsers_token_is_not_the_token_of_whoever_talks_as_the_default_user(
    tmp_path: Path,
) -> None:
    """What was led with the server's own token is not gone on with by a page."""
    async with doors(tmp_path, **BY_TOKEN) as d:
        opened, _ = await _as_backend(d)
        token = await a_token(d, None)
        body = {"conversation_id": opened["conversation_id"]}
        answer = await d.http.post(v1.SESSIONS, json=body, headers=on(SHOP, token))
        refused(answer, 403, "forbidden")


async def _as_backend(d: Doors) -> tuple[Json, Any]:
    d.http.headers.update(BACKEND)
    opened = await v1.talk(d)
    del d.http.headers["authorization"]
    return opened


async def test_a_folder_of_its_own_is_all_that_a_browsers_user_has(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "DISCOVERIES.md").write_text("The operator's door code is 4711.")
    given = BY_TOKEN | {"agent": "workbench", "workspace": tmp_path / "work"}
    async with doors(tmp_path / "data", **given) as d:
        d.http.headers.update(on(SHOP, await a_token(d)))
        opened = await d.post(v1.SESSIONS, {})
        response = await v1.sdp(d, opened["session_id"], opened["ephemeral_key"])
        assert response.status_code == 200
        call = await d.provider.next_call()
        update = await call.expect("session.update")
        assert "4711" not in str(update)


# --- Where the page is --------------------------------------------------------------------


async def test_a_token_is_for_pages_of_the_origin_that_got_it(tmp_path: Path) -> None:
    async with doors(tmp_path, **BY_TOKEN) as d:
        token = await a_token(d, origin=SHOP)
        assert (await d.http.get(v1.CONVERSATIONS, headers=on(SHOP, token))).status_code == 200
        stolen = await d.http.get(v1.CONVERSATIONS, headers=on(OTHER, token))
        refused(stolen, 403, "forbidden")
        nowhere = {"authorization": f"Bearer {token}"}
        refused(await d.http.get(v1.CONVERSATIONS, headers=nowhere), 403, "forbidden")


async def test_a_key_for_one_origin_is_of_no_use_at_another(tmp_path: Path) -> None:
    async with doors(tmp_path, **BY_TOKEN) as d:
        key = await a_key(d, user_id="ada", origin=SHOP.upper().replace("HTTPS", "https"))
        answer = await d.http.post(f"{KEYS}/exchange", headers=on(OTHER, key))
        refused(answer, 403, "forbidden")
        again = await d.http.post(f"{KEYS}/exchange", headers=on(SHOP, key))
        refused(again, 401, "unauthorized")  # it was shown where it did not belong


async def test_a_forged_token_is_none(tmp_path: Path) -> None:
    async with doors(tmp_path, **BY_TOKEN) as d:
        token = await a_token(d)
        body, _, signature = token.partition(".")
        opened = await d.post(v1.SESSIONS, {}, headers=BACKEND)
        stream = opened["stream_token"]["value"].removeprefix("st_")
        flipped = body[:-1] + ("A" if body[-1] != "A" else "B")
        for forged in (f"{flipped}.{signature}", body, "bt_", "bt_.", f"bt_{stream}", f"{token}A"):
            answer = await d.http.get(v1.CONVERSATIONS, headers=on(SHOP, forged))
            refused(answer, 401, "unauthorized")


# --- Who may make one ---------------------------------------------------------------------


async def test_only_an_operators_token_makes_keys_for_somebody_else(tmp_path: Path) -> None:
    async with doors(tmp_path, **BY_TOKEN) as d:
        lesser = {"authorization": f"Bearer {await made(d, 'kiosk', 'developer')}"}
        shop = {"authorization": f"Bearer {await made(d, 'shop')}"}
        refused(await d.http.post(KEYS, json={"user_id": "ada"}, headers=lesser), 403, "forbidden")
        assert (await d.post(KEYS, {}, headers=lesser))["user_id"] == "local"
        nobody = await d.http.post(KEYS, json={"user_id": "ada"})
        refused(nobody, 401, "unauthorized")
        assert (await d.post(KEYS, {"user_id": "ada"}, headers=shop))["user_id"] == "ada"


async def test_with_jwts_only_named_tokens_make_keys_and_users_for_themselves(
    tmp_path: Path,
) -> None:
    given = SETTINGS | {"allowed_origins": SHOP, "key_makers": "shop"}
    async with doors(tmp_path, **given) as d:
        grafana, shop = await made(d, "grafana"), await made(d, "shop")
        with_grafana = {"authorization": f"Bearer {grafana}"}
        words = refused(
            await d.http.post(KEYS, json={"user_id": ADA}, headers=with_grafana), 403, "forbidden"
        )["message"]
        assert "VIVAVOCE_KEY_MAKERS" in words
        with_shop = {"authorization": f"Bearer {shop}"}
        key = (await d.post(KEYS, {"user_id": ADA}, headers=with_shop))["key"]
        given_token = await d.post(f"{KEYS}/exchange", headers=on(SHOP, key))
        token = given_token["token"]
        assert (await d.http.get(v1.CONVERSATIONS, headers=on(SHOP, token))).status_code == 200
        refused(await d.http.get("/status", headers=on(SHOP, token)), 403, "forbidden")
        refused(await d.http.get(v1.CONVERSATIONS, headers=with_shop), 401, "unauthorized")
        own = await d.post(KEYS, {}, headers=bearer(EVE, "operator"))
        assert own["user_id"] == EVE
        other = await d.http.post(KEYS, json={"user_id": ADA}, headers=bearer(EVE, "operator"))
        refused(other, 403, "forbidden")


async def test_without_authentication_a_key_is_for_whom_it_names(tmp_path: Path) -> None:
    async with doors(tmp_path, allowed_origins=SHOP) as d:
        key = (await d.post(KEYS, {"user_id": "ada"}))["key"]
        token = (await d.post(f"{KEYS}/exchange", headers=on(SHOP, key)))["token"]
        d.http.headers.update(on(SHOP, token) | {"x-user-id": "eve"})
        begun = await d.post(v1.CONVERSATIONS, {})
        assert await d.here.store.conversation(begun["id"], user_id="ada") is not None


async def test_a_user_id_that_could_be_two_is_refused(tmp_path: Path) -> None:
    async with doors(tmp_path, **BY_TOKEN) as d:
        for user in ("", "a b", "../ada", "a" * 129, "-ada"):
            answer = await d.http.post(KEYS, json={"user_id": user}, headers=BACKEND)
            assert answer.status_code == 400, user


@pytest.mark.parametrize("name", ["local", "operator"])
async def test_a_pages_user_is_not_the_servers_own_by_having_its_name(
    tmp_path: Path, name: str
) -> None:
    """The names are the page's: somebody may have registered there under any."""
    shared = {"allowed_origins": SHOP, "key_makers": "shop"}
    for given in (BY_TOKEN, SETTINGS | shared, shared):
        async with doors(tmp_path, **given) as d:
            shop = {"authorization": f"Bearer {await made(d, 'shop')}"}
            answer = await d.http.post(KEYS, json={"user_id": name}, headers=shop)
            assert refused(answer, 400, "invalid_request")["details"]["field"] == "user_id"
            assert (await d.post(KEYS, {"user_id": f"u:{name}"}, headers=shop))["key"]


async def test_keys_are_in_the_audit_and_nowhere_else(tmp_path: Path) -> None:
    store = MemoryStore()
    async with doors(tmp_path, store=store, **BY_TOKEN) as d:
        key = await a_key(d, user_id="ada", origin=SHOP)
        kept = [str(row) async for _, row in store.rows_of("ada")]
        assert kept
        assert key not in str(kept)
        lines = [one for one in await store.audit() if one.action == "browser key"]
        assert [(one.user_id, one.what, one.outcome) for one in lines] == [("ada", SHOP, "made")]
        token = answered(await d.http.post(f"{KEYS}/exchange", headers=on(SHOP, key)))["token"]
        shown = Scrubber()(f"had {key} and {token} here")
        assert key[3:] not in shown
        assert token[3:] not in shown


# --- Over the wire: preflights, streams, WebSockets ---------------------------------------


@asynccontextmanager
async def a_foreign_page(tmp_path: Path) -> AsyncIterator[tuple[Stage, dict[str, str]]]:
    async with stage(tmp_path, **BY_TOKEN) as st:
        made_key = await st.post(KEYS, {"user_id": "ada"}, headers=BACKEND)
        given = await st.post(f"{KEYS}/exchange", headers=on(SHOP, made_key["key"]))
        yield st, on(SHOP, given["token"])


ASKED = [
    ("POST", "/api/v1/voice/session", "authorization,content-type"),
    ("POST", "/sdp", "authorization,content-type"),
    ("POST", "/api/v1/conversations/x/messages", "authorization,content-type,idempotency-key"),
    ("PATCH", "/api/v1/preferences", "authorization,content-type"),
    ("DELETE", "/api/v1/voice/session/x", "authorization"),
    ("GET", "/session", "authorization,x-session-id"),
    ("GET", "/events", "last-event-id"),
]


async def test_a_browser_may_send_what_the_client_sends(tmp_path: Path) -> None:
    async with stage(tmp_path, **BY_TOKEN) as st:
        for method, path, headers in ASKED:
            asked = {
                "origin": SHOP,
                "access-control-request-method": method,
                "access-control-request-headers": headers,
                "access-control-request-private-network": "true",
            }
            answer = await st.http.request("OPTIONS", path, headers=asked)
            assert answer.status_code == 204, answer.text
            told = {name: value.lower() for name, value in answer.headers.items()}
            assert told["access-control-allow-origin"] == SHOP
            assert method.lower() in told["access-control-allow-methods"]
            allowed = {one.strip() for one in told["access-control-allow-headers"].split(",")}
            assert set(headers.split(",")) <= allowed
            assert told["access-control-allow-private-network"] == "true"
            assert "access-control-allow-credentials" not in told
            assert "origin" in told["vary"]
            evil = asked | {"origin": "https://evil.example"}
            refused_one = await st.http.request("OPTIONS", path, headers=evil)
            assert refused_one.status_code == 403
            assert not [n for n in refused_one.headers if n.startswith("access-control")]


async def test_a_foreign_page_reads_its_answers_and_errors_and_no_cookie_is_asked_for(
    tmp_path: Path,
) -> None:
    async with a_foreign_page(tmp_path) as (st, page):
        for path, status in ((v1.CONVERSATIONS, 200), (f"{v1.CONVERSATIONS}/x/messages", 400)):
            answer = await st.http.get(path, headers=page)
            assert answer.status_code == status
            assert answer.headers["access-control-allow-origin"] == SHOP
            exposed = answer.headers["access-control-expose-headers"].lower()
            assert {"retry-after", "x-request-id"} <= {one.strip() for one in exposed.split(",")}
            assert "access-control-allow-credentials" not in answer.headers
            assert "set-cookie" not in answer.headers


async def test_a_foreign_page_has_its_call_and_its_events_and_others_have_neither(
    tmp_path: Path,
) -> None:
    async with a_foreign_page(tmp_path) as (st, page):
        opened = await st.post(v1.SESSIONS, {}, headers=page)
        path = f"{v1.SESSIONS}/{opened['session_id']}"
        offer = {
            "content-type": "application/sdp",
            "authorization": f"Bearer {opened['ephemeral_key']}",
        }
        evil = {"origin": "https://evil.example", "sec-fetch-site": "cross-site"}
        kept_out = await st.http.post(f"{path}/sdp", content=OFFER, headers=offer | evil)
        assert kept_out.status_code == 403
        ours = {"origin": SHOP, "sec-fetch-site": "cross-site"}
        answer = await st.http.post(f"{path}/sdp", content=OFFER, headers=offer | ours)
        assert answer.status_code == 200, "what was kept out spent nothing"
        assert answer.headers["access-control-allow-origin"] == SHOP
        events = f"{path}/events"
        by_token = {"token": opened["stream_token"]["value"]}
        assert (await st.http.get(events, params=by_token, headers=evil)).status_code == 403
        query = by_token | {"follow": "false", "last_event_id": "0"}
        stream = await st.http.get(events, params=query, headers=ours)
        assert stream.headers["access-control-allow-origin"] == SHOP
        assert stream.headers["content-type"] == "text/event-stream; charset=utf-8"


async def test_a_websocket_is_for_allowed_origins(tmp_path: Path) -> None:
    async with a_foreign_page(tmp_path) as (st, page):
        session_id = "3f0c9f3e-51a6-4f3b-9a1d-6d2b7c8e9f10"
        got = await st.post("/conductor/token", {"sessionId": session_id}, headers=page)
        where = st.url.replace("http", "ws") + f"/conductor?sessionId={session_id}"
        where += f"&token={got['token']}"
        for origin, status in (("https://evil.example", 403), ("null", 403)):
            with pytest.raises(InvalidStatus) as wrong:
                async with connect(where, origin=origin):  # type: ignore[arg-type]
                    pass
            assert wrong.value.response.status_code == status
        async with connect(where, origin=SHOP):  # type: ignore[arg-type]
            pass


async def test_a_page_without_a_token_gets_nothing_even_where_it_is_allowed(tmp_path: Path) -> None:
    async with stage(tmp_path, **BY_TOKEN) as st:
        page = {"origin": SHOP, "sec-fetch-site": "cross-site"}
        for method, path in (("GET", v1.CONVERSATIONS), ("POST", v1.SESSIONS), ("POST", KEYS)):
            answer = await st.http.request(method, path, headers=page)
            assert answer.status_code == 401
            assert answer.headers["access-control-allow-origin"] == SHOP, "its error can be read"
