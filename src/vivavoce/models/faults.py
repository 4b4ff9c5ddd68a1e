"""What can be wrong with one source; inside this room only, since the next source may do."""

from __future__ import annotations


class SourceFailed(Exception):
    """Why a source gave nothing, in words for the user.

    `stale`: bytes of an earlier pull were used, so trying it afresh may help.
    `unreachable`: nobody answered, so other files need not ask the same host.
    """

    def __init__(self, words: str, *, stale: bool = False, unreachable: bool = False) -> None:
        super().__init__(words)
        self.stale = stale
        self.unreachable = unreachable
