// The client as an app has it, beyond what the shared exchanges show.
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { Client as Browser } from "../src/index.js";
import { Client, FileMemory, StorageMemory, tool, type Entry, type Seen } from "../src/node.js";
import { until } from "./play.js";
import { Far } from "./server.js";

const SESSION = "3F0C9F3E-51A6-4F3B-9A1D-6D2B7C8E9F10";
const entry = (callId: string, result: string | null): Entry => ({
  callId,
  over: result !== null,
  result,
  error: null,
  cut: null,
});

function kept(client: Browser | Client): Seen[] {
  const seen: Seen[] = [];
  void (async () => {
    for await (const one of client) seen.push(one);
  })();
  return seen;
}

function faults(seen: readonly Seen[]): string[] {
  return seen.flatMap((one) => ("fault" in one ? [one.fault] : []));
}

// --- Over a real socket ---------------------------------------------------------------------

test("a key goes in a header, and a fresh token in the address of each connection", async () => {
  const far = await Far.listening();
  let asked = 0;
  const token = (sessionId: string): string => `${sessionId.length}&${++asked}`;
  const client = new Client(far.url, { sessionId: SESSION, key: "k", token, waits: [0.01] });
  client.start();
  await until(() => client.connection === "connected");
  far.stream!.destroy();
  await until(() => far.asked.length === 2);
  expect(far.asked.map(({ url }) => url)).toEqual(
    [1, 2].map((n) => `/conductor?sessionId=${SESSION.toLowerCase()}&token=36%26${n}`),
  );
  expect(far.asked[0]!.headers.authorization).toBe("Bearer k");
  await client.close();
  far.close();
});

test("where nobody listens it tries, and then its own stub answers", async () => {
  const far = await Far.listening();
  far.close();
  const client = new Client(far.url, { stub: async (text) => `'${text}'?`, waits: [0.01, 0.01] });
  const seen = kept(client);
  client.start();
  client.say("Hello");
  await until(() => seen.some((one) => "speech" in one));
  expect(faults(seen)).toEqual([
    "ws_connect_failed",
    "ws_connect_failed",
    "ws_connect_failed",
    "reconnect_failed",
  ]);
  expect(seen.find((one) => "speech" in one)).toEqual({ speech: "'Hello'?", final: true });
  await client.close();
});

test("a stub that fails, and a token that the app cannot give, are faults", async () => {
  const client = new Client("ws://127.0.0.1:1", {
    token: () => Promise.reject(new Error("logged out")),
    stub: () => {
      throw new Error("out of words");
    },
    waits: [],
  });
  const seen = kept(client);
  client.say("Hello");
  client.start();
  await until(() => faults(seen).length === 3);
  expect(faults(seen)).toEqual(["ws_connect_failed", "reconnect_failed", "handler_error"]);
  await client.close();
});

test("it can be left while it connects and while it waits", async () => {
  const silent = await Far.listening(() => "");
  const connecting = new Client(silent.url);
  connecting.start();
  await until(() => silent.asked.length === 1);
  await connecting.close();
  const waiting = new Client("ws://127.0.0.1:1");
  waiting.start();
  await until(() => waiting.connection === "waiting");
  await waiting.close();
  expect([connecting.connection, waiting.connection]).toEqual(["closed", "closed"]);
  await new Client("ws://127.0.0.1:1").close();
  silent.close();
});

// --- Tools ----------------------------------------------------------------------------------

test("results and failures of tools reach the server", async () => {
  const far = await Far.listening();
  const client = new Client(far.url, {
    tools: [
      tool({ name: "nothing", run: () => undefined }),
      tool({ name: "long", run: () => "a".repeat(200_000) }),
      tool({ name: "round", run: () => ((a) => (a["a"] = a))({} as Record<string, unknown>) }),
    ],
  });
  client.start();
  await until(() => far.frames.length === 1);
  for (const name of ["nothing", "long", "round"]) {
    const kind = { toolCall: { callId: name, name, arguments: "{}" } };
    const event = { id: SESSION, timestamp: "2025-01-15T10:30:00Z", kind };
    far.stream!.write(Far.frame(1, JSON.stringify(event)));
  }
  await until(() => far.frames.length === 4);
  const [start, ...results] = far.frames.map(({ payload }) => JSON.parse(payload.toString()).kind);
  expect(start.sessionStart.tools[0]).toEqual({
    name: "nothing",
    inputSchema: { type: "object", properties: {}, additionalProperties: false },
    annotations: { readOnlyHint: false },
  });
  const told = Object.fromEntries(results.map(({ toolResult: r }) => [r.callId, r]));
  expect(told["nothing"]).toMatchObject({ result: "null", error: null });
  expect(told["long"]).toMatchObject({ result: null, error: "The result is too long." });
  expect(told["round"].error).toContain("circular");
  await client.close();
  far.close();
});

// --- What the app is told, and may say ------------------------------------------------------

test("an app that does not listen misses the oldest and knows how many", async () => {
  const far = await Far.listening();
  const client = new Client(far.url);
  client.start();
  await until(() => client.connection === "connected");
  for (let n = 0; n < 1_100; n += 1) {
    const event = { id: SESSION, timestamp: "2025-01-15T10:30:00Z", kind: {} };
    event.kind = { assistantSpeechFinal: { text: String(n) } };
    far.stream!.write(Far.frame(1, JSON.stringify(event)));
  }
  const kind = { toolCall: { callId: "s", name: "convo.setState", arguments: '{"state":"idle"}' } };
  const last = { id: SESSION, timestamp: "2025-01-15T10:30:00Z", kind };
  far.stream!.write(Far.frame(1, JSON.stringify(last)));
  await until(() => far.frames.length === 2);
  const seen = kept(client);
  await until(() => seen.some((one) => "phase" in one));
  expect(seen[0]).toEqual({ missed: 103 }); // connecting, connected, 1,100, idle: 1,000 are kept
  expect(seen.length).toBe(1_001);
  await client.close();
  far.close();
});

