"""What is kept of a command's output. How commands are held is tested with the sandboxes, and with
the control groups."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vivavoce.processes.bounded import Collected


@given(st.lists(st.binary(max_size=20)), st.integers(0, 60))
def test_what_is_kept_is_the_beginning_and_the_end(pieces: list[bytes], limit: int) -> None:
    kept = Collected(limit)
    for piece in pieces:
        kept.feed(piece)
    whole = b"".join(pieces)
    assert kept.truncated == (len(whole) > limit)
    if not kept.truncated:
        assert kept.text == whole.decode(errors="replace")
    else:
        head, tail = limit - limit // 2, limit // 2
        assert kept.text.startswith(whole[:head].decode(errors="replace"))
        assert kept.text.endswith(whole[len(whole) - tail :].decode(errors="replace"))
