"""A remote agent of the official A2A SDK on loopback: what it does is in what it is told."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import uvicorn
from a2a.helpers import new_task_from_user_message, new_text_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandlerV2
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Part
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send


@dataclass
class Remote(AgentExecutor):
    started: list[str] = field(default_factory=list)
    """What it was told, each time a task began."""
    messages: list[str] = field(default_factory=list)
    """The ids of the messages it got."""
    cancelled: list[str] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    go: threading.Event = field(default_factory=threading.Event)

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        message, said = context.message, context.get_user_input()
        assert message is not None
        self.messages.append(message.message_id)
        if said.startswith("hello"):
            await event_queue.enqueue_event(new_text_message("Hello yourself."))
            return
        task = context.current_task
        if task is None:
            self.started.append(said)
            task = new_task_from_user_message(message)
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await self._do(said, updater, told=len(task.history))

    async def _do(self, said: str, updater: TaskUpdater, told: int) -> None:
        await updater.start_work(updater.new_agent_message([Part(text="Looking around")]))
        match said.split(maxsplit=1)[0]:
            case "wait" | "This":
                while not self.go.is_set():
                    await asyncio.sleep(0.01)
                await self._finish(updater, "Waited long enough.")
            case "ask":
                question = updater.new_agent_message([Part(text="REST or GraphQL?")])
                await updater.requires_input(question)
            case "fail":
                await updater.failed(updater.new_agent_message([Part(text="No disk left")]))
            case "reject":
                await updater.reject(updater.new_agent_message([Part(text="Not my job")]))
            case "auth":
                await updater.requires_auth()
            case _:
                await self._finish(updater, f"Built with {said}.")

    async def _finish(self, updater: TaskUpdater, words: str) -> None:
        await updater.add_artifact([Part(text=words)], artifact_id="one")
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.task_id is not None
        assert context.context_id is not None
        self.cancelled.append(context.task_id)
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def _routes(remote: Remote, base: str, path: str, target: str, streaming: bool) -> list[BaseRoute]:
    card = AgentCard(
        name="Remote",
        description="A remote agent",
        version="1",
        supported_interfaces=[
            AgentInterface(url=target, protocol_binding="JSONRPC", protocol_version="1.0")
        ],
        capabilities=AgentCapabilities(streaming=streaming),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="s", name="s", description="s", tags=["s"])],
    )
    handler = DefaultRequestHandlerV2(remote, InMemoryTaskStore(), card)
    return [
        *create_agent_card_routes(card, card_url=f"{path}/.well-known/agent-card.json"),
        *create_jsonrpc_routes(handler, f"{path}/rpc"),
    ]


@contextlib.contextmanager
def serving(remote: Remote) -> Iterator[str]:
    """Its base address: `/live` streams, `/slow` does not, `/astray` has a card that points away,
    `/huge` has one without end."""

    async def huge(request: Request) -> Response:
        return PlainTextResponse("x" * (33 * 1024 * 1024))

    app = Starlette()

    async def watched(scope: Scope, receive: Receive, send: Send) -> None:
        remote.keys.add(dict(scope["headers"]).get(b"x-key", b"").decode())
        await app(scope, receive, send)

    server = uvicorn.Server(uvicorn.Config(watched, port=0, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            thread.join(0.01)
            assert thread.is_alive()
        base = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        app.router.routes += [
            *_routes(remote, base, "/live", f"{base}/live/rpc", streaming=True),
            *_routes(remote, base, "/slow", f"{base}/slow/rpc", streaming=False),
            *_routes(remote, base, "/astray", "http://127.0.0.2:1/rpc", streaming=False),
            Route("/huge/.well-known/agent-card.json", huge),
        ]
        yield base
    finally:
        server.should_exit = True
        thread.join()
