/** The client: does what the machine orders, with a line, timers, the app's functions and a memory. */

import type { Entry, Memory } from "./calls.js";
import type { Dialler, Line } from "./line.js";
import { Machine, WAITS, type App, type Fact, type Order } from "./machine.js";
import type { ConnectionState, PhaseState, Seen } from "./seen.js";
import { CONFIRM, told, type ClientTool } from "./tools.js";
import { characters, LEFT, MOST_TEXT, newId, sessionIdOf } from "./wire.js";

const MOST_SEEN = 1_000;
const MOST_RESULT = 200_000;
const MOST_ERROR = 4_000;

/** What a client needs of the platform; the two entries of the package give it. */
export interface Platform {
  dial: Dialler;
  /** Seconds. Returns a way to end it early. */
  wait(seconds: number, over: () => void): () => void;
  /** Seconds, from any start. */
  now(): number;
}

export interface Options {
  /** A UUID of version 4, which names the conversation: the same one again goes on with it. */
  sessionId?: string;
  /** Goes in a header; a browser cannot. */
  key?: string;
  /** Asked for a short-lived token of the session before each connection; it goes in the address. */
  token?: (sessionId: string) => string | Promise<string>;
  tools?: readonly ClientTool[];
  /** Speaks, and ends when it was heard. `signal` says that the user speaks over it. */
  speak?: (text: string, signal: AbortSignal) => Promise<void>;
  /** A question to the user, by hand; null where they said neither. `signal` says that it was
   * answered elsewhere: take it away. */
  confirm?: (question: string, signal: AbortSignal) => boolean | null | Promise<boolean | null>;
  /** What to answer without a server. */
  stub?: (text: string) => string | Promise<string>;
  /** Remembers which calls were run, over a restart of the app. */
  memory?: Memory;
  agent?: string;
  /** Speech may come clause by clause. */
  clauses?: boolean;
  waits?: readonly number[];
}

/** A runtime of the conductor: the app's end of a conversation.
 *
 *     const client = new Client("ws://127.0.0.1:8080/conductor", { tools: [battery] });
 *     client.start();
 *     client.say("How full is the battery?");
 *     for await (const one of client) console.log(one);
 */
export class BaseClient {
  readonly sessionId: string;
  readonly #url: string;
  readonly #options: Options;
  readonly #platform: Platform;
  readonly #tools: ReadonlyMap<string, ClientTool>;
  #begun = false;
  #machine: Machine | null = null;
  #facts: Fact[] = [];
  readonly #asking = new Map<string, AbortController>(); // questions to the user, by call
  #handling = false;
  #line: Line | null = null;
  #jammed = false;
  #giveUp: (() => void) | null = null;
  #endWait: (() => void) | null = null;
  #speaking: { stop: AbortController; done: Promise<void> } | null = null;
  #seen: Seen[] = [];
  #missed = 0;
  #news: (() => void) | null = null;
  #left: (() => void)[] = [];

  constructor(url: string, options: Options, platform: Platform) {
    this.sessionId = sessionIdOf(options.sessionId ?? newId());
    this.#url = url;
    this.#options = options;
    this.#platform = platform;
    this.#tools = new Map((options.tools ?? []).map((tool) => [tool.name, tool]));
  }

  // --- What the app knows -----------------------------------------------------------------

  get connection(): ConnectionState {
    return this.#machine?.connection ?? "closed";
  }

  get phase(): PhaseState {
    return this.#machine?.phase ?? "idle";
  }

  /** What is shown beside the talk. */
  get document(): unknown {
    return this.#machine?.document ?? null;
  }

  /** Each change, once; it ends with the connection closed for good. One reader at a time. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Seen, void, undefined> {
    for (;;) {
      while (this.#seen.length === 0) {
        await new Promise<void>((resolve) => (this.#news = resolve));
      }
      if (this.#missed > 0) {
        const missed = this.#missed;
        this.#missed = 0;
        yield { missed };
      }
      const one = this.#seen.shift()!;
      yield one;
      if ("connection" in one && one.connection === "closed") return;
    }
  }

  // --- What the app does --------------------------------------------------------------------

  start(): void {
    if (this.#begun) throw new Error("a client begins once");
    this.#begun = true;
    const { confirm, agent, clauses, speak, stub, waits = WAITS } = this.#options;
    const tools = [...this.#tools.values()].map(told);
    if (confirm !== undefined) tools.push(CONFIRM);
    const app: App = {
      sessionId: this.sessionId,
      tools,
      agent,
      clauses,
      speaks: speak !== undefined,
      stub: stub !== undefined,
      waits,
    };
    this.#facts.unshift({ is: "begin" });
    this.#handling = true;
    void this.#begin(app);
  }

  /** What the user said. It waits for the connection, if there is none now. */
  say(text: string): void {
    this.#post({ is: "said", text: sayable(text) });
  }

