/** A rule of RFC 5545 in words of the page's language. What it cannot say whole it does not say in
 * part: then the user's own words stand there. Pure. */

import type { I18n } from "@lingui/core";
import { regionOf } from "./region";

const DAYS = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"];
const TELLABLE = new Set(["FREQ", "INTERVAL", "BYDAY", "BYMONTHDAY", "COUNT", "UNTIL", "BYHOUR", "BYMINUTE", "WKST"]);
const MONDAY = Date.UTC(2024, 0, 1);
const DAY_MS = 86_400_000;

export function recurrenceWords(i18n: I18n, rule: string, own: string | null = null): string {
  const parts = new Map(rule.split(";").map((part) => part.split("=", 2) as [string, string]));
  const often = [...parts.keys()].every((key) => TELLABLE.has(key)) ? oftenWords(i18n, parts) : null;
  if (often === null) return own || i18n._("repeats");
  return [often, ...endWords(i18n, parts)].join(", ");
}

function oftenWords(i18n: I18n, parts: Map<string, string>): string | null {
  const count = Number(parts.get("INTERVAL") ?? 1);
  const days = parts.get("BYDAY")?.split(",") ?? [];
  const numbers = parts.get("BYMONTHDAY")?.split(",") ?? [];
  if (days.some((day) => !DAYS.includes(day))) return null;
  switch (parts.get("FREQ")) {
    case "DAILY":
    case "WEEKLY": {
      if (numbers.length > 0) return null;
      const daily = parts.get("FREQ") === "DAILY";
      if (days.length === 0) {
        return daily
          ? (count === 1 ? i18n._("every day") : i18n._("every {count} days", { count }))
          : (count === 1 ? i18n._("every week") : i18n._("every {count} weeks", { count }));
      }
      if (count > 1 && daily) return null;
      const named = daysWords(i18n, days);
      return count === 1
        ? setWords(i18n, days) ?? i18n._("every {days}", { days: named })
        : i18n._("every {count} weeks on {days}", { count, days: named });
    }
    case "MONTHLY": {
      if (days.length > 0 || numbers.length > 1) return null;
      if (numbers[0] === "-1") return count === 1 ? i18n._("on the last day of each month") : null;
      const day = numbers[0];
      if (day === undefined) return (count === 1 ? i18n._("every month") : i18n._("every {count} months", { count }));
      return count === 1 && Number(day) > 0 ? i18n._("every month on day {day}", { day }) : null;
    }
    case "YEARLY":
      if (days.length + numbers.length > 0) return null;
      return (count === 1 ? i18n._("every year") : i18n._("every {count} years", { count }));
    default:
      return null;
  }
}

function setWords(i18n: I18n, days: readonly string[]): string | null {
  const set = DAYS.filter((day) => days.includes(day)).join();
  if (set === "MO,TU,WE,TH,FR") return i18n._("every weekday");
  if (set === "SA,SU") return i18n._("at the weekend");
  return set === DAYS.join() ? i18n._("every day") : null;
}

function daysWords(i18n: I18n, days: readonly string[]): string {
  const format = new Intl.DateTimeFormat(regionOf(i18n), { weekday: "long", timeZone: "UTC" });
  const sorted = DAYS.filter((day) => days.includes(day));
  const names = sorted.map((day) => format.format(MONDAY + DAYS.indexOf(day) * DAY_MS));
  return new Intl.ListFormat(regionOf(i18n)).format(names);
}

function endWords(i18n: I18n, parts: Map<string, string>): string[] {
  const words: string[] = [];
  const [, year, month, day] = /^(\d{4})-?(\d\d)-?(\d\d)/.exec(parts.get("UNTIL") ?? "") ?? [];
  if (year) {
    const at = Date.UTC(Number(year), Number(month) - 1, Number(day));
    const date = new Date(at).toLocaleDateString(regionOf(i18n), { dateStyle: "medium", timeZone: "UTC" });
    words.push(i18n._("until {date}", { date }));
  }
  const count = parts.get("COUNT");
  if (count) words.push(count === "1" ? i18n._("once") : i18n._("{count} times", { count }));
  return words;
}
