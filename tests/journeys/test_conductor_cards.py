"""What a runtime shows beside the talk, at a whole server, by nothing but what is published:
others' library applies the patches, and the schema judges what comes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonpatch
import jsonschema

from tests.docs_text import ROOT
from tests.journeys.embedded import embedded
from tests.journeys.runtime import Runtime
from tests.journeys.test_delegation_flows import DELEGATED, NEWS, delegate, finish
from vivavoce.brain.script.script import Rule, Script, ToolUse

_CHECK = jsonschema.Draft202012Validator(
    json.loads((ROOT / "docs" / "conductor" / "cards.schema.json").read_text())
)
CONFIRM = {
    "name": "ui.confirm",
    "description": "Asks the user for a yes or a no, by hand.",
    "inputSchema": {"type": "object", "properties": {}},
}
REMOVE = Rule(when="delete the config", calls=(ToolUse("bash", {"command": "rm config.py"}),))
REMOVED = Rule(result_of="bash", when="allow", say="I left it.")
GONE = Rule(result_of="bash", say="Gone.")


class Screen:
    """What a runtime draws. It begins as the document says it does."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.document: Any = {"cards": []}
        self.patches: list[list[dict[str, Any]]] = []

    def drawn(self) -> list[dict[str, Any]]:
        for body in self.runtime.all("assistantUIPatch")[len(self.patches) :]:
            patch = json.loads(body["patch"])
            self.patches.append(patch if isinstance(patch, list) else [patch])
            self.document = jsonpatch.apply_patch(self.document, self.patches[-1])
            _CHECK.validate(self.document)
        cards: list[dict[str, Any]] = self.document["cards"]
        return cards

    def shows(self, kind: str, **wanted: object) -> list[dict[str, Any]]:
        return [
            card
            for card in self.drawn()
            if card.get("type") == kind and all(card.get(k) == v for k, v in wanted.items())
        ]

    async def until(self, kind: str, **wanted: object) -> dict[str, Any]:
        await self.runtime.until(lambda: bool(self.shows(kind, **wanted)), 30)
        return self.shows(kind, **wanted)[0]


async def test_a_task_is_shown_as_it_goes_on_and_as_a_whole_after_a_reconnect(
    tmp_path: Path,
) -> None:
    (tmp_path / "auth.py").write_text("def login():\n    pass\n")
    edit = {"path": "auth.py", "old_string": "    pass", "new_string": "    print('login')"}
    ask = {"question": "At which level?", "choices": ["info", "debug"]}
    script = Script(
        rules=(
            delegate("add logging"),
            DELEGATED,
            NEWS,
            Rule(note=True, when="waits for an answer", say="At which level?"),
            Rule(when="^info$", calls=(ToolUse("answer_task", {"answer": "info"}),)),
            Rule(result_of="answer_task", say="Fine."),
            Rule(when="add logging", calls=(ToolUse("read_file", {"path": "auth.py"}),)),
            Rule(result_of="read_file", calls=(ToolUse("ask_user", ask),)),
            Rule(result_of="ask_user", calls=(ToolUse("edit_file", edit),)),
            Rule(result_of="edit_file", calls=(finish("I added logging to one function."),)),
        )
    )
    async with embedded(tmp_path, script=script) as st:
        runtime = Runtime(st.url)
        screen = Screen(runtime)
        async with runtime.connected():
            await runtime.say("add logging to the auth module")
            card = await screen.until("task", status="waiting")
            assert card["question"]["text"] == "At which level?"
            assert card["question"]["choices"] == ["info", "debug"]
            assert card["progress"]
        half = json.dumps(screen.document)
        runtime.seen.clear()
        again = Screen(runtime)
        again.document = {"cards": [{"id": "old"}]}  # whatever it had
        async with runtime.connected():
            await again.until("task", status="waiting")
            assert [op["path"] for op in again.patches[0]] == [""]
            assert json.dumps(again.document) == half
            await runtime.say("info")
            card = await again.until("task", status="completed")
            assert card["summary"] == "I added logging to one function."
            diff = await again.until("diff")
            assert diff["file"] == "auth.py"
            assert "question" not in card
        assert not again.shows("tool"), "what delegated work does in between is its own"
        assert all(op["path"] for patch in again.patches[1:] for op in patch)


async def test_a_click_is_a_yes_and_both_show_it(tmp_path: Path) -> None:
    (tmp_path / "config.py").write_text("PORT = 1\n")
    script = Script(rules=(REMOVE, REMOVED, GONE))
    async with embedded(tmp_path, script=script) as st:
        runtime, other = Runtime(st.url, tools=[CONFIRM]), Runtime(st.url)
        runtime.holds.add("ui.confirm")
        mine, theirs = Screen(runtime), Screen(other)
        async with runtime.connected(), other.connected():
            await runtime.say("delete the config")
            call = await runtime.called("ui.confirm")
            asked = json.loads(call["arguments"])
            card = await mine.until("approval", status="pending")
            assert (asked["card"], asked["approvalId"]) == (card["id"], card["approvalId"])
            assert asked["question"] == card["question"]
            assert {"name": "command", "text": "rm config.py"} in card["arguments"]
            await theirs.until("approval", status="pending")
            assert not other.calls("ui.confirm"), "it has no such tool"
            assert not mine.shows("tool"), "nothing runs before the yes"
            assert (tmp_path / "config.py").exists()
            yes = {"approvalId": asked["approvalId"], "approved": True}
            await runtime.result(call["callId"], yes)
            card = await mine.until("approval", status="granted")
            assert card["by"] == "click"
            await runtime.until(lambda: "Gone." in runtime.spoken)
            await other.until(lambda: not theirs.shows("approval"))
        assert not (tmp_path / "config.py").exists()


