/** One button's worth of behaviour: start, keep going, stop. The core of the page.
 *
 * It owns the store and the order of things; what they are done with comes in through ports,
 * so that all of it runs without a browser in the tests. */

import { type Microphone, MicrophoneRefused } from "../audio/microphone.js";
import type { Choice } from "../transport/choice.js";
import type { Call, Transport } from "../transport/transport.js";
import { type Api, ApiError, type Wishes } from "../wire/api.js";
import type { SessionResponse } from "../wire/types.js";
import { aborted, hungUp, orAborted } from "./aborting.js";
import { Archive, newName } from "./history/archive.js";
import { pastLines } from "./history/past.js";
import { WorkClient, type WorkPorts } from "./work/client.js";
import { faultWords } from "./faults.js";
import { keepCalling } from "./line.js";
import { type Pause, untilReady } from "./readiness.js";
import { watchQuiet } from "./quiet.js";
import { reduce } from "./reducer.js";
import { type Fact, INITIAL, type State, type Tell, type TransportKind } from "./state.js";
import { type Readable, type Store, storeOf, until } from "./store.js";
import { Visit, type VisitPorts } from "./visit.js";
import { busy, situation } from "./words.js";
import { Correspondence } from "./writing.js";

/** It was deleted, or another server answers now. */
const GONE = "The server does not know this talk any more. Try again to begin a new one.";
const ANSWERING = ["thinking", "speaking", "tool"];

export interface Ports extends VisitPorts, WorkPorts {
  readonly transports: Readonly<Record<TransportKind, Transport>>;
  readonly choice: Choice;
  readonly openMicrophone: () => Promise<Microphone>;
  readonly now: () => number;
}

interface Opened extends Pick<SessionResponse, "session_id" | "stream_token" | "last_event_id"> {
  readonly key: string;
  /** Left out where it goes on with the one that it had. */
  readonly conversation_id?: string;
}

export class Conversation {
  readonly #store: Store<State>;
  /** What is so now, and who wants to know of every change. */
  readonly store: Readable<State>;
  #life: AbortController | null = null;
  #done: Promise<void> = Promise.resolve();
  #microphone: Microphone | null = null;
  #talkWanted = false;
  #goesOn: string | null = null;
  #wishes: Wishes = {};
  #call: Call | null = null;
  #writing: Correspondence | null = null;
  #hurry: () => void = () => undefined;

  /** Tasks and approvals: they are there without a conversation, too. */
  readonly work: WorkClient;

  /** Conversations of before; the one that is looked at goes on with the next start. */
  readonly archive: Archive;

