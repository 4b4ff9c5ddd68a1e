/** In the audio thread: the queue of what is to be played, at the context's rate. */

import { PlayQueue } from "./queue.js";
import { Resampler } from "./resampler.js";
import { registerProcessor, sampleRate, WorkletProcessor } from "./worklet.js";

export type PlayerOrder =
  | { readonly type: "play"; readonly item: string; readonly pcm: Int16Array }
  | { readonly type: "end" }
  | { readonly type: "drop"; readonly item: string }
  | { readonly type: "clear" };

const PREFILL_S = 0.06;
const LIMIT_S = 600;
const STEP_S = 0.01; // how much is taken from the queue at a time, and reported

class Player extends WorkletProcessor {
  readonly #queue: PlayQueue;
  readonly #step: Float32Array;
  #resampler: Resampler;
  #ready = new Float32Array(0);

  constructor(options: { processorOptions: { rate: number } }) {
    super();
    const { rate } = options.processorOptions;
    this.#queue = new PlayQueue(PREFILL_S * rate, LIMIT_S * rate);
    this.#step = new Float32Array(Math.round(STEP_S * rate));
    this.#resampler = new Resampler(rate, sampleRate);
    this.port.onmessage = ({ data }: MessageEvent<PlayerOrder>) => {
      if (data.type === "play") this.#queue.push(data.item, data.pcm);
      if (data.type === "end") this.#queue.end();
      if (data.type === "drop") this.#queue.drop(data.item);
      if (data.type === "clear") {
        this.#queue.clear();
        this.#resampler = new Resampler(rate, sampleRate);
        this.#ready = new Float32Array(0);
      }
    };
  }

  process(_inputs: Float32Array[][], outputs: Float32Array[][]): boolean {
    const channel = outputs[0]?.[0];
    if (!channel) return true;
    while (this.#ready.length < channel.length) this.#refill();
    channel.set(this.#ready.subarray(0, channel.length));
    this.#ready = this.#ready.slice(channel.length);
    return true;
  }

  #refill(): void {
    this.#queue.pull(this.#step);
    const more = this.#resampler.push(this.#step);
    const all = new Float32Array(this.#ready.length + more.length);
    all.set(this.#ready);
    all.set(more, this.#ready.length);
    this.#ready = all;
    for (const position of this.#queue.news()) this.port.postMessage(position);
  }
}

registerProcessor("vivavoce-player", Player);
