/** What the worker does with notices: shows them, carries out their buttons with the page closed,
 * and opens the page. It says when a button did nothing. */

import { type Notice, noticeOf, placeOf, type Shown, shownOf } from "./notice";
import { said, type Words } from "./words";

const PATIENCE_MS = 15_000;
const LOOK_MS = 5000; // at what a button did, before it goes by itself

/** A window of the page. */
export interface Window {
  readonly url: string;
  focus(): Promise<unknown>;
  postMessage(message: unknown): void;
}

export interface DeskPorts {
  /** The page's own address, with the path that a proxy puts in front. */
  readonly scope: string;
  show(title: string, options: Shown): Promise<void>;
  shown(): Promise<readonly { readonly tag: string; close(): void }[]>;
  windows(): Promise<readonly Window[]>;
  open(url: string): Promise<unknown>;
  fetch(url: string, init: RequestInit): Promise<Response>;
  /** How many notices wait, on the app's icon. */
  badge(count: number): Promise<void>;
  pause(ms: number): Promise<void>;
  /** What the page left here, in its language. */
  words(): Promise<Words>;
}

/** What the page hears where it was open already. */
export interface Opened {
  readonly type: "vivavoce.opened";
  readonly url: string;
}

/** What is shown where nobody knows what there is. */
const NEWS = { kind: "", tag: "news", url: "/", key: "", expires_at: "", actions: [] };

export class Desk {
  constructor(private readonly ports: DeskPorts) {}

  /** Browsers want something to be shown for each. */
  async received(told: unknown): Promise<void> {
    const notice = noticeOf(told);
    if (notice === null) {
      const body = "There is news. Open the page to see it.";
      await this.#show({ ...NEWS, title: "Vivavoce", body, at: new Date().toISOString() });
    } else {
      await this.#show(notice);
    }
    await this.#count();
  }

  /** `action` is empty where the notice itself was clicked. */
  async clicked(notice: Notice, action: string): Promise<void> {
    if (action) await this.#acted(notice, action);
    // The window first: a browser allows one only in answer to the click.
    else await Promise.all([this.#open(notice), notice.key ? this.#seen(notice) : null]);
    await this.#count();
  }

  /** Pushed away: read, so that nobody needs to say it any more. */
  async closed(notice: Notice): Promise<void> {
    if (notice.key) await this.#seen(notice);
    await this.#count();
  }

  async #acted(notice: Notice, action: string): Promise<void> {
    let answer: Response;
    try {
      answer = await this.#post(notice, action);
    } catch {
      // The key may still be good: the same buttons again.
      return this.#say(notice, "The server did not answer. Try again.", notice.actions);
    }
    if (answer.status >= 500 || answer.status === 429) {
      return this.#say(notice, "The server could not do it now. Try again.", notice.actions);
    }
    const told = (await answer.json().catch(() => null)) as {
      said?: string;
      at?: string | null;
      error?: { message?: string };
    } | null;
    if (!answer.ok) {
      const spent = "It was answered already, or is too old for an answer.";
      const why = answer.status === 401 ? spent : (told?.error?.message ?? "That did not work.");
      return this.#say(notice, why, []);
    }
    if (told?.said) {
      await this.#say({ ...notice, at: told.at ?? notice.at }, told.said, [], true);
      await this.ports.pause(LOOK_MS);
      for (const one of await this.ports.shown()) if (one.tag === notice.tag) one.close();
    }
  }

  /** Nobody is told if that fails: the call that begins with it says it once more. */
  async #seen(notice: Notice): Promise<void> {
    await this.#post(notice, "seen").catch(() => undefined);
  }

  #post(notice: Notice, action: string): Promise<Response> {
    return this.ports.fetch(new URL("api/v1/push/actions", this.ports.scope).href, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ key: notice.key, action }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
  }

  async #open(notice: Notice): Promise<void> {
    const url = placeOf(notice.url, this.ports.scope);
    const [there] = await this.ports.windows();
    if (!there) return void (await this.ports.open(url));
    await there.focus().catch(() => undefined);
    there.postMessage({ type: "vivavoce.opened", url } satisfies Opened);
  }

  /** In the place of the notice, with these of its buttons. */
  async #say(
    notice: Notice,
    body: string,
    actions: Notice["actions"],
    silent = false,
  ): Promise<void> {
    const left = actions.length > 0 ? notice : { ...notice, key: "" }; // nothing more can be done
    const words = said(await this.ports.words(), body, notice.at);
    const shown = { silent, renotify: !silent, body: words };
    return this.#show({ ...left, body, actions }, shown);
  }

  async #show(notice: Notice, how: Partial<Shown> = {}): Promise<void> {
    const words = await this.ports.words();
    const say = (text: string, at: string | null = null) => said(words, text, at);
    const own = notice.kind === "reminder"; // what it is called is the user's
    const title = own ? (words[notice.title] ?? notice.title) : say(notice.title);
    await this.ports.show(title, { ...shownOf(notice, this.ports.scope, say), ...how });
  }

  async #count(): Promise<void> {
    await this.ports.badge((await this.ports.shown()).length);
  }
}
