/** Hears when an answer falls silent before it is over: the brain is at it again, and what the page
 * says of it is to be true. */

import type { Call } from "../transport/transport.js";
import type { State, Tell } from "./state.js";
import type { Readable } from "./store.js";

const EVERY_MS = 150;
const AUDIBLE = 0.003; // root mean square: about -50 dB
const PAUSE_MS = 1500; // longer than one between two sentences

/** Looks at a call until the function that it returns is called. */
export function watchQuiet(call: Pick<Call, "level">, store: Readable<State>, tell: Tell): () => void {
  const quiet = new Quiet((on) => tell({ type: "silence", on }));
  const timer = setInterval(() => {
    const { voice, sounding } = store.getState();
    quiet.look(voice === "speaking" || sounding, call.level(), performance.now());
  }, EVERY_MS);
  return () => {
    clearInterval(timer);
    quiet.look(false, 0, performance.now());
  };
}

/** Silence counts only behind a sound: where nothing can be measured nothing is claimed. */
export class Quiet {
  #soundAt: number | null = null;
  #silent = false;

  constructor(private readonly tell: (on: boolean) => void) {}

  look(speaking: boolean, level: number, now: number): void {
    if (!speaking) this.#soundAt = null;
    else if (level >= AUDIBLE) this.#soundAt = now;
    const silent = this.#soundAt !== null && now - this.#soundAt >= PAUSE_MS;
    if (silent === this.#silent) return;
    this.#silent = silent;
    this.tell(silent);
  }
}
