"""What the documents say is there, and is so."""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.docs_parts import PARTS, Part
from tests.docs_text import (
    PAGES,
    README,
    ROOT,
    anchors,
    example,
    inline_code,
    links,
    name_of,
    prose,
    read,
    section,
    shell,
)
from vivavoce import __version__
from vivavoce.app.server import assemble, build_app
from vivavoce.app.settings import PREFIX, Settings, variable
from vivavoce.cli import PROG, _parser
from vivavoce.errors import ToolFailed, translate
from vivavoce.runtime.ports import ToolContext
from vivavoce.session.state import Phase
from vivavoce.testing import MemoryStore
from vivavoce.tools import Registry
from vivavoce.tools.registry import ENTRY_POINTS

every_page = pytest.mark.parametrize("page", PAGES, ids=name_of)
SRC = ROOT / "src" / "vivavoce"
EVENTS = ROOT / "docs" / "events.md"
TROUBLE = ROOT / "docs" / "troubleshooting.md"
PLUG_IN = ROOT / "docs" / "examples" / "house-tools"
# Written for people who read the source beside it; elsewhere a path may be the reader's own.
ABOUT_THE_SOURCE = [
    page
    for page in PAGES
    if page.name in ("README.md", "CONTRIBUTING.md", "architecture.md") or page.parent.name == "adr"
]
FOREIGN = {
    "an internal document": re.compile(r"(?i)\bseed 0|\.\./shared"),
    "a path of one machine": re.compile(r"(?<![\w.])/(work|home|root|Users)(?![\w-])"),
    "a registry": re.compile(r"(?i)\b(pypi\.|npmjs|artifactory|nexus|registry\.\w+\.)|/simple\b"),
}


# --- The form -----------------------------------------------------------------------


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_generated_parts_are_up_to_date(part: Part) -> None:
    assert part.expected() == part.current(), "run make docs"


def test_the_readme_is_short_enough_to_read() -> None:
    assert len(read(README).splitlines()) <= 150


@every_page
def test_nothing_in_it_belongs_to_one_machine(page: Path) -> None:
    for what, pattern in FOREIGN.items():
        assert [found[0] for found in pattern.finditer(read(page))] == [], what


def test_decisions_are_numbered_and_fit_a_page() -> None:
    pages = sorted((ROOT / "docs" / "adr").iterdir())
    for number, page in enumerate(pages, 1):
        text = read(page)
        assert page.name.startswith(f"{number:04}-")
        assert text.startswith(f"# {number}. ")
        assert "**Status**: " in text
        assert len(text) <= 4000


def test_this_version_has_its_place_in_the_changelog() -> None:
    newest = re.findall(r"^## \[(.+?)\] - (unreleased|\d{4}-\d\d-\d\d)$", read(PAGES[2]), re.M)[0]
    assert newest[0] == __version__


# --- What it points at --------------------------------------------------------------


@every_page
def test_its_links_lead_somewhere(page: Path) -> None:
    for target, anchor in links(page):
        assert target.exists(), target
        assert not anchor or anchor in anchors(target), f"{target}#{anchor}"


def test_every_document_can_be_found_from_the_index() -> None:
    docs = ROOT / "docs"
    linked = {target.resolve() for target, _ in links(docs / "index.md")}
    assert {page for page in PAGES if page.is_relative_to(docs)} - linked == {docs / "index.md"}


def test_the_map_names_every_room_and_nothing_else() -> None:
    rows = section(README, "The map")
    named = re.findall(r"\]\(([^)]+)\)|`([\w./]+/[\w./]+)`", rows)
    paths = [ROOT / (link or code) for link, code in named]
    assert [path for path in paths if not path.exists()] == []
    rooms = {folder.parent for folder in SRC.glob("*/__init__.py")}
    assert rooms <= set(paths)


@pytest.mark.parametrize("page", ABOUT_THE_SOURCE, ids=name_of)
def test_the_files_it_names_exist(page: Path) -> None:
    for code in inline_code(page):
        if re.fullmatch(r"[\w-]+(/[\w.-]+)*(\.py|\.md|\.toml|\.sdp|/)", code):
            places = [ROOT / code, SRC / code, page.parent / code]
            if "/" not in code:
                places += SRC.rglob(code)
            named_as_past = page.name.startswith("0010-") and code == "testing.py"
            assert named_as_past or any(place.exists() for place in places), code


