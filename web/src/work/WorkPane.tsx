/** What there is to do: what asks or is due, the user's tasks and goals, and what was handed over. */

import { useLingui } from "@lingui/react";
import { type Due, faultWords, type GoalView, situation, type TodoView, visible, type WorkClient } from "@vivavoce/client";
import { useVivavoce, useVivavoceState } from "@vivavoce/react";
import { Plus } from "lucide-react";
import { type ReactNode, useCallback, useId, useMemo, useState } from "react";
import { useWide } from "../app/media";
import { Button } from "../parts/button";
import { Dialog } from "../parts/dialog";
import { Nothing, Pane, Problem } from "../parts/pane";
import { toast } from "../parts/toast";
import { Tooltip } from "../parts/tooltip";
import { known } from "../words/known";
import { planWords } from "../words/time";
import { DoneList } from "./DoneList";
import { type GoalActions, GoalCard } from "./GoalCard";
import { grouped } from "./groups";
import { HintList } from "./HintList";
import { type Editing, PlanDialog } from "./PlanForm";
import { useGoals, usePlans, useTodos } from "./plans";
import { type TodoActions, TodoRow } from "./TodoRow";
import { Handed, Tray } from "./Tray";

export type WorkActions = Pick<WorkClient, "cancel" | "answer" | "seen" | "noted">;

const SNOOZE_MS = 10 * 60_000;

export default function WorkPane() {
  const { i18n } = useLingui();
  const client = useVivavoce();
  const work = useVivavoceState((state) => state.work);
  const there = useVivavoceState((state) => !["locked", "loading"].includes(situation(state)));
  const todos = useTodos("open", there);
  const goals = useGoals("active", there);
  const [editing, setEditing] = useState<Editing | null>(null);
  const [doomed, setDoomed] = useState<TodoView | GoalView | null>(null);
  const plans = usePlans();

  const refused = useCallback((fault: unknown) => toast(known(i18n, faultWords(fault)), "bad"), [i18n]);
  const undo = useCallback(
    (words: string, run: () => Promise<void>) =>
      toast(words, "plain", { words: i18n._("Undo"), run: () => void run().catch(refused) }),
    [i18n, refused],
  );
  const actions = useMemo((): TodoActions => ({
    tick(todo, done) {
      if (!done) return void plans.untick(todo).catch(refused);
      const title = visible(todo.title);
      const words = todo.recurrence_rule ? i18n._("Done for this time: {title}", { title }) : i18n._("Done: {title}", { title });
      // One that recurs and was moved has no way back to where it was.
      const final = todo.recurrence_rule !== null && todo.status === "rescheduled";
      void plans.tick(todo).then(() => (final ? toast(words) : undo(words, () => plans.untick(todo, true))), refused);
    },
    move(todo, to) {
      const words = i18n._("Moved: {title}, {when}", { title: visible(todo.title), when: planWords(i18n, to) });
      const from = todo.scheduled_at;
      const back = { ...todo, scheduled_at: to };
      void plans.move(todo, to).then(() => (from ? undo(words, () => plans.move(back, from)) : toast(words)), refused);
    },
    edit: (todo) => setEditing({ what: "todo", todo }),
    remove(todo) {
      if (todo.recurrence_rule !== null) return setDoomed(todo);
      const { title, scheduled_at, location_trigger, goal_id } = todo;
      const words = i18n._("Deleted: {title}", { title: visible(title) });
      const again = () => plans.add({ title, scheduled_at, location_trigger, goal_id });
      void plans.remove(todo).then(() => undo(words, again), refused);
    },
  }), [plans, i18n, undo, refused]);
  const goalActions = useMemo((): GoalActions => ({
    reach(goal, done) {
      const words = i18n._("Reached: {name}", { name: visible(goal.statement) });
      const back = { ...goal, status: "completed" as const };
      void plans.reach(goal, done).then(() => done && undo(words, () => plans.reach(back, false)), refused);
    },
    step: (goal, id, done) => void plans.tickStep(goal, id, done).catch(refused),
    edit: (goal) => setEditing({ what: "goal", goal }),
    remove: setDoomed,
  }), [plans, i18n, undo, refused]);

  const all = todos.data?.tasks ?? [];
  const todoOf = (due: Due) => all.find(({ id }) => id === due.task_id) ?? unread(due);
  const aims = goals.data?.goals ?? [];
  const dueNow = work.due.map((one) => one.task_id);
  const { today, later, anywhen } = grouped(all.filter(({ id }) => !dueNow.includes(id)));
  const aimOf = (todo: TodoView) => aims.find(({ id }) => id === todo.goal_id)?.statement;
  const rows = (some: readonly TodoView[]) =>
    some.map((todo) => <TodoRow key={todo.id} todo={todo} goal={aimOf(todo)} actions={actions} />);
  const asked = work.tasks.length + work.questions.length + work.due.length;
  const fault = todos.error ?? goals.error;
  const empty = asked + all.length + aims.length === 0 && !fault && !work.unread;

  return (
    <Pane
      title={i18n._("Work")}
      name="work"
      actions={
        <Tooltip words={i18n._("Add by hand")}>
          <Button tone="quiet" size="small icon" data-testid="add" aria-label={i18n._("Add by hand")} onClick={() => setEditing({ what: "new" })}>
            <Plus aria-hidden="true" />
          </Button>
        </Tooltip>
      }
    >
      <div className="grid gap-6">
        <Tray
          work={work}
          actions={client.work}
          quiet={!there}
          done={(due) => void plans.tick(todoOf(due)).then(() => client.work.noted(due.id), refused)}
          snooze={(due) => {
            const at = new Date(Date.now() + SNOOZE_MS).toISOString();
            void plans.move(todoOf(due), at, due.due_at).then(() => client.work.noted(due.id), refused);
          }}
        />
        {there && fault && <Problem>{i18n._("Your list could not be read: {problem}", { problem: known(i18n, fault.message) })}</Problem>}
        {today.length > 0 && <Section name={i18n._("Today")} testid="today">{rows(today)}</Section>}
        {aims.length > 0 && (
          <Section name={i18n._("Goals")} testid="goals" spaced>
            {aims.map((goal) => <GoalCard key={goal.id} goal={goal} actions={goalActions} />)}
          </Section>
        )}
        {later.length > 0 && <Section name={i18n._("Later")} testid="later">{rows(later)}</Section>}
        {anywhen.length > 0 && <Section name={i18n._("At a place")} testid="anywhen">{rows(anywhen)}</Section>}
        {empty && (todos.isPending && there ? <Nothing>{i18n._("One moment…")}</Nothing> : <Empty />)}
        <Handed work={work} actions={client.work} />
        {there && <DoneList todoActions={actions} reopen={(goal) => goalActions.reach(goal, false)} />}
      </div>
      <PlanDialog
        editing={editing}
        close={() => setEditing(null)}
        saveTodo={(wish, todo) => (todo ? plans.change(todo, wish) : plans.add(wish))}
        saveGoal={(wish, goal) => (goal ? plans.changeGoal(goal, wish) : plans.addGoal(wish))}
      />
      <Doomed
        what={doomed}
        keep={() => setDoomed(null)}
        remove={(what) => {
          setDoomed(null);
          void ("statement" in what ? plans.removeGoal(what) : plans.remove(what)).catch(refused);
        }}
      />
    </Pane>
  );
}

