/** From one sample rate to another, piece by piece, with the state in between.
 *
 * A windowed sinc (Kaiser), one set of taps for each phase of the rational ratio. What the
 * lower rate cannot carry is filtered out, so nothing folds back into the speech. */

const HALF_TAPS = 16; // zero crossings on each side, at the lower of the two rates
const BETA = 8; // stop band at about -80 dB
const PASS = 0.92; // of the lower Nyquist frequency

export class Resampler {
  readonly #up: number;
  readonly #down: number;
  readonly #taps: Float32Array[];
  readonly #length: number;
  #history: Float32Array;
  #phase = 0;
  #skip = 0; // input samples to pass over before the next output

  constructor(from: number, to: number) {
    const common = divisor(from, to);
    this.#up = to / common;
    this.#down = from / common;
    this.#length = 2 * Math.ceil(HALF_TAPS * Math.max(1, from / to));
    this.#taps = this.#up === this.#down ? [] : phases(this.#up, this.#down, this.#length);
    this.#history = new Float32Array(this.#length - 1);
  }

  /** What can be told of the input so far. The samples are the caller's to keep. */
  push(input: Float32Array): Float32Array {
    if (this.#up === this.#down) return input.slice();
    const all = new Float32Array(this.#history.length + input.length);
    all.set(this.#history);
    all.set(input, this.#history.length);
    const out = new Float32Array(Math.ceil(((input.length + 1) * this.#up) / this.#down) + 1);
    let made = 0;
    let at = this.#skip;
    while (at + this.#length <= all.length) {
      out[made++] = dot(all, at, this.#taps[this.#phase] as Float32Array);
      this.#phase += this.#down;
      at += Math.floor(this.#phase / this.#up);
      this.#phase %= this.#up;
    }
    const kept = Math.min(at, all.length);
    this.#history = all.slice(kept);
    this.#skip = at - kept;
    return out.subarray(0, made);
  }
}

function dot(samples: Float32Array, at: number, taps: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < taps.length; i++) sum += (samples[at + i] as number) * (taps[i] as number);
  return sum;
}

function phases(up: number, down: number, length: number): Float32Array[] {
  const cutoff = (PASS * Math.min(1, up / down)) / 2; // in cycles per input sample
  return Array.from({ length: up }, (_, phase) => {
    const taps = new Float32Array(length);
    const centre = length / 2 - 1 + phase / up;
    let sum = 0;
    for (let i = 0; i < length; i++) {
      const x = i - centre;
      const value = sinc(2 * cutoff * x) * kaiser(x / (length / 2));
      taps[i] = value;
      sum += value;
    }
    return taps.map((value) => value / sum); // no phase louder than another
  });
}

function sinc(x: number): number {
  return x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
}

function kaiser(x: number): number {
  return Math.abs(x) >= 1 ? 0 : bessel(BETA * Math.sqrt(1 - x * x)) / bessel(BETA);
}

function bessel(x: number): number {
  let sum = 1;
  let term = 1;
  for (let k = 1; k < 32; k++) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
}

function divisor(a: number, b: number): number {
  return b === 0 ? a : divisor(b, a % b);
}
