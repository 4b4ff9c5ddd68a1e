/** Times in words of the page's language. */

import type { I18n } from "@lingui/core";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const LONG_AGO = 14 * DAY;

export function agoWords(i18n: I18n, at: string | null | undefined, now = Date.now()): string {
  const passed = now - Date.parse(at ?? "");
  if (!Number.isFinite(passed)) return "";
  if (passed < MINUTE) return i18n._("just now");
  const format = new Intl.RelativeTimeFormat(i18n.locale, { numeric: "auto" });
  if (passed < HOUR) return format.format(-Math.floor(passed / MINUTE), "minute");
  if (passed < DAY) return format.format(-Math.floor(passed / HOUR), "hour");
  return format.format(-Math.floor(passed / DAY), "day");
}

/** What is long ago has a date. */
export function whenWords(i18n: I18n, at: string | null, now = Date.now()): string {
  const time = Date.parse(at ?? "");
  if (!Number.isFinite(time)) return "";
  if (now - time < LONG_AGO) return agoWords(i18n, at, now);
  return new Date(time).toLocaleDateString(i18n.locale, { dateStyle: "medium" });
}

/** How long something took. */
export function durationWords(i18n: I18n, ms: number): string {
  if (ms < 1000) return i18n._("{ms} ms", { ms: Math.round(ms) });
  const seconds = ms / 1000;
  if (seconds >= 60) return countdownWords(i18n, Math.round(seconds));
  const digits = seconds < 10 ? 1 : 0;
  const shown = new Intl.NumberFormat(i18n.locale, { maximumFractionDigits: digits }).format(seconds);
  return i18n._("{seconds} s", { seconds: shown });
}

export function countdownWords(i18n: I18n, seconds: number): string {
  if (seconds < 60) return i18n._("{seconds} s", { seconds });
  const time = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  return i18n._("{time} min", { time });
}
