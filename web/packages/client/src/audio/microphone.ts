/** The microphone, opened once for a conversation and shared by whatever carries the sound. */

import { meter } from "./level.js";

/** Ids of `navigator.mediaDevices.enumerateDevices()`; left out: the usual one. */
export interface Devices {
  readonly microphone?: string;
  readonly speaker?: string;
}

export interface Microphone {
  readonly stream: MediaStream;
  readonly context: AudioContext;
  readonly source: MediaStreamAudioSourceNode;
  /** The device that is to be heard; "" is the usual one. */
  readonly speaker: string;
  /** Settles when it is unplugged or taken away; never rejects. */
  readonly lost: Promise<void>;
  /** How loud it is right now: root mean square, 0 to 1. */
  level(): number;
  /** A muted one goes on, and is silent. */
  mute(on: boolean): void;
  close(): void;
}

export class MicrophoneRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = "MicrophoneRefused";
  }
}

/** Call it from a press of a button: browsers let sound begin only there. */
export async function openMicrophone(devices: Devices = {}): Promise<Microphone> {
  if (!navigator.mediaDevices?.getUserMedia) {
    throw new MicrophoneRefused(
      "Browsers give the microphone only to https pages and to localhost.",
    );
  }
  const context = new AudioContext({ latencyHint: "interactive" });
  let stream: MediaStream | null = null;
  try {
    stream = await heard(devices.microphone);
    await context.resume();
    await leadTo(context, devices.speaker);
    return opened(stream, context, devices.speaker ?? "");
  } catch (fault) {
    // Some browsers refuse to mix rates: then nobody may go on hearing.
    for (const track of stream?.getTracks() ?? []) track.stop();
    void context.close();
    throw new MicrophoneRefused(explain(fault));
  }
}

/** The chosen one; where it is not plugged in, the usual one is better than none. Browsers may give
 * another than an `ideal` one, though it is there. */
async function heard(chosen: string | undefined): Promise<MediaStream> {
  const usual = { echoCancellation: true, noiseSuppression: true, autoGainControl: true };
  const open = (audio: MediaTrackConstraints) => navigator.mediaDevices.getUserMedia({ audio });
  if (!chosen) return open(usual);
  try {
    return await open({ ...usual, deviceId: { exact: chosen } });
  } catch (fault) {
    if (!NOT_THERE.includes((fault as Error).name)) throw fault;
    return open(usual);
  }
}

const NOT_THERE = ["NotFoundError", "OverconstrainedError"];

/** Not every browser lets a page choose; then it is the usual one. */
export async function leadTo(sounding: object, speaker: string | undefined): Promise<void> {
  if (!speaker || !("setSinkId" in sounding)) return;
  await (sounding as { setSinkId(id: string): Promise<void> }).setSinkId(speaker).catch(() => undefined);
}

function opened(stream: MediaStream, context: AudioContext, speaker: string): Microphone {
  const source = context.createMediaStreamSource(stream);
  const analyser = context.createAnalyser();
  source.connect(analyser);
  // A telephone call or another tab may stop the clock of all sound: start it again when we may.
  const wake = () => {
    if (!document.hidden && context.state !== "running" && context.state !== "closed") {
      void context.resume().catch(() => undefined);
    }
  };
  context.addEventListener("statechange", wake);
  document.addEventListener("visibilitychange", wake);
  const lost = new Promise<void>((resolve) => {
    for (const track of stream.getAudioTracks()) track.addEventListener("ended", () => resolve());
  });
  return {
    stream,
    context,
    speaker,
    source,
    lost,
    level: meter(analyser),
    mute(on) {
      for (const track of stream.getAudioTracks()) track.enabled = !on;
    },
    close() {
      for (const track of stream.getTracks()) track.stop();
      document.removeEventListener("visibilitychange", wake);
      source.disconnect();
      void context.close();
    },
  };
}

export function explain(fault: unknown): string {
  const name = fault instanceof Error || fault instanceof DOMException ? fault.name : "";
  switch (name) {
    case "NotAllowedError":
    case "SecurityError":
      return "This page may not hear you. Allow the microphone in the address bar, then try again.";
    case "NotFoundError":
    case "OverconstrainedError":
      return "No microphone was found. Plug one in, then try again.";
    case "NotReadableError":
    case "AbortError":
      return "The microphone is in use by another program, or does not answer.";
    default:
      return "The microphone could not be opened.";
  }
}