  /** All that the user has said so far. */
  saySoFar(text: string): void {
    this.#post({ is: "saidSoFar", text: sayable(text) });
  }

  /** The user speaks over the assistant; how far it was heard, where the app knows. */
  interrupt(position: { positionMs?: number; positionCharacters?: number } = {}): void {
    const { positionMs = null, positionCharacters = null } = position;
    for (const one of [positionMs, positionCharacters]) {
      if (one !== null && !(Number.isSafeInteger(one) && one >= 0)) {
        throw new RangeError("a position is a whole number, not below 0");
      }
    }
    this.#post({ is: "barged", positionMs, positionCharacters });
  }

  /** Once more from the start, after the connection was given up. */
  retry(): void {
    this.#post({ is: "begin" });
  }

  /** Ends when all that was decided until now is done. */
  close(): Promise<void> {
    if (!this.#begun) return Promise.resolve();
    return new Promise((resolve) => {
      this.#left.push(resolve);
      this.#post({ is: "leave" });
    });
  }

  // --- Orders -------------------------------------------------------------------------------

  async #begin(app: App): Promise<void> {
    let kept: readonly Entry[] = [];
    try {
      kept = (await this.#options.memory?.load(this.sessionId)) ?? [];
    } catch (fault) {
      this.#forgets(fault);
    }
    this.#machine = new Machine(app, kept);
    await this.#handle(this.#machine);
  }

  #forgets(fault: unknown): void {
    const message = `A call cannot be remembered over a restart: ${wordsOf(fault)}`;
    this.#tell({ fault: "handler_error", message, source: "client" });
  }

  #post(fact: Fact): void {
    this.#facts.push(fact);
    if (this.#handling || this.#machine === null) return;
    this.#handling = true;
    void this.#handle(this.#machine);
  }

