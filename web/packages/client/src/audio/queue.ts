/** The sound that waits to be played, and how much of which item has been.
 *
 * Lives in the player's audio thread. It starts with a little in hand, and again after it ran
 * dry, so that a line that stutters does not sound like one. */

interface Waiting {
  readonly item: string;
  readonly pcm: Int16Array;
}

export interface Position {
  readonly item: string;
  readonly samples: number;
}

export class PlayQueue {
  #waiting: Waiting[] = [];
  #offset = 0;
  #buffered = 0;
  #running = false;
  #ended = true;
  #position: Position | null = null;
  #news: Position[] = [];

  constructor(
    private readonly prefill: number,
    private readonly limit: number,
  ) {}

  /** False if there is no room: somebody sends without end. */
  push(item: string, pcm: Int16Array): boolean {
    if (this.#buffered + pcm.length > this.limit) return false;
    this.#waiting.push({ item, pcm });
    this.#buffered += pcm.length;
    this.#ended = false;
    return true;
  }

  /** No more is coming for now, so that a last short piece is not held back. */
  end(): void {
    this.#ended = true;
  }

  clear(): void {
    this.#waiting = [];
    this.#offset = 0;
    this.#buffered = 0;
    this.#running = false;
    this.#ended = true;
  }

  /** What is left of one item is not played; what waits behind it is. */
  drop(item: string): void {
    if (this.#waiting[0]?.item === item) this.#offset = 0;
    this.#waiting = this.#waiting.filter((one) => one.item !== item);
    this.#buffered = this.#waiting.reduce((sum, { pcm }) => sum + pcm.length, -this.#offset);
  }

  /** Fill what is asked for: with sound as far as there is any, then with silence. */
  pull(out: Float32Array): void {
    out.fill(0);
    if (!this.#running && this.#buffered < this.prefill && !this.#ended) return;
    this.#running = this.#buffered > 0;
    for (let at = 0; at < out.length && this.#waiting.length > 0; ) {
      const { item, pcm } = this.#waiting[0] as Waiting;
      const count = Math.min(pcm.length - this.#offset, out.length - at);
      for (let i = 0; i < count; i++) out[at + i] = (pcm[this.#offset + i] as number) / 32768;
      at += count;
      this.#take(item, count, pcm.length);
    }
    this.#running = this.#buffered > 0;
  }

  /** Of each item that got on since this was asked last, how many samples were played: one may end
   * and the next begin at once. */
  news(): Position[] {
    return this.#news.splice(0);
  }

  #take(item: string, count: number, length: number): void {
    const before = this.#position?.item === item ? this.#position.samples : 0;
    this.#position = { item, samples: before + count };
    if (this.#news.at(-1)?.item === item) this.#news.pop();
    this.#news.push(this.#position);
    this.#buffered -= count;
    this.#offset += count;
    if (this.#offset >= length) {
      this.#waiting.shift();
      this.#offset = 0;
    }
  }
}
