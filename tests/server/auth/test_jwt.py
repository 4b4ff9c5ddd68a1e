"""A user by his JWT: what counts, and everything that has ever been tried in its place."""

from __future__ import annotations

import base64
import builtins
import hashlib
import hmac
import time
from dataclasses import replace
from typing import Any

import jwt
import orjson
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from tests.server.tokens import (
    ADA,
    AUDIENCE,
    ISSUER,
    SECRET,
    claims,
    ec_key,
    ed_key,
    key_set,
    public,
    rsa_key,
    signed,
    token,
)
from vivavoce.errors import TokenExpired, Unauthorized, Unavailable
from vivavoce.server.gate.jwt import (
    MAX_TOKEN,
    SEEN_SECONDS,
    Jwks,
    JwtRules,
    JwtVerifier,
    read_keys,
)
from vivavoce.testing.fakes import ManualClock

RULES = JwtRules(ISSUER, AUDIENCE, ("HS256",))
BY_KEY = ("ES256", "RS256", "EdDSA")


def by_secret() -> JwtVerifier:
    return JwtVerifier(RULES, secret=SECRET)


def by_keys(*keys: dict[str, Any], algorithms: tuple[str, ...] = BY_KEY) -> JwtVerifier:
    async def fetch(url: str) -> bytes:
        return key_set(*keys)

    jwks = Jwks(
        "https://issuer.example/jwks", algorithms=algorithms, clock=ManualClock(), fetch=fetch
    )
    return JwtVerifier(JwtRules(ISSUER, AUDIENCE, algorithms), keys=jwks)


async def refused(verifier: JwtVerifier, value: str) -> str:
    with pytest.raises(Unauthorized) as caught:
        await verifier.user(value)
    assert value not in caught.value.message
    return caught.value.message


def part(value: object) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(value)).rstrip(b"=").decode()


# --- Again, a moment later --------------------------------------------------------------


async def test_a_token_that_was_good_a_moment_ago_is_not_taken_apart_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    verifier, decoded = by_secret(), []
    decode = jwt.decode

    def counting(*given: Any, **more: Any) -> Any:
        decoded.append(given[0])
        return decode(*given, **more)

    monkeypatch.setattr(verifier, "_jwt", jwt)
    monkeypatch.setattr(jwt, "decode", counting)
    good, other = token(), token(vivavoce_role="x")
    for value in (good, good, other, good):
        assert await verifier.user(value) == ADA
    assert decoded == [good, other]
    for _ in range(2):
        await refused(verifier, good[:-3] + "abc")
    assert len(decoded) == 4, "what was refused is not remembered"
    assert good not in repr(vars(verifier))


