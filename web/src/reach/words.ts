/** The worker's words, in the language of the page. */

import type { I18n } from "../words/i18n";
import { known } from "../words/known";
import { NOTICE_WORDS, WORDS, type Words } from "./worker/words";

const CACHE = "vivavoce-words";

export function noticeWords(i18n: I18n): Words {
  return Object.fromEntries(NOTICE_WORDS.map((text) => [text, known(i18n, text)]));
}

export async function leaveWords(i18n: I18n): Promise<void> {
  if (!("caches" in globalThis)) return; // nor is there a worker then
  const kept = Response.json(noticeWords(i18n));
  await caches
    .open(CACHE)
    .then((cache) => cache.put(new URL(WORDS, document.baseURI), kept))
    .catch(() => undefined); // a private window keeps nothing: notices are in English
}
