"""What a session and its responses are set to.

`initial` and `applied` make a `Configuration` of what clients ask for
(`wire.realtime.session`), `session_object` shows it; `response_settings` and
`response_object` do the same for one response. What is wrong raises `Refused`,
and then nothing has changed. What is right and no part of this engine is
refused by its name, and the rest of the update is taken: so it would be by a
server that has it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, fields, replace
from typing import Any, Literal

from vivavoce.wire.hints import bare_tools
from vivavoce.wire.realtime import session as asked
from vivavoce.wire.realtime.items import Item, Reference
from vivavoce.wire.realtime.refusal import Refused, printable, reading, refused
from vivavoce.wire.realtime.response import ResponseCreate
from vivavoce.wire.values import Record

Json = dict[str, Any]

_HELPFUL = "Call a function when one helps, and say so when you do not know."
_SPOKEN = (
    "You are a friendly voice assistant. Answer in one or two short sentences, as people do when "
    f"they talk. {_HELPFUL}"
)
_WRITTEN = f"You are a friendly assistant. {_HELPFUL}"
FORCED = "function:"
"""A choice of one function is `function:NAME`, as the brain takes it."""
_ENGLISH = re.compile(r"en([-_][A-Za-z]{2,4})?", re.IGNORECASE)


class Configuration(Record):
    """Everything of a GA session that this engine can do, and the hints that it shows again."""

    kind: asked.Kind = "realtime"
    model: str
    """As the client calls it: any name is this engine."""
    voice: str
    instructions: str | None = None
    """None: ours, see `guidance`."""
    output_modalities: asked.Modality = "audio"
    tools: tuple[asked.FunctionTool, ...] = ()
    tool_choice: str = "auto"
    """`auto`, `none`, `required` or `function:NAME`, as the brain takes it."""
    max_output_tokens: int | Literal["inf"] = "inf"
    parallel_tool_calls: bool | None = None
    """None where no client ever said: then it is shown nowhere, and allowed."""
    truncation: Literal["auto", "disabled"] | asked.RetentionRatio = "auto"
    tracing: asked.Tracing | None = None
    """Every turn is traced anyway."""
    include: tuple[str, ...] | None = None
    reasoning: asked.Reasoning | None = None
    input_format: asked.AudioFormat = field(default_factory=asked.AudioFormat)
    output_format: asked.AudioFormat = field(default_factory=asked.AudioFormat)
    transcription: asked.Transcription | None = None
    noise_reduction: asked.NoiseReductionType | None = None
    turn_detection: asked.ServerVad | asked.SemanticVad | None = field(
        default_factory=asked.ServerVad
    )
    speed: float = 1.0
    manners: bool = False
    """Whether "One moment." and the like are said: on our own server's calls, and to who asks."""
    courtesies: asked.Courtesies | None = None
    """Their words, where they are others than ours."""

    @property
    def speaks(self) -> bool:
        return self.output_modalities == "audio"

    @property
    def guidance(self) -> str:
        """The client's instructions; ours where it gave none, without rules for speech where
        nothing is spoken."""
        ours = _SPOKEN if self.speaks else _WRITTEN
        return ours if self.instructions is None else self.instructions


def initial(
    model: str,
    *,
    voice: str,
    voices: Collection[str],
    kind: asked.Kind = "realtime",
    manners: bool = False,
) -> Configuration:
    """What a session has before anybody asked for anything."""
    if voice not in voices:
        raise ValueError(f"the default voice '{voice}' is not among the voices")
    if kind == "realtime":
        return Configuration(model=model, voice=voice, manners=manners)
    silent = asked.ServerVad(create_response=False, interrupt_response=False)
    first = Configuration(kind=kind, model=model, voice=voice, turn_detection=silent)
    return replace(first, transcription=asked.Transcription())


# --- Changing it ------------------------------------------------------------------


def updated(current: Configuration, patch: Any, *, voices: Collection[str]) -> Configuration:
    """All of an update or nothing, for who cannot be told both: raises `Refused`."""
    wanted, lacking = applied(current, patch, voices=voices)
    if lacking:
        raise lacking[0]
    return wanted


