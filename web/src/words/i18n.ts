/** The page's languages. A message is its own id: English is in the code, the rest in `catalogue/`. */

import { i18n } from "@lingui/core";
import { messages as english } from "./catalogue/en.po";

export { i18n };
export type { I18n } from "@lingui/core";

export const LANGUAGES = { en: "English", de: "Deutsch" } as const;
export type Language = keyof typeof LANGUAGES;

const KEPT = "vivavoce.language";

/** What the user chose here, or the first of the browser's that there is. */
export function languageWanted(): Language {
  const wanted = [chosen(), ...(globalThis.navigator?.languages ?? [])];
  const known = wanted.map((name) => name?.slice(0, 2)).find((name) => name && name in LANGUAGES);
  return (known as Language | undefined) ?? "en";
}

export async function speak(language: Language): Promise<void> {
  const messages = language === "de" ? (await import("./catalogue/de.po")).messages : english;
  i18n.loadAndActivate({ locale: language, messages });
  if (globalThis.document) document.documentElement.lang = language;
}

export async function chooseLanguage(language: Language): Promise<void> {
  try {
    localStorage.setItem(KEPT, language);
  } catch {
    // A private window may have no storage: then it is so as long as the page lives.
  }
  await speak(language);
}

function chosen(): string | null {
  try {
    return globalThis.localStorage?.getItem(KEPT) ?? null;
  } catch {
    return null;
  }
}
