"""Everything put together.

    Settings ─► Server (store, journal, provider, tools, executor, registry, voice)
             ─► FastAPI app (doors) ─► Gate (host, origin, size, who) ─► uvicorn

What runs while it serves is in `lifecycle.py`.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import cache, partial
from importlib.util import find_spec
from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp

from vivavoce.app.agent import check_agent, open_agent
from vivavoce.app.engine import UPLOADS, EmbeddedEngine, chat_brain, refused_at_v1, voices_of
from vivavoce.app.intents import AgentIntents
from vivavoce.app.lifecycle import Server, running
from vivavoce.app.push import push_of
from vivavoce.app.settings import EMBEDDED, Settings, plain, variable
from vivavoce.app.settings.parts import EMBEDDED_MODEL, NOBODY
from vivavoce.app.tools import Toolset
from vivavoce.errors import RateLimited, Unavailable, VivavoceError
from vivavoce.intents.registry.intents import IntentRegistry
from vivavoce.runtime.agents.agent import Agent, AgentError
from vivavoce.runtime.agents.source import AgentSource
from vivavoce.runtime.calls.approvals import Approvals, Gatekeeper
from vivavoce.runtime.calls.executor import ToolExecutor
from vivavoce.runtime.calls.questions import Questions
from vivavoce.runtime.clock import SystemClock
from vivavoce.runtime.conductor.service import Conductor, Rules
from vivavoce.runtime.instances import Instance
from vivavoce.runtime.journal.log import Journal
from vivavoce.runtime.limits import AtOnce, Shares, Window
from vivavoce.runtime.people.data import UserData, nothing
from vivavoce.runtime.people.memory import WorkspaceMemory
from vivavoce.runtime.people.plans import Agenda
from vivavoce.runtime.people.reminders import Reminders
from vivavoce.runtime.ports import Clock, Store
from vivavoce.runtime.provider.openai import OpenAIProvider
from vivavoce.runtime.provider.providers import Providers
from vivavoce.runtime.relay import Relay
from vivavoce.runtime.sessions.library import Library
from vivavoce.runtime.sessions.live import Traced
from vivavoce.runtime.sessions.notifier import SessionNotifier
from vivavoce.runtime.sessions.parts import Parts
from vivavoce.runtime.sessions.profile import Defaults, Profile
from vivavoce.runtime.sessions.registry import Registry
from vivavoce.runtime.sessions.summaries import Summaries
from vivavoce.runtime.sessions.voice import Voice
from vivavoce.runtime.tasks.service import Delegating, Tasks
from vivavoce.server import api
from vivavoce.server.gate.auth import Authenticator, Identity
from vivavoce.server.gate.browsers import BrowserKeys
from vivavoce.server.gate.gate import Gate, LetIn, Refused
from vivavoce.server.gate.jwt import Jwks, JwtRules, JwtVerifier
from vivavoce.server.gate.login import Login, Provider
from vivavoce.server.gate.tickets import ConductorTokens, StreamTokens, Tickets
from vivavoce.server.gate.tokens import AccessTokens, Logins
from vivavoce.server.metrics import Metrics
from vivavoce.server.page import page_paths
from vivavoce.server.services import Background, Hardware, Options, exchanged_there
from vivavoce.store import open_store
from vivavoce.tools.remote import offer
from vivavoce.wire.brain import Brain, Budget
from vivavoce.wire.events import TurnTraced
from vivavoce.wire.records.talk import new_id
from vivavoce.wire.records.work import Role

log = logging.getLogger(__name__)

EVERYWHERE = ("", "0.0.0.0", "::", "[::]")  # noqa: S104 # compared, not bound


def assemble(
    settings: Settings,
    *,
    source: AgentSource[IntentRegistry] | None = None,
    store: Store | None = None,
    provider: OpenAIProvider | None = None,
    clock: Clock | None = None,
    engine: EmbeddedEngine | None = None,
    alone: bool = False,
    standby: EmbeddedEngine | None = None,
    own_port: int | None = None,
) -> Server:
    """The parts of a server. Tests put fakes in the place of the real ones. `alone`: nobody else
    can use its database. `own_port`: where it listens without TLS, for itself alone."""
    clock = clock or SystemClock()
    if provider is None and engine is None and settings.provider_url == EMBEDDED:
        engine = EmbeddedEngine(settings)
    if source is None:
        source = open_agent(settings.agent, settings.agents_dir, settings.agent_overrides())
    agent = source.current
    limits = agent.limits
    store = store or open_store(settings.database_url)
    tokens = AccessTokens(store.access_tokens, clock=clock)
    inner = settings
    if own_port is not None:
        inner = settings.model_copy(update={"host": "127.0.0.1", "port": own_port})
    provider = provider or _provider(inner, clock, engine)
    if EMBEDDED in _fallbacks(settings, agent) and engine is None:
        standby = standby or _standing_by(settings)
    inside = engine or standby
    if inside is not None:
        inside.also_takes = tokens.is_operators
    providers = _providers(inner, clock, provider, source, standby)
    shares = shares_of(settings)
    registry = Registry(
        max_sessions=settings.max_sessions,
        user_seats=shares.seats,
        shutdown_seconds=settings.shutdown_seconds,
    )
    journal = Journal(
        store,
        clock,
        session_active=registry.active,
        queue=settings.event_queue,
        heartbeat=settings.heartbeat_seconds,
        max_streams=settings.max_streams,
        user_streams=shares.streams,
    )
    metrics = Metrics(registry, journal)
    # Without a port of its own a process cannot be told from another after a restart.
    name = settings.instance or f"{socket.gethostname()}:{settings.port or new_id()}"
    instance, relay = Instance(store, name, alone=alone), Relay(store)
    brain = _brain_of(engine, settings)
    summaries = Summaries(store, journal, clock, registry, brain)
    toolset = Toolset(
        settings,
        agent,
        clock,
        store,
        brain,
        why_no_brain=partial(_why_no_brain, engine, settings),
        instance=name,
    )
    tools, notifier = toolset.registry, SessionNotifier(registry, store, relay)
    defaults = Defaults(
        model=settings.model,
        time_zone=settings.time_zone,
        workspace=str(settings.workspace),
        attach_tries=settings.sideband_tries,
        attach_delay=settings.sideband_delay,
        peer_text=settings.peer_text,
        inbox=settings.session_inbox,
        recording=settings.recording,
        auto_approve=settings.auto_approve,
        session_cap=settings.session_cap_seconds,
    )
    profile = Profile(source, defaults, provider.capabilities, tools)
    approvals = Approvals(
        store=store,
        journal=journal,
        clock=clock,
        notifier=notifier,
        most_own=shares.approvals,
        relay=relay,
    )
    questions = Questions(journal=journal, clock=clock, notifier=notifier, relay=relay)
    auto = registry.auto_approves if settings.auto_approve else (lambda session_id: False)
    gate = Gatekeeper(agent.approval, approvals, tools=tools, auto_approve=auto)
    calls = "tool executions"
    executor = ToolExecutor(
        tools=tools,
        calls=store,
        journal=journal,
        clock=clock,
        per_user=Window(2 * limits.executions_per_minute, 60, clock=clock, what=calls),
        per_session=Window(limits.executions_per_minute, 60, clock=clock, what=calls),
        settled=metrics.tool_settled,
        gate=gate,
        questions=questions,
        most=None if engine is None else engine.result_chars,
        room=shares.more,
        changed=notifier.changed,
    )
    work = Tasks(
        store=store,
        journal=journal,
        clock=clock,
        notifier=notifier,
        carrier=toolset.carrier,
        backends=toolset.backends,
        executor=executor,
        gate=gate,
        default_agent=agent.delegation.default,
        allowed=lambda role: profile.tool_names(role=role),
        check_agent=profile.check_delegate,
    )
    toolset.offer_delegation(Delegating(work, questions, store, registry.stop_calls))
    voices = [voice.id for voice in provider.capabilities.voices]
    voice_setting = variable("voice") if "voice" in settings.agent_overrides() else None
    source.check(  # now, and whenever its files change
        partial(check_agent, voices=voices, tools=tools, voice_setting=voice_setting)
    )
    source.check(lambda agent, _: _check_fallbacks(settings, agent, inside is not None))
    intents = AgentIntents(
        settings, source, tools, store, journal, clock, told_with=registry.told_with
    )
    reminders = Reminders(
        store=store,
        journal=journal,
        clock=clock,
        sessions=notifier,
        instance=name,
        time_zone=settings.time_zone,
        deliver=intents.due_message,
        delivered=intents.outbox.wake,
    )
    notifier.serve(work, approvals, questions, reminders)
    if engine is not None:
        usual: Role = "user" if settings.auth == "jwt" else "operator"
        offered = profile.tools(tools.definitions(profile.tool_names(role=usual)))
        engine.expect(profile.words(clock.now()), offered, profile.agent.voice)
    parts = Parts(
        store=store,
        journal=journal,
        provider=provider,
        providers=providers,
        tools=tools,
        executor=executor,
        registry=registry,
        profile=profile,
        clock=clock,
        traced=heard_by(metrics.turn_traced, summaries.turn_over),
        failed=metrics.fault_met,
        notifier=notifier,
        memory=WorkspaceMemory(store, toolset.place),
        instance=instance,
        relay=relay,
        shares=shares,
        elsewhere=None if intents.context is None else intents.context.of,
    )
    voice = Voice(parts)
    agenda = Agenda(
        store,
        journal,
        clock,
        check_voice=profile.check_voice,
        limits=lambda: shares.of_sessions(profile.agent.session_limits()),
        time_zone=settings.time_zone,
        changed=voice.inform,
        shares=shares,
    )
    conductor = Conductor(parts, voice, approvals, partial(offer, tools), rules_of(settings))
    runtimes = "vivavoce_runtimes", "Native apps that are connected"
    metrics.gauge(*runtimes, lambda: conductor.connections)
    library = Library(store, journal, clock, voice, agent.name, shares)
    clear = nothing if inside is None else inside.clear_kept
    server = Server(
        settings=settings,
        options=Options(
            host=settings.host,
            port=settings.port,
            auth=settings.auth,
            runtime_start_seconds=settings.conductor_start_seconds,
            tool_timeout=settings.tool_timeout,
            ice_servers=settings.ice_servers,
            ice_transport_policy=settings.ice_transport_policy,
        ),
        store=store,
        journal=journal,
        provider=provider,
        providers=providers,
        tools=tools,
        executor=executor,
        registry=registry,
        instance=instance,
        relay=relay,
        profile=profile,
        voice=voice,
        library=library,
        conductor=conductor,
        runtimes=runtime_tokens(settings, clock),
        summaries=summaries,
        data=UserData(
            store,
            clock,
            toolset.files,
            toolset.changes,
            work,
            end=library.end_all,
            audit=journal.audit,
            clear=clear,
            without_calls=executor.without,
            relay=relay,
        ),
        agenda=agenda,
        tickets=Tickets(clock, home=name),
        streams=stream_tokens(settings, clock),
        browsers=browser_keys(settings, clock, store, journal),
        login=Login(settings.auth, login_provider(settings), clock=clock),
        tokens=tokens,
        clock=clock,
        metrics=metrics,
        changes=Window(shares.changes_per_minute, 60, clock=clock, what="changes"),
        reads=AtOnce(shares.reads, what="large answers"),
        background=Background(AtOnce(shares.calls, what="tool calls")),
        new_sessions=Window(limits.sessions_per_10_minutes, 600, clock=clock, what="new sessions"),
        started_at=clock.now(),
        work=work,
        reminders=reminders,
        questions=questions,
        approvals=approvals,
        toolset=toolset,
        intents=intents,
        engine=engine,
        standby=standby,
        push=push_of(
            settings,
            store=store,
            journal=journal,
            clock=clock,
            notifier=notifier,
            conductor=conductor,
            agenda=agenda,
            reminders=reminders,
            work=work,
            questions=questions,
            approvals=approvals,
            stands=tokens.stands,
        ),
    )

    server.hardware = _hardware(server)
    relay.serve("sdp", partial(exchanged_there, server))
    relay.serve("reconnect", partial(_reconnected, server))
    return server


async def _reconnected(
    server: Server, user_id: str, given: dict[str, Any], plain: str
) -> tuple[dict[str, Any], str]:
    # Imported with the other doors: a probe need not wait for them.
    from vivavoce.server.doors.sessions import reconnected_there

    return await reconnected_there(server, user_id, given, plain)


def _hardware(server: Server) -> Hardware | None:
    """The Wyoming door. Its package is an extra, and takes a moment to import."""
    if not server.settings.wyoming:
        return None
    if find_spec("wyoming") is None:
        raise Unavailable(
            "VIVAVOCE_WYOMING needs one more package (wyoming): pip install 'vivavoce[wyoming]'."
        )
    from vivavoce.app.wyoming import door

    return door(server)


def heard_by(*hear: Traced) -> Traced:
    """Each of them hears of every turn."""

    def all_hear(event: TurnTraced) -> None:
        for one in hear:
            one(event)

    return all_hear


def rules_of(settings: Settings) -> Rules:
    """What runtimes may have."""
    return Rules(
        connections=settings.conductor_connections,
        of_user=settings.conductor_user_connections,
        idle=settings.conductor_idle_seconds,
        tool=settings.conductor_tool_seconds,
        trust=settings.conductor_trust,
    )


def shares_of(settings: Settings) -> Shares:
    """What one user may have."""
    return Shares(
        streams=settings.user_streams,
        sessions=settings.user_sessions,
        seats=settings.user_seats,
        conversations=settings.user_conversations,
        megabytes=settings.user_megabytes,
        syncs_per_minute=settings.user_syncs_per_minute,
        messages_per_minute=settings.user_messages_per_minute,
        changes_per_minute=settings.user_changes_per_minute,
        calls=settings.user_calls,
        reads=settings.user_reads,
        approvals=settings.user_approvals,
    )


def _brain_of(engine: EmbeddedEngine | None, settings: Settings) -> Callable[[], Brain | None]:
    """Who thinks for agents: the engine's brain, or, with another provider, the one by URL."""
    if engine is None and settings.brain_by_url:
        return cache(partial(chat_brain, settings))
    return lambda: engine.brain if engine is not None else None


