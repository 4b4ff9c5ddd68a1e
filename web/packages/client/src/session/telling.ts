/** What listeners of the client are told: what changed between two states, by name. */

import { busy, type Situation, situation } from "./words.js";
import type { Line, State } from "./state.js";
import type { Understood } from "./intents.js";
import type { Approval, Task } from "./work/work.js";

/** By name, what a listener gets. */
export interface Told {
  /** What it is doing, in one word. */
  readonly situation: { readonly now: Situation; readonly before: Situation };
  /** Somebody said or wrote something, and it is whole. */
  readonly message: Line;
  /** A line of the transcript came, or changed. */
  readonly line: Line;
  /** A tool runs, gets on or is over. */
  readonly tool: Line;
  /** Something was understood, saved, refused or taken back. */
  readonly intent: Understood & { readonly id: string };
  /** Somebody has to say yes or no. */
  readonly approval: Approval;
  /** A task began, gets on, asks or is over. */
  readonly task: Task;
  /** A sentence for the user. */
  readonly notice: string;
  /** It does not go on: why, for the user. */
  readonly problem: string;
  /** A call began, or is over. */
  readonly talking: boolean;
}

export type Listener<Name extends keyof Told> = (told: Told[Name]) => void;

export class Telling {
  readonly #listeners = new Map<keyof Told, Set<(told: never) => void>>();

  on<Name extends keyof Told>(name: Name, listener: Listener<Name>): () => void {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }

  changed(state: State, before: State): void {
    if (this.#listeners.size > 0) changes(state, before, (name, told) => this.#tell(name, told));
  }

  #tell<Name extends keyof Told>(name: Name, told: Told[Name]): void {
    for (const listener of [...(this.#listeners.get(name) ?? [])]) (listener as Listener<Name>)(told);
  }
}

/** Pure but for `tell`: in the order of the state's parts. */
export function changes(
  state: State,
  before: State,
  tell: <Name extends keyof Told>(name: Name, told: Told[Name]) => void,
): void {
  const [now, was] = [situation(state), situation(before)];
  if (now !== was) tell("situation", { now, before: was });
  if (busy(state) !== busy(before)) tell("talking", busy(state));
  for (const line of news(state.lines, before.lines)) {
    tell("line", line);
    if (line.kind === "tool") tell("tool", line);
    if (line.kind === "intent" && line.intent) tell("intent", { ...line.intent, id: line.id });
    const said = line.kind === "user" || line.kind === "assistant";
    if (said && line.done && !line.failed) tell("message", line);
  }
  for (const approval of news(state.work.approvals, before.work.approvals)) tell("approval", approval);
  for (const task of news(state.work.tasks, before.work.tasks)) tell("task", task);
  if (state.notice && state.notice !== before.notice) tell("notice", state.notice);
  if (state.problem && state.problem !== before.problem) tell("problem", state.problem);
}

/** Those that are not as they were. */
function news<One extends { readonly id: string }>(now: readonly One[], was: readonly One[]): readonly One[] {
  if (now === was) return [];
  const known = new Map(was.map((one) => [one.id, one]));
  return now.filter((one) => known.get(one.id) !== one);
}
