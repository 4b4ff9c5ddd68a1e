"""Each attempt of the corpus at a server that listens on loopback gets what is its due: nothing."""

from __future__ import annotations

import base64
import hmac
import json
import re
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.contract.postgres import drop_database, new_database
from tests.journeys.stage import stage
from tests.offers import OFFER
from tests.runtime.push.services import Browser
from tests.server.attacks.knocks import EVERY, KNOCKS, SHOP, SUBSCRIPTIONS, Knock, Mode, of
from tests.server.auth.test_owners import Owner, _owner
from tests.server.auth.test_tokens import TOKEN
from tests.server.doors import Doors
from tests.server.tokens import ADA, EVE, ISSUER, SECRET, SETTINGS, bearer, claims, token
from tests.tools.attacks import addresses, git, paths, shell, shell_honest, words
from vivavoce.wire.records.talk import new_id

MODES: Mapping[Mode, dict[str, Any]] = {
    "jwt": {**SETTINGS, "auth_token": TOKEN},
    "token": {"auth": "token", "auth_token": TOKEN},
    "off": {"auth": "off"},
}


def _by(user: Any = EVE, secret: str = SECRET, how: str = "HS256", **changed: Any) -> str:
    """Signed as it should be, whatever is in it: no library keeps a stranger from that."""
    headers = {"alg": how, "typ": "JWT"} | changed.pop("headers", {})
    kind = {"HS256": "sha256", "HS384": "sha384", "HS512": "sha512"}[how]
    unsigned = _raw(headers, claims(user, **changed)).rstrip(".")
    return f"{unsigned}.{_b64(hmac.digest(secret.encode(), unsigned.encode(), kind))}"


def _raw(head: Any, body: Any, signature: str = "") -> str:
    return ".".join([*(_b64(json.dumps(one).encode()) for one in (head, body)), signature])


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _jwts() -> dict[str, str]:
    good, now = _by(), int(time.time())
    head, body, signature = good.split(".")
    other = "B" if signature[5] != "B" else "C"
    return {
        "without a signature": f"{head}.{body}.",
        "with the algorithm none": _raw({"alg": "none", "typ": "JWT"}, claims(EVE)),
        "with NONE in mixed case": _raw({"alg": "nOnE"}, claims(EVE), signature),
        "signed with a guess": _by(secret="another-secret-of-well-over-32-characters"),
        "signed by an empty secret": _by(secret=""),
        "signed with HS384": _by(how="HS384"),
        "signed with HS512": _by(how="HS512"),
        "of yesterday": _by(exp=now - 90_000),
        "of tomorrow": _by(nbf=now + 9_000),
        "without an end": _by(exp=None),
        "without a beginning": _by(iat=None),
        "for another audience": _by(aud="anybody"),
        "for nobody": _by(aud=None),
        "of another issuer": _by(iss="https://evil.example"),
        "of an issuer with a slash more": _by(iss=f"{ISSUER}/"),
        "without a subject": _by(None),
        "with an empty subject": _by(""),
        "with a list as its subject": _by([ADA]),
        "with a path as its subject": _by(f"../{ADA}"),
        "with a number as its subject": _by(7),
        "with a line break in its subject": _by(f"{ADA}\n"),
        "with a subject of 129 characters": _by("a" * 129),
        "with its end in words": _by(exp="never"),
        "that is older than a day": _by(iat=now - 100_000, exp=now + 1_000_000),
        "with critical headers": _by(headers={"crit": ["b64"], "b64": False}),
        "that is cut": good[:-10],
        "with one letter changed": f"{head}.{body}.{signature[:5]}{other}{signature[6:]}",
        "with its parts swapped": f"{body}.{head}.{signature}",
        "of 9000 characters": _by(padding="x" * 9000),
        "with a signature in another alphabet": f"{head}.{body}.+/{signature[2:]}",
        "twice its own length": f"{good}.{good}",
        "in JSON form": json.dumps({"payload": body, "signatures": []}).replace(" ", ""),
        "that is encrypted": "a.b.c.d.e",
        "that says operator": _by(role="operator"),
        "that lists operator": _by(role=["operator", "user"]),
        "of a user named operator": _by("operator"),
        "of a user named local": _by("local"),
        "of a user in capitals": _by(f"{ADA}."),
    }


@asynccontextmanager
async def _standing(folder: Path, mode: Mode, **more: Any) -> AsyncIterator[Doors]:
    given = {
        **MODES[mode],
        "allowed_origins": (SHOP, "https://mall.example"),
        "agent": "workbench",
        **more,
    }
    async with stage(folder, **given) as up:
        yield Doors(up.provider, up.here, up.http)  # type: ignore[arg-type]


async def _filling(d: Doors, ada: Owner, eve: Owner) -> dict[str, Any]:
    """What stands in the places of the corpus."""
    found: dict[str, Any] = {"uuid4": new_id(), "offer": OFFER, "home": "0" * 8}
    found["point"] = Browser().keys()["p256dh"]
    for name, owner in (("ada", ada), ("eve", eve)):
        found |= {f"{name}.{key}": value for key, value in owner.ids.items()}
        found |= {name: token(owner.user), f"{name}.user": owner.user, f"{name}.word": owner.word}
    found |= {"operator": TOKEN, **{f"jwt:{name}": one for name, one in _jwts().items()}}
    hers = bearer(EVE)
    for number in ("", "2", "3"):
        opened = await d.post("/session", {}, headers=hers)
        found[f"eve.ek{number}"] = opened["client_secret"]["value"]
        found["eve.stream"] = opened["stream_token"]
    told = await d.post("/conductor/token", {"sessionId": found["uuid4"]}, headers=hers)
    found["eve.runtime"] = told["token"]
    for name in ("eve.key", "eve.spent"):
        made = await d.post("/api/v1/keys", {"origin": SHOP}, headers=hers)
        found[name] = made["key"]
    spent = {"Origin": SHOP, "Authorization": f"Bearer {found['eve.spent']}"}
    given = (await d.post("/api/v1/keys/exchange", None, headers=spent))["token"]
    found["eve.browser"] = given
    body, _, signature = given.removeprefix("bt_").partition(".")
    said = base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)).decode().replace(EVE, ADA)
    forged = base64.urlsafe_b64encode(said.encode()).rstrip(b"=").decode()
    found["eve.browser.forged"] = f"bt_{forged}.{signature}"
    return found


