/** A memory in the browser's storage. */

import { MOST_CALLS, type Entry, type Memory } from "./calls.js";
import { lineOf, linesOf, newest } from "./lines.js";

/** What of `localStorage` is needed. */
export interface Store {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
}

/** One key may serve several sessions, of one page at a time. */
export class StorageMemory implements Memory {
  readonly #store: Store;
  readonly #key: string;

  constructor(store: Store, key: string) {
    this.#store = store;
    this.#key = key;
  }

  load(sessionId: string): readonly Entry[] {
    const lines = newest(linesOf(this.#store.getItem(this.#key) ?? ""), MOST_CALLS);
    this.#store.setItem(this.#key, lines.map(lineOf).join(""));
    return lines.filter((line) => line.session === sessionId).map((line) => line.entry);
  }

  keep(session: string, entry: Entry): void {
    const before = this.#store.getItem(this.#key) ?? "";
    this.#store.setItem(this.#key, before + lineOf({ session, entry }));
  }
}
