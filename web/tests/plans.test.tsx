import { QueryClient } from "@tanstack/react-query";
import { Api, type GoalView, type TodoView } from "@vivavoce/client";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { GoalCard } from "../src/work/GoalCard";
import { grouped, laterTimes, localInput } from "../src/work/groups";
import { inTime, KEYS, Plans } from "../src/work/plans";
import { TodoRow } from "../src/work/TodoRow";
import { i18n, speak } from "../src/words/i18n";
import { recurrenceWords } from "../src/words/recurrence";
import { planWords } from "../src/words/time";
import { drawn, drawnIn } from "./drawn";

const NOON = new Date(2026, 10, 18, 12, 0); // a Wednesday
const at = (days: number, hour: number) => new Date(2026, 10, 18 + days, hour).toISOString();

function aTodo(more: Partial<TodoView> = {}): TodoView {
  return {
    id: "t1", title: "Call mum", trigger_type: "time", scheduled_at: at(0, 18), scheduled_words: null,
    recurrence_rule: null, recurrence_words: null, time_zone: "UTC", location_trigger: null, status: "active",
    reason: null, goal_id: null, conversation_id: null, intent_id: null, created_at: at(-1, 9), updated_at: at(-1, 9),
    ...more,
  };
}

function aGoal(more: Partial<GoalView> = {}): GoalView {
  const step = (id: string, position: number, completed_at: string | null = null) => ({ id, title: `Step ${id}`, position, due_at: null, completed_at });
  return {
    id: "g1", statement: "Learn Spanish", timeline: "by summer", target_at: at(200, 12), context_notes: null,
    status: "active", milestones: [step("b", 1), step("a", 0, at(-1, 9))], conversation_id: null, intent_id: null,
    created_at: at(-1, 9), updated_at: at(-1, 9), ...more,
  };
}

vi.stubGlobal("navigator", { languages: [] }); // no country's way to write a date

describe("a rule in words", () => {
  const words = (rule: string, own: string | null = null) => recurrenceWords(i18n, rule, own);

  test("is said whole, in the page's language", async () => {
    expect(words("FREQ=DAILY")).toBe("every day");
    expect(words("FREQ=DAILY;INTERVAL=3")).toBe("every 3 days");
    expect(words("FREQ=WEEKLY;BYDAY=FR,MO,TU,WE,TH")).toBe("every weekday");
    expect(words("FREQ=WEEKLY;BYDAY=SA,SU")).toBe("at the weekend");
    expect(words("FREQ=WEEKLY;BYDAY=TH,MO;BYHOUR=9")).toBe("every Monday and Thursday");
    expect(words("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO")).toBe("every 2 weeks on Monday");
    expect(words("FREQ=MONTHLY;BYMONTHDAY=3")).toBe("every month on day 3");
    expect(words("FREQ=MONTHLY;BYMONTHDAY=-1")).toBe("on the last day of each month");
    expect(words("FREQ=DAILY;COUNT=5")).toBe("every day, 5 times");
    expect(words("FREQ=WEEKLY;UNTIL=20261201T000000Z")).toBe("every week, until Dec 1, 2026");
    await speak("de");
    try {
      expect(words("FREQ=WEEKLY;BYDAY=TH,MO")).toBe("jede Woche: Montag und Donnerstag");
      expect(words("FREQ=DAILY;INTERVAL=2")).toBe("alle 2 Tage");
    } finally {
      await speak("en");
    }
  });

  test("that we have no words for is told in the user's own, and never by half", () => {
    for (const rule of ["FREQ=MONTHLY;BYDAY=1MO", "FREQ=MONTHLY;BYDAY=MO;BYSETPOS=1", "FREQ=DAILY;BYMONTH=5", "FREQ=HOURLY", ""]) {
      expect(words(rule, "now and then")).toBe("now and then");
      expect(words(rule)).toBe("repeats");
    }
  });
});

describe("the list", () => {
  test("has what was due before with today, and a place by itself", () => {
    const todos = [
      aTodo({ id: "late", scheduled_at: at(-2, 9) }),
      aTodo({ id: "tonight", scheduled_at: at(0, 23) }),
      aTodo({ id: "tomorrow", scheduled_at: at(1, 0) }),
      aTodo({ id: "home", scheduled_at: null, location_trigger: "home" }),
    ];
    const groups = grouped(todos, NOON.getTime());
    const ids = (some: readonly TodoView[]) => some.map(({ id }) => id);
    expect([ids(groups.today), ids(groups.later), ids(groups.anywhen)]).toEqual([["late", "tonight"], ["tomorrow"], ["home"]]);
    expect(ids(inTime([...todos].reverse()))).toEqual(["late", "tonight", "tomorrow", "home"]);
  });

  test("names days as people do", () => {
    const words = (days: number, hour: number) => planWords(i18n, at(days, hour), NOON.getTime()).replace("\u202f", " ");
    expect(words(0, 18)).toBe("Today, 6:00 PM");
    expect(words(1, 9)).toBe("Tomorrow, 9:00 AM");
    expect(words(2, 9)).toBe("Friday, 9:00 AM");
    expect(words(9, 9)).toContain("Nov 27");
  });

  test("offers no evening that is over, and a Monday that is to come", () => {
    const offered = laterTimes(NOON);
    expect(localInput(offered.hour)).toBe("2026-11-18T13:00");
    expect(offered.evening && localInput(offered.evening)).toBe("2026-11-18T18:00");
    expect(localInput(offered.week)).toBe("2026-11-23T09:00");
    expect(laterTimes(new Date(2026, 10, 18, 17, 30)).evening).toBeNull();
    expect(localInput(laterTimes(new Date(2026, 10, 23, 8)).week)).toBe("2026-11-30T09:00");
  });
});

