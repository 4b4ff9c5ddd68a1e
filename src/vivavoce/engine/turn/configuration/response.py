"""What one response has of its own: the `response` of a `response.create`, over the session's.

Knows no session and makes no response; `response_object` shows one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from vivavoce.engine.turn.configuration import answer
from vivavoce.engine.turn.configuration import checks as check
from vivavoce.engine.turn.configuration.answer import FunctionTool
from vivavoce.engine.turn.configuration.audio import AudioFormat, read_format
from vivavoce.engine.turn.configuration.session import MOST_INSTRUCTIONS, Configuration
from vivavoce.engine.turn.faults import Refused
from vivavoce.engine.turn.items_one import Item, parse_item

_MOST_INPUT = 1_000


@dataclass(frozen=True, slots=True)
class Reference:
    """An item of the conversation, by its id, as input of a response."""

    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseSettings:
    """Everything a response needs to know to be made and shown."""

    conversation: Literal["auto", "none"] = "auto"
    input: tuple[Item | Reference, ...] | None = None
    """None is the conversation."""
    instructions: str
    output_modalities: Literal["audio", "text"]
    tools: tuple[FunctionTool, ...]
    tool_choice: str
    max_output_tokens: int | Literal["inf"]
    parallel_tool_calls: bool
    output_format: AudioFormat
    voice: str
    speed: float
    metadata: Mapping[str, str] | None = None

    @property
    def speaks(self) -> bool:
        return self.output_modalities == "audio"

    @property
    def max_tokens(self) -> int | None:
        """As the brain takes it."""
        return None if self.max_output_tokens == "inf" else self.max_output_tokens


def response_settings(
    configuration: Configuration,
    params: Mapping[str, Any] | None = None,
    *,
    voices: Collection[str] = (),
    audio_started: bool = False,
    where: str = "response",
) -> ResponseSettings:
    """The session's settings with what the client wants for this response; raises `Refused`."""
    c = configuration
    if c.kind == "transcription":
        raise Refused("A transcription session gives no responses.", code="invalid_session_type")
    settings = ResponseSettings(
        instructions=c.instructions,
        output_modalities=c.output_modalities,
        tools=c.tools,
        tool_choice=c.tool_choice,
        max_output_tokens=c.max_output_tokens,
        parallel_tool_calls=c.parallel_tool_calls is not False,
        output_format=c.output_format,
        voice=c.voice,
        speed=c.speed,
    )
    if params is None:
        return settings
    said = check.fields(params, where, _FIELDS)
    changes = {n: _read(n, v, f"{where}.{n}") for n, v in said.items() if n not in _CHECKED}
    if "audio" in said:
        changes |= _audio(said["audio"], f"{where}.audio", voices)
    wanted = replace(settings, **changes)
    if wanted.voice != c.voice and audio_started:
        raise Refused(
            "Cannot update a conversation's voice if assistant audio is present.",
            code="cannot_update_voice",
            param=f"{where}.audio.output.voice",
        )
    check.absent(said.get("prompt"), f"{where}.prompt", "this engine keeps no prompt templates.")
    check.absent(
        said.get("reasoning"), f"{where}.reasoning", "these models do not reason before they speak."
    )
    answer.check_choice(wanted.tool_choice, wanted.tools, f"{where}.tool_choice")
    return wanted


_CHECKED = ("audio", "prompt", "reasoning")
_FIELDS = (
    "conversation",
    "input",
    "instructions",
    "output_modalities",
    "tools",
    "tool_choice",
    "max_output_tokens",
    "parallel_tool_calls",
    "metadata",
    *_CHECKED,
)


def _read(name: str, value: Any, where: str) -> Any:
    match name:
        case "conversation":
            return check.choice(value, where, ("auto", "none"))
        case "input":
            return None if value is None else _input(value, where)
        case "instructions":
            return check.text(value, where, most=MOST_INSTRUCTIONS)
        case "output_modalities":
            return answer.read_modalities(value, where)
        case "tools":
            return answer.read_tools(value, where)
        case "tool_choice":
            return answer.read_tool_choice(value, where)
        case "max_output_tokens":
            return answer.read_max_output_tokens(value, where)
        case "metadata":
            return None if value is None else _metadata(value, where)
        case _:
            return check.flag(value, where)


def _input(raw: Any, where: str) -> tuple[Item | Reference, ...]:
    entries = check.listing(raw, where, most=_MOST_INPUT)
    return tuple(_input_item(entry, f"{where}[{i}]") for i, entry in enumerate(entries))


def _input_item(raw: Any, where: str) -> Item | Reference:
    if isinstance(raw, Mapping) and raw.get("type") == "item_reference":
        said = check.fields(raw, where, ("type", "id"))
        return Reference(
            check.text(check.required(said, "id", where), f"{where}.id", least=1, most=64)
        )
    return parse_item(raw, where=where)


def _metadata(raw: Any, where: str) -> Mapping[str, str]:
    said = check.fields(raw, where, raw if isinstance(raw, Mapping) else ())
    check.listing(list(said), where, most=16)
    return {
        check.text(key, where, most=64): check.text(value, f"{where}.{str(key)[:64]}", most=512)
        for key, value in said.items()
    }


def _audio(raw: Any, where: str, voices: Collection[str]) -> dict[str, Any]:
    said = check.fields(raw, where, ("output",))
    if "output" not in said:
        return {}
    inside = f"{where}.output"
    output = check.fields(said["output"], inside, ("format", "voice"))
    changes: dict[str, Any] = {}
    if "format" in output:
        changes["output_format"] = read_format(output["format"], f"{inside}.format")
    if "voice" in output:
        changes["voice"] = answer.read_voice(output["voice"], f"{inside}.voice", tuple(voices))
    return changes


def response_object(
    settings: ResponseSettings,
    *,
    response_id: str,
    conversation_id: str,
    status: str = "in_progress",
    status_details: Mapping[str, Any] | None = None,
    output: Sequence[Mapping[str, Any]] = (),
    usage: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The `response` of `response.created` and `response.done`."""
    return {
        "object": "realtime.response",
        "id": response_id,
        "status": status,
        "status_details": status_details and dict(status_details),
        "output": [dict(item) for item in output],
        "conversation_id": conversation_id if settings.conversation == "auto" else None,
        "output_modalities": [settings.output_modalities],
        "max_output_tokens": settings.max_output_tokens,
        "audio": {"output": {"format": settings.output_format.shown(), "voice": settings.voice}},
        "usage": usage and dict(usage),
        "metadata": settings.metadata and dict(settings.metadata),
    }