  constructor(
    private readonly ports: Ports,
    initial: State = INITIAL,
  ) {
    this.store = this.#store = storeOf(initial);
    this.work = new WorkClient(ports, this.store, this.#tell);
    this.archive = new Archive(ports, this.store, this.#tell);
  }

  /** The server's doors, for what is read or changed beside the talk. */
  get api(): Api {
    return this.ports.api;
  }

  /** Before anybody pressed anything: is the server there yet? */
  watch(): void {
    this.#talkWanted = false;
    this.#tell({ type: "server.asked" });
    this.#live((_life, tell, signal) => this.#ready(tell, signal));
  }

  /** By voice: with the past conversation that is looked at, with what is being written, with what
   * ended by itself, or anew. */
  start(wishes: Wishes = {}): void {
    const { stage, conversation } = this.store.getState();
    this.#talk(stage === "writing" ? conversation : null, wishes);
  }

  /** Goes on by voice with a conversation: that whose lines are shown, or another. */
  resume(conversation = this.store.getState().conversation, wishes: Wishes = {}): void {
    this.#talk(conversation, wishes);
  }

  /** Shows a conversation; `resume` and `send` go on with it. */
  async show(conversation: string): Promise<void> {
    this.#tell({ type: "forgotten" });
    this.#tell({ type: "conversation.begun", id: conversation });
    await this.#readBefore(conversation);
  }

  #talk(goesOn: string | null, wishes: Wishes): void {
    this.#goesOn = goesOn;
    this.#wishes = wishes;
    this.#talkWanted = true;
    this.#live((life, tell) => this.#converse(life, tell));
  }

  /** What ended is left alone: the next start begins anew. */
  forget(): void {
    this.#tell({ type: "forgotten" });
  }

  /** At once for whoever looks; resolves when everything is closed and the server knows. */
  async stop(): Promise<void> {
    const done = this.#done;
    this.#tell({ type: "stopped" });
    this.#life?.abort(); // its place is kept: it may still tell how the last answer ended
    if (this.store.getState().stage === "loading") this.watch();
    await done;
  }

  /** The server asks who is there: nothing goes on before `unlock`. */
  lock(): void {
    this.#live(async (_life, tell) => tell({ type: "locked", why: null }));
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
      this.work.close();
      this.work.open();
      if (wanted) this.start();
      else this.watch();
    });
  }

  /** Nobody hears the user until it is taken back; also the next call begins so. */
  mute(on = true): void {
    this.#microphone?.mute(on);
    this.#tell({ type: "muted", on });
  }

  /** The answer stops, as if somebody had spoken over it. */
  interrupt(): void {
    if (ANSWERING.includes(situation(this.store.getState()))) this.#call?.interrupt();
  }

  /** Says something in writing: in the call that is on, to the conversation that is shown, or to a
   * new one. True once the server has it. */
  async send(text: string): Promise<boolean> {
    const words = text.trim();
    if (!words) return false;
    const { history } = this.store.getState();
    if (history.past && !busy(this.store.getState())) return this.archive.write(words);
    const id = newName();
    if (!busy(this.store.getState())) this.#write();
    const life = this.#life;
    this.interrupt(); // whoever writes has heard enough
    this.#tell({ type: "written", id, text: words });
    try {
      const conversation = await this.#addressee(life?.signal ?? AbortSignal.abort());
      const { message, ...answering } = await this.ports.api.sendMessage(conversation, words, id, 0);
      const itemId = String(message.metadata["item_id"] ?? message.id);
      this.#tell({ type: "written.stored", id, itemId });
      if (this.#life === life) this.#writing?.follow(answering);
      return true;
    } catch (fault) {
      this.#tell({ type: "written.refused", id, why: faultWords(fault) });
      if (fault instanceof ApiError && fault.status === 401) this.#tell({ type: "locked", why: null });
      return false;
    }
  }

  /** The next try of a call that was lost comes now, and not when its wait is over. */
  retryNow(): void {
    this.#hurry();
  }

  /** How loud the microphone is; 0 while it is closed. */
  level(): number {
    return this.#microphone?.level() ?? 0;
  }

  /** How loud the assistant is; 0 without a call. */
  voiceLevel(): number {
    return this.#call?.level() ?? 0;
  }

  readonly #tell: Tell = (fact) => this.#store.setState(reduce(this.store.getState(), fact), true);

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
      .finally(() => {
        life.abort(); // whatever still hangs on it
        if (this.#life === life) void this.archive.settle();
      });
  }

  /** A conversation without a call, for as long as nothing else begins. */
  #write(): void {
    if (this.#writing) return;
    this.#live(async (_life, tell, signal) => {
      const writing = new Correspondence(this.ports, tell);
      this.#writing = writing;
      try {
        tell({ type: "writing" });
        await this.#ready(tell, signal);
        await aborted(signal);
      } finally {
        writing.close();
        if (this.#writing === writing) this.#writing = null;
      }
    });
  }

  /** The conversation to write to: that of the call as soon as it has one, that which is shown, or
   * a new one. */
  async #addressee(signal: AbortSignal): Promise<string> {
    const known = (state: State) => state.conversation !== null || !busy(state);
    const { conversation } = await until(this.store, known, signal);
    if (conversation !== null) return conversation;
    const { id } = await this.ports.api.createConversation();
    this.#tell({ type: "conversation.begun", id });
    return id;
  }

  async #converse(life: AbortController, tell: Tell): Promise<void> {
    const { signal } = life;
    const goesOn = this.#goesOn;
    tell({ type: "microphone.asked", conversation: goesOn });
    const microphone = await orAborted(this.ports.openMicrophone(), signal, (late) => late.close());
    this.#microphone = microphone;
    microphone.mute(this.store.getState().muted);
    let visit: Visit | null = null;
    try {
      void microphone.lost.then(() => {
        life.abort(new MicrophoneRefused("The microphone is gone. Plug it in, then try again."));
      });
      tell({ type: "call.placing", transport: null });
      await this.#ready(tell, signal);
      const { key, ...opened } = await this.#opened(goesOn, signal);
      visit = new Visit(this.ports, this.store, life, tell, opened.session_id);
      const { session_id: id, conversation_id: conversation } = opened;
      tell({ type: "session.opened", id, ...(conversation ? { conversation } : {}) });
      visit.follow(opened.stream_token.value, opened.last_event_id);
      const { newKey, moveWanted, moved, shown } = visit;
      let quiet = () => undefined as void;
      const onCall = (call: Call | null) => {
        quiet();
        this.#call = call;
        quiet = call ? watchQuiet(call, this.store, tell) : () => undefined;
      };
      const pause = this.#patient;
      const line = { ...this.ports, pause, microphone, tell, newKey, moveWanted, moved, shown, onCall };
      await keepCalling(line, key, signal);
    } catch (fault) {
      life.abort(fault); // why it is over: that the session then ends is no news
      throw fault;
    } finally {
      if (this.#microphone === microphone) this.#microphone = null;
      microphone.close();
      await visit?.leave();
    }
  }

  #opened(goesOn: string | null, signal: AbortSignal): Promise<Opened> {
    const { history, ended, lines } = this.store.getState();
    if (goesOn !== null && lines.length === 0) {
      void this.#readBefore(goesOn).catch(() => undefined); // it is talked about all the same
    }
    return orAborted(this.#open(history.past?.id ?? goesOn, ended), signal, (late) => {
      void this.ports.api.end(late.session_id).catch(() => undefined);
    });
  }

  /** A new conversation, or one that goes on: a past one, or that of a session that ended. */
  async #open(conversationId: string | null, ended: string | null): Promise<Opened> {
    const { api } = this.ports;
    if (conversationId === null && ended !== null) {
      const { ephemeral_key, new_session_id, ...opened } = await api.restore(ended);
      return { ...opened, session_id: new_session_id, key: ephemeral_key };
    }
    if (conversationId === null && this.#wishes.task === undefined) {
      const { client_secret, ...opened } = await api.createSession(this.#wishes);
      return { ...opened, key: client_secret.value };
    }
    const { ephemeral_key, ...opened } = await api.openConversation(conversationId, this.#wishes);
    return { ...opened, key: ephemeral_key };
  }

  /** A wait that somebody may shorten. */
  readonly #patient: Pause = async (ms, signal) => {
    const enough = new AbortController();
    this.#hurry = () => enough.abort();
    const either = AbortSignal.any([signal, enough.signal]);
    try {
      await this.ports.pause(ms, either);
    } catch (fault) {
      if (!enough.signal.aborted || signal.aborted) throw fault;
    }
  };

  async #readBefore(id: string): Promise<void> {
    const { api } = this.ports;
    const [page, { intents }] = await Promise.all([api.messages(id, null), api.intents(id)]);
    const read = { messages: page.messages, intents, more: page.has_more, sending: null };
    this.#tell({ type: "conversation.read", id, lines: pastLines(read) });
  }

  async #ready(tell: Tell, signal: AbortSignal): Promise<void> {
    const { api, pause } = this.ports;
    await untilReady(api, (loading) => tell({ type: "server.waiting", loading }), pause, signal);
    tell({ type: "server.ready" });
  }
}

/** How a run ended, as a fact. A signal's reason says more than what it broke off. */
function outcome(fault: unknown, signal: AbortSignal): Fact {
  const why: unknown = signal.aborted ? signal.reason : fault;
  if (why instanceof MicrophoneRefused) return { type: "microphone.refused", why: why.message };
  if (hungUp(signal)) return { type: "stopped" };
  if (why instanceof ApiError && why.status === 401) return { type: "locked", why: null };
  if (why instanceof ApiError && why.status === 404) return { type: "failed", why: GONE, gone: true };
  return { type: "failed", why: faultWords(why) };
}

/** Where it cannot even be sent, it is not right either. */
function refusedToken(fault: unknown): string {
  const right = fault instanceof ApiError && fault.status !== 401;
  return right ? fault.message : "This token is not right.";
}
