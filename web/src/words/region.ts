/** Numbers and times as they are written where the user is: 17:46 in London, 5:46 PM in Boston. */

import type { I18n } from "@lingui/core";

/** The page's language, in the form of it that the browser asks for. */
export function regionOf({ locale }: I18n): string {
  const wanted = globalThis.navigator?.languages ?? [];
  return wanted.find((one) => (one === locale || one.startsWith(`${locale}-`)) && isTag(one)) ?? locale;
}

/** Chromium without a desktop names a language that no part of it takes: "en-US@posix". */
function isTag(name: string): boolean {
  try {
    return Intl.getCanonicalLocales(name).length > 0;
  } catch {
    return false;
  }
}

export function percentWords(i18n: I18n, percent: number): string {
  return new Intl.NumberFormat(regionOf(i18n), { style: "percent" }).format(percent / 100);
}

/** How large something is to fetch. */
export function sizeWords(i18n: I18n, bytes: number): string {
  const [unit, size] = bytes < 1e9 ? ["megabyte", bytes / 1e6] : ["gigabyte", bytes / 1e9];
  const digits = size < 10 ? 1 : 0;
  return new Intl.NumberFormat(regionOf(i18n), { style: "unit", unit, maximumFractionDigits: digits }).format(size);
}
