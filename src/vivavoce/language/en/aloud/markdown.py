"""Markdown without its marks: what is left is what one would read out. Pure.

Text comes a clause at a time, so that a mark may have lost its partner; marks
that stand alone go too. Code between fences is for the eye: it goes whole, to
the end of the text if the fence is not closed.
"""

from __future__ import annotations

import re

# What could be as long as the text is bounded: hostile text would cost the square of it.
_RULES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.MULTILINE), words)
    for pattern, words in (
        (r"^[ \t]{0,9}(```|~~~)(?s:.*?)(?:\n[ \t]{0,9}\1[`~]{0,9}[ \t]{0,9}$|\Z)", "\n"),
        (r"(?s)<!--.{0,500}?-->", " "),
        (r"!?\[([^\[\]\n]{0,300})\]\([^()\n]{0,500}(?:\([^()\n]{0,99}\)[^()\n]{0,99})?\)", r"\1"),
        (r"!?\[([^\[\]\n]{1,300})\]\[[^\[\]\n]{0,99}\]", r"\1"),
        (r"^[ \t]{0,9}\[[^\[\]\n]{1,99}\]:[ \t]{0,9}\S{1,500}$", ""),  # where a link leads
        (r"<(https?://[^<>\s]{1,500})>", r"\1"),
        (r"</?[A-Za-z][^<>\n]{0,300}>", " "),  # HTML
        (r"^[ \t]{0,9}(?:[-*_][ \t]{0,3}){3,}$", ""),  # rules
        (r"^[ \t]{0,9}\|?(?:[ \t]{0,9}:?-{2,99}:?[ \t]{0,9}\|){1,99}[-: \t]{0,99}$", ""),
        (r"^[ \t]{0,9}(?:>[ \t]?){1,9}", ""),
        (r"^[ \t]{0,9}#{1,6}[ \t]{1,9}|[ \t]{1,9}#{1,6}$", ""),
        (r"^[ \t]{0,99}[-*+•][ \t]{1,9}(?:\[[ xX]\][ \t]{1,9})?", ""),
        (r"^[ \t]{0,9}\|[ \t]{0,9}|\|[ \t]{0,9}$", ""),
        (r"(?<=[^\s|])[ \t]{1,99}\|[ \t]{1,99}", ", "),
        (r"(?<![*\w])\*(?=\.\w)|(?<=[\w/])\*(?=\.\w)|(?<=/)\*(?=$|\s)", " star "),  # test_*.py
        (r"\*{2,}|_{2,}|~{2}|`+", ""),
        (r"(?<![\w*])\*(?=\S)|(?<=[^\s*])\*(?!\w)", ""),
        (r"(?<!\w)_(?=\w)|(?<=\w)_(?!\w)", ""),
    )
)


def plain(text: str) -> str:
    for pattern, words in _RULES:
        text = pattern.sub(words, text)
    return text
