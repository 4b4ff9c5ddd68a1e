"""Which authentication the settings make: wrong combinations are refused at the start."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.server.doors import doors
from tests.server.tokens import ADA, ISSUER, SECRET, SETTINGS, bearer, token
from vivavoce.app.engine import client_keys
from vivavoce.app.server import authenticator, stream_tokens
from vivavoce.app.settings import Settings, SettingsError, load_settings
from vivavoce.errors import Unauthorized
from vivavoce.testing.fakes import ManualClock

URL = "https://issuer.example/jwks.json"
TOKEN = "a-token-that-is-long-enough"


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith("VIVAVOCE_") or name == "OPENAI_API_KEY":
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def test_a_secret_or_keys_each_have_their_algorithms() -> None:
    assert load_settings(**SETTINGS).signatures == ("HS256",)
    keys = load_settings(auth="JWT", jwt_jwks_url=URL, jwt_issuer=ISSUER)
    assert keys.signatures == ("ES256", "RS256", "EdDSA")
    one = load_settings(
        auth="jwt", jwt_jwks_url=URL, jwt_issuer=ISSUER, jwt_algorithms="ES256, EdDSA"
    )
    assert one.signatures == ("ES256", "EdDSA")


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"auth": "token"}, "VIVAVOCE_AUTH_TOKEN: is needed"),
        ({"auth": "jwt", "jwt_issuer": ISSUER}, "either VIVAVOCE_JWT_SECRET or .* neither"),
        (SETTINGS | {"jwt_jwks_url": URL}, "either VIVAVOCE_JWT_SECRET or .* both"),
        (SETTINGS | {"jwt_issuer": ""}, "VIVAVOCE_JWT_ISSUER: is needed"),
        (SETTINGS | {"auth": "token", "auth_token": TOKEN}, "is for VIVAVOCE_AUTH=jwt"),
        ({"jwt_issuer": ISSUER}, "VIVAVOCE_JWT_ISSUER: is for VIVAVOCE_AUTH=jwt"),
        (SETTINGS | {"jwt_secret": "short"}, "VIVAVOCE_JWT_SECRET: should have at least 32"),
        (SETTINGS | {"jwt_algorithms": "HS512"}, "VIVAVOCE_JWT_SECRET: .* at least 64"),
        (SETTINGS | {"jwt_algorithms": "HS256,RS256"}, "with a secret should be some of HS256"),
        (SETTINGS | {"jwt_algorithms": "none"}, "VIVAVOCE_JWT_ALGORITHMS: .* has 'none'"),
        (
            {
                "auth": "jwt",
                "jwt_jwks_url": URL,
                "jwt_issuer": ISSUER,
                "jwt_algorithms": "ES256,HS256",
            },
            "with VIVAVOCE_JWT_JWKS_URL should be some of ES256",
        ),
        (
            SETTINGS | {"jwt_secret": "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAA"},
            "VIVAVOCE_JWT_SECRET: should be a shared secret, not a key",
        ),
        ({"sandbox_network": True}, "VIVAVOCE_SANDBOX_NETWORK: needs"),
        ({"jwt_previous_secret": SECRET}, "VIVAVOCE_JWT_PREVIOUS_SECRET: is for VIVAVOCE_AUTH=jwt"),
        (SETTINGS | {"jwt_previous_secret": "short"}, "PREVIOUS_SECRET: should have at least 32"),
        (
            {
                "auth": "jwt",
                "jwt_jwks_url": URL,
                "jwt_issuer": ISSUER,
                "jwt_previous_secret": SECRET,
            },
            "VIVAVOCE_JWT_PREVIOUS_SECRET: is for VIVAVOCE_JWT_SECRET",
        ),
        (SETTINGS | {"jwt_role_claim": "user_metadata.role"}, "users can change themselves"),
        (SETTINGS | {"user_tools": "read file"}, "VIVAVOCE_USER_TOOLS: should be names"),
        (SETTINGS | {"trusted_proxies": "caddy"}, "VIVAVOCE_TRUSTED_PROXIES: .*caddy"),
    ],
)
def test_a_wrong_combination_is_refused_in_words(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(SettingsError, match=problem) as caught:
        load_settings(**given)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "fine"),
    [
        (URL, True),
        ("http://127.0.0.1:54321/auth/v1/.well-known/jwks.json", True),
        ("http://localhost/jwks", True),
        ("http://kong:8000/jwks", True),
        ("http://issuer.example/jwks", False),
        ("http://10.0.0.1/jwks", False),
        ("file:///etc/passwd", False),
        ("issuer.example/jwks", False),
        ("https://user:pass@issuer.example/jwks", False),
        ("https://", False),
    ],
)
def test_keys_come_by_a_way_on_which_nobody_can_swap_them(url: str, fine: bool) -> None:
    given: dict[str, Any] = {"auth": "jwt", "jwt_jwks_url": url, "jwt_issuer": ISSUER}
    if fine:
        assert load_settings(**given).jwt_jwks_url == url
    else:
        with pytest.raises(SettingsError, match="VIVAVOCE_JWT_JWKS_URL: should"):
            load_settings(**given)


def test_the_secret_is_never_shown() -> None:
    assert SECRET not in repr(load_settings(**SETTINGS))


@pytest.mark.parametrize(
    ("given", "lasting"),
    [
        ({}, False),
        ({"auth": "token", "auth_token": TOKEN}, True),
        (SETTINGS, True),
        ({"auth": "jwt", "jwt_jwks_url": URL, "jwt_issuer": ISSUER}, False),
        (
            {"auth": "jwt", "jwt_jwks_url": URL, "jwt_issuer": ISSUER, "auth_token": TOKEN},
            True,
        ),
    ],
)
def test_stream_tokens_outlive_a_restart_where_there_is_a_secret(
    given: dict[str, Any], lasting: bool
) -> None:
    clock, settings = ManualClock(), load_settings(**given)
    issued = stream_tokens(settings, clock).issue(session_id="vs_1", user_id="ada")
    restarted = stream_tokens(settings, clock)
    if lasting:
        assert restarted.verify(issued.value) == issued.grant
    else:
        with pytest.raises(Unauthorized):
            restarted.verify(issued.value)


def test_stream_tokens_outlive_a_change_of_the_secret_while_the_old_one_is_named() -> None:
    clock, changed = ManualClock(), SETTINGS | {"jwt_secret": "x" * 32}
    issued = stream_tokens(load_settings(**SETTINGS), clock).issue(session_id="1", user_id="ada")
    both = stream_tokens(load_settings(**changed, jwt_previous_secret=SECRET), clock)
    assert both.verify(issued.value) == issued.grant
    with pytest.raises(Unauthorized):
        stream_tokens(load_settings(**changed), clock).verify(issued.value)


def test_the_authenticator_is_the_one_that_was_asked_for() -> None:
    clock = ManualClock()
    for given in ({}, {"auth": "token", "auth_token": TOKEN}, SETTINGS):
        settings = load_settings(**given)
        made = authenticator(settings, stream_tokens(settings, clock), clock)
        assert made.mode == settings.auth


@pytest.mark.parametrize("key", [None, "", " ", "x", token()])
def test_with_jwts_and_no_operator_nobody_has_a_key_of_the_engine(key: str | None) -> None:
    with pytest.raises(Unauthorized):
        client_keys(load_settings(**SETTINGS), "vv_own").access(key)
    operator = client_keys(load_settings(**SETTINGS, auth_token=TOKEN), "vv_own")
    assert not operator.access(TOKEN).own
    with pytest.raises(Unauthorized):
        operator.access(key)


async def test_a_whole_server_knows_its_users_by_their_jwts(tmp_path: Path) -> None:
    async with doors(tmp_path, **SETTINGS) as d:
        assert (await d.http.get("/sessions")).status_code == 401
        opened = await d.post("/session", {}, headers=bearer(ADA))
        stream = opened["stream_token"]["value"]
        for key, status in ((stream, 200), (token(), 401), (opened["client_secret"]["value"], 401)):
            params = {"token": key, "follow": "false"}
            assert (await d.http.get("/events", params=params)).status_code == status
        schema = await d.get("/openapi.json", headers=bearer(ADA))
        assert schema["security"] == [{"userToken": []}]
        assert isinstance(d.here.settings, Settings)
