/** The page beyond its window: its service worker, notices, the badge, and what a notice opens. */

import {
  busy,
  deviceName,
  missingHere,
  Notices,
  questionsOf,
  type Readable,
  type State,
  type TodoView,
  type Vivavoce,
} from "@vivavoce/client";
import { createStore } from "zustand/vanilla";
import { go } from "../app/place";
import { i18n } from "../words/i18n";
import { type Opening, openingOf, without } from "./opening";
import { leaveWords } from "./words";
import type { Opened } from "./worker/desk";

const UPDATE_MS = 60 * 60 * 1000; // a page that stays open asks so often whether there is a newer one

/** What a notice was about, until somebody did something with it. */
export interface Preloaded {
  readonly task: string;
  readonly title: string;
}

/** Chromium's, before it would offer to install the page. */
interface InstallPrompt extends Event {
  prompt(): Promise<unknown>;
}

export interface ReachState {
  readonly preloaded: Preloaded | null;
  readonly installable: boolean;
}

export class Reach {
  readonly #store = createStore<ReachState>(() => ({ preloaded: null, installable: false }));
  readonly store: Readable<ReachState> = this.#store;
  readonly notices: Notices;
  #prompt: InstallPrompt | null = null;
  #registration: Promise<ServiceWorkerRegistration | null>;

  constructor(private readonly client: Vivavoce) {
    this.#registration = registered();
    this.notices = new Notices({
      api: client.api,
      registered: () => this.#registration,
      permission: () => Notification.permission,
      ask: () => Notification.requestPermission(),
      missing: missingHere,
      device: deviceName(navigator.userAgent),
    });
  }

  start(): void {
    i18n.on("change", () => void leaveWords(i18n));
    addEventListener("beforeinstallprompt", (event) => {
      event.preventDefault(); // the page has a button of its own
      this.#prompt = event as InstallPrompt;
      this.#set({ installable: true });
    });
    addEventListener("appinstalled", () => this.#installed());
    navigator.serviceWorker?.addEventListener("message", ({ data }: MessageEvent<Partial<Opened>>) => {
      const opening = data.type === "vivavoce.opened" && data.url && openingOf(new URL(data.url).search);
      if (opening) this.#opened(opening);
    });
    document.addEventListener("visibilitychange", () => this.#badge(this.client.state));
    this.client.store.subscribe((now, before) => {
      if (waiting(now) !== waiting(before)) this.#badge(now);
      if (before.stage === "locked" && now.stage !== "locked") void this.notices.look();
      if (busy(now) && this.#store.getState().preloaded) this.#set({ preloaded: null });
    });
    void this.notices.look();
    const opening = openingOf(location.search);
    if (opening === null) return;
    history.replaceState(history.state, "", without(location.href));
    this.#opened(opening);
  }

  /** A talk about what was due. */
  talk(): void {
    const { preloaded } = this.#store.getState();
    if (preloaded) this.#talkAbout(preloaded.task);
  }

  leave(): void {
    this.#set({ preloaded: null });
  }

  async install(): Promise<void> {
    await this.#prompt?.prompt();
    this.#installed(); // a prompt works once
  }

  /** A notice that was clicked: what it was about comes first. */
  #opened({ task, work }: Opening): void {
    go(work ? "work" : "talk"); // what waits for a yes is shown at every place
    if (task && !busy(this.client.state)) void this.#begin(task);
  }

  /** By voice at once where the browser need not ask for the microphone; else with one press. */
  async #begin(task: string): Promise<void> {
    if (await microphoneAllowed()) return this.#talkAbout(task);
    this.#set({ preloaded: { task, title: "" } });
    const title = await this.client.api.get<TodoView>(`api/v1/tasks/${encodeURIComponent(task)}`).then(
      (found) => found.title,
      () => "", // a server that does not answer says so elsewhere
    );
    if (this.#store.getState().preloaded?.task === task) this.#set({ preloaded: { task, title } });
  }

  #talkAbout(task: string): void {
    this.client.forget(); // it is a talk of its own
    this.client.start({ task });
  }

  /** What waits for somebody, on the app's icon; while nobody looks the worker counts. */
  #badge(state: State): void {
    if (document.visibilityState !== "visible") return;
    void this.#tidy(state);
    if (!matchMedia("(display-mode: standalone)").matches) return; // a tab has no icon
    const count = waiting(state);
    void (count ? navigator.setAppBadge?.(count) : navigator.clearAppBadge?.())?.catch(() => undefined);
  }

  /** What was settled here, or by voice, is no news any more: its notice goes. */
  async #tidy({ work }: State): Promise<void> {
    const found = await (await this.#registration)?.getNotifications();
    for (const one of found ?? []) {
      const [kind, id = ""] = one.tag.split(/:(.*)/s);
      const settled = work.settled.includes(id) || work.seen.includes(id);
      if (settled && kind !== "news") one.close();
    }
  }

  #installed(): void {
    this.#prompt = null;
    this.#set({ installable: false });
  }

  #set(news: Partial<ReachState>): void {
    this.#store.setState(news);
  }
}

/** How many things wait for the user. */
function waiting({ work }: State): number {
  return work.due.length + work.approvals.length + questionsOf(work).length;
}

async function registered(): Promise<ServiceWorkerRegistration | null> {
  // While the page is being written, a worker would show what it was.
  if (import.meta.env.DEV || !("serviceWorker" in navigator)) return null;
  try {
    const url = new URL("sw.js", document.baseURI);
    const registration = await navigator.serviceWorker.register(url, { updateViaCache: "none" });
    let asked = Date.now();
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState !== "visible" || Date.now() - asked < UPDATE_MS) return;
      asked = Date.now();
      void registration.update().catch(() => undefined); // there is no network just now
    });
    return await navigator.serviceWorker.ready;
  } catch {
    return null; // as in a private window: the page is whole without
  }
}

async function microphoneAllowed(): Promise<boolean> {
  try {
    const name = "microphone" as PermissionName; // which TypeScript's list leaves out
    return (await navigator.permissions.query({ name })).state === "granted";
  } catch {
    return false;
  }
}
