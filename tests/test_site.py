"""The documents as a site: one list of them, and a site that is whole and asks nobody else."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from tests.browser.scenes import scene
from tests.clients.conductor import npm
from tests.docs_text import PAGES, ROOT, read

DOCS = ROOT / "docs"
SITE = ROOT / "site"
LISTED = re.compile(r"^- \[[^\]]+\]\(([^):]+\.md)\)", re.M)
"""As `site/.vitepress/config.mts` reads the index."""


def test_the_index_that_the_sidebar_is_made_of_has_every_page_exactly_once() -> None:
    text = read(DOCS / "index.md")
    listed = [target for target in LISTED.findall(text) if not target.startswith("..")]
    pages = {str(page.relative_to(DOCS)) for page in PAGES if page.is_relative_to(DOCS)}
    assert sorted(listed) == sorted(pages - {"index.md"})
    before, _, _ = text.partition(f"]({listed[0]})")
    assert re.search(r"^\*\*.+\*\*$", before, re.M), "a page before the first group is in none"
    assert LISTED.pattern.strip("^") in read(SITE / ".vitepress" / "config.mts")


def test_the_sources_that_the_site_links_to_are_the_projects() -> None:
    config = read(SITE / ".vitepress" / "config.mts")
    (source,) = re.findall(r'^const SOURCE = "(.+)";$', config, re.M)
    assert f'Source = "{source}"' in read(ROOT / "pyproject.toml")
    (icon,) = re.findall(r'resolve\(ROOT, "(.+svg)"\)', config)
    assert (ROOT / icon).is_file(), "the page's icon is the site's"


@pytest.mark.full
@pytest.mark.timeout(600)
async def test_the_site_is_whole_and_asks_nobody_else(tmp_path: Path) -> None:
    """Built from a copy; `check.mjs` follows every link of it."""
    if not (SITE / "node_modules").is_dir():
        npm("ci", "--ignore-scripts", cwd=SITE)
    for name in ("docs", "site"):
        skipped = shutil.ignore_patterns("node_modules")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=skipped)
    (tmp_path / "site" / "node_modules").symlink_to(SITE / "node_modules")
    for name in os.listdir(ROOT):  # what the documents link to
        if not (tmp_path / name).exists():
            (tmp_path / name).symlink_to(ROOT / name)
    made = tmp_path / "made"
    npm("exec", "--", "vitepress", "build", "--outDir", str(made), cwd=tmp_path / "site")
    npm("exec", "--", "node", "check.mjs", str(made), cwd=tmp_path / "site")
    wish = {"site": str(made), "search": "retention", "diagram": "architecture.html"}
    told = (await scene("site", wish)).one("site")
    assert told["others"] == []
    assert told["wrong"] == []
    pages = {
        f"/{page.relative_to(DOCS).with_suffix('.html')}"
        for page in PAGES
        if page.is_relative_to(DOCS)
    }
    assert set(told["sidebar"]) == pages - {"/index.html"}
    assert told["found"]
    assert told["diagrams"] == read(DOCS / "architecture.md").count("```mermaid")
    # A link to nothing fails the build.
    page = tmp_path / "docs" / "talk.md"
    page.write_text(read(page) + "\n[gone](nowhere.md)\n")
    with pytest.raises(AssertionError, match=r"nothing is at nowhere\.md"):
        npm("exec", "--", "vitepress", "build", "--outDir", str(made), cwd=tmp_path / "site")
