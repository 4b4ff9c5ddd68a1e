/** Times in words of the page's language. */

import type { I18n } from "@lingui/core";
import { regionOf } from "./region";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const LONG_AGO = 14 * DAY;

export function agoWords(i18n: I18n, at: string | null | undefined, now = Date.now()): string {
  const passed = now - Date.parse(at ?? "");
  if (!Number.isFinite(passed)) return "";
  if (passed < MINUTE) return i18n._("just now");
  const format = new Intl.RelativeTimeFormat(regionOf(i18n), { numeric: "auto" });
  if (passed < HOUR) return format.format(-Math.floor(passed / MINUTE), "minute");
  if (passed < DAY) return format.format(-Math.floor(passed / HOUR), "hour");
  return format.format(-Math.floor(passed / DAY), "day");
}

/** What is long ago has a date. */
export function whenWords(i18n: I18n, at: string | null, now = Date.now()): string {
  const time = Date.parse(at ?? "");
  if (!Number.isFinite(time)) return "";
  if (now - time < LONG_AGO) return agoWords(i18n, at, now);
  return new Date(time).toLocaleDateString(regionOf(i18n), { dateStyle: "medium" });
}

/** How long something took. */
export function durationWords(i18n: I18n, ms: number): string {
  if (ms < 1000) return i18n._("{ms} ms", { ms: Math.round(ms) });
  const seconds = ms / 1000;
  if (seconds >= 60) return countdownWords(i18n, Math.round(seconds));
  const digits = seconds < 10 ? 1 : 0;
  const shown = new Intl.NumberFormat(regionOf(i18n), { maximumFractionDigits: digits }).format(seconds);
  return i18n._("{seconds} s", { seconds: shown });
}

export function countdownWords(i18n: I18n, seconds: number): string {
  if (seconds < 60) return i18n._("{seconds} s", { seconds });
  const time = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  return i18n._("{time} min", { time });
}

/** When something is to be done: "Today, 18:00", "Friday, 09:00", "3 Dec 2026, 09:00". */
export function planWords(i18n: I18n, at: string, now = Date.now()): string {
  const date = new Date(at);
  const days = daysFrom(date, now);
  const time = clockWords(i18n, at);
  return `${dayWords(i18n, date, days)}, ${time}`;
}

export function clockWords(i18n: I18n, at: string): string {
  return new Date(at).toLocaleTimeString(regionOf(i18n), { timeStyle: "short" });
}

/** How many days away, by the calendar here. */
export function daysFrom(date: Date, now: number): number {
  const midnight = (one: Date) => Date.UTC(one.getFullYear(), one.getMonth(), one.getDate());
  return (midnight(date) - midnight(new Date(now))) / DAY;
}

function dayWords(i18n: I18n, date: Date, days: number): string {
  const near = Math.abs(days) <= 1;
  if (near) return capital(new Intl.RelativeTimeFormat(regionOf(i18n), { numeric: "auto" }).format(days, "day"), i18n);
  const year = date.getFullYear() === new Date().getFullYear() ? {} : { year: "numeric" as const };
  if (days > 0 && days < 7) return date.toLocaleDateString(regionOf(i18n), { weekday: "long" });
  return date.toLocaleDateString(regionOf(i18n), { weekday: "short", day: "numeric", month: "short", ...year });
}

export function capital(words: string, i18n: I18n): string {
  return words.charAt(0).toLocaleUpperCase(i18n.locale) + words.slice(1);
}