def applied(
    current: Configuration,
    patch: Any,
    *,
    voices: Collection[str],
    audio_started: bool = False,
) -> tuple[Configuration, list[Refused]]:
    """The configuration after a `session.update`, and what of it this engine does not have.
    Raises `Refused`, and then nothing changed."""
    lacking: list[Refused] = []
    kind = patch.get("type") if isinstance(patch, dict) else None
    if kind in ("realtime", "transcription") and kind != current.kind:
        words = f"this is a {current.kind} session and stays one."
        raise refused("invalid_value", "session.type", words)
    if current.kind == "transcription":
        return _transcriber(current, patch, lacking), lacking
    said = reading(asked.RealtimeSession.model_validate, patch, "session")
    changes = {
        **_given(said, "model", "instructions", "max_output_tokens", "parallel_tool_calls"),
        **_given(said, "truncation", "reasoning"),
        **_answers(said, "session", lacking),
        **_hearing(said.audio.input, lacking),
        **_voice(said.audio.output, voices, "session", lacking),
        **_given(said.audio.output, "speed"),
    }
    if changes.get("instructions") in (_SPOKEN, _WRITTEN):  # a session that is sent back as shown
        changes["instructions"] = None
    if "tracing" in said.model_fields_set:
        changes["tracing"] = said.tracing
    if said.include is not None:
        changes["include"] = tuple(said.include) or None
    if isinstance(said.vivavoce_manners, asked.Courtesies):
        changes |= {"manners": True, "courtesies": said.vivavoce_manners}
    elif said.vivavoce_manners is not None:
        changes["manners"] = said.vivavoce_manners
    wanted = replace(current, **changes)
    _check(wanted, current, audio_started, "session")
    return wanted, lacking


