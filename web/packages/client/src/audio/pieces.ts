/** A stream of samples cut into PCM16 pieces of one length, each with its loudness. */

export interface Piece {
  readonly pcm: Int16Array<ArrayBuffer>;
  /** Root mean square, 0 to 1. */
  readonly level: number;
}

export class Pieces {
  #pcm: Int16Array<ArrayBuffer>;
  #filled = 0;
  #energy = 0;

  constructor(private readonly length: number) {
    this.#pcm = new Int16Array(length);
  }

  push(samples: Float32Array): Piece[] {
    const out: Piece[] = [];
    for (const sample of samples) {
      const clamped = Math.max(-1, Math.min(1, sample));
      this.#pcm[this.#filled++] = Math.round(clamped * 32767);
      this.#energy += clamped * clamped;
      if (this.#filled < this.length) continue;
      out.push({ pcm: this.#pcm, level: Math.sqrt(this.#energy / this.length) });
      this.#pcm = new Int16Array(this.length);
      this.#filled = 0;
      this.#energy = 0;
    }
    return out;
  }
}
