"""An app with a battery. It asks the conductor one question, and tells what it is told.

    python battery.py ws://127.0.0.1:8080/conductor "How full is the battery?"

The server there is one of `VIVAVOCE_CONDUCTOR_TRUST=true make run`, which believes the app that its
tool only reads; any other asks for a yes first, and the question is the answer here.
"""

import asyncio
import sys

from vivavoce.conductor import Called, Client, Connection, Fault, Phase, Speaking, tool


@tool(name="battery.level", read_only=True)
def battery() -> dict[str, int]:
    """How full the battery is, in percent."""
    return {"percent": 80}


async def speak(text: str) -> None:
    """Here your app speaks; it returns when the user has heard it."""
    print(f"aloud: {text}")


async def main(url: str, question: str) -> None:
    async with Client(url, tools=[battery], speak=speak) as client:
        await client.say(question)
        answered = False
        async for one in client:
            match one:
                case Connection(state):
                    print(f"connection: {state}")
                case Called(_, name):
                    print(f"tool: {name}")
                case Speaking():
                    answered = True
                case Fault(code, message):
                    print(f"fault: {code}: {message}")
                case Phase("idle") if answered:
                    return


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
