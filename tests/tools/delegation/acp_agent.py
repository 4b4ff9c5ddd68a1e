"""A coding agent of the official ACP SDK, as a program: what it does is in what it is told."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path
from typing import Any

from acp import (
    InitializeResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptResponse,
    RequestError,
    plan_entry,
    run_agent,
    start_edit_tool_call,
    start_tool_call,
    update_agent_message_text,
    update_plan,
    update_tool_call,
)
from acp.helpers import tool_diff_content
from acp.schema import AgentCapabilities, PermissionOption, ToolCallLocation, ToolCallUpdate

ALWAYS = PermissionOption(option_id="always", name="Always", kind="allow_always")
YES = PermissionOption(option_id="once", name="Yes", kind="allow_once")
NO = PermissionOption(option_id="no", name="No", kind="reject_once")


class Coder:
    def __init__(self) -> None:
        self.client: Any = None
        self.cwd = Path()
        self.stop = asyncio.Event()

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        can = AgentCapabilities(load_session=True)
        return InitializeResponse(protocol_version=protocol_version, agent_capabilities=can)

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        self.cwd = Path(cwd)
        return NewSessionResponse(session_id="s1")

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> LoadSessionResponse:
        self.cwd = Path(cwd)
        await self.say("You asked for it, and I began.")
        await self.tell(start_edit_tool_call("old", "Edit early.py", f"{cwd}/early.py", "x"))
        await self.tell(update_tool_call("old", status="completed"))
        return LoadSessionResponse()

    async def cancel(self, session_id: str, **_: Any) -> None:
        self.stop.set()

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:
        text = prompt[0].text
        if "You were interrupted" in text:
            await self.say("I went on, and it is finished.")
        elif "hang" in text:
            return await self.hang()
        else:
            await self.build()
        return PromptResponse(stop_reason="end_turn")

    async def build(self) -> None:
        steps = [plan_entry("Read the notes", status="in_progress"), plan_entry("Write it")]
        await self.tell(update_plan(steps))
        notes = (await self.client.read_text_file("s1", str(self.cwd / "notes.txt"), 2, 1)).content
        await self.say("On my way.")
        await self.tell(start_tool_call("t1", "Run the tests", kind="execute"))
        ran = await self.may("t1", "execute", {"command": ["pytest", "-q"]}, [ALWAYS, YES, NO])
        await self.tell(update_tool_call("t1", status="completed"))
        path = str(self.cwd / "edited.py")
        diff = tool_diff_content(path, "new", "old")
        await self.tell(start_tool_call("t2", "Edit edited.py", kind="edit", content=[diff]))
        edited = await self.may("t2", "edit", {"file_path": path}, [ALWAYS, YES, NO])
        await self.tell(update_tool_call("t2", status="completed"))
        refused = await self.may("t3", "delete", {"file_path": path}, [ALWAYS, YES, NO])
        forever = await self.may("t4", "execute", {"command": "make"}, [ALWAYS])
        await self.client.write_text_file("s1", str(self.cwd / "made.py"), "print(1)\n")
        tried = [
            await self.error(self.client.read_text_file("s1", "/etc/passwd")),
            await self.error(self.client.write_text_file("s1", "/etc/made", "x")),
            await self.error(self.client.create_terminal("s1", "ls")),
        ]
        keys = sorted(key for key in os.environ if "SECRET" in key or key == "MY_KEY")
        await self.say(f"{notes.strip()} {ran} {edited} {refused} {forever} ")
        await self.say(f"{tried} {keys}")

    async def hang(self) -> PromptResponse:
        child = subprocess.Popen(["sleep", "300"], start_new_session=True)
        await self.tell(start_tool_call("t1", f"child {child.pid}"))
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(self.may("t1", "execute", {"command": "rm x"}, [YES, NO]))
            await self.stop.wait()
        (self.cwd / "stopped").write_text(asking.result())
        return PromptResponse(stop_reason="cancelled")

    async def may(
        self, id_: str, kind: Any, given: dict[str, Any], options: list[PermissionOption]
    ) -> str:
        places = [ToolCallLocation(path=path) for path in [given.get("file_path")] if path]
        call = ToolCallUpdate(
            tool_call_id=id_, title="Something", kind=kind, raw_input=given, locations=places
        )
        answer = await self.client.request_permission("s1", call, options)
        return str(getattr(answer.outcome, "option_id", answer.outcome.outcome))

    async def error(self, asking: Any) -> str:
        try:
            await asking
        except RequestError as exc:
            return str(exc.code)
        return "none"

    async def tell(self, update: Any) -> None:
        await self.client.session_update("s1", update)

    async def say(self, text: str) -> None:
        await self.tell(update_agent_message_text(text))


if __name__ == "__main__":
    asyncio.run(run_agent(Coder()))  # type: ignore[arg-type]  # what is not used is not there
