import { describe, expect, test } from "vitest";
import { openingOf, without } from "../src/reach/opening";
import { Desk, type DeskPorts } from "../src/reach/worker/desk";
import { type Notice, noticeOf, placeOf, type Shown } from "../src/reach/worker/notice";
import { isPage, page } from "../src/reach/worker/shell";
import { noticeWords } from "../src/reach/words";
import type { Words } from "../src/reach/worker/words";
import { i18n, speak } from "../src/words/i18n";

const SCOPE = "https://home.example/voice/";
const REMINDER: Notice & { v: number } = {
  v: 1,
  kind: "reminder",
  tag: "due:1",
  title: "Call mum",
  body: "It is due now.",
  at: "2026-01-31T14:30:00.000Z",
  url: "/?task_id=t1",
  key: "nk_1",
  expires_at: "2026-02-01T02:30:00.000Z",
  actions: [
    { action: "done", title: "Done" },
    { action: "snooze", title: "Snooze 10 min" },
  ],
};

/** A system that shows notices, a server that answers, and the page's windows. */
class Around {
  readonly shown = new Map<string, { title: string; options: Shown }>();
  readonly posted: unknown[] = [];
  readonly opened: string[] = [];
  readonly heard: unknown[] = [];
  readonly badges: number[] = [];
  waited = 0;
  words: Words = {};
  answer: () => Response = () => Response.json({ action: "done", said: "", at: null });
  open = false;

  readonly ports: DeskPorts = {
    scope: SCOPE,
    show: async (title, options) => void this.shown.set(options.tag ?? "", { title, options }),
    shown: async () =>
      [...this.shown.keys()].map((tag) => ({ tag, close: () => void this.shown.delete(tag) })),
    windows: async () =>
      this.open
        ? [{ url: SCOPE, focus: async () => null, postMessage: (told) => void this.heard.push(told) }]
        : [],
    open: async (url) => void this.opened.push(url),
    fetch: async (url, init) => {
      this.posted.push([url, JSON.parse(String(init.body))]);
      return this.answer();
    },
    badge: async (count) => void this.badges.push(count),
    pause: async (ms) => void (this.waited += ms),
    words: async () => this.words,
  };
  readonly desk = new Desk(this.ports);

  /** As the browser does it: a click takes the notice away. */
  async click(tag: string, action: string): Promise<void> {
    const notice = this.shown.get(tag)?.options.data;
    if (!notice) throw new Error(`nothing is shown as ${tag}`);
    this.shown.delete(tag);
    await this.desk.clicked(notice, action);
  }
}

