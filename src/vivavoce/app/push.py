"""Notices, put together: their settings, the key, and the way to the push services.

A push service is an address that a browser names, so it is dialled as `web_fetch` dials a page:
public addresses only, looked up once, and connected to as checked.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from functools import partial
from importlib.util import find_spec
from string import ascii_letters, digits

from vivavoce.app.settings import Settings, plain
from vivavoce.errors import InvalidRequest
from vivavoce.runtime.calls.approvals import Approvals
from vivavoce.runtime.calls.questions import Questions
from vivavoce.runtime.conductor.service import Conductor
from vivavoce.runtime.journal.log import Journal
from vivavoce.runtime.people.plans import Agenda
from vivavoce.runtime.people.reminders import Reminders
from vivavoce.runtime.ports import Clock, Store
from vivavoce.runtime.push.sealing import PushKey
from vivavoce.runtime.push.service import POST_SECONDS, Allowed, Presence, Push, Refused
from vivavoce.runtime.sessions.notifier import SessionNotifier
from vivavoce.runtime.tasks.service import Tasks
from vivavoce.wire.records.reach import PushSubscription
from vivavoce.wire.records.work import Role

Stands = Callable[[str, Role, datetime], Awaitable[bool]]
"""Does the server's token of this name still open what it opened at that time, for this role?"""
NEEDED = ("cryptography", "jwt", "httpcore2", "idna")
_MOST_ANSWERED = 16_384


def push_of(
    settings: Settings,
    *,
    store: Store,
    journal: Journal,
    clock: Clock,
    notifier: SessionNotifier,
    conductor: Conductor,
    agenda: Agenda,
    reminders: Reminders,
    work: Tasks,
    questions: Questions,
    approvals: Approvals,
    stands: Stands,
) -> Push | None:
    """None where it is off, or its packages are not there."""
    if not settings.push or not all(map(find_spec, NEEDED)):
        return None
    services = _PushServices(settings.push_allowed_hosts)
    return Push(
        store=store,
        journal=journal,
        clock=clock,
        key=partial(_key, settings),
        post=services.post,
        allowed=services.check,
        good=partial(_good, stands),
        where=_Where(notifier, journal, conductor),
        agenda=agenda,
        reminders=reminders,
        work=work,
        questions=questions,
        approvals=approvals,
        time_zone=settings.time_zone,
        per_hour=settings.push_per_hour,
    )


def _key(settings: Settings) -> PushKey:
    if (given := plain(settings.push_key)) is not None:
        return PushKey.of(given, settings.push_contact)
    return PushKey.kept(settings.data_dir, settings.push_contact)


async def _good(stands: Stands, browser: PushSubscription) -> bool:
    """A JWT ends by itself, and whoever had it is still who they are; a token that was revoked is
    to open nothing any more."""
    if browser.token is None:
        return True
    return await stands(browser.token, browser.role, browser.updated_at)


class _Where:
    """Where users are, as this server knows it."""

    def __init__(self, notifier: SessionNotifier, journal: Journal, conductor: Conductor) -> None:
        self._notifier, self._journal, self._conductor = notifier, journal, conductor

    def near(self, user_id: str) -> bool:
        return self._notifier.in_call_here(user_id) or self._looks(user_id)

    async def of(self, user_id: str) -> Presence:
        if await self._notifier.in_call(user_id):
            return "call"
        return "page" if self._looks(user_id) else "none"

    def _looks(self, user_id: str) -> bool:
        """At a page or an app that shows what there is."""
        return self._journal.watched(user_id) or self._conductor.connected(user_id)


_ESCAPED = re.compile("%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset(f"{ascii_letters}{digits}-._~")


def _plainly(escaped: re.Match[str]) -> str:
    sign = chr(int(escaped[1], 16))
    return sign if sign in _UNRESERVED else escaped[0].upper()


class _PushServices:
    """The way to them. What it needs of the tools takes a moment to import."""

    def __init__(self, hosts: tuple[str, ...]) -> None:
        self._hosts = hosts

    def check(self, endpoint: str) -> Allowed:
        """As it is dialled. Raises `InvalidRequest` for what is plainly no push service; where a
        name leads is seen when something is sent."""
        from vivavoce.language.en.addresses import Refused as NotOpened
        from vivavoce.tools.web.urls import Rules, host_rule, target_of

        try:
            target = target_of(endpoint, Rules(hosts=frozenset(map(host_rule, self._hosts))))
        except NotOpened as fault:
            raise InvalidRequest(fault.message, field="endpoint") from None
        if target.scheme != "https" and not target.allowed:
            raise InvalidRequest("A push service is reached by https", field="endpoint")
        # Scheme, host and port are in one spelling already; here what RFC 3986 §6.2.2 calls the
        # same: a browser must not be two because somebody wrote its address in another way.
        spelled = _ESCAPED.sub(_plainly, target.path)
        name = target.url.removesuffix(target.path) + spelled
        return Allowed(target.url, name)

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> int:
        from vivavoce.language.en.addresses import Refused as NotOpened
        from vivavoce.tools.web.bodies import Limits
        from vivavoce.tools.web.fetch import Client
        from vivavoce.tools.web.urls import Rules, host_rule

        try:
            self.check(url)  # what was allowed once need not be now
            rules = Rules(hosts=frozenset(map(host_rule, self._hosts)))
            client = Client(rules, Limits(POST_SECONDS, _MOST_ANSWERED))
            status, _ = await client.exchange("POST", url, headers, body)
        except (NotOpened, InvalidRequest) as fault:
            raise Refused(fault.message) from None
        return status
