/** What a client decides. Facts in, orders out, in the order in which they are to be done; no I/O.
 *
 * One machine is one client for as long as its app runs: connections come and go under it. What must
 * not be lost (what the user said, what came of a call) it keeps until the server has it; what is
 * renewed anyway (what is being said, a state) it does not. */

import { Calls, ended, type Entry } from "./calls.js";
import { applied, PatchFailed } from "./patch.js";
import { PHASES, type ConnectionState, type PhaseState, type Seen } from "./seen.js";
import {
  INTERRUPTED,
  LEFT,
  newId,
  read,
  RECONNECT,
  Unreadable,
  write,
  type ErrorBody,
  type Sent,
  type SessionStart,
  type Tool,
  type ToolCall,
} from "./wire.js";

export const WAITS: readonly number[] = [1, 2, 4, 8, 16];
/** A line that lasted so many seconds was a good one: the tries are counted from the first again. */
const STEADY = 16;
const MOST_SAID = 32;
const MOST_RUNNING = 64;
const RETRIED: ReadonlySet<number> = new Set([408, 425, 429]);
const OK = '{"ok":true}';
const SILENT = '{"spoken":false,"shown":true}';
const SPOKEN = '{"spoken":true}';
const CUT_OFF = '{"spoken":false,"interrupted":true}';
const BY_HAND = "The user has answered by hand.";
const ELSEWHERE = "The user has answered elsewhere, or it was too late.";

/** What the app can do. */
export interface App {
  sessionId: string;
  tools: readonly Tool[];
  agent: string | undefined;
  clauses: boolean | undefined;
  speaks: boolean;
  stub: boolean;
  waits: readonly number[];
}

export type Fact =
  /** The app wants a connection, also once more after the last was given up. */
  | { is: "begin" }
  | { is: "opened" }
  /** `status` is of HTTP, where it was told. */
  | { is: "refused"; reason: string; status: number | null }
  /** null: no text. */
  | { is: "received"; message: string | null }
  /** The line is down, after so many seconds. */
  | { is: "broke"; code: number; reason: string; lasted: number }
  | { is: "rang" }
  | { is: "said"; text: string }
  | { is: "saidSoFar"; text: string }
  | { is: "barged"; positionMs: number | null; positionCharacters: number | null }
  /** A tool, or speech. */
  | { is: "ended"; callId: string; result: string | null; error: string | null }
  /** By the app's stub; null where it failed. */
  | { is: "answered"; text: string | null; error: string }
  | { is: "leave" };

export type Order =
  | { do: "dial" }
  | { do: "transmit"; text: string }
  | { do: "hangUp"; code: number }
  | { do: "wait"; seconds: number }
  | { do: "run"; callId: string; name: string; given: Record<string, unknown> }
  | { do: "speak"; callId: string; text: string }
  | { do: "hush" }
  /** Take this question to the user away. */
  | { do: "withdraw"; callId: string }
  | { do: "ask"; text: string }
  /** Before what comes next, so that it is known after a restart. */
  | { do: "keep"; entry: Entry }
  | { do: "tell"; seen: Seen };

/** A sentence of the user's, until the server has it for sure: `heard` when it was thinking after
 * it. */
interface Sentence {
  readonly text: string;
  readonly eventId: string;
  readonly message: string;
  heard: boolean;
}

export class Machine {
  connection: ConnectionState = "closed";
  phase: PhaseState = "idle";
  document: unknown = { cards: [] };
  readonly #app: App;
  readonly #names: ReadonlySet<string>;
  readonly #calls: Calls;
  readonly #running = new Map<string, string>(); // call → the tool's name
  readonly #asked = new Set<string>(); // on this line, and not answered
  #attempt = 0;
  #ever = false; // was there a line, since the app began?
  #said: Sentence[] = [];
  readonly #questions = new Map<string, { approvalId: string; text: string }>(); // by call
  #speech: { callId: string; text: string }[] = []; // the first is being spoken
  #asking = false;
  #orders: Order[] = [];

  constructor(app: App, kept: readonly Entry[] = []) {
    this.#app = app;
    this.#names = new Set(app.tools.map((tool) => tool.name));
    this.#calls = new Calls(kept);
  }

  handle(fact: Fact): Order[] {
    this.#take(fact);
    const done = this.#orders;
    this.#orders = [];
    return done;
  }

