/** The assistant's sound, where it does not come by WebRTC: a queue, and a volume. */

import { meter } from "./level.js";
import type { PlayerOrder } from "./player.worklet.js";
import type { Position } from "./queue.js";

const DUCKED = 0.3;
const RAMP_S = 0.03;

export class Speaker {
  #ducked = false;

  private constructor(
    private readonly node: AudioWorkletNode,
    private readonly gain: GainNode,
    /** How loud it is right now: root mean square, 0 to 1. */
    readonly level: () => number,
  ) {}

  static async open(
    context: AudioContext,
    rate: number,
    played: (item: string, samples: number) => void,
    worklets: URL,
  ): Promise<Speaker> {
    await context.audioWorklet.addModule(worklets);
    const node = new AudioWorkletNode(context, "vivavoce-player", {
      numberOfInputs: 0,
      outputChannelCount: [1],
      processorOptions: { rate },
    });
    node.port.onmessage = ({ data }: MessageEvent<Position>) => played(data.item, data.samples);
    const gain = context.createGain();
    node.connect(gain).connect(context.destination);
    const analyser = context.createAnalyser();
    node.connect(analyser);
    return new Speaker(node, gain, meter(analyser));
  }

  /** From the queue to the ear. */
  get latencyMs(): number {
    const { outputLatency, baseLatency } = this.gain.context as AudioContext;
    return 1000 * (outputLatency || baseLatency || 0);
  }

  play(item: string, pcm: Int16Array<ArrayBuffer>): void {
    this.order({ type: "play", item, pcm }, [pcm.buffer]);
  }

  end(): void {
    this.order({ type: "end" });
  }

  /** What is left of one item. */
  drop(item: string): void {
    this.order({ type: "drop", item });
  }

  clear(): void {
    this.order({ type: "clear" });
  }

  duck(quieter: boolean): void {
    if (quieter === this.#ducked) return;
    this.#ducked = quieter;
    const { gain, context } = this.gain;
    gain.cancelScheduledValues(context.currentTime);
    gain.setTargetAtTime(quieter ? DUCKED : 1, context.currentTime, RAMP_S);
  }

  close(): void {
    this.clear();
    this.node.port.onmessage = null;
    this.node.disconnect();
    this.gain.disconnect();
  }

  private order(order: PlayerOrder, transfer: Transferable[] = []): void {
    this.node.port.postMessage(order, transfer);
  }
}
