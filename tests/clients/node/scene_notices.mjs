// Notices in a real browser: our page subscribes, is closed, and its service worker does the rest.
//
// This browser has neither a vendor with a push service behind it nor a desktop to show notices on.
// So a push service of the test's own takes their place: it reads what the server sent as a browser
// would, and the browser's own debugger hands it to the worker as a push event. What the worker
// would show is kept in a list; who clicks there is the scene.

import { openBrowser, openPage } from "./browser.mjs";
import { given, play, tell, until } from "./scene.mjs";

const LIMIT = { timeout: 60_000 };
const at = (name) => `[data-testid="${name}"]`;

// Runs in the page before its own scripts: what its vendor's push service would answer.
function subscribed({ endpoint, keys }) {
  const NAME = "of the browser itself";
  const bytes = (text) =>
    Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
  const known = () => {
    const key = localStorage.getItem(NAME);
    if (key === null) return null;
    return {
      endpoint,
      options: { applicationServerKey: bytes(key).buffer },
      toJSON: () => ({ endpoint, expirationTime: null, keys }),
      unsubscribe: async () => localStorage.removeItem(NAME) === undefined,
    };
  };
  Object.defineProperty(Notification, "permission", {
    get: () => (localStorage.getItem(`${NAME}: permission`) ?? "default"),
  });
  Notification.requestPermission = async () => {
    localStorage.setItem(`${NAME}: permission`, "granted");
    return "granted";
  };
  PushManager.prototype.getSubscription = async () => known();
  PushManager.prototype.subscribe = async ({ applicationServerKey }) => {
    localStorage.setItem(NAME, applicationServerKey);
    return known();
  };
}

// Runs in the worker each time that the browser starts it: a desktop, with what lies on it.
function onDesktop(there) {
  if (self.desktop) return;
  self.desktop = there.map((one) => ({
    ...one,
    close: () => (self.desktop = self.desktop.filter(({ tag }) => tag !== one.tag)),
  }));
  self.windows = [];
  self.registration.showNotification = async (title, { tag = "", body, data, actions = [] }) => {
    const close = () => (self.desktop = self.desktop.filter((one) => one !== shown));
    const shown = { title, tag, body, data, actions, close };
    self.desktop = [...self.desktop.filter((one) => !tag || one.tag !== tag), shown];
  };
  self.registration.getNotifications = async () => self.desktop;
  // Without a desktop this browser ends a worker that wants a number on an icon.
  self.navigator.setAppBadge = async (count) => void (self.badge = count);
  self.navigator.clearAppBadge = async () => void (self.badge = 0);
  self.clients.openWindow = async (url) => self.windows.push(url);
  /** action: empty for the notice itself. */
  self.click = async (action) => {
    const done = [];
    const notification = self.desktop.at(-1);
    const waitUntil = (promise) => done.push(promise);
    const event = Object.assign(new Event("notificationclick"), { action, notification, waitUntil });
    self.dispatchEvent(event);
    await Promise.all(done);
  };
}