def _why_no_brain(engine: EmbeddedEngine | None, settings: Settings) -> str:
    """Empty where there is one, or will be once it is loaded."""
    if engine is None:
        return "" if settings.brain_by_url else "no language model is set for the built-in agents"
    return "the language model cannot be loaded" if engine.failed else ""


def _provider(settings: Settings, clock: Clock, engine: EmbeddedEngine | None) -> OpenAIProvider:
    """The same code for every provider: the engine inside is only another address."""
    return OpenAIProvider(
        base_url=settings.provider_url if engine is None else own_url(settings),
        api_key=plain(settings.api_key) if engine is None else engine.own_key,
        model=settings.model,
        clock=clock,
        embedded=engine is not None,
        **_reads(settings, engine),
        voices=voices_of(settings) if engine is not None else (),
    )


def _fallbacks(settings: Settings, agent: Agent) -> Sequence[str]:
    """The agent's own list, or the settings'."""
    names = settings.fallbacks if agent.fallbacks is None else agent.fallbacks
    return [name for name in names if name != NOBODY]


def _check_fallbacks(settings: Settings, agent: Agent, engine_there: bool) -> None:
    """The settings' own have been checked. Raises `AgentError`."""
    known = (EMBEDDED, NOBODY, *settings.other_providers)
    for name in agent.fallbacks or ():
        if name not in known:
            there = ", ".join(known)
            raise AgentError(
                [
                    f"{agent.folder / 'agent.yaml'}: fallbacks: there is no provider '{name}' in "
                    f"VIVAVOCE_OTHER_PROVIDERS; there are: {there}"
                ]
            )
    if EMBEDDED in (agent.fallbacks or ()) and not engine_there:
        log.warning(
            "fallbacks: the embedded engine does not stand by. It does after a restart, if its "
            "packages and models are there"
        )


