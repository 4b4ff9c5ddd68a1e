"""The agent of seed 004, and the keys of `agent.yaml` that came with it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.runtime.agents.test_agents import complaints, folder
from vivavoce.intents.registry.intents import load_intents
from vivavoce.runtime.agents.agent import Agent, load_agent
from vivavoce.runtime.agents.work import Backend
from vivavoce.runtime.people.profile import UserContext
from vivavoce.runtime.ports import Capabilities
from vivavoce.runtime.sessions.options import Options
from vivavoce.runtime.sessions.profile import Defaults, Profile
from vivavoce.tools.registry import Registry
from vivavoce.wire.hints import KEY, Thing, hint_of
from vivavoce.wire.records.plans import SessionLimits

CAN = Capabilities(context_tokens=8_000, session_seconds=3600.0, voices=())


def test_flux_has_the_defaults_of_seed_004() -> None:
    agent = load_agent("flux")
    assert (agent.name, agent.voice, agent.transcription.model) == ("flux", "marin", "whisper-1")
    assert agent.turns == {"type": "semantic_vad", "eagerness": "auto"}, "better than seeded"
    assert agent.max_output_tokens == 300
    assert (agent.idle_seconds, agent.timeouts.warning_seconds) == (600, 30)
    assert (agent.timeouts.idle_question, agent.cap_seconds) == ("Are you still there?", 1800)
    assert agent.session_limits() == SessionLimits(per_10_minutes=5, per_day=20, concurrent=1)
    assert (agent.backend, agent.context_type, agent.tools) == (None, "voice", ())
    assert agent.greeting


def test_flux_asks_after_ten_minutes_and_ends_thirty_seconds_later() -> None:
    policy = Profile(load_agent("flux"), Defaults(), CAN, Registry()).policy()
    assert (policy.idle, policy.idle_warning, policy.longest) == (630, 30, 1800)
    assert policy.idle_question == "Are you still there?"


def test_the_workbench_keeps_its_idle_time_and_has_no_limits_but_its_own() -> None:
    agent = load_agent("workbench")
    policy = Profile(agent, Defaults(), CAN, Registry()).policy()
    assert (policy.idle, policy.idle_warning, policy.idle_question) == (900, 30, None)
    assert agent.session_limits() == SessionLimits(per_10_minutes=20)


def test_the_prompt_of_flux_holds_every_rule_of_seed_004() -> None:
    prompt = load_agent("flux").prompt
    for words in (
        "You are Flux",
        "GOAL: ",
        "NEW_TASK: ",
        "RESCHEDULE_TASK: ",
        "submit_goal_intent",
        "submit_new_task_intent",
        "submit_reschedule_intent",
        "1. One or two sentences",
        "2. One question at a time",
        "3. Never call a tool before you have everything",
        "4. Several wishes at once: one after the other",
        "5. If it could mean two things, ask which. Never guess",
        '6. Anything else: lead back kindly. "I\'m here to help with goals and tasks."',
        '7. "Never mind"',
        "8. Once it went through: say what was submitted",
        "9. Nothing else: a short goodbye",
        "10. Use the user's name",
        '"Sorry, I didn\'t catch that. Could you say that again?"',
        '"I\'m having trouble hearing you. You can also try typing your request."',
        "never argue",
        "amend_intent",
        "retract_intent",
        "today's active tasks",
        "notification",
    ):
        assert words in prompt


def test_limits_in_money_and_tokens_can_be_said(tmp_path: Path) -> None:
    yaml = "name: a\nlimits: {tokens_per_day: 50000, cost_per_day: 1.25}\n"
    limits = load_agent(folder(tmp_path, yaml)).session_limits()
    assert (limits.tokens_per_day, limits.cost_micros_per_day) == (50_000, 1_250_000)


def test_a_backend_is_named_with_its_secret_and_never_shows_it(tmp_path: Path) -> None:
    yaml = "name: a\norchestrator: {url: https://x.org/i, secret: '${KEY}', timeout_seconds: 5}\n"
    backend = load_agent(folder(tmp_path, yaml)).backend
    assert backend == Backend(url="https://x.org/i", secret="${KEY}", timeout_seconds=5)
    filled, problems = backend.filled({"KEY": "hush"})
    assert filled is not None
    assert (filled.secret, problems) == ("hush", [])
    assert "hush" not in repr(filled)
    assert backend.filled({}) == (None, ["orchestrator.secret: the environment has no KEY"])


@pytest.mark.parametrize(
    ("yaml", "complaint"),
    [
        ("orchestrator: inside\n", "agent.yaml:2: orchestrator: should be 'embedded' or be keys"),
        (
            "orchestrator:\n  url: https://x.org\n",
            "agent.yaml:2: orchestrator.secret: is missing",
        ),
        (
            "orchestrator:\n  url: https://x.org\n  secret: hunter2\n",
            "agent.yaml:4: orchestrator.secret: should be ${NAME}, a variable of the environment",
        ),
        (
            "orchestrator:\n  url: file:///etc/passwd\n  secret: ${A}\n",
            "agent.yaml:3: orchestrator.url: should be an http or https address",
        ),
        ("limits: {cost_per_day: -1}\n", "agent.yaml:2: limits.cost_per_day: should be greater"),
        ("limits: {cost_per_day: .inf}\n", "agent.yaml:2: limits.cost_per_day: should be "),
        ("timeouts: {idle_question: ''}\n", "agent.yaml:2: timeouts.idle_question: should have at"),
        ("context_type: chat\n", "agent.yaml:2: context_type: should be 'voice', "),
    ],
)
def test_a_mistake_in_the_new_keys_is_told_with_its_line(
    tmp_path: Path, yaml: str, complaint: str
) -> None:
    [told] = complaints(folder(tmp_path, f"name: a\n{yaml}"))
    assert told.startswith(complaint)
    assert "hunter2" not in told


def test_mistakes_in_all_the_files_are_told_at_once(tmp_path: Path) -> None:
    made = folder(tmp_path, "name: a\nvoise: x\n", prompt=" ")
    assert [line.split(":")[0] for line in complaints(made)] == ["agent.yaml", "prompt.md"]


def test_an_agent_has_the_tools_of_its_intents_unless_it_takes_them_away() -> None:
    known = ["bash", "submit_it", "amend_intent"]
    agent = Agent(name="a", prompt="p", folder=Path(), intents=("submit_it", "amend_intent"))

    def chosen(*tools: str) -> list[str] | None:
        return Agent(
            name="a", prompt="p", folder=Path(), intents=agent.intents, tools=tools
        ).chosen(known)

    assert agent.chosen(known) is None
    assert chosen() == ["submit_it", "amend_intent"]
    assert chosen("bash", "!amend_intent") == ["submit_it", "bash"]


def test_flux_has_words_of_its_own_and_promises_no_reminder() -> None:
    words = load_agent("flux").words
    assert {"cannot", "unclear", "dropped", "bye", "chat", "nothing", "more", "which"} <= set(words)
    every = [one for sentences in words.values() for one in sentences]
    assert not any("remind you" in one for one in every)


@pytest.mark.parametrize(
    ("yaml", "complaint"),
    [
        ("words: {cannt: [Never]}\n", "agent.yaml:2: words.cannt: should be one of cannot, chat, "),
        ("words:\n  bye: []\n", "agent.yaml:3: words.bye: should have at least 1 item"),
        ("words:\n  bye: ['Bye {']\n", "agent.yaml:3: words.bye.0: should match"),
    ],
)
def test_a_mistake_in_its_words_is_told_with_its_line(
    tmp_path: Path, yaml: str, complaint: str
) -> None:
    [told] = complaints(folder(tmp_path, f"name: a\n{yaml}"))
    assert told.startswith(complaint)


@pytest.mark.parametrize("name", ["flux", "workbench"])
def test_courtesies_are_the_agents_own_and_typing_is_offered_only_where_one_can(name: str) -> None:
    agent = load_agent(name)
    profile = Profile(agent, Defaults(), CAN, Registry())
    now = datetime(2026, 11, 18, 9, tzinfo=UTC)

    def unheard(*, can_type: bool = False) -> str:
        options = Options(can_type=can_type)
        said = profile.setup(options, [], now).session["vivavoce_manners"]
        return str(said["unheard"][-1])

    assert unheard() == "I'm having trouble hearing you."
    assert unheard(can_type=True) == f"{unheard()} {agent.words['typing'][0]}"
    plain = Profile(agent.model_copy(update={"words": {}}), Defaults(), CAN, Registry())
    assert "vivavoce_manners" not in plain.setup(Options(), [], now).session


def test_what_is_known_of_the_user_is_in_one_of_the_tools_and_in_no_answer_of_ours() -> None:
    profile = Profile(load_agent("flux"), Defaults(), CAN, Registry())
    tools = load_intents(load_agent("flux").folder).tools()
    user = UserContext(time_zone="Europe/Berlin", name="Ann", things=(Thing(id="1", title="Run"),))
    setup = profile.setup(Options(), tools, datetime(2026, 11, 18, 9, tzinfo=UTC), user)
    hints = [hint_of(tool["parameters"]) for tool in setup.session["tools"]]
    assert [bool(hint and hint.briefing) for hint in hints] == [True, *[False] * (len(tools) - 1)]
    assert hints[0] is not None
    assert hints[0].briefing is not None
    assert (hints[0].briefing.user, hints[0].briefing.things) == ("Ann", user.things)
    assert hints[0].briefing.words["more"]
    assert all(KEY not in tool.function()["parameters"] for tool in tools)
