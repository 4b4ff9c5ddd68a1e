/** A component as markup, in a language of the page. */

import { I18nProvider } from "@lingui/react";
import type { ReactNode } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { i18n, type Language, speak } from "../src/words/i18n";

await speak("en");

/** Without the class names: how it looks is for people to judge. */
export function drawn(shown: ReactNode): string {
  const markup = renderToStaticMarkup(<I18nProvider i18n={i18n}>{shown}</I18nProvider>);
  return markup.replaceAll(/ class="[^"]*"/g, "");
}

export async function drawnIn(language: Language, shown: ReactNode): Promise<string> {
  await speak(language);
  try {
    return drawn(shown);
  } finally {
    await speak("en");
  }
}
