"""What a push service must not read, and how it knows that we may write: RFC 8291 and RFC 8292.

A notice is encrypted for one browser (aes128gcm, one record), so the service that carries it sees
its size and nothing else; and each request is signed with this server's key (VAPID), of which the
browser was told the public half when it subscribed. The key is made once and kept in the data
folder: with another one every subscription is lost.

Needs `cryptography` and `pyjwt`, which are imported when somebody subscribes or is written to. No
I/O but for that file.
"""

from __future__ import annotations

import base64
import binascii
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from vivavoce.errors import InvalidRequest, Unavailable

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ec

RECORD_BYTES = 4096
"""Of the one record; RFC 8030 §7.2: a push service must take that much, and need not take more."""
_OVERHEAD = 16 + 4 + 1 + 65 + 16 + 1  # salt, size, length of the key, the key, tag, the delimiter
MOST_BYTES = RECORD_BYTES - _OVERHEAD
_PADDED_TO = 1024  # so that a size says little of what was said
_SIGNED_FOR = timedelta(hours=12)  # RFC 8292 §2: at most a day
_SIGN_AGAIN = timedelta(hours=1)
_POINT_BYTES, _AUTH_BYTES, _SECRET_BYTES = 65, 16, 32
FILE = "push.key"


def sealed(
    plain: bytes,
    p256dh: str,
    auth: str,
    *,
    own: ec.EllipticCurvePrivateKey | None = None,
    salt: bytes | None = None,
) -> bytes:
    """The body of the request. `own` and `salt` are new for each, but for the standard's own
    example. Raises `InvalidRequest` for keys that are none, and for too much."""
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    if len(plain) > MOST_BYTES:
        raise InvalidRequest(f"A notice has at most {MOST_BYTES} bytes")
    theirs, secret = point_of(p256dh), secret_of(auth)
    own, salt = own or ec.generate_private_key(ec.SECP256R1()), salt or os.urandom(16)
    ours = _as_point(own.public_key())
    # RFC 8291 §3.4: "WebPush: info" || 0x00 || ua_public || as_public
    shared = own.exchange(ec.ECDH(), theirs)
    keying = _hkdf(secret, shared, b"WebPush: info\0" + _as_point(theirs) + ours, 32)
    # RFC 8188 §2.2 and §2.3
    content_key = _hkdf(salt, keying, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _hkdf(salt, keying, b"Content-Encoding: nonce\0", 12)
    head = salt + RECORD_BYTES.to_bytes(4, "big") + len(ours).to_bytes(1, "big") + ours
    # RFC 8188 §2: the last record ends with a delimiter of 2, and zeros.
    return head + AESGCM(content_key).encrypt(nonce, plain + b"\x02", None)


def padded(plain: bytes) -> bytes:
    """JSON with spaces after it, up to the next size that many have."""
    size = min(-(-len(plain) // _PADDED_TO) * _PADDED_TO, MOST_BYTES)
    return plain.ljust(size)


def point_of(p256dh: str) -> ec.EllipticCurvePublicKey:
    """A browser's public key. Raises `InvalidRequest` for what is no point of the curve."""
    from cryptography.hazmat.primitives.asymmetric import ec

    data = _bytes(p256dh, "p256dh")
    with suppress(ValueError):
        if len(data) == _POINT_BYTES:
            return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), data)
    raise InvalidRequest("'p256dh' is not a browser's public key", field="p256dh")


def secret_of(auth: str) -> bytes:
    data = _bytes(auth, "auth")
    if len(data) != _AUTH_BYTES:
        raise InvalidRequest("'auth' is not a browser's secret", field="auth")
    return data


class PushKey:
    """This server's own: what it signs with."""

    def __init__(self, private: ec.EllipticCurvePrivateKey, contact: str = "") -> None:
        """`contact`: whom a push service may write to, as `mailto:` or `https:`."""
        self._private, self._contact = private, contact
        self._signed: dict[str, tuple[datetime, str]] = {}
        self.public = unpadded(_as_point(private.public_key()))
        """As `applicationServerKey` of the browser's `subscribe`."""

    @classmethod
    def of(cls, text: str, contact: str = "") -> PushKey:
        """From 32 bytes in base64url. Raises `InvalidRequest`."""
        from cryptography.hazmat.primitives.asymmetric import ec

        data = _bytes(text, "key")
        with suppress(ValueError):
            if len(data) == _SECRET_BYTES:
                number = int.from_bytes(data, "big")
                return cls(ec.derive_private_key(number, ec.SECP256R1()), contact)
        raise InvalidRequest("should be a private key of 32 bytes, in base64url")

    @classmethod
    def kept(cls, folder: Path, contact: str = "") -> PushKey:
        """The one of this data folder, made now where there is none. Raises `Unavailable`."""
        path = folder / FILE
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(FileExistsError):
                _write_once(path, unpadded(secrets.token_bytes(_SECRET_BYTES)))
            return cls.of(path.read_text(encoding="ascii").strip(), contact)
        except (OSError, UnicodeDecodeError, InvalidRequest) as fault:
            raise Unavailable(f"The key for notices cannot be read or made: {path}") from fault

    def headers(self, endpoint: str, now: datetime) -> Mapping[str, str]:
        """That it is us who write to this push service (RFC 8292 §3)."""
        import jwt

        parts = urlsplit(endpoint)
        origin = f"{parts.scheme}://{parts.netloc}"
        at, token = self._signed.get(origin, (None, ""))
        if at is None or now - at >= _SIGN_AGAIN:
            claims = {"aud": origin, "exp": int((now + _SIGNED_FOR).timestamp())}
            if self._contact:
                claims["sub"] = self._contact
            token = jwt.encode(claims, self._private, algorithm="ES256")
            self._signed = {origin: (now, token)} if len(self._signed) > 64 else self._signed
            self._signed[origin] = (now, token)
        return {"Authorization": f"vapid t={token}, k={self.public}"}


def _write_once(path: Path, text: str) -> None:
    """As a whole or not at all, and by one of several: `link` refuses a name that is taken."""
    own = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    handle = os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.link(own, path)
    finally:
        own.unlink()


def _hkdf(salt: bytes, secret: bytes, info: bytes, size: int) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), size, salt, info).derive(secret)


def _as_point(key: ec.EllipticCurvePublicKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def unpadded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _bytes(text: str, name: str) -> bytes:
    """Of base64url, padded or not."""
    try:
        bare = text.rstrip("=")
        return base64.b64decode(bare + "=" * (-len(bare) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise InvalidRequest(f"'{name}' is not base64url", field=name) from None
