"""What a model writes, without what nobody should hear.

Some servers leave a model's private thoughts, its control tokens and its
calls in the text. Pure: text goes in as it comes, in pieces that may end in
the middle of a tag.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_OPENING = re.compile(r"<(think|thinking|tool_call)>")
_DROPPED = re.compile(r"</(?:think|thinking|tool_call)>|<\|[a-z_]{1,24}\|>")
_BEGINNINGS = ("<think>", "<thinking>", "<tool_call>", "</think>", "</thinking>", "</tool_call>")
_TOKEN_BEGINS = re.compile(r"<\|?[a-z_]{0,24}\|?")
_LONGEST_CALL = 100_000


@dataclass(frozen=True, slots=True)
class Plain:
    text: str


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """What stood between the tags of a call that the server did not understand as one."""

    text: str


class Sieve:
    """One answer's text."""

    def __init__(self) -> None:
        self._held = ""
        self._inside: str | None = None
        self._spoken = False

    def feed(self, text: str) -> Iterator[Plain | WrittenCall]:
        self._held += text
        while self._held:
            if self._inside is not None:
                found = self._through_block()
                if found is None:
                    return
                if found:
                    yield WrittenCall(found)
                continue
            plain, more = self._up_to_tag()
            if plain:
                yield Plain(plain)
            if not more:
                return

    def end(self) -> Iterator[Plain | WrittenCall]:
        """What was held back is what it is; a thought that has no end was one."""
        held, self._held = self._held, ""
        if self._inside == "tool_call" and held:
            yield WrittenCall(held)
        elif self._inside is None and (plain := self._said(held)):
            yield Plain(plain)

    def _through_block(self) -> str | None:
        """Past the block's end: the call in it, if it was one. None when more must come."""
        closing = f"</{self._inside}>"
        inner, found, rest = self._held.partition(closing)
        if not found:
            thought = self._inside != "tool_call"
            if thought or len(self._held) > _LONGEST_CALL:
                self._held = self._held[-len(closing) :]  # its end may have begun
            return None
        call = inner if self._inside == "tool_call" else ""
        self._held, self._inside = rest, None
        return call

    def _up_to_tag(self) -> tuple[str, bool]:
        """The text before the next tag, and whether there is more to look at."""
        before, bracket, after = self._held.partition("<")
        tagged = bracket + after
        if opening := _OPENING.match(tagged):
            self._held, self._inside = tagged[opening.end() :], opening[1]
            return self._said(before), True
        if dropped := _DROPPED.match(tagged):
            self._held = tagged[dropped.end() :]
            return self._said(before), True
        if tagged and _may_become_a_tag(tagged):
            self._held = tagged
            return self._said(before), False
        self._held = after
        return self._said(before + bracket), bool(after)

    def _said(self, text: str) -> str:
        if not self._spoken:
            text = text.lstrip()  # the empty lines that follow a thought
            self._spoken = bool(text)
        return text


def _may_become_a_tag(text: str) -> bool:
    if any(tag.startswith(text) for tag in _BEGINNINGS):
        return True
    return text[:2] in ("<", "<|") and _TOKEN_BEGINS.fullmatch(text) is not None
