/** The microphone as a series of PCM16 pieces. */

import type { Microphone } from "./microphone.js";
import type { Piece } from "./pieces.js";

const PIECE_MS = 40;

/** Returns what stops it. */
export async function capture(
  microphone: Microphone,
  rate: number,
  said: (pcm: Int16Array, level: number) => void,
  worklets: URL,
): Promise<() => void> {
  await microphone.context.audioWorklet.addModule(worklets);
  const node = new AudioWorkletNode(microphone.context, "vivavoce-capture", {
    numberOfOutputs: 0,
    channelCount: 1,
    channelCountMode: "explicit",
    processorOptions: { rate, pieceMs: PIECE_MS },
  });
  node.port.onmessage = ({ data }: MessageEvent<Piece>) => said(data.pcm, data.level);
  microphone.source.connect(node);
  return () => {
    node.port.onmessage = null;
    microphone.source.disconnect(node);
  };
}
