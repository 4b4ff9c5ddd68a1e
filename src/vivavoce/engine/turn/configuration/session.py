"""A session's configuration: what it is at first, and how a `session.update` changes it.

Nothing is accepted and ignored: what this engine does not have is refused in
words, and a refused update changes nothing. Knows no session; the parts are in
`configuration_audio` and `configuration_answer`, what one response may have of
its own in `configuration_response`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from vivavoce.engine.turn.configuration import answer, audio
from vivavoce.engine.turn.configuration import checks as check
from vivavoce.engine.turn.configuration.answer import FunctionTool, Truncation
from vivavoce.engine.turn.configuration.audio import (
    AudioFormat,
    NoiseReduction,
    ServerVad,
    Transcription,
    TurnDetection,
)
from vivavoce.engine.turn.faults import Refused, unsupported, wrong_value

Kind = Literal["realtime", "transcription"]
Reader = Callable[[Any, str], Any]

INSTRUCTIONS = (
    "You are a friendly voice assistant. Answer in one or two short sentences, as people "
    "do when they talk. Call a function when one helps, and say so when you do not know."
)
MOST_INSTRUCTIONS = 256_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """Everything of a GA session that this engine can do."""

    kind: Kind = "realtime"
    model: str
    voice: str
    instructions: str = INSTRUCTIONS
    output_modalities: Literal["audio", "text"] = "audio"
    """One of them: sound comes with its transcript."""
    tools: tuple[FunctionTool, ...] = ()
    tool_choice: str = "auto"
    """`auto`, `none`, `required` or `function:NAME`, as the brain takes it."""
    max_output_tokens: int | Literal["inf"] = "inf"
    parallel_tool_calls: bool | None = None
    """None where no client ever said: then it is shown nowhere, and allowed."""
    truncation: Truncation = "auto"
    tracing: Literal["auto"] | None = None
    """Every turn is traced anyway, so a client may ask for it (as OpenAI's own do)."""
    input_format: AudioFormat = field(default_factory=AudioFormat)
    output_format: AudioFormat = field(default_factory=AudioFormat)
    transcription: Transcription | None = None
    noise_reduction: NoiseReduction | None = None
    turn_detection: TurnDetection = field(default_factory=ServerVad)
    speed: float = 1.0

    @property
    def speaks(self) -> bool:
        return self.output_modalities == "audio"


def initial(
    model: str, *, voice: str, voices: Collection[str], kind: Kind = "realtime"
) -> Configuration:
    """What a session has before anybody asked for anything."""
    if voice not in voices:
        raise ValueError(f"the default voice '{voice}' is not among the voices")
    if kind == "realtime":
        return Configuration(model=model, voice=voice)
    return Configuration(
        kind=kind,
        model=model,
        voice=voice,
        transcription=Transcription(),
        turn_detection=ServerVad(create_response=False, interrupt_response=False),
    )


# --- Changing it ------------------------------------------------------------------


def updated(
    current: Configuration,
    patch: Mapping[str, Any],
    *,
    voices: Collection[str],
    audio_started: bool = False,
    where: str = "session",
) -> Configuration:
    """The configuration after a `session.update`; raises `Refused`, and then nothing changed."""
    table = _REALTIME if current.kind == "realtime" else _TRANSCRIPTION
    said = check.fields(patch, where, ("type", "audio", *table))
    _check_kind(current, said, where)
    changes = _read(said, where, table)
    if "audio" in said:
        changes |= _read_audio(said["audio"], f"{where}.audio", current.kind, voices)
    wanted = replace(current, **changes)
    if wanted.model != current.model:
        raise wrong_value(f"{where}.model", f"it is '{current.model}' for the whole session.")
    if wanted.voice != current.voice and audio_started:
        raise Refused(
            "Cannot update a conversation's voice if assistant audio is present.",
            code="cannot_update_voice",
            param=f"{where}.audio.output.voice",
        )
    answer.check_choice(wanted.tool_choice, wanted.tools, f"{where}.tool_choice")
    if wanted.kind == "transcription":
        _check_transcriber(wanted, said, where)
        return _silent(wanted)
    return wanted


def _check_kind(current: Configuration, said: Mapping[str, Any], where: str) -> None:
    if "type" not in said:
        return
    kind = check.choice(said["type"], f"{where}.type", ("realtime", "transcription"))
    if kind != current.kind:
        raise wrong_value(f"{where}.type", f"this is a {current.kind} session and stays one.")


def _read(
    said: Mapping[str, Any], where: str, table: Mapping[str, tuple[str | None, Reader]]
) -> dict[str, Any]:
    """What the table's fields say; a field that we only check has no attribute."""
    changes: dict[str, Any] = {}
    for name, (attribute, read) in table.items():
        if name in said:
            value = read(said[name], f"{where}.{name}")
            if attribute is not None:
                changes[attribute] = value
    return changes


def _read_audio(raw: Any, where: str, kind: Kind, voices: Collection[str]) -> dict[str, Any]:
    sides = ("input", "output") if kind == "realtime" else ("input",)
    said = check.fields(raw, where, sides)
    output = dict(_OUTPUT)
    output["voice"] = ("voice", lambda value, at: answer.read_voice(value, at, tuple(voices)))
    changes: dict[str, Any] = {}
    for side, table in (("input", _INPUT), ("output", output)):
        if side in said:
            inside = f"{where}.{side}"
            changes |= _read(check.fields(said[side], inside, tuple(table)), inside, table)
    return changes


def _check_transcriber(wanted: Configuration, said: Mapping[str, Any], where: str) -> None:
    """A session that only writes down: nobody answers, so nothing of an answer can be set."""
    at = f"{where}.audio.input"
    if wanted.transcription is None:
        raise wrong_value(f"{at}.transcription", "a transcription session cannot be without.")
    turns = said.get("audio", {}).get("input", {}).get("turn_detection") or {}
    for name in ("create_response", "interrupt_response", "idle_timeout_ms"):
        if turns.get(name):
            raise wrong_value(
                f"{at}.turn_detection.{name}", "a transcription session gives no responses."
            )


def _silent(wanted: Configuration) -> Configuration:
    turns = wanted.turn_detection
    if turns is None:
        return wanted
    silent = replace(turns, create_response=False, interrupt_response=False)
    return replace(wanted, turn_detection=silent)


# --- What is in it ----------------------------------------------------------------


def _only_null(words: str) -> Reader:
    return lambda raw, where: check.absent(raw, where, words)


def _include(raw: Any, where: str) -> None:
    if raw is not None and len(check.listing(raw, where, most=10)) > 0:
        raise unsupported(where, "these ears give no log probabilities.")


def _tracing(raw: Any, where: str) -> Literal["auto"] | None:
    if raw in (None, "auto"):
        return "auto" if raw else None
    raise unsupported(where, "there is no dashboard that groups traces: null or 'auto'.")


def _text(most: int, least: int = 0) -> Reader:
    return lambda raw, where: check.text(raw, where, most=most, least=least)


_INCLUDE: tuple[None, Reader] = (None, _include)
_REALTIME: dict[str, tuple[str | None, Reader]] = {
    "model": ("model", _text(128, least=1)),
    "instructions": ("instructions", _text(MOST_INSTRUCTIONS)),
    "output_modalities": ("output_modalities", answer.read_modalities),
    "tools": ("tools", answer.read_tools),
    "tool_choice": ("tool_choice", answer.read_tool_choice),
    "max_output_tokens": ("max_output_tokens", answer.read_max_output_tokens),
    "parallel_tool_calls": ("parallel_tool_calls", check.flag),
    "truncation": ("truncation", answer.read_truncation),
    "tracing": ("tracing", _tracing),
    "include": _INCLUDE,
    "prompt": (None, _only_null("this engine keeps no prompt templates; use instructions.")),
    "reasoning": (None, _only_null("these models do not reason before they speak.")),
}
_TRANSCRIPTION: dict[str, tuple[str | None, Reader]] = {"include": _INCLUDE}
_INPUT: dict[str, tuple[str | None, Reader]] = {
    "format": ("input_format", audio.read_format),
    "transcription": ("transcription", audio.read_transcription),
    "noise_reduction": ("noise_reduction", audio.read_noise_reduction),
    "turn_detection": ("turn_detection", audio.read_turn_detection),
}
_OUTPUT: dict[str, tuple[str | None, Reader]] = {
    "format": ("output_format", audio.read_format),
    "speed": ("speed", lambda raw, where: check.number(raw, where, 0.25, 1.5)),
}
