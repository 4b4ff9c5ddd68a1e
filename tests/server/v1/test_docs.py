"""`docs/conversations.md`, held against the server: its example is run, its tables are compared."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from tests.docs_text import ROOT, section, shell
from tests.server.standing import standing
from tests.server.test_openapi import V1_ENDPOINTS

PAGE = ROOT / "docs" / "conversations.md"


def test_the_example_can_be_typed_as_it_stands(tmp_path: Path) -> None:
    with standing(tmp_path) as server:
        typed = "\n".join(shell(PAGE)).replace("http://127.0.0.1:8080", server.url)
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
    assert '"time_zone":"Europe/Berlin"' in done.stdout
    assert "v=0" in done.stdout
    assert '"total":1' in done.stdout
    assert '"prior_messages":[]' in done.stdout


def test_the_table_of_endpoints_is_complete() -> None:
    told = re.findall(r"^\| `([A-Z]+ /[^`]+)` \|", section(PAGE, "Endpoints"), re.MULTILINE)
    assert sorted(told) == sorted(filter(None, V1_ENDPOINTS.split("\n")))
