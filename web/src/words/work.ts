/** Work in a few words. */

import type { I18n } from "@lingui/core";
import { isNew, over, questionsOf, type Work } from "@vivavoce/client";

export function workWords(i18n: I18n, work: Work): string {
  const open = work.tasks.filter((task) => !over(task) && !task.question).length;
  const asks = questionsOf(work).length;
  const fresh = work.tasks.filter((task) => isNew(task, work)).length;
  const due = work.due.length;
  const parts = [
    asks ? i18n._("{asks, plural, one {# question} other {# questions}}", { asks }) : "",
    open ? i18n._("{open} running", { open }) : "",
    fresh ? i18n._("{fresh} new", { fresh }) : "",
    due ? i18n._("{due} due", { due }) : "",
  ].filter(Boolean);
  return parts.length ? parts.join(" · ") : i18n._("{done} done", { done: work.tasks.length });
}

/** What waits for the user: questions, what is due, results that nobody read. */
export function waiting(work: Work): number {
  const fresh = work.tasks.filter((task) => isNew(task, work)).length;
  return questionsOf(work).length + work.due.length + fresh;
}
