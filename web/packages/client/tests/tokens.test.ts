import { describe, expect, test, vi } from "vitest";
import { Api } from "../src/wire/api";
import { tokenFrom } from "../src/wire/tokens";

/** A server that takes some tokens, and exchanges keys. */
class Server {
  good: string[] = [];
  readonly shown: (string | null)[] = [];
  exchanged = 0;
  lastsMs = 600_000;

  fetch: typeof fetch = async (input, init) => {
    const shown = new Headers(init?.headers).get("authorization")?.replace("Bearer ", "") ?? null;
    if (new URL(String(input)).pathname === "/api/v1/keys/exchange") {
      this.exchanged += 1;
      const token = `bt_${this.exchanged}`;
      this.good.push(token);
      const expires_at = new Date(Date.now() + this.lastsMs).toISOString();
      return Response.json({ token, token_type: "Bearer", expires_at, user_id: "ada" });
    }
    this.shown.push(shown);
    if (this.good.includes(shown ?? "")) return Response.json({ tasks: [], count: 0 });
    const body = { error: { code: "unauthorized", message: "No.", details: {} } };
    return Response.json(body, { status: 401 });
  };
}

const api = (server: Server, getToken: () => string | null | Promise<string | null>) =>
  new Api("http://server/", server.fetch, getToken);

describe("who is asking", () => {
  test("is asked anew where the server refuses, once", async () => {
    const server = new Server();
    const tokens = ["old", "new"];
    server.good = ["new"];
    await api(server, () => tokens.shift() ?? null).tasks();
    expect(server.shown).toEqual(["old", "new"]);
    await expect(api(server, () => "wrong").tasks()).rejects.toMatchObject({ status: 401 });
    expect(server.shown).toEqual(["old", "new", "wrong", "wrong"]);
  });

  test("comes in with a key that is exchanged once, whatever is asked at the same time", async () => {
    const server = new Server();
    const given = vi.fn(() => "bk_1");
    const here = api(server, given);
    await Promise.all([here.tasks(), here.tasks(), here.tasks()]);
    await here.tasks();
    expect(given).toHaveBeenCalledTimes(1);
    expect(server.exchanged).toBe(1);
    expect(server.shown).toEqual(["bt_1", "bt_1", "bt_1", "bt_1"]);
  });

  test("has another key before the token ends", async () => {
    const server = new Server();
    server.lastsMs = 10_000; // less than it takes for granted
    const given = vi.fn(() => "bk_1");
    const here = api(server, given);
    await here.tasks();
    await here.tasks();
    expect(server.shown).toEqual(["bt_1", "bt_2"]);
  });

  test("keeps to what somebody typed", async () => {
    const server = new Server();
    server.good = ["typed"];
    const here = api(server, () => "given");
    here.token = "typed";
    await here.tasks();
    here.token = "wrong";
    await expect(here.tasks()).rejects.toMatchObject({ status: 401 });
    expect(server.shown).toEqual(["typed", "wrong"]);
  });
});

describe("the app's own backend", () => {
  const answering = (...bodies: (object | string)[]) =>
    vi.fn(async () => {
      const body = bodies.length > 1 ? bodies.shift() : bodies[0];
      return typeof body === "string" ? new Response(body) : Response.json(body);
    });

  test("is asked with the page's cookies, and again only when the token is about to end", async () => {
    const send = answering({ token: "one", expires_in: 300 });
    const getToken = tokenFrom("https://shop.example/voice-token", send);
    expect(await getToken()).toBe("one");
    expect(await getToken()).toBe("one");
    expect(send).toHaveBeenCalledTimes(1);
    expect(send).toHaveBeenCalledWith("https://shop.example/voice-token", {
      credentials: "include",
      cache: "no-store",
    });
    await getToken(true); // it was refused
    expect(send).toHaveBeenCalledTimes(2);
  });

  test("may answer with plain text, with a JWT that says itself when it ends, or with a key", async () => {
    const payload = btoa(JSON.stringify({ exp: Date.now() / 1000 + 5 }));
    const send = answering(`a.${payload}.c`, "text", { key: "bk_1" }, { key: "bk_2" });
    const getToken = tokenFrom("https://shop.example/voice-token", send);
    expect(await getToken()).toContain(payload);
    expect(await getToken()).toBe("text"); // the JWT had five seconds
    expect(await getToken(true)).toBe("bk_1");
    expect(await getToken()).toBe("bk_2"); // each works once
  });

  test("that gives none says so", async () => {
    const send = vi.fn(async () => new Response("", { status: 403 }));
    const getToken = tokenFrom("https://shop.example/voice-token", send);
    await expect(getToken()).rejects.toThrow("gave no token (403)");
  });
});
