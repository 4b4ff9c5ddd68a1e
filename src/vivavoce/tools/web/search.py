"""Web search by whatever backend the operator has: SearXNG, Brave or Tavily.

They differ in data only. The backend's address is configured, not chosen by a
model, so it may be on a private network; what it returns is hostile as any
page is.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol
from urllib.parse import quote, urlencode, urlsplit

from vivavoce.errors import ToolFailed
from vivavoce.tools.web.bodies import Limits, visible
from vivavoce.tools.web.clients import client_for
from vivavoce.tools.web.urls import Rules

if TYPE_CHECKING:
    from vivavoce.tools.web.fetch import Client

BackendName = Literal["searxng", "brave", "tavily"]

SECONDS = 5.0  # seed 000 §4.4
MAX_RESULTS = 5
MAX_SNIPPET = 300
MAX_QUERY = 400
NO_BACKEND = (
    "No search backend is set; set VIVAVOCE_SEARCH_URL to the address of a SearXNG, or "
    "VIVAVOCE_SEARCH_BACKEND to brave or tavily and VIVAVOCE_SEARCH_KEY to its key"
)
_TAG = re.compile(r"<[^>]{0,200}>")
_SPACE = re.compile(r"[\s\x00-\x1f\x7f]+")


@dataclass(frozen=True, slots=True)
class Hit:
    title: str
    url: str
    snippet: str


class Search(Protocol):
    """Finds pages. Raises `ToolFailed` with words for the user."""

    async def __call__(self, query: str) -> list[Hit]: ...


@dataclass(frozen=True, slots=True)
class Backend:
    """What differs. `key_header` is the header's name and what stands before the key."""

    query: str
    snippet: str
    url: str | None = None
    path: str = ""
    """Added to an address that does not end with it."""
    method: Literal["GET", "POST"] = "GET"
    also: Mapping[str, Any] = field(default_factory=dict)
    key_header: tuple[str, str] = ("Authorization", "Bearer ")
    results: tuple[str, ...] = ("results",)
    hint: str = "check VIVAVOCE_SEARCH_KEY"


BACKENDS: Mapping[str, Backend] = {
    "searxng": Backend(
        query="q",
        snippet="content",
        path="/search",
        also={"format": "json"},
        hint="SearXNG needs 'json' among its search.formats",
    ),
    "brave": Backend(
        query="q",
        snippet="description",
        url="https://api.search.brave.com",
        path="/res/v1/web/search",
        also={"count": MAX_RESULTS},
        key_header=("X-Subscription-Token", ""),
        results=("web", "results"),
    ),
    "tavily": Backend(
        query="query",
        snippet="content",
        url="https://api.tavily.com",
        path="/search",
        method="POST",
        also={"max_results": MAX_RESULTS},
    ),
}


@dataclass(frozen=True, slots=True)
class HttpSearch:
    """A `Search` over HTTP. It reaches `url`, wherever the operator put that, and nothing else."""

    backend: Backend
    url: str
    key: str | None = field(default=None, repr=False)
    client: Client | None = None
    """For tests; otherwise one is made."""

    async def __call__(self, query: str) -> list[Hit]:
        given = {self.backend.query: query, **self.backend.also}
        headers = {"Accept": "application/json"}
        if self.key:
            name, before = self.backend.key_header
            headers[name] = before + self.key
        url, content = self.url, None
        if self.backend.method == "POST":
            headers["Content-Type"] = "application/json"
            content = json.dumps(given).encode()
        else:
            url += ("&" if "?" in url else "?") + urlencode(given, quote_via=quote)
        client = self.client or await client_for(rules_for(self.url), Limits(SECONDS))
        status, body = await client.exchange(self.backend.method, url, headers, content)
        self._check(status)
        return hits_of(body, self.backend)

    def _check(self, status: int) -> None:
        if status in (401, 403):
            raise ToolFailed(f"The search backend refuses us: {self.backend.hint}")
        if status == 429:
            raise ToolFailed("The search backend is asked too often", cause="rate_limit_exceeded")
        if status != 200:
            raise ToolFailed(f"The search backend answered {status}")


def address_for(backend: Backend, url: str | None) -> str | None:
    """Where its API is; None where nothing is configured."""
    url = (url or "").strip() or backend.url
    if url is None:
        return None
    path = urlsplit(url).path.rstrip("/")
    return url if path.endswith(backend.path) else url.rstrip("/") + backend.path


def rules_for(url: str) -> Rules:
    """This one host and port."""
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        raise ToolFailed("VIVAVOCE_SEARCH_URL is no web address") from None
    host = parts.hostname or ""
    return Rules((), frozenset({f"[{host}]:{port}" if ":" in host else f"{host}:{port}"}))


def hits_of(body: bytes, backend: Backend) -> list[Hit]:
    """The usable ones among whatever it sent."""
    try:
        found: Any = json.loads(body)
    except (ValueError, RecursionError):
        raise ToolFailed("The search backend sent something unreadable") from None
    for key in backend.results:
        found = found.get(key) if isinstance(found, dict) else None
    hits: list[Hit] = []
    for one in found if isinstance(found, list) else []:
        if not isinstance(one, dict) or len(hits) == MAX_RESULTS:
            continue
        url = str(one.get("url") or "")
        if url.startswith(("http://", "https://")) and len(url) <= 500 and not _SPACE.search(url):
            title, snippet = one.get("title"), one.get(backend.snippet)
            hits.append(Hit(_plain(title) or url, url, _plain(snippet)))
    return hits


def _plain(text: object) -> str:
    """One line without markup."""
    bare = html.unescape(_TAG.sub("", str(text or "")[: 10 * MAX_SNIPPET]))
    line = visible(_SPACE.sub(" ", bare)).strip()
    return line if len(line) <= MAX_SNIPPET else line[: MAX_SNIPPET - 1].rstrip() + "…"
