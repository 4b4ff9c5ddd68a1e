"""Has a page's HTML made into text by `page.py`, in a process that may fail.

Owns that process's short life; it is gone when this returns, however it ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from importlib import resources

from vivavoce.errors import ToolFailed

SECONDS = 6.0
_ENVIRONMENT = {"PATH": "", "LC_ALL": "C.UTF-8"}  # nothing of ours to be read there


async def page_text(html: str, base: str, *, seconds: float = SECONDS) -> str:
    """Raises `ToolFailed` for a page that cannot be made sense of in that time."""
    # Found beside us, and run with -I: neither PYTHON* nor the working directory has a say.
    script = resources.files("vivavoce.tools.web") / "page.py"
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            str(script),
            base,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=_ENVIRONMENT,
        )
    except OSError:
        raise ToolFailed("There is no room to read a page just now") from None
    try:
        async with asyncio.timeout(seconds):
            text, _ = await process.communicate(html.encode("utf-8", "replace"))
    except TimeoutError:
        raise ToolFailed("That page is too tangled to be read") from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await asyncio.shield(process.wait())
    if process.returncode != 0:
        raise ToolFailed("That page is too tangled to be read")
    return text.decode()
