/** The client: a conversation with the browser's own parts in its ports. */

import { type Devices, openMicrophone } from "./audio/microphone.js";
import { Waiting } from "./audio/waiting.js";
import { Conversation, type Ports } from "./session/conversation.js";
import { PlaceMemory, placeOf } from "./session/place.js";
import { type Listener, type Told, Telling } from "./session/telling.js";
import { INITIAL, type State, type TransportKind } from "./session/state.js";
import { Choice } from "./transport/choice.js";
import { WebRtcTransport } from "./transport/webrtc.js";
import { WebSocketTransport } from "./transport/websocket.js";
import { Api, ApiError, type Wording } from "./wire/api.js";
import { openInbox } from "./wire/inbox.js";
import { EventStream } from "./wire/stream.js";
import type { GetToken } from "./wire/tokens.js";

export interface Options {
  /** Where the server is: `https://voice.example.org/`, with the path that a proxy puts in front. */
  readonly url: string | URL;
  /** Your user's token, fresh: asked for whenever one is sent. */
  readonly getToken?: GetToken;
  /** One way for the sound, and no other. */
  readonly transport?: TransportKind | null;
  /** Which microphone and which loudspeaker; `devices` changes it for the next call. */
  readonly devices?: Devices;
  /** What the server says of its faults, in your user's language; without it, in English. */
  readonly wording?: Wording;
}

/** A conversation with a Vivavoce server, by voice and in writing. */
export class Vivavoce extends Conversation {
  readonly #telling = new Telling();
  readonly #place: PlaceMemory;
  readonly #over: (() => void)[] = [];
  #leaving = false;

  /** For the next call. */
  devices: Devices;

  constructor({ url, getToken, transport = null, devices = {}, wording }: Options) {
    const base = new URL(url, globalThis.document?.baseURI);
    const api = new Api(base.href, undefined, getToken, wording);
    const ports: Ports = {
      api,
      transports: { webrtc: new WebRtcTransport(api), websocket: new WebSocketTransport(api) },
      choice: new Choice(transport),
      openMicrophone: () => openMicrophone(this.devices),
      openStream: (start, listener) => new EventStream(api, start, listener),
      openInbox: (listener, signal) => openInbox(api, listener, signal),
      memory,
      pause,
      now: () => performance.now(),
    };
    super(ports, { ...INITIAL, stage: "idle" }); // nobody is asked before somebody wants something
    this.devices = devices;
    this.#place = new PlaceMemory(`vivavoce.place ${base.href}`);
    this.#watchPage();
  }

  /** What is so now; `store.subscribe` tells of every change. */
  get state(): State {
    return this.store.getState();
  }

  /** Calls the listener each time that happens; what it returns ends that. */
  on<Name extends keyof Told>(name: Name, listener: Listener<Name>): () => void {
    return this.#telling.on(name, listener);
  }

  /** After a reload: shows the conversation of before, and goes on by voice if the user talked and
   * the browser need not ask for the microphone. False if there was none. */
  async recall(): Promise<boolean> {
    const place = this.#place.read();
    if (place === null) return false;
    const asks = place.talking && !(await microphoneAllowed());
    if (place.talking && !asks) this.resume(place.conversation);
    else {
      try {
        await this.show(place.conversation);
      } catch (fault) {
        if (!(fault instanceof ApiError) || fault.status !== 404) throw fault;
        this.forget(); // it was deleted
        return false;
      }
    }
    return true;
  }

  /** Ends what is on, and hears of nothing any more. */
  async dispose(): Promise<void> {
    for (const end of this.#over.splice(0)) end();
    this.work.close();
    await this.stop();
  }

  #watchPage(): void {
    const waiting = new Waiting(() => new AudioContext());
    const unsubscribe = this.store.subscribe((state, before) => {
      waiting.sound(state.stage === "reconnecting");
      if (!this.#leaving) this.#place.write(placeOf(state));
      this.#telling.changed(state, before);
    });
    // The page may be loaded anew, and then goes on; where it is closed for good, the call is over.
    const leave = () => {
      this.#leaving = true;
      void this.stop();
    };
    const back = () => {
      this.#leaving = false;
    };
    globalThis.addEventListener?.("pagehide", leave);
    globalThis.addEventListener?.("pageshow", back);
    this.#over.push(unsubscribe, () => {
      waiting.sound(false);
      globalThis.removeEventListener?.("pagehide", leave);
      globalThis.removeEventListener?.("pageshow", back);
    });
  }
}

/** May it be opened without a question to the user? */
async function microphoneAllowed(): Promise<boolean> {
  try {
    const name = "microphone" as PermissionName; // which TypeScript's list leaves out
    return (await navigator.permissions.query({ name })).state === "granted";
  } catch {
    return false;
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

/** A wait that ends early when the network comes back, or somebody looks at the page again: then it
 * is worth a try. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      document.removeEventListener("visibilitychange", seen);
      signal.removeEventListener("abort", stop);
    };
    const done = () => {
      leave();
      resolve();
    };
    const seen = () => {
      if (document.visibilityState === "visible") done();
    };
    const stop = () => {
      leave();
      reject(signal.reason);
    };
    const timer = setTimeout(done, ms);
    addEventListener("online", done);
    document.addEventListener("visibilitychange", seen);
    signal.addEventListener("abort", stop);
    if (signal.aborted) stop();
  });
}
