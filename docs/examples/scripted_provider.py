"""A tool call, start to end, with no key and no network: the provider is scripted."""

import asyncio
import json

from vivavoce.runtime.clock import SystemClock
from vivavoce.runtime.ports import Closed
from vivavoce.runtime.provider.openai import OpenAIProvider
from vivavoce.testing import Script, ScriptedProvider
from vivavoce.testing.realtime.script import (
    assistant_says,
    browser_hangs_up,
    calls_tool,
    expect,
    user_says,
)

SESSION = {"type": "realtime", "model": "gpt-realtime", "instructions": "Be brief."}
OFFER = "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\nm=audio 9 RTP/SAVPF 96\r\na=mid:0\r\n"

SCRIPT = Script(
    [
        expect("session.update"),
        user_says("What time is it?"),
        calls_tool("current_time", {"time_zone": "UTC"}, call_id="call_1"),
        expect("conversation.item.create", where={"item": {"call_id": "call_1"}}),
        expect("response.create"),
        assistant_says("It's 2:30 PM."),
        browser_hangs_up(),
    ]
)


async def main() -> list[str]:
    """What was said, as a client on the sideband hears it."""
    said: list[str] = []
    async with ScriptedProvider(SCRIPT) as fake:
        provider = OpenAIProvider(
            base_url=fake.base_url, api_key=fake.key, model="gpt-realtime", clock=SystemClock()
        )
        call = await provider.create_call(OFFER, SESSION)
        line = await provider.attach(call.call_id)
        await line.send({"type": "session.update", "session": SESSION})
        while not isinstance(frame := await line.receive(), Closed):
            event = json.loads(frame)
            match event["type"]:
                case "conversation.item.input_audio_transcription.completed":
                    said.append(f"user: {event['transcript']}")
                case "response.function_call_arguments.done":
                    output = {
                        "type": "function_call_output",
                        "call_id": event["call_id"],
                        "output": '{"time": "14:30"}',
                    }
                    said.append(f"tool: {event['name']} {event['arguments']}")
                    await line.send({"type": "conversation.item.create", "item": output})
                case "response.done" if event["response"]["output"][0]["type"] == "function_call":
                    await line.send({"type": "response.create"})
                case "response.output_audio_transcript.done":
                    said.append(f"assistant: {event['transcript']}")
        await line.close()
        await provider.close()
    return said


if __name__ == "__main__":
    print("\n".join(asyncio.run(main())))
