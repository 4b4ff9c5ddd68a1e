/** What is heard while there is no call and another one is tried: two soft notes, again and again.
 * Nobody can speak then, and silence would be the end. */

const AFTER_MS = 700; // what is back at once needs no sign
const EVERY_MS = 2500;
const NOTES_HZ = [659, 494];
const NOTE_S = 0.16;
const LOUDNESS = 0.06;
const RAMP_S = 0.015;

export class Waiting {
  #timer: ReturnType<typeof setTimeout> | null = null;
  #context: AudioContext | null = null;

  constructor(private readonly open: () => AudioContext) {}

  sound(on: boolean): void {
    if (on === (this.#timer !== null)) return;
    if (on) {
      this.#timer = setTimeout(this.#again, AFTER_MS);
      return;
    }
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    void this.#context?.close();
    this.#context = null;
  }

  readonly #again = () => {
    this.#context ??= this.open();
    notes(this.#context);
    this.#timer = setTimeout(this.#again, EVERY_MS);
  };
}

function notes(context: AudioContext): void {
  NOTES_HZ.forEach((hertz, place) => {
    const from = context.currentTime + place * NOTE_S;
    const until = from + NOTE_S;
    const note = context.createOscillator();
    const volume = context.createGain();
    note.frequency.value = hertz;
    volume.gain.value = 0;
    volume.gain.setTargetAtTime(LOUDNESS, from, RAMP_S);
    volume.gain.setTargetAtTime(0, until - 4 * RAMP_S, RAMP_S);
    note.connect(volume).connect(context.destination);
    note.start(from);
    note.stop(until + 4 * RAMP_S);
  });
}