def _standing_by(settings: Settings) -> EmbeddedEngine | None:
    """The engine as the one who takes over, where it can run at all."""
    try:
        engine = EmbeddedEngine(settings, standby=True)
    except VivavoceError:
        return None
    return engine if engine.could_run else None


def _providers(
    settings: Settings,
    clock: Clock,
    first: OpenAIProvider,
    source: AgentSource[IntentRegistry],
    standby: EmbeddedEngine | None,
) -> Providers:
    """Each with its own address, model and key. Who stands by is woken when it is asked."""
    every = [
        first,
        *(
            OpenAIProvider(
                base_url=other.url,
                api_key=plain(other.key),
                model=other.model,
                clock=clock,
                name=name,
                **_reads(settings, None),
            )
            for name, other in settings.other_providers.items()
        ),
    ]
    if standby is not None:
        every.append(
            OpenAIProvider(
                base_url=own_url(settings),
                api_key=standby.own_key,
                model=EMBEDDED_MODEL,
                clock=clock,
                embedded=True,
                **_reads(settings, standby),
            )
        )

    async def wake(name: str) -> None:
        if name == EMBEDDED and standby is not None:
            await standby.wake()

    def fallbacks() -> Sequence[str]:
        return _fallbacks(settings, source.current)

    return Providers(every, clock, fallbacks=fallbacks, wake=wake)


