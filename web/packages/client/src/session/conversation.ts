/** One button's worth of behaviour: start, keep going, stop. The core of the page.
 *
 * It owns the store and the order of things; what they are done with comes in through ports,
 * so that all of it runs without a browser in the tests. */

import { type Microphone, MicrophoneRefused } from "../audio/microphone";
import type { Choice } from "../transport/choice";
import type { Call, Transport } from "../transport/transport";
import { ApiError } from "../wire/api";
import type { SessionResponse } from "../wire/types";
import { aborted, hungUp, orAborted } from "./aborting";
import { Archive, newName } from "./history/archive";
import { WorkClient, type WorkPorts } from "./work/client";
import { faultWords } from "./faults";
import { keepCalling } from "./line";
import { untilReady } from "./readiness";
import { reduce } from "./reducer";
import { type Fact, INITIAL, type State, type Tell, type TransportKind } from "./state";
import { type Readable, type Store, storeOf, until } from "./store";
import { Visit, type VisitPorts } from "./visit";
import { busy } from "./words";
import { Correspondence } from "./writing";

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
  #again = false;
  #call: Call | null = null;
  #writing: Correspondence | null = null;

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

  /** Before anybody pressed anything: is the server there yet? */
  watch(): void {
    this.#talkWanted = false;
    this.#live((_life, tell, signal) => this.#ready(tell, signal));
  }

  start(): void {
    this.#again = this.store.getState().stage === "writing";
    this.#talk();
  }

  /** Goes on by voice with the conversation whose lines are shown. */
  resume(): void {
    this.#again = this.store.getState().conversation !== null;
    this.#talk();
  }

  #talk(): void {
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
    this.#call?.interrupt();
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
    const again = this.#again;
    this.#again = false;
    tell({ type: "microphone.asked", again });
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
      const { key, ...opened } = await this.#opened(again, signal);
      visit = new Visit(this.ports, this.store, life, tell, opened.session_id);
      const { session_id: id, conversation_id: conversation } = opened;
      tell({ type: "session.opened", id, ...(conversation ? { conversation } : {}) });
      visit.follow(opened.stream_token.value, opened.last_event_id);
      const { newKey, moveWanted, moved, shown } = visit;
      const onCall = (call: Call | null) => void (this.#call = call);
      const line = { ...this.ports, microphone, tell, newKey, moveWanted, moved, shown, onCall };
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

  #opened(again: boolean, signal: AbortSignal): Promise<Opened> {
    const { history, ended, conversation } = this.store.getState();
    const goesOn = history.past?.id ?? (again ? conversation : null);
    return orAborted(this.#open(goesOn, ended), signal, (late) => {
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
    if (conversationId === null) {
      const { client_secret, ...opened } = await api.createSession();
      return { ...opened, key: client_secret.value };
    }
    const { ephemeral_key, ...opened } = await api.resumeConversation(conversationId);
    return { ...opened, key: ephemeral_key };
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
  return { type: "failed", why: faultWords(why) };
}

/** Where it cannot even be sent, it is not right either. */
function refusedToken(fault: unknown): string {
  const right = fault instanceof ApiError && fault.status !== 401;
  return right ? fault.message : "This token is not right.";
}
