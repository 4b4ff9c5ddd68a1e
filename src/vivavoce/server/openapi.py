"""The API's description of itself: what FastAPI cannot know, the keys."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from vivavoce.server.gate.auth import OPEN_PATHS, AuthMode

_TOKENS = {
    "token": ("serverToken", "The token of this server"),
    "jwt": ("userToken", "A JWT of the user's"),
}


def describe_keys(app: FastAPI, *, mode: AuthMode) -> None:
    """The keys of `auth.py`, where they are needed: those who read OpenAPI ask for them."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        schema = generate()
        schemes = {"ephemeralToken": _bearer("The key from POST /session")}
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


def _bearer(description: str) -> dict[str, str]:
    return {"type": "http", "scheme": "bearer", "description": description}
