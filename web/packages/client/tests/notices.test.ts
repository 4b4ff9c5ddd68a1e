import { describe, expect, test } from "vitest";
import { deviceName, Notices, type NoticesPorts } from "../src/reach/notices";
import { Api } from "../src/wire/api";

const KEY = "BEl62iUYgUivxIkv69yViEuiBIa-Ib9-SkvMeAtA3LFg";

/** A browser with its push service, and a server. */
class Around {
  permission: NotificationPermission = "default";
  answer: NotificationPermission = "granted";
  known: { key: string; endpoint: string } | null = null;
  /** Those that the server writes to. */
  readonly server = new Map<string, string>();
  /** Why it sends none. */
  none = "";
  fault: Error | null = null;
  made = 0;

  readonly ports: NoticesPorts = {
    api: new Api("http://server/", async (input, init) => {
      if (this.fault) throw this.fault;
      const { pathname } = new URL(String(input));
      switch (`${init?.method ?? "GET"} ${pathname.replace(/\/[^/]*%2F.*/, "/…")}`) {
        case "GET /api/v1/push":
          return this.none
            ? Response.json({ error: { code: "unavailable", message: this.none } }, { status: 503 })
            : Response.json({ public_key: KEY, browsers: [] });
        case "POST /api/v1/push/subscriptions": {
          const { endpoint, device } = JSON.parse(String(init?.body)) as Record<string, string>;
          this.server.set(String(endpoint), String(device));
          return Response.json({ id: encodeURIComponent(String(endpoint)) }, { status: 201 });
        }
        case "DELETE /api/v1/push/subscriptions/…": {
          const name = decodeURIComponent(pathname.split("/").at(-1) ?? "");
          return new Response(null, { status: this.server.delete(name) ? 204 : 404 });
        }
      }
      return new Response(null, { status: 404 });
    }),
    registered: async () => ({ pushManager: this.manager() }),
    permission: () => this.permission,
    ask: async () => (this.permission = this.answer),
    missing: () => null,
    device: "Chrome on Android",
  };
  readonly notices = new Notices(this.ports);

  get status(): string {
    return this.notices.store.getState().status;
  }

  private manager(): PushManager {
    const subscription = () => {
      if (!this.known) return null;
      const { key, endpoint } = this.known;
      const bytes = Uint8Array.from(atob(key.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
      return {
        options: { applicationServerKey: bytes.buffer },
        toJSON: () => ({ endpoint }),
        unsubscribe: async () => (this.known = null) === null,
      };
    };
    return {
      getSubscription: async () => subscription(),
      subscribe: async ({ applicationServerKey }: { applicationServerKey: string }) => {
        this.made += 1;
        this.known = { key: applicationServerKey, endpoint: `https://push.example/${this.made}` };
        return subscription();
      },
    } as unknown as PushManager;
  }
}

describe("notices", () => {
  test("are off until somebody wants them, and nothing is asked before", async () => {
    const around = new Around();
    await around.notices.look();
    expect([around.status, around.permission, around.made]).toEqual(["off", "default", 0]);
  });

  test("are on once the browser allows them and the server knows this browser", async () => {
    const around = new Around();
    await around.notices.turnOn();
    expect(around.status).toBe("on");
    expect([...around.server]).toEqual([["https://push.example/1", "Chrome on Android"]]);
  });

  test("are told to the server again with each start, and subscribed once", async () => {
    const around = new Around();
    await around.notices.turnOn();
    around.server.clear(); // as after another login
    const next = new Notices(around.ports);
    await next.look();
    expect(next.store.getState().status).toBe("on");
    expect([around.made, around.server.size]).toEqual([1, 1]);
  });

  test("are subscribed anew where the server has another key", async () => {
    const around = new Around();
    await around.notices.turnOn();
    around.known = { key: "AAAA", endpoint: "https://push.example/old" };
    await new Notices(around.ports).look();
    expect(around.known?.endpoint).toBe("https://push.example/2");
  });

  test("are blocked where the user says no, and stay off where they do not say", async () => {
    const around = new Around();
    around.answer = "denied";
    await around.notices.turnOn();
    expect(around.status).toBe("blocked");
    around.answer = "default";
    await around.notices.turnOn();
    expect(around.status).toBe("off");
  });

  test("go with one press, at the server and in the browser", async () => {
    const around = new Around();
    await around.notices.turnOn();
    await around.notices.turnOff();
    expect([around.status, around.known, around.server.size]).toEqual(["off", null, 0]);
    await around.notices.turnOn();
    around.server.clear(); // it had forgotten us already
    await around.notices.turnOff();
    expect(around.status).toBe("off");
  });

  test("are not offered where the server sends none", async () => {
    const around = new Around();
    around.none = "This server sends no notices.";
    around.permission = "granted";
    around.known = { key: KEY, endpoint: "https://push.example/0" };
    await around.notices.look();
    expect(around.notices.store.getState()).toEqual({
      status: "unavailable",
      problem: "This server sends no notices.",
    });
  });

  test("that cannot be had say why", async () => {
    const around = new Around();
    const missing = () => "This browser takes no notices.";
    const notices = new Notices({ ...around.ports, missing });
    await notices.look();
    expect(notices.store.getState()).toEqual({ status: "unsupported", problem: missing() });
    around.fault = new TypeError("Failed to fetch");
    await around.notices.turnOn();
    expect(around.notices.store.getState()).toEqual({
      status: "off",
      problem: "The server does not answer.",
    });
  });
});

test("a browser has a name that its user knows", () => {
  const chrome = "Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 Chrome/141.0 Mobile Safari/537.36";
  expect(deviceName(chrome)).toBe("Chrome on Android");
  expect(deviceName("Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0")).toBe("Firefox on Linux");
  expect(deviceName("something")).toBe("A browser");
});
