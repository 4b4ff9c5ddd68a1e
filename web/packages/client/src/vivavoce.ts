/** The client: a conversation with the browser's own parts in its ports. */

import { openMicrophone } from "./audio/microphone";
import { Waiting } from "./audio/waiting";
import { Conversation } from "./session/conversation";
import { type Listener, type Told, Telling } from "./session/telling";
import type { State, TransportKind } from "./session/state";
import { Choice } from "./transport/choice";
import { WebRtcTransport } from "./transport/webrtc";
import { WebSocketTransport } from "./transport/websocket";
import { Api, type GetToken } from "./wire/api";
import { openInbox } from "./wire/inbox";
import { EventStream } from "./wire/stream";

export interface Options {
  /** Where the server is: `https://voice.example.org/`, with the path that a proxy puts in front. */
  readonly url: string | URL;
  /** Your user's token, fresh: asked for whenever one is sent. */
  readonly getToken?: GetToken;
  /** One way for the sound, and no other. */
  readonly transport?: TransportKind | null;
}

export class Vivavoce extends Conversation {
  readonly #telling = new Telling();

  constructor({ url, getToken, transport = null }: Options) {
    const api = new Api(String(url), undefined, getToken);
    super({
      api,
      transports: { webrtc: new WebRtcTransport(api), websocket: new WebSocketTransport(api) },
      choice: new Choice(transport),
      openMicrophone,
      openStream: (start, listener) => new EventStream(api, start, listener),
      openInbox: (listener, signal) => openInbox(api, listener, signal),
      memory,
      pause,
      now: () => performance.now(),
    });
    const waiting = new Waiting(() => new AudioContext());
    this.store.subscribe((state, before) => {
      waiting.sound(state.stage === "reconnecting");
      this.#telling.changed(state, before);
    });
  }

  get state(): State {
    return this.store.getState();
  }

  /** Calls the listener each time that happens; what it returns ends that. */
  on<Name extends keyof Told>(name: Name, listener: Listener<Name>): () => void {
    return this.#telling.on(name, listener);
  }
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
