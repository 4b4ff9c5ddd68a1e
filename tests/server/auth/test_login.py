"""Where the page's users log in: told to everybody, checked first, and good for what they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.server.auth.openid import Page, openid
from tests.server.auth.test_tokens import TOKEN
from tests.server.auth.test_tokens import _made as made
from tests.server.doors import doors, refused
from tests.server.tokens import SETTINGS
from vivavoce.app.settings import SettingsError, load_settings
from vivavoce.server.gate.login import Provider, read_description
from vivavoce.testing import ManualClock

LOGIN, ME = "/api/v1/login", "/api/v1/me"


async def test_without_authentication_there_is_nothing_to_log_in_to(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        assert await d.get(LOGIN) == {"mode": "off", "provider": None}
        shown = await d.get(ME)
        assert shown == {"user_id": "local", "role": "operator", "token_name": None}


async def test_with_a_token_the_page_asks_for_it_and_may_try_it(tmp_path: Path) -> None:
    async with doors(tmp_path, auth="token", auth_token=TOKEN) as d:
        assert await d.get(LOGIN) == {"mode": "token", "provider": None}
        refused(await d.http.get(ME), 401, "unauthorized")
        kiosk = {"authorization": f"Bearer {await made(d, 'kiosk', 'user')}"}
        assert await d.get(ME, headers=kiosk) == {
            "user_id": "local",
            "role": "user",
            "token_name": "kiosk",
        }


async def test_a_user_logs_in_at_the_provider_and_talks_with_what_it_gave(tmp_path: Path) -> None:
    async with openid() as provider, doors(tmp_path, **provider.settings()) as d:
        said = await d.get(LOGIN)
        assert said["mode"] == "jwt"
        assert said["provider"]["kind"] == "oidc"
        assert said["provider"]["scope"] == "openid profile email"
        page = Page(said["provider"])
        got = await page.log_in()
        bearer = {"authorization": f"Bearer {got[said['provider']['token']]}"}
        shown = await d.get(ME, headers=bearer)
        assert shown == {"user_id": "ada", "role": "user", "token_name": None}
        assert (await d.http.post("/session", json={}, headers=bearer)).status_code == 200
        again = (await page.renew(got["refresh_token"])).json()
        newer = {"authorization": f"Bearer {again['access_token']}"}
        assert (await d.get(ME, headers=newer))["user_id"] == "ada"


async def test_a_code_is_good_once_and_only_for_whoever_began(tmp_path: Path) -> None:
    async with openid() as provider, doors(tmp_path, **provider.settings()) as d:
        page = Page((await d.get(LOGIN))["provider"])
        stolen = await page.code()
        assert (await page.hand_in(stolen, verifier="x" * 43)).status_code == 400
        assert (await page.hand_in(stolen)).status_code == 400, "it was shown by somebody else"
        code = await page.code()
        assert (await page.hand_in(code)).status_code == 200
        assert (await page.hand_in(code)).status_code == 400


async def test_the_id_token_may_be_the_one(tmp_path: Path) -> None:
    async with openid() as provider:
        given = provider.settings(oidc_token="id_token", jwt_audience=provider.client_id)
        async with doors(tmp_path, **given) as d:
            way = (await d.get(LOGIN))["provider"]
            got = await Page(way).log_in()
            bearer = {"authorization": f"Bearer {got[way['token']]}"}
            assert (await d.get(ME, headers=bearer))["user_id"] == "ada"
            other = {"authorization": f"Bearer {got['access_token']}"}
            refused(await d.http.get(ME, headers=other), 401, "unauthorized")


async def test_the_page_may_ask_where_its_users_log_in_and_nowhere_else(tmp_path: Path) -> None:
    async with openid() as provider:
        provider.described = {"token_endpoint": "https://tokens.example/oauth/token"}
        async with doors(tmp_path, **provider.settings()) as d:
            await d.get(LOGIN)
            described = await d.http.get("/docs")  # they have a policy of their own
            assert "tokens.example" not in described.headers["content-security-policy"]
            policy = (await d.http.get("/")).headers["content-security-policy"]
            wanted = f"connect-src 'self' {provider.url} https://tokens.example;"
            assert wanted in policy
            assert "script-src 'self';" in policy


WRONG: list[dict[str, Any]] = [
    {"issuer": "https://other.example"},
    {"issuer": None},
    {"authorization_endpoint": "javascript:alert(1)"},
    {"authorization_endpoint": "http://evil.example/authorize"},
    {"authorization_endpoint": "https://user:pw@evil.example/"},
    {"token_endpoint": ""},
    {"token_endpoint": "https://evil.example/\n; script-src *"},
    {"token_endpoint": "https://evil.example; script-src 'unsafe-inline'/token"},
    {"token_endpoint": "https://evil.example,https://more.example/token"},
    {"code_challenge_methods_supported": ["plain"]},
    {"end_session_endpoint": "data:text/html,x"},
]


@pytest.mark.parametrize("described", WRONG)
async def test_a_description_that_leads_astray_is_not_passed_on(
    tmp_path: Path, described: dict[str, Any]
) -> None:
    async with openid() as provider:
        provider.described = described
        async with doors(tmp_path, **provider.settings()) as d:
            refused(await d.http.get(LOGIN), 503, "service_unavailable")
            assert "evil" not in (await d.http.get("/")).headers["content-security-policy"]


async def test_a_provider_is_asked_once_in_a_while_and_what_it_said_stays(tmp_path: Path) -> None:
    clock = ManualClock()
    async with openid() as provider, doors(tmp_path, clock=clock, **provider.settings()) as d:
        for _ in range(5):
            assert (await d.http.get(LOGIN)).status_code == 200
        assert len(provider.asked) == 1
        provider.described = {"issuer": "https://other.example"}
        await clock.leap(3601)
        for _ in range(5):
            assert (await d.get(LOGIN))["provider"]["issuer"] == provider.url
        assert len(provider.asked) == 2
        await clock.advance(31)
        assert (await d.http.get(LOGIN)).status_code == 200
        assert len(provider.asked) == 3


async def test_with_supabase_the_addresses_are_those_of_the_project(tmp_path: Path) -> None:
    issuer = "https://abc.supabase.co/auth/v1"
    given = SETTINGS | {
        "jwt_issuer": issuer,
        "supabase_key": "sb_publishable_abc",
        "supabase_providers": "google,github",
    }
    async with doors(tmp_path, **given) as d:
        way = (await d.get(LOGIN))["provider"]
        assert way["kind"] == "supabase"
        assert way["authorization_endpoint"] == f"{issuer}/authorize"
        assert way["token_endpoint"] == f"{issuer}/token"
        assert (way["key"], way["providers"]) == ("sb_publishable_abc", ["google", "github"])
        policy = (await d.http.get("/")).headers["content-security-policy"]
        assert "connect-src 'self' https://abc.supabase.co;" in policy


def test_a_login_that_leads_nowhere_is_told_at_the_start() -> None:
    wrongs: list[tuple[dict[str, Any], str]] = [
        ({"oidc_client_id": "x"}, "is for VIVAVOCE_AUTH=jwt"),
        (SETTINGS | {"oidc_client_id": "x", "supabase_key": "y"}, "in place of"),
        (SETTINGS | {"oidc_client_id": "x", "oidc_issuer": "http://evil.example"}, "https://"),
        (SETTINGS | {"oidc_client_id": "x", "jwt_issuer": "a name"}, "VIVAVOCE_JWT_ISSUER"),
    ]
    for wrong, words in wrongs:
        with pytest.raises(SettingsError, match=words):
            load_settings(**wrong)


def test_a_description_of_the_same_issuer_may_end_in_a_slash() -> None:
    provider = Provider(kind="oidc", issuer="https://id.example", client_id="x")
    document = (
        b'{"issuer": "https://id.example/", "authorization_endpoint": "https://id.example/a",'
        b' "token_endpoint": "https://id.example/t"}'
    )
    assert read_description(document, provider).token_endpoint == "https://id.example/t"
    for junk in (b"[]", b"{}", b"", b"null", b"\xff"):
        with pytest.raises(ValueError, match=r"."):
            read_description(junk, provider)
