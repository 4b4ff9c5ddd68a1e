"""The settings of the provider and of our own engine: a part of `Settings`, which alone reads the
environment."""

from __future__ import annotations

from ipaddress import IPv4Address
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

from pydantic import AliasChoices, Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings

EMBEDDED = "embedded"
OPENAI_URL = "https://api.openai.com/v1"
OPENAI_MODEL = "gpt-realtime-2.1"
_MODELS = {EMBEDDED: "vivavoce"}
BRAINS = ("qwen-1.5b", "qwen-0.5b", "scripted")


def _chat_url(value: str) -> str:
    """The base URL of a chat server: `/v1`, where every one of them has it, may be left out."""
    url = urlsplit(value)
    _ = url.port  # a ValueError where it is none
    if url.scheme not in ("http", "https") or not url.hostname:
        raise ValueError(f"should be {', '.join(BRAINS)}, or begin with http:// or https://")
    if url.username is not None or url.password is not None:
        raise ValueError("should hold no password; a key goes into VIVAVOCE_BRAIN_KEY")
    if url.query or url.fragment:
        raise ValueError("should be a base URL, with nothing after its path")
    path = url.path.rstrip("/").removesuffix("/chat/completions") or "/v1"
    return urlunsplit((url.scheme, url.netloc, path, "", ""))


