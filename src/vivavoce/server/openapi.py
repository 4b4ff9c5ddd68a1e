"""The API's description of itself: what FastAPI cannot know, the keys."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from vivavoce.server.auth import OPEN_PATHS


def describe_keys(app: FastAPI, *, token: bool) -> None:
    """The keys of `auth.py`, where they are needed: those who read OpenAPI ask for them."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        schema = generate()
        schemes = {"ephemeralToken": _bearer("The key from POST /session")}
        if token:
            schemes["serverToken"] = _bearer("The token of this server")
            schema["security"] = [{"serverToken": []}]
            for path in OPEN_PATHS & schema["paths"].keys():
                for operation in schema["paths"][path].values():
                    operation["security"] = []
        schema.setdefault("components", {})["securitySchemes"] = schemes
        return schema

    app.openapi = openapi  # type: ignore[method-assign] # FastAPI's own way to adapt it


def _bearer(description: str) -> dict[str, str]:
    return {"type": "http", "scheme": "bearer", "description": description}
