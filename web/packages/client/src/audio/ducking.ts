/** Should the assistant be quieter for a moment, since somebody seems to speak over it?
 *
 * Decided here and at once, from the loudness of the microphone; whether it was speech is for
 * the engine to say, a little later. */

const CLEARLY = 4; // times the noise floor
const QUIETEST = 0.012; // below that nobody speaks
const PIECES = 2; // in a row, so that a click is none
const HOLD_MS = 400;
const RISE = 0.01; // the floor follows noise slowly upwards …
const FALL = 0.3; // … and silence quickly downwards

export class Ducking {
  #floor = 0.005;
  #loud = 0;
  #until = 0;

  next(level: number, playing: boolean, now: number): boolean {
    const loud = level > Math.max(QUIETEST, CLEARLY * this.#floor);
    this.#loud = loud ? this.#loud + 1 : 0;
    this.#floor += (level - this.#floor) * (level > this.#floor ? RISE : FALL);
    if (playing && this.#loud >= PIECES) this.#until = now + HOLD_MS;
    return playing && now < this.#until;
  }
}
