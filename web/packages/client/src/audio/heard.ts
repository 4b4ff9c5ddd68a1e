/** How much of each answer has come and how much was heard: whether something sounds right now,
 * and what to tell while it plays and when it is cut off.
 *
 * Only the engine's own calls have their sound here. It takes a cut at 0 ms: what waited and
 * was never begun is cut there, or it would count as heard. */

export interface Cut {
  readonly itemId: string;
  readonly endMs: number;
}

export class Heard {
  #received = new Map<string, number>();
  #played = new Map<string, number>();
  #cut = new Set<string>();
  #said = new Map<string, number>();
  #told = false;

  constructor(
    private readonly rate: number,
    /** Sound begins, or has come to its end. */
    private readonly sounding: (on: boolean) => void = () => undefined,
  ) {}

  /** False if the item was cut off already, and this is not to be played. */
  received(item: string, samples: number): boolean {
    if (this.#cut.has(item)) return false;
    if (!this.#received.has(item)) this.#forgetOld();
    this.#received.set(item, (this.#received.get(item) ?? 0) + samples);
    this.#tell();
    return true;
  }

  /** What the player says: so many samples of this item so far. */
  played(item: string, samples: number): void {
    if (!this.#received.has(item) || this.#cut.has(item)) return;
    this.#played.set(item, samples);
    this.#tell();
  }

  /** Is there something that was received and not yet played? */
  get playing(): boolean {
    return [...this.#received.keys()].some((item) => this.unfinished(item));
  }

  /** Is some of this item still to be played? */
  unfinished(item: string): boolean {
    const left = (this.#received.get(item) ?? 0) - (this.#played.get(item) ?? 0);
    return left > 0 && !this.#cut.has(item);
  }

  /** How far each item is that got on since this was asked last. */
  news(latencyMs = 0): Cut[] {
    const news: Cut[] = [];
    for (const [itemId, samples] of this.#played) {
      if (this.#cut.has(itemId)) continue;
      // What has left the queue is on its way to the ear, but for what was played to its end.
      const late = this.unfinished(itemId) ? latencyMs : 0;
      const endMs = Math.max(0, Math.floor(this.#ms(samples) - late));
      if (endMs <= (this.#said.get(itemId) ?? 0)) continue;
      this.#said.set(itemId, endMs);
      news.push({ itemId, endMs });
    }
    return news;
  }

  /** Somebody else cut off this one. False if there was nothing left to cut. */
  cutOff(item: string): boolean {
    if (!this.unfinished(item)) return false;
    this.#cut.add(item);
    this.#tell();
    return true;
  }

  /** Cut off what sounds and what waits. Where each of them ended, to tell the engine. */
  interrupt(latencyMs = 0): Cut[] {
    const items = [...this.#received.keys()].filter((item) => this.unfinished(item));
    if (items.length === 0) return [];
    for (const item of this.#received.keys()) this.#cut.add(item);
    this.#tell();
    return items.map((itemId) => {
      const received = this.#ms(this.#received.get(itemId) ?? 0);
      const played = this.#ms(this.#played.get(itemId) ?? 0) - latencyMs;
      return { itemId, endMs: Math.max(0, Math.floor(Math.min(played, received))) };
    });
  }

  #tell(): void {
    if (this.playing === this.#told) return;
    this.#told = !this.#told;
    this.sounding(this.#told);
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
    this.#said.delete(oldest);
  }
}