  #take(fact: Fact): void {
    switch (fact.is) {
      case "begin":
        return this.#begin();
      case "opened":
        return this.#opened();
      case "refused":
        return this.#refused(fact.reason, fact.status);
      case "received":
        return this.#received(fact.message);
      case "broke":
        return this.#broke(fact.code, fact.reason, fact.lasted);
      case "rang":
        return this.connection === "waiting" ? this.#dial() : undefined;
      case "said":
        return this.#userSaid(fact.text);
      case "saidSoFar":
        return this.#userSays(fact.text);
      case "barged":
        return this.#barged(fact.positionMs, fact.positionCharacters);
      case "ended":
        return this.#ended(fact.callId, fact.result, fact.error);
      case "answered":
        return this.#answered(fact.text, fact.error);
      case "leave":
        return this.#leave();
      default:
        fact satisfies never;
    }
  }

  // --- The line -------------------------------------------------------------------------

  #begin(): void {
    if (this.connection === "local" || this.connection === "closed") {
      this.#attempt = 0;
      this.#ever = false;
      this.#dial();
    }
  }

  #dial(): void {
    this.#connection("connecting", { attempt: this.#attempt });
    this.#orders.push({ do: "dial" });
  }

  #opened(): void {
    if (this.connection !== "connecting") return;
    this.#ever = true;
    this.#asked.clear();
    const { sessionId, tools, agent, clauses } = this.#app;
    const start: SessionStart = { sessionId, tools };
    if (agent !== undefined) start.agent = agent;
    if (clauses !== undefined) start.clauses = clauses;
    this.#send({ sessionStart: start });
    for (const sentence of this.#said) this.#transmit(sentence.message); // the same id: the same one
    this.#connection("connected", { attempt: this.#attempt });
  }

  #refused(reason: string, status: number | null): void {
    if (this.connection !== "connecting") return;
    this.#fault(this.#ever ? "ws_error" : "ws_connect_failed", reason);
    if (status !== null && status >= 400 && status < 500 && !RETRIED.has(status)) {
      this.#connection("closed", { code: status, reason });
    } else {
      this.#later();
    }
  }

  #broke(code: number, reason: string, lasted: number): void {
    if (this.connection !== "connected") return;
    if (lasted >= STEADY) this.#attempt = 0;
    if (code !== LEFT) {
      this.#fault("ws_error", `The connection broke (${reason ? `${code}: ${reason}` : code}).`);
    }
    if (RECONNECT.has(code)) this.#later();
    else this.#connection("closed", { code, reason });
  }

  #later(): void {
    const seconds = this.#app.waits[this.#attempt];
    if (seconds !== undefined) {
      this.#attempt += 1;
      this.#connection("waiting", { attempt: this.#attempt, seconds });
      this.#orders.push({ do: "wait", seconds });
      return;
    }
    this.#fault("reconnect_failed", `${this.#attempt} tries to connect again have failed.`);
    if (this.#app.stub) {
      this.#connection("local");
      this.#ask();
    } else {
      this.#connection("closed", { reason: "The server cannot be reached." });
    }
  }

  #leave(): void {
    if (this.connection === "closed") return;
    if (this.connection === "connected") this.#orders.push({ do: "hangUp", code: LEFT });
    this.#hush(null);
    this.#connection("closed", { code: LEFT });
  }

  #connection(
    connection: ConnectionState,
    more: { attempt?: number; seconds?: number; code?: number; reason?: string } = {},
  ): void {
    this.connection = connection;
    this.#tell({ connection, attempt: 0, seconds: 0, code: null, reason: "", ...more });
  }

  // --- What the user says -----------------------------------------------------------------

  #userSaid(text: string): void {
    if (this.connection === "closed") {
      return this.#fault("ws_send_failed", "The connection is closed.");
    }
    const eventId = newId();
    const message = write({ userAudioTranscriptFinal: { text } }, eventId);
    this.#said.push({ text, eventId, message, heard: false });
    if (this.#said.length > MOST_SAID && this.#said.shift()?.heard === false) {
      this.#fault("ws_send_failed", "Too much waits to be sent: the oldest is dropped.");
    }
    if (this.connection === "connected") this.#transmit(message);
    else if (this.connection === "local") this.#ask();
  }

  #userSays(text: string): void {
    if (this.connection !== "connected") return; // the next one has all of it
    this.#send({ userAudioTranscriptPartial: { text } });
  }

  #barged(positionMs: number | null, positionCharacters: number | null): void {
    const callId = this.#speech[0]?.callId ?? null;
    this.#tell({ interrupted: callId, positionMs, positionCharacters });
    const told: ErrorBody = { code: INTERRUPTED, message: "The user spoke." };
    if (callId !== null) {
      told.callId = callId;
      if (positionMs !== null) told.positionMs = positionMs;
      if (positionCharacters !== null) told.positionCharacters = positionCharacters;
      this.#hush(told);
    } else if (this.connection === "connected") {
      this.#send({ error: told });
    }
    if (this.connection === "local") {
      this.#show("listening");
      this.#ask();
    }
  }

  /** What is being spoken, and all that waits behind it. */
  #hush(cut: ErrorBody | null): void {
    const stopped = this.#speech;
    this.#speech = [];
    stopped.forEach(({ callId }, at) => {
      if (at === 0) this.#orders.push({ do: "hush" });
      this.#over(ended(callId, CUT_OFF, null, at === 0 ? cut : null));
    });
  }

  // --- What the server says -----------------------------------------------------------------

  #received(message: string | null): void {
    if (this.connection !== "connected") return;
    let event;
    try {
      if (message === null) throw new Unreadable("The message is no text.");
      event = read(message);
    } catch (wrong) {
      if (!(wrong instanceof Unreadable)) throw wrong;
      return this.#fault("decode_error", wrong.message);
    }
    if (event.kind === "other") return;
    this.#attempt = 0;
    switch (event.kind) {
      case "assistantSpeechPartial":
        this.#hears();
        return this.#tell({ speech: event.text, final: false });
      case "assistantSpeechFinal":
        this.#answers();
        return this.#tell({ speech: event.text, final: true });
      case "assistantUIPatch":
        return this.#patched(event.patch);
      case "toolCall":
        return this.#called(event.call, event.given);
      case "error": {
        const { code, message: words, eventId } = event.error;
        this.#said = this.#said.filter((sentence) => sentence.eventId !== eventId);
        return this.#tell({ fault: code, message: words, source: "server" });
      }
      default:
        event satisfies never;
    }
  }

  #hears(): void {
    for (const sentence of this.#said) sentence.heard = true;
  }

  /** What it had heard when it began is not sent again; what came later may be on its way. */
  #answers(): void {
    this.#said = this.#said.filter((sentence) => !sentence.heard);
    this.#hears();
  }

  #patched(patch: unknown): void {
    try {
      this.document = applied(this.document, patch);
    } catch (wrong) {
      if (!(wrong instanceof PatchFailed)) throw wrong;
      return this.#fault("decode_error", `The patch cannot be applied: ${wrong.message}.`);
    }
    this.#tell({ document: this.document });
    this.#withdraw();
  }

  /** Questions whose cards say that they are over. */
  #withdraw(): void {
    const { cards } = (this.document ?? {}) as { cards?: unknown };
    const there = (Array.isArray(cards) ? cards : []) as ({ id?: unknown; status?: unknown } | null)[];
    const states = new Map(there.map((card) => [card?.id, card?.status]));
    for (const [callId, { approvalId }] of [...this.#questions]) {
      const card = `approval:${approvalId}`;
      if (!states.has(card) || states.get(card) === "pending") continue;
      this.#orders.push({ do: "withdraw", callId });
      this.#ended(callId, null, ELSEWHERE);
    }
  }

  #called(call: ToolCall, given: Record<string, unknown>): void {
    this.#asked.add(call.callId);
    const known = this.#calls.known(call.callId);
    if (known !== undefined) {
      this.#tell({ repeated: call.callId });
      if (known.over) this.#answer(known);
    } else if (call.name === "convo.setState") {
      this.#calls.begin(call.callId);
      const moved = this.#moved(call.callId, given["state"]);
      this.#calls.end(moved); // not kept: the same state once more does no harm
      this.#answer(moved);
    } else if (call.name === "tts.speak") {
      this.#answers();
      this.#readOut(call.callId, given["text"]);
    } else {
      this.#run(call, given);
    }
  }

  #moved(callId: string, state: unknown): Entry {
    if (typeof state !== "string" || !PHASES.includes(state)) {
      return ended(callId, null, "There is no such state.");
    }
    if (state === "thinking" || state === "speaking") this.#hears();
    else this.#said = this.#said.filter((sentence) => !sentence.heard);
    this.#show(state as PhaseState);
    return ended(callId, OK);
  }

  #show(phase: PhaseState): void {
    this.phase = phase;
    this.#tell({ phase });
  }

  // --- Calls --------------------------------------------------------------------------------

  #run({ callId, name, arguments: told }: ToolCall, given: Record<string, unknown>): void {
    const begun = this.#calls.begin(callId);
    if (!this.#names.has(name)) {
      this.#over(ended(callId, null, `There is no tool '${name}' here.`));
    } else if (this.#running.size >= MOST_RUNNING) {
      this.#over(ended(callId, null, "Too many tools run at once."));
    } else {
      this.#running.set(callId, name);
      if (name === "ui.confirm") {
        const approvalId = String(given["approvalId"]);
        this.#questions.set(callId, { approvalId, text: String(given["question"] ?? "") });
      }
      this.#orders.push({ do: "keep", entry: begun });
      this.#tell({ called: callId, name, arguments: told });
      this.#orders.push({ do: "run", callId, name, given });
    }
  }

  #readOut(callId: string, text: unknown): void {
    const begun = this.#calls.begin(callId);
    if (typeof text !== "string") {
      this.#over(ended(callId, null, "There is no text to speak."));
    } else if (!this.#app.speaks) {
      this.#tell({ speaking: callId, text });
      this.#over(ended(callId, SILENT));
    } else {
      this.#orders.push({ do: "keep", entry: begun });
      this.#speak(callId, text);
    }
  }

  /** One after the other, as they came. */
  #speak(callId: string, text: string): void {
    this.#speech.push({ callId, text });
    if (this.#speech.length === 1) this.#beginSpeech(callId, text);
  }

  #beginSpeech(callId: string, text: string): void {
    this.#tell({ speaking: callId, text });
    this.#orders.push({ do: "speak", callId, text });
  }

  #ended(callId: string, result: string | null, error: string | null): void {
    const name = this.#running.get(callId);
    if (name !== undefined) {
      this.#running.delete(callId);
      this.#tell({ returned: callId, name, result, error });
      this.#over(ended(callId, result, error));
      const question = this.#questions.get(callId);
      this.#questions.delete(callId);
      if (question !== undefined && error === null) this.#unsay(question.text);
    } else if (this.#speech[0]?.callId === callId) {
      this.#speech.shift();
      this.#over(ended(callId, error === null ? SPOKEN : null, error));
      const next = this.#speech[0];
      if (next !== undefined) this.#beginSpeech(next.callId, next.text);
      else if (this.connection === "local") this.#rest();
    }
  }

  /** What was answered by hand need not be read out to its end. */
  #unsay(question: string): void {
    const first = this.#speech[0];
    const gone = this.#speech.filter(({ text }) => question.includes(text.trim()));
    this.#speech = this.#speech.filter((one) => !gone.includes(one));
    const cut = first !== undefined && gone.includes(first);
    if (cut) this.#orders.push({ do: "hush" });
    for (const { callId } of gone) this.#over(ended(callId, null, BY_HAND));
    const next = this.#speech[0];
    if (cut && next !== undefined) this.#beginSpeech(next.callId, next.text);
  }

  /** Kept before it is told: whoever asks again, after whatever happens, gets the same. */
  #over(entry: Entry): void {
    if (this.#calls.end(entry)) {
      this.#orders.push({ do: "keep", entry });
      this.#answer(entry);
    }
  }

  /** Where the line is another than it was asked on, the server asks again. */
  #answer({ callId, result, error, cut }: Entry): void {
    if (this.connection !== "connected" || !this.#asked.delete(callId)) return;
    if (cut !== null) this.#send({ error: cut });
    this.#send({ toolResult: { callId, result, error } });
  }

  // --- Without a server ---------------------------------------------------------------------

  #ask(): void {
    const next = this.#said[0];
    if (next === undefined || this.#asking || this.#speech.length > 0) return;
    this.#asking = true;
    this.#show("thinking");
    this.#orders.push({ do: "ask", text: next.text });
  }

  #answered(text: string | null, error: string): void {
    this.#asking = false;
    if (this.connection !== "local" || this.#said.length === 0) return; // the server has it now
    this.#said.shift();
    if (text === null) this.#fault("handler_error", `The local stub failed: ${error}`);
    else this.#tell({ speech: text, final: true });
    if (text !== null && this.#app.speaks) {
      this.#show("speaking");
      this.#speak(`local-${newId()}`, text);
    } else {
      this.#rest();
    }
  }

  #rest(): void {
    this.#show("idle");
    this.#ask();
  }

  // --- Orders -------------------------------------------------------------------------------

  #tell(seen: Seen): void {
    this.#orders.push({ do: "tell", seen });
  }

  #transmit(text: string): void {
    this.#orders.push({ do: "transmit", text });
  }

  #send(kind: Sent): void {
    this.#transmit(write(kind));
  }

  #fault(fault: string, message: string): void {
    this.#tell({ fault, message, source: "client" });
  }
}
