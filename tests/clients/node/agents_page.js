// Bundled for the browser: `RealtimeSession` over the SDK's own WebRTC transport.

import { OpenAIRealtimeWebRTC, RealtimeAgent, RealtimeSession } from "@openai/agents-realtime";

window.talk = async ({ calls, key, model }) => {
  const audioElement = document.createElement("audio");
  document.body.append(audioElement);
  const transport = new OpenAIRealtimeWebRTC({ baseUrl: calls, audioElement });
  const agent = new RealtimeAgent({ name: "tester", instructions: "Be brief." });
  const session = new RealtimeSession(agent, { transport, model });
  window.seen = [];
  window.faults = [];
  session.on("transport_event", (event) => window.seen.push(event));
  session.on("error", ({ error }) => window.faults.push(String(error?.stack ?? JSON.stringify(error))));
  await session.connect({ apiKey: key });
  window.said = (role) =>
    session.history
      .filter((item) => item.type === "message" && item.role === role && item.status === "completed")
      .map((item) => item.content.map((part) => part.transcript ?? part.text ?? "").join(""))
      .filter(Boolean);
  window.hangUp = () => session.close();
  return transport.callId ?? null;
};
