"""The guides of the documents, followed as they stand there: their files in a fresh folder, their
commands in terminals, and what they say is shown. The words of the model come from a script in the
short form, and from the brain that ships in the long one."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.docs_text import ROOT, read
from tests.journeys.process import free_port
from tests.test_readme_example import BIN, Terminal, here, terminal

pytestmark = pytest.mark.timeout(600)
SCRIPT = """\
rules:
  - when: when is breakfast
    say: "Breakfast is from seven to ten, in the garden when it is dry."
  - when: how warm is it in the (\\w+)
    call: {temperature: {room: "{1}"}}
  - result_of: temperature
    say: "It's {output} in the kitchen."
  - when: breakfast for two tomorrow
    say: "What time should it be?"
  - when: at half past eight
    call: {order_breakfast: {people: 2, at: "tomorrow, At half past eight"}}
  - when: make it three people
    call: {amend_intent: {changes: {people: 3}}}
  - result_of: "*"
    say: "That is ordered: {output.summary}."
opening: "Welcome to the Old Mill."
otherwise: "Martha will know."
result: "{output}"
"""
BRAINS = ["scripted", pytest.param("qwen-1.5b", marks=[pytest.mark.full, pytest.mark.brain])]


@dataclass
class Guide:
    """One page, and the folder in which it is followed."""

    page: str
    home: Path
    brain: str

    def __post_init__(self) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        self.text = read(ROOT / "docs" / self.page)
        if not (self.home / ".venv").exists():
            (self.home / ".venv").symlink_to(BIN.parent)
        (self.home / "script.yaml").write_text(SCRIPT)

    def blocks(self, kind: str, under: str = "") -> list[str]:
        text = self.text.partition(f"\n## {under}\n")[2] if under else self.text
        text = text.partition("\n## ")[0] if under else text
        found: list[str] = []
        for said, body in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S):
            if said == kind:
                found.append(body)
        return found

    def write_files(self) -> None:
        """Each file that has its name in front of it."""
        files = re.findall(
            r"`([\w-]+/[\w.]+)`[^`\n]*:\n\n```\w+\n(.*?)^```$", self.text, re.M | re.S
        )
        for name, body in files:
            if name != "guesthouse/agent.yaml" or not (self.home / name).exists():
                (self.home / name).parent.mkdir(exist_ok=True)
                (self.home / name).write_text(body)

    def edit_agent(self, old: str, new: str) -> None:
        assert new in self.text
        file = self.home / "guesthouse" / "agent.yaml"
        before = file.read_text()
        assert old in before
        file.write_text(before.replace(old, new) if old else before + new)

    def typed(self, command: str) -> str:
        """As it stands there, but for the port."""
        port = self.url.rpartition(":")[2]
        command = command.replace("http://127.0.0.1:8080", self.url)
        command = command.replace("talk --text", f"talk --text {self.url}")
        command = re.sub(r"(serve --agent \S+)", rf"\1 --port {port}", command)
        return f"cd {self.home}\n{command}"

    def run(self, command: str, *, seconds: float = 300) -> Terminal:
        with terminal(self.typed(command), self.home / "log", **self.environment()) as done:
            assert done.process.wait(seconds) == 0, done.shown
        return done

    def environment(self) -> dict[str, str]:
        script = {"VIVAVOCE_SCRIPT": str(self.home / "script.yaml")}
        return here(self.home) | {
            **(script if self.brain == "scripted" else {}),
            "VIVAVOCE_BRAIN": self.brain,
            "PYTHONPATH": str(self.home / "packages"),
            "COLUMNS": "200",
        }

    @contextmanager
    def kept_running(self, command: str, name: str) -> Iterator[Terminal]:
        log = self.home / f"{name}.log"
        with terminal(self.typed(command), log, **self.environment()) as running:
            yield running

    @contextmanager
    def served(self) -> Iterator[Terminal]:
        (command,) = [block for block in self.blocks("sh") if "serve --agent" in block]
        with self.kept_running(command, "server") as running:
            end = time.monotonic() + 240
            while not _ready(self.url):
                assert running.process.poll() is None, running.shown
                assert time.monotonic() < end, running.shown
                time.sleep(0.2)
            yield running

    def talk(self) -> None:
        """What the guide says is shown, but for lines that it leaves out."""
        (command,) = [block for block in self.blocks("sh") if "talk --text" in block]
        shown = self.run(command).shown
        (told,) = [block for block in self.blocks("") if block.startswith("you: ")]
        for line in told.splitlines():
            if self.brain == "scripted" or not line.startswith("assistant: "):
                assert line in shown, shown
        if self.brain != "scripted":  # its own words: the facts must be in them
            facts = set(re.findall(r"\b(?:seven|ten|21|eight|2|3)\b", told))
            assert facts <= set(re.findall(r"\w+", shown)), shown


def _ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/ready", trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


def agent_of_the_first_guide(home: Path, brain: str) -> Guide:
    guide = Guide("first-agent.md", home, brain)
    guide.write_files()
    return guide


@pytest.mark.parametrize("brain", BRAINS)
def test_your_first_agent_says_what_the_guide_says(brain: str, tmp_path: Path) -> None:
    guide = agent_of_the_first_guide(tmp_path, brain)
    (check,) = guide.blocks("sh", "Check it")
    fine, mistake = guide.blocks("", "Check it")
    assert guide.run(check).shown == fine
    agent = tmp_path / "guesthouse" / "agent.yaml"
    agent.write_text(agent.read_text().replace("tools: []", "tool: []"))
    with terminal(guide.typed(check), tmp_path / "log") as refused:
        assert refused.process.wait(60) == 2
    assert refused.shown == mistake.replace("…", str(tmp_path))
    agent.write_text(agent.read_text().replace("tool: []", "tools: []"))
    with guide.served() as server:
        guide.talk()
        prompt = tmp_path / "guesthouse" / "prompt.md"
        prompt.write_text(prompt.read_text().replace("from seven to ten", "from eight to noon"))
        guide.run(f'echo "When is breakfast?" | {BIN}/vivavoce talk --text')
        server.wait_for("The agent was read again agent=guesthouse")


@pytest.mark.full  # pip takes its time; the files are also loaded in tests/test_docs.py
@pytest.mark.parametrize("brain", BRAINS)
def test_your_first_tool_is_called(brain: str, tmp_path: Path) -> None:
    agent_of_the_first_guide(tmp_path, brain)
    guide = Guide("first-tool.md", tmp_path, brain)
    guide.write_files()
    install, without_network = guide.blocks("sh", "Install it")
    assert without_network.replace(" --no-build-isolation", "") == install
    # Into a folder of its own: the environment of the tests stays as it is.
    apart = f"install -q --no-deps --target {tmp_path}/packages"
    guide.run(without_network.replace("install", apart).replace(" -e ", " "))
    guide.edit_agent("tools: []\n", "tools: [temperature]\n")
    (check,) = guide.blocks("sh", "Give it to the agent")
    assert guide.run(check).shown == guide.blocks("", "Give it to the agent")[0]
    with guide.served():
        by_hand = guide.blocks("sh", "Try it without a voice")[1]
        assert '"output":"21 degrees"' in guide.run(by_hand).shown
        assert "no thermometer in the attic" in guide.run(by_hand.replace("kitchen", "attic")).shown
        guide.talk()
    broken = tmp_path / "packages" / "house_tools.py"
    broken.write_text("import nothing_like_it\n")
    with guide.kept_running(guide.blocks("sh", "Try it without a voice")[0], "broken") as server:
        server.wait_for(r"Tool plug-in 'house' \(house_tools:temperature\): No module named")


@pytest.mark.parametrize("brain", BRAINS)
def test_your_first_intent_reaches_the_backend(brain: str, tmp_path: Path) -> None:
    agent_of_the_first_guide(tmp_path, brain)
    guide = Guide("first-intent.md", tmp_path, brain)
    guide.write_files()
    (orchestrator,) = [block for block in guide.blocks("yaml") if block.startswith("orchestr")]
    guide.edit_agent("", orchestrator)
    guide.text = guide.text.replace("3001", str(free_port()))
    agent = tmp_path / "guesthouse" / "agent.yaml"
    port = guide.text.partition("kitchen.py ")[2].split()[0]
    agent.write_text(agent.read_text().replace("3001", port))
    (check,) = guide.blocks("sh", "Check it")
    shown = guide.run(check).shown
    assert all(line in shown for line in guide.blocks("", "Check it")[0].splitlines()), shown
    kitchen, _, _ = guide.blocks("sh", "Order breakfast")
    with ExitStack() as open_ones:
        taking = open_ones.enter_context(guide.kept_running(kitchen, "kitchen"))
        open_ones.enter_context(guide.served())
        guide.talk()
        assert taking.shown == guide.blocks("", "Order breakfast")[1]
