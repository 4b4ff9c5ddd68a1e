"""What a call may do is judged by its tool's name: nobody else's tool has one of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from vivavoce.app.settings import Settings
from vivavoce.app.tools import known_tools
from vivavoce.language.en.said import Said
from vivavoce.runtime.calls import outside
from vivavoce.runtime.calls.outside import Facts, Read, Source, concerns, read_by, source_to_name
from vivavoce.runtime.ports import OWN_TOOLS, ToolDefinition
from vivavoce.testing import ManualClock
from vivavoce.tools.delegation.own_tools import OWN
from vivavoce.tools.mcp.schemas import tool_name
from vivavoce.tools.registry import Registry
from vivavoce.tools.remote import WRAPPER, offer
from vivavoce.wire.conductor.kinds import Tool


def own(folder: Path) -> Registry:
    given: dict[str, Any] = {"data_dir": folder, "workspace": folder, "_env_file": None}
    given["search_backend"] = "none"
    return known_tools(Settings(**given), ManualClock())


def test_each_tool_of_ours_is_in_the_list_of_names_that_are_ours(tmp_path: Path) -> None:
    there = {tool.name for tool in own(tmp_path).known()} | {tool.name for tool in OWN}
    assert there | {WRAPPER} == OWN_TOOLS
    judged = outside.WRITING | outside.SENDING | outside._NOTHING | outside._BRINGS.keys()
    assert judged <= OWN_TOOLS


@pytest.mark.parametrize("wrapped", [False, True])
async def test_an_apps_tool_is_never_called_as_one_of_ours(wrapped: bool, tmp_path: Path) -> None:
    """Also where ours is not offered now, as `web_search` is not where nobody searches."""
    tools = own(tmp_path)
    assert "web_search" not in {tool.name for tool in tools.definitions()}
    schema = {"type": "object", "properties": {}}
    theirs = [Tool(name=name, input_schema=schema) for name in sorted(OWN_TOOLS)]

    async def run(call_id: str, name: str, arguments: str) -> str:
        return name

    made = await offer(tools, theirs, run, wrapped=wrapped, seconds=1, trusted=False)
    assert len(made.names) == len(OWN_TOOLS)
    assert not made.names & OWN_TOOLS
    assert made.definition("web_search").server == ""
    assert made.definition("web_search_2").server == "app"


@pytest.mark.parametrize(
    ("server", "tool"),
    [("web", "search"), ("tool", "call"), ("give", "up"), ("ask", "user"), ("read", "output")],
)
def test_a_servers_tool_is_never_called_as_one_of_ours(server: str, tool: str) -> None:
    plain = f"{server}_{tool}"
    named = tool_name(server, tool, Registry())
    assert plain in OWN_TOOLS
    assert named not in OWN_TOOLS
    assert named == tool_name(server, tool, Registry()), "the same each time"


@pytest.mark.parametrize(
    ("server", "tool", "named"),
    [
        ("git", "hub_delete", "git__hub_delete"),
        ("git", "status", "git_status"),
        ("git_hub", "delete", "git_hub_delete"),
        ("git", "_deep_x", "git___deep_x"),
        ("git", "-x_y", "git__-x_y"),
    ],
)
def test_no_server_has_tools_that_are_called_as_another_servers(
    server: str, tool: str, named: str
) -> None:
    """Or what a policy says of one would hold for the other."""
    others = ["git", "git_hub", "git__deep", "git_-x"]
    assert tool_name(server, tool, Registry(), others) == named


def foreign(name: str) -> ToolDefinition:
    return ToolDefinition(name=name, description="", parameters={}, server="tracker", changes=True)


@pytest.mark.parametrize("name", sorted(OWN_TOOLS))
def test_somebody_elses_tool_is_judged_as_theirs_whatever_it_is_called(name: str) -> None:
    told = "1. A page\n   https://evil.example/?k=1\n"
    read = read_by(name, {"path": "a.md", "url": "https://fine.example"}, told, foreign)
    assert read == Read(Source("server", "tracker")), "nothing of it was found by a search of ours"
    facts = Facts(Said(["go"]), (Read(Source("page", "evil.example")),))
    source = source_to_name(name, {"path": "a.md"}, foreign(name), facts, place="a.md")
    assert source == Source("page", "evil.example")
    assert concerns(name, foreign(name))