@every_page
def test_the_variables_it_names_are_settings(page: Path) -> None:
    known = [variable(name) for name in Settings.model_fields]
    for name, more in re.findall(rf"\b({PREFIX}[A-Z0-9_]*)(…)?", read(page)):
        if more or name == PREFIX:
            assert any(each.startswith(name) for each in known), name
        else:
            assert name in known


def test_every_setting_is_used_by_something() -> None:
    source = "\n".join(read(file) for file in SRC.rglob("*.py"))
    for name in Settings.model_fields:
        assert re.search(rf"(settings\.|self\.|[\"']){name}\b", source), name


# --- What it tells to type ----------------------------------------------------------


@every_page
def test_the_commands_it_names_exist(page: Path) -> None:
    for line in inline_code(page) + shell(page):
        for words in re.findall(rf"(?:^|[\s/]){PROG}((?: [\w./-]+)+)", line):
            _walk(_parser(), words.split())


def _walk(parser: argparse.ArgumentParser, words: list[str]) -> None:
    for at, word in enumerate(words):
        if word.startswith("-"):
            assert word in parser._option_string_actions, word
            continue
        nested = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
        if nested:
            assert word in nested[0].choices, word
            _walk(nested[0].choices[word], words[at + 1 :])
            return


@every_page
def test_the_options_it_names_are_in_the_help(page: Path) -> None:
    options = [code for code in inline_code(page) if re.fullmatch(r"--[a-z-]+", code)]
    helped = _every_help(_parser())
    assert [option for option in options if f"{option} " not in helped] == []


def _every_help(parser: argparse.ArgumentParser) -> str:
    text = parser.format_help()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            text += "".join(_every_help(each) for each in action.choices.values())
    return text


@every_page
def test_the_make_targets_it_names_exist(page: Path) -> None:
    targets = re.findall(r"^([a-z-]+):", read(ROOT / "Makefile"), re.MULTILINE)
    for line in inline_code(page) + shell(page):
        for target in re.findall(r"(?:^|[;&|]\s*)make ([a-z-]+)", line.strip()):
            assert target in targets


def test_the_two_commands_of_the_readme_are_run_and_test() -> None:
    assert "make run" in section(README, "Run")
    assert "make test" in section(README, "Test")
    assert "make run" in example("server")


# --- The examples -------------------------------------------------------------------


def test_the_files_of_the_guides_are_the_ones_in_the_examples() -> None:
    guesthouse = ROOT / "docs" / "examples" / "guesthouse"
    for page, files in {
        "first-agent.md": [guesthouse / "agent.yaml", guesthouse / "prompt.md"],
        "first-tool.md": list(PLUG_IN.glob("*.*")),
        "first-intent.md": [guesthouse / "intents.yaml", guesthouse / "kitchen.py"],
    }.items():
        for file in files:
            assert f"\n{read(file)}```" in read(ROOT / "docs" / page), file.name


def test_the_apps_of_the_clients_page_are_the_ones_in_the_examples() -> None:
    for name in ("battery.py", "battery.mjs"):
        file = ROOT / "docs" / "examples" / "conductor" / name
        assert f"\n{read(file)}```" in read(ROOT / "docs" / "conductor-clients.md"), name


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("quickstart-app.md", "backend.py element.html element.js vite/main.js by-hand.js"),
        ("clients.md", "react/App.tsx ask.py"),
        ("../web/packages/client/README.md", "vite/main.js"),
        ("../web/packages/react/README.md", "react/App.tsx"),
        ("../web/packages/element/README.md", "element.html"),
    ],
)
def test_the_apps_of_the_quickstart_are_the_ones_in_the_examples(page: str, names: str) -> None:
    for name in names.split():
        file = ROOT / "docs" / "examples" / "app" / name
        assert f"\n{read(file)}```" in read(ROOT / "docs" / page), name


def test_the_app_of_the_quickstart_is_set_up_as_it_says(tmp_path: Path) -> None:
    """The commands of a shell; servers and npm are in `tests/clients/test_elsewhere.py`."""
    page = read(ROOT / "docs" / "quickstart-app.md")
    (copied,) = re.findall(r"^cp -r docs/examples/app my-app\n.+?$", page, re.M)
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    subprocess.run(["bash", "-ec", copied], cwd=tmp_path, check=True)
    for name in ("element.html", "by-hand.js", "vite/main.js"):
        said = read(tmp_path / "my-app" / name)
        assert "voice.example.org" not in said
        assert "http://127.0.0.1:8080" in said
    version = json.loads(read(ROOT / "web" / "packages" / "client" / "package.json"))["version"]
    assert page.count(f"vivavoce-client-{version}.tgz") == page.count("vivavoce-client-") == 2


