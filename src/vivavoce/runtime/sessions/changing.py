"""Changes to a session while it runs: checked here, and sent to the live call by the machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vivavoce.errors import Conflict
from vivavoce.runtime.sessions.live import LiveSession
from vivavoce.runtime.sessions.options import remember
from vivavoce.runtime.sessions.parts import Parts
from vivavoce.runtime.sessions.profile import detection
from vivavoce.session.events import Reconfigure

OVER = "The session is over; its configuration cannot change any more."


async def reconfigure(parts: Parts, live: LiveSession, wanted: Mapping[str, Any]) -> None:
    changes = _changes(parts, live, wanted)
    if wanted:
        live.books.session = remember(live.books.session, wanted)
        if not await live.submit(Reconfigure(changes, tuple(wanted))):
            raise Conflict(OVER)


def _changes(parts: Parts, live: LiveSession, wanted: Mapping[str, Any]) -> dict[str, Any]:
    profile = parts.profile
    changes: dict[str, Any] = {}
    audio: dict[str, Any] = {}
    if "voice" in wanted:
        if live.machine.state.voice_locked and wanted["voice"] != live.books.session.voice:
            raise Conflict("The voice cannot change once the assistant has spoken.")
        audio["output"] = {"voice": profile.check_voice(wanted["voice"])}
    if "turn_detection" in wanted:
        audio["input"] = {"turn_detection": detection(wanted["turn_detection"])}
    if audio:
        changes["audio"] = audio
    if "instructions" in wanted:
        changes["instructions"] = profile.words(parts.clock.now(), wanted["instructions"])
    if "tools_enabled" in wanted:
        names = profile.tool_names(wanted["tools_enabled"])
        changes["tools"] = [tool.function() for tool in parts.tools.definitions(names)]
    return changes
