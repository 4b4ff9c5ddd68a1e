"""An agent folder is read whole, and every mistake in it is told with its line."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from vivavoce.app.agent import open_agent
from vivavoce.engine.turn.configuration import keyterms
from vivavoce.runtime.agents.agent import Agent, AgentError, find_agent, list_agents, load_agent
from vivavoce.runtime.ports import Capabilities
from vivavoce.runtime.sessions.options import Options
from vivavoce.runtime.sessions.profile import Defaults, Profile
from vivavoce.tools.registry import Registry
from vivavoce.tools.workspace.root import Workspace
from vivavoce.tools.workspace.tools import workspace_tools
from vivavoce.wire.hints import hint_of

ROOT = Path(__file__).resolve().parents[3]


def folder(tmp_path: Path, yaml: str = "name: mine\n", prompt: str = "Be kind.\n") -> Path:
    made = tmp_path / "mine"
    made.mkdir(exist_ok=True)
    (made / "agent.yaml").write_text(yaml, encoding="utf-8")
    (made / "prompt.md").write_text(prompt, encoding="utf-8")
    return made


def complaints(path: Path) -> list[str]:
    """Without the folder in front."""
    with pytest.raises(AgentError) as caught:
        load_agent(path)
    return [problem.replace(f"{path}/", "") for problem in caught.value.problems]


def test_the_workbench_is_what_the_seeds_ask_for() -> None:
    agent = load_agent("workbench")
    assert agent.folder == ROOT / "agents" / "workbench"
    assert agent.turns == {"type": "semantic_vad", "eagerness": "auto"}, "better than seeded"
    assert (agent.idle_seconds, agent.timeouts.warning_seconds) == (900, 30)
    assert agent.cap_seconds is None
    assert agent.restore.turns == 10
    known = ["read_file", "ask_user", "some_server_tool"]
    assert agent.chosen(known) == ["read_file", "some_server_tool"]


def test_the_prompt_is_sent_as_written() -> None:
    file = ROOT / "agents" / "workbench" / "prompt.md"
    assert load_agent("workbench").prompt == file.read_text(encoding="utf-8")


def test_the_workbench_prompt_holds_the_decisions_and_the_manners() -> None:
    prompt = load_agent("workbench").prompt
    for words in (
        "**Answer directly**",
        "**Use a quick tool**",
        "**Make a small edit yourself**",
        "**Delegate**",
        "one question at a time",
        "Never read code",
        "Say first, then do",
        "Claim nothing before a tool has said so",
        "I didn't catch that",
        "You can also type it",
        "never argue",
        "current date and time",
    ):
        assert words in prompt


def test_what_a_file_leaves_out_is_what_an_agent_is_by_default(tmp_path: Path) -> None:
    made = folder(tmp_path)
    assert load_agent(made) == Agent(name="mine", prompt="Be kind.\n", folder=made)


def test_everything_can_be_said(tmp_path: Path) -> None:
    yaml = """