/** What came due before the list was read: as far as it matters for who ticks it off or moves it. */
function unread({ task_id: id, title, due_at }: Due): TodoView {
  return { id, title, scheduled_at: due_at, recurrence_rule: null, created_at: due_at } as TodoView;
}

interface SectionProps {
  readonly name: string;
  readonly testid: string;
  readonly spaced?: boolean;
  readonly children: ReactNode;
}

function Section({ name, testid, spaced = false, children }: SectionProps) {
  const id = useId();
  return (
    <section aria-labelledby={id} data-testid={testid}>
      <h3 id={id} className="pb-1 text-small font-semibold text-quiet">
        {name}
      </h3>
      <ul className={spaced ? "grid gap-2.5 pt-1" : "grid"}>{children}</ul>
    </section>
  );
}

function Empty() {
  const { i18n } = useLingui();
  const wide = useWide();
  return (
    <div className="grid gap-4 py-4">
      <Nothing>{i18n._("Nothing to do. What you hand over, and what you want to be reminded of, is here.")}</Nothing>
      {!wide && <HintList />} {/* else the talk beside it has them */}
    </div>
  );
}

interface DoomedProps {
  readonly what: TodoView | GoalView | null;
  readonly keep: () => void;
  readonly remove: (what: TodoView | GoalView) => void;
}

/** What cannot be made again as it was goes only after a second word. */
function Doomed({ what, keep, remove }: DoomedProps) {
  const { i18n } = useLingui();
  const name = what && visible("statement" in what ? what.statement : what.title);
  return (
    <Dialog open={what !== null} close={keep} title={i18n._("Delete it?")}>
      <p className="pb-5 wrap-anywhere">
        {what && "statement" in what
          ? i18n._("“{name}” goes with all its steps.", { name })
          : i18n._("“{name}” comes no more, not only this time.", { name })}
      </p>
      <div className="flex justify-end gap-2">
        <Button size="body" onClick={keep}>{i18n._("Keep")}</Button>
        <Button size="body" tone="live" data-testid="remove for good" onClick={() => what && remove(what)}>
          {i18n._("Delete")}
        </Button>
      </div>
    </Dialog>
  );
}
