import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Microphone } from "../src/audio/microphone";
import { type Call, deferred } from "../src/transport/transport";
import { WebSocketTransport } from "../src/transport/websocket";
import { Api } from "../src/wire/api";

/** The socket and the audio thread, as far as the transport sees them. */
class FakeSocket extends EventTarget {
  static readonly OPEN = 1;
  static last: FakeSocket;
  readonly sent: { type: string; item_id?: string; audio_end_ms?: number }[] = [];
  readonly readyState = FakeSocket.OPEN;
  bufferedAmount = 0;

  constructor(readonly url: URL) {
    super();
    FakeSocket.last = this;
    queueMicrotask(() => this.dispatchEvent(new Event("open")));
  }

  send(text: string): void {
    this.sent.push(JSON.parse(text));
  }

  close(): void {
    this.sent.push({ type: "close" });
    this.dispatchEvent(new Event("close"));
  }

  says(type: string, more: object = {}): void {
    const data = JSON.stringify({ type, ...more });
    this.dispatchEvent(new MessageEvent("message", { data }));
  }
}

class FakeNode {
  static last: FakeNode[] = [];
  static orders: { type: string; item?: string }[] = [];
  constructor() {
    FakeNode.last.push(this);
  }
  readonly port = {
    onmessage: null as ((event: { data: object }) => void) | null,
    postMessage: (order: { type: string }) => void FakeNode.orders.push(order),
  };
  readonly context = { outputLatency: 0 };
  connect = (next: unknown) => next;
  disconnect = () => undefined;
}

const delta = btoa("\0".repeat(4800)); // 100 ms

function microphone(loaded: Promise<void>): Microphone {
  const context = {
    audioWorklet: { addModule: () => loaded },
    createGain: () => new FakeNode(),
    createAnalyser: () => new FakeNode(),
  };
  return { context, source: new FakeNode() } as unknown as Microphone;
}

/** Whether the server answers when it is asked whether it is there, and how often it was. */
const server = { there: true, looks: 0 };

function api(base: string): Api {
  const format = { type: "audio/pcm", rate: 24_000 };
  const grant = { url: "/v1/realtime?call_id=rtc_1", protocols: ["realtime"] };
  const body = JSON.stringify({ ...grant, input_format: format, output_format: format });
  return new Api(base, async (input) => {
    if (String(input).endsWith("/health")) {
      server.looks += 1;
      if (!server.there) throw new TypeError("Failed to fetch");
    }
    return new Response(body);
  });
}

async function called(sounding: (on: boolean) => void = () => undefined): Promise<FakeSocket> {
  await calling(sounding);
  return FakeSocket.last;
}

async function calling(sounding: (on: boolean) => void = () => undefined): Promise<Call> {
  const { signal } = new AbortController();
  const transport = new WebSocketTransport(api("http://server/"));
  return transport.connect("ek_1", microphone(Promise.resolve()), signal, sounding);
}

function kinds(): string[] {
  return FakeNode.orders.map(({ type, item }) => (item ? `${type} ${item}` : type));
}

beforeEach(() => {
  FakeNode.orders = [];
  FakeNode.last = [];
  vi.stubGlobal("WebSocket", FakeSocket);
  vi.stubGlobal("AudioWorkletNode", FakeNode);
});
afterEach(() => vi.unstubAllGlobals());

test("it goes where the page came from, behind a proxy's path too", async () => {
  const transport = new WebSocketTransport(api("https://server/voice/"));
  const { signal } = new AbortController();
  await transport.connect("ek_1", microphone(Promise.resolve()), signal, () => undefined);
  expect(String(FakeSocket.last.url)).toBe("wss://server/voice/v1/realtime?call_id=rtc_1");
});

test("what comes before the player is there is played all the same", async () => {
  const loaded = deferred();
  const { signal } = new AbortController();
  const transport = new WebSocketTransport(api("http://server/"));
  const connecting = transport.connect("ek_1", microphone(loaded.promise), signal, () => undefined);
  await new Promise((resolve) => setTimeout(resolve));
  FakeSocket.last.says("response.output_audio.delta", { item_id: "a", delta });
  loaded.resolve();
  await connecting;
  expect(kinds()).toEqual(["play a"]);
});

test("speech over the assistant cuts off all that is left, and tells where", async () => {
  const told: boolean[] = [];
  const socket = await called((on) => told.push(on));
  for (const item_id of ["a", "b"]) {
    socket.says("response.output_audio.delta", { item_id, delta });
  }
  socket.says("input_audio_buffer.speech_started");
  expect(kinds()).toEqual(["play a", "play b", "clear"]);
  expect(socket.sent.map(({ item_id, audio_end_ms }) => [item_id, audio_end_ms])).toEqual([
    ["a", 0],
    ["b", 0],
  ]);
  expect(told).toEqual([true, false]);
});

