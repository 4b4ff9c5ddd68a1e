/** A task or a goal by hand: a new one, or another form of one that is there. */

import { useLingui } from "@lingui/react";
import { faultWords, type GoalView, type TodoView } from "@vivavoce/client";
import { type FormEvent, type ReactNode, useState } from "react";
import { Button } from "../parts/button";
import { cx } from "../parts/cx";
import { Dialog } from "../parts/dialog";
import { Field, Input, Select, TextArea } from "../parts/input";
import { Problem } from "../parts/pane";
import { known } from "../words/known";
import { recurrenceWords } from "../words/recurrence";
import { capital } from "../words/time";
import { laterTimes, localInput } from "./groups";
import type { GoalWish, TodoWish } from "./plans";

const LONGEST = { title: 200, statement: 500, notes: 2000 }; // what the server takes
const RULES = ["", "FREQ=DAILY", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", "FREQ=WEEKLY", "FREQ=MONTHLY", "FREQ=YEARLY"];

/** What the form is about. */
export type Editing =
  | { readonly what: "new" }
  | { readonly what: "todo"; readonly todo: TodoView }
  | { readonly what: "goal"; readonly goal: GoalView };

interface Props {
  readonly editing: Editing | null;
  readonly close: () => void;
  readonly saveTodo: (wish: TodoWish, todo: TodoView | null) => Promise<void>;
  readonly saveGoal: (wish: GoalWish, goal: GoalView | null) => Promise<void>;
}

export function PlanDialog({ editing, close, saveTodo, saveGoal }: Props) {
  const { i18n } = useLingui();
  const [kind, setKind] = useState<"todo" | "goal">("todo");
  const shown = editing?.what === "new" ? kind : editing?.what;
  const title = editing?.what === "new" ? i18n._("Add by hand") : i18n._("Change");
  return (
    <Dialog open={editing !== null} close={close} title={title}>
      {editing?.what === "new" && (
        <div role="radiogroup" aria-label={i18n._("What is it?")} className="mb-4 grid grid-cols-2 gap-1 rounded-full bg-well p-1">
          <Kind name={i18n._("Task")} on={kind === "todo"} choose={() => setKind("todo")} />
          <Kind name={i18n._("Goal")} on={kind === "goal"} choose={() => setKind("goal")} />
        </div>
      )}
      {shown === "todo" && (
        <TodoForm todo={editing?.what === "todo" ? editing.todo : null} save={saveTodo} close={close} />
      )}
      {shown === "goal" && (
        <GoalForm goal={editing?.what === "goal" ? editing.goal : null} save={saveGoal} close={close} />
      )}
    </Dialog>
  );
}

function Kind({ name, on, choose }: { name: string; on: boolean; choose: () => void }) {
  return (
    <label
      className={cx(
        "grid min-h-9 cursor-pointer place-items-center rounded-full text-small font-medium text-quiet has-focus-visible:outline-2 has-focus-visible:outline-accent",
        on && "bg-raised text-ink shadow-lifted",
      )}
    >
      <input type="radio" name="kind" className="sr-only" checked={on} onChange={choose} />
      {name}
    </label>
  );
}

function TodoForm({ todo, save, close }: { todo: TodoView | null; save: Props["saveTodo"]; close: () => void }) {
  const { i18n } = useLingui();
  const began = todo?.scheduled_at ? localInput(new Date(todo.scheduled_at)) : todo ? "" : localInput(laterTimes().hour);
  const [title, setTitle] = useState(todo?.title ?? "");
  const [placed, setPlaced] = useState(todo?.trigger_type === "location");
  const [at, setAt] = useState(began);
  const [rule, setRule] = useState(todo?.recurrence_rule ?? "");
  const [place, setPlace] = useState(todo?.location_trigger ?? "");
  const rules = RULES.includes(rule) ? RULES : [...RULES, rule];
  const wish = (): TodoWish => {
    const moved = at !== began || todo?.trigger_type === "location" || todo === null;
    return {
      ...(title.trim() !== todo?.title && { title: title.trim() }),
      ...(placed && place.trim() !== todo?.location_trigger && { location_trigger: place.trim() }),
      ...(!placed && at && moved && { scheduled_at: new Date(at).toISOString() }),
      ...(!placed && rule !== (todo?.recurrence_rule ?? "") && { recurrence_rule: rule || null }),
    };
  };
  return (
    <Form close={close} save={async () => void (Object.keys(wish()).length > 0 && (await save(wish(), todo)))}>
      <Field label={i18n._("What is to be done?")}>
        {(id) => (
          <Input id={id} name="title" autoFocus required pattern=".*\S.*" maxLength={LONGEST.title} value={title} onChange={(e) => setTitle(e.target.value)} />
        )}
      </Field>
      <Field label={i18n._("Remind me")}>
        {(id) => (
          <Select id={id} name="trigger" value={placed ? "place" : "time"} onChange={(e) => setPlaced(e.target.value === "place")}>
            <option value="time">{i18n._("At a time")}</option>
            <option value="place">{i18n._("At a place")}</option>
          </Select>
        )}
      </Field>
      {placed ? (
        <Field label={i18n._("Where")}>
          {(id) => (
            <Input id={id} name="place" required pattern=".*\S.*" maxLength={LONGEST.title} value={place} onChange={(e) => setPlace(e.target.value)} />
          )}
        </Field>
      ) : (
        <div className="grid gap-4">
          <Field label={i18n._("When")} hint={todo?.recurrence_rule ? i18n._("Another time is for all that come.") : undefined}>
            {(id, hint) => (
              <Input id={id} name="when" type="datetime-local" required aria-describedby={hint} value={at} onChange={(e) => setAt(e.target.value)} />
            )}
          </Field>
          <Field label={i18n._("Repeats")}>
            {(id) => (
              <Select id={id} name="rule" value={rule} onChange={(e) => setRule(e.target.value)}>
                {rules.map((one) => (
                  <option key={one} value={one}>
                    {one ? capital(recurrenceWords(i18n, one, todo?.recurrence_words), i18n) : i18n._("Never")}
                  </option>
                ))}
              </Select>
            )}
          </Field>
        </div>
      )}
    </Form>
  );
}

function GoalForm({ goal, save, close }: { goal: GoalView | null; save: Props["saveGoal"]; close: () => void }) {
  const { i18n } = useLingui();
  const began = goal?.target_at ? localInput(new Date(goal.target_at)).slice(0, 10) : "";
  const [statement, setStatement] = useState(goal?.statement ?? "");
  const [date, setDate] = useState(began);
  const [notes, setNotes] = useState(goal?.context_notes ?? "");
  const wish = (): GoalWish => ({
    ...(statement.trim() !== goal?.statement && { statement: statement.trim() }),
    // The words of before are about another date.
    ...(date !== began && { target_at: date ? new Date(`${date}T12:00`).toISOString() : null, ...(goal?.timeline && { timeline: null }) }),
    ...(notes.trim() !== (goal?.context_notes ?? "") && { context_notes: notes.trim() || null }),
  });
  return (
    <Form close={close} save={async () => void (Object.keys(wish()).length > 0 && (await save(wish(), goal)))}>
      <Field label={i18n._("What do you want to reach?")}>
        {(id) => (
          <Input id={id} name="statement" autoFocus required minLength={3} pattern=".*\S.*" maxLength={LONGEST.statement} value={statement} onChange={(e) => setStatement(e.target.value)} />
        )}
      </Field>
      <Field label={i18n._("By when")}>
        {(id) => <Input id={id} name="date" type="date" value={date} onChange={(e) => setDate(e.target.value)} />}
      </Field>
      <Field label={i18n._("Notes")}>
        {(id) => <TextArea id={id} name="notes" maxLength={LONGEST.notes} value={notes} onChange={(e) => setNotes(e.target.value)} />}
      </Field>
    </Form>
  );
}

interface FormProps {
  readonly save: () => Promise<void>;
  readonly close: () => void;
  readonly children: ReactNode;
}

/** Stays open where the server refuses, with why. */
function Form({ save, close, children }: FormProps) {
  const { i18n } = useLingui();
  const [saving, setSaving] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (saving) return;
    setSaving(true);
    setProblem(null);
    try {
      await save();
      close();
    } catch (fault) {
      setProblem(faultWords(fault));
      setSaving(false);
    }
  };
  return (
    <form className="grid gap-4" onSubmit={(event) => void submit(event)} aria-busy={saving}>
      {children}
      <Problem>{problem && known(i18n, problem)}</Problem>
      <div className="flex justify-end gap-2 pt-1">
        <Button size="body" onClick={close}>
          {i18n._("Cancel")}
        </Button>
        <Button size="body" tone="main" type="submit" data-testid="save" disabled={saving}>
          {i18n._("Save")}
        </Button>
      </div>
    </form>
  );
}
