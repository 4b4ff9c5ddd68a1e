/** What notices say in English, by themselves or as the server has it. The page has the catalogue,
 * and leaves the worker what each of these is in the page's language: a worker may run alone. */

import { valuesOf } from "../../words/pattern";

/** In the browser's cache, below the page's own address. */
export const WORDS = "notices.json";

export type Words = Readonly<Record<string, string>>;

export const NOTICE_WORDS = [
  /*i18n*/ "There is news. Open the page to see it.",
  /*i18n*/ "The server did not answer. Try again.",
  /*i18n*/ "The server could not do it now. Try again.",
  /*i18n*/ "It was answered already, or is too old for an answer.",
  /*i18n*/ "That did not work.",
  /*i18n*/ "Done",
  /*i18n*/ "Snooze 10 min",
  /*i18n*/ "Yes",
  /*i18n*/ "No",
  /*i18n*/ "It is due now.",
  /*i18n*/ "Something on your list",
  /*i18n*/ "Waiting for your yes",
  /*i18n*/ "A question",
  /*i18n*/ "A question about: {title}",
  /*i18n*/ "Done: {title}",
  /*i18n*/ "Failed: {title}",
  /*i18n*/ "It was due {when}.",
  /*i18n*/ "I'll remind you {when}.",
] as const;

/** Under this the language of the words is left. */
export const LANGUAGE = "@language";

/** English in the language of the words, where they have it. `at` is the moment that it speaks of:
 * the server says it in English, and each language in its own way. */
export function said(words: Words, text: string, at: string | null = null): string {
  const whole = words[text];
  if (whole !== undefined) return whole;
  for (const [pattern, into] of Object.entries(words)) {
    const values = pattern.includes("{") ? valuesOf(pattern, text) : null;
    if (values === null) continue;
    const when = at === null ? (values["when"] ?? "") : momentIn(words[LANGUAGE], at);
    return into.replace(/\{(\w+)\}/g, (_, name: string) => (name === "when" ? when : (values[name] ?? "")));
  }
  return text;
}

function momentIn(language: string | undefined, at: string): string {
  const form = { weekday: "long", hour: "numeric", minute: "2-digit" } as const;
  return new Intl.DateTimeFormat(language, form).format(new Date(at));
}
