/** Notices for when no page is open: whether this browser takes them, and the way there and back.
 * They are shown by the page's service worker (docs/push.md). */

import { faultWords } from "../session/faults.js";
import { type Readable, type Store, storeOf } from "../session/store.js";
import { type Api, ApiError } from "../wire/api.js";
import type { Browser, PushResponse } from "../wire/types.js";

const DOOR = "api/v1/push/subscriptions";

/** `unsupported`: this browser cannot, `problem` says why. `unavailable`: the server sends none.
 * `blocked`: the user said no, and only the browser's settings take that back. */
export type NoticesStatus = "unknown" | "unsupported" | "unavailable" | "blocked" | "off" | "asking" | "on";

export interface NoticesState {
  readonly status: NoticesStatus;
  readonly problem: string | null;
}

/** What of the browser is needed; other things in tests. */
export interface NoticesPorts {
  readonly api: Pick<Api, "get" | "change">;
  /** Null where there is no service worker, with why. */
  readonly registered: () => Promise<Pick<ServiceWorkerRegistration, "pushManager"> | null>;
  readonly permission: () => NotificationPermission;
  readonly ask: () => Promise<NotificationPermission>;
  /** Why this browser has no notices, or null. */
  readonly missing: () => string | null;
  /** What the user calls it: "Chrome on Android". */
  readonly device: string;
}

export class Notices {
  readonly #store: Store<NoticesState> = storeOf<NoticesState>({ status: "unknown", problem: null });
  readonly store: Readable<NoticesState> = this.#store;
  #id: string | null = null;

  constructor(private readonly ports: NoticesPorts) {}

  /** What is so, at the page's start and after each login. A browser that takes notices is told to
   * the server again: its address may be another by now, and so may its user and their role. */
  async look(): Promise<void> {
    const missing = this.ports.missing();
    if (missing !== null) return this.#is("unsupported", missing);
    if (this.ports.permission() === "denied") return this.#is("blocked");
    try {
      const worker = await this.ports.registered();
      if (worker === null) return this.#is("unsupported", "This page's service worker does not run.");
      const known = await worker.pushManager.getSubscription();
      if (known === null || this.ports.permission() !== "granted") {
        await this.#server(); // one that sends none is not asked for any
        return this.#is("off");
      }
      await this.#tell(worker);
    } catch (fault) {
      this.#failed(fault, "off");
    }
  }

  /** Asks the user, so only in answer to a click of theirs. */
  async turnOn(): Promise<void> {
    const missing = this.ports.missing();
    if (missing !== null) return this.#is("unsupported", missing);
    this.#is("asking");
    const answer = await this.ports.ask();
    if (answer !== "granted") return this.#is(answer === "denied" ? "blocked" : "off");
    try {
      const worker = await this.ports.registered();
      if (worker === null) return this.#is("unsupported", "This page's service worker does not run.");
      await this.#tell(worker);
    } catch (fault) {
      this.#failed(fault, "off");
    }
  }

  /** The server forgets this browser first: it must not write to one that nobody reads. */
  async turnOff(): Promise<void> {
    try {
      const worker = await this.ports.registered();
      if (this.#id !== null) await this.ports.api.change("DELETE", `${DOOR}/${this.#id}`).catch(gone);
      this.#id = null;
      await (await worker?.pushManager.getSubscription())?.unsubscribe();
      this.#is("off");
    } catch (fault) {
      this.#failed(fault, "on");
    }
  }

  async #tell({ pushManager }: Pick<ServiceWorkerRegistration, "pushManager">): Promise<void> {
    const { public_key: key } = await this.#server();
    let known = await pushManager.getSubscription();
    if (known && !sameKey(known.options.applicationServerKey, key)) {
      await known.unsubscribe(); // a server with another key cannot write to it
      known = null;
    }
    known ??= await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
    const told = { ...known.toJSON(), device: this.ports.device };
    this.#id = (await this.ports.api.change<Browser>("POST", DOOR, told))?.id ?? null;
    this.#is("on");
  }

  #server(): Promise<PushResponse> {
    return this.ports.api.get("api/v1/push");
  }

  #is(status: NoticesStatus, problem: string | null = null): void {
    this.#store.setState({ status, problem }, true);
  }

  #failed(fault: unknown, otherwise: NoticesStatus): void {
    if (fault instanceof ApiError && fault.status === 503) return this.#is("unavailable", fault.message);
    if (fault instanceof ApiError && fault.status === 401) return this.#is("off"); // not logged in yet
    this.#is(otherwise, faultWords(fault));
  }
}

function gone(fault: unknown): void {
  if (!(fault instanceof ApiError) || fault.status !== 404) throw fault;
}

function sameKey(known: ArrayBuffer | null, key: string): boolean {
  if (known === null) return true; // a browser that does not tell
  const text = btoa(String.fromCharCode(...new Uint8Array(known)));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "") === key.replaceAll("=", "");
}

/** Why a browser has no notices, in words for its user. */
export function missingHere(): string | null {
  if (!globalThis.isSecureContext) {
    return "Notices need a page that is served by https.";
  }
  if (!("serviceWorker" in navigator)) return "This browser has no service workers.";
  if ("PushManager" in globalThis && "Notification" in globalThis) return null;
  return /iPad|iPhone/.test(navigator.userAgent)
    ? "On an iPhone or iPad, add this page to the home screen first, and open it from there."
    : "This browser takes no notices.";
}

/** "Firefox on Android", so that somebody with several knows which is which. */
export function deviceName(agent: string): string {
  const browser = BROWSERS.find(([mark]) => agent.includes(mark))?.[1] ?? "A browser";
  const system = SYSTEMS.find(([mark]) => agent.includes(mark))?.[1];
  return system ? `${browser} on ${system}` : browser;
}

// The first that is found: most say that they are those further down, too.
const BROWSERS = [
  ["Edg", "Edge"],
  ["OPR", "Opera"],
  ["SamsungBrowser", "Samsung Internet"],
  ["Firefox", "Firefox"],
  ["FxiOS", "Firefox"],
  ["CriOS", "Chrome"],
  ["Chrome", "Chrome"],
  ["Safari", "Safari"],
] as const;
const SYSTEMS = [
  ["Android", "Android"],
  ["iPhone", "iPhone"],
  ["iPad", "iPad"],
  ["CrOS", "ChromeOS"],
  ["Windows", "Windows"],
  ["Mac OS X", "Mac"],
  ["Linux", "Linux"],
] as const;