def _reads(settings: Settings, engine: EmbeddedEngine | None) -> dict[str, Any]:
    """How it takes the tools of clients; and how much the model reads: as its brain says, as the
    operator says, else by its name."""
    how: dict[str, Any] = {"wrapped_tools": settings.conductor_wrapped_tools}
    if engine is not None:
        return {**how, "window": engine.window, "weigh": engine.weigh}
    if not settings.context_tokens:
        return how
    given = Budget(context_tokens=settings.context_tokens)
    return {**how, "window": lambda: given}


def own_url(settings: Settings) -> str:
    """Where the engine's API is for our own sideband."""
    host = settings.host
    if host in EVERYWHERE:
        host = "::1" if ":" in host else "127.0.0.1"
    if ":" in host:
        host = f"[{host.strip('[]')}]"
    return f"http://{host}:{settings.port}/v1"


def build_app(here: Server) -> ASGIApp:
    """The doors, with the gate in front."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with running(here):
            yield

    settings = here.settings
    # Who listens on one address of the machine answers to it: our own sideband asks there.
    own = () if settings.host in EVERYWHERE else (settings.host,)
    doors = api.build(here, lifespan, mode=settings.auth)
    here.open_doors = doors.open
    return Gate(
        doors,
        auth=authenticator(
            settings,
            here.streams,
            here.clock,
            tokens=here.tokens,
            runtimes=here.runtimes,
            browsers=here.browsers,
            own_key=None if here.inside is None else here.inside.own_key,
        ),
        allowed_hosts=(*settings.allowed_hosts, *own),
        allowed_origins=settings.allowed_origins,
        max_body=settings.max_body_bytes,
        body_seconds=settings.body_seconds,
        per_second=settings.user_requests_per_second,
        connect=here.login.origins,
        larger={} if here.inside is None else UPLOADS,
        shapes={} if here.inside is None else {"/v1/": refused_at_v1},
        audited=_noting_refusals(here),
        let_in=None if settings.auth == "off" else _noting_logins(here),
    )


def _noting_refusals(here: Server) -> Refused:
    """Some of an address in a minute: whoever knocks all day must not fill the disk."""
    often = Window(10, 60, clock=here.clock, what="refusals")

    async def refused(address: str, wanted: str, user_id: str) -> None:
        try:
            often.check(address)
            await here.journal.audit("refusal", wanted, "refused", user_id)
        except RateLimited:
            pass
        except VivavoceError:
            log.exception("A refusal could not be audited")

    return refused


def _noting_logins(here: Server) -> LetIn:
    """Once an hour for who comes in the same way: each of their requests would be too much to read
    and to keep. From many addresses, some in a minute."""
    again = Window(1, 3600, clock=here.clock, what="logins")
    often = Window(10, 60, clock=here.clock, what="logins")

    async def let_in(address: str, who: Identity) -> None:
        user_id = who.user_id or ""
        shown = f"with the token {who.by}" if who.by else "with a JWT"
        try:
            again.check(f"{user_id} {who.role} {shown} {address}")
            often.check(user_id)
            await here.journal.audit("login", shown, "let in", user_id)
        except RateLimited:
            pass
        except VivavoceError:
            log.exception("A login could not be audited")

    return let_in


# --- Who is asking


def stream_tokens(settings: Settings, clock: Clock) -> StreamTokens:
    """Signed with what every process of this server knows, where there is such a thing."""
    if settings.auth == "off":
        return StreamTokens(clock)
    return StreamTokens(
        clock,
        secret=plain(settings.jwt_secret or settings.auth_token),
        previous=plain(settings.jwt_previous_secret),
    )


def runtime_tokens(settings: Settings, clock: Clock) -> ConductorTokens:
    """Likewise."""
    if settings.auth == "off":
        return ConductorTokens(clock)
    return ConductorTokens(
        clock,
        secret=plain(settings.jwt_secret or settings.auth_token),
        previous=plain(settings.jwt_previous_secret),
    )


def browser_keys(settings: Settings, clock: Clock, store: Store, journal: Journal) -> BrowserKeys:
    """Likewise; the keys themselves are in the store."""
    known = settings.auth != "off"
    return BrowserKeys(
        clock,
        commit=journal.commit,
        take=store.take_key,
        secret=plain(settings.jwt_secret or settings.auth_token) if known else None,
        previous=plain(settings.jwt_previous_secret) if known else None,
    )


def login_provider(settings: Settings) -> Provider | None:
    """Where the page's users log in, if it was said."""
    issuer = settings.oidc_issuer or settings.jwt_issuer
    if settings.supabase_key:
        return Provider(
            kind="supabase",
            issuer=issuer,
            key=settings.supabase_key,
            providers=settings.supabase_providers,
        )
    if not settings.oidc_client_id:
        return None
    return Provider(
        kind="oidc",
        issuer=issuer,
        client_id=settings.oidc_client_id,
        scopes=settings.oidc_scopes,
        audience=settings.oidc_audience,
        token=settings.oidc_token,
    )


