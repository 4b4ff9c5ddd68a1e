"""Calls that a model wrote into its text, where the server did not understand them as calls.

Small models write the JSON of a call bare, in a fence, several in a row, or
with every brace doubled as their template shows it. Pure.
"""

from __future__ import annotations

import json
import re
from typing import Any

_FENCE = re.compile(r"```(?:json|tool_call|xml)?|</?tools?(?:_call)?>")
_LONGEST = 20_000
_decoder = json.JSONDecoder()


class Beginning:
    """The beginning of an answer that may be a call: held back until that is known."""

    def __init__(self) -> None:
        self.held = ""

    def takes(self, text: str) -> bool:
        """Whether it may still be one with this behind it."""
        self.held += text
        begins = self.held.lstrip()[:3]
        fits = begins.startswith("{") or "```".startswith(begins)
        return fits and len(self.held) <= _LONGEST


def written_calls(text: str, offered: frozenset[str]) -> list[dict[str, Any]]:
    """The calls in a text that is nothing else; each once. What comes after them is ignored:
    a model that begins with calls and does not know how to end goes on with rubbish."""
    bare = _FENCE.sub(" ", text).strip()
    found = _read(bare, offered) or _read(bare.replace("{{", "{").replace("}}", "}"), offered)
    return [call for at, call in enumerate(found) if call not in found[:at]]


def _read(text: str, offered: frozenset[str]) -> list[dict[str, Any]]:
    calls = []
    while text:
        try:
            value, end = _decoder.raw_decode(text)
        except ValueError:
            break
        if not isinstance(value, dict) or value.get("name") not in offered:
            break
        arguments = value.get("arguments", value.get("parameters"))
        calls.append({"name": value["name"], "arguments": arguments})
        text = text[end:].lstrip(" \n\r\t,;")
    return calls
