/** One session of the server's while the page is in it. Knows nothing of sound, and of the
 * conversation around it only what it may tell and when it is over. */

import type { Said } from "../transport/shown.js";
import { deferred } from "../transport/transport.js";
import { type Api, ApiError, type Wording } from "../wire/api.js";
import type { ReconnectResponse } from "../wire/types.js";
import type { StreamListener, StreamStart } from "../wire/stream.js";
import { hungUp } from "./aborting.js";
import { isIntent } from "./intents.js";
import type { Pause } from "./readiness.js";
import type { ServerFact, State, Tell } from "./state.js";
import { type Readable, storeOf, until } from "./store.js";
import { TAKEN_OVER } from "./words.js";

export interface VisitPorts {
  readonly api: Api;
  readonly openStream: (start: StreamStart, listener: StreamListener) => { close(): void };
  readonly pause: Pause;
}

const PATIENCE_MS = 10_000; // for what the server heard to be told
const FAREWELL_MS = 2000; // for how the last answer ended
/** Nobody wanted it to end: see `session.ended`. */
const LOST = ["error", "socket_reset", "client_silent", "ice_lost", "never_connected"];

/** Why another call is wanted: it is placed beside the one that is on, but where that is lost. */
export type Move = "cap" | "provider" | "lost";

interface Shown {
  readonly said: Said;
  readonly sessionId: string;
  readonly at: string;
}

/** Its stream, its keys, its moves, its end. */
export class Visit {
  #ended = false;
  #going = false; // the session may end now: the conversation is to go on in another
  readonly #farewell = deferred();
  readonly #shown = new Map<string, Shown>(); // and not told by the server yet
  #statuses = 0;
  #restoring = false; // and that the old session ends with it is no news
  #stream: { close(): void } | null = null;
  readonly #wanted = storeOf<Move | null>(null);
  readonly #moves = storeOf(0);

  constructor(
    private readonly ports: VisitPorts,
    private readonly store: Readable<State>,
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
        gone: () => this.life.abort(new ApiError(404, "session_not_found", "The server does not know this session any more.")),
      },
    );
  }

  /** Tells the server, and waits for its last words if somebody hung up on an answer. What it does
   * not tell then it did not hear. */
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
      await Promise.all([...this.#shown.values()].map((shown) => this.#handOver(shown)));
    } finally {
      this.#stream?.close();
    }
  }

  readonly newKey = async (afresh: boolean): Promise<string> => {
    this.#wanted.setState(null, true); // it is answered now, or the server wants it again
    const answer = await (afresh ? this.#restored() : this.#reconnected());
    this.#ended = this.#going = false;
    if (answer.session_id !== this.sessionId) {
      this.sessionId = answer.session_id; // the old one is over; its conversation goes on
      this.tell({ type: "session.opened", id: answer.session_id });
      this.follow(answer.stream_token.value, answer.last_event_id);
    }
    return answer.ephemeral_key;
  };

  async #restored(): Promise<ReconnectResponse> {
    this.#restoring = true;
    try {
      const { new_session_id, ...opened } = await this.ports.api.restore(this.sessionId);
      return { ...opened, session_id: new_session_id };
    } finally {
      this.#restoring = false;
    }
  }

  /** Where its user went on in another place, it stays there until they want it back. */
  async #reconnected(): Promise<ReconnectResponse> {
    try {
      return await this.ports.api.reconnect(this.sessionId);
    } catch (fault) {
      if (fault instanceof ApiError && fault.code === TAKEN_OVER) {
        const data = { reason: TAKEN_OVER, duration_ms: 0, timestamp: new Date().toISOString() };
        this.#heard({ type: "event", name: "session.ended", data });
      }
      throw fault;
    }
  }

  /** Resolves once the session wants another call, with why. */
  readonly moveWanted = async (): Promise<Move> => {
    return (await until(this.#wanted, (why) => why !== null, this.life.signal)) ?? "lost";
  };

  /** Resolves with the next `call.moved`. */
  readonly moved = async (): Promise<void> => {
    const before = this.#moves.getState();
    await until(this.#moves, (count) => count > before, this.life.signal);
  };

  /** What the call showed and the server has not told by then, it did not hear: it is handed in,
   * until the server has it. One item is stored once, whoever tells of it. */
  readonly shown = (said: Said): void => {
    const shown = { said, sessionId: this.sessionId, at: new Date().toISOString() };
    this.#shown.set(said.itemId, shown);
    void this.#handIn(shown).catch(() => undefined); // it is over: `leave` does it
  };

  async #handIn(shown: Shown): Promise<void> {
    for (let stored = false; !stored; ) {
      await this.ports.pause(PATIENCE_MS, this.life.signal);
      stored = await this.#handOver(shown);
    }
  }

  /** Is it with the server now? */
  async #handOver({ said, sessionId, at }: Shown): Promise<boolean> {
    const { itemId, role, text } = said;
    const told = this.store.getState().lines.some(({ id, done }) => id === itemId && done);
    const entry = { item_id: itemId, entry_type: role, text, timestamp: at };
    const stored =
      told ||
      (await this.ports.api.handIn(sessionId, entry).then(
        () => true,
        (fault: unknown) => fault instanceof ApiError && !fault.passing,
      ));
    if (stored) this.#shown.delete(itemId);
    return stored;
  }

  #heard(fact: ServerFact): void {
    if (this.life.signal.aborted) {
      // It is over for the page: only what was really said, and what came of it, still matters.
      if (fact.name === "transcription.completed" || isIntent(fact)) this.tell(fact);
      if (fact.name === "session.ended") this.#farewell.resolve();
      return;
    }
    if (fact.name === "session.ended" && this.#restoring) return;
    const why = fact.name === "session.ended" ? fact.data.reason : TAKEN_OVER;
    if (why !== TAKEN_OVER && (this.#going || LOST.includes(why))) {
      // The provider was lost for good, or we were for too long, or the server stops; the
      // conversation was not, and goes on in a new session.
      this.#ended = true;
      this.#lost();
      return;
    }
    if (fact.name === "session.expired" && this.#going) return; // for the page it goes on
    this.tell(inWords(fact, this.ports.api.wording));
    if (fact.name === "notification" && fact.data.action?.["do"] === "reconnect") this.#going = true;
    if (fact.name === "session.moved") this.#serverChanged(fact.data.owner);
    if (fact.name === "session.status") this.#statuses += 1;
    if (fact.name === "call.wanted") this.#callWanted(fact.data.reason, fact.data.beside);
    if (fact.name === "call.moved") this.#moves.setState((count) => count + 1, true);
    if (fact.name === "stream.reset") void this.#readAnew();
    if (fact.name === "session.ended") {
      this.#ended = true;
      this.life.abort();
    }
  }

  #callWanted(reason: string, beside: boolean): void {
    if (!beside) return this.#lost();
    this.#wanted.setState(reason === "cap" ? "cap" : "provider", true);
  }

  /** Another server looks after us, and our call is as it was; or ours stops, and the call with it. */
  #serverChanged(owner: string | undefined): void {
    if (owner !== undefined) return void this.#readState();
    this.#going = true;
    this.#lost();
  }

  #lost(): void {
    this.tell({ type: "call.lost" });
    this.#wanted.setState("lost", true);
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

/** What went wrong, in the words of the page. A tool's own words about what it did stay. */
function inWords(fact: ServerFact, wording: Wording | null): ServerFact {
  if (!wording || fact.name !== "error") return fact;
  const { code, message } = fact.data;
  return { ...fact, data: { ...fact.data, message: wording({ code, message, retryAfterMs: null }) } };
}
