/** What is remembered, as lines of JSON. Both clients, this one and the one in Python, have the same
 * lines. */

import type { Entry } from "./calls.js";
import { isObject } from "./patch.js";
import type { ErrorBody } from "./wire.js";

export interface Remembered {
  session: string;
  entry: Entry;
}

export function lineOf({ session, entry }: Remembered): string {
  const told: Record<string, unknown> = { session, call: entry.callId, over: entry.over };
  if (entry.over) {
    told["result"] = entry.result;
    told["error"] = entry.error;
  }
  if (entry.cut !== null) told["cut"] = entry.cut;
  return `${JSON.stringify(told)}\n`;
}

/** Lines that are not whole are of a write that was cut off. */
export function linesOf(text: string): Remembered[] {
  return text.split("\n").flatMap((line) => {
    try {
      const told: unknown = JSON.parse(line);
      return isObject(told) ? remembered(told) : [];
    } catch {
      return [];
    }
  });
}

function remembered(told: Record<string, unknown>): Remembered[] {
  const { session, call, over, result, error, cut } = told;
  if (typeof session !== "string" || typeof call !== "string" || typeof over !== "boolean") {
    return [];
  }
  const entry: Entry = {
    callId: call,
    over,
    result: typeof result === "string" ? result : null,
    error: typeof error === "string" ? error : null,
    cut: isObject(cut) ? (cut as unknown as ErrorBody) : null,
  };
  return [{ session, entry }];
}

/** The newest line of each call, at most so many. */
export function newest(lines: readonly Remembered[], most: number): Remembered[] {
  const found = new Map<string, Remembered>();
  for (const each of lines) found.set(`${each.session} ${each.entry.callId}`, each);
  return [...found.values()].slice(-most);
}
