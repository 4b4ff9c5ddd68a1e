"""SDP offers: enough of a look to refuse what is none; the provider judges the rest."""

from __future__ import annotations

MAX_SDP = 64 * 1024


def flaw(offer: str) -> str | None:
    """What is wrong with it, in words; None if it looks like an offer with sound."""
    lines = offer.replace("\r\n", "\n").split("\n")
    if len(offer) > MAX_SDP:
        return f"The SDP offer is longer than {MAX_SDP} characters."
    if lines[0].strip() != "v=0":
        return "An SDP offer begins with 'v=0'."
    if not any(line.startswith("m=audio ") for line in lines):
        return "The SDP offer has no audio ('m=audio')."
    return None
