/** Goals and tasks: read by queries, and changed at once, before the server has answered. What it
 * answers then, or refuses, is read anew: the server's word stands. */

import { type QueryClient, type QueryKey, useQuery, useQueryClient } from "@tanstack/react-query";
import {
  type Api,
  type GoalListResponse,
  type GoalView,
  type State,
  type TodoListResponse,
  type TodoView,
} from "@vivavoce/client";
import { useVivavoceState } from "@vivavoce/react";
import { useEffect, useMemo } from "react";
import { useApi } from "../app/query";

const MOST = 200; // what the server gives at a time
const LATEST = 50;

export const KEYS = {
  open: ["todos", "open"],
  done: ["todos", "done"],
  goals: ["goals", "active"],
  reached: ["goals", "completed"],
} as const;

/** What a task may be given; `null` takes away. */
export type TodoWish = Partial<
  Record<"title" | "scheduled_at" | "recurrence_rule" | "location_trigger" | "goal_id", string | null>
>;
export type GoalWish = Partial<Record<"statement" | "timeline" | "target_at" | "context_notes", string | null>>;

type Change<One> = (all: readonly One[]) => readonly One[];

export class Plans {
  #going = 0;

  constructor(
    private readonly api: Api,
    private readonly queries: QueryClient,
  ) {}

  /** Of one that recurs only this time. */
  async tick(todo: TodoView): Promise<void> {
    const now = new Date().toISOString();
    const done: TodoView = { ...todo, status: "completed", updated_at: now };
    const recurs = todo.recurrence_rule !== null;
    await this.#changed(
      () => {
        this.#todos(KEYS.open, (all) => all.filter(({ id }) => id !== todo.id));
        if (!recurs) this.#todos(KEYS.done, (all) => [done, ...all]);
      },
      () => this.api.change("POST", `${path(todo)}/done`),
    );
  }

  /** Still to be done. Of one that recurs, and was as given before it was ticked off, with its time
   * of then: that one alone was done. */
  async untick(todo: TodoView, undone = false): Promise<void> {
    const { scheduled_at, recurrence_rule } = todo;
    const counted = recurrence_rule?.includes("COUNT") ? { recurrence_rule } : {};
    const again = undone && recurrence_rule !== null ? { scheduled_at, ...counted } : {};
    const open: TodoView = { ...todo, status: "active" };
    await this.#changed(
      () => {
        this.#todos(KEYS.done, (all) => all.filter(({ id }) => id !== todo.id));
        this.#todos(KEYS.open, (all) => inTime([...all.filter(({ id }) => id !== todo.id), open]));
      },
      () => this.api.change("PATCH", path(todo), { status: "active", ...again }),
    );
  }

  /** To another time, this once: its next one, or the one that is named. */
  async move(todo: TodoView, to: string, of: string | null = todo.scheduled_at): Promise<void> {
    const moved: TodoView = { ...todo, scheduled_at: to, scheduled_words: null, status: "rescheduled" };
    await this.#changed(
      () => this.#todos(KEYS.open, (all) => inTime(all.map((one) => (one.id === todo.id ? moved : one)))),
      () =>
        of === null
          ? this.api.change("PATCH", path(todo), { scheduled_at: to })
          : this.api.change("POST", `${path(todo)}/move`, { to, of }),
    );
  }

  async change(todo: TodoView, wish: TodoWish): Promise<void> {
    await this.#changed(
      () =>
        this.#todos(KEYS.open, (all) =>
          inTime(all.map((one) => (one.id === todo.id ? ({ ...one, ...wish } as TodoView) : one))),
        ),
      () => this.api.change("PATCH", path(todo), wish),
    );
  }

  async remove(todo: TodoView): Promise<void> {
    await this.#changed(
      () => this.#todos(KEYS.open, (all) => all.filter(({ id }) => id !== todo.id)),
      () => this.api.change("DELETE", path(todo)),
    );
  }

  /** Nothing is shown before the server has it: it gives the name, and may refuse. */
  async add(wish: TodoWish): Promise<void> {
    await this.#changed(() => undefined, () => this.api.change("POST", "api/v1/tasks", given(wish)));
  }

  async addGoal(wish: GoalWish): Promise<void> {
    await this.#changed(() => undefined, () => this.api.change("POST", "api/v1/goals", given(wish)));
  }

  async changeGoal(goal: GoalView, wish: GoalWish): Promise<void> {
    await this.#changed(
      () => this.#goals(KEYS.goals, (all) => all.map((one) => (one.id === goal.id ? ({ ...one, ...wish } as GoalView) : one))),
      () => this.api.change("PATCH", goalPath(goal), wish),
    );
  }

  async reach(goal: GoalView, done: boolean): Promise<void> {
    const [from, to] = done ? [KEYS.goals, KEYS.reached] : [KEYS.reached, KEYS.goals];
    const status = done ? "completed" : "active";
    await this.#changed(
      () => {
        this.#goals(from, (all) => all.filter(({ id }) => id !== goal.id));
        this.#goals(to, (all) => [{ ...goal, status }, ...all]);
      },
      () => this.api.change("PATCH", goalPath(goal), { status }),
    );
  }

  async tickStep(goal: GoalView, stepId: string, done: boolean): Promise<void> {
    const completed_at = done ? new Date().toISOString() : null;
    const stepped = (one: GoalView): GoalView => ({
      ...one,
      milestones: one.milestones.map((step) => (step.id === stepId ? { ...step, completed_at } : step)),
    });
    await this.#changed(
      () => this.#goals(KEYS.goals, (all) => all.map((one) => (one.id === goal.id ? stepped(one) : one))),
      () =>
        this.api.change("PATCH", `${goalPath(goal)}/milestones/${encodeURIComponent(stepId)}`, {
          status: done ? "completed" : "active",
        }),
    );
  }

  async removeGoal(goal: GoalView): Promise<void> {
    await this.#changed(
      () => this.#goals(KEYS.goals, (all) => all.filter(({ id }) => id !== goal.id)),
      () => this.api.change("DELETE", goalPath(goal)),
    );
  }

  /** Somebody else may have changed them: the server is asked, unless it will be anyway. */
  async refresh(): Promise<void> {
    if (this.#going > 0) return;
    await Promise.all(BOTH.map((queryKey) => this.queries.invalidateQueries({ queryKey })));
  }

  /** Rejects where the server refuses; then all is as it was. */
  async #changed(show: () => void, send: () => Promise<unknown>): Promise<void> {
    this.#going += 1;
    // What was asked before would show how it was before.
    await Promise.all(BOTH.map((queryKey) => this.queries.cancelQueries({ queryKey })));
    const before = BOTH.flatMap((queryKey) => this.queries.getQueriesData({ queryKey }));
    show();
    try {
      await send();
    } catch (fault) {
      for (const [key, data] of before) this.queries.setQueryData(key, data);
      throw fault;
    } finally {
      this.#going -= 1;
      // Of several changes at once the last one reads how it came out.
      await this.refresh();
    }
  }

  #todos(key: QueryKey, change: Change<TodoView>): void {
    this.queries.setQueryData<TodoListResponse>(key, (known) => known && { ...known, tasks: [...change(known.tasks)] });
  }

  #goals(key: QueryKey, change: Change<GoalView>): void {
    this.queries.setQueryData<GoalListResponse>(key, (known) => known && { ...known, goals: [...change(known.goals)] });
  }
}

