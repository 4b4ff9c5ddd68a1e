/** `GET /events` of one session: reconnects, renews its token, and never loses its place.
 *
 * EventSource reconnects by itself after a broken connection. After a refusal (the token is
 * good for ten minutes) it gives up; then we ask for a new token and begin where we were. */

import type { ServerFact } from "../session/state.js";
import { type Api, ApiError } from "./api.js";
import { EVENT_NAMES } from "./types.js";

export interface StreamStart {
  readonly sessionId: string;
  readonly token: string;
  readonly lastEventId: number;
}

export interface StreamListener {
  event(fact: ServerFact): void;
  up(): void;
  down(): void;
  /** The session is not there any more, or not ours. */
  gone(): void;
}

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 15_000;
const SILENCE_MS = 75_000; // there is a heartbeat every 30 seconds

export class EventStream {
  #source: EventSource | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #pause = FIRST_PAUSE_MS;
  #last: number;
  #closed = false;
  #silence: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly api: Api,
    private readonly start: StreamStart,
    private readonly listener: StreamListener,
    private readonly open: (url: URL) => EventSource = (url) => new EventSource(url),
  ) {
    this.#last = start.lastEventId;
    this.#connect(start.token);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#silence);
    this.#source?.close();
  }

  #connect(token: string): void {
    const url = this.api.url("events");
    url.searchParams.set("session_id", this.start.sessionId);
    url.searchParams.set("last_event_id", String(this.#last));
    url.searchParams.set("token", token);
    const source = this.open(url);
    this.#source = source;
    source.onopen = () => {
      this.#pause = FIRST_PAUSE_MS;
      this.listener.up();
    };
    // `error` is the name of an event of ours, too: that one has data, and breaks nothing.
    source.onerror = (event) => {
      if (!("data" in event)) this.#broken(source);
    };
    for (const name of EVENT_NAMES) {
      source.addEventListener(name, (raw) => this.#received(name, raw as MessageEvent<string>));
    }
    this.#listen();
  }

  /** A line that is gone may look as if nobody had anything to say. */
  #listen(): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => {
      this.#source?.close();
      this.listener.down();
      void this.#renew();
    }, SILENCE_MS);
  }

  #received(name: ServerFact["name"], raw: MessageEvent<string> | Event): void {
    if (this.#closed || !("data" in raw)) return;
    this.#listen();
    const position = Number(raw.lastEventId);
    if (position > this.#last) this.#last = position;
    const data: unknown = JSON.parse(raw.data);
    this.listener.event({ type: "event", name, data } as ServerFact);
  }

  #broken(source: EventSource): void {
    if (this.#closed || source !== this.#source) return;
    this.listener.down();
    if (source.readyState !== EventSource.CLOSED) return; // it tries again by itself
    source.close();
    clearTimeout(this.#silence);
    this.#timer = setTimeout(() => void this.#renew(), this.#pause);
    this.#pause = Math.min(2 * this.#pause, LONGEST_PAUSE_MS);
  }

  async #renew(): Promise<void> {
    try {
      const { stream_token } = await this.api.state(this.start.sessionId);
      if (!this.#closed) this.#connect(stream_token.value);
    } catch (fault) {
      if (this.#closed) return;
      if (fault instanceof ApiError && !fault.passing) return this.listener.gone();
      this.#timer = setTimeout(() => void this.#renew(), this.#pause);
      this.#pause = Math.min(2 * this.#pause, LONGEST_PAUSE_MS);
    }
  }
}
