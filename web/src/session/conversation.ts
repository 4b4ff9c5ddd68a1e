/** One button's worth of behaviour: start, keep going, stop. The core of the page.
 *
 * It owns the store and the order of things; what they are done with comes in through ports,
 * so that all of it runs without a browser in the tests. */

import { type Microphone, MicrophoneRefused } from "../audio/microphone";
import type { Choice } from "../transport/choice";
import { deferred, type Transport } from "../transport/transport";
import { type Api, ApiError } from "../wire/api";
import type { StreamListener, StreamStart } from "../wire/stream";
import type { SessionResponse } from "../wire/types";
import { orAborted } from "./aborting";
import { keepCalling } from "./line";
import { type Pause, untilReady } from "./readiness";
import { reduce } from "./reducer";
import { type Fact, INITIAL, type ServerFact, type State, type TransportKind } from "./state";
import { createStore, type Store, until } from "./store";

export interface Ports {
  readonly api: Api;
  readonly transports: Readonly<Record<TransportKind, Transport>>;
  readonly choice: Choice;
  readonly openMicrophone: () => Promise<Microphone>;
  readonly openStream: (start: StreamStart, listener: StreamListener) => { close(): void };
  readonly pause: Pause;
  readonly now: () => number;
}

const MARGIN_S = 10; // before the cap, quiet or not
const FAREWELL_MS = 2000; // for how the last answer ended
const QUIET = ["ready", "waiting_task"];

type Tell = (fact: Fact) => void;

export class Conversation {
  readonly store: Store<State> = createStore(INITIAL);
  #life: AbortController | null = null;
  #done: Promise<void> = Promise.resolve();
  #microphone: Microphone | null = null;
  #talkWanted = false;

  constructor(private readonly ports: Ports) {}

  /** Before anybody pressed anything: is the server there yet? */
  watch(): void {
    this.#talkWanted = false;
    this.#live((_life, tell, signal) => this.#ready(tell, signal));
  }

  start(): void {
    this.#talkWanted = true;
    this.#live((life, tell) => this.#converse(life, tell));
  }

  /** At once for whoever looks; resolves when everything is closed and the server knows. */
  async stop(): Promise<void> {
    const done = this.#done;
    this.#tell({ type: "stopped" });
    this.#life?.abort(); // its place is kept: it may still tell how the last answer ended
    if (this.store.get().stage === "loading") this.watch();
    await done;
  }

  /** The server's token, where it asks for one. If it is right, what was wanted goes on. */
  unlock(token: string): void {
    const { api } = this.ports;
    const wanted = this.#talkWanted;
    this.#live(async (_life, tell, signal) => {
      tell({ type: "locked", why: null });
      api.token = token;
      try {
        await api.check(signal);
      } catch (fault) {
        api.token = null;
        signal.throwIfAborted();
        return tell({ type: "locked", why: refusedToken(fault) });
      }
      tell({ type: "stopped" });
      if (wanted) this.start();
      else this.watch();
    });
  }

  /** How loud the microphone is; 0 while it is closed. */
  level(): number {
    return this.#microphone?.level() ?? 0;
  }

  readonly #tell: Tell = (fact) => this.store.set(reduce(this.store.get(), fact));

  /** One thing at a time: what begins takes the place of what was, and of its voice too. */
  #live(run: (life: AbortController, tell: Tell, signal: AbortSignal) => Promise<void>): void {
    this.#life?.abort();
    const life = new AbortController();
    this.#life = life;
    const tell: Tell = (fact) => {
      if (this.#life === life) this.#tell(fact);
    };
    this.#done = run(life, tell, life.signal)
      .catch((fault: unknown) => tell(outcome(fault, life.signal)))
      .finally(() => life.abort()); // whatever still hangs on it
  }

  async #converse(life: AbortController, tell: Tell): Promise<void> {
    const { signal } = life;
    tell({ type: "microphone.asked" });
    const microphone = await orAborted(this.ports.openMicrophone(), signal, (late) => late.close());
    this.#microphone = microphone;
    let visit: Visit | null = null;
    try {
      void microphone.lost.then(() => {
        life.abort(new MicrophoneRefused("The microphone is gone. Plug it in, then try again."));
      });
      tell({ type: "call.placing", transport: null });
      await this.#ready(tell, signal);
      const opened = await this.#opened(signal);
      visit = new Visit(this.ports, this.store, life, tell, opened.session_id);
      visit.follow(opened.stream_token.value, opened.last_event_id);
      const { newKey, moveWanted } = visit;
      const line = { ...this.ports, microphone, tell, newKey, moveWanted };
      await keepCalling(line, opened.client_secret.value, signal);
    } finally {
      if (this.#microphone === microphone) this.#microphone = null;
      microphone.close();
      await visit?.leave();
    }
  }

  #opened(signal: AbortSignal): Promise<SessionResponse> {
    const { api } = this.ports;
    return orAborted(api.createSession(), signal, (late) => {
      void api.end(late.session_id).catch(() => undefined);
    });
  }

  async #ready(tell: Tell, signal: AbortSignal): Promise<void> {
    const { api, pause } = this.ports;
    await untilReady(api, (loading) => tell({ type: "server.waiting", loading }), pause, signal);
    tell({ type: "server.ready" });
  }
}

