/** Microphone sound on its way into a socket. On a slow line the oldest goes overboard:
 * late speech is worth less than none, and nothing may grow without end. */

export interface Sink {
  readonly bufferedAmount: number;
  send(text: string): void;
}

export class Outbox {
  #waiting: string[] = [];
  dropped = 0;

  constructor(
    private readonly sink: Sink,
    private readonly maxBuffered: number,
    private readonly maxWaiting: number,
  ) {}

  push(message: string): void {
    this.#waiting.push(message);
    while (this.#waiting.length > 0 && this.sink.bufferedAmount <= this.maxBuffered) {
      this.sink.send(this.#waiting.shift() as string);
    }
    while (this.#waiting.length > this.maxWaiting) {
      this.#waiting.shift();
      this.dropped += 1;
    }
  }
}
