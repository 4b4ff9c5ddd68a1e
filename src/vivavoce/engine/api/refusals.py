"""Faults in the shape of OpenAI's API: the one place where they become an answer."""

from __future__ import annotations

import math
from typing import Any

from vivavoce.errors import ClientError, Unauthorized, VivavoceError
from vivavoce.wire.realtime.refusal import Refused


def refusal(fault: Refused | VivavoceError) -> tuple[int, dict[str, Any], dict[str, str]]:
    """Status, body and headers."""
    if isinstance(fault, Refused):
        status = 404 if fault.code == "model_not_found" else 400
        return status, _body(fault.message, fault.type, fault.code, fault.param), {}
    kind = "invalid_request_error" if isinstance(fault, ClientError) else "server_error"
    code = "call_id_not_found" if "call_id" in fault.details else fault.code
    if isinstance(fault, Unauthorized):
        code = "invalid_api_key"
    after = fault.retry_after_ms
    headers = {} if after is None else {"Retry-After": str(math.ceil(after / 1000))}
    return fault.status, _body(fault.message, kind, code, None), headers


def _body(message: str, kind: str, code: str | None, param: str | None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "code": code, "param": param}}
