"""An OpenID provider of our own, on loopback, and a page that logs in there as the standards say.

OpenID Connect Discovery, RFC 6749 with RFC 7636 (PKCE), and CORS for the page's origin.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tests.server.serving import serving
from tests.server.tokens import ec_key, public, signed

PAGE = "http://localhost:8080"


@dataclass
class OpenId:
    url: str = ""
    client_id: str = "vivavoce-page"
    user: str = "ada"
    role: str | None = None
    described: dict[str, Any] = field(default_factory=dict)
    """What its description says instead."""
    asked: list[str] = field(default_factory=list)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    renewals: set[str] = field(default_factory=set)
    renewed: int = 0
    origin: str = PAGE
    """Of the page that may read its answers."""
    seconds: int = 600
    """How long it says that a token is good."""

    async def describe(self, request: Request) -> Response:
        self.asked.append("description")
        known = {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
            "end_session_endpoint": f"{self.url}/logout",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
        }
        return JSONResponse({**known, **self.described})

    async def keys(self, request: Request) -> Response:
        return JSONResponse({"keys": [public(ec_key(), "one")]})

    async def authorize(self, request: Request) -> Response:
        """Its user is logged in already, and is sent back with a code."""
        given = dict(request.query_params)
        assert given["response_type"] == "code"
        assert given["client_id"] == self.client_id
        assert given["code_challenge_method"] == "S256"
        assert "openid" in given["scope"].split()
        code = secrets.token_urlsafe(16)
        self.codes[code] = given
        back = urlencode({"code": code, "state": given["state"]})
        return RedirectResponse(f"{given['redirect_uri']}?{back}")

    async def token(self, request: Request) -> Response:
        """RFC 6749 §4.1.3 and RFC 7636 §4.6: the code, once, by whoever began with it."""
        cors = {"access-control-allow-origin": self.origin}
        sent = parse_qs((await request.body()).decode())
        form = {name: values[0] for name, values in sent.items()}
        assert "client_secret" not in form
        assert "authorization" not in request.headers
        if form["grant_type"] == "refresh_token":
            if form["refresh_token"] not in self.renewals:
                return JSONResponse({"error": "invalid_grant"}, 400, cors)
            self.renewals.discard(form["refresh_token"])
            self.renewed += 1
            return JSONResponse(self.tokens(), headers=cors)
        began = self.codes.pop(form["code"], None)
        proof = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(proof).rstrip(b"=").decode()
        same = began is not None and (
            (began["code_challenge"], began["redirect_uri"], began["client_id"])
            == (challenge, form["redirect_uri"], form["client_id"])
        )
        if not same:
            return JSONResponse({"error": "invalid_grant"}, 400, cors)
        return JSONResponse(self.tokens(), headers=cors)

    def tokens(self) -> dict[str, Any]:
        now = int(time.time())
        said: dict[str, Any] = {"sub": self.user, "iss": self.url, "iat": now, "exp": now + 600}
        renewal = secrets.token_urlsafe(16)
        self.renewals.add(renewal)
        own = {**said, "aud": "vivavoce", "vivavoce_role": self.role}
        return {
            "access_token": signed(ec_key(), "ES256", "one", **own),
            "id_token": signed(ec_key(), "ES256", "one", **said, aud=self.client_id),
            "refresh_token": renewal,
            "token_type": "Bearer",
            "expires_in": self.seconds,
        }

    def settings(self, **more: Any) -> dict[str, Any]:
        return {
            "auth": "jwt",
            "jwt_jwks_url": f"{self.url}/keys",
            "jwt_issuer": self.url,
            "jwt_audience": "vivavoce",
            "oidc_client_id": self.client_id,
        } | more


@asynccontextmanager
async def openid() -> AsyncIterator[OpenId]:
    made = OpenId()
    routes = [
        Route("/.well-known/openid-configuration", made.describe),
        Route("/keys", made.keys),
        Route("/authorize", made.authorize),
        Route("/token", made.token, methods=["POST"]),
    ]
    async with serving(Starlette(routes=routes)) as served:
        made.url = f"http://127.0.0.1:{served.port}"
        yield made


@dataclass
class Page:
    """What a page in a browser does, with what the server told it and nothing else."""

    provider: dict[str, Any]
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48))
    state: str = field(default_factory=lambda: secrets.token_urlsafe(16))

    async def log_in(self) -> dict[str, Any]:
        answer = await self.hand_in(await self.code())
        assert answer.status_code == 200, answer.text
        got: dict[str, Any] = answer.json()
        return got

    async def code(self) -> str:
        proof = hashlib.sha256(self.verifier.encode()).digest()
        asked = {
            "response_type": "code",
            "client_id": self.provider["client_id"],
            "redirect_uri": f"{PAGE}/",
            "scope": self.provider["scope"],
            "state": self.state,
            "code_challenge": base64.urlsafe_b64encode(proof).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        async with httpx.AsyncClient() as http:
            sent = await http.get(self.provider["authorization_endpoint"], params=asked)
        assert sent.status_code == 307
        back = urlsplit(sent.headers["location"])
        found = parse_qs(back.query)
        assert found["state"] == [self.state]
        return found["code"][0]

    async def hand_in(self, code: str, verifier: str | None = None) -> httpx.Response:
        return await self._asked(
            {
                "grant_type": "authorization_code",
                "code": code,
                "redirect_uri": f"{PAGE}/",
                "code_verifier": verifier or self.verifier,
            }
        )

    async def renew(self, token: str) -> httpx.Response:
        return await self._asked({"grant_type": "refresh_token", "refresh_token": token})

    async def _asked(self, form: dict[str, str]) -> httpx.Response:
        form["client_id"] = self.provider["client_id"]
        async with httpx.AsyncClient() as http:
            return await http.post(
                self.provider["token_endpoint"], data=form, headers={"origin": PAGE}
            )