@pytest.mark.parametrize(
    ("rules", "claimed", "lives"),
    [
        (RULES, {"exp": 20}, 20),
        (replace(RULES, max_age=100.0), {"exp": 3600, "iat": -85}, 15),
        (RULES, {"exp": 3600}, SEEN_SECONDS),
    ],
)
async def test_what_was_good_is_looked_at_again_before_it_lapses(
    rules: JwtRules, claimed: dict[str, Any], lives: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = float(int(time.time()))
    verifier = JwtVerifier(rules, secret=SECRET)
    value = token(**{name: int(now) + seconds for name, seconds in claimed.items()})
    monkeypatch.setattr(time, "time", lambda: now)
    assert await verifier.user(value) == ADA
    looked: list[object] = []

    def looking(*given: object) -> None:
        looked.append(given)
        raise Unauthorized("looked at")

    monkeypatch.setattr(verifier, "_checked", looking)
    now += lives - 1
    assert await verifier.user(value) == ADA
    assert not looked
    now += 1
    assert await refused(verifier, value) == "looked at"


async def test_a_key_that_its_issuer_withdraws_is_out_at_once_whatever_was_seen() -> None:
    clock, keys = ManualClock(), [public(ec_key(), "one")]

    async def fetch(url: str) -> bytes:
        return key_set(*keys)

    jwks = Jwks("https://issuer.example/jwks", algorithms=BY_KEY, clock=clock, fetch=fetch)
    verifier = JwtVerifier(JwtRules(ISSUER, AUDIENCE, BY_KEY), keys=jwks)
    value = signed(ec_key(), "ES256", "one")
    for _ in range(2):
        assert await verifier.user(value) == ADA
    keys[:] = [public(ec_key(1), "one")]  # of the same name
    await clock.advance(700)
    await refused(verifier, value)


# --- With a shared secret ---------------------------------------------------------------


async def test_the_subject_of_a_good_token_is_the_user() -> None:
    assert await by_secret().user(token()) == ADA
    assert await by_secret().user(token(aud=["other", AUDIENCE])) == ADA


async def test_a_token_that_has_lapsed_is_told_as_such_after_a_little_leeway() -> None:
    now = int(time.time())
    assert await by_secret().user(token(exp=now - 10)) == ADA
    with pytest.raises(TokenExpired, match="sign in again"):
        await by_secret().user(token(exp=now - 60))


LATER = int(time.time()) + 10**8
"""Also at the end of a long run: it is counted from when the tests are collected."""


@pytest.mark.parametrize(
    "changed",
    [
        {"aud": "service"},
        {"aud": []},
        {"iss": "https://evil.example"},
        {"iss": [ISSUER, "x"]},
        {"iss": [ISSUER]},
        {"iss": f"{ISSUER}/"},
        {"aud": "anon"},
        {"iat": [LATER]},
        {"nbf": LATER},
        {"iat": LATER},
        {"exp": "soon"},
        {"exp": 1e400},
        *({name: None} for name in ("exp", "sub", "aud", "iss")),
    ],
)
async def test_a_token_that_says_something_else_is_refused(changed: dict[str, Any]) -> None:
    await refused(by_secret(), jwt_of(claims(**changed)))


def jwt_of(said: dict[str, Any]) -> str:
    """Signed by hand: libraries would not put everything into a token."""
    head = f"{part({'alg': 'HS256', 'typ': 'JWT'})}.{part(said)}"
    signature = hmac.digest(SECRET.encode(), head.encode(), hashlib.sha256)
    return f"{head}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


@pytest.mark.parametrize("iat", [None, -1, True, 0, "AGO", [1]])
async def test_a_token_that_does_not_say_how_old_it_is_or_is_too_old_is_refused(iat: Any) -> None:
    ago = int(time.time()) - 25 * 3600
    verifier = JwtVerifier(replace(RULES, max_age=86_400), secret=SECRET)
    value = jwt_of(claims(iat=ago if iat == "AGO" else iat))
    with pytest.raises((Unauthorized, TokenExpired)):
        await verifier.user(value)


@pytest.mark.parametrize(
    "head",
    [
        {"alg": "HS256", "crit": ["b64"], "b64": False},
        {"alg": "HS256", "jwk": {"kty": "oct", "k": ""}},
        {"alg": "HS256", "kid": "/dev/null"},
        {"alg": "HS384"},
    ],
)
async def test_a_token_does_not_bring_its_key(head: dict[str, Any]) -> None:
    signed_of = f"{part(head)}.{part(claims())}"
    by_nothing = hmac.digest(b"", signed_of.encode(), "sha256")
    signature = base64.urlsafe_b64encode(by_nothing).rstrip(b"=").decode()
    await refused(by_secret(), f"{signed_of}.{signature}")


@pytest.mark.parametrize(
    "user",
    [
        "",
        "a b",
        "bob\n",
        "../bob",
        "../etc",
        "x" * 129,
        "ü",
        7,
        ["ada"],
        {"a": 1},
        True,
        "local",
        "operator",
    ],
)
async def test_a_subject_that_is_no_user_id_is_refused(user: Any) -> None:
    await refused(by_secret(), jwt_of(claims(user)))


async def test_another_secret_and_a_changed_token_are_refused() -> None:
    other = jwt.encode(claims(), "another-secret-with-more-than-32-chars", "HS256")
    await refused(by_secret(), other)
    head, _, signature = token().split(".")
    await refused(by_secret(), f"{head}.{part(claims('eve'))}.{signature}")
    await refused(by_secret(), f"{head}.{part(claims())}.")


@pytest.mark.parametrize("name", ["none", "None", "NONE", "HS512", "RS256", "", None, 7])
async def test_a_token_does_not_choose_how_it_is_checked(name: Any) -> None:
    head = f"{part({'alg': name, 'typ': 'JWT'})}.{part(claims())}"
    by_hand = base64.urlsafe_b64encode(hmac.digest(SECRET.encode(), head.encode(), "sha512"))
    for signature in ("", by_hand.rstrip(b"=").decode()):
        await refused(by_secret(), f"{head}.{signature}")


async def test_a_token_that_is_too_long_is_not_even_read() -> None:
    long = token(padding="x" * MAX_TOKEN)
    assert await refused(by_secret(), long) == "The token is too long"


async def test_deeply_nested_parts_are_refused_quietly() -> None:
    deep = base64.urlsafe_b64encode(b"[" * 3000).rstrip(b"=").decode()
    await refused(by_secret(), f"{deep}.{deep}.x")
    await refused(by_secret(), f"{part({'alg': 'HS256'})}.{deep}.x")


@given(st.text(max_size=200))
def test_whatever_is_no_jwt_is_refused_quietly(text: str) -> None:
    verifier = by_secret()
    good = token().split(".")
    for value in (text, f"{text}.{text}.{text}", f"{good[0]}.{text}.{good[2]}"):
        with pytest.raises(Unauthorized):
            verifier.user(value).send(None)  # it awaits nothing with a secret


# --- With the issuer's keys -------------------------------------------------------------


async def test_the_issuers_keys_open_each_with_its_own_algorithm() -> None:
    keys = by_keys(public(rsa_key(), "r"), public(ec_key(), "e"), public(ed_key(), "d"))
    for key, algorithm, kid in (
        (rsa_key(), "RS256", "r"),
        (ec_key(), "ES256", "e"),
        (ed_key(), "EdDSA", "d"),
    ):
        assert await keys.user(signed(key, algorithm, kid)) == ADA
        await refused(keys, signed(key, algorithm, "unknown"))
        await refused(keys, signed(key, algorithm))  # which of the three?
    await refused(keys, signed(ec_key(1), "ES256", "e"))
    await refused(keys, signed(ec_key(), "ES256", "r"))


async def test_a_single_key_needs_no_name() -> None:
    assert await by_keys(public(ec_key(), "e")).user(signed(ec_key(), "ES256")) == ADA
    assert await by_keys(public(ec_key(), None)).user(signed(ec_key(), "ES256")) == ADA


async def test_a_public_key_never_serves_as_a_secret() -> None:
    pem = rsa_key().public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    head = f"{part({'alg': 'HS256', 'kid': 'r', 'typ': 'JWT'})}.{part(claims())}"
    signature = base64.urlsafe_b64encode(hmac.digest(pem, head.encode(), "sha256")).rstrip(b"=")
    await refused(by_keys(public(rsa_key(), "r")), f"{head}.{signature.decode()}")


async def test_an_algorithm_that_is_not_allowed_is_refused_with_a_good_key() -> None:
    keys = by_keys(public(rsa_key(), "r"), public(ec_key(), "e"), algorithms=("ES256",))
    assert await keys.user(signed(ec_key(), "ES256", "e")) == ADA
    await refused(keys, signed(rsa_key(), "RS256", "r"))
    # RS512 of a key whose own is RS256.
    both = by_keys(public(rsa_key(), "r"), algorithms=("RS256", "RS512"))
    await refused(both, signed(rsa_key(), "RS512", "r"))


def test_what_a_key_set_should_not_have_is_left_out() -> None:
    secret = {"kty": "oct", "k": part("x" * 40), "kid": "s", "alg": "HS256"}
    private = {**public(ec_key(), "p"), "d": "AAAA"}
    broken: list[Any] = [
        {"kty": "RSA", "n": "!", "e": "AQAB", "kid": "b"},
        {"kty": "EC", "crv": "P-256", "kid": "c"},
        {"kty": "EC", "crv": "P-999", "kid": "c"},
        {"kty": ["RSA"]},
        "text",
        None,
    ]
    encryption = public(ec_key(), "enc", use="enc")
    good = public(ec_key(), "e", use="sig", alg="ES256")
    wanted = (*BY_KEY, "HS256")
    found = read_keys(key_set(secret, private, *broken, encryption, good), wanted)
    assert list(found) == ["e"]
    for useless in (b"[]", b"{}", b'{"keys": {}}', b"<html>", key_set(secret), key_set()):
        with pytest.raises(ValueError, match=r"key|list|JSON|character"):
            read_keys(useless, wanted)


# --- How it is put together ---------------------------------------------------------------


def test_secrets_and_keys_do_not_mix() -> None:
    with pytest.raises(ValueError, match="do not mix"):
        JwtVerifier(JwtRules(ISSUER, AUDIENCE, ("HS256", "RS256")), secret=SECRET)
    with pytest.raises(ValueError, match="do not mix"):
        JwtVerifier(JwtRules(ISSUER, AUDIENCE, ("RS256",)), secret=SECRET)
    with pytest.raises(ValueError, match="Either"):
        JwtVerifier(RULES)
    with pytest.raises(ValueError, match="do not mix"):
        JwtVerifier(JwtRules(ISSUER, AUDIENCE, ()), secret=SECRET)


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *more: Any, **named: Any) -> Any:
        if name == "jwt":
            raise ImportError(name)
        return real(name, *more, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(Unavailable, match=r"vivavoce\[auth\]"):
        by_secret()


# --- Roles, age, two secrets ------------------------------------------------------------


async def test_while_the_secret_changes_both_are_good_and_no_third() -> None:
    both = JwtVerifier(RULES, secret="another-secret-that-has-32-characters", previous=SECRET)
    assert await both.user(token()) == ADA
    new = jwt.encode(claims(), "another-secret-that-has-32-characters", "HS256")
    assert await both.user(new) == ADA
    assert "not valid" in await refused(both, jwt.encode(claims(), "x" * 40, "HS256"))
    with pytest.raises(TokenExpired):
        await both.user(token(exp=1))
    assert "not valid" in await refused(by_secret(), new)


async def test_a_token_that_was_issued_long_ago_is_old_whatever_it_says() -> None:
    now = int(time.time())
    day = JwtVerifier(JwtRules(ISSUER, AUDIENCE, ("HS256",), max_age=86_400.0), secret=SECRET)
    assert await day.user(token(iat=now - 86_000)) == ADA
    with pytest.raises(TokenExpired, match="older than 24 hours; sign in again"):
        await day.user(token(iat=now - 90_000))
    for nothing in (None, True, "yesterday"):
        await refused(day, token(iat=nothing))
    assert "VIVAVOCE_JWT_MAX_AGE_HOURS" in await refused(day, token(iat=None))
    assert await by_secret().user(token(iat=now - 90_000)) == ADA
