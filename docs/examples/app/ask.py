"""Ask a server in writing, and say what it did. Whatever waits for a yes gets a no.

python ask.py http://127.0.0.1:8080 "What is six times seven?"
"""

import asyncio
import sys

from vivavoce.client import Vivavoce


async def refuse(voice: Vivavoce) -> None:
    async for event in voice.events(names=["approval.requested"]):
        print(f"refused: {event.data['question']}")
        await voice.approvals.decide(event.data["approval_id"], False)


async def main(url: str, question: str) -> None:
    async with Vivavoce(url) as voice, asyncio.TaskGroup() as group:
        refusing = group.create_task(refuse(voice))
        conversation = await voice.conversations.begin()
        answer = await voice.conversations.write(conversation.id, question)
        session = answer.session_id
        async for event in voice.events(session, names=["tool.started"], after=0, follow=False):
            print(f"tool: {event.data['tool_name']}")
        print(f"answer: {answer.reply.content if answer.reply else 'not there yet'}")
        refusing.cancel()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