def _given(said: Any, *names: str) -> Json:
    found = {name: getattr(said, name) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def _answers(
    said: asked.RealtimeSession | ResponseCreate, where: str, lacking: list[Refused]
) -> Json:
    """What a session and a response have alike."""
    changes: Json = {}
    if said.output_modalities is not None:
        changes["output_modalities"] = said.output_modalities[0]
    if said.tools is not None:
        for place, tool in enumerate(said.tools):
            if not isinstance(tool, asked.FunctionTool):
                lacking.append(lacks(f"{where}.tools[{place}].type", _NO_MCP))
        changes["tools"] = tuple(t for t in said.tools if isinstance(t, asked.FunctionTool))
    if isinstance(said.tool_choice, str):
        changes["tool_choice"] = said.tool_choice
    elif isinstance(said.tool_choice, asked.FunctionChoice):
        changes["tool_choice"] = FORCED + said.tool_choice.name
    elif said.tool_choice is not None:
        lacking.append(lacks(f"{where}.tool_choice.type", _NO_MCP))
    if said.prompt is not None:
        words = "this engine keeps no prompt templates; use instructions."
        lacking.append(lacks(f"{where}.prompt", words))
    return changes


_NO_MCP = "MCP servers are not supported by this engine yet; give functions."


def lacks(where: str, words: str) -> Refused:
    return refused("unsupported_parameter", where, words)


def _voice(said: Any, voices: Collection[str], where: str, lacking: list[Refused]) -> Json:
    changes: Json = {}
    if said.format is not None:
        changes["output_format"] = said.format
    at = f"{where}.audio.output.voice"
    if isinstance(said.voice, str):
        if said.voice not in voices:
            known = ", ".join(f"'{voice}'" for voice in sorted(voices))
            words = f"'{printable(said.voice)}'. Supported values are: {known}."
            raise refused("invalid_value", at, words)
        changes["voice"] = said.voice
    elif said.voice is not None:
        lacking.append(lacks(at, "custom voices are not supported by this engine yet."))
    return changes


def _hearing(said: asked.AudioInput, lacking: list[Refused]) -> Json:
    changes: Json = {} if said.format is None else {"input_format": said.format}
    if "noise_reduction" in said.model_fields_set:
        changes["noise_reduction"] = said.noise_reduction and said.noise_reduction.type
    if "turn_detection" in said.model_fields_set:
        changes["turn_detection"] = said.turn_detection
    if "transcription" in said.model_fields_set:
        changes["transcription"] = _english(said.transcription, lacking)
    return changes


def _english(
    said: asked.Transcription | None, lacking: list[Refused]
) -> asked.Transcription | None:
    """These ears hear no other language; one that may be English is heard as that."""
    at = "session.audio.input.transcription"
    if said is None:
        return None
    words = "these ears hear English only: 'en' or null."
    if said.languages and not any(map(_ENGLISH.fullmatch, said.languages)):
        lacking.append(lacks(f"{at}.languages", words))
        said = said.model_copy(update={"languages": None})
    if said.language and not _ENGLISH.fullmatch(said.language):
        lacking.append(lacks(f"{at}.language", words))
        said = said.model_copy(update={"language": None})
    return said


def _check(
    wanted: Configuration,
    current: Configuration,
    audio_started: bool,
    where: str,
) -> None:
    if wanted.voice != current.voice and audio_started:
        words = "Cannot update a conversation's voice if assistant audio is present."
        raise Refused(words, code="cannot_update_voice", param=f"{where}.audio.output.voice")
    forced = wanted.tool_choice.removeprefix(FORCED)
    if forced != wanted.tool_choice and forced not in {tool.name for tool in wanted.tools}:
        words = f"there is no tool '{forced}'."
        raise refused("invalid_value", f"{where}.tool_choice.name", words)


def _transcriber(current: Configuration, patch: Any, lacking: list[Refused]) -> Configuration:
    """A session that only writes down: nobody answers, so nothing of an answer can be set."""
    said = reading(asked.TranscriptionSession.model_validate, patch, "session")
    at, hearing = "session.audio.input", said.audio.input
    if "transcription" in hearing.model_fields_set and hearing.transcription is None:
        words = "a transcription session cannot be without."
        raise refused("invalid_value", f"{at}.transcription", words)
    turns = hearing.turn_detection
    for name in ("create_response", "interrupt_response", "idle_timeout_ms"):
        if turns is not None and name in turns.model_fields_set and getattr(turns, name):
            words = "a transcription session gives no responses."
            raise refused("invalid_value", f"{at}.turn_detection.{name}", words)
    wanted = replace(current, **_hearing(hearing, lacking))
    if said.include is not None:
        wanted = replace(wanted, include=tuple(said.include) or None)
    if wanted.turn_detection is None:
        return wanted
    silent = {"create_response": False, "interrupt_response": False}
    return replace(wanted, turn_detection=wanted.turn_detection.model_copy(update=silent))


# --- Showing it ---------------------------------------------------------------------


def session_object(configuration: Configuration, *, session_id: str, expires_at: int) -> Json:
    """The `session` of `session.created`, `session.updated` and a client secret: field for field
    as the real service shows its own."""
    c = configuration
    turns = c.turn_detection and c.turn_detection.model_dump()
    if turns and c.kind == "transcription":  # nobody answers: what is said about that is not shown
        kept = ("type", "threshold", "prefix_padding_ms", "silence_duration_ms", "eagerness")
        turns = {name: value for name, value in turns.items() if name in kept}
    hearing: Json = {
        "format": c.input_format.shown(),
        "transcription": c.transcription and c.transcription.shown(),
        "noise_reduction": {"type": c.noise_reduction} if c.noise_reduction else None,
        "turn_detection": turns,
    }
    include = None if c.include is None else list(c.include)
    if c.kind == "transcription":
        return {
            "type": "transcription",
            "object": "realtime.transcription_session",
            "id": session_id,
            "expires_at": expires_at,
            "audio": {"input": hearing},
            "include": include,
        }
    choice: str | Json = c.tool_choice
    if c.tool_choice.startswith(FORCED):
        choice = {"type": "function", "name": c.tool_choice.removeprefix(FORCED)}
    shown: Json = {
        "type": "realtime",
        "object": "realtime.session",
        "id": session_id,
        "model": c.model,
        "output_modalities": [c.output_modalities],
        "instructions": c.guidance,
        # Without hints: they are for the brain, and the whole call listens here.
        "tools": bare_tools(tool.model_dump(exclude_none=True) for tool in c.tools),
        "tool_choice": choice,
        "max_output_tokens": c.max_output_tokens,
        "tracing": _plain(c.tracing),
        "truncation": _plain(c.truncation),
        "prompt": None,
        "expires_at": expires_at,
        "audio": {
            "input": hearing,
            "output": {"format": c.output_format.shown(), "voice": c.voice, "speed": c.speed},
        },
        "include": include,
    }
    if c.parallel_tool_calls is not None:
        shown["parallel_tool_calls"] = c.parallel_tool_calls
    if c.reasoning is not None:
        shown["reasoning"] = c.reasoning.model_dump(exclude_none=True)
    return shown


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str) else value.model_dump(exclude_none=True)


