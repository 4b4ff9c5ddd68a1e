"""All that is kept of a user: theirs to have, and to delete."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.contract.records import event
from tests.server.doors import Doors, doors, refused, soon
from tests.server.tokens import ADA, EVE, SETTINGS, bearer, token
from tests.store.test_forgetting import holding
from vivavoce.app.tools import resting_data
from vivavoce.errors import ToolFailed
from vivavoce.runtime.clock import SystemClock
from vivavoce.runtime.ports import ToolContext
from vivavoce.store import open_store
from vivavoce.tools.functions import tool
from vivavoce.wire.records.talk import Announce

NEEDLE = "Zwetschgenkuchen"


def by(user: str) -> dict[str, Any]:
    return {"headers": {"authorization": f"Bearer {token(user)}"}}


async def everything(d: Doors, user: str, words: str) -> str:
    """Something of all that a client can make; the session that is still live."""
    who = by(user)
    opened = await d.post("/session", {}, **who)
    session_id = opened["session_id"]
    entries = [{"entry_type": "user", "text": words}, {"entry_type": "assistant", "text": words}]
    await d.post(f"/sessions/{session_id}/transcript", {"entries": entries}, **who)
    await d.post("/api/v1/goals", {"statement": words}, **who)
    await d.post("/api/v1/tasks", {"title": words, "scheduled_at": "2030-01-01T08:00:00Z"}, **who)
    context = ToolContext(user_id=user)
    await d.here.tools.run("write_file", {"path": "notes.md", "content": words}, context)
    return str(session_id)


async def deleted(d: Doors, user: str, **query: str) -> httpx.Response:
    return await d.http.delete("/api/v1/data", params=query, **by(user))


async def test_the_export_has_everything_of_the_user_and_nothing_of_others(tmp_path: Path) -> None:
    async with doors(tmp_path, **SETTINGS) as d:
        session_id = await everything(d, ADA, NEEDLE)
        await everything(d, EVE, "Apfelstrudel")
        told_of = event(user_id=ADA, session_id=session_id, data=b'{"said":"yes"}')
        await d.here.journal.commit([Announce(told_of)])
        answer = await d.http.get("/api/v1/data", **by(ADA))
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["content-disposition"] == 'attachment; filename="vivavoce.json"'
        assert "Apfelstrudel" not in answer.text
        told = json.loads(answer.text)
        assert (told["format"], told["user_id"]) == (1, ADA)
        data = told["data"]
        assert [row["content"] for row in data["messages"]] == [NEEDLE, NEEDLE]
        assert [row["id"] for row in data["voice_sessions"]] == [session_id]
        assert data["goals"][0]["statement"] == NEEDLE
        assert data["tasks"][0]["title"] == NEEDLE
        assert data["events"][-1]["data"] == {"said": "yes"}, "not JSON within JSON"
        (file,) = told["files"]
        assert file["path"] == "notes.md"
        assert base64.b64decode(file["base64"]).decode() == NEEDLE
        nobody = json.loads((await d.http.get("/api/v1/data", **by("nobody"))).text)
        assert (nobody["work"], nobody["files"]) == ([], [])
        assert set(nobody["data"]) == {"audit"}, "that this was asked for"
        assert nobody["changes"] == []
        (change,) = told["changes"]
        assert (change["path"], change["base64"]) == ("notes.md", None), "it was new"


async def test_the_export_for_people_can_be_read_and_forges_no_heading(tmp_path: Path) -> None:
    async with doors(tmp_path, **SETTINGS) as d:
        await everything(d, ADA, f"{NEEDLE}\n# Not a heading")
        answer = await d.http.get("/api/v1/data", params={"format": "markdown"}, **by(ADA))
        assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
        lines = answer.text.splitlines()
        assert [line for line in lines if line.startswith("# ")] == [
            "# What this server keeps of you"
        ]
        for heading in ("Conversations", "Goals", "Tasks", "Delegated work", "Files"):
            assert f"## {heading}" in lines
        assert f"> {NEEDLE}" in lines
        assert "- `notes.md`" in lines
        assert any(line.startswith("- `notes.md`, which was new, ") for line in lines)


async def test_what_can_be_taken_back_is_kept_over_a_restart_exported_and_deleted(
    tmp_path: Path,
) -> None:
    data, here = tmp_path / "data", ToolContext(user_id=ADA, conversation_id="talk")
    url = f"sqlite:///{data}/vivavoce.db"
    given: dict[str, Any] = {**SETTINGS, "data_dir": data}
    async with doors(tmp_path, store=open_store(url), **given) as d:
        for words in (NEEDLE, "Apfelstrudel"):
            await d.here.tools.run("write_file", {"path": "notes.md", "content": words}, here)
    async with doors(tmp_path, store=open_store(url), **given) as d:
        told = json.loads((await d.http.get("/api/v1/data", **by(ADA))).text)
        kept = [change["base64"] for change in told["changes"]]
        assert [each and base64.b64decode(each).decode() for each in kept] == [None, NEEDLE]
        assert json.loads((await d.http.get("/api/v1/data", **by(EVE))).text)["changes"] == []
        with pytest.raises(ToolFailed, match="no change"):
            await d.here.tools.run("undo_change", {}, ToolContext(ADA, conversation_id="other"))
        await d.here.tools.run("undo_change", {}, here)
        (note,) = tmp_path.rglob("notes.md")
        assert note.read_text() == NEEDLE
        await d.here.tools.run("write_file", {"path": "notes.md", "content": "gone"}, here)
        assert holding(data, NEEDLE)
        await deleted(d, ADA, confirm="everything")
        assert holding(tmp_path, NEEDLE) == []


async def test_an_export_and_a_deletion_are_audited(tmp_path: Path) -> None:
    async with doors(tmp_path, **SETTINGS) as d:
        await everything(d, ADA, NEEDLE)
        await d.http.get("/api/v1/data", **by(ADA))
        await deleted(d, ADA, confirm="everything")
        lines = [one for one in await d.here.store.audit(user_id=ADA) if one.action == "data"]
        assert [(one.what, one.outcome, one.role) for one in lines] == [
            ("everything of the user, as json", "export begun", "user"),
            ("everything of the user", "deleted", "user"),
        ]


async def exported(d: Doors, user: str, meanwhile: Callable[[], None]) -> dict[str, str | None]:
    """The files of an export whose reader stops after the first words, and goes on later."""
    pieces = d.here.data.export(user, "json")
    first = await anext(pieces)
    meanwhile()
    told = json.loads(first + b"".join([piece async for piece in pieces]))
    return {
        file["path"]: base64.b64decode(file["base64"]).decode() if "base64" in file else None
        for file in told["files"]
    }


def _own(tmp_path: Path) -> Path:
    """The one folder that there is."""
    (found,) = tmp_path.rglob("notes.md")
    return found.parent


OUTSIDE = "the server's own secret"
SWAPS = {
    "the folder, for a link": "mv door z; ln -s {out} door",
    "the folder, for a link by dots": "mv door z; ln -s ../../../../../../../../{out} door",
    "the folder, for a link within": "mv door z; ln -s z door",
    "the file, for a link": "ln -sf {out}/name door/name",
    "the file, for a pipe": "rm door/name; mkfifo door/name",
    "the file, for a folder": "rm door/name; mkdir door/name",
    "the folder, for a file": "mv door z; echo x > door",
}


@pytest.mark.parametrize("swapped", SWAPS)
async def test_an_export_reads_nothing_that_was_swapped_in_while_it_went_on(
    swapped: str, tmp_path: Path
) -> None:
    async with doors(tmp_path, **SETTINGS) as d:
        await everything(d, ADA, NEEDLE)
        own, out = _own(tmp_path), tmp_path / "out"
        out.mkdir()
        (out / "name").write_text(OUTSIDE)
        (own / "a_big").write_text("x" * 300_000)
        (own / "door").mkdir()
        (own / "door/name").write_text("own")

        def swap() -> None:
            command = SWAPS[swapped].replace("{out}", str(out))
            subprocess.run(["/bin/sh", "-c", command], cwd=own, check=True)

        files = await exported(d, ADA, swap)
        assert files["notes.md"] == NEEDLE
        assert files["door/name"] is None
        assert OUTSIDE not in str(files)


async def test_an_ordinary_workspace_is_exported_with_all_its_files(tmp_path: Path) -> None:
    """Links in it are left out, wherever they lead; names may be anything."""
    async with doors(tmp_path, **SETTINGS) as d:
        await everything(d, ADA, NEEDLE)
        own = _own(tmp_path)
        odd = os.fsdecode(b"caf\xe9.txt")
        for name in ("src/deep/er/main.py", ".env", ".git/config", "my notes.txt", odd):
            (own / name).parent.mkdir(parents=True, exist_ok=True)
            (own / name).write_text("kept")
        (own / "inside").symlink_to("src")
        (own / "file").symlink_to("notes.md")
        (own / "loop").symlink_to("loop")
        (own / "out").symlink_to("/etc")
        os.mkfifo(own / "pipe")
        files = await exported(d, ADA, lambda: None)
        assert files.pop("notes.md") == NEEDLE
        assert set(files.values()) == {"kept"}
        assert sorted(files) == [
            *(".env", ".git/config", "caf\ufffd.txt", "my notes.txt", "src/deep/er/main.py")
        ]
        answer = await d.http.get("/api/v1/data", params={"format": "markdown"}, **by(ADA))
        assert "- `src/deep/er/main.py`" in answer.text.splitlines()


async def test_after_deleting_nothing_of_the_user_is_in_any_file(tmp_path: Path) -> None:
    data = tmp_path / "data"
    store = open_store(f"sqlite:///{data}/vivavoce.db")
    async with doors(tmp_path, store=store, data_dir=data, **SETTINGS) as d:
        session_id = await everything(d, ADA, NEEDLE)
        await everything(d, EVE, "Apfelstrudel")
        assert holding(tmp_path, NEEDLE)
        refused(await deleted(d, ADA), 400, "invalid_request")
        refused(await deleted(d, ADA, confirm="yes"), 400, "invalid_request")
        answer = (await deleted(d, ADA, confirm="everything")).json()
        assert (answer["sessions_ended"], answer["files"]) == (1, 1)
        assert answer["rows"]["messages"] == 2
        assert answer["workspace_kept"] is False
        assert holding(tmp_path, NEEDLE) == []
        assert holding(tmp_path, NEEDLE[:9]) == []
        assert (await d.http.get(f"/sessions/{session_id}", **by(ADA))).status_code == 404
        kept = json.loads((await d.http.get("/api/v1/data", **by(ADA))).text)["data"]
        assert set(kept) <= {"spent_sessions", "audit"}
        others = (await d.http.get("/api/v1/data", **by(EVE))).text
        assert others.count("Apfelstrudel") >= 5
        assert (tmp_path / "workspace").exists() or list(tmp_path.rglob("notes.md"))
        await everything(d, ADA, "again")  # who comes back begins anew
    assert holding(tmp_path, NEEDLE) == []


async def test_a_call_that_runs_is_ended_first_and_leaves_nothing(tmp_path: Path) -> None:
    data = tmp_path / "data"
    begun, ended = asyncio.Event(), asyncio.Event()

    @tool(changes=False)
    async def ponder(context: ToolContext, words: str) -> str:
        """Takes its time, and would write down what it was told."""
        await context.report(words, None)
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()
        return words

    store = open_store(f"sqlite:///{data}/vivavoce.db")
    async with (
        doors(tmp_path, store=store, data_dir=data, tools=[ponder], **SETTINGS) as d,
        asyncio.TaskGroup() as group,
    ):
        who = bearer(ADA, "developer")
        body = {"arguments": {"words": NEEDLE}}
        running = group.create_task(d.http.post("/execute/ponder", json=body, headers=who))
        await begun.wait()
        assert (await deleted(d, ADA, confirm="everything")).status_code == 200
        assert ended.is_set(), "before anything was deleted"
        answer = (await running).json()
        assert answer["success"] is False
        assert NEEDLE not in json.dumps(answer)
        assert holding(tmp_path, NEEDLE) == []
        rows = [name async for name, _ in d.here.store.rows_of(ADA)]
        assert set(rows) <= {"spent_sessions", "audit"}
        again = await d.post("/execute/calculate", {"arguments": {"expression": "1"}}, headers=who)
        assert again["success"], "who comes back begins anew"
    assert holding(tmp_path, NEEDLE) == []


async def test_what_another_server_has_of_the_user_goes_too(tmp_path: Path) -> None:
    """Calls that run there, what files were before they changed, and a workspace of its own."""
    begun, ended = asyncio.Event(), asyncio.Event()

    @tool(changes=False)
    async def ponder(context: ToolContext, words: str) -> str:
        """Takes its time, and would write down what it was told."""
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()
        return words

    url, who = f"sqlite:///{tmp_path}/shared.db", bearer(ADA, "developer")

    def server(name: str, *tools: Any) -> Any:
        given = {**SETTINGS, "instance": name, "data_dir": tmp_path / name / "data"}
        (tmp_path / name).mkdir()
        return doors(tmp_path / name, store=open_store(url), tools=tools, **given)

    async with (
        server("here") as here,
        server("there", ponder) as there,
        asyncio.TaskGroup() as group,
    ):
        await everything(there, ADA, NEEDLE)
        await everything(there, EVE, "Apfelstrudel")
        body = {"arguments": {"words": NEEDLE}}
        running = group.create_task(there.http.post("/execute/ponder", json=body, headers=who))
        await begun.wait()
        assert holding(tmp_path / "there", NEEDLE)
        answer = (await deleted(here, ADA, confirm="everything")).json()
        assert (answer["files"], answer["not_reached"]) == (1, [])
        assert ended.is_set()
        assert (await running).json()["success"] is False
        assert holding(tmp_path, NEEDLE) == []
        assert "Apfelstrudel" in (await there.http.get("/api/v1/data", **by(EVE))).text
    assert holding(tmp_path, NEEDLE) == []


async def test_the_command_has_servers_that_run_delete_what_they_have(tmp_path: Path) -> None:
    """Where they share a database with it, as on PostgreSQL."""
    url = f"sqlite:///{tmp_path}/shared.db"
    async with doors(tmp_path, store=open_store(url), instance="there", **SETTINGS) as d:
        await everything(d, ADA, NEEDLE)
        store = open_store(url)
        await store.open()
        settings = d.here.settings.model_copy(
            update={"data_dir": tmp_path / "other", "workspace": tmp_path / "other-work"}
        )
        gone = await resting_data(settings, store, SystemClock()).delete(ADA, counts=True)
        await store.close()
        assert (gone.sessions_ended, gone.files, gone.not_reached) == (1, 1, ())
        assert holding(tmp_path, NEEDLE) == []
    assert holding(tmp_path, NEEDLE) == []


async def test_a_server_that_does_not_answer_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vivavoce.runtime.people.data._ELSEWHERE_SECONDS", 0.1)
    monkeypatch.setattr("vivavoce.runtime.relay.PATIENCE", 0.1)
    url = f"sqlite:///{tmp_path}/shared.db"
    async with doors(tmp_path, store=open_store(url), instance="here", **SETTINGS) as d:
        gone = open_store(url)
        await gone.open()
        await gone.join("silent", 60)
        answer = await deleted(d, ADA, confirm="everything")
        assert answer.json()["not_reached"] == ["silent"]
        await gone.close()


async def test_a_call_that_waits_for_a_yes_gets_none_from_who_left(tmp_path: Path) -> None:
    @tool(changes=True)
    async def paint(words: str) -> str:
        """Changes something."""
        return words

    data = tmp_path / "data"
    store = open_store(f"sqlite:///{data}/vivavoce.db")
    given = {**SETTINGS, "auto_approve": False, "agent": "workbench"}
    async with (
        doors(tmp_path, store=store, data_dir=data, tools=[paint], **given) as d,
        asyncio.TaskGroup() as group,
    ):
        body, who = {"arguments": {"words": NEEDLE}}, bearer(ADA, "developer")
        waiting = group.create_task(d.http.post("/execute/paint", json=body, headers=who))
        await soon(lambda: d.here.approvals.pending(ADA))
        await deleted(d, ADA, confirm="everything")
        assert (await waiting).json()["success"] is False
        assert d.here.approvals.pending(ADA) == []
        assert holding(tmp_path, NEEDLE) == []


async def test_a_workspace_that_is_not_theirs_alone_is_left_as_it_is(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        context = ToolContext(user_id="local")
        await d.here.tools.run("write_file", {"path": "mine.md", "content": "x"}, context)
        told = json.loads((await d.http.get("/api/v1/data")).text)
        assert told["files"] == []
        answer = await d.http.delete("/api/v1/data", params={"confirm": "everything"})
        assert (answer.json()["files"], answer.json()["workspace_kept"]) == (0, True)
        assert list(tmp_path.rglob("mine.md"))


async def test_a_client_that_tells_a_secret_twice_has_told_it_once(tmp_path: Path) -> None:
    """What is kept of it is not what the client has; it is known all the same."""
    async with doors(tmp_path) as d:
        session_id = (await d.post("/session", {}))["session_id"]
        said = {"entry_type": "user", "text": "My card is 4111 1111 1111 1111"}
        for _ in range(2):
            await d.post(f"/sessions/{session_id}/transcript", {"entries": [said]})
        (entry,) = await d.transcript(session_id)
        assert entry["text"] == "My card is [redacted: card number]"
