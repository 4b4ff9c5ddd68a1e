/** What was understood and handed in, as the page shows it. Pure.
 *
 * A payload comes from a model: whatever it holds is text here, short and with nothing hidden. */

import type { IntentView } from "../wire/types.js";
import type { ServerFact } from "./state.js";
import { visible } from "./work/words.js";

const LONGEST = 240; // characters of one value
const ROWS = 12;

export interface Understood {
  readonly route: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly status: string;
  readonly revision: number;
  readonly error: string | null;
  /** What came of it, where something did: by it the whole can be taken back. */
  readonly goal?: string;
  readonly task?: string;
}

export interface IntentRow {
  readonly label: string;
  readonly text: string;
  /** It says what it is about, without a label. */
  readonly main: boolean;
}

export type IntentFact = Extract<ServerFact, { name: "intent.submitted" | "intent.retracted" }>;

export function isIntent(fact: ServerFact): fact is IntentFact {
  return fact.name === "intent.submitted" || fact.name === "intent.retracted";
}

export function intentOf({ name, data }: IntentFact): Understood {
  if (name === "intent.retracted") {
    return { route: data.intent, payload: {}, status: "retracted", revision: 0, error: null };
  }
  const { intent: route, payload, status, revision = 0, error = null } = data;
  return { route, payload, status, revision, error, ...plan(data) };
}

export function intentRead(view: IntentView): Understood {
  const { intent: route, payload, status, revision, error } = view;
  return { route, payload, status, revision, error, ...plan(view) };
}

function plan(of: { goal_id?: string | null; task_id?: string | null }): Pick<Understood, "goal" | "task"> {
  return { ...(of.goal_id ? { goal: of.goal_id } : {}), ...(of.task_id ? { task: of.task_id } : {}) };
}

/** The door that takes back what was made of it; null where nothing new was made. */
export function undoOf({ status, goal, task, route }: Understood): string | null {
  if (status !== "accepted" || route === "RESCHEDULE_TASK") return null;
  if (task) return `api/v1/tasks/${encodeURIComponent(task)}`;
  return goal ? `api/v1/goals/${encodeURIComponent(goal)}` : null;
}

/** What is taken back stays so, and no older word undoes a newer one: the same news may come from
 * the call's stream and, later, from the inbox. */
export function newest(known: Understood, news: Understood): Understood {
  if (known.status === "retracted") return known;
  if (news.status === "retracted") return { ...known, status: news.status, error: null };
  if (news.revision !== known.revision) return news.revision < known.revision ? known : news;
  return news.status === "pending" ? known : news;
}

/** Its call needs no line of its own where it left a card. */
export function isIntentTool(name: string): boolean {
  return name.endsWith("_intent");
}

export function titleOf(route: string): string {
  return TITLES.get(route) ?? plain(route);
}

/** What there is to read. Ids are for programs. */
export function rowsOf(payload: Readonly<Record<string, unknown>>): readonly IntentRow[] {
  return Object.entries(payload)
    .filter(([name, value]) => !HIDDEN.test(name) && !nothing(value))
    .slice(0, ROWS)
    .map(([name, value]) => ({
      label: LABELS.get(name) ?? plain(name),
      text: valueWords(value),
      main: MAIN.includes(name),
    }));
}

export function intentStatus({ status, revision }: Understood): string {
  const words = STATUS.get(status) ?? plain(status);
  return status === "accepted" && revision > 0 ? "Changed" : words;
}

const TITLES = new Map([
  ["GOAL", "Goal"],
  ["NEW_TASK", "New task"],
  ["RESCHEDULE_TASK", "Rescheduled"],
]);
const STATUS = new Map([
  ["pending", "On its way"],
  ["accepted", "Saved"],
  ["failed", "Not accepted"],
  ["retracted", "Taken back"],
]);
const LABELS = new Map([
  ["goal_statement", "Goal"],
  ["title", "What"],
  ["timeline", "By when"],
  ["context_notes", "Notes"],
  ["scheduled_at", "When"],
  ["recurrence_rule", "Repeats"],
  ["location_trigger", "Where"],
  ["preferred_new_time", "New time"],
  ["reason", "Why"],
]);
const MAIN = ["goal_statement", "title", "name", "statement"];
const HIDDEN = /(^|_)id$|^trigger_type$/;

function nothing(value: unknown): boolean {
  return value === null || value === undefined || value === "";
}

function valueWords(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  const signs = [...visible(text.slice(0, 2 * LONGEST))];
  return signs.length > LONGEST ? `${signs.slice(0, LONGEST).join("")}…` : signs.join("");
}

/** "BOOK_A_TABLE" as people write it. */
function plain(name: string): string {
  const words = valueWords(name).replaceAll("_", " ").trim().toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