describe("a notice", () => {
  test("is shown with its words and its buttons, and counted on the icon", async () => {
    const around = new Around();
    await around.desk.received(REMINDER);
    const { title, options } = around.shown.get("due:1") ?? {};
    expect([title, options?.body]).toEqual(["Call mum", "It is due now."]);
    expect(options?.actions).toEqual(REMINDER.actions);
    expect(options?.icon).toBe(`${SCOPE}icon-192.png`);
    await around.desk.received({ ...REMINDER, tag: "approval:2" });
    expect(around.badges).toEqual([1, 2]);
  });

  test("speaks the language of the page, where its words are known", async () => {
    await speak("de");
    const around = new Around();
    around.words = noticeWords(i18n);
    await speak("en");
    await around.desk.received(REMINDER);
    const { title, options } = around.shown.get("due:1") ?? {};
    expect([title, options?.body]).toEqual(["Call mum", "Es ist jetzt fällig."]);
    expect(options?.actions?.map(({ title }) => title)).toEqual(["Erledigt", "In 10 Minuten"]);
    around.answer = () => new Response("", { status: 503 });
    await around.click("due:1", "done"); // and what it says by itself
    const again = around.shown.get("due:1")?.options;
    expect(again?.body).toBe("Der Server konnte das gerade nicht tun. Versuche es noch einmal.");
    expect(again?.actions?.map(({ title }) => title)).toEqual(["Erledigt", "In 10 Minuten"]);
  });

  test("says in that language when something was or will be, and leaves a user's words alone", async () => {
    await speak("de");
    const around = new Around();
    around.words = noticeWords(i18n);
    await speak("en");
    const shown = (tag: string) => around.shown.get(tag);
    await around.desk.received({ ...REMINDER, title: "Done: the laundry", body: "It was due at 2:30 PM." });
    expect(shown("due:1")?.title).toBe("Done: the laundry");
    expect(shown("due:1")?.options.body).toMatch(/^Es war fällig: Samstag.*\d\d:\d\d/);
    around.answer = () =>
      Response.json({ action: "snooze", said: "I'll remind you at 4 PM.", at: "2026-01-31T16:00:00Z" });
    const acted = around.click("due:1", "snooze");
    around.ports.pause = async () =>
      expect(shown("due:1")?.options.body).toMatch(/^Ich erinnere dich wieder: Samstag/);
    await acted;
    const task = { ...REMINDER, kind: "task", tag: "task:1", title: "Failed: Tidy up", body: "Done" };
    await around.desk.received(task);
    expect([shown("task:1")?.title, shown("task:1")?.options.body]).toEqual(["Nicht gelungen: Tidy up", "Done"]);
  });

  test("takes the place of an older one of the same matter", async () => {
    const around = new Around();
    await around.desk.received(REMINDER);
    await around.desk.received({ ...REMINDER, body: "It was due at noon." });
    expect([...around.shown.values()].map(({ options }) => options.body)).toEqual(["It was due at noon."]);
  });

  test.each([null, "words", { ...REMINDER, v: 2 }, { ...REMINDER, key: undefined }])(
    "that this worker does not understand leads to the page all the same (%#)",
    async (told) => {
      expect(noticeOf(told)).toBeNull();
      const around = new Around();
      await around.desk.received(told);
      expect(around.shown.size).toBe(1);
      await around.click("news", "");
      expect(around.opened).toEqual([SCOPE]);
      expect(around.posted).toEqual([]);
    },
  );

  test("leads nowhere but to the page itself", () => {
    expect(placeOf("/?task_id=t1", SCOPE)).toBe(`${SCOPE}?task_id=t1`);
    for (const odd of ["https://evil.example/", "//evil.example/", "../admin", "javascript:alert(1)"]) {
      expect(placeOf(odd, SCOPE).startsWith(SCOPE)).toBe(true);
    }
  });
});

describe("a button", () => {
  test("is carried out by the server, and the notice is gone", async () => {
    const around = new Around();
    await around.desk.received(REMINDER);
    await around.click("due:1", "done");
    const asked = { key: "nk_1", action: "done" };
    expect(around.posted).toEqual([[`${SCOPE}api/v1/push/actions`, asked]]);
    expect(around.shown.size).toBe(0);
    expect(around.opened).toEqual([]);
    expect(around.badges.at(-1)).toBe(0);
  });

  test("says what came of it where there is something to say, for a moment", async () => {
    const around = new Around();
    const said = "I'll remind you today at 3:10 PM.";
    around.answer = () => Response.json({ action: "snooze", said, at: "2026-01-31T15:10:00Z" });
    around.ports.pause = async () => {
      const { options } = around.shown.get("due:1") ?? {};
      expect([options?.body, options?.silent, options?.actions]).toEqual([said, true, []]);
      around.waited = 1;
    };
    await around.desk.received(REMINDER);
    await around.click("due:1", "snooze");
    expect(around.waited).toBe(1);
    expect(around.shown.size).toBe(0);
  });

  test.each([
    ["nobody answers", () => { throw new TypeError("Failed to fetch"); }, /did not answer/],
    ["the server is not well", () => new Response("", { status: 503 }), /could not do it now/],
  ])("that did nothing because %s is there again", async (_why, answer, words) => {
    const around = new Around();
    await around.desk.received(REMINDER);
    around.answer = answer;
    await around.click("due:1", "done");
    const again = around.shown.get("due:1");
    expect(again?.options.body).toMatch(words);
    expect(again?.options.actions).toEqual(REMINDER.actions);
    around.answer = () => Response.json({ action: "done", said: "" });
    await around.click("due:1", "done");
    expect(around.posted).toHaveLength(2);
    expect(around.shown.size).toBe(0);
  });

  test.each([
    [401, {}, /answered already/],
    [409, { error: { message: "It was answered by voice." } }, /by voice/],
    [404, {}, /did not work/],
  ])("that comes too late (%i) says so, and is not offered again", async (status, body, words) => {
    const around = new Around();
    await around.desk.received(REMINDER);
    around.answer = () => Response.json(body, { status });
    await around.click("due:1", "done");
    const shown = around.shown.get("due:1");
    expect(shown?.options.body).toMatch(words);
    expect(shown?.options.actions).toEqual([]);
    await around.click("due:1", ""); // and leads to the page, with nothing more to say to the server
    expect(around.posted).toHaveLength(1);
    expect(around.opened).toEqual([`${SCOPE}?task_id=t1`]);
  });
});

