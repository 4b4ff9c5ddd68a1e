"""A provider to try things with: no key, no network, no sound.

Every call gets the same short conversation, so that `vivavoce serve` has
somebody to talk to:

    python docs/examples/scripted_server.py
    VIVAVOCE_PROVIDER_URL=http://127.0.0.1:9090/v1 vivavoce serve
"""

import argparse
import asyncio
import errno

from vivavoce.testing import ScriptedCall, ScriptedProvider

FOREVER = 365 * 24 * 3600.0


async def converse(call: ScriptedCall, pause: float) -> None:
    """A question, a tool, and an answer that is interrupted."""
    await call.attached()
    await call.expect("session.update")
    await asyncio.sleep(pause)
    await call.user_says("What is six times seven?")
    await call.calls_tool("calculate", {"expression": "6*7"})
    await call.expect("response.create")  # Vivavoce ran the tool and wants the answer
    await call.assistant_says("Six times seven is forty-two.")
    await asyncio.sleep(pause)
    await call.user_says("And what can you do?")
    await call.assistant_starts("I answer, I run tools, and I could go on about it for hours.")
    await asyncio.sleep(pause)
    await call.user_says("Thank you, that is enough.", heard_ms=1200)
    await call.assistant_says("You are welcome. Goodbye!")
    await asyncio.sleep(pause)


async def answer(call: ScriptedCall, pause: float) -> None:
    """Play the conversation until it is through, or until Vivavoce hangs up."""
    print(f"call {call.id}", flush=True)
    async with asyncio.TaskGroup() as group:
        talk = group.create_task(play(call, pause))
        end = group.create_task(call.ended(timeout=FOREVER))
        await asyncio.wait({talk, end}, return_when=asyncio.FIRST_COMPLETED)
        talk.cancel()
        end.cancel()
    how = "hung up by Vivavoce" if talk.cancelled() else talk.result()
    print(f"call {call.id}: {how}", flush=True)
    await call.browser_hangs_up()


async def play(call: ScriptedCall, pause: float) -> str:
    try:
        await converse(call, pause)
    except AssertionError as fault:  # what was expected never came; the rest lists what did
        return str(fault).partition("; received")[0]
    return "played to its end"


async def serve(port: int, pause: float) -> None:
    async with ScriptedProvider(key=None, port=port) as provider, asyncio.TaskGroup() as calls:
        print(f"Scripted provider: {provider.base_url}  (Ctrl-C ends)", flush=True)
        while True:
            call = await provider.next_call(timeout=FOREVER)
            calls.create_task(answer(call, pause))


def main() -> None:
    parser = argparse.ArgumentParser(description="A Realtime provider that plays a script.")
    parser.add_argument("--port", type=int, default=9090)
    parser.add_argument("--pause", type=float, default=1.0, help="seconds between turns")
    args = parser.parse_args()
    try:
        asyncio.run(serve(args.port, args.pause))
    except KeyboardInterrupt:
        pass
    except OSError as problem:
        if problem.errno != errno.EADDRINUSE:
            raise
        parser.exit(2, f"Port {args.port} is taken; --port chooses another, 0 any free one.\n")


if __name__ == "__main__":
    main()