async def _with_a_browser(d: Doors, owner: Owner) -> Owner:
    endpoint = f"https://push.example/{owner.word}"
    keys = Browser(secret=b"fedcba9876543210").keys()
    made = await d.post(
        SUBSCRIPTIONS, {"endpoint": endpoint, "keys": keys}, headers=bearer(owner.user)
    )
    ids = owner.ids | {"subscription_id": made["id"], "endpoint": endpoint}
    return Owner(owner.user, owner.word, ids)


_PLACE = re.compile(r"\{([a-z][a-z0-9 _.:A-Z]*)\}")


def _filled(value: Any, known: Mapping[str, Any]) -> Any:
    match value:
        case str():
            return _PLACE.sub(lambda m: str(known.get(m[1], m[0])), value)
        case dict():
            return {key: _filled(one, known) for key, one in value.items()}
        case list() | tuple():
            return [_filled(one, known) for one in value]
        case _:
            return value


async def _tried(d: Doors, knock: Knock, known: Mapping[str, Any]) -> httpx.Response:
    headers = knock.headers
    pairs = list(headers.items()) if isinstance(headers, Mapping) else list(headers)
    # As a program of one's own sends them, not as a client that means well.
    sent = [(name.encode(), _filled(value, known).encode("utf-8")) for name, value in pairs]
    body = _filled(knock.body, known)
    content: bytes | None = None
    if isinstance(body, bytes):
        content = body
    elif isinstance(body, str):
        content = body.encode()
    elif body is not None:
        content = json.dumps(body).encode()
        if not any(name.lower() == b"content-type" for name, _ in sent):
            sent.append((b"Content-Type", b"application/json"))
    request = d.http.build_request(knock.method, "/", content=content, headers=sent)
    path = _filled(knock.path, known).encode()
    request.url = request.url.copy_with(raw_path=path)
    return await d.http.send(request)


async def _through(d: Doors, mode: Mode, known: Mapping[str, Any], word: str) -> list[str]:
    """What got through."""
    found = []
    for knock in of(mode):
        try:
            answer = await _tried(d, knock, known)
        except httpx.RemoteProtocolError:
            continue  # hung up on
        wrong = answer.status_code not in knock.answers or (word and word in answer.text)
        if wrong:
            found.append(f"{knock.name}: {answer.status_code} {answer.text[:160]}")
    return found


async def _all_of(d: Doors, user: str) -> dict[str, Any]:
    """What is kept of somebody, but for what the server notes by itself."""
    given = await d.get("/api/v1/data", headers=bearer(user))
    data: dict[str, Any] = given["data"]
    for name in ("audit", "events", "recordings", "snapshots"):
        data.pop(name, None)
    for row in data["tasks"]:
        del row["look_at"], row["noted_until"]
    return data


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.full)])
async def test_no_knock_of_a_user_opens_what_is_anothers(kind: str, tmp_path: Path) -> None:
    url = new_database() if kind == "postgres" else ""
    more = {"database_url": url} if url else {}
    try:
        async with _standing(
            tmp_path,
            "jwt",
            user_sessions=0,
            user_changes_per_minute=0,
            user_requests_per_second=0,
            user_streams=0,
            login_failures_per_minute=0,
            **more,
        ) as d:
            ada = await _with_a_browser(d, await _owner(d, ADA, "marigold"))
            eve = await _owner(d, EVE, "foxglove")
            del d.http.headers["authorization"]
            known = await _filling(d, ada, eve)
            before = await _all_of(d, ADA)
            through = await _through(d, "jwt", known, ada.word)
            assert not through, "\n".join(through)
            assert await _all_of(d, ADA) == before
    finally:
        if url:
            drop_database(url)


@pytest.mark.parametrize("mode", ["token", "off"])
async def test_no_knock_gets_in_where_there_is_one_user(mode: Mode, tmp_path: Path) -> None:
    async with _standing(tmp_path, mode) as d:
        known = {"eve": TOKEN, "point": Browser().keys()["p256dh"]}
        through = await _through(d, mode, known, "")
        assert not through, "\n".join(through)
        assert (await d.http.get("/health")).status_code == 200


def test_the_corpus_is_large_and_its_names_are_told_apart() -> None:
    assert len({knock.name for knock in KNOCKS}) == len(KNOCKS) >= 300
    assert all(list(of(mode)) for mode in EVERY)


def test_all_attempts_together_are_as_many_as_there_should_be() -> None:
    """With those that are tried elsewhere: on commands, files, addresses, git and the model."""
    tried = [addresses.ATTACKS, git.ATTACKS, paths.ATTACKS, shell.ATTACKS, shell.BOMBS]
    assert sum(map(len, [*tried, words.ATTEMPTS])) >= 400
    honest = [addresses.HONEST, git.HONEST, paths.HONEST, shell_honest.HONEST, words.HONEST]
    assert sum(map(len, honest)) >= 120