# --- One response ---------------------------------------------------------------------


class ResponseSettings(Configuration):
    """Everything a response needs to know to be made and shown: the session's, and its own."""

    conversation: Literal["auto", "none"] = "auto"
    input: tuple[Item | Reference, ...] | None = None
    """None is the conversation."""
    metadata: Mapping[str, str] | None = None

    @property
    def of_the_talk(self) -> bool:
        """About the whole conversation, and a part of it."""
        return self.input is None and self.conversation == "auto"

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
) -> ResponseSettings:
    """The session's settings with what the client wants for this response; raises `Refused`."""
    c = configuration
    if c.kind == "transcription":
        raise Refused("A transcription session gives no responses.", code="invalid_session_type")
    settings = ResponseSettings(**{one.name: getattr(c, one.name) for one in fields(c)})
    if params is None:
        return settings
    said = reading(ResponseCreate.model_validate, params, "response")
    lacking: list[Refused] = []
    wanted = replace(
        settings,
        input=said.items,
        **_given(said, "conversation", "instructions", "max_output_tokens"),
        **_given(said, "parallel_tool_calls", "metadata"),
        **_answers(said, "response", lacking),
        **_voice(said.audio.output, voices, "response", lacking),
    )
    if lacking:  # an answer cannot be half of what was asked for
        raise lacking[0]
    _check(wanted, c, audio_started, "response")
    return wanted


# --- Words to expect --------------------------------------------------------------------

MOST_KEYTERMS = 200
LONGEST_KEYTERM, _WORDS = 40, 4
"""Of one keyword, in characters and in words: what is longer is a sentence."""

_LABEL = re.compile(r"\s*(?:key ?words?|key ?terms?|vocabulary)\s*:", re.IGNORECASE)
_BETWEEN = re.compile(r"[,;\n]")


def keyterms(prompt: str | None, keywords: Sequence[str] = ()) -> tuple[str, ...]:
    """The words that a client expects to hear: its `keywords`, and those of its `prompt`.

    OpenAI's `prompt` is a list of keywords for one model (`Keywords: a, b, c`,
    or only `a, b, c`) and free text for others, which has nothing that ears
    could use. Each once, in order, at most `MOST_KEYTERMS`.
    """
    text = prompt or ""
    label = _LABEL.match(text)
    pieces = _BETWEEN.split(text[label.end() if label else 0 :])
    listed = pieces if label is not None or len(pieces) > 1 else []
    terms = (" ".join(piece.split()).rstrip(".") for piece in (*keywords, *listed))
    return tuple(dict.fromkeys(term for term in terms if _usable(term)))[:MOST_KEYTERMS]


def _usable(term: str) -> bool:
    if not 2 <= len(term) <= LONGEST_KEYTERM or len(term.split()) > _WORDS:
        return False
    return term.isprintable() and any(letter.isalnum() for letter in term)