describe("a click on the notice itself", () => {
  test("opens the page with what it is about, and says that it was read", async () => {
    const around = new Around();
    await around.desk.received(REMINDER);
    await around.click("due:1", "");
    expect(around.opened).toEqual([`${SCOPE}?task_id=t1`]);
    expect(around.posted).toEqual([[`${SCOPE}api/v1/push/actions`, { key: "nk_1", action: "seen" }]]);
  });

  test("goes to the window that is open, and tells it", async () => {
    const around = new Around();
    around.open = true;
    await around.desk.received(REMINDER);
    await around.click("due:1", "");
    expect(around.opened).toEqual([]);
    expect(around.heard).toEqual([{ type: "vivavoce.opened", url: `${SCOPE}?task_id=t1` }]);
  });

  test("that pushes it away is a word to the server, too", async () => {
    const around = new Around();
    await around.desk.closed(REMINDER);
    expect(around.posted).toEqual([[`${SCOPE}api/v1/push/actions`, { key: "nk_1", action: "seen" }]]);
  });
});

describe("without a network", () => {
  const request = new Request(SCOPE);
  const never = () => new Promise<never>(() => undefined);
  const kept = async () => new Response("kept");
  const words = async (asked: Promise<Response>) => (await asked).text();

  test("the page is as it was kept", async () => {
    const fetch = async () => { throw new TypeError("Failed to fetch"); };
    expect(await words(page(request, { fetch, kept, pause: never }))).toBe("kept");
  });

  test("or with one that leads nowhere, or to a proxy with nobody behind it", async () => {
    const soon = async () => undefined;
    expect(await words(page(request, { fetch: never, kept, pause: soon }))).toBe("kept");
    const fetch = async () => new Response("Bad gateway", { status: 502 });
    expect(await words(page(request, { fetch, kept, pause: never }))).toBe("kept");
  });

  test("and with one it is the server's, also where that refuses", async () => {
    for (const status of [200, 403]) {
      const fetch = async () => new Response("fresh", { status });
      expect(await words(page(request, { fetch, kept, pause: never }))).toBe("fresh");
    }
  });

  test("nothing else is the page", () => {
    expect(isPage(`${SCOPE}?task_id=1`, SCOPE)).toBe(true);
    for (const other of [`${SCOPE}docs`, "https://home.example/", "https://other.example/voice/"]) {
      expect(isPage(other, SCOPE)).toBe(false);
    }
  });
});

test("what a notice was about is in the page's address, once", () => {
  expect(openingOf("?task_id=t1&transport=websocket")).toEqual({ task: "t1" });
  expect(openingOf("?approval_id=a1")).toEqual({ approval: "a1" });
  expect(openingOf("?work_id=w1")).toEqual({ work: "w1" });
  expect(openingOf("?transport=websocket&task_id=")).toBeNull();
  expect(without(`${SCOPE}?task_id=t1&transport=websocket`)).toBe(`${SCOPE}?transport=websocket`);
});
