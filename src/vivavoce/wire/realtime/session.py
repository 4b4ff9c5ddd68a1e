"""A session as clients ask for it: `session.update`, a client secret, a call.

Field for field OpenAI's GA API. Whether this server has what is asked for is
not decided here; a part (a format, a turn detection) is named whole or not at
all, and has its defaults here.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)

from vivavoce.wire.realtime.model import MOST_TEXT, FunctionName, Model, Whole, bounded, by, tag
from vivavoce.wire.realtime.refusal import wrong_type, wrong_value

Json = dict[str, Any]
Kind = Literal["realtime", "transcription"]

# --- Sound ------------------------------------------------------------------------

PCM: Final = "audio/pcm"


class AudioFormat(Model):
    """PCM16 at 24 kHz, or G.711 at 8 kHz (µ-law, A-law)."""

    type: Literal["audio/pcm", "audio/pcmu", "audio/pcma"] = PCM
    rate: Whole = 24_000

    @model_validator(mode="before")
    @classmethod
    def _of_its_type(cls, raw: Any) -> Any:
        if isinstance(raw, dict) and raw.get("rate") is None:
            return {**raw, "rate": 24_000 if raw.get("type", PCM) == PCM else 8_000}
        return raw

    @model_validator(mode="after")
    def _one_rate_each(self) -> AudioFormat:
        known = 24_000 if self.type == PCM else 8_000
        if self.rate != known:
            raise wrong_value(f"'{self.type}' has {known} samples a second.", "rate")
        return self

    def shown(self) -> Json:
        return self.model_dump(exclude=None if self.type == PCM else {"rate"})


NoiseReductionType = Literal["near_field", "far_field"]
"""For a microphone at the mouth, or one across the room."""


class NoiseReduction(Model):
    type: NoiseReductionType
    strength: float | None = None


_Short = Annotated[str, Field(max_length=200)]


class Transcription(Model):
    """Who writes down what the user said."""

    model: Annotated[str, Field(min_length=1, max_length=128)] = "vivavoce"
    language: _Short | None = None
    prompt: Annotated[
        Annotated[str, Field(max_length=8_000)] | None, BeforeValidator(lambda raw: raw or None)
    ] = None
    keywords: Annotated[list[_Short], Field(max_length=1_000)] | None = None
    languages: Annotated[list[_Short], Field(max_length=100)] | None = None
    delay: Literal["minimal", "low", "medium", "high", "xhigh"] | None = None

    def shown(self) -> Json:
        """The hints only where somebody gave them."""
        hints = self.model_dump(include={"keywords", "languages", "delay"}, exclude_none=True)
        return {"model": self.model, "language": self.language, "prompt": self.prompt, **hints}


# --- Turns ------------------------------------------------------------------------

_Pause = Annotated[Whole, Field(ge=0, le=10_000)]


class ServerVad(Model):
    """A turn is over after so much silence."""

    type: Literal["server_vad"] = "server_vad"
    threshold: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.5
    prefix_padding_ms: _Pause = 300
    silence_duration_ms: _Pause = 500
    idle_timeout_ms: Annotated[Whole, Field(ge=5_000, le=30_000)] | None = None
    create_response: bool = True
    interrupt_response: bool = True


Eagerness = Literal["low", "medium", "high", "auto"]


class SemanticVad(Model):
    """A turn is over when it sounds finished."""

    type: Literal["semantic_vad"] = "semantic_vad"
    eagerness: Eagerness = "auto"
    create_response: bool = True
    interrupt_response: bool = True


TurnDetection = (
    Annotated[
        Annotated[ServerVad, Tag(tag("server_vad"))]
        | Annotated[SemanticVad, Tag(tag("semantic_vad"))],
        by("type"),
    ]
    | None
)

# --- Tools --------------------------------------------------------------------------

MOST_TOOLS = 128


def _schema(raw: Json) -> Json:
    if raw.get("type", "object") != "object":
        raise wrong_value("a function's parameters are a schema of type 'object'.")
    if not isinstance(raw.get("properties", {}), dict):
        raise wrong_type("an object", "properties")
    return raw


class FunctionTool(Model):
    """A function the model may call; `parameters` is a JSON Schema of an object."""

    type: Literal["function"] = "function"
    name: FunctionName
    description: Annotated[str, Field(max_length=16_000)] | None = None
    parameters: Annotated[Json, AfterValidator(_schema), bounded(64_000)] | None = None


class McpTool(Model):
    model_config = ConfigDict(extra="allow")

    type: Literal["mcp"]


def _each_once(tools: list[FunctionTool | McpTool]) -> list[FunctionTool | McpTool]:
    seen: set[str] = set()
    for place, tool in enumerate(tools):
        if isinstance(tool, FunctionTool):
            if tool.name in seen:
                raise wrong_value(f"there is a '{tool.name}' already.", f"[{place}].name")
            seen.add(tool.name)
    return tools


Tools = Annotated[
    list[
        Annotated[
            Annotated[FunctionTool, Tag(tag("function"))] | Annotated[McpTool, Tag(tag("mcp"))],
            by("type"),
        ]
    ],
    Field(max_length=MOST_TOOLS),
    AfterValidator(_each_once),
]


class FunctionChoice(Model):
    type: Literal["function"]
    name: FunctionName


ToolChoice = Annotated[
    Annotated[Literal["auto", "none", "required"], Tag(tag())]
    | Annotated[FunctionChoice, Tag(tag("function"))]
    | Annotated[McpTool, Tag(tag("mcp"))],
    by("type"),
]

# --- Limits, form and voice -------------------------------------------------------------


class TokenLimits(Model):
    post_instructions: Annotated[Whole, Field(ge=0, le=10**9)] | None = None


class RetentionRatio(Model):
    """When the conversation is cut, it is cut to this share of the limit."""

    type: Literal["retention_ratio"] = "retention_ratio"
    retention_ratio: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
    token_limits: TokenLimits | None = None

    @property
    def post_instructions(self) -> int | None:
        return self.token_limits.post_instructions if self.token_limits else None


Truncation = Annotated[
    Annotated[Literal["auto", "disabled"], Tag(tag())]
    | Annotated[RetentionRatio, Tag(tag("retention_ratio"))],
    by("type"),
]
MaxTokens = Annotated[
    Annotated[Literal["inf"], Tag(tag("inf"))]
    | Annotated[Whole, Field(ge=1, le=4096), Tag(tag("int"))],
    Discriminator(lambda raw: tag("inf" if isinstance(raw, str) else "int")),
]
Modality = Literal["audio", "text"]
Modalities = Annotated[list[Modality], Field(min_length=1, max_length=1)]
"""One of them: sound comes with its transcript."""
Instructions = Annotated[str, Field(max_length=MOST_TEXT)]


def _or_object(model: Any) -> Discriminator:
    return Discriminator(lambda raw: tag("object" if isinstance(raw, dict | model) else ""))


class CustomVoice(Model):
    id: str


Voice = Annotated[
    Annotated[str, Field(max_length=200), Tag(tag())] | Annotated[CustomVoice, Tag(tag("object"))],
    _or_object(CustomVoice),
]


class TracingConfiguration(Model):
    workflow_name: Annotated[str, Field(max_length=1_000)] | None = None
    group_id: Annotated[str, Field(max_length=1_000)] | None = None
    metadata: Annotated[Json, bounded(64_000)] | None = None


Tracing = Annotated[
    Annotated[Literal["auto"], Tag(tag())] | Annotated[TracingConfiguration, Tag(tag("object"))],
    _or_object(TracingConfiguration),
]


class Reasoning(Model):
    effort: Literal["minimal", "low", "medium", "high", "xhigh"] | None = None


Prompt = Annotated[Json, bounded(MOST_TEXT)]
"""A template that the server would keep, and what to fill in."""

# --- The whole --------------------------------------------------------------------------


class AudioInput(Model):
    nulls: ClassVar = frozenset({"transcription", "noise_reduction", "turn_detection"})

    format: AudioFormat | None = None
    transcription: Transcription | None = None
    noise_reduction: NoiseReduction | None = None
    turn_detection: TurnDetection = None


class AudioOutput(Model):
    format: AudioFormat | None = None
    voice: Voice | None = None
    speed: Annotated[float, Field(ge=0.25, le=1.5, allow_inf_nan=False)] | None = None


class Audio(Model):
    input: AudioInput = AudioInput.model_construct()
    output: AudioOutput = AudioOutput.model_construct()


class HearingAudio(Model):
    input: AudioInput = AudioInput.model_construct()


_Include = list[Literal["item.input_audio_transcription.logprobs"]]
_Hint = Annotated[str, Field(max_length=1_000)] | None


_Courtesy = Annotated[str, Field(min_length=1, max_length=300)]


class Courtesies(Model):
    """Ours: what is said to who waits, and to who was not understood: the first time, and the last
    of them from then on."""

    slow: Annotated[list[_Courtesy], Field(min_length=1, max_length=12)] | None = None
    unheard: Annotated[list[_Courtesy], Field(min_length=1, max_length=12)] | None = None


class RealtimeSession(Model):
    """Any of its fields; what is not given stays as it is."""

    nulls: ClassVar = frozenset({"tracing"})

    type: Kind | None = None
    model: Annotated[str, Field(min_length=1, max_length=128)] | None = None
    instructions: Instructions | None = None
    output_modalities: Modalities | None = None
    tools: Tools | None = None
    tool_choice: ToolChoice | None = None
    max_output_tokens: MaxTokens | None = None
    parallel_tool_calls: bool | None = None
    truncation: Truncation | None = None
    tracing: Tracing | None = None
    include: _Include | None = None
    prompt: Prompt | None = None
    reasoning: Reasoning | None = None
    safety_identifier: _Hint = None
    prompt_cache_key: _Hint = None
    vivavoce_manners: bool | Courtesies | None = None
    """Ours: whether "One moment." is said to who waits, and in which words."""
    audio: Audio = Audio.model_construct()


class TranscriptionSession(Model):
    """One that only writes down: nothing about answers can be set in it."""

    type: Kind | None = None
    include: _Include | None = None
    safety_identifier: _Hint = None
    audio: HearingAudio = HearingAudio.model_construct()
