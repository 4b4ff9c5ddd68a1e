// `RealtimeSession` of @openai/agents-realtime over its own WebSocket transport:
// a text turn, a tool round, and a turn of speech. Only the address is ours.

import { readFileSync } from "node:fs";
import {
  OpenAIRealtimeWebSocket,
  RealtimeAgent,
  RealtimeSession,
  tool,
} from "@openai/agents-realtime";
import { writeWav } from "./wav.mjs";
import { given, play, tell, until } from "./scene.mjs";

const SILENCE = new Uint8Array(24000 * 2 * 3);
const PIECE = 24000 * 2 * 0.1;

const asked = [];
const clock = tool({
  name: given.tool,
  description: "The time of day.",
  parameters: { type: "object", properties: {}, required: [], additionalProperties: true },
  strict: false,
  execute: async (input) => {
    asked.push(input);
    return given.time;
  },
});

const said = ({ history }, role) =>
  history
    .filter((item) => item.type === "message" && item.role === role && item.status === "completed")
    .map((item) => item.content.map((part) => part.transcript ?? part.text ?? "").join(""))
    .filter(Boolean);

function speak(session, bytes) {
  for (let from = 0; from < bytes.length; from += PIECE) {
    const piece = bytes.slice(from, from + PIECE);
    session.sendAudio(piece.buffer.slice(piece.byteOffset, piece.byteOffset + piece.byteLength));
  }
}

play(async () => {
  const socket = `${given.url.replace(/^http/, "ws")}/realtime?model=${given.model}`;
  const agent = new RealtimeAgent({ name: "tester", instructions: "Be brief.", tools: [clock] });
  const transport = new OpenAIRealtimeWebSocket({ url: socket });
  const session = new RealtimeSession(agent, { transport, model: given.model });
  let sound = [];
  let ended = 0;
  session.on("transport_event", (event) => tell("event", { event }));
  session.on("error", ({ error }) => tell("error", { error: String(error?.stack ?? JSON.stringify(error)) }));
  session.on("audio", ({ data }) => sound.push(Buffer.from(data)));
  session.on("agent_end", () => (ended += 1));
  await session.connect({ apiKey: given.key });

  session.sendMessage("The moon is bright.");
  await until("an answer to the text", () => said(session, "assistant").length >= 1);
  tell("text", { answer: said(session, "assistant").at(-1) });

  const before = ended;
  session.sendMessage("What time is it?");
  await until("the tool's call", () => asked.length === 1);
  await until("an answer after the tool", () => said(session, "assistant").length >= 2);
  await until("the end of both responses", () => ended >= before + 1);
  tell("tool", { answer: said(session, "assistant").at(-1), asked });

  sound = [];
  const [heardBefore, saidBefore] = [said(session, "user").length, said(session, "assistant").length];
  speak(session, readFileSync(given.speech));
  speak(session, SILENCE);
  await until("the user's words", () => said(session, "user").length > heardBefore);
  await until("an answer to the speech", () => said(session, "assistant").length > saidBefore);
  const bytes = Buffer.concat(sound);
  writeWav(given.heard, new Int16Array(bytes.buffer, bytes.byteOffset, bytes.length >> 1));
  tell("speech", {
    user: said(session, "user").at(-1),
    answer: said(session, "assistant").at(-1),
  });
  session.close();
});
