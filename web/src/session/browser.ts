/** The core with the browser's own parts in its ports. */

import { openMicrophone } from "../audio/microphone";
import { Waiting } from "../audio/waiting";
import { Choice, forcedTransport } from "../transport/choice";
import { WebRtcTransport } from "../transport/webrtc";
import { WebSocketTransport } from "../transport/websocket";
import { Api } from "../wire/api";
import { openInbox } from "../wire/inbox";
import { EventStream } from "../wire/stream";
import { Conversation } from "./conversation";

export function browserConversation(): Conversation {
  const api = new Api(document.baseURI);
  const conversation = new Conversation({
    api,
    transports: { webrtc: new WebRtcTransport(api), websocket: new WebSocketTransport(api) },
    choice: new Choice(forcedTransport(location.search)),
    openMicrophone,
    openStream: (start, listener) => new EventStream(api, start, listener),
    openInbox: (listener, signal) => openInbox(api, listener, signal),
    memory,
    pause,
    now: () => performance.now(),
  });
  const { store } = conversation;
  const waiting = new Waiting(() => new AudioContext());
  store.subscribe(() => waiting.sound(store.get().stage === "reconnecting"));
  return conversation;
}

const SEEN = "vivavoce.seen";

/** A private window may have no storage: then it is remembered as long as the page lives. */
const memory = {
  read(): string[] {
    try {
      const kept: unknown = JSON.parse(localStorage.getItem(SEEN) ?? "[]");
      return Array.isArray(kept) ? kept.filter((id) => typeof id === "string") : [];
    } catch {
      return [];
    }
  },
  write(ids: readonly string[]): void {
    try {
      localStorage.setItem(SEEN, JSON.stringify(ids));
    } catch {
      // Full or forbidden.
    }
  },
};

/** A wait that ends early when the network comes back: then it is worth a try. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      signal.removeEventListener("abort", stop);
    };
    const done = () => {
      leave();
      resolve();
    };
    const stop = () => {
      leave();
      reject(signal.reason);
    };
    const timer = setTimeout(done, ms);
    addEventListener("online", done);
    signal.addEventListener("abort", stop);
    if (signal.aborted) stop();
  });
}
