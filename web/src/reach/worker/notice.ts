/** A notice as the server sends it (docs/push.md), and what is shown of it. Pure. */

const VERSION = 1;

export interface Notice {
  readonly kind: string;
  /** The same for the same matter: a newer one takes the place of the older. */
  readonly tag: string;
  readonly title: string;
  readonly body: string;
  readonly at: string;
  /** Where a click leads, below the page's own address. */
  readonly url: string;
  readonly key: string;
  readonly expires_at: string;
  readonly actions: readonly { readonly action: string; readonly title: string }[];
}

/** What a notification can have and TypeScript's list leaves out. */
export interface Shown extends NotificationOptions {
  readonly actions?: readonly { action: string; title: string }[];
  readonly renotify?: boolean;
  readonly timestamp?: number;
  readonly data: Notice;
}

/** Null where it is none of ours, or of a server that is newer than this worker. */
export function noticeOf(told: unknown): Notice | null {
  if (typeof told !== "object" || told === null) return null;
  const notice = told as Partial<Notice> & { v?: unknown };
  const words = [notice.tag, notice.title, notice.body, notice.url, notice.key];
  if (notice.v !== VERSION || !words.every((one) => typeof one === "string")) return null;
  return { ...notice, actions: Array.isArray(notice.actions) ? notice.actions : [] } as Notice;
}

/** Whose body is somebody's own words, and no sentence of the server's. */
const QUOTING = ["approval", "question", "task"];

/** `say` has what is English in the user's language, where it is known. */
export function shownOf(
  notice: Notice,
  scope: string,
  say: (text: string, at?: string) => string,
): Shown {
  const { tag, body, kind } = notice;
  return {
    body: QUOTING.includes(kind) ? body : say(body, notice.at),
    tag,
    renotify: true,
    timestamp: Date.parse(notice.at),
    icon: new URL("icon-192.png", scope).href,
    badge: new URL("badge-96.png", scope).href,
    // Somebody waits for an answer; that something ended can be read later.
    requireInteraction: kind !== "task",
    actions: notice.actions.map(({ action, title }) => ({ action, title: say(title) })),
    data: notice,
  };
}

/** Never another place than this page's, whatever the notice says. */
export function placeOf(url: string, scope: string): string {
  const place = new URL(url.replace(/^\/+/, ""), scope);
  return place.href.startsWith(scope) ? place.href : scope;
}
