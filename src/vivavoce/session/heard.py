"""What was heard of what was generated.

Where the sound was cut, the words after the cut were never heard, and must
not stay in the conversation as if they had been (seed 001 §7.3).
"""

from __future__ import annotations

# An unhurried English voice; replaced by the measured rate once an answer was played whole.
DEFAULT_CHARS_PER_SECOND = 15.0


def heard_text(
    generated: str,
    played_ms: float,
    *,
    total_ms: float | None = None,
    chars_per_second: float = DEFAULT_CHARS_PER_SECOND,
) -> str:
    """The words of `generated` that fit in `played_ms`; a word cut in half was not heard.

    `total_ms` is the length of the whole sound where it is known, else the
    rate of speech decides.
    """
    if played_ms <= 0 or not generated:
        return ""
    if total_ms and total_ms > 0:
        reach = len(generated) * played_ms / total_ms
    else:
        reach = played_ms / 1000 * chars_per_second
    if reach >= len(generated):
        return generated
    cut = int(reach)
    if cut <= 0:
        return ""
    if not generated[cut].isspace():
        cut = max(generated.rfind(" ", 0, cut + 1), generated.rfind("\n", 0, cut + 1), 0)
    return generated[:cut].rstrip()