describe("a row", () => {
  const none = () => undefined;
  const row = (todo: TodoView, goal?: string) =>
    <TodoRow todo={todo} goal={goal} actions={{ tick: none, move: none, edit: none, remove: none }} />;

  test("says what, when, how often and what for, as text", async () => {
    const todo = aTodo({ title: "<b>Run</b>", scheduled_at: "2020-01-01T10:00:00Z", recurrence_rule: "FREQ=DAILY" });
    const shown = drawn(row(todo, "Get fit"));
    for (const part of ["&lt;b&gt;Run", "overdue", "every day", "for Get fit", 'aria-checked="false"', 'role="checkbox"'])
      expect(shown).toContain(part);
    expect(await drawnIn("de", row(todo, "Fit werden"))).toContain("überfällig");
    expect(drawn(row(aTodo({ status: "completed" })))).toContain('aria-checked="true"');
  });

  test("of a goal has its steps in their order, and how far one is", () => {
    const shown = drawn(<GoalCard goal={aGoal()} actions={{ reach: none, step: none, edit: none, remove: none }} />);
    expect(shown.indexOf("Step a")).toBeLessThan(shown.indexOf("Step b"));
    for (const part of ["1 of 2", 'max="2"', 'value="1"', "by summer"]) expect(shown).toContain(part);
  });
});

describe("a change", () => {
  let queries: QueryClient;
  let asked: string[];
  let answer: () => Promise<Response>;
  let plans: Plans;
  const todos = (which: "open" | "done" = "open") => queries.getQueryData<{ tasks: TodoView[] }>(KEYS[which])?.tasks;
  const goals = () => queries.getQueryData<{ goals: GoalView[] }>(KEYS.goals)?.goals;

  beforeEach(() => {
    queries = new QueryClient();
    asked = [];
    answer = async () => new Response("{}");
    const send: typeof fetch = (input, init) => {
      asked.push(`${init?.method ?? "GET"} ${new URL(String(input)).pathname} ${String(init?.body ?? "")}`.trim());
      return answer();
    };
    plans = new Plans(new Api("http://here/", send), queries);
    queries.setQueryData(KEYS.open, { tasks: [aTodo(), aTodo({ id: "t2", scheduled_at: at(1, 9) })] });
    queries.setQueryData(KEYS.done, { tasks: [] });
    queries.setQueryData(KEYS.goals, { goals: [aGoal()] });
  });

  test("is seen before the server has answered", async () => {
    let free: () => void = () => undefined;
    answer = () => new Promise((resolve) => (free = () => resolve(new Response("{}"))));
    const going = plans.tick(aTodo());
    await new Promise((resolve) => setTimeout(resolve));
    expect(todos()?.map(({ id }) => id)).toEqual(["t2"]);
    expect(todos("done")).toMatchObject([{ id: "t1", status: "completed" }]);
    free();
    await going;
    expect(asked).toEqual(["POST /api/v1/tasks/t1/done"]);
  });

  test("that is refused is as if it had not been, and the lists are read anew", async () => {
    answer = async () => new Response(JSON.stringify({ error: { code: "conflict", message: "It was retracted." } }), { status: 409 });
    await expect(plans.move(aTodo(), at(2, 9))).rejects.toThrow("It was retracted.");
    expect(todos()?.map(({ scheduled_at }) => scheduled_at)).toEqual([at(0, 18), at(1, 9)]);
    expect(queries.getQueryState(KEYS.open)?.isInvalidated).toBe(true);
  });

  test("moves a task to its place by time, this once", async () => {
    await plans.move(aTodo(), at(2, 9));
    expect(todos()?.map(({ id }) => id)).toEqual(["t2", "t1"]);
    expect(asked).toEqual([`POST /api/v1/tasks/t1/move ${JSON.stringify({ to: at(2, 9), of: at(0, 18) })}`]);
  });

  test("is undone for one that recurs at the time that it had", async () => {
    const daily = aTodo({ recurrence_rule: "FREQ=DAILY" });
    await plans.untick(daily, true);
    expect(asked).toEqual([`PATCH /api/v1/tasks/t1 ${JSON.stringify({ status: "active", scheduled_at: at(0, 18) })}`]);
  });

  test("ticks a step and reaches a goal", async () => {
    await plans.tickStep(aGoal(), "b", true);
    expect(goals()?.[0]?.milestones.every((step) => step.completed_at)).toBe(true);
    await plans.reach(aGoal(), true);
    expect(goals()).toEqual([]);
    expect(asked.at(-1)).toBe('PATCH /api/v1/goals/g1 {"status":"completed"}');
  });

  test("sends nothing that is not there, where something is added", async () => {
    await plans.add({ title: "Milk", scheduled_at: null, location_trigger: "the shop", goal_id: null });
    expect(asked).toEqual(['POST /api/v1/tasks {"title":"Milk","location_trigger":"the shop"}']);
  });

  test("of several at once leaves the reading to the last", async () => {
    let frees: (() => void)[] = [];
    answer = () => new Promise((resolve) => frees.push(() => resolve(new Response("{}"))));
    const both = [plans.tick(aTodo()), plans.tick(aTodo({ id: "t2" }))];
    await new Promise((resolve) => setTimeout(resolve, 1));
    frees[0]?.();
    await both[0];
    expect(queries.getQueryState(KEYS.open)?.isInvalidated).toBe(false);
    frees[1]?.();
    await both[1];
    expect(queries.getQueryState(KEYS.open)?.isInvalidated).toBe(true);
    expect(todos()).toEqual([]);
    frees = [];
  });
});
