"""What is kept of a command's output, and the one limit that is root's own. How commands are held
otherwise is tested with the sandboxes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vivavoce.processes import bounded
from vivavoce.processes.bounded import Collected, Launch, Limits, execute


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


FORKS = """
import os, time
for started in range(100):
    try:
        if not os.fork():
            time.sleep(60)
            os._exit(0)
    except OSError:
        break
print(started, flush=True)
os.killpg(0, 9)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="`ulimit -u` holds everybody but root")
async def test_root_gets_no_more_processes_than_the_limit_however_late_we_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    probe = bounded._control_group(1)
    if probe is None:
        pytest.skip("no control group can be made here")
    probe.rmdir()
    monkeypatch.setattr(bounded, "_LOOK", 60.0)
    limits = Limits(processes=4)
    launch = Launch([sys.executable, "-c", FORKS], {}, tmp_path)
    done = await execute(launch, limits, None)
    assert int(done.output) == limits.threads - 1  # without itself
    bounded._sweep()
    assert not list(probe.parent.glob(f"vivavoce-{os.getpid()}-*"))
