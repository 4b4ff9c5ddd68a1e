/** Delegated work: what is due, what asks, what goes on, and what is over. */

import { useLingui } from "@lingui/react";
import { inOrder, isNew, situation, visible, type Work, type WorkClient } from "@vivavoce/client";
import { useVivavoce, useVivavoceState } from "@vivavoce/react";
import { AlarmClock } from "lucide-react";
import { Button } from "../parts/button";
import { Card } from "../parts/card";
import { Nothing, Pane, Problem } from "../parts/pane";
import { known } from "../words/known";
import { agoWords } from "../words/time";
import { workWords } from "../words/work";
import { Ask } from "./Ask";
import { TaskCard } from "./TaskCard";

export type WorkActions = Pick<WorkClient, "cancel" | "answer" | "seen" | "noted">;

export default function WorkPane() {
  const { i18n } = useLingui();
  const client = useVivavoce();
  const work = useVivavoceState((state) => state.work);
  const quiet = useVivavoceState((state) => situation(state) === "loading");
  return (
    <Pane title={i18n._("Work")} name="work">
      <Tray work={work} actions={client.work} quiet={quiet} />
    </Pane>
  );
}

interface Props {
  readonly work: Work;
  readonly actions: WorkActions;
  /** The page says already that the server is not there. */
  readonly quiet: boolean;
}

export function Tray({ work, actions, quiet }: Props) {
  const { i18n } = useLingui();
  const { tasks, questions, due, unread } = work;
  const problem = quiet ? null : unread;
  if (tasks.length + questions.length + due.length === 0 && !problem) {
    return (
      <Nothing>
        {i18n._("Nothing to do. What you hand over, and what you want to be reminded of, is here.")}
      </Nothing>
    );
  }
  return (
    <div data-testid="tasks" className="grid gap-3">
      <p className="text-small text-quiet">{workWords(i18n, work)}</p>
      {problem && (
        <Problem>
          {i18n._("Tasks could not be read: {problem}", { problem: known(i18n, problem) })}
        </Problem>
      )}
      <ul className="grid gap-3">
        {due.map(({ id, title, due_at }) => (
          <li key={id} data-testid="due">
            <Card className="flex items-center gap-3">
              <AlarmClock className="size-5 shrink-0 text-warn" aria-hidden="true" />
              <div className="min-w-0 flex-1">
                <p className="font-medium">{visible(title)}</p>
                <p className="text-small text-quiet">
                  {i18n._("Due {when}", { when: agoWords(i18n, due_at) })}
                </p>
              </div>
              <Button onClick={() => void actions.noted(id)}>
                {i18n._("Got it")}
                <span className="sr-only">: {visible(title)}</span>
              </Button>
            </Card>
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
        {inOrder(work).map((task) => (
          <TaskCard
            key={task.id}
            task={task}
            fresh={isNew(task, work)}
            acting={work.acting.includes(task.id)}
            fault={work.faults[task.id] ?? null}
            actions={actions}
          />
        ))}
      </ul>
    </div>
  );
}
