/** Which calls were run, and what came of them: no call is run twice, whatever is sent again. */

import type { ErrorBody } from "./wire.js";

/** Calls whose results are known; the oldest are forgotten. */
export const MOST_CALLS = 1_000;
export const STOPPED = "The app was stopped while this ran. Nobody knows if it was done.";

/** A call that began, or with `over` what came of it. `cut`: where the user spoke over it. */
export interface Entry {
  callId: string;
  over: boolean;
  result: string | null;
  error: string | null;
  cut: ErrorBody | null;
}

export function ended(
  callId: string,
  result: string | null,
  error: string | null = null,
  cut: ErrorBody | null = null,
): Entry {
  return { callId, over: true, result, error, cut };
}

/** What is remembered of calls over a restart of the app. */
export interface Memory {
  load(sessionId: string): readonly Entry[] | Promise<readonly Entry[]>;
  /** Returns when it is safe. */
  keep(sessionId: string, entry: Entry): void | Promise<void>;
}

export class Calls {
  readonly #known = new Map<string, Entry>();

  /** `kept` is of the app's run before this one: what was not over then is lost. */
  constructor(kept: readonly Entry[]) {
    for (const entry of kept) this.#remember(entry);
    for (const entry of [...this.#known.values()]) {
      if (!entry.over) this.#known.set(entry.callId, ended(entry.callId, null, STOPPED));
    }
  }

  known(callId: string): Entry | undefined {
    return this.#known.get(callId);
  }

  begin(callId: string): Entry {
    return this.#remember({ callId, over: false, result: null, error: null, cut: null });
  }

  /** False where it is over already, or never began. */
  end(entry: Entry): boolean {
    const before = this.#known.get(entry.callId);
    if (before === undefined || before.over) return false;
    this.#remember(entry);
    return true;
  }

  #remember(entry: Entry): Entry {
    this.#known.set(entry.callId, entry);
    if (this.#known.size > MOST_CALLS) {
      for (const each of this.#known.values()) {
        if (each.over) {
          this.#known.delete(each.callId);
          break;
        }
      }
    }
    return entry;
  }
}
