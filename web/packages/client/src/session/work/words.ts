/** Work in words: what the tray and the cards say. Pure. */

import { type Approval, over, type Task, type Work } from "./work.js";

const SHORT = 600; // characters that are read at a glance
const SHORT_LINES = 10;

/** What asks, what is going on, then what is over, each newest first. */
export function inOrder(work: Work): readonly Task[] {
  const open = work.tasks.filter((task) => !over(task));
  const ended = work.tasks.filter(over);
  ended.sort((one, other) => (other.finished_at ?? "").localeCompare(one.finished_at ?? ""));
  return [
    ...open.filter((task) => task.question),
    ...open.filter((task) => !task.question),
    ...ended,
  ];
}

/** It is over, and nobody heard or read how. */
export function isNew(task: Task, work: Work): boolean {
  return over(task) && !task.told && !work.seen.includes(task.id);
}

/** How many questions wait: a task's and a tool's. */
export function questionsOf(work: Work): readonly string[] {
  const asked = work.tasks.flatMap((task) => (task.question ? [task.question.id] : []));
  return [...asked, ...work.questions.map((one) => one.id)];
}

export function trayWords(work: Work): string {
  const open = work.tasks.filter((task) => !over(task) && !task.question).length;
  const asks = questionsOf(work).length;
  const fresh = work.tasks.filter((task) => isNew(task, work)).length;
  const parts = [
    asks ? `${asks} ${asks === 1 ? "question" : "questions"}` : "",
    open ? `${open} running` : "",
    fresh ? `${fresh} new` : "",
    work.due.length ? `${work.due.length} due` : "",
  ].filter(Boolean);
  return parts.length ? parts.join(" · ") : `${work.tasks.length} done`;
}

export function statusWords({ status }: Pick<Task, "status">): string {
  return STATUS[status] ?? status;
}

const STATUS: Record<string, string> = {
  running: "Running",
  waiting: "Waiting for you",
  completed: "Done",
  failed: "Failed",
  cancelled: "Cancelled",
};

/** Who is at it, where that is known. */
export function agentWords({ phase, agent }: Task): string {
  return phase || agent;
}

export function agoWords(at: string | null | undefined, now: number): string {
  const minutes = Math.floor((now - Date.parse(at ?? "")) / 60_000);
  if (!Number.isFinite(minutes)) return "";
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ago`;
  const days = Math.floor(hours / 24);
  return days === 1 ? "yesterday" : `${days} days ago`;
}

/** Until nobody's answer counts as a no. */
export function secondsLeft({ expires_at }: Approval, now: number, skewMs: number): number {
  const left = Math.ceil((Date.parse(expires_at) - now - skewMs) / 1000);
  return Number.isFinite(left) ? Math.max(0, left) : 0;
}

export function countdown(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")} min`;
}

export interface ArgumentRow {
  readonly name: string;
  readonly text: string;
}

/** Every argument, whole. What is not text is shown as JSON. */
export function argumentRows(given: Readonly<Record<string, unknown>>): ArgumentRow[] {
  return Object.entries(given).map(([name, value]) => ({
    name: visible(name),
    text: visible(typeof value === "string" ? value : JSON.stringify(value, null, 2)),
  }));
}

/** What has no shape of its own could hide in what is approved: it is spelt out. */
export function visible(text: string): string {
  return text.replace(/[\p{Cf}\p{Cc}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/gu, (sign) =>
    sign === "\n" || sign === "\t"
      ? sign
      : `\\u{${(sign.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}}`,
  );
}

/** How much there is to scroll through, in words; null where all of it is seen at once. */
export function lengthWords(rows: readonly ArgumentRow[]): string | null {
  const length = rows.reduce((sum, { text }) => sum + text.length, 0);
  const lines = rows.reduce((sum, { text }) => sum + text.split("\n").length, 0);
  if (length <= SHORT && lines <= SHORT_LINES) return null;
  return `${lines} lines, ${length} characters. Scroll to read all of it.`;
}
