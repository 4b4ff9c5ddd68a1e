"""From an agent and the settings to a session: configuration, policy, instructions. No I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from vivavoce.errors import SAID, Forbidden, InvalidRequest
from vivavoce.runtime.agents.agent import Agent
from vivavoce.runtime.agents.source import AgentSource
from vivavoce.runtime.agents.work import picked
from vivavoce.runtime.people.memory import Memory
from vivavoce.runtime.people.profile import UserContext
from vivavoce.runtime.ports import Capabilities, Toolbox, ToolDefinition
from vivavoce.runtime.sessions.options import Options
from vivavoce.runtime.tasks.ports import AgentCard
from vivavoce.session.context import Situation, instructions
from vivavoce.session.policy import Policy, Setup
from vivavoce.wire.hints import Briefing, briefed, carried, fixed, with_flows
from vivavoce.wire.records.work import Role
from vivavoce.wire.values import Record

GREET_RESTORED = (
    "Welcome the user back in one short sentence, say in a few words what you were working on "
    "together, and ask whether to continue."
)
GREET_MOVED = (
    "The user goes on with this conversation on another device. Say in one short sentence where "
    "you were, and go on from there. Do not greet them again."
)
GREET_RECONNECTED = (
    "The connection was lost for a moment and is back. Say so in one short sentence, with a word "
    "of apology, and pick up where you left off."
)


INTERIM = {
    "read_file": "Let me look.",
    "glob": "Let me look.",
    "grep": "Let me look.",
    "bash": "Running that now, one moment.",
    "web_search": "Let me search for that.",
    "web_fetch": "Let me read that page.",
}
"""What is said while a tool is slow; others get the policy's own words."""


_UNHURRIED = frozenset({"ask_user", "wait"})
"""They wait for the user, or for as long as they were told."""

_NOT_FOR_ALL = frozenset({"filesystem", "development", "mcp"})
"""Categories of tools: files, commands, programs outside the sandbox."""
_INSIDE = "embedded"
"""Who works with our own tools."""
_MOST_TOLD = 1_000
"""Tools that are remembered as they are told."""


def not_granted(what: Literal["tool", "agent"], name: str, role: Role) -> Forbidden:
    """One sentence: what is missing, and who can give it."""
    setting, key = f"VIVAVOCE_{role.upper()}_{what.upper()}S", f"roles.{role}.{what}s"
    return Forbidden(
        f"The {what} '{name[:64]}' is not granted to the role '{role}'; the operator can grant it "
        f"with {setting}, or with '{key}' in agent.yaml.",
        role=role,
        **{what: name[:64]},
    )


class Defaults(Record):
    """What the operator decides for every session."""

    model: str = "gpt-realtime"
    time_zone: str = "UTC"
    workspace: str = ""
    """Names this process among several on one database, the same after a restart."""
    session_cap: float = 0.0
    """Seconds a call may last; 0 is as the provider has it."""
    attach_tries: int = 5
    attach_delay: float = 3.0
    peer_text: Literal["deny", "allow"] = "deny"
    auto_approve: bool = True
    """Whether anybody may switch the asking off."""
    recording: bool = True
    """Whether what sessions go through is kept, to be played again."""
    inbox: int = 1024
    """Events that may wait for one session's loop."""


