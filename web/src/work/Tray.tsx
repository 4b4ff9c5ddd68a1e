/** What waits for the user, and delegated work: what is due, what asks, what goes on, what is over. */

import { useLingui } from "@lingui/react";
import { type Due, inOrder, isNew, over, type Task, visible, type Work } from "@vivavoce/client";
import { AlarmClock, Check, Clock, X } from "lucide-react";
import { Button } from "../parts/button";
import { Card } from "../parts/card";
import { Problem } from "../parts/pane";
import { Tooltip } from "../parts/tooltip";
import { known } from "../words/known";
import { agoWords } from "../words/time";
import { workWords } from "../words/work";
import { Ask } from "./Ask";
import { TaskCard } from "./TaskCard";
import type { WorkActions } from "./WorkPane";

const SHOWN = 3; // of those that are over and were read

interface Props {
  readonly work: Work;
  readonly actions: WorkActions;
  /** The page says already that the server is not there. */
  readonly quiet: boolean;
  readonly done: (due: Due) => void;
  readonly snooze: (due: Due) => void;
}

export function Tray({ work, actions, quiet, done, snooze }: Props) {
  const { i18n } = useLingui();
  const { tasks, questions, due, unread } = work;
  const problem = quiet ? null : unread;
  if (tasks.length + questions.length + due.length === 0 && !problem) return null;
  const ordered = inOrder(work).filter((task) => task.question);
  return (
    <div data-testid="tasks" className="grid gap-3">
      {/* How many there are is said aloud; how each gets on would be too much. */}
      <p role="status" className="text-small text-quiet">
        {workWords(i18n, work)}
      </p>
      {problem && (
        <Problem>
          {i18n._("Tasks could not be read: {problem}", { problem: known(i18n, problem) })}
        </Problem>
      )}
      <ul className="grid gap-3">
        {due.map((one) => (
          <li key={one.id} data-testid="due">
            <DueCard one={one} acting={work.acting.includes(one.id)} noted={() => void actions.noted(one.id)} done={() => done(one)} snooze={() => snooze(one)} />
          </li>
        ))}
        {questions.map((question) => (
          <li key={question.id}>
            <Card>
              <Ask
                question={question}
                acting={work.acting.includes(question.callId)}
                fault={work.faults[question.callId] ?? null}
                answer={(words) => void actions.answer(question.callId, question.id, words)}
              />
            </Card>
          </li>
        ))}
        {cards(work, ordered, actions)}
      </ul>
    </div>
  );
}

/** Delegated work that goes on or is over, and asks nothing. */
export function Handed({ work, actions }: Pick<Props, "work" | "actions">) {
  const { i18n } = useLingui();
  const ordered = inOrder(work).filter((task) => !task.question);
  if (ordered.length === 0) return null;
  const early = ordered.filter((task) => over(task) && !isNew(task, work)).slice(SHOWN);
  return (
    <section aria-label={i18n._("Handed over")} data-testid="handed" className="grid gap-3">
      <h3 className="text-small font-semibold text-quiet">{i18n._("Handed over")}</h3>
      <ul className="grid gap-3">{cards(work, ordered.filter((task) => !early.includes(task)), actions)}</ul>
      {early.length > 0 && (
        <details>
          <summary className="cursor-pointer py-1.5 text-small text-quiet">
            {i18n._("{count} earlier", { count: early.length })}
          </summary>
          <ul className="grid gap-3 pt-2">{cards(work, early, actions)}</ul>
        </details>
      )}
    </section>
  );
}

function cards(work: Work, some: readonly Task[], actions: WorkActions) {
  return some.map((task) => (
    <TaskCard
      key={task.id}
      task={task}
      fresh={isNew(task, work)}
      acting={work.acting.includes(task.id)}
      fault={work.faults[task.id] ?? null}
      actions={actions}
    />
  ));
}

interface DueProps {
  readonly one: Due;
  readonly acting: boolean;
  readonly noted: () => void;
  readonly done: () => void;
  readonly snooze: () => void;
}

function DueCard({ one, acting, noted, done, snooze }: DueProps) {
  const { i18n } = useLingui();
  const about = <span className="sr-only">: {visible(one.title)}</span>;
  return (
    <Card className="grid gap-3">
      <div className="flex items-start gap-3">
        <AlarmClock className="mt-0.5 size-5 shrink-0 text-warn" aria-hidden="true" />
        <div className="min-w-0 flex-1">
          <p className="font-medium wrap-anywhere">{visible(one.title)}</p>
          <p className="text-small text-quiet">{i18n._("Due {when}", { when: agoWords(i18n, one.due_at) })}</p>
        </div>
        <Tooltip words={i18n._("Got it")}>
          <Button tone="quiet" size="small icon" className="-mt-2 -mr-2" disabled={acting} aria-label={`${i18n._("Got it")}: ${visible(one.title)}`} onClick={noted}>
            <X aria-hidden="true" />
          </Button>
        </Tooltip>
      </div>
      <div className="flex flex-wrap gap-2">
        <Button tone="soft" disabled={acting} data-testid="due-done" onClick={done}>
          <Check aria-hidden="true" />
          {i18n._("Done")}
          {about}
        </Button>
        <Button disabled={acting} data-testid="due-later" onClick={snooze}>
          <Clock aria-hidden="true" />
          {i18n._("In 10 minutes")}
          {about}
        </Button>
      </div>
    </Card>
  );
}
