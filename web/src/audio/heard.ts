/** How much of an answer has come and how much was heard, for the moment it is cut off.
 *
 * Truncating at 0 ms, or past what was received, upsets Realtime servers: the first is skipped
 * and the second cannot happen. */

export interface Cut {
  readonly itemId: string;
  readonly endMs: number;
}

export class Heard {
  #received = new Map<string, number>();
  #played = new Map<string, number>();
  #cut = new Set<string>();

  constructor(private readonly rate: number) {}

  /** False if the item was cut off already, and this is not to be played. */
  received(item: string, samples: number): boolean {
    if (this.#cut.has(item)) return false;
    if (!this.#received.has(item)) this.#forgetOld();
    this.#received.set(item, (this.#received.get(item) ?? 0) + samples);
    return true;
  }

  /** What the player says: so many samples of this item so far. */
  played(item: string, samples: number): void {
    if (!this.#received.has(item) || this.#cut.has(item)) return;
    this.#played.set(item, samples);
  }

  /** Is there something that was received and not yet played? */
  get playing(): boolean {
    return this.#sounding() !== null;
  }

  /** Cut off whatever sounds. What to tell the engine, if any of it was heard. */
  interrupt(latencyMs = 0): Cut | null {
    const itemId = this.#sounding();
    if (itemId === null) return null;
    for (const item of this.#received.keys()) this.#cut.add(item);
    const received = this.#ms(this.#received.get(itemId) ?? 0);
    const played = this.#ms(this.#played.get(itemId) ?? 0) - latencyMs;
    const endMs = Math.floor(Math.min(played, received));
    return endMs > 0 ? { itemId, endMs } : null;
  }

  #sounding(): string | null {
    for (const [item, samples] of this.#received) {
      if (!this.#cut.has(item) && (this.#played.get(item) ?? 0) < samples) return item;
    }
    return null;
  }

  #ms(samples: number): number {
    return (1000 * samples) / this.rate;
  }

  #forgetOld(): void {
    const [oldest] = this.#received.keys();
    if (oldest === undefined || this.#received.size < 64) return;
    this.#received.delete(oldest);
    this.#played.delete(oldest);
    this.#cut.delete(oldest);
  }
}