class Profile:
    """Makes the sessions of one agent."""

    def __init__(
        self,
        agent: Agent | AgentSource[Any],
        defaults: Defaults,
        capabilities: Capabilities,
        tools: Toolbox,
    ) -> None:
        self._source = agent
        self._tools = tools
        self._as_told: dict[int, tuple[ToolDefinition, dict[str, Any]]] = {}
        self._briefing = Briefing()
        self.defaults = defaults
        self.capabilities = capabilities

    @property
    def agent(self) -> Agent:
        """The one that a session which begins now has."""
        return self._source if isinstance(self._source, Agent) else self._source.current

    async def refresh(self) -> None:
        """Before a session: has the folder changed?"""
        if not isinstance(self._source, Agent):
            await self._source.refresh()

    def check_voice(self, voice: str) -> str:
        known = [option.id for option in self.capabilities.voices]
        if known and voice not in known:
            raise InvalidRequest(f"There is no voice '{voice[:64]}'.", field="voice", voices=known)
        return voice

    def tool_names(
        self, wanted: Sequence[str] | None = None, role: Role = "operator"
    ) -> list[str] | None:
        """What the agent has and the role may use, narrowed to what is wanted; never more. None
        is all there are. Raises `InvalidRequest`, or `Forbidden` for what the role may not use."""
        known = [tool.name for tool in self._tools.definitions()]
        has = self.agent.chosen(known or self.agent.tools or ())
        # What nobody has is another's to refuse, with other words.
        asked = set(wanted or ()) & set(known)
        foreign = sorted(asked - set(known if has is None else has))
        if foreign:
            raise InvalidRequest(
                f"The agent '{self.agent.name}' does not have: {', '.join(foreign)[:200]}",
                field="tools_filter",
            )
        if role != "operator":
            granted = self._granted(role)
            has = [name for name in (known if has is None else has) if name in granted]
            for name in sorted(asked - granted):
                raise not_granted("tool", name, role)
        return has if wanted is None else list(wanted)

    def check_tool(self, name: str, role: Role) -> None:
        """Raises `Forbidden` for a tool that the agent has and the role may not use."""
        has = self.tool_names()
        if has is None or name in has:
            self.tool_names([name], role)

    def _granted(self, role: Role) -> set[str]:
        """Whoever is a plain user has no files, no commands and no programs beyond the sandbox,
        unless somebody says so."""
        tools = self._tools.definitions()
        begin = [t.name for t in tools if role != "user" or t.category not in _NOT_FOR_ALL]
        grants = self.agent.roles.of(role)
        return set(picked(grants.tools, [tool.name for tool in tools], begin))

    def check_delegate(self, card: AgentCard, role: Role) -> None:
        """Raises `Forbidden` for an agent that the role may not delegate to: a plain user only to
        those inside, whose tools are held to the role; others have rights of their own."""
        begin = [card.name] if role != "user" or card.backend == _INSIDE else []
        if card.name not in picked(self.agent.roles.of(role).agents, [card.name], begin):
            raise not_granted("agent", card.name, role)

    def words(
        self,
        now: datetime,
        prompt: str | None = None,
        memory: Memory | None = None,
        user: UserContext | None = None,
    ) -> str:
        """The instructions of a session that starts now."""
        # Who has no tools of the workspace has no use for what lies in it either.
        works = self.agent.tools != ()
        known = (memory if works else None) or Memory()
        user = user or UserContext(time_zone=self.defaults.time_zone)
        situation = Situation(
            now=now,
            time_zone=user.time_zone,
            verbosity=user.verbosity,
            about_user=user.lines,
            working_directory=(known.folder or self.defaults.workspace if works else "") or None,
            active_files=known.active_files,
            running_tasks=known.running_tasks,
            discoveries=known.discoveries,
        )
        return instructions(prompt or self.agent.prompt, situation)

    def setup(
        self,
        options: Options,
        tools: Sequence[ToolDefinition],
        now: datetime,
        user: UserContext | None = None,
    ) -> Setup:
        """What the user asked for comes before what they prefer, and that before the agent's."""
        agent = self.agent
        voice = options.voice or self._preferred(user) or agent.voice
        chosen = options.turn_detection
        turns = agent.turns if chosen == "agent" else chosen
        spoken = agent.transcription
        transcription = spoken.model_dump(exclude={"keywords"}, exclude_none=True)
        if spoken.keywords:
            transcription["prompt"] = f"Keywords: {', '.join(spoken.keywords)}"
        manners = self._manners(options, user)
        return Setup(
            session={
                **({"vivavoce_manners": manners} if manners else {}),
                "type": "realtime",
                "model": self.defaults.model,
                "instructions": self.words(now, options.instructions, user=user),
                "output_modalities": ["audio"],
                "audio": {
                    "input": {
                        "transcription": transcription,
                        "turn_detection": detection(turns),
                    },
                    "output": {"voice": self.check_voice(voice)},
                },
                "tools": self.tools(tools, user),
                "tool_choice": "auto",
                "max_output_tokens": agent.max_output_tokens,
            }
        )

    def tools(
        self, tools: Sequence[ToolDefinition], user: UserContext | None = None
    ) -> list[dict[str, Any]]:
        """As the session is given them: with hints, and with what is known of the user in one of
        them, for brains that are led. Whoever is not never sees that (`runtime.provider`)."""
        flowing = with_flows([self._told(tool) for tool in tools], self.agent.flows)
        taught = carried(flowing, "lessons", self.agent.lessons)
        return briefed(taught, self.briefing(user))

    def _told(self, tool: ToolDefinition) -> dict[str, Any]:
        """Made once for all sessions, as long as it is the same definition."""
        known = self._as_told.get(id(tool))
        if known is None or known[0] is not tool:
            if len(self._as_told) >= _MOST_TOLD:
                self._as_told.clear()
            known = self._as_told[id(tool)] = tool, fixed(tool.hinted())
        return known[1]

    def briefing(self, user: UserContext | None) -> Briefing:
        """The one that was made last, where there is the same to say: a session keeps it."""
        user = user or UserContext(time_zone=self.defaults.time_zone)
        made = Briefing(
            agent=self.agent.name,
            user=user.name,
            time_zone=user.time_zone,
            things=user.things,
            words=self.agent.words,
        )
        if made != self._briefing:
            self._briefing = made
        return self._briefing

    def _manners(self, options: Options, user: UserContext | None) -> dict[str, list[str]]:
        """What our own engine says of itself to who waits, or was not understood. That one can
        type is said only where one can."""
        said = self.agent.words
        known = {"name": user.name} if user is not None and user.name else {}
        found = {
            key: [words for one in said.get(key, ()) if (words := _filled(one, known))]
            for key in ("slow", "unheard", "typing")
        }
        typing = found.pop("typing")
        if found["unheard"] and typing and options.can_type:
            found["unheard"][-1] += f" {typing[0]}"
        return {key: words for key, words in found.items() if words}

    def _fault_words(self) -> dict[str, list[str]]:
        """The agent's own; what names the user is not for a policy, which knows nobody."""
        own = {code: self.agent.words[code] for code in SAID if code in self.agent.words}
        found = {code: [w for one in said if (w := _filled(one, {}))] for code, said in own.items()}
        return {code: words for code, words in found.items() if words}

    def _preferred(self, user: UserContext | None) -> str | None:
        """A voice that this provider does not have is no reason to refuse a session."""
        known = [option.id for option in self.capabilities.voices]
        voice = user.voice if user is not None else None
        return voice if not known or voice in known else None

    def policy(self) -> Policy:
        agent, defaults = self.agent, self.defaults
        idle, times = agent.idle_seconds, agent.timeouts
        if idle is not None and times.idle_question:
            idle += times.warning_seconds  # asked after that long, and then there is a grace
        return Policy(
            idle=idle,
            idle_warning=times.warning_seconds,
            idle_question=times.idle_question,
            cap=defaults.session_cap or self.capabilities.session_seconds or None,
            longest=agent.cap_seconds or None,
            attach_tries=defaults.attach_tries,
            attach_delay=defaults.attach_delay,
            interim=INTERIM,
            fault_words=self._fault_words(),
            unhurried=_UNHURRIED,
            peer_text=defaults.peer_text,
        )


def _filled(sentence: str, known: Mapping[str, str]) -> str | None:
    """None: it names something that nobody knows."""
    try:
        return sentence.format_map(known)
    except KeyError:
        return None


def detection(chosen: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Turn detection as the provider takes it: the user may always interrupt."""
    if chosen is None:
        return None
    return {"create_response": True, "interrupt_response": True, **chosen}