async function asked(method, path, body) {
  const answer = await fetch(new URL(path, given.page), {
    method,
    headers: { "content-type": "application/json" },
    body: body && JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return text ? JSON.parse(text) : null;
}

play(async () => {
  const browser = await openBrowser(given);
  let arrived = 0;
  let page = null;
  try {
    const context = await browser.newContext({ locale: given.locale ?? "en-US" });
    const { origin } = new URL(given.page);
    const opened = async (url) => {
      page = await openPage(context, given);
      await page.addInitScript(subscribed, given.browser);
      page.on("request", (request) => {
        if (request.method() === "POST" && request.url().endsWith("/api/v1/voice/session")) {
          tell("session", { body: request.postDataJSON() });
        }
      });
      await page.goto(url);
    };

    // Another tab, of nobody's: the debugger speaks through it, and our page can be closed.
    const other = await context.newPage();
    const debug = await context.newCDPSession(other);
    let registration = null;
    debug.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => {
      registration = registrations.find(({ scopeURL }) => scopeURL.startsWith(origin)) ?? registration;
    });
    await debug.send("ServiceWorker.enable");
    let desktop = [];
    /** In the worker, which the browser ends and starts as it likes. */
    const inWorker = async (what, argument) => {
      const end = Date.now() + LIMIT.timeout;
      for (;;) {
        try {
          await debug.send("ServiceWorker.startWorker", { scopeURL: registration.scopeURL });
          await until("the worker", () => context.serviceWorkers().length > 0);
          const worker = context.serviceWorkers().at(-1);
          await worker.evaluate(onDesktop, desktop);
          const answer = await worker.evaluate(what, argument);
          const plain = () => self.desktop.map(({ close, ...one }) => one);
          desktop = await worker.evaluate(plain);
          return answer;
        } catch (fault) {
          if (!/restarted|closed/.test(fault.message) || Date.now() > end) throw fault;
          await other.waitForTimeout(50);
        }
      }
    };

    const STEPS = {
      async open() {
        await opened(given.page);
        await page.evaluate(() => navigator.serviceWorker.ready.then(() => null));
        await until("its registration", () => registration !== null);
      },
      async subscribe() {
        await page.click(at("open-settings"), LIMIT);
        await page.click(at("notices-switch"), LIMIT);
        await page.waitForSelector(`${at("notices")}[data-status="on"]`, LIMIT);
        await fetch(`${given.push}/key`, {
          method: "POST",
          body: (await asked("GET", "/api/v1/push")).public_key,
        });
      },
      async close() {
        await page.close();
        page = null;
      },
      async due(title, seconds) {
        const scheduled_at = new Date(Date.now() + 1000 * seconds).toISOString();
        tell("todo", await asked("POST", "/api/v1/tasks", { title, scheduled_at }));
      },
      async write(words) {
        const { id } = await asked("POST", "/api/v1/conversations", {});
        await asked("POST", `/api/v1/conversations/${id}/messages`, { content: words, wait_seconds: 0 });
      },
      /** The next one: from the server, by the push service, to the worker. */
      async arrives() {
        arrived += 1;
        const data = await (await fetch(`${given.push}/arrived/${arrived}`)).text();
        const { registrationId } = registration;
        await inWorker(() => null);
        await debug.send("ServiceWorker.deliverPushMessage", { origin, registrationId, data });
        const { title } = JSON.parse(data);
        const end = Date.now() + LIMIT.timeout;
        let badge = 0;
        while (!badge || !desktop.some((one) => one.title === title)) {
          if (Date.now() > end) throw new Error(`it is not shown: ${data}`);
          await other.waitForTimeout(50);
          badge = await inWorker(() => self.badge);
        }
        tell("shown", { badge, desktop: desktop.map(({ title, body, actions }) => ({ title, body, actions })) });
      },
      async press(action) {
        await inWorker((name) => self.click(name), action);
        tell("pressed", { action, left: desktop.map(({ body }) => body) });
      },
      /** The notice itself is clicked; the window that it opens is ours. */
      async into(allowed) {
        const url = await inWorker(() => self.click("").then(() => self.windows.at(-1)));
        if (allowed) await context.grantPermissions(["microphone"], { origin });
        tell("opened", { url });
        await opened(url);
      },
      /** The notice itself is clicked while the page is open: no other window comes. */
      async forward() {
        const windows = await inWorker(() => self.click("").then(() => self.windows.length));
        tell("forward", { windows });
      },
      state: (name) =>
        page.waitForFunction((wanted) => document.body.dataset.state === wanted, name, LIMIT),
      async sees(name, words) {
        await page.waitForFunction(
          ([place, part]) => document.querySelector(place)?.textContent.includes(part),
          [at(name), words],
          LIMIT,
        );
      },
      click: (name) => page.click(at(name), LIMIT),
      async address() {
        tell("address", { search: await page.evaluate(() => location.search) });
      },
      shot: (path) => page.screenshot({ path }),
    };

    for (const [what, ...more] of given.steps) {
      tell("step", { what, more });
      await STEPS[what](...more);
    }
  } finally {
    if (page && given.screenshot) await page.screenshot({ path: given.screenshot });
    await browser.close();
  }
});
