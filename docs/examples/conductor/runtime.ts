// A runtime for a terminal, written from the published schema alone (docs/conductor): it uses no
// library, and nothing of Vivavoce's. What you type is what you say. It "speaks" by printing words
// at the speed of speech; type while it speaks, and you have interrupted it.
//
//     node runtime.ts ws://127.0.0.1:8080/conductor
//
// Node 22.18 and newer run it as it is. For Node 20 compile it first (tsc -p .), and add
// --experimental-websocket.
//
// A line is a sentence. An empty line interrupts. While a question is open, "y" and "n" answer it.
import { createInterface } from "node:readline";

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
type JsonObject = { [name: string]: Json };
interface ToolCall {
  callId: string;
  name: string;
  arguments: string;
}
interface Operation {
  op: string;
  path: string;
  from?: string;
  value?: Json;
}

const TOOLS = [
  {
    name: "light.switch",
    description: "Switches a light on or off.",
    inputSchema: {
      type: "object",
      properties: { room: { type: "string" }, on: { type: "boolean" } },
      required: ["room", "on"],
    },
  },
  {
    name: "battery.level",
    description: "How full the battery is, in percent.",
    inputSchema: { type: "object", properties: {} },
    annotations: { readOnlyHint: true },
  },
  // Named by the server itself: it calls it to have an approval given by hand.
  { name: "ui.confirm", inputSchema: { type: "object", properties: { question: { type: "string" } } } },
];
const WAITS = [1, 2, 4, 8, 16];
const MS_A_WORD = 60;

const [address = "ws://127.0.0.1:8080/conductor", session = crypto.randomUUID()] =
  process.argv.slice(2);
/** callId → what it was answered with: nothing runs twice. */
const done = new Map<string, { kind: string; body: JsonObject }>();
let socket: WebSocket | null = null;
let tries = 0;
let shown: Json = { cards: [] }; // as the document begins
let speaking: { callId: string; text: string; heard: number; timer: NodeJS.Timeout } | null = null;
let question: { callId: string; approvalId: Json } | null = null;
let unanswered: { id: string; text: string } | null = null; // what the user said last
let leaving = false;

function print(what: string, words: string): void {
  process.stdout.write(`${what}: ${words}\n`);
}

// --- The connection ---------------------------------------------------------------------------

function connect(): void {
  const line = new WebSocket(`${address}?sessionId=${session}`);
  line.onopen = () => {
    socket = line;
    print("connection", "open");
    send("sessionStart", { sessionId: session, tools: TOOLS as unknown as Json });
    // The same `id` is the same sentence, so it does no harm if it had arrived.
    if (unanswered !== null) send("userAudioTranscriptFinal", { text: unanswered.text }, unanswered.id);
  };
  line.onmessage = ({ data }) => {
    tries = 0;
    const { kind } = JSON.parse(String(data)) as { kind: Record<string, JsonObject> };
    for (const [name, body] of Object.entries(kind)) heard(name, body);
  };
  line.onclose = ({ code }) => {
    socket = null;
    const wait = WAITS[tries++];
    if (leaving) return;
    print("connection", `closed with ${code}`);
    if ([1001, 1006, 1011, 1012, 1013].includes(code) && wait !== undefined) {
      setTimeout(connect, wait * 1000);
    } else {
      process.exit(1);
    }
  };
}

function send(kind: string, body: JsonObject, id: string = crypto.randomUUID()): void {
  const event = { id, timestamp: new Date().toISOString(), kind: { [kind]: body } };
  socket?.send(JSON.stringify(event));
}

function answer(callId: string, result: Json, error: string | null = null): void {
  over(callId, "toolResult", { callId, result: error === null ? JSON.stringify(result) : null, error });
}

/** Should the line be gone, the call comes again on the next one. */
function over(callId: string, kind: string, body: JsonObject): void {
  done.set(callId, { kind, body });
  send(kind, body);
}

// --- What the server says -----------------------------------------------------------------------