/** One session of the server's while it lasts: its stream, its keys, its moves, its end. */
class Visit {
  #ended = false;
  readonly #farewell = deferred();
  #statuses = 0;
  #stream: { close(): void } | null = null;
  // Once a new call is asked for: how soon. Already too late where the session was lost.
  readonly #secondsLeft = createStore<number | "lost" | null>(null);

  constructor(
    private readonly ports: Ports,
    private readonly store: Store<State>,
    private readonly life: AbortController,
    private readonly tell: Tell,
    private sessionId: string,
  ) {}

  follow(token: string, lastEventId: number): void {
    this.#stream?.close();
    this.#stream = this.ports.openStream(
      { sessionId: this.sessionId, token, lastEventId },
      {
        event: (fact) => this.#heard(fact),
        up: () => {
          this.tell({ type: "stream.up" });
          void this.#readState();
        },
        down: () => this.tell({ type: "stream.down" }),
        gone: () => this.life.abort(new Error("The server does not know this session any more.")),
      },
    );
  }

  /** Tells the server, and waits for its last words if somebody hung up on an answer. */
  async leave(): Promise<void> {
    const { api, pause } = this.ports;
    try {
      if (this.#ended) return;
      const told = await api.end(this.sessionId).then(
        () => true,
        () => false,
      );
      if (!told || !hungUp(this.life.signal)) return;
      const patience = new AbortController();
      const late = pause(FAREWELL_MS, patience.signal).catch(() => undefined);
      await Promise.race([this.#farewell.promise, late]);
      patience.abort();
    } finally {
      this.#stream?.close();
    }
  }

  readonly newKey = async (): Promise<string> => {
    const answer = await this.ports.api.reconnect(this.sessionId);
    this.#secondsLeft.set(null);
    this.#ended = false;
    if (answer.session_id !== this.sessionId) {
      this.sessionId = answer.session_id; // the old one is over; its conversation goes on
      this.follow(answer.stream_token.value, answer.last_event_id);
    }
    return answer.ephemeral_key;
  };

  readonly moveWanted = async (): Promise<boolean> => {
    const { signal } = this.life;
    const seconds = await until(this.#secondsLeft, (left) => left !== null, signal);
    if (seconds === "lost") return false;
    const settled = new AbortController();
    const either = AbortSignal.any([signal, settled.signal]);
    const quiet = until(
      this.store,
      (state) => QUIET.includes(state.voice) && !state.sounding,
      either,
    );
    const late = this.ports.pause(1000 * Math.max(0, (seconds ?? 0) - MARGIN_S), either);
    try {
      await Promise.race([quiet, late]);
    } finally {
      settled.abort();
      await Promise.allSettled([quiet, late]);
    }
    return true;
  };

  #heard(fact: ServerFact): void {
    if (this.life.signal.aborted) {
      // It is over for the page: only what was really said still matters.
      if (fact.name === "transcription.completed") this.tell(fact);
      if (fact.name === "session.ended") this.#farewell.resolve();
      return;
    }
    if (fact.name === "session.ended" && fact.data.reason === "error") {
      // The provider was lost for good, but the conversation was not: it goes on in a new session.
      this.#ended = true;
      this.tell({ type: "call.lost" });
      this.#secondsLeft.set("lost");
      return;
    }
    this.tell(fact);
    if (fact.name === "session.status") this.#statuses += 1;
    if (fact.name === "session.warning" && fact.data.action === "reconnect") {
      this.#secondsLeft.set(fact.data.seconds_remaining);
    }
    if (fact.name === "stream.reset") void this.#readAnew();
    if (fact.name === "session.ended") {
      this.#ended = true;
      this.life.abort();
    }
  }

  /** The state is told when it changes, and never again: whoever was away has to ask. */
  async #readState(): Promise<void> {
    const statuses = this.#statuses;
    const found = await this.ports.api.state(this.sessionId).catch(() => null);
    if (found && statuses === this.#statuses) this.tell({ type: "voice.read", voice: found.state });
  }

  async #readAnew(): Promise<void> {
    const found = await this.ports.api.session(this.sessionId).catch(() => null);
    if (found) this.tell({ type: "transcript.read", entries: found.transcript });
  }
}

/** How a run ended, as a fact. A signal's reason says more than what it broke off. */
function outcome(fault: unknown, signal: AbortSignal): Fact {
  const why: unknown = signal.aborted ? signal.reason : fault;
  if (why instanceof MicrophoneRefused) return { type: "microphone.refused", why: why.message };
  if (hungUp(signal)) return { type: "stopped" };
  if (why instanceof ApiError && why.status === 401) return { type: "locked", why: null };
  return { type: "failed", why: why instanceof Error ? why.message : String(why) };
}

/** Somebody wanted it so; nothing went wrong. */
function hungUp({ aborted, reason }: AbortSignal): boolean {
  return aborted && reason instanceof DOMException && reason.name === "AbortError";
}

/** Where it cannot even be sent, it is not right either. */
function refusedToken(fault: unknown): string {
  const right = fault instanceof ApiError && fault.status !== 401;
  return right ? fault.message : "This token is not right.";
}
