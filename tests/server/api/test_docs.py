"""`docs/api.md`, held against the server: its example is run, its tables are compared."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.docs_text import ROOT, read, section, shell
from tests.server.standing import standing
from tests.server.test_openapi import ENDPOINTS
from vivavoce import errors
from vivavoce.server import problems

API = ROOT / "docs" / "api.md"


def test_the_example_conversation_can_be_typed_as_it_stands(tmp_path: Path) -> None:
    with standing(tmp_path) as server:
        typed = "\n".join(shell(API)).replace("http://127.0.0.1:8080", server.url)
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", typed],
            cwd=ROOT,
            env=os.environ | {"no_proxy": "127.0.0.1"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "v=0" in done.stdout
    assert '"output":"42"' in done.stdout
    assert '"task_id":"call_by_hand"' in done.stdout
    assert '"eagerness":"low"' in done.stdout
    assert "We multiplied six by seven." in done.stdout
    assert '"seeded":true' in done.stdout
    assert '"context_summary":"Previous conversation summary: We multiplied' in done.stdout
    assert '"task_id":"call_relayed"' in done.stdout
    assert '"synced":4' in done.stdout


def test_the_answers_that_lead_to_a_call_have_what_the_table_says(tmp_path: Path) -> None:
    with standing(tmp_path) as server, httpx.Client(base_url=server.url) as http:
        created = http.post("/session").json()
        old = created["session_id"]
        answers = {
            "POST /session": created,
            "GET /session/reconnect": http.get(f"/session/reconnect?session_id={old}").json(),
            "POST /sessions/{session_id}/resume": http.post(f"/sessions/{old}/resume").json(),
            "POST /session/restore": http.post(
                "/session/restore", json={"prev_session_id": old}
            ).json(),
        }
    rows = re.findall(
        r"^\| `([A-Z]+ /[^`]+)` \| (.+) \| (.+) \| (.*) ?\|$",
        section(API, "How it behaves"),
        re.MULTILINE,
    )
    assert {request for request, *_ in rows} == set(answers)
    for request, key, session, past in rows:
        answer = answers[request]
        assert _at(answer, _first_code(key)).startswith("ek_")
        assert _at(answer, _first_code(session)).startswith("vs_")
        assert set(re.findall(r"`(\w+)`", past)) <= set(answer)
        assert isinstance(answer.get("realtime", answer)["last_event_id"], int)


def _first_code(cell: str) -> str:
    found = re.match(r"`([\w.]+)`", cell)
    assert found, cell
    return found[1]


def _at(answer: Any, path: str) -> str:
    for name in path.split("."):
        answer = answer[name]
    return str(answer)


@pytest.mark.parametrize(
    ("form", "means"),
    [
        ('{"type": "server_vad"}', "server_vad"),
        ('{"type": "manual"}', None),
        ('"manual"', None),
        ('{"type": null}', None),
    ],
)
def test_the_forms_of_turn_detection_are_taken(
    tmp_path: Path, form: str, means: str | None
) -> None:
    with standing(tmp_path) as server, httpx.Client(base_url=server.url) as http:
        session = http.post("/session").json()["session_id"]
        answer = http.patch(
            f"/config/session/{session}", json={"turn_detection": json.loads(form)}
        ).json()
    assert (answer["effective_config"]["turn_detection"] or {"type": None})["type"] == means


def test_the_table_of_endpoints_is_complete() -> None:
    told = re.findall(r"^\| `([A-Z]+ /[^`]+)` \|", section(API, "Endpoints"), re.MULTILINE)
    assert sorted(told) == sorted(filter(None, ENDPOINTS.split("\n")))


def test_the_table_of_errors_is_the_tree_of_errors() -> None:
    told = re.findall(r"^\| (\d{3}) \| `(\w+)` \|", section(API, "Errors"), re.MULTILINE)
    every = [found for found in vars(errors).values() if isinstance(found, type)]
    tree = [found for found in every if issubclass(found, errors.VivavoceError)]
    routers = (405, problems.CODES[405])  # no class of ours: the router refuses by itself
    known = {routers, *((e.status, e.code) for e in tree)}
    assert {(int(status), code) for status, code in told} == known
    assert "`amplifier`" in read(API)