function heard(kind: string, body: JsonObject): void {
  if (kind === "assistantSpeechFinal" || body["name"] === "tts.speak") unanswered = null;
  if (kind === "assistantSpeechFinal") print("assistant", String(body["text"]));
  if (kind === "error") print("error", `${String(body["code"])}: ${String(body["message"])}`);
  if (kind === "toolCall") called(body as unknown as ToolCall);
  if (kind === "assistantUIPatch") {
    const patch = JSON.parse(String(body["patch"])) as Operation | Operation[];
    for (const each of [patch].flat()) shown = patched(shown, each);
    print("shown", JSON.stringify(shown));
  }
  // Kinds that are not known are ignored, as the protocol wants it.
}

function called(call: ToolCall): void {
  const before = done.get(call.callId);
  if (before !== undefined) return send(before.kind, before.body);
  if (speaking?.callId === call.callId || question?.callId === call.callId) return; // it is at it
  const given = JSON.parse(call.arguments) as JsonObject;
  switch (call.name) {
    case "convo.setState":
      print("state", String(given["state"]));
      return answer(call.callId, { ok: true });
    case "tts.speak":
      return speak(call.callId, String(given["text"]));
    case "ui.confirm":
      question = { callId: call.callId, approvalId: given["approvalId"] ?? null };
      return print("question", String(given["question"]));
    case "light.switch":
      print("light", `${String(given["room"])} ${given["on"] === true ? "on" : "off"}`);
      return answer(call.callId, { done: true });
    case "battery.level":
      return answer(call.callId, { percent: 80 });
    default:
      return answer(call.callId, null, `There is no tool '${call.name}' here.`);
  }
}

/** One word after the other, so that there is something to interrupt. */
function speak(callId: string, text: string): void {
  const words = text.match(/\S+\s*/g) ?? [];
  const timer = setInterval(() => {
    const word = words.shift();
    if (speaking === null || word === undefined) {
      clearInterval(timer);
      speaking = null;
      print("spoken", text);
      return answer(callId, { spoken: true });
    }
    print("word", word.trim());
    speaking.heard += Array.from(word).length;
  }, MS_A_WORD);
  speaking = { callId, text, heard: 0, timer };
  print("speaking", text);
}

// --- What the user does -------------------------------------------------------------------------

function interrupt(): void {
  if (speaking === null) return;
  const { callId, text, heard: positionCharacters, timer } = speaking;
  clearInterval(timer);
  speaking = null;
  const code = "audio.output.interrupted";
  over(callId, "error", { code, message: "The user spoke.", callId, positionCharacters });
  print("interrupted", text.slice(0, positionCharacters));
}

function typed(line: string): void {
  interrupt();
  if (question !== null && /^[yn]$/i.test(line)) {
    const { callId, approvalId } = question;
    question = null;
    answer(callId, { approvalId, approved: line.toLowerCase() === "y" });
  } else if (line.trim() !== "") {
    unanswered = { id: crypto.randomUUID(), text: line };
    send("userAudioTranscriptFinal", { text: line }, unanswered.id);
  }
}

// --- JSON Patch (RFC 6902) ----------------------------------------------------------------------

function patched(whole: Json, { op, path, from, value = null }: Operation): Json {
  const root: JsonObject = { "": structuredClone(whole) };
  const at = (pointer: string): [JsonObject, string] => {
    const parts = pointer.split("/").map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
    const last = parts.pop()!;
    return [parts.reduce((found, part) => found[part] as JsonObject, root), last];
  };
  const get = (pointer: string): Json => {
    const [parent, name] = at(pointer);
    return structuredClone(parent[name] ?? null);
  };
  const put = (pointer: string, what: Json): void => {
    const [parent, name] = at(pointer);
    if (!Array.isArray(parent)) parent[name] = what;
    else parent.splice(name === "-" ? parent.length : Number(name), 0, what);
  };
  const drop = (pointer: string): void => {
    const [parent, name] = at(pointer);
    if (Array.isArray(parent)) parent.splice(Number(name), 1);
    else delete parent[name];
  };
  const moved = from === undefined ? value : get(from);
  if (op === "move") drop(from!);
  if (op === "remove" || op === "replace") drop(path);
  if (op === "add" || op === "replace" || op === "move" || op === "copy") put(path, moved);
  return root[""] ?? null;
}

connect();
createInterface({ input: process.stdin })
  .on("line", typed)
  .on("close", () => {
    leaving = true;
    socket?.close(1000);
  });
