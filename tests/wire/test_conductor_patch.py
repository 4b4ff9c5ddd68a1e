"""JSON Patch by the shared cases; the client in TypeScript passes the same."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

from tests.docs_text import ROOT
from vivavoce.wire.conductor.patch import PatchFailed, applied, same

FILE = ROOT / "docs" / "conductor" / "conformance" / "patches.json"
CASES: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_patch_makes_what_the_rfc_says_or_nothing(case: dict[str, Any]) -> None:
    document = deepcopy(case["document"])
    if "result" in case:
        assert same(applied(document, case["patch"]), case["result"])
    else:
        with pytest.raises(PatchFailed):
            applied(document, case["patch"])
    assert same(document, case["document"]), "the one that was given is as it was"
