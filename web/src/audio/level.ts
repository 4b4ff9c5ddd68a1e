/** Loudness as a bar: people hear in decibels, so the bar shows them. */

const SILENCE_DB = -60;
const LOUD_DB = -12;

export function barOf(rms: number): number {
  if (rms <= 0) return 0;
  const db = 20 * Math.log10(rms);
  return Math.max(0, Math.min(1, (db - SILENCE_DB) / (LOUD_DB - SILENCE_DB)));
}