test("an assistant that may not be interrupted goes on", async () => {
  const socket = await called();
  const turn_detection = { type: "server_vad", interrupt_response: false };
  socket.says("session.updated", { session: { audio: { input: { turn_detection } } } });
  socket.says("response.output_audio.delta", { item_id: "a", delta });
  socket.says("input_audio_buffer.speech_started");
  expect(kinds()).toEqual(["play a"]);
  expect(socket.sent).toEqual([]);
});

test("what somebody else cut off is not played on, and the answer behind it is", async () => {
  const socket = await called();
  for (const item_id of ["a", "b"]) {
    socket.says("response.output_audio.delta", { item_id, delta });
  }
  socket.says("conversation.item.truncated", { item_id: "a", audio_end_ms: 40 });
  socket.says("conversation.item.truncated", { item_id: "a", audio_end_ms: 40 });
  socket.says("response.output_audio.delta", { item_id: "a", delta }); // on its way already
  socket.says("response.output_audio.delta", { item_id: "b", delta });
  expect(kinds()).toEqual(["play a", "play b", "drop a", "play b"]);
  expect(socket.sent).toEqual([]);
});

test("whoever hangs up in the middle of an answer says how far it was heard", async () => {
  const call = await calling();
  const socket = FakeSocket.last;
  socket.says("response.output_audio.delta", { item_id: "a", delta });
  call.close();
  expect(socket.sent.map(({ type, audio_end_ms }) => [type, audio_end_ms])).toEqual([
    ["conversation.item.truncate", 0],
    ["close", undefined],
  ]);
});

test("how far an answer was heard is said while it plays, and once it is over", async () => {
  let now = 1000;
  vi.stubGlobal("performance", { now: () => now });
  await calling();
  const socket = FakeSocket.last;
  const [player, microphone] = FakeNode.last.flatMap(({ port }) => port.onmessage ?? []);
  const speak = () => microphone?.({ data: { pcm: new Int16Array(960), level: 0 } });
  const plays = (samples: number) => player?.({ data: { item: "a", samples } });
  const said = () =>
    socket.sent
      .filter(({ type }) => type === "vivavoce.played")
      .map(({ item_id, audio_end_ms }) => [item_id, audio_end_ms]);
  socket.says("response.output_audio.delta", { item_id: "a", delta });
  plays(600);
  speak();
  plays(1200);
  speak(); // too soon for another word
  expect(said()).toEqual([["a", 25]]);
  now += 250;
  speak();
  expect(said()).toEqual([["a", 25], ["a", 50]]);
  now += 250;
  speak(); // nothing new
  plays(2400);
  speak();
  now += 250;
  speak();
  expect(said()).toEqual([["a", 25], ["a", 50], ["a", 100]]);
  now += 250;
  socket.says("conversation.item.truncated", { item_id: "a", audio_end_ms: 40 });
  speak();
  expect(said()).toHaveLength(3);
});

test("a line on which nothing gets through is lost, though nobody closes it", async () => {
  let now = 0;
  vi.stubGlobal("performance", { now: () => now });
  const call = await calling();
  const socket = FakeSocket.last;
  const [said] = FakeNode.last.flatMap(({ port }) => (port.onmessage ? [port.onmessage] : [])).slice(-1);
  const speak = () => said?.({ data: { pcm: new Int16Array(960), level: 0 } });
  speak();
  socket.bufferedAmount = 5000;
  now = 7000;
  speak();
  expect(socket.sent.map(({ type }) => type)).not.toContain("close");
  now = 9000;
  speak();
  await call.closed;
  expect(socket.sent.at(-1)?.type).toBe("close");
});

test("a line on which nothing comes any more is lost once the server cannot be reached either", async () => {
  let now = 0;
  vi.stubGlobal("performance", { now: () => now });
  Object.assign(server, { there: true, looks: 0 });
  const call = await calling();
  const socket = FakeSocket.last;
  const [said] = FakeNode.last.flatMap(({ port }) => (port.onmessage ? [port.onmessage] : [])).slice(-1);
  const speak = () => said?.({ data: { pcm: new Int16Array(960), level: 0 } });
  const settled = () => new Promise((next) => setTimeout(next));
  now = 7000;
  speak();
  expect(server.looks).toBe(0); // it may well have nothing to say
  now = 9000;
  speak();
  speak();
  await settled();
  expect(server.looks).toBe(1);
  expect(socket.sent.map(({ type }) => type)).not.toContain("close");
  server.there = false;
  now = 18_000;
  speak();
  await call.closed;
  expect(server.looks).toBe(2);
  expect(socket.sent.at(-1)?.type).toBe("close");
});
