/** The worker's words, in the language of the page. */

import type { I18n } from "../words/i18n";
import { patternIn } from "../words/known";
import { LANGUAGE, NOTICE_WORDS, WORDS, type Words } from "./worker/words";

const CACHE = "vivavoce-words";

export function noticeWords(i18n: I18n): Words {
  const words = NOTICE_WORDS.map((text) => [text, patternIn(i18n, text)]);
  return { ...Object.fromEntries(words), [LANGUAGE]: i18n.locale };
}

export async function leaveWords(i18n: I18n): Promise<void> {
  if (!("caches" in globalThis)) return; // nor is there a worker then
  const kept = Response.json(noticeWords(i18n));
  await caches
    .open(CACHE)
    .then((cache) => cache.put(new URL(WORDS, document.baseURI), kept))
    .catch(() => undefined); // a private window keeps nothing: notices are in English
}
