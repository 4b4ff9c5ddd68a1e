/** Loudness: how it is measured, and as a bar. People hear in decibels, so the bar shows them. */

const SILENCE_DB = -60;
const LOUD_DB = -12;

export function barOf(rms: number): number {
  if (rms <= 0) return 0;
  const db = 20 * Math.log10(rms);
  return Math.max(0, Math.min(1, (db - SILENCE_DB) / (LOUD_DB - SILENCE_DB)));
}

const WINDOW = 1024; // samples

/** How loud it is right now: root mean square, 0 to 1. */
export function meter(analyser: AnalyserNode): () => number {
  analyser.fftSize = WINDOW;
  const samples = new Float32Array(WINDOW);
  return () => {
    analyser.getFloatTimeDomainData(samples);
    let energy = 0;
    for (const sample of samples) energy += sample * sample;
    return Math.sqrt(energy / WINDOW);
  };
}