async def test_the_plug_in_can_be_loaded_and_run(monkeypatch: pytest.MonkeyPatch) -> None:
    group = tomllib.loads(read(PLUG_IN / "pyproject.toml"))["project"]["entry-points"][ENTRY_POINTS]
    monkeypatch.syspath_prepend(str(PLUG_IN))
    registry = Registry()
    registry.load_plugins(EntryPoint(name, value, ENTRY_POINTS) for name, value in group.items())
    assert registry.problems == []
    context = ToolContext("local")
    given = registry.check("temperature", {"room": "kitchen"})
    assert await registry.run("temperature", given, context) == "21 degrees"
    with pytest.raises(ToolFailed) as failed:
        await registry.run("temperature", {"room": "attic"}, context)
    assert translate(failed.value).message in read(ROOT / "docs" / "tools.md")


def test_the_events_page_has_every_state_of_a_session() -> None:
    row = re.search(r"^\| `session.status`, `state` \| (.+?):", read(EVENTS), re.MULTILINE)
    assert row
    assert re.findall(r"`(\w+)`", row[1]) == [phase.value for phase in Phase]


# --- What it says of the server -----------------------------------------------------


async def test_the_endpoints_they_name_exist(tmp_path: Path) -> None:
    async with _served(tmp_path) as http:
        paths = (await http.get("/openapi.json")).json()["paths"]
    known = {
        f"{method.upper()} {_shape(path)}" for path, methods in paths.items() for method in methods
    }
    for page in PAGES:
        for method, path in re.findall(r"\b(GET|POST|PATCH) (/[\w/{}-]+)", prose(page)):
            if not path.startswith("/v1/"):  # the provider's
                assert f"{method} {_shape(path)}" in known, f"{name_of(page)}: {method} {path}"


def _shape(path: str) -> str:
    return re.sub(r"\{\w+\}", "{}", path)


@pytest.mark.parametrize("path", ["/docs", "/redoc"])
async def test_the_pages_of_the_api_load_nothing_from_elsewhere(tmp_path: Path, path: str) -> None:
    async with _served(tmp_path) as http:
        page = await http.get(path)
        loaded = re.findall(r"(?:src|href)=\"([^\"]+)\"", page.text)
        assert [url for url in loaded if "//" in url] == []
        assert "https:" not in page.headers["content-security-policy"]
        for url in loaded:
            assert (await http.get(url)).status_code == 200, url


def _served(folder: Path) -> httpx.AsyncClient:
    """The app without a listener: enough for what it says of itself."""
    given: dict[str, Any] = {"data_dir": folder, "auth": "off", "_env_file": None}
    app = build_app(assemble(Settings(**given), store=MemoryStore()))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1")


def test_each_line_of_the_threat_model_names_tests_that_are_there() -> None:
    text = section(ROOT / "docs" / "security.md", "Who may attack, and what holds")
    rows = [line for line in text.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 10
    for row in rows:
        named = re.findall(r"`(tests/[\w/]+\.py)`", row)
        assert named, f"no test: {row}"
        assert all("def test_" in (ROOT / path).read_text() for path in named), row


# --- What it says when something is wrong -------------------------------------------------


def test_every_message_of_the_troubleshooting_page_is_one_that_is_said() -> None:
    """Whoever has it before their eyes finds it there, word for word."""
    said = _every_text()
    rows = [line for line in read(TROUBLE).splitlines() if line.startswith("| `")]
    assert len(rows) > 40
    for row in rows:
        (message,) = re.findall(r"^\| `([^`]+)` \|", row)
        pieces = [piece.strip() for piece in message.split("…")]
        assert max(map(len, pieces)) >= 8, message
        assert any(all(piece in text for piece in pieces) for text in said), message


def _every_text() -> set[str]:
    """What the sources say, each text whole, with a gap where something is filled in."""
    found: set[str] = set()
    for file in SRC.rglob("*.py"):
        for node in ast.walk(ast.parse(read(file))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
            elif isinstance(node, ast.JoinedStr):
                parts = [
                    each.value if isinstance(each, ast.Constant) else "…" for each in node.values
                ]
                found.add("".join(map(str, parts)))
    web = ROOT / "web"
    for folder in (web / "src", *(web / "packages").glob("*/src")):
        for file in (*folder.rglob("*.ts"), *folder.rglob("*.tsx")):
            for one, other in re.findall(r'"([^"\n]+)"|`([^`\n]+)`', read(file)):
                found.add(one or other)
    return found | set(read(ROOT / "Makefile").split("\n"))
