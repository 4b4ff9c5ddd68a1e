/** In the audio thread: the microphone at the context's rate becomes PCM16 at the engine's. */

import { Pieces } from "./pieces.js";
import { Resampler } from "./resampler.js";
import { registerProcessor, sampleRate, WorkletProcessor } from "./worklet.js";

class Capture extends WorkletProcessor {
  readonly #resampler: Resampler;
  readonly #pieces: Pieces;

  constructor(options: { processorOptions: { rate: number; pieceMs: number } }) {
    super();
    const { rate, pieceMs } = options.processorOptions;
    this.#resampler = new Resampler(sampleRate, rate);
    this.#pieces = new Pieces((rate * pieceMs) / 1000);
  }

  process(inputs: Float32Array[][]): boolean {
    const channel = inputs[0]?.[0];
    if (!channel) return true;
    for (const piece of this.#pieces.push(this.#resampler.push(channel))) {
      this.port.postMessage(piece, [piece.pcm.buffer]);
    }
    return true;
  }
}

registerProcessor("vivavoce-capture", Capture);
