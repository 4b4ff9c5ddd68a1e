"""`docs/api.md`, held against the server: its example is run, its tables are compared."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from tests.docs_text import ROOT, read, section, shell
from tests.server.standing import standing
from tests.server.test_openapi import ENDPOINTS
from vivavoce import errors

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


def test_the_table_of_endpoints_is_complete() -> None:
    told = re.findall(r"^\| `([A-Z]+ /[^`]+)` \|", section(API, "Endpoints"), re.MULTILINE)
    assert sorted(told) == sorted(filter(None, ENDPOINTS.split("\n")))


def test_the_table_of_errors_is_the_tree_of_errors() -> None:
    told = re.findall(r"^\| (\d{3}) \| `(\w+)` \|", section(API, "Errors"), re.MULTILINE)
    every = [found for found in vars(errors).values() if isinstance(found, type)]
    tree = [found for found in every if issubclass(found, errors.VivavoceError)]
    assert {(int(status), code) for status, code in told} == {(e.status, e.code) for e in tree}
    assert "`amplifier`" in read(API)
