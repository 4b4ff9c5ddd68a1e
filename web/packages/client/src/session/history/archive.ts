/** Reads the conversations of before, searches and deletes them, and writes to the one that is
 * looked at.
 * What it learns it tells; what that means is the reducer's. */

import { type Api, ApiError } from "../../wire/api.js";
import { faultWords } from "../faults.js";
import type { HistoryNews, Past } from "./history.js";
import type { Pause } from "../readiness.js";
import type { State, Tell } from "../state.js";
import type { Readable } from "../store.js";
import { busy } from "../words.js";

export interface ArchivePorts {
  readonly api: Api;
  readonly pause: Pause;
}

const PAGE = 50;
const HITS = 100;
const TYPING_MS = 250; // nobody is asked for every letter
const SEARCHED_PAGES = 10; // back to a message that was found
const LATE_MS = 2000; // between looks for an answer that takes its time
const LATE_LOOKS = 60;
const LATE = "No answer yet. It is kept when it comes: look again in a while.";

export class Archive {
  #search = new AbortController();
  #watch = new AbortController();
  #unsent: { readonly id: string; readonly words: string; readonly once: string } | null = null;

  constructor(
    private readonly ports: ArchivePorts,
    private readonly store: Readable<State>,
    private readonly tell: Tell,
  ) {}

  open(): Promise<void> {
    this.#news({ what: "opened" });
    return this.#list(0);
  }

  close(): void {
    this.#search.abort();
    this.#news({ what: "closed" });
  }

  /** The list once more, and whatever is searched for stays. */
  refresh(): Promise<void> {
    return this.#list(0);
  }

  more(): Promise<void> {
    return this.#list(this.store.getState().history.conversations.length);
  }

  async search(words: string): Promise<void> {
    this.#search.abort();
    const search = new AbortController();
    this.#search = search;
    const query = words.trim();
    this.#news({ what: "searching", query });
    if (!query) return;
    try {
      await this.ports.pause(TYPING_MS, search.signal);
      const { results } = await this.ports.api.search(query, HITS);
      if (!search.signal.aborted) this.#news({ what: "found", query, hits: results });
    } catch (fault) {
      if (!search.signal.aborted) this.#news({ what: "unread", why: faultWords(fault) });
    }
  }

  /** Look at one; back to the message that was found, where there is one. */
  async show(id: string, name: string, target: string | null = null): Promise<void> {
    this.#watch.abort();
    this.close();
    this.#news({ what: "shown", id, name, target });
    await this.#read(id);
    for (let page = 0; target !== null && page < SEARCHED_PAGES; page += 1) {
      const past = this.#past(id);
      if (!past?.more || past.messages.some((message) => message.id === target)) return;
      await this.older();
    }
  }

  async older(): Promise<void> {
    const past = this.store.getState().history.past;
    const first = past?.messages[0];
    if (!past || !first || past.reading) return;
    this.#news({ what: "past.reading", id: past.id });
    await this.#read(past.id, first.id);
  }

  leave(): void {
    this.#watch.abort();
    this.#news({ what: "left" });
  }

  /** Whether it may be deleted; null takes the question back. */
  ask(id: string | null): void {
    if (!this.store.getState().history.doomed?.going) this.#news({ what: "asked", id });
  }

  /** Deletes the one that was asked about. One that is gone already is deleted too. */
  async remove(): Promise<void> {
    const { doomed } = this.store.getState().history;
    if (!doomed || doomed.going) return;
    const { id } = doomed;
    this.#news({ what: "deleting", id });
    try {
      await this.ports.api.deleteConversation(id);
    } catch (fault) {
      if (!(fault instanceof ApiError && fault.status === 404)) {
        this.#news({ what: "unread", why: faultWords(fault) });
        return;
      }
    }
    if (this.#past(id)) this.#watch.abort();
    this.#news({ what: "deleted", id });
  }

  /** Its new name is shown at once. Rejects where the server refuses; then it has the old one. */
  async rename(id: string, title: string): Promise<void> {
    const before = this.store.getState().history.conversations.find((one) => one.id === id);
    if (before) this.#news({ what: "renamed", info: { ...before, title } });
    try {
      this.#news({ what: "renamed", info: await this.ports.api.renameConversation(id, title) });
    } catch (fault) {
      if (before) this.#news({ what: "renamed", info: before });
      throw fault;
    }
  }

  /** After a call: what was said in it is stored now. */
  async settle(): Promise<void> {
    const { past } = this.store.getState().history;
    if (past?.live && !busy(this.store.getState())) await this.#read(past.id);
  }

  /** True once the server has it; its answer is shown when it is there. */
  async write(text: string): Promise<boolean> {
    const past = this.store.getState().history.past;
    if (!past || past.sending !== null || !text.trim()) return false;
    const { id } = past;
    this.#watch.abort();
    this.#watch = new AbortController();
    const words = text.trim();
    this.#news({ what: "past.sending", id, text: words });
    // What went unanswered and is sent again is the same message: the server may have it.
    if (this.#unsent?.id !== id || this.#unsent.words !== words) {
      this.#unsent = { id, words, once: newName() };
    }
    const { once } = this.#unsent;
    try {
      const { message, reply } = await this.ports.api.sendMessage(id, words, once);
      this.#unsent = null;
      this.#news({ what: "past.said", id, messages: reply ? [message, reply] : [message] });
      if (reply) void this.#read(id); // what came of it besides words
      else void this.#untilAnswered(id, this.#watch.signal);
      return true;
    } catch (fault) {
      this.#news({ what: "past.problem", id, why: faultWords(fault) });
      return false;
    }
  }

  readonly #news = (news: HistoryNews) => this.tell({ type: "history", news });

  #past(id: string): Past | null {
    const { past } = this.store.getState().history;
    return past?.id === id ? past : null;
  }

  async #list(offset: number): Promise<void> {
    if (this.store.getState().history.reading) return;
    this.#news({ what: "listing" });
    try {
      const { conversations, total } = await this.ports.api.conversations(offset, PAGE);
      this.#news({ what: "listed", conversations, total, offset });
    } catch (fault) {
      this.#news({ what: "unread", why: faultWords(fault) });
    }
  }

  async #read(id: string, before: string | null = null): Promise<void> {
    const { api } = this.ports;
    try {
      const [page, { intents }] = await Promise.all([api.messages(id, before), api.intents(id)]);
      if (this.#past(id)?.live && busy(this.store.getState())) return; // it goes on already
      const { messages, has_more: more } = page;
      this.#news({ what: "past.read", id, messages, intents, more, older: before !== null });
    } catch (fault) {
      this.#news({ what: "past.problem", id, why: faultWords(fault) });
    }
  }

  async #untilAnswered(id: string, signal: AbortSignal): Promise<void> {
    this.#news({ what: "past.sending", id, text: "" }); // the server has it, and thinks
    try {
      for (let look = 0; look < LATE_LOOKS; look += 1) {
        await this.ports.pause(LATE_MS, signal);
        await this.#read(id);
        if (this.#past(id)?.sending === null) return;
      }
      this.#news({ what: "past.problem", id, why: LATE });
    } catch {
      // Nobody looks at it any more.
    }
  }
}

/** For a message: sent again under it, it is the same. Not `randomUUID`: that is for secure contexts only. */
export function newName(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(36)).join("-");
}
