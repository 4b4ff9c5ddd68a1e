"""Which of Kokoro's voices answers to which of OpenAI's names: data only.

Chosen for likeness and quality. Kokoro's own names say the accent and the
sex: `a` American, `b` British; `f` female, `m` male.
"""

from __future__ import annotations

OPENAI_VOICES = {
    "alloy": "af_alloy",
    "ash": "am_michael",
    "ballad": "bm_fable",
    "cedar": "am_fenrir",
    "coral": "af_bella",
    "echo": "am_echo",
    "marin": "af_heart",
    "sage": "af_kore",
    "shimmer": "af_aoede",
    "verse": "am_puck",
}
