"""The documents as the tests read them: files, code, links, headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PAGES = [
    README,
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *(
        page
        for page in sorted((ROOT / "docs").rglob("*.md"))
        if not page.is_relative_to(ROOT / "docs" / "examples")  # files that pages tell of
    ),
]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def prose(page: Path) -> str:
    return _FENCE.sub("", read(page))


def inline_code(page: Path) -> list[str]:
    return _INLINE.findall(prose(page))


def shell(page: Path) -> list[str]:
    """Lines to type, of all `sh` blocks."""
    return [
        line for kind, body in _FENCE.findall(read(page)) if kind == "sh" for line in _joined(body)
    ]


def _joined(body: str) -> list[str]:
    return body.replace("\\\n", " ").splitlines()


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """Relative links as file and anchor."""
    for target in _LINK.findall(prose(page)):
        if "://" not in target:
            path, _, anchor = target.partition("#")
            yield (page.parent / path if path else page), anchor


def anchors(page: Path) -> set[str]:
    """As GitHub makes them from headings."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def section(page: Path, heading: str) -> str:
    found = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", read(page), re.MULTILINE | re.DOTALL)
    assert found, f"{name_of(page)} has no section {heading!r}"
    return found[1]


def example(name: str) -> str:
    """A block of the README that the tests run."""
    found = re.search(rf"<!-- example: {name} -->\n```sh\n(.*?)```", read(README), re.DOTALL)
    assert found, f"the README has no example {name!r}"
    return found[1]
