"""The part of `Settings` that is about TLS: with a certificate of yours, or one that is made."""

from __future__ import annotations

from pydantic import model_validator
from pydantic_settings import BaseSettings

from vivavoce.app.settings.parts import AbsolutePath


class HttpsSettings(BaseSettings):
    """TLS."""

    https: bool = False
    """Whether it speaks https itself, as `serve --https` does. Without a certificate of yours one
    is made and kept in the data folder. Not behind a proxy that does it."""
    https_cert: AbsolutePath | None = None
    """Your certificate, with those between it and its authority, as PEM; turns https on."""
    https_key: AbsolutePath | None = None
    """Its private key, as PEM, without a password."""

    @model_validator(mode="after")
    def _both(self) -> HttpsSettings:
        if (self.https_cert is None) != (self.https_key is None):
            raise ValueError("VIVAVOCE_HTTPS_CERT: needs VIVAVOCE_HTTPS_KEY, and the other way")
        return self

    @property
    def is_secure(self) -> bool:
        return self.https or self.https_cert is not None
