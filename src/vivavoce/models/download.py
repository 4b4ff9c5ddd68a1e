"""One URL into one file, going on where an earlier try ended.

Knows nothing of models or hashes. What was received stays in the `.part` file
whatever happens, `kill -9` included.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import httpx

from vivavoce.models.manifest import SourceFailed
from vivavoce.retrying import doubling

OnBytes: TypeAlias = Callable[[int, int | None], None]
"""Received so far, and of how many where the server tells."""

TRIES = 4
_BUFFER = 2**20
_ENOUGH = 2**16
"""A try that brought this much was no failure of the server as a whole."""

_MOST_TRIES = 100
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0


def open_client() -> httpx.AsyncClient:
    timeout = httpx.Timeout(30, connect=10)
    headers = {"User-Agent": "vivavoce"}
    return httpx.AsyncClient(timeout=timeout, follow_redirects=True, headers=headers)


class _Again(Exception):
    """It did not work this time."""


async def fetch(
    client: httpx.AsyncClient,
    url: str,
    part: Path,
    on_bytes: OnBytes,
    *,
    size: int | None = None,
    limit: int,
    patient: bool = True,
) -> None:
    """Fill `part` to the end. `size` is how long it must be, `limit` how long it may be.

    One who is not `patient` gives up at once where nobody answers.
    Raises `SourceFailed`; `OSError` is about the disk.
    """
    failed = 0
    for _ in range(_MOST_TRIES):
        before = _size(part)
        if size is not None and before == size:
            return
        try:
            await _once(client, url, part, on_bytes, size, limit)
            return
        except (httpx.ConnectError, httpx.ConnectTimeout) as exc:
            words, unreachable = f"no connection ({str(exc) or 'timed out'})", True
        except httpx.TimeoutException:
            words, unreachable = "it stopped answering", False
        except httpx.TransportError as exc:
            words, unreachable = f"the connection broke ({exc})", False
        except _Again as exc:
            words, unreachable = str(exc), False
        except (httpx.InvalidURL, httpx.TooManyRedirects) as exc:
            raise SourceFailed(str(exc)) from None
        failed = 1 if _size(part) - before >= _ENOUGH else failed + 1
        if failed >= TRIES or (unreachable and not patient):
            raise SourceFailed(words, unreachable=unreachable)
        await asyncio.sleep(doubling(failed, _FIRST_PAUSE, _LONGEST_PAUSE))
    raise SourceFailed("it broke off too often")


async def _once(
    client: httpx.AsyncClient, url: str, part: Path, on_bytes: OnBytes, size: int | None, limit: int
) -> None:
    start = _size(part)
    # Compressed on the way, neither lengths nor ranges would be the file's.
    headers = {"Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    async with client.stream("GET", url, headers=headers) as answer:
        match answer.status_code:
            case 206:
                begin, total = _content_range(answer)
                if begin != start:
                    _drop(part)
                    raise _Again("it went on at the wrong place")
            case 200:  # it ignores ranges, or there was nothing yet
                start, total = 0, _content_length(answer)
            case 416:  # more than there is: begin again, unless that was all
                if _content_range(answer)[1] == start and size in (None, start):
                    return
                _drop(part)
                raise _Again("it has less than it had before")
            case 408 | 425 | 429 | 500 | 502 | 503 | 504 as status:
                raise _Again(f"it answered {status}")
            case status:
                raise SourceFailed(f"it answered {status}")
        if size is not None and total not in (None, size):
            raise SourceFailed(f"it has {total:,} bytes instead of {size:,}")
        if total is not None and total > limit:
            raise SourceFailed(f"it is too large: {total:,} bytes")
        await _body(answer, part, start, total, limit, on_bytes)
    if total is not None and _size(part) < total:
        raise _Again("it broke off")


async def _body(
    answer: httpx.Response,
    part: Path,
    start: int,
    total: int | None,
    limit: int,
    on_bytes: OnBytes,
) -> None:
    received = start
    buffer = bytearray()
    with part.open("ab") as file:
        file.truncate(start)
        try:
            async for chunk in answer.aiter_raw():
                received += len(chunk)
                if received > limit:
                    raise SourceFailed("it sends more than it should")
                buffer += chunk
                on_bytes(received, total)
                if len(buffer) >= _BUFFER:
                    full, buffer = buffer, bytearray()
                    await asyncio.to_thread(file.write, full)
        finally:
            file.write(buffer)


def put(part: Path, target: Path) -> None:
    """Give what was fetched its name, on the same file system."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with part.open("rb+") as written:
        os.fsync(written.fileno())  # or a power cut leaves a whole name with half a file
    part.replace(target)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _drop(path: Path) -> None:
    path.unlink(missing_ok=True)


def _content_length(answer: httpx.Response) -> int | None:
    length = answer.headers.get("content-length", "")
    return int(length) if length.isdecimal() else None


def _content_range(answer: httpx.Response) -> tuple[int | None, int | None]:
    found = re.match(
        r"bytes (?:(\d+)-\d+|\*)/(?:(\d+)|\*)", answer.headers.get("content-range", "")
    )
    if not found:
        return None, None
    return tuple(int(each) if each else None for each in found.groups())  # type: ignore[return-value]
