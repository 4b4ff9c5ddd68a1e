"""What a Piper voice says of itself, in the JSON file beside it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from vivavoce.errors import ModelUnavailable


@dataclass(frozen=True, slots=True)
class Settings:
    rate: int
    noise: float
    length: float
    rhythm: float
    """How much the length of phonemes varies."""
    phonemes: dict[str, int]


def read_settings(path: Path) -> Settings:
    """Raises `ModelUnavailable`."""
    name = path.parent.name
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        ways = table["inference"]
        found = Settings(
            rate=int(table["audio"]["sample_rate"]),
            noise=float(ways["noise_scale"]),
            length=float(ways["length_scale"]),
            rhythm=float(ways["noise_w"]),
            phonemes={symbol: int(ids[0]) for symbol, ids in table["phoneme_id_map"].items()},
        )
        speaks = str(table["espeak"]["voice"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as fault:
        raise ModelUnavailable(f"The file {path.name} of {name} cannot be read.") from fault
    if not speaks.startswith("en"):
        raise ModelUnavailable(f"The voice {name} speaks {speaks}, not English.")
    if missing := {"^", "_", "$", " "} - found.phonemes.keys():
        raise ModelUnavailable(f"The voice {name} lacks {' '.join(sorted(missing))}.")
    return found
