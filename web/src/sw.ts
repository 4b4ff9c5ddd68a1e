/** The page's service worker: keeps the page for when there is no network, and is there for
 * notices while no page is open. What it decides is in `reach/worker`; here are the browser's events. */

/// <reference lib="webworker" />
import { cleanupOutdatedCaches, getCacheKeyForURL, matchPrecache, precache } from "workbox-precaching";
import { Desk } from "./reach/worker/desk";
import type { Notice } from "./reach/worker/notice";
import { isPage, page } from "./reach/worker/shell";
import { WORDS, type Words } from "./reach/worker/words";

declare const self: ServiceWorkerGlobalScope & {
  readonly __WB_MANIFEST: { url: string; revision: string | null }[];
};

const { scope } = self.registration;
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

// --- Without a network -----------------------------------------------------------------------

cleanupOutdatedCaches();
precache(self.__WB_MANIFEST);

// The first one serves the page that installed it. A newer one waits until the last window of the
// older page is closed, since that may still want its own files.
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

const kept = () => matchPrecache(scope);
const shell = { fetch: (request: Request) => fetch(request), kept, pause };

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET") return;
  if (request.mode === "navigate") {
    if (isPage(request.url, scope)) event.respondWith(page(request, shell));
  } else if (request.url !== scope && getCacheKeyForURL(request.url)) {
    // Its name changes with its content: what is kept is what the server has.
    event.respondWith(matchPrecache(request).then((found) => found ?? fetch(request)));
  }
});

// --- Notices ---------------------------------------------------------------------------------

const desk = new Desk({
  scope,
  show: (title, options) => self.registration.showNotification(title, options),
  shown: () => self.registration.getNotifications(),
  windows: () => self.clients.matchAll({ type: "window", includeUncontrolled: true }).then(latest),
  open: (url) => self.clients.openWindow(url),
  fetch: (url, init) => fetch(url, init),
  badge: async (count) => {
    if (!("setAppBadge" in self.navigator)) return;
    // Some have it and refuse it where the page is not installed.
    await (count ? self.navigator.setAppBadge(count) : self.navigator.clearAppBadge()).catch(() => undefined);
  },
  pause,
  words: async () => {
    const left = await caches.match(new URL(WORDS, scope));
    return left ? ((await left.json()) as Words) : {};
  },
});

/** The page's own, the one that was looked at last before all others. */
function latest(windows: readonly WindowClient[]): WindowClient[] {
  return windows.filter(({ url }) => isPage(url, scope));
}

self.addEventListener("push", (event) => {
  event.waitUntil(desk.received(told(event.data)));
});

function told(data: PushMessageData | null): unknown {
  try {
    return data?.json();
  } catch {
    return null; // of a server that is newer than this worker
  }
}

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(desk.clicked(event.notification.data as Notice, event.action));
});

self.addEventListener("notificationclose", (event) => {
  event.waitUntil(desk.closed(event.notification.data as Notice));
});
