"""How our messages to a backend are signed: the scheme of Standard Webhooks.

    webhook-id         the delivery, and the idempotency key
    webhook-timestamp  seconds since the epoch, of this attempt
    webhook-signature  v1,<base64 of HMAC-SHA256 over "id.timestamp.body">

A secret that begins with `whsec_` is base64 behind it; any other is its own bytes.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from datetime import datetime

PREFIX = "whsec_"


def key_of(secret: str) -> bytes:
    """Raises `ValueError` for a `whsec_` that is no base64."""
    if not secret.startswith(PREFIX):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error:
        raise ValueError("a secret that begins with whsec_ has to be base64 behind it") from None


def signed(key: bytes | None, message_id: str, at: datetime, body: bytes) -> dict[str, str]:
    """The headers; without a key, all but the signature."""
    stamp = str(int(at.timestamp()))
    headers = {
        "idempotency-key": message_id,
        "webhook-id": message_id,
        "webhook-timestamp": stamp,
    }
    if key is not None:
        content = b".".join((message_id.encode(), stamp.encode(), body))
        mac = base64.b64encode(hmac.digest(key, content, "sha256")).decode()
        headers["webhook-signature"] = f"v1,{mac}"
    return headers
