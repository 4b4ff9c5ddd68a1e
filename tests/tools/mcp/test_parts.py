"""The small parts: what comes back, progress, references to the environment, the agent's file."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp_types import (
    AudioContent,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from vivavoce.app.settings import named_values
from vivavoce.errors import ToolFailed
from vivavoce.runtime.agents.agent import AgentError, check_names, load_agent
from vivavoce.runtime.agents.mcp import McpServer, resolve
from vivavoce.runtime.ports import Picture
from vivavoce.tools.mcp.link import told
from vivavoce.tools.mcp.sieve import output


def test_every_kind_of_content_becomes_text_or_a_picture() -> None:
    page = TextResourceContents(uri="file:///a.txt", text="inside")
    result = CallToolResult(
        content=[
            TextContent(text="hello"),
            ImageContent(data="aGk=", mime_type="image/png"),
            ImageContent(data="not base64!", mime_type="image/png"),
            ImageContent(data="aGk=", mime_type="image/svg+xml"),
            AudioContent(data="aGk=", mime_type="audio/wav"),
            ResourceLink(name="a.txt", uri="file:///a.txt"),
            EmbeddedResource(resource=page),
        ]
    )
    made = output(result)
    assert made.pictures == (Picture("image/png", "aGk="),)
    assert made.text.split("\n") == [
        "hello",
        "[image/png, cannot be shown]",
        "[image/svg+xml, cannot be shown]",
        "[audio/wav, cannot be shown]",
        "a.txt (file:///a.txt)",
        "inside",
    ]


def test_structure_without_words_is_json_and_nothing_at_all_is_done() -> None:
    assert output(CallToolResult(content=[], structured_content={"a": "ä"})).text == '{"a": "ä"}'
    assert output(CallToolResult(content=[])).text == "Done."
    with pytest.raises(ToolFailed, match="did not say why"):
        output(CallToolResult(content=[], is_error=True))


def test_progress_is_words_and_a_percentage_where_the_whole_is_known() -> None:
    assert told(3, 12, "three tests") == ("three tests", 25)
    assert told(3, 12, None) == ("3 of 12", 25)
    assert told(3, None, None) == ("3", None)
    assert told(50, 12, "\x00") == ("50 of 12", 100)
    assert told(1, float("inf"), "going") == ("going", None)


def test_values_of_the_environment_stand_in_for_their_names() -> None:
    servers = [
        McpServer(name="a", command="x", env={"KEY": "${MY_KEY}", "PLAIN": "$HOME $${MY_KEY}"}),
        McpServer(name="b", url="http://b", headers={"Authorization": "Bearer ${NO_KEY}"}),
        McpServer(name="c", url="http://c", headers={"X": "${EVIL}"}),
    ]
    environment = {"MY_KEY": "secret", "EVIL": "a\r\nHost: b"}
    fine, problems = resolve(servers, environment)
    assert [dict(server.env) for server in fine] == [{"KEY": "secret", "PLAIN": "$HOME ${MY_KEY}"}]
    assert problems == (
        "mcp.b: the environment has no NO_KEY",
        "mcp.c: header X is no plain line of text",
    )
    assert "secret" not in repr(fine)


def test_the_environment_goes_before_the_file_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("MY_TOKEN=of the file\nOTHER_TOKEN=kept\nNONE_TOKEN=\n")
    monkeypatch.setenv("MY_TOKEN", "of the shell")
    found = named_values()
    assert (found["MY_TOKEN"], found["OTHER_TOKEN"]) == ("of the shell", "kept")
    assert "NONE_TOKEN" not in found


FILE = """\
name: tester
tools: [calculate, "time_*"]
mcp:
  time:
    command: uvx
    args: [mcp-server-time]
    env: {TOKEN: "${TOKEN}"}
    cwd: data
    tools: [get_current_time]
  tracker:
    url: https://mcp.example.org/mcp
    headers: {Authorization: "Bearer ${TRACKER_TOKEN}"}
    protocol: legacy
    timeout_seconds: 20
"""


def _agent(folder: Path, text: str) -> Path:
    (folder / "agent.yaml").write_text(text)
    (folder / "prompt.md").write_text("Be kind.")
    return folder


def test_the_agents_file_names_servers_to_start_and_to_call(tmp_path: Path) -> None:
    agent = load_agent(_agent(tmp_path, FILE))
    time, tracker = agent.servers
    assert (time.command, time.args, time.cwd) == ("uvx", ("mcp-server-time",), tmp_path / "data")
    assert time.tools == ("get_current_time",)
    assert (tracker.url, tracker.legacy) == ("https://mcp.example.org/mcp", True)
    assert tracker.timeout == 20
    # Tools of servers are not known before those have answered, and are no mistake.
    check_names(agent, voices=[], tools=["calculate"])


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ("time: {}", "mcp.time.command: is missing"),
        ("time: {command: x, url: 'http://a'}", "mcp.time.command: there is no such key"),
        ("time: {command: x, headers: {}}", "mcp.time.headers: there is no such key"),
        ("time: {url: 'ftp://a'}", "mcp.time.url: should be an http or https address"),
        ("time: {url: 'http://me:pw@a'}", "mcp.time.url: should be an http or https address"),
        ("time: {command: x, timeout_seconds: 0}", "mcp.time.timeout_seconds: should be"),
        ("Time!: {command: x}", "should match"),
        ("app: {command: x}", "mcp.app: should be another name: what apps bring is known as 'app'"),
    ],
)
def test_what_is_wrong_with_a_server_is_told_with_its_line(
    tmp_path: Path, entry: str, complaint: str
) -> None:
    with pytest.raises(AgentError) as told_of:
        load_agent(_agent(tmp_path, f"name: tester\nmcp:\n  {entry}\n"))
    assert complaint in str(told_of.value)
    assert "agent.yaml:3: " in str(told_of.value)
