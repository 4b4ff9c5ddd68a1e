/** What the server says of a fault, in the language of the page. In English the server's own words
 * stay: they say more. In another language its code says what it is. */

import { againWords, type Trouble } from "@vivavoce/client";
import { i18n, type I18n } from "./i18n";
import { byCode, known } from "./known";

/** For the client of the page. */
export const wording = (trouble: Trouble): string => troubleWords(i18n, trouble);

export function troubleWords(i18n: I18n, { code, message, retryAfterMs }: Trouble, now = Date.now()): string {
  const words = i18n.locale === "en" ? message : ofItsOwn(i18n, code, message);
  if (code !== "rate_limited") return words;
  const why = /[.!?]$/.test(words) ? words : `${words}.`;
  return `${why} ${known(i18n, againWords(retryAfterMs, now))}`;
}

function ofItsOwn(i18n: I18n, code: string, message: string): string {
  const translated = known(i18n, message);
  return translated === message ? (byCode(i18n, code, message) ?? message) : translated;
}
