/** Sounds that the settings make: a sample of a voice, and two notes. */

import { leadTo } from "@vivavoce/client";

const NOTES_HZ = [523.25, 783.99];
const NOTE_S = 0.28;
const LOUD = 0.2;
const WAKING_MS = 1500;

/** To its end, or until the signal. */
export async function playFile(file: Blob, speaker: string | undefined, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const url = URL.createObjectURL(file);
  const audio = new Audio(url);
  try {
    await leadTo(audio, speaker);
    await new Promise<void>((resolve, reject) => {
      audio.onended = () => resolve();
      audio.onerror = () => reject(new Error(/*i18n*/ "The browser could not play that sound."));
      signal.addEventListener("abort", () => resolve(), { once: true });
      void audio.play().catch(reject);
    });
  } finally {
    audio.pause();
    URL.revokeObjectURL(url);
  }
}

/** Two notes; throws where the browser lets no sound out. */
export async function playNotes(speaker: string | undefined): Promise<void> {
  const context = new AudioContext();
  try {
    await leadTo(context, speaker);
    await Promise.race([context.resume(), after(WAKING_MS)]);
    if (context.state !== "running") throw new Error("the clock of all sound stands still");
    const gain = context.createGain();
    gain.gain.value = LOUD;
    gain.connect(context.destination);
    NOTES_HZ.forEach((frequency, index) => {
      const note = context.createOscillator();
      note.frequency.value = frequency;
      note.connect(gain);
      note.start(context.currentTime + index * NOTE_S);
      note.stop(context.currentTime + (index + 1) * NOTE_S);
    });
    await after(1000 * NOTE_S * (NOTES_HZ.length + 1));
  } finally {
    void context.close();
  }
}

export function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
