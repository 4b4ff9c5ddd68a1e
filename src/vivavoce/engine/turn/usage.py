"""What a response and a transcript cost, in the figures that clients of the protocol expect.

Text is counted by the brain; sound by OpenAI's rule of thumb, so that figures
can be compared: a second is 10 tokens on the way in and 20 on the way out.
"""

from __future__ import annotations

import math
from typing import Any

INPUT_AUDIO_TOKENS_A_SECOND = 10
OUTPUT_AUDIO_TOKENS_A_SECOND = 20


def response_usage(
    *,
    input_tokens: int,
    output_tokens: int,
    cached_tokens: int = 0,
    input_seconds: float = 0.0,
    output_seconds: float = 0.0,
) -> dict[str, Any]:
    """The `usage` of `response.done`; the tokens are the brain's counts of text."""
    text_in, text_out = max(0, input_tokens), max(0, output_tokens)
    # What came from the cache is part of the input, whatever a brain may say.
    cached = min(max(0, cached_tokens), text_in)
    audio_in = audio_tokens(input_seconds, INPUT_AUDIO_TOKENS_A_SECOND)
    audio_out = audio_tokens(output_seconds, OUTPUT_AUDIO_TOKENS_A_SECOND)
    return {
        "total_tokens": text_in + audio_in + text_out + audio_out,
        "input_tokens": text_in + audio_in,
        "output_tokens": text_out + audio_out,
        "input_token_details": {
            "text_tokens": text_in,
            "audio_tokens": audio_in,
            "image_tokens": 0,
            "cached_tokens": cached,
            "cached_tokens_details": {
                "text_tokens": cached,
                "audio_tokens": 0,
                "image_tokens": 0,
            },
        },
        "output_token_details": {"text_tokens": text_out, "audio_tokens": audio_out},
    }


def audio_tokens(seconds: float, rate: int) -> int:
    """Whole tokens; one that was begun counts."""
    # Rounded first: 0.3 s at 10 a second is 3 tokens, not the 4 of floating point.
    return math.ceil(round(max(0.0, seconds) * rate, 6))


def transcription_usage(seconds: float) -> dict[str, Any]:
    """The `usage` of a transcript: whole seconds, as the service bills them."""
    return {"type": "duration", "seconds": math.ceil(round(max(0.0, seconds), 3))}