test("what cannot be said is refused at once", () => {
  const client = new Client("ws://127.0.0.1:1");
  expect(() => client.say("a".repeat(8_001))).toThrow("8000");
  expect(() => client.interrupt({ positionMs: -1 })).toThrow("below 0");
  expect(() => client.interrupt({ positionCharacters: 0.5 })).toThrow("whole");
  expect(() => new Client("ws://x", { sessionId: "abc123" })).toThrow("version 4");
  client.say("😀".repeat(8_000)); // characters, not halves of them
});

// --- Memory ---------------------------------------------------------------------------------

test("a file remembers each session's calls, and a line that was cut off costs only itself", async () => {
  const path = join(mkdtempSync(join(tmpdir(), "conductor-")), "deep", "calls.jsonl");
  const memory = new FileMemory(path);
  expect(await memory.load("one")).toEqual([]);
  await memory.keep("one", entry("a", null));
  await memory.keep("one", { ...entry("a", "1"), cut: { code: "c", message: "m" } });
  await memory.keep("two", entry("b", null));
  writeFileSync(path, '{"session":"one","ca', { flag: "a" });
  expect(await memory.load("one")).toEqual([
    { ...entry("a", "1"), cut: { code: "c", message: "m" } },
  ]);
  await memory.keep("one", entry("c", "2"));
  expect((await memory.load("one")).map((each) => each.callId)).toEqual(["a", "c"]);
  expect(await memory.load("two")).toEqual([entry("b", null)]);
});

test("a file does not grow for ever", async () => {
  const path = join(mkdtempSync(join(tmpdir(), "conductor-")), "calls.jsonl");
  const line = (n: number): string => `{"session":"one","call":"${n}","over":true,"result":"1"}\n`;
  writeFileSync(path, Array.from({ length: 2_001 }, (_, n) => line(n)).join(""));
  expect((await new FileMemory(path).load("one")).length).toBe(1_000);
  expect(readFileSync(path, "utf-8").trim().split("\n").length).toBe(1_000);
});

test("a browser's storage remembers them too", () => {
  const items = new Map<string, string>();
  const store = {
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => void items.set(key, value),
  };
  new StorageMemory(store, "calls").keep("one", entry("a", null));
  new StorageMemory(store, "calls").keep("one", entry("a", "1"));
  expect(new StorageMemory(store, "calls").load("one")).toEqual([entry("a", "1")]);
  expect(items.get("calls")!.trim().split("\n").length).toBe(1);
});

test("a memory that cannot be read is told, and the client begins", async () => {
  const far = await Far.listening();
  const folder = mkdtempSync(join(tmpdir(), "conductor-"));
  const client = new Client(far.url, { memory: new FileMemory(folder) }); // no file, a folder
  const seen = kept(client);
  client.start();
  await until(() => client.connection === "connected");
  expect(faults(seen)).toEqual(["handler_error"]);
  await client.close();
  far.close();
});

// --- In a browser ---------------------------------------------------------------------------

class FakeWebSocket {
  static readonly OPEN = 1;
  static made: FakeWebSocket[] = [];
  readyState = 0;
  bufferedAmount = 0;
  readonly sent: string[] = [];
  binaryType = "";
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: ((event: { code: number; reason: string }) => void) | null = null;

  constructor(readonly url: string) {
    FakeWebSocket.made.push(this);
  }
  send(text: string): void {
    this.sent.push(text);
  }
  open(): void {
    this.readyState = 1;
    this.onopen?.();
  }
  close(code = 1005): void {
    this.readyState = 3;
    this.onclose?.({ code, reason: "" });
  }
}

beforeEach(() => {
  FakeWebSocket.made = [];
  vi.stubGlobal("WebSocket", FakeWebSocket);
});
afterEach(() => void vi.unstubAllGlobals());

test("in a browser it goes over the platform's WebSocket", async () => {
  const client = new Browser("wss://here/conductor", { sessionId: SESSION, waits: [0] });
  const seen = kept(client);
  client.start();
  await until(() => FakeWebSocket.made.length === 1);
  const [socket] = FakeWebSocket.made as [FakeWebSocket];
  expect(socket.url).toBe(`wss://here/conductor?sessionId=${SESSION.toLowerCase()}`);
  socket.open();
  await until(() => client.connection === "connected");
  socket.onmessage!({ data: new ArrayBuffer(2) });
  await until(() => faults(seen).includes("decode_error"));
  socket.bufferedAmount = 9_000_000;
  client.say("Hello?");
  await until(() => FakeWebSocket.made.length === 2);
  expect(faults(seen)).toEqual(["decode_error", "ws_send_failed", "ws_error"]);
  FakeWebSocket.made[1]!.open();
  await until(() => FakeWebSocket.made[1]!.sent.length === 2);
  expect(FakeWebSocket.made[1]!.sent[1]).toContain("Hello?");
  await client.close();
  expect(client.connection).toBe("closed");
});

test("a browser cannot send a key, and says so", async () => {
  const client = new Browser("wss://here/conductor", { key: "k", waits: [] });
  const seen = kept(client);
  client.start();
  await until(() => client.connection === "closed" && seen.length > 1);
  expect(seen.find((one) => "fault" in one)).toMatchObject({
    fault: "ws_connect_failed",
    message: expect.stringContaining("give `token`, not `key`"),
  });
});
