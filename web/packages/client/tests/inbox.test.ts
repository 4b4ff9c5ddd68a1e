import { describe, expect, test } from "vitest";
import type { ServerFact } from "../src/session/state";
import { Api } from "../src/wire/api";
import { Frames, openInbox } from "../src/wire/inbox";

const FRAME = 'event: task.progress\ndata: {"task_id":"t1","message":"Zwölf"}\nid: 5\n\n';

describe("the inbox's stream", () => {
  test("gives whole events, whatever the pieces are", () => {
    const text = `: connected\nretry: 2000\nid: 4\n\n${FRAME}event: of.tomorrow\ndata: {}\n\n${FRAME}`;
    for (const size of [1, 7, 1000]) {
      const frames = new Frames();
      const got: ServerFact[] = [];
      for (let from = 0; from < text.length; from += size) {
        got.push(...frames.push(text.slice(from, from + size)));
      }
      const one = { type: "event", name: "task.progress", data: { task_id: "t1", message: "Zwölf" } };
      expect(got).toEqual([one, one]);
    }
  });

  test("does not gather without end what never ends", () => {
    const frames = new Frames();
    const piece = "x".repeat(2 ** 20);
    expect(() => {
      for (let n = 0; n < 9; n += 1) frames.push(piece);
    }).toThrow("too long");
  });

  test("is asked for with the token, tells when it is up, and ends with the server's", async () => {
    const bytes = new TextEncoder().encode(FRAME);
    const asked: { url: string; token: string | null }[] = [];
    const api = new Api("http://server/", async (input, init) => {
      asked.push({ url: String(input), token: new Headers(init?.headers).get("authorization") });
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          for (const byte of bytes) controller.enqueue(Uint8Array.of(byte)); // also within a letter
          controller.close();
        },
      });
      return new Response(body, { headers: { date: new Date(Date.now() + 90_000).toUTCString() } });
    });
    api.token = "secret";
    const told: unknown[] = [];
    const listener = { up: () => told.push("up"), event: (fact: ServerFact) => told.push(fact.data) };
    await openInbox(api, listener, new AbortController().signal);
    expect(told).toEqual(["up", { task_id: "t1", message: "Zwölf" }]);
    expect(asked).toEqual([
      {
        url: "http://server/events?subscribe=task.*%2Capproval.*%2Cintent.*%2Ctool.completed%2Ctool.error",
        token: "Bearer secret",
      },
    ]);
    expect(Math.round(api.skewMs / 10_000)).toBe(9);
  });

  test("that is refused says so", async () => {
    const api = new Api("http://server/", async () => new Response("{}", { status: 401 }));
    const listener = { up: () => undefined, event: () => undefined };
    await expect(openInbox(api, listener, new AbortController().signal)).rejects.toMatchObject({
      status: 401,
    });
  });
});