async def test_what_is_not_plainly_a_yes_decides_nothing(tmp_path: Path) -> None:
    (tmp_path / "config.py").write_text("PORT = 1\n")
    script = Script(rules=(REMOVE, REMOVED, GONE))
    async with embedded(tmp_path, script=script) as st:
        runtime = Runtime(st.url, tools=[CONFIRM])
        runtime.holds.add("ui.confirm")
        screen = Screen(runtime)
        async with runtime.connected():
            await runtime.say("delete the config")
            call = await runtime.called("ui.confirm")
            await runtime.result(call["callId"], {"confirmed": True})
            assert (await runtime.wait_for("error"))["code"] == "invalid_event"
            await screen.until("approval", status="pending")
            [waiting] = (await st.get("/approvals"))["approvals"]
            await st.post(f"/approvals/{waiting['id']}", {"granted": False})
            await screen.until("approval", status="denied")
            await runtime.until(lambda: "I left it." in runtime.spoken)
            late = {"approvalId": waiting["id"], "approved": True}
            await runtime.result(call["callId"], late)
            await runtime.say("and now")
            await runtime.until(lambda: "You said: and now." in runtime.spoken)
            assert runtime.errors == ["invalid_event"]
        assert (tmp_path / "config.py").exists()


async def test_a_question_that_waits_is_asked_again_under_the_same_id(tmp_path: Path) -> None:
    (tmp_path / "config.py").write_text("PORT = 1\n")
    script = Script(rules=(REMOVE, REMOVED, GONE))
    async with embedded(tmp_path, script=script) as st:
        runtime = Runtime(st.url, tools=[CONFIRM])
        runtime.holds.add("ui.confirm")
        async with runtime.connected():
            await runtime.say("delete the config")
            first = await runtime.called("ui.confirm")
        runtime.seen.clear()
        screen = Screen(runtime)
        async with runtime.connected():
            call = await runtime.called("ui.confirm")
            assert call == first
            approval = await screen.until("approval", status="pending")
            no = {"approvalId": approval["approvalId"], "approved": False}
            await runtime.result(call["callId"], no)
            await screen.until("approval", status="denied")
            assert len(runtime.calls("ui.confirm")) == 1
        assert (tmp_path / "config.py").exists()


async def test_an_intent_shows_what_was_understood_and_is_taken_back(tmp_path: Path) -> None:
    call = {"title": "Call Anna", "trigger_type": "time", "scheduled_at": "tomorrow at 9"}
    script = Script(
        rules=(
            Rule(when="remind me", calls=(ToolUse("submit_new_task_intent", call),)),
            Rule(result_of="submit_new_task_intent", say="It is on your list."),
            Rule(when="undo that", calls=(ToolUse("retract_intent", {}),)),
            Rule(result_of="retract_intent", say="Taken back."),
        )
    )
    async with embedded(tmp_path, script=script, agent="flux") as st:
        runtime = Runtime(st.url)
        screen = Screen(runtime)
        async with runtime.connected():
            await runtime.say("remind me to call Anna tomorrow at 9")
            card = await screen.until("intent", status="accepted", undo=True)
            assert {"name": "title", "text": "Call Anna"} in card["understood"]
            assert not screen.shows("tool"), "the intent is its card"
            await runtime.until(lambda: "It is on your list." in runtime.spoken)
            await runtime.say("Undo that.")
            card = await screen.until("intent", status="retracted")
            assert "undo" not in card
            await runtime.until(lambda: "Taken back." in runtime.spoken)
            assert screen.patches[0][0]["op"] == "add", "a new conversation begins with nothing"


async def test_many_changes_at_once_are_few_messages(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    reads = tuple(ToolUse("read_file", {"path": "a.txt"}) for _ in range(8))
    script = Script(
        rules=(Rule(when="read", calls=reads), Rule(result_of="read_file", say="Read."))
    )
    async with embedded(tmp_path, script=script) as st:
        runtime = Runtime(st.url)
        screen = Screen(runtime)
        async with runtime.connected():
            await runtime.say("read it eight times")
            await runtime.until(lambda: len(screen.shows("tool", status="completed")) == 8)
            card = screen.shows("tool")[0]
            assert (card["tool"], "one" in card["text"]) == ("read_file", True)
            assert len(screen.patches) < 16
