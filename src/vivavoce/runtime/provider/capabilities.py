"""What the models we know can do, as data: context, cap of a session, voices."""

from __future__ import annotations

from vivavoce.runtime.ports import Capabilities, Voice

VOICES: tuple[Voice, ...] = (
    Voice("marin", "Marin", "Natural and warm; the best quality", recommended=True),
    Voice("cedar", "Cedar", "Natural and calm; the best quality", recommended=True),
    Voice("ash", "Ash", "Clear and direct"),
    Voice("coral", "Coral", "Friendly and bright"),
    Voice("sage", "Sage", "Thoughtful and even"),
    Voice("alloy", "Alloy", "Neutral and balanced"),
    Voice("echo", "Echo", "Soft and steady"),
    Voice("shimmer", "Shimmer", "Light and lively"),
    Voice("ballad", "Ballad", "Expressive, a storyteller"),
    Voice("verse", "Verse", "Versatile and animated"),
)

SESSION_SECONDS = 60 * 60.0
DEFAULT_CONTEXT = 32_000

CONTEXT_BY_PREFIX: dict[str, int] = {
    "vivavoce": 8_000,  # the embedded engine's, as it tells its brain
    "gpt-realtime": 32_000,
    "gpt-realtime-mini": 32_000,
    "gpt-realtime-2": 128_000,
    # Dated snapshots of the first model (gpt-realtime-2025-08-28) begin like the second one.
    "gpt-realtime-20": 32_000,
}


def capabilities_of(model: str) -> Capabilities:
    """Of a model by the longest prefix of its name we know; cautious where we know none."""
    known = [prefix for prefix in CONTEXT_BY_PREFIX if model.startswith(prefix)]
    context = CONTEXT_BY_PREFIX[max(known, key=len)] if known else DEFAULT_CONTEXT
    return Capabilities(
        context_tokens=context,
        session_seconds=SESSION_SECONDS,
        voices=VOICES,
        pictures=model.startswith("gpt-realtime"),
    )
