/** Where the user was, for a page that is loaded anew: which conversation, and whether they talked. */

import type { State } from "./state.js";
import { busy } from "./words.js";

export interface Place {
  readonly conversation: string;
  readonly talking: boolean;
}

export function placeOf(state: State): Place | null {
  const { conversation } = state;
  return conversation === null ? null : { conversation, talking: busy(state) };
}

/** One tab's memory: another tab is another talk. */
export class PlaceMemory {
  #last: Place | null = null;

  constructor(
    private readonly name: string,
    private readonly storage: () => Storage = () => sessionStorage,
  ) {}

  read(): Place | null {
    try {
      const kept = JSON.parse(this.storage().getItem(this.name) ?? "null") as Partial<Place> | null;
      if (typeof kept?.conversation !== "string") return null;
      return { conversation: kept.conversation, talking: kept.talking === true };
    } catch {
      return null;
    }
  }

  write(place: Place | null): void {
    const { conversation, talking } = place ?? {};
    if (this.#last?.conversation === conversation && this.#last?.talking === talking) return;
    this.#last = place;
    try {
      if (place === null) this.storage().removeItem(this.name);
      else this.storage().setItem(this.name, JSON.stringify(place));
    } catch {
      // Full or forbidden: then a reload begins anew.
    }
  }
}