const BOTH = [["todos"], ["goals"]];
const path = ({ id }: TodoView) => `api/v1/tasks/${encodeURIComponent(id)}`;
const goalPath = ({ id }: GoalView) => `api/v1/goals/${encodeURIComponent(id)}`;

/** Without what is not there. */
function given(wish: TodoWish | GoalWish): object {
  return Object.fromEntries(Object.entries(wish).filter(([, value]) => value !== null && value !== ""));
}

/** As the server has them: by the time they are due, those without one last. */
export function inTime(all: readonly TodoView[]): readonly TodoView[] {
  const at = ({ scheduled_at: time }: TodoView) => (time === null ? Number.POSITIVE_INFINITY : Date.parse(time));
  return [...all].sort((one, other) => {
    const [a, b] = [at(one), at(other)];
    return a === b ? one.created_at.localeCompare(other.created_at) : a - b;
  });
}

const plansOf = (state: State) => state.work.plans;

/** The lists, read anew whenever something was said or came due that may have changed them. */
export function usePlans() {
  const api = useApi();
  const queries = useQueryClient();
  const plans = useMemo(() => new Plans(api, queries), [api, queries]);
  const news = useVivavoceState(plansOf);
  useEffect(() => {
    if (news > 0) void plans.refresh();
  }, [plans, news]);
  return plans;
}

export function useTodos(which: "open" | "done", enabled = true) {
  const api = useApi();
  const only = which === "open" ? `open_only=true&limit=${MOST}` : `done_only=true&limit=${LATEST}`;
  return useQuery({
    queryKey: KEYS[which],
    queryFn: ({ signal }) => api.get<TodoListResponse>(`api/v1/tasks?${only}`, signal),
    enabled,
  });
}

export function useGoals(status: "active" | "completed", enabled = true) {
  const api = useApi();
  return useQuery({
    queryKey: status === "active" ? KEYS.goals : KEYS.reached,
    queryFn: ({ signal }) => api.get<GoalListResponse>(`api/v1/goals?status=${status}&limit=${LATEST}`, signal),
    enabled,
  });
}
