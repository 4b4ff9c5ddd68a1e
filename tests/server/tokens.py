"""JWTs for tests, as an issuer would make them, with keys that are made when they are needed."""

from __future__ import annotations

import time
from functools import cache
from typing import Any

import jwt
import orjson
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

SECRET = "a-secret-that-has-well-over-32-characters"
ISSUER = "https://issuer.example/auth/v1"
AUDIENCE = "authenticated"
ADA = "11111111-1111-4111-8111-111111111111"
EVE = "22222222-2222-4222-8222-222222222222"
SETTINGS: dict[str, Any] = {"auth": "jwt", "jwt_secret": SECRET, "jwt_issuer": ISSUER}

Private = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey


@cache
def rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


@cache
def ec_key(number: int = 0) -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@cache
def ed_key() -> ed25519.Ed25519PrivateKey:
    return ed25519.Ed25519PrivateKey.generate()


def claims(user: Any = ADA, **changed: Any) -> dict[str, Any]:
    """What Supabase puts into one; a change to None takes a claim out."""
    now = int(time.time())
    said = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": user,
        "exp": now + 3600,
        "iat": now,
        "role": "authenticated",
        **changed,
    }
    return {name: value for name, value in said.items() if value is not None}


def token(user: Any = ADA, *, headers: dict[str, Any] | None = None, **changed: Any) -> str:
    """With the shared secret."""
    return jwt.encode(claims(user, **changed), SECRET, "HS256", headers=headers)


def signed(key: Private, algorithm: str, kid: str | None = None, **changed: Any) -> str:
    return jwt.encode(claims(**changed), key, algorithm, headers={"kid": kid} if kid else None)


def bearer(user: str = ADA, role: str | None = None) -> dict[str, str]:
    return {"authorization": f"Bearer {token(user, vivavoce_role=role)}"}


def public(key: Private, kid: str | None, **more: Any) -> dict[str, Any]:
    """The key as a JWKS has it."""
    match key:
        case rsa.RSAPrivateKey():
            shown: dict[str, Any] = RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
        case ec.EllipticCurvePrivateKey():
            shown = ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
        case _:
            shown = OKPAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return {**shown, **({"kid": kid} if kid else {}), **more}


def key_set(*keys: dict[str, Any]) -> bytes:
    return orjson.dumps({"keys": list(keys)})
