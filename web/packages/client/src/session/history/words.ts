/** Conversations of before in words: what the list and the results say. Pure. */

import type { ConversationInfo } from "../../wire/types.js";
import { titleOf } from "../intents.js";
import { agoWords, visible } from "../work/words.js";

const LONG_AGO_MS = 14 * 24 * 3_600_000;

export function nameOf({ title, preview }: ConversationInfo): string {
  return visible(title || preview || "Nothing was said");
}

/** The last words, where the name is not those already. */
export function previewOf({ title, preview }: ConversationInfo): string | null {
  return title && preview && preview !== title ? visible(preview) : null;
}

export function whenWords(at: string | null, now: number): string {
  const time = Date.parse(at ?? "");
  if (!Number.isFinite(time)) return "";
  if (now - time < LONG_AGO_MS) return agoWords(at, now);
  return new Date(time).toLocaleDateString(undefined, { dateStyle: "medium" });
}

export function countWords(count: number): string {
  return count === 1 ? "1 message" : `${count} messages`;
}

export function badgeOf({ extracted_intent }: ConversationInfo): string | null {
  return extracted_intent ? titleOf(extracted_intent) : null;
}

export interface Piece {
  readonly text: string;
  readonly found: boolean;
}

/** "I learn «Spanish»" in pieces. The quotes may also be the user's own: then too much is marked,
 * and nothing worse. */
export function pieces(snippet: string): readonly Piece[] {
  return visible(snippet)
    .split(/(«[^«»]*»)/)
    .filter(Boolean)
    .map((text) =>
      text.startsWith("«") && text.endsWith("»")
        ? { text: text.slice(1, -1), found: true }
        : { text, found: false },
    );
}
