import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ServerFact } from "../src/session/state";
import { Api } from "../src/wire/api";
import { EventStream } from "../src/wire/stream";
import { FakeServer } from "./scene";

class FakeSource extends EventTarget {
  static readonly CLOSED = 2;
  readyState = 0;
  onopen: (() => void) | null = null;
  onerror: ((event: Event) => void) | null = null;

  constructor(readonly url: URL) {
    super();
    // As in a browser: whatever has this name, the server's own event too.
    this.addEventListener("error", (event) => this.onerror?.(event));
  }

  tell(name: string, data: object, lastEventId = ""): void {
    this.dispatchEvent(new MessageEvent(name, { data: JSON.stringify(data), lastEventId }));
  }

  breaks(readyState: number): void {
    this.readyState = readyState;
    this.dispatchEvent(new Event("error"));
  }

  close(): void {
    this.readyState = FakeSource.CLOSED;
  }
}

function scene() {
  const server = new FakeServer();
  const sources: FakeSource[] = [];
  const told: string[] = [];
  const stream = new EventStream(
    new Api("http://server/base/", server.fetch),
    { sessionId: "vs_1", token: "st_1", lastEventId: 7 },
    {
      event: (fact: ServerFact) => told.push(fact.name),
      up: () => told.push("up"),
      down: () => told.push("down"),
      gone: () => told.push("gone"),
    },
    (url) => {
      const source = new FakeSource(url);
      sources.push(source);
      return source as unknown as EventSource;
    },
  );
  return { server, sources, told, stream };
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("EventSource", FakeSource);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("it begins where the session began, below the page's own address", () => {
  const { sources } = scene();
  expect(sources[0]?.url.href).toBe(
    "http://server/base/events?session_id=vs_1&last_event_id=7&token=st_1",
  );
});

test("it tells every event, and an error of the line is not an error of the session's", () => {
  const { sources, told } = scene();
  sources[0]?.onopen?.();
  sources[0]?.tell("tool.started", {}, "8");
  sources[0]?.tell("error", {}, "9");
  sources[0]?.breaks(0);
  expect(told).toEqual(["up", "tool.started", "error", "down"]);
});

test("a break is EventSource's business; after a refusal it goes on with a new token", async () => {
  const { server, sources } = scene();
  server.next("GET /base/session", { body: { stream_token: { value: "st_2", expires_at: 0 } } });
  sources[0]?.tell("tool.started", {}, "12");
  sources[0]?.breaks(0);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(sources).toHaveLength(1);
  sources[0]?.breaks(2);
  await vi.advanceTimersByTimeAsync(1000);
  expect(sources[1]?.url.search).toBe("?session_id=vs_1&last_event_id=12&token=st_2");
});

test("it waits for a server that is away, and gives up on one that does not know it", async () => {
  const { server, sources, told } = scene();
  const away = { status: 502, body: {} };
  const gone = { status: 404, body: {} };
  server.next("GET /base/session", away, away, gone);
  sources[0]?.breaks(2);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(told).toEqual(["down", "gone"]);
  expect(server.asked).toHaveLength(3);
});

test("closed is closed", async () => {
  const { server, sources, told, stream } = scene();
  sources[0]?.breaks(2);
  stream.close();
  await vi.advanceTimersByTimeAsync(60_000);
  sources[0]?.tell("tool.started", {}, "8");
  expect(told).toEqual(["down"]);
  expect(server.asked).toEqual([]);
});

test("a line on which not even a heartbeat comes is taken up anew, where it was", async () => {
  const { server, sources, told, stream } = scene();
  sources[0]?.onopen?.();
  await vi.advanceTimersByTimeAsync(60_000);
  sources[0]?.tell("heartbeat", {}, "9");
  await vi.advanceTimersByTimeAsync(60_000);
  expect(sources).toHaveLength(1);
  server.next("GET /base/session", { body: { stream_token: { value: "st_2" } } });
  await vi.advanceTimersByTimeAsync(20_000);
  expect(told).toEqual(["up", "heartbeat", "down"]);
  expect(sources).toHaveLength(2);
  expect(sources[0]?.readyState).toBe(FakeSource.CLOSED);
  expect(sources[1]?.url.searchParams.get("last_event_id")).toBe("9");
  stream.close();
  await vi.advanceTimersByTimeAsync(200_000);
  expect(sources).toHaveLength(2);
});
