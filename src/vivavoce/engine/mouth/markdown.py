"""Markdown without its marks: what is left is what one would read out. Pure.

Text comes a clause at a time, so that a mark may have lost its partner; marks
that stand alone go too.
"""

from __future__ import annotations

import re

_RULES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.MULTILINE), words)
    for pattern, words in (
        (r"^[ \t]*(?:```|~~~)[^\n`]*$", ""),  # fences, and the language they name
        (r"!?\[([^\]\n]*)\]\([^)\s]*[^)\n]*\)", r"\1"),  # links and pictures
        (r"<(https?://[^>\s]+)>", r"\1"),
        (r"</?[A-Za-z][^<>\n]*>", " "),  # HTML
        (r"^[ \t]*(?:[-*_][ \t]*){3,}$", ""),  # rules
        (r"^[ \t]*\|?(?:[ \t]*:?-{2,}:?[ \t]*\|)+[-: \t]*$", ""),  # under a table's head
        (r"^[ \t]*(?:>[ \t]?)+", ""),
        (r"^[ \t]*#{1,6}[ \t]+", ""),
        (r"^[ \t]*[-*+•][ \t]+(?:\[[ xX]\][ \t]+)?", ""),
        (r"^[ \t]*\|[ \t]*|[ \t]*\|[ \t]*$", ""),
        (r"[ \t]+\|[ \t]+", ", "),
        (r"\*{2,}|_{2,}|~{2}|`+", ""),
        (r"(?<![\w*])\*(?=\S)|(?<=[^\s*])\*(?!\w)", ""),
        (r"(?<!\w)_(?=\w)|(?<=\w)_(?!\w)", ""),
    )
)


def plain(text: str) -> str:
    for pattern, words in _RULES:
        text = pattern.sub(words, text)
    return text