class EngineSettings(BaseSettings):
    """Who answers, and with which ears, brain and mouth."""

    provider_url: str = Field(
        default=EMBEDDED,
        description="Who answers: `embedded` (our own engine, offline), `openai`, or the base "
        "URL of any server that speaks the Realtime protocol.",
    )
    api_key: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("VIVAVOCE_API_KEY", "OPENAI_API_KEY"),
        description="Key for the provider; `OPENAI_API_KEY` works too.",
    )
    model: str = Field(
        default_factory=lambda given: _MODELS.get(given.get("provider_url"), OPENAI_MODEL),
        min_length=1,
        json_schema_extra={"shown": "`vivavoce`, or `gpt-realtime-2.1` at a provider"},
        description="The provider's Realtime model.",
    )
    voice: str = Field(
        default="marin", min_length=1, description="Voice, in place of the one the agent names."
    )
    transcription_model: str = Field(
        default="gpt-4o-mini-transcribe",
        min_length=1,
        description="Who writes down what the user said, in place of the agent's choice.",
    )
    sideband_tries: int = Field(
        default=5, ge=1, le=100, description="Tries to get a lost sideband back."
    )
    sideband_delay: float = Field(
        default=3.0, ge=0, le=60, description="Seconds between those tries."
    )
    peer_text: Literal["deny", "allow"] = Field(
        default="deny",
        description="Whether text that the browser itself puts on the call is accepted.",
    )
    ice_servers: tuple[dict[str, Any], ...] = Field(
        default=(),
        repr=False,  # it may hold credentials
        description='ICE servers for `GET /ice-config`, as JSON: `[{"urls": ["stun:…"]}]`.',
    )

    # --- The embedded engine
    script: Path | None = Field(
        default=None,
        description="A YAML script for the scripted brain, in place of the one that ships. "
        "Choosing one chooses that brain.",
    )
    brain: str = Field(
        default_factory=lambda given: "scripted" if given.get("script") else BRAINS[0],
        json_schema_extra={"shown": "`qwen-1.5b`"},
        description="Who thinks: `qwen-1.5b`, the quicker and simpler `qwen-0.5b`, `scripted`, or "
        "the base URL of any server that speaks OpenAI's chat completions, such as "
        "`http://localhost:11434/v1`.",
    )
    brain_model: str = Field(
        default="",
        description="Model to ask for at that URL; may be left out where the server has but one.",
    )
    brain_key: SecretStr | None = Field(
        default=None, description="Key for that URL, where it wants one."
    )
    ears: Literal["moonshine-base", "moonshine-tiny", "whisper-small"] = Field(
        default="moonshine-base",
        description="Who writes down what was said: `moonshine-base`, the quicker "
        "`moonshine-tiny`, or `whisper-small`, which is exact and slow.",
    )
    mouth: Literal["kokoro", "piper-joe"] = Field(
        default="kokoro",
        description="Who speaks: `kokoro`, or the much quicker and plainer `piper-joe`.",
    )
    noise_reduction: Literal["off", "near_field", "far_field"] = Field(
        default="off",
        description="Noise taken out of the user's sound where a session does not say: `off`, "
        "`near_field` for a microphone at the mouth, `far_field` for one across the room. "
        "Browsers do it themselves.",
    )
    speculation: bool = Field(
        default=True,
        description="Whether the engine gets ready while the user still speaks, and throws away "
        "what was for nothing. Off: less work, slower answers.",
    )
    manners: bool = Field(
        default=True,
        description="Whether the assistant says that a slow answer is coming, and asks again when "
        "it did not understand.",
    )
    engine_sessions: int = Field(
        default=8, ge=1, le=1000, description="Calls of the embedded engine at once."
    )
    single_use_secrets: bool = Field(
        default=False,
        description="Whether a client secret of the Realtime API opens one session only, instead "
        "of several until it expires. Those that the server mints for its own pages always do.",
    )
    engine_responses_per_minute: int = Field(
        default=0, ge=0, description="Answers a call may ask for in a minute; 0 is no limit."
    )
    backchannel: bool = Field(
        default=False,
        description='Whether the assistant goes on when somebody only says "uh-huh".',
    )
    media_ports: str = Field(
        default="",
        description="UDP ports for WebRTC, such as `40000-40100`; any, where empty.",
    )
    media_address: str = Field(
        default="",
        description="The public IPv4 address that WebRTC peers should use, behind a NAT.",
    )

    @field_validator("provider_url")
    @classmethod
    def _http(cls, value: str) -> str:
        if value.lower() in (EMBEDDED, "openai"):
            return EMBEDDED if value.lower() == EMBEDDED else OPENAI_URL
        if not value.startswith(("http://", "https://")):
            raise ValueError("should be embedded, openai, or begin with http:// or https://")
        return value.rstrip("/")

    @field_validator("brain")
    @classmethod
    def _known_brain(cls, value: str) -> str:
        return value.lower() if value.lower() in BRAINS else _chat_url(value)

    @field_validator("media_ports")
    @classmethod
    def _port_range(cls, value: str) -> str:
        low, _, high = value.replace(" ", "").partition("-")
        if not value:
            return ""
        if not (low + high).isdecimal() or not 1024 <= int(low) <= int(high or 0) <= 65535:
            raise ValueError("should be two ports from 1024 to 65535, such as 40000-40100")
        return f"{low}-{high}"

    @field_validator("media_address")
    @classmethod
    def _ip(cls, value: str) -> str:
        # Peers are told it in place of our IPv4 addresses; IPv6 ones are told as they are.
        return str(IPv4Address(value)) if value else ""

    @field_validator("script")
    @classmethod
    def _absolute_script(cls, value: Path | None) -> Path | None:
        return None if value is None else value.expanduser().absolute()

    @field_validator("peer_text", "ears", "mouth", mode="before")
    @classmethod
    def _lower_names(cls, value: object) -> object:
        return value.lower() if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one_brain(self) -> EngineSettings:
        if self.script is not None and self.brain != "scripted":
            raise ValueError("VIVAVOCE_SCRIPT: is for VIVAVOCE_BRAIN=scripted")
        for name in ("brain_model", "brain_key"):
            if getattr(self, name) and self.brain in BRAINS:
                raise ValueError(f"VIVAVOCE_{name.upper()}: is for a VIVAVOCE_BRAIN that is a URL")
        return self

    @property
    def brain_by_url(self) -> bool:
        """Whether the brain is somebody else's server; `brain` is its base URL then."""
        return self.brain not in BRAINS

    @property
    def needed_models(self) -> tuple[str, ...]:
        """The models of the catalogue that the embedded engine needs."""
        local = () if self.brain_by_url or self.brain == "scripted" else (self.brain,)
        return ("silero-vad", "smart-turn", self.ears, *local, self.mouth)
