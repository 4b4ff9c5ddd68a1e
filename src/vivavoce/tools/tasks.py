"""The tools by which the voice delegates work and looks after it.

`task` answers as soon as the work is certain to be carried out; its result is
told later, whoever is connected then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Protocol

from pydantic import Field

from vivavoce.errors import ToolFailed
from vivavoce.runtime.ports import ToolContext, ToolExample
from vivavoce.tools.functions import Tool, tool
from vivavoce.tools.wording import WORDING


class Delegation(Protocol):
    """The runtime's side of it; every answer is words for the model."""

    async def delegate(self, context: ToolContext, instruction: str, agent: str) -> str: ...
    async def standing(self, context: ToolContext) -> str: ...
    async def stop(self, context: ToolContext, task_id: str) -> str: ...
    async def answer(self, context: ToolContext, answer: str, task_id: str) -> str: ...


def task_tools(delegation: Delegation, agents: Sequence[str]) -> list[Tool]:
    """`agents` are named in the description, so that a model can choose one."""

    @tool(
        category="delegation",
        timeout=300,
        description=WORDING["task"].description,
        examples=WORDING["task"].examples,
        describe=lambda given: f"Delegating: {given['instruction']}",
        detached=True,
    )
    async def task(
        instruction: Annotated[str, Field(min_length=3, max_length=4000)],
        context: ToolContext,
        agent: Annotated[str, Field(description="Who does it; left out, the usual one")] = "",
    ) -> str:
        """Hand a longer piece of work to an agent; it goes on in the background."""
        return await delegation.delegate(context, instruction, agent)

    @tool(
        category="delegation",
        timeout=10,
        examples=[ToolExample("How is the work going?", {}, "task_1 (coder) …: running, 40%")],
        describe=lambda given: "Looking at the tasks",
    )
    async def list_tasks(context: ToolContext) -> str:
        """The delegated tasks and how each is going."""
        return await delegation.standing(context)

    @tool(
        category="delegation",
        timeout=10,
        examples=[ToolExample("Stop that task.", {}, "Cancelled.")],
        describe=lambda given: "Cancelling a task",
    )
    async def cancel_task(
        context: ToolContext,
        task_id: Annotated[str, Field(description="Left out: the newest that is running")] = "",
    ) -> str:
        """Stop a delegated task, or the tool that is running."""
        return await delegation.stop(context, task_id)

    @tool(
        category="delegation",
        timeout=10,
        examples=[ToolExample("Use REST.", {"answer": "REST"}, "Passed on.")],
        describe=lambda given: "Passing on the answer",
    )
    async def answer_task(
        answer: Annotated[str, Field(description="The user's words", min_length=1)],
        context: ToolContext,
        task_id: Annotated[str, Field(description="Left out: the one that asks")] = "",
    ) -> str:
        """Pass the user's answer on to the task or tool that asked."""
        return await delegation.answer(context, answer, task_id)

    return [_naming(task, agents), list_tasks, cancel_task, answer_task]


def _naming(made: Tool, agents: Sequence[str]) -> Tool:
    """With whom there is, so that a model can choose."""
    known = ", ".join(name for name in agents if ":" not in name)
    about = f"{made.definition.description} Agents: {known}."
    return replace(made, definition=replace(made.definition, description=about))


@tool(
    category="delegation",
    timeout=310,
    examples=[
        ToolExample(
            "Ask which database to use.",
            {"question": "Which database should I use?", "choices": ["SQLite", "PostgreSQL"]},
            "PostgreSQL",
        )
    ],
    describe=lambda given: "Asking you something",
)
async def ask_user(
    question: Annotated[str, Field(description="Short; it is read aloud", min_length=3)],
    context: ToolContext,
    choices: Annotated[
        list[str] | None, Field(description="If there are any", max_length=8)
    ] = None,
) -> str:
    """Ask the user something and wait for their words. For agents and clients; in a conversation
    simply ask."""
    answer = await context.ask(question, choices or ())
    if not answer.strip():
        raise ToolFailed("The user said nothing")
    return answer
