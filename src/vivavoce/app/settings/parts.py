"""The parts of `Settings`, which alone reads the environment: who may come in, who may do what, how
much of it, the provider, the engine.

There are three ways to ask who somebody is, and what belongs to each. A wrong
combination is refused at the start, in words; what a token says is checked in
`server/gate/jwt.py`.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit, urlunsplit

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode

from vivavoce.models import hub
from vivavoce.server.gate import MIN_TOKEN_LENGTH
from vivavoce.wire.records.work import Role

# RFC 7518 §3.2: "A key of the same size as the hash output … or larger MUST be used".
SECRET_BYTES = {"HS256": 32, "HS384": 48, "HS512": 64}
_USUAL_KEYS = ("ES256", "RS256", "EdDSA")
SIGNED_BY_KEY = (*_USUAL_KEYS, "ES384", "ES512", "RS384", "RS512", "PS256", "PS384", "PS512")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def _split(value: object) -> object:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


Words = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
"""Comma-separated."""
LOWER = BeforeValidator(_lower)
"""Of a name that may be written in capitals."""
AbsolutePath = Annotated[Path, AfterValidator(lambda path: path.expanduser().absolute())]


def _each(pattern: str, such: str) -> AfterValidator:
    """All of the words are of this form."""

    def check(words: tuple[str, ...]) -> tuple[str, ...]:
        for word in words:
            if not re.fullmatch(pattern, word):
                raise ValueError(f"should be {such}, and has {word!r}")
        return words

    return AfterValidator(check)


_HOSTS = _each(
    r"\*|(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?|[0-9A-Fa-f:.]+",
    "host names such as voice.example",
)
_ORIGINS = _each(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#\s@*]+/?", "origins such as https://a.example")
_KNOWN = (*SECRET_BYTES, *SIGNED_BY_KEY)
_ALGORITHMS = _each("|".join(_KNOWN), f"some of {', '.join(_KNOWN)}")


def check_safe_url(value: str) -> str:
    """Whose answer decides who somebody is. Raises `ValueError`."""
    url = urlsplit(value)
    _ = url.port  # a ValueError where it is none
    host = url.hostname or ""
    # Keys that can be swapped on the way are none; one word is a name on our own network.
    near = host in _LOOPBACK or (host and "." not in host and ":" not in host)
    if not host or url.scheme not in ("https", "http") or (url.scheme == "http" and not near):
        raise ValueError("should begin with https://, or http:// on this machine or network")
    if url.username is not None or url.password is not None or url.fragment:
        raise ValueError("should be a plain URL, without a password or a fragment")
    return value


class AuthSettings(BaseSettings):
    """Who may."""

    auth: Annotated[Literal["off", "token", "jwt"], LOWER] = "off"
    """`off` trusts this machine; `token` asks for `VIVAVOCE_AUTH_TOKEN`; `jwt` asks each user for a
    JWT, such as Supabase's."""
    auth_token: SecretStr | None = None
    """The bearer token, at least 16 characters. With `jwt` it is the operator's: for `/status`,
    `/metrics` and the engine's `/v1`. `vivavoce token create` makes more, with names."""
    jwt_secret: SecretStr | None = None
    """Secret that JWTs are signed with (HS256), at least 32 characters; Supabase's JWT secret."""
    jwt_previous_secret: SecretStr | None = None
    """The secret before this one, while it changes: JWTs signed with either are valid."""
    jwt_jwks_url: str = ""
    """In place of a secret, where the issuer's public keys are, such as
    `https://….supabase.co/auth/v1/.well-known/jwks.json`."""
    jwt_issuer: str = ""
    """Who must have issued a JWT, such as `https://….supabase.co/auth/v1`."""
    jwt_audience: str = "authenticated"
    """Whom a JWT must be meant for: its `aud`."""
    jwt_algorithms: Annotated[Words, _ALGORITHMS] = Field(
        default=(), json_schema_extra={"shown": "`HS256`, or `ES256,RS256,EdDSA` with a JWKS URL"}
    )
    """Signatures that count, comma-separated."""
    jwt_max_age_hours: float = Field(default=24.0, ge=0, le=24 * 366)
    """How long a JWT is valid after it was issued, even if it says longer; 0 is as long as it
    says."""

    allowed_hosts: Annotated[Words, _HOSTS] = ()
    """Host names it answers to besides loopback, comma-separated."""
    allowed_origins: Annotated[Words, _ORIGINS] = ()
    """Web origins that may call it besides its own, comma-separated: pages of yours with
    `<vivavoce-voice>`."""
    key_makers: Words = ()
    """With `jwt`: names of operators' tokens that may make keys for any user's browser
    (`VIVAVOCE_AUTH_TOKEN` is the name of that one), comma-separated. The backend of a page needs
    one. With `token` every operator's token may."""

    @field_validator("auth_token")
    @classmethod
    def _long_enough(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and len(value.get_secret_value()) < MIN_TOKEN_LENGTH:
            raise ValueError(f"should have at least {MIN_TOKEN_LENGTH} characters")
        return value

    @field_validator("jwt_secret", "jwt_previous_secret")
    @classmethod
    def _a_secret(cls, value: SecretStr | None) -> SecretStr | None:
        if value is None:
            return None
        if "-----BEGIN" in value.get_secret_value():
            # Whoever knows a public key could sign with it: the classic confusion.
            raise ValueError("should be a shared secret, not a key; VIVAVOCE_JWT_JWKS_URL has keys")
        if len(value.get_secret_value().encode()) < SECRET_BYTES["HS256"]:
            raise ValueError("should have at least 32 characters")
        return value

    @field_validator("jwt_jwks_url")
    @classmethod
    def _keys_by_a_safe_way(cls, value: str) -> str:
        return check_safe_url(value) if value else ""

    @model_validator(mode="after")
    def _what_the_mode_needs(self) -> AuthSettings:
        if self.auth == "token" and self.auth_token is None:
            raise ValueError("VIVAVOCE_AUTH_TOKEN: is needed with VIVAVOCE_AUTH=token")
        if self.auth == "jwt":
            self._what_jwt_needs()
        else:
            own = ("jwt_secret", "jwt_previous_secret", "jwt_jwks_url", "jwt_issuer")
            for name in (*own, "jwt_algorithms"):
                if getattr(self, name):  # or somebody believes that it protects them
                    raise ValueError(f"VIVAVOCE_{name.upper()}: is for VIVAVOCE_AUTH=jwt")
        return self

    def _what_jwt_needs(self) -> None:
        if (self.jwt_secret is None) == (not self.jwt_jwks_url):
            raise ValueError(
                "VIVAVOCE_AUTH: jwt needs either VIVAVOCE_JWT_SECRET or VIVAVOCE_JWT_JWKS_URL, "
                f"and has {'neither' if self.jwt_secret is None else 'both'}"
            )
        if self.jwt_previous_secret is not None and self.jwt_secret is None:
            raise ValueError("VIVAVOCE_JWT_PREVIOUS_SECRET: is for VIVAVOCE_JWT_SECRET")
        if not self.jwt_issuer:
            raise ValueError("VIVAVOCE_JWT_ISSUER: is needed with VIVAVOCE_AUTH=jwt")
        kinds = SIGNED_BY_KEY if self.jwt_secret is None else tuple(SECRET_BYTES)
        for name in self.jwt_algorithms:
            if name not in kinds:
                source = "VIVAVOCE_JWT_JWKS_URL" if self.jwt_secret is None else "a secret"
                raise ValueError(
                    f"VIVAVOCE_JWT_ALGORITHMS: with {source} should be some of "
                    f"{', '.join(kinds)}, and has {name!r}"
                )
        if self.jwt_secret is not None:
            needed = max(SECRET_BYTES[name] for name in self.signatures)
            for named in ("jwt_secret", "jwt_previous_secret"):
                given: SecretStr | None = getattr(self, named)
                if given is not None and len(given.get_secret_value().encode()) < needed:
                    raise ValueError(
                        f"VIVAVOCE_{named.upper()}: should have at least {needed} characters "
                        f"for {', '.join(self.signatures)}"
                    )

    @property
    def signatures(self) -> tuple[str, ...]:
        """The algorithms that count: never what a token says of itself."""
        return self.jwt_algorithms or (_USUAL_KEYS if self.jwt_secret is None else ("HS256",))


def _share(number: int) -> Any:
    """A limit of one user's: on where users are told apart, so that one alone never meets it."""
    return Field(
        default_factory=lambda given: number if given.get("auth") == "jwt" else 0,
        ge=0,
        json_schema_extra={"shown": f"`{number}` with `jwt`, else `0`"},
    )


class ShareSettings(BaseSettings):
    """What one user may take of what all share, and one connection before anyone is known."""

    # --- One user; 0 is no limit
    user_streams: int = _share(12)
    """Event streams one user may have open at a server; 0 is no limit."""
    user_sessions: int = _share(3)
    """Live voice sessions one user may have, at all servers of one database; 0 is no limit. An
    agent may allow fewer (`concurrent_sessions`)."""
    user_seats: int = _share(5)
    """Places at a server that one user's sessions may take, spoken and written together; each takes
    one of `VIVAVOCE_ENGINE_SESSIONS`. 0 is no limit."""
    user_conversations: int = _share(5000)
    """Conversations one user may have stored; 0 is no limit."""
    user_megabytes: int = _share(200)
    """Megabytes of what was said, called and returned that one user may have stored; 0 is no
    limit."""
    user_syncs_per_minute: int = _share(60)
    """Transcripts one user's clients may send to a server in a minute; 0 is no limit."""
    user_messages_per_minute: int = Field(default=30, ge=0)
    """Written messages one user may send to a server in a minute; 0 is no limit."""
    user_changes_per_minute: int = _share(120)
    """Changes one user may make at a server in a minute: to plans, profile, preferences and
    configuration, and conversations begun and deleted; 0 is no limit."""
    user_calls: int = _share(50)
    """Tool calls of one user's clients (`/execute`, `/webhook/tool-call`) that may be under way at
    a server; 0 is no limit."""
    user_reads: int = _share(2)
    """Large answers one user may be given at a time at a server: a whole session, messages, a
    search, an export; 0 is no limit."""
    user_requests_per_second: int = _share(100)
    """Requests of one user that a server begins in a second; a few begin at once, others wait their
    turn, so that other users' are served in between. 0 is no limit."""
    user_approvals: int = Field(default=20, ge=1)
    """Questions that may wait for one user's yes, at all servers of one database. What would be
    one more is refused."""

    # --- One connection
    max_connections: int = Field(default=1000, ge=16)
    """Open connections at once; a few more are accepted for `/health`. Fewer, where the system
    allows the process fewer open files."""
    header_seconds: float = Field(default=10.0, gt=0, le=600)
    """Seconds in which the head of a request has to arrive."""
    body_seconds: float = Field(default=30.0, gt=0, le=600)
    """Seconds in which its body has to arrive; a large one has more, as long as it comes at
    8 kB a second."""
    idle_seconds: float = Field(default=5.0, gt=0, le=600)
    """Seconds that a connection is kept open for another request."""
    stall_seconds: float = Field(default=60.0, gt=0, le=3600)
    """Seconds after which a client that does not read what it asked for is cut off."""


class ConductorSettings(BaseSettings):
    """Runtimes: native apps with tools of their own."""

    conductor_connections: int = Field(default=500, ge=0)
    """Runtimes that may be connected to a server; 0 is no limit."""
    conductor_user_connections: int = Field(default=20, ge=0)
    """Runtimes of one user that may be connected to a server; 0 is no limit."""
    conductor_start_seconds: float = Field(default=10.0, gt=0, le=600)
    """Seconds in which a runtime has to say which session it is."""
    conductor_idle_seconds: float = Field(default=60.0, ge=1, le=3600)
    """Seconds after the last word for which the provider's session of a runtime is kept. The next
    word opens another, with what was said; the connection stays as it is."""
    conductor_tool_seconds: float = Field(default=60.0, ge=1, le=3600)
    """Seconds that a tool of a runtime's may take, its way there and back included."""
    conductor_message_bytes: int = Field(default=512 * 1024, ge=16 * 1024, le=16 * 1024 * 1024)
    """Bytes of one message of a runtime's."""
    conductor_trust: bool = False
    """Take what runtimes say of their tools for true: one with `readOnlyHint` is not asked, and
    descriptions are not words from outside. For when every runtime is an app of your own, whose
    tools are its own."""
    conductor_wrapped_tools: bool = False
    """Offer a runtime's tools to the model behind one tool, `tool_call`, for providers that take no
    others."""


_PATTERNS = _each(r"!?[A-Za-z0-9_:.*?\[\]-]{1,128}", "names or patterns such as read_file or git_*")


def _networks(words: tuple[str, ...]) -> tuple[str, ...]:
    for word in words:
        ip_network(word)  # a ValueError that says what is wrong
    return words


Networks = Annotated[Words, AfterValidator(_networks)]
RoleName = Annotated[Role, LOWER]


class RoleSettings(BaseSettings):
    """What whom is allowed: a user, a developer, an operator."""

    jwt_role_claim: str = Field(default="vivavoce_role", min_length=1, max_length=256)
    """Claim of a JWT that has its user's role, such as `app_metadata.role`; a string or a list.
    Whoever has none is a plain user."""
    jwt_developers: Words = ("developer",)
    """Values of that claim that make a developer, comma-separated."""
    jwt_operators: Words = ("operator",)
    """Values of that claim that make an operator, comma-separated."""
    user_tools: Annotated[Words, _PATTERNS] = ()
    """Tools for plain users besides those that they have anyway (all but files, commands and MCP),
    in place of the agent's list: names and patterns, comma-separated; `!` takes away."""
    user_agents: Annotated[Words, _PATTERNS] = ()
    """Agents that plain users may delegate to besides the built-in ones, likewise."""
    developer_tools: Annotated[Words, _PATTERNS] = ()
    """The same for developers, who have all tools: only `!` makes a difference."""
    developer_agents: Annotated[Words, _PATTERNS] = ()
    """The same for developers, who may delegate to all agents."""
    execute_role: RoleName = "developer"
    """The least role that may call tools itself, with `/execute` and the webhook."""
    login_failures_per_minute: int = Field(default=10, ge=0, le=100_000)
    """Wrong tokens from one address before it has to wait; 0 is no limit."""
    trusted_proxies: Networks = ()
    """Addresses or networks of proxies whose `X-Forwarded-For` is believed, such as `10.0.0.5` or
    `172.16.0.0/12`, comma-separated. Without: whoever connects is who asks."""

    @field_validator("jwt_role_claim")
    @classmethod
    def _not_their_own(cls, value: str) -> str:
        if value.partition(".")[0] == "user_metadata":
            raise ValueError("should not be in user_metadata, which users can change themselves")
        return value

    @property
    def claimed_roles(self) -> dict[str, Role]:
        """By the values of the claim; of two, the higher."""
        developers: dict[str, Role] = dict.fromkeys(self.jwt_developers, "developer")
        return developers | dict.fromkeys(self.jwt_operators, "operator")


_ICE_URL = re.compile(r"(?:stuns?|turns?):[^\s?]+(?:\?transport=(?:udp|tcp))?")


def _ice_urls(given: object) -> list[str]:
    """One URL or several; what is not said is not shown, since it may be a credential."""
    urls = [given] if isinstance(given, str) else given
    if not isinstance(urls, list | tuple) or not urls:
        raise ValueError("each should have urls, such as stun:stun.example.org:3478")
    if not all(isinstance(url, str) and _ICE_URL.fullmatch(url) for url in urls):
        raise ValueError("urls should begin with stun:, turn: or turns:")
    return list(urls)


EMBEDDED = "embedded"
OPENAI_URL = "https://api.openai.com/v1"
OPENAI_MODEL = "gpt-realtime-2.1"
EMBEDDED_MODEL = "vivavoce"
_MODELS = {EMBEDDED: EMBEDDED_MODEL}
MIN_CAP_SECONDS = 4.0
LIKENESS = "minilm"
"""The model by which a local brain compares what was said with examples."""
BRAINS = ("qwen-1.5b", "qwen-0.5b", "scripted")


def _brain(value: str) -> str:
    """One of ours, a file, one of a hub, or a server by its URL; each as it is used later."""
    if value.lower() in BRAINS:
        return value.lower()
    if value.lower().startswith(hub.PREFIX):
        if (reference := hub.parse(value)) is None:
            raise ValueError("should be hf:owner/repo/file.gguf or hf:owner/repo:Q4_K_M")
        return str(reference)
    if value.lower().endswith(".gguf") and "://" not in value:
        return str(Path(value).expanduser().absolute())
    return _chat_url(value)


def _chat_url(value: str) -> str:
    """The base URL of a chat server: `/v1`, where every one of them has it, may be left out."""
    url = urlsplit(value)
    _ = url.port  # a ValueError where it is none
    if url.scheme not in ("http", "https") or not url.hostname:
        raise ValueError(
            f"should be {', '.join(BRAINS)}, the path of a .gguf file, hf:owner/repo/file.gguf, "
            "or begin with http:// or https://"
        )
    if url.username is not None or url.password is not None:
        raise ValueError("should hold no password; a key goes into VIVAVOCE_BRAIN_KEY")
    if url.query or url.fragment:
        raise ValueError("should be a base URL, with nothing after its path")
    path = url.path.rstrip("/").removesuffix("/chat/completions") or "/v1"
    return urlunsplit((url.scheme, url.netloc, path, "", ""))


class OtherProvider(BaseModel):
    """Somebody who may take over."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    url: str = Field(pattern=r"^https?://[^@\s]+$")
    key: SecretStr | None = None
    model: str = Field(default=OPENAI_MODEL, min_length=1)


NOBODY = "none"
_NAME = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,31}$")]


class EngineSettings(BaseSettings):
    """Who answers, and with which ears, brain and mouth."""

    provider_url: str = EMBEDDED
    """Who answers: `embedded` (our own engine, offline), `openai`, or the base URL of any server
    that speaks the Realtime protocol."""
    api_key: SecretStr | None = Field(
        default=None, validation_alias=AliasChoices("VIVAVOCE_API_KEY", "OPENAI_API_KEY")
    )
    """Key for the provider; `OPENAI_API_KEY` works too."""
    model: str = Field(
        default_factory=lambda given: _MODELS.get(given.get("provider_url"), OPENAI_MODEL),
        min_length=1,
        json_schema_extra={"shown": "`vivavoce`, or `gpt-realtime-2.1` at a provider"},
    )
    """The provider's Realtime model."""
    other_providers: dict[_NAME, OtherProvider] = Field(
        default_factory=dict, repr=False, json_schema_extra={"shown": "no others"}
    )
    """Providers besides, as JSON: `{"backup": {"url": "https://…/v1", "key": "…", "model": "…"}}`.
    Each has its own key."""
    fallbacks: Words = (EMBEDDED,)
    """Who takes over when the provider fails, in this order: names of `VIVAVOCE_OTHER_PROVIDERS`,
    and `embedded` (where its packages and models are there; it loads them when it is needed);
    `none` is nobody. If it is not set, an agent may have a list of its own."""
    session_cap_seconds: float = Field(default=0.0, ge=0, le=24 * 3600)
    """Seconds one call may last at the provider, the embedded engine too; before that the session
    moves to another call. 0 is what is known of the provider: an hour."""
    context_tokens: int = Field(default=0, ge=0, le=10_000_000)
    """Tokens that a model is asked at once: instructions, tools and the talk. 0 is all that it
    reads, as its name, its file or its server tells; a server that does not tell is asked 8,000."""
    voice: str = Field(default="marin", min_length=1)
    """Voice, in place of the one the agent names."""
    transcription_model: str = Field(default="gpt-4o-mini-transcribe", min_length=1)
    """Who writes down what the user said, in place of the agent's choice."""
    sideband_tries: int = Field(default=5, ge=1, le=100)
    """Tries to get a lost sideband back."""
    sideband_delay: float = Field(default=3.0, ge=0, le=60)
    """Seconds between those tries."""
    peer_text: Annotated[Literal["deny", "allow"], LOWER] = "deny"
    """Whether text that the browser itself puts on the call is accepted."""
    ice_servers: tuple[dict[str, Any], ...] = Field(
        default=(), repr=False
    )  # it may hold credentials
    """ICE servers, as JSON: `[{"urls": ["stun:…"]}]`, for browsers (`GET /ice-config`) and for the
    embedded engine, which asks the first of STUN and the first of TURN."""
    ice_transport_policy: Annotated[Literal["all", "relay"], LOWER] = "all"
    """`relay`: browsers reach the engine only through a TURN server, which has to be among the ICE
    servers."""

    # --- The embedded engine
    script: AbsolutePath | None = None
    """A YAML script for the scripted brain, in place of the one that ships. Choosing one chooses
    that brain."""
    brain: str = Field(
        default_factory=lambda given: "scripted" if given.get("script") else BRAINS[0],
        json_schema_extra={"shown": "`qwen-1.5b`"},
    )
    """Who thinks: `qwen-1.5b`, the quicker and simpler `qwen-0.5b`, the path of any GGUF file, one
    of a hub (`hf:owner/repo/file.gguf`, `hf:owner/repo:Q4_K_M`), `scripted`, or the base URL of any
    server that speaks OpenAI's chat completions, such as `http://localhost:11434/v1`."""
    brain_model: str = ""
    """Model to ask for at that URL; may be left out where the server has but one."""
    brain_key: SecretStr | None = None
    """Key for that URL or that hub, where it wants one."""
    brain_led: Annotated[Literal["auto", "on", "off"], LOWER] = "auto"
    """Whether a brain on this machine only says what was meant, and rules decide what is asked,
    done and said: `auto` is so for files of less than 12 GB, `on` for every one, `off` for none."""
    hub_url: str = hub.HUB
    """The hub that `hf:` means: a mirror of your own has the same paths."""
    device: Annotated[Literal["auto", "cpu", "gpu"], LOWER] = "auto"
    """Where models run: `auto` takes a GPU that onnxruntime or llama.cpp finds, and the CPU where
    there is none; `gpu` does not start without one."""
    ears: Annotated[Literal["moonshine-base", "moonshine-tiny", "whisper-small"], LOWER] = (
        "moonshine-base"
    )
    """Who writes down what was said: `moonshine-base`, the quicker `moonshine-tiny`, or
    `whisper-small`, which is exact and slow."""
    mouth: Annotated[Literal["auto", "hibari", "kokoro", "piper-joe"], LOWER] = "auto"
    """Who speaks: `auto`, which is `hibari` for its one voice (`marin`, `af_heart`) and `kokoro`
    for all others; one of the two alone; or the plainer `piper-joe`. With `hibari` alone and with
    `piper-joe` every name is the one voice there is."""
    noise_reduction: Literal["off", "near_field", "far_field"] = "off"
    """Noise taken out of the user's sound where a session does not say: `off`, `near_field` for a
    microphone at the mouth, `far_field` for one across the room. Browsers do it themselves."""
    speculation: bool = True
    """Whether the engine gets ready while the user still speaks, and throws away what was for
    nothing. Off: less work, slower answers."""
    manners: bool = True
    """Whether the assistant says that a slow answer is coming, and asks again when it did not
    understand."""
    engine_sessions: int = Field(default=8, ge=1, le=1000)
    """Calls of the embedded engine at once."""
    grace_seconds: float = Field(default=60.0, ge=0, le=3600)
    """So many seconds a call of the embedded engine waits for a client that vanished without
    hanging up; 0: it ends at once."""
    single_use_secrets: bool = False
    """Whether a client secret of the Realtime API opens one session only, instead of several until
    it expires. Those that the server mints for its own pages always do."""
    engine_responses_per_minute: int = Field(default=0, ge=0)
    """Answers a call may ask for in a minute; 0 is no limit."""
    backchannel: bool = False
    """Whether the assistant goes on when somebody only says "uh-huh"."""
    media_ports: str = ""
    """UDP ports for WebRTC, such as `40000-40100`; any, where empty."""
    media_address: str = ""
    """The public IPv4 address that WebRTC peers should use, behind a NAT."""

    @field_validator("fallbacks")
    @classmethod
    def _known_names(cls, value: tuple[str, ...], given: ValidationInfo) -> tuple[str, ...]:
        others = given.data.get("other_providers", {})
        for name in value:
            if name not in (EMBEDDED, NOBODY, *others):
                raise ValueError(f"names {name!r}, which VIVAVOCE_OTHER_PROVIDERS does not have")
        return value

    @field_validator("session_cap_seconds")
    @classmethod
    def _long_enough_to_move(cls, value: float) -> float:
        if 0 < value < MIN_CAP_SECONDS:
            raise ValueError(f"should be 0, or at least {MIN_CAP_SECONDS:g}")
        return value

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
        return _brain(value)

    @field_validator("hub_url")
    @classmethod
    def _a_hub(cls, value: str) -> str:
        url = urlsplit(value)
        _ = url.port  # a ValueError where it is none
        if url.scheme not in ("http", "https") or not url.hostname or url.query or url.fragment:
            raise ValueError("should be a base URL, such as https://huggingface.co")
        if url.username is not None or url.password is not None:
            raise ValueError("should hold no password; a key goes into VIVAVOCE_BRAIN_KEY")
        return value.rstrip("/")

    @field_validator("ice_servers")
    @classmethod
    def _ice(cls, value: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]:
        return tuple({**one, "urls": _ice_urls(one.get("urls"))} for one in value)

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

    @model_validator(mode="after")
    def _a_relay(self) -> EngineSettings:
        relays = [url for one in self.ice_servers for url in one["urls"] if url.startswith("turn")]
        if self.ice_transport_policy == "relay" and not relays:
            raise ValueError(
                "VIVAVOCE_ICE_TRANSPORT_POLICY: relay needs a turn: server in VIVAVOCE_ICE_SERVERS"
            )
        return self

    @model_validator(mode="after")
    def _one_brain(self) -> EngineSettings:
        if self.script is not None and self.brain != "scripted":
            raise ValueError("VIVAVOCE_SCRIPT: is for VIVAVOCE_BRAIN=scripted")
        if self.brain_model and not self.brain_by_url:
            raise ValueError("VIVAVOCE_BRAIN_MODEL: is for a VIVAVOCE_BRAIN that is a URL")
        if self.brain_key and not self.brain_by_url and not self.brain_at_hub:
            raise ValueError("VIVAVOCE_BRAIN_KEY: is for a VIVAVOCE_BRAIN that is a URL or hf:…")
        return self

    @property
    def brain_by_url(self) -> bool:
        """Whether the brain is somebody else's server; `brain` is its base URL then."""
        return self.brain.startswith(("http://", "https://"))

    @property
    def brain_at_hub(self) -> bool:
        """Whether the brain is a file that a hub has."""
        return self.brain.startswith(hub.PREFIX)

    @property
    def brain_file(self) -> Path | None:
        """The user's own file, where the brain is one."""
        named = self.brain in BRAINS or self.brain_by_url or self.brain_at_hub
        return None if named else Path(self.brain)

    @property
    def needed_models(self) -> tuple[str, ...]:
        """The models of the catalogue that the embedded engine needs."""
        known = self.brain in BRAINS and self.brain != "scripted"
        own = (self.brain,) if known else ()
        local = () if self.brain_by_url or self.brain == "scripted" else (*own, LIKENESS)
        mouths = ("hibari", "kokoro") if self.mouth == "auto" else (self.mouth,)
        return ("silero-vad", "smart-turn", self.ears, *local, *mouths)
