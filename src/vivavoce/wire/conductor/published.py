"""The protocol as others read it: JSON Schema (2020-12) of an event, and AsyncAPI 3 of the door.

Made from the models, so that what is published is what is checked.
"""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import models_json_schema

from vivavoce.wire.conductor.codes import BROKEN, CLOSES, CODES, RECONNECT
from vivavoce.wire.conductor.kinds import CLIENT, KINDS, OWN_CALLS, SERVER, Kind

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REF = "#/$defs/{model}"


def schema() -> dict[str, Any]:
    """Of every event, both ways; `$defs` has each kind's by its name on the wire."""
    return {
        "$schema": _DIALECT,
        "$id": "vivavoce-conductor-event.schema.json",
        "title": "Conductor event",
        "description": "Clients ignore kinds that they do not know. Fields that are not named here "
        "may be there, and are kept.",
        "oneOf": [{"$ref": f"#/$defs/{name}Event"} for name in KINDS],
        "$defs": {
            **{f"{name}Event": _event(name, kind) for name, kind in KINDS.items()},
            **_bodies(_REF),
        },
    }


def _bodies(ref: str) -> dict[str, Any]:
    own = [model for call in OWN_CALLS.values() for model in (call.arguments, call.result) if model]
    _, made = models_json_schema(
        [(model, "validation") for model in (*KINDS.values(), *own)],
        by_alias=True,
        ref_template=ref,
    )
    bodies: dict[str, Any] = made["$defs"]
    bodies["Error"]["properties"]["code"]["examples"] = list(CODES)
    bodies["ToolCall"]["allOf"] = [
        _own_call(name, ref.format(model=call.arguments.__name__))
        for name, call in OWN_CALLS.items()
    ]
    return bodies


def _own_call(name: str, arguments: str) -> dict[str, Any]:
    return {
        "if": {"properties": {"name": {"const": name}}},
        "then": {"properties": {"arguments": {"contentSchema": {"$ref": arguments}}}},
    }


def _event(name: str, kind: type[Kind]) -> dict[str, Any]:
    return {
        "type": "object",
        "title": name,
        "description": " ".join((kind.__doc__ or "").split()),
        "required": ["id", "timestamp", "kind"],
        "properties": {
            "id": {"type": "string", "format": "uuid"},
            "timestamp": {"type": "string", "format": "date-time"},
            "kind": {
                "type": "object",
                "required": [name],
                "minProperties": 1,
                "maxProperties": 1,
                "properties": {name: {"$ref": f"#/$defs/{kind.__name__}"}},
            },
        },
    }


def asyncapi() -> dict[str, Any]:
    """The door itself. `send` and `receive` are a runtime's."""
    messages = {name: {"$ref": f"#/components/messages/{name}"} for name in KINDS}
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Vivavoce conductor",
            "version": "1",
            "description": "A WebSocket on which a runtime, an app with microphone, loudspeaker "
            "and tools, talks with the conductor.",
        },
        "servers": {"here": {"host": "localhost:8080", "protocol": "ws"}},
        "defaultContentType": "application/json",
        "channels": {
            "conductor": {
                "address": "/conductor",
                "bindings": {
                    "ws": {
                        "query": {
                            "type": "object",
                            "required": ["sessionId"],
                            "properties": {
                                "sessionId": {
                                    "type": "string",
                                    "format": "uuid",
                                    "description": "A UUID of version 4. The same one again is the "
                                    "same conversation.",
                                },
                                "token": {
                                    "type": "string",
                                    "description": "A short-lived token, where no header can be "
                                    "sent.",
                                },
                            },
                        }
                    }
                },
                "messages": messages,
                "x-closes": {
                    str(int(code)): {"because": because, "connectAgain": code in RECONNECT}
                    for code, because in sorted({**CLOSES, **BROKEN}.items())
                },
                "x-errors": {
                    name: {"from": code.source, "means": code.means, "again": code.again}
                    for name, code in CODES.items()
                },
            }
        },
        "operations": {
            action: {
                "action": action,
                "channel": {"$ref": "#/channels/conductor"},
                "messages": [
                    {"$ref": f"#/channels/conductor/messages/{name}"}
                    for name, kind in KINDS.items()
                    if sender in kind.sent_by
                ],
            }
            for action, sender in (("send", CLIENT), ("receive", SERVER))
        },
        "components": {
            "messages": {
                name: {
                    "name": name,
                    "payload": {"$ref": f"event.schema.json#/$defs/{name}Event"},
                }
                for name in KINDS
            }
        },
    }