  /** One fact after the other; the orders of one are done before the next is looked at. */
  async #handle(machine: Machine): Promise<void> {
    for (let fact = this.#facts.shift(); fact !== undefined; fact = this.#facts.shift()) {
      for (const order of machine.handle(fact)) {
        if (order.do === "keep") await this.#keep(order.entry);
        else this.#perform(order);
      }
      if (fact.is === "leave") this.#leave();
    }
    this.#handling = false;
  }

  #perform(order: Exclude<Order, { do: "keep" }>): void {
    switch (order.do) {
      case "tell":
        return this.#tell(order.seen);
      case "transmit":
        return this.#transmit(order.text);
      case "dial":
        return void this.#dial();
      case "hangUp":
        return this.#line?.close(order.code);
      case "wait":
        this.#endWait = this.#platform.wait(order.seconds, () => this.#post({ is: "rang" }));
        return;
      case "run":
        return void this.#run(order.callId, order.name, order.given);
      case "speak":
        return this.#speak(order.callId, order.text);
      case "hush":
        return this.#speaking?.stop.abort();
      case "withdraw":
        return this.#asking.get(order.callId)?.abort();
      case "ask":
        return void this.#ask(order.text);
      default:
        order satisfies never;
    }
  }

  #tell(seen: Seen): void {
    this.#seen.push(seen);
    if (this.#seen.length > MOST_SEEN) {
      this.#seen.shift();
      this.#missed += 1;
    }
    this.#news?.();
    this.#news = null;
  }

  async #keep(entry: Entry): Promise<void> {
    try {
      await this.#options.memory?.keep(this.sessionId, entry);
    } catch (fault) {
      this.#forgets(fault);
    }
  }

  #leave(): void {
    this.#giveUp?.();
    this.#endWait?.();
    for (const resolve of this.#left.splice(0)) resolve();
  }

  // --- The line -----------------------------------------------------------------------------

  async #dial(): Promise<void> {
    let begun = 0;
    const refused = (reason: string, status: number | null): void => {
      this.#giveUp = null;
      this.#post({ is: "refused", reason: reason.slice(0, 300), status });
    };
    try {
      const { key } = this.#options;
      const headers: Record<string, string> = key ? { Authorization: `Bearer ${key}` } : {};
      const url = await this.#address();
      if (this.connection !== "connecting") return; // the app has left
      this.#giveUp = this.#platform.dial(url, headers, {
        opened: (line) => {
          begun = this.#platform.now();
          this.#line = line;
          this.#jammed = false;
          this.#post({ is: "opened" });
        },
        refused,
        received: (message) => this.#post({ is: "received", message }),
        broke: (code, reason) => {
          this.#line = null;
          this.#giveUp = null;
          const lasted = this.#platform.now() - begun;
          this.#post({ is: "broke", code: this.#jammed ? 1006 : code, reason, lasted });
        },
      });
    } catch (fault) {
      refused(`No connection: ${wordsOf(fault)}`, null);
    }
  }

  async #address(): Promise<string> {
    const { token } = this.#options;
    const url = new URL(this.#url);
    url.searchParams.set("sessionId", this.sessionId);
    if (token !== undefined) url.searchParams.set("token", await token(this.sessionId));
    return url.href;
  }

  #transmit(text: string): void {
    if (this.#line === null || this.#jammed) return; // that it broke is known, or about to be
    try {
      this.#line.send(text);
    } catch (fault) {
      this.#jammed = true;
      const message = `An event could not be sent: ${wordsOf(fault)}.`;
      this.#tell({ fault: "ws_send_failed", message, source: "client" });
      this.#line.close(LEFT);
    }
  }

  // --- What the app runs --------------------------------------------------------------------

  async #run(callId: string, name: string, given: Record<string, unknown>): Promise<void> {
    let result: string | null = null;
    let error: string | null = null;
    try {
      result = JSON.stringify(await this.#outcome(callId, name, given)) ?? "null";
      if (result.length > MOST_RESULT) throw new Error("The result is too long.");
    } catch (fault) {
      result = null;
      error = wordsOf(fault);
    }
    this.#asking.delete(callId);
    this.#post({ is: "ended", callId, result, error });
  }

  async #outcome(callId: string, name: string, given: Record<string, unknown>): Promise<unknown> {
    const { confirm } = this.#options;
    if (name === CONFIRM.name && confirm !== undefined) {
      const withdrawn = new AbortController();
      this.#asking.set(callId, withdrawn);
      const approved = await confirm(String(given["question"] ?? ""), withdrawn.signal);
      if (approved === null) throw new Error("The user said neither yes nor no.");
      return { approvalId: given["approvalId"] ?? null, approved };
    }
    return this.#tools.get(name)!.run(given);
  }

  #speak(callId: string, text: string): void {
    const before = this.#speaking?.done; // one that was stopped may take a moment
    const stop = new AbortController();
    this.#speaking = { stop, done: this.#speakAfter(before, callId, text, stop.signal) };
  }

  async #speakAfter(
    before: Promise<void> | undefined,
    callId: string,
    text: string,
    signal: AbortSignal,
  ): Promise<void> {
    await before;
    let error: string | null = null;
    try {
      if (!signal.aborted) await this.#options.speak!(text, signal);
    } catch (fault) {
      error = wordsOf(fault);
    }
    this.#post({ is: "ended", callId, result: null, error });
  }

  async #ask(text: string): Promise<void> {
    try {
      this.#post({ is: "answered", text: await this.#options.stub!(text), error: "" });
    } catch (fault) {
      this.#post({ is: "answered", text: null, error: wordsOf(fault) });
    }
  }
}

function wordsOf(fault: unknown): string {
  const words = fault instanceof Error ? fault.message : String(fault);
  return (words || "It failed.").slice(0, MOST_ERROR);
}

function sayable(text: string): string {
  if (characters(text, MOST_TEXT) > MOST_TEXT) {
    throw new RangeError(`at most ${MOST_TEXT} characters are said at once`);
  }
  return text;
}
