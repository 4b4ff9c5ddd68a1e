/** What went wrong, for a person. Pure. */

import { ApiError } from "../wire/api.js";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** A refusal for now also says until when. */
export function faultWords(fault: unknown, now: number = Date.now()): string {
  if (!(fault instanceof Error)) return String(fault);
  if (!(fault instanceof ApiError) || fault.status !== 429 || fault.worded) return fault.message;
  const why = /[.!?]$/.test(fault.message) ? fault.message : `${fault.message}.`;
  return `${why} ${againWords(fault.retryAfterMs, now)}`;
}

export function againWords(waitMs: number | null, now: number): string {
  if (waitMs === null || waitMs <= 0) return "Try again in a moment.";
  if (waitMs < MINUTE_MS) return `Try again in ${several(Math.ceil(waitMs / 1000), "second")}.`;
  if (waitMs >= 12 * HOUR_MS) return `Try again in ${several(Math.ceil(waitMs / HOUR_MS), "hour")}.`;
  // To the next whole minute: who comes at the minute that is named is not sent away again.
  const at = new Date(Math.ceil((now + waitMs) / MINUTE_MS) * MINUTE_MS);
  const clock = at.toLocaleTimeString(undefined, { hour: "numeric", minute: "2-digit" });
  const minutes = Math.ceil(waitMs / MINUTE_MS);
  const wait = minutes < 90 ? several(minutes, "minute") : several(Math.ceil(minutes / 60), "hour");
  return `Try again in ${wait}, at ${clock}.`;
}

function several(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
