/** Tasks by when they are looked at: what is due today or was due before, later, and at a place. Pure. */

import type { TodoView } from "@vivavoce/client";
import { daysFrom } from "../words/time";

export interface Groups {
  readonly today: readonly TodoView[];
  readonly later: readonly TodoView[];
  readonly anywhen: readonly TodoView[];
}

export function grouped(todos: readonly TodoView[], now = Date.now()): Groups {
  const timed = todos.filter(({ scheduled_at: at }) => at !== null);
  const isLater = ({ scheduled_at: at }: TodoView) => daysFrom(new Date(at ?? now), now) > 0;
  return {
    today: timed.filter((todo) => !isLater(todo)),
    later: timed.filter(isLater),
    anywhen: todos.filter(({ scheduled_at: at }) => at === null),
  };
}

/** Times that people put things off to, from now on; those that are over for today are left out. */
export function laterTimes(now = new Date()): { readonly hour: Date; readonly evening: Date | null; readonly tomorrow: Date; readonly week: Date } {
  const at = (days: number, hour: number) => {
    const date = new Date(now);
    date.setDate(date.getDate() + days);
    date.setHours(hour, 0, 0, 0);
    return date;
  };
  const evening = at(0, 18);
  const monday = (8 - now.getDay()) % 7 || 7;
  const hour = new Date(now.getTime() + 3_600_000);
  hour.setSeconds(0, 0);
  return { hour, evening: evening > hour ? evening : null, tomorrow: at(1, 9), week: at(monday, 9) };
}

/** For `<input type="datetime-local">`, by the clock here. */
export function localInput(date: Date): string {
  const two = (n: number) => String(n).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day}T${two(date.getHours())}:${two(date.getMinutes())}`;
}