def authenticator(
    settings: Settings,
    streams: StreamTokens,
    clock: Clock,
    *,
    runtimes: ConductorTokens | None = None,
    browsers: BrowserKeys | None = None,
    tokens: AccessTokens | None = None,
    own_key: str | None = None,
) -> Authenticator:
    """Raises `Unavailable` where the packages for it are not installed."""
    return Authenticator(
        settings.auth,
        token=plain(settings.auth_token),
        tokens=tokens,
        jwt=_verifier(settings, clock) if settings.auth == "jwt" else None,
        streams=streams,
        runtimes=runtimes,
        logins=Logins(
            clock, limit=settings.login_failures_per_minute, proxies=settings.trusted_proxies
        ),
        execute=settings.execute_role,
        own_key=own_key,
        browsers=browsers,
        key_makers=frozenset(settings.key_makers),
        page_paths=page_paths(),
    )


def _verifier(settings: Settings, clock: Clock) -> JwtVerifier:
    rules = JwtRules(
        issuer=settings.jwt_issuer,
        audience=settings.jwt_audience,
        algorithms=settings.signatures,
        max_age=settings.jwt_max_age_hours * 3600 or None,
        role_claim=settings.jwt_role_claim,
        roles=settings.claimed_roles,
    )
    if settings.jwt_secret is not None:
        return JwtVerifier(
            rules,
            secret=plain(settings.jwt_secret),
            previous=plain(settings.jwt_previous_secret),
        )
    keys = Jwks(settings.jwt_jwks_url, algorithms=settings.signatures, clock=clock)
    return JwtVerifier(rules, keys=keys)
