"""The app that the doors make: the API, its description of itself, and the page (`page.py`)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi_offline import FastAPIOffline
from starlette.types import Lifespan, Receive, Scope, Send
from starlette.websockets import WebSocket

from vivavoce import __version__
from vivavoce.server import problems
from vivavoce.server.doors import status
from vivavoce.server.gate.auth import CONDUCTOR, OPEN_PATHS, AuthMode, route_path
from vivavoce.server.page import mount_authority, mount_page
from vivavoce.server.services import Services

_AT_ONCE = "/health"
_ABOUT = """Talk to your tools: voice sessions, tools and events of a Vivavoce server.

1. `POST /session`: a key and the tools.
2. Create an `RTCPeerConnection` and an offer.
3. `POST /sdp` with the key: the answer. The conversation can begin.
4. `GET /events`: every step, live and resumable.
"""
_TAGS = {
    "Health": "How the server is: for probes, for monitoring, and for who operates it.",
    "Session": "Voice sessions: opened, listed, read, gone on with and ended.",
    "WebRTC": "How a client gets its call: the offer, its sound by WebSocket, the ICE servers.",
    "Login": "How somebody comes in, and who they are then.",
    "Keys": "How a browser on a page of somebody else's comes in.",
    "Notices": "To browsers whose page is closed.",
    "Tools": "What the model may call, and calls of your own by the same way.",
    "Tasks": "Delegated work, questions of tools, and requests for a yes.",
    "Conductor": "For native apps that speak and run tools themselves; the rest is a WebSocket.",
    "Events": "Every step, as Server-Sent Events.",
    "Config": "What the server runs with, its voices, and changes to a running session.",
    "Conversations: voice": "The Conversations API: talking.",
    "Conversations": "The Conversations API: conversations, their messages, and writing.",
    "Conversations: plans and people": "The Conversations API: goals, tasks, intents, and the "
    "user's profile, preferences, usage and data.",
}
_VOICED = (
    *("CreateSessionRequest", "ResumeSessionRequest"),
    *("UpdateSessionConfigRequest", "PreferencesChange"),
)
"""What takes a voice; the first has a default."""
_OF_A_SESSION = frozenset({"/session", "/session/reconnect", "/session/pending_updates"})
_TOKENS = {
    "token": ("serverToken", "The token of this server"),
    "jwt": ("userToken", "A JWT of the user's"),
}


class Doors:
    """The app. Its doors but `/health` take a tenth of a second to import, for which a probe
    need not wait: they open once the server answers, and whoever comes before waits for them.

    Runtimes do not go through FastAPI: it has nothing to do for them, and each of its layers would
    wait, with what it holds, for as long as one is connected: 14 KiB of each."""

    def __init__(self, app: FastAPI, here: Services) -> None:
        self._app, self._here = app, here
        self._open, self._opening = False, asyncio.Lock()
        self._runtimes: Callable[[Services, WebSocket], Awaitable[None]] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._open and scope["type"] != "lifespan" and scope["path"] != _AT_ONCE:
            await self.open()
        if (
            self._runtimes is not None
            and scope["type"] == "websocket"
            and route_path(scope) == CONDUCTOR
        ):
            await self._runtimes(self._here, WebSocket(scope, receive, send))
        else:
            await self._app(scope, receive, send)

    async def open(self) -> None:
        async with self._opening:
            if not self._open:
                for router in await asyncio.to_thread(_routers):
                    self._app.router.routes.extend(router.routes)
                from vivavoce.server.doors.conductor import conductor  # loaded by now

                self._runtimes = conductor
                if (inside := self._here.engine or self._here.standby) is not None:
                    self._app.mount("/v1", inside.door())
                mount_authority(self._app, lambda: self._here.options.authority)
                mount_page(self._app)
                self._open = True


def _routers() -> tuple[APIRouter, ...]:
    from vivavoce.server.doors import (
        conductor,
        conversations,
        events,
        keys,
        login,
        plans,
        push,
        sessions,
        tools,
    )

    return (
        sessions.router,
        sessions.webrtc,
        login.router,
        keys.router,
        tools.router,
        tools.inbox,
        events.router,
        conductor.router,
        status.configuration,
        conversations.voice,
        events.v1,
        conversations.router,
        plans.router,
        push.router,
    )


def build(here: Services, lifespan: Lifespan[FastAPI], *, mode: AuthMode) -> Doors:
    app = FastAPIOffline(
        title="Vivavoce Voice API",
        version=__version__,
        description=_ABOUT,
        license_info={"name": "MIT", "identifier": "MIT"},
        servers=[{"url": "/", "description": "This server"}],
        lifespan=lifespan,
        openapi_tags=[{"name": name, "description": words} for name, words in _TAGS.items()],
    )
    app.state.services = here
    app.include_router(status.router)
    problems.install(app)
    _describe_keys(app, mode)
    _describe_this(app, here)
    return Doors(app, here)


def _describe_keys(app: FastAPI, mode: AuthMode) -> None:
    """What FastAPI cannot know: the keys of `gate/auth.py`, where they are needed."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        schema = generate()
        schemes = {
            "ephemeralToken": _bearer("The key from POST /session"),
            "browserKey": _bearer("The key from POST /api/v1/keys"),
        }
        if mode != "off":
            name, words = _TOKENS[mode]
            schemes[name] = _bearer(words)
            schema["security"] = [{name: []}]
            for path in OPEN_PATHS & schema["paths"].keys():
                for operation in schema["paths"][path].values():
                    operation["security"] = []
        schema.setdefault("components", {})["securitySchemes"] = schemes
        return schema

    app.openapi = openapi  # type: ignore[method-assign] # FastAPI's own way to adapt it


def _describe_this(app: FastAPI, here: Services) -> None:
    """What only this server knows: its voices. And that a session has to be named, which it can be
    in two ways: OpenAPI has no words for one of two."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        schema = generate()
        voices = [voice.id for voice in here.profile.capabilities.voices]
        for name in _VOICED:
            field = schema["components"]["schemas"].get(name, {}).get("properties", {}).get("voice")
            if field is None:
                continue
            (text,) = (one for one in field.get("anyOf", [field]) if one.get("type") == "string")
            text["enum"] = voices
            if name == _VOICED[0] and here.profile.agent.voice in voices:
                field["default"] = here.profile.agent.voice
        for path in _OF_A_SESSION & schema["paths"].keys():
            told = schema["paths"][path]["get"]["parameters"]
            told[:] = [one for one in told if one["name"] != "x-session-id"]
            for one in told:
                if one["name"] == "session_id":
                    one["required"] = True
                    one["description"] = "The session; the header `X-Session-ID` does as well"
                    one["schema"] = {"type": "string", "maxLength": 64, "title": "Session Id"}
        return schema

    app.openapi = openapi  # type: ignore[method-assign] # FastAPI's own way to adapt it


def _bearer(description: str) -> dict[str, str]:
    return {"type": "http", "scheme": "bearer", "description": description}