name: mine
voice: ash
tools: [current_time, wait]
greeting: Say hello.
turn_detection: {type: semantic_vad, eagerness: high}
transcription: {model: other, language: de, keywords: [Redis, git log]}
timeouts: {idle_minutes: null, warning_seconds: 5, cap_minutes: 30}
limits: {sessions_per_10_minutes: 5, executions_per_minute: 0}
restore: {turns: 3}
max_output_tokens: 300
"""
    agent = load_agent(folder(tmp_path, yaml))
    assert agent.tools == ("current_time", "wait")
    assert agent.turns == {"type": "semantic_vad", "eagerness": "high"}
    assert (agent.transcription.model, agent.transcription.language) == ("other", "de")
    assert agent.transcription.keywords == ("Redis", "git log")
    assert (agent.idle_seconds, agent.timeouts.warning_seconds, agent.cap_seconds) == (
        None,
        5,
        1800,
    )
    assert (agent.limits.sessions_per_10_minutes, agent.limits.executions_per_minute) == (5, 0)
    assert (agent.restore.turns, agent.max_output_tokens) == (3, 300)
    assert (agent.voice, agent.greeting) == ("ash", "Say hello.")


def test_keywords_are_sent_as_the_prompt_of_the_transcription(tmp_path: Path) -> None:
    known = Capabilities(context_tokens=8_000, session_seconds=60.0, voices=())

    def transcription(yaml: str) -> object:
        agent = load_agent(folder(tmp_path, yaml))
        setup = Profile(agent, Defaults(), known, Registry()).setup(
            Options(), [], datetime.now(UTC)
        )
        return setup.session["audio"]["input"]["transcription"]

    sent = {"model": "m", "prompt": "Keywords: Redis, git log"}
    assert transcription("name: a\ntranscription: {model: m, keywords: [Redis, git log]}") == sent
    assert transcription("name: a\ntranscription: {model: m}") == {"model": "m"}
    assert keyterms(sent["prompt"]) == ("Redis", "git log")


def test_the_engine_takes_every_keyword_of_the_workbench() -> None:
    words = load_agent("workbench").transcription.keywords
    assert 30 <= len(words) <= 80
    assert keyterms(f"Keywords: {', '.join(words)}") == words


@pytest.mark.parametrize("word", ["a, b", "x", "a" * 41])
def test_a_keyword_that_could_not_be_sent_is_told(tmp_path: Path, word: str) -> None:
    yaml = f"name: a\ntranscription:\n  keywords: ['{word}']\n"
    assert complaints(folder(tmp_path, yaml))[0].startswith("agent.yaml:3: ")


def test_turns_may_be_taken_by_hand(tmp_path: Path) -> None:
    agent = load_agent(folder(tmp_path, "name: mine\nturn_detection: manual\n"))
    assert agent.turns is None


def test_what_the_operator_set_wins_over_the_file(tmp_path: Path) -> None:
    made = folder(tmp_path, "name: mine\nvoice: ash\n")
    assert load_agent(made, overrides={"voice": "cedar"}).voice == "cedar"


@pytest.mark.parametrize(
    ("yaml", "complaint"),
    [
        ("voice: x\n", "agent.yaml:1: name: is missing"),
        (
            "name: a\n\nvoise: x\n",
            "agent.yaml:3: voise: there is no such key; did you mean 'voice'?",
        ),
        (
            "name: a\ntool: []\n",  # a key of rules, further down in the file
            "agent.yaml:2: tool: there is no such key; did you mean 'tools'?",
        ),
        (
            "name: Bad Name\n",
            "agent.yaml:1: name: should match ^[a-z][a-z0-9_-]{0,63}$, and is 'Bad Name'",
        ),
        ("name: a\ntools: 5\n", "agent.yaml:2: tools: should be '*' or be a list, and is 5"),
        (
            "name: a\ntools:\n  - wait\n  - 1\n",
            "agent.yaml:4: tools.1: should be a valid string, and is 1",
        ),
        (
            "name: a\nturn_detection:\n  type: server_vad\n  # loud\n  threshold: 5\n",
            "agent.yaml:5: turn_detection.threshold: should be less than or equal to 1, and is 5",
        ),
        (
            "name: a\nturn_detection:\n  type: vad\n",
            "agent.yaml:2: turn_detection: should have as its type 'server_vad' or "
            "'semantic_vad' or be 'manual', and is {'type': 'vad'}",
        ),
        (
            "name: a\ntimeouts:\n  cap_minutes: long\n",
            "agent.yaml:3: timeouts.cap_minutes: should be 'provider' or be a valid number, "
            "unable to parse string as a number, and is 'long'",
        ),
        ("name: a\nlimits: []\n", "agent.yaml:2: limits: should be keys and values, and is []"),
        ("name: a\nname: b\n", "agent.yaml:2: 'name' is written twice"),
        ("name: a\ntools: [x\n", "agent.yaml:3: expected ',' or ']', but got '<stream end>'"),
        ("", "agent.yaml:1: there should be keys and values here"),
        ("- a\n", "agent.yaml:1: there should be keys and values here"),
    ],
)
def test_a_mistake_is_told_with_its_line_and_what_would_be_right(
    tmp_path: Path, yaml: str, complaint: str
) -> None:
    assert complaints(folder(tmp_path, yaml)) == [complaint]


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    yaml = "name: a\nrestore:\n  turns: -1\nvoice: ''\nlimits:\n  executions_per_minute: x\n"
    assert [line.split(":")[1] for line in complaints(folder(tmp_path, yaml))] == ["3", "4", "6"]


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    made = folder(tmp_path)
    (made / "prompt.md").write_bytes(b"fine\nnot \xff")
    assert complaints(made) == ["prompt.md:2: this is not UTF-8 text"]
    (made / "prompt.md").write_text(" \n")
    assert complaints(made) == ["prompt.md:1: the prompt is empty"]
    (made / "prompt.md").write_text("x" * 70_000)
    assert complaints(made) == ["prompt.md: 70000 characters; at most 64000 are sent"]
    (made / "prompt.md").unlink()
    assert complaints(made) == ["prompt.md: No such file or directory"]
    (made / "prompt.md").write_text("Fine.")
    (made / "agent.yaml").write_text("x" * 2_000_000)
    assert complaints(made) == ["agent.yaml: larger than 1024 KB"]


def test_an_agent_is_found_by_name_in_ones_own_folder_first(tmp_path: Path) -> None:
    mine = tmp_path / "workbench"
    mine.mkdir()
    (mine / "agent.yaml").write_text("name: workbench\n")
    assert find_agent("workbench", tmp_path) == mine
    assert find_agent("workbench") == ROOT / "agents" / "workbench"
    assert list_agents(tmp_path)[0] == "workbench"


def test_an_unknown_agent_is_told_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match=r"there is no agent 'nope'; there are: .*workbench"):
        load_agent("nope", tmp_path)
    assert complaints(tmp_path / "gone") == ["agent.yaml: No such file or directory"]


def test_a_folder_here_that_is_named_like_an_agent_is_hinted_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    with pytest.raises(AgentError, match=r"no agent 'mine'; .*for the folder here, say \./mine"):
        find_agent("mine")


def test_a_folder_here_is_the_agent_that_is_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "agent.yaml").write_text("name: mine\n")
    (mine / "prompt.md").write_text("Talk.")
    assert open_agent("./mine").current.folder == mine


FLOWS = """\
flows:
  - name: newest_log
    wish: log
    does: tell
    about: the end of the newest log
    stages:
      - {do: glob, given: {pattern: "**/*.log"}, read: names, none: ["There is no log."]}
    confirm: ["{told}"]
"""


def test_flows_of_the_folder_go_to_the_session_with_the_tools(tmp_path: Path) -> None:
    made = folder(tmp_path)
    (made / "flows.yaml").write_text(FLOWS, encoding="utf-8")
    tools = Registry(workspace_tools(Workspace(tmp_path)))
    known = Capabilities(context_tokens=8_000, session_seconds=60.0, voices=())
    profile = Profile(load_agent(made), Defaults(), known, tools)
    hints = [hint_of(one["parameters"]) for one in profile.tools(tools.definitions())]
    flows = [flow.name for hint in hints if hint is not None for flow in hint.flows]
    assert flows[0] == "newest_log"
    assert "tell_file" in flows


def test_a_mistake_in_a_flow_is_told_with_its_line(tmp_path: Path) -> None:
    made = folder(tmp_path)
    (made / "flows.yaml").write_text("flows:\n  - name: empty\n", encoding="utf-8")
    (problem,) = complaints(made)
    assert problem.startswith("flows.yaml:2: ")
    assert "stages" in problem
