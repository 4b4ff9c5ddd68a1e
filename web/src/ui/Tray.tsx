/** Delegated work, quietly: a line when there is nothing to do, open while something goes on. */

import { useEffect, useId, useState } from "react";
import {
  agoWords,
  inOrder,
  isNew,
  over,
  questionsOf,
  trayWords,
  visible,
  type Work,
  type WorkClient,
} from "@vivavoce/client";
import { Ask } from "./Ask";
import { TaskCard } from "./TaskCard";

export type WorkActions = Pick<WorkClient, "cancel" | "answer" | "seen" | "noted">;

interface Props {
  work: Work;
  actions: WorkActions;
  /** The page says already that the server is not there. */
  quiet: boolean;
}

export function Tray({ work, actions, quiet }: Props) {
  const id = useId();
  const [wish, setWish] = useState<boolean | null>(null);
  const asked = questionsOf(work).join();
  useEffect(() => {
    if (asked) setWish(null); // a new question is not missed for having put the tray away
  }, [asked]);

  const { tasks, questions, due, unread } = work;
  const problem = quiet ? null : unread;
  const some = tasks.length + questions.length + due.length > 0;
  if (!some && !problem) return null;
  const seen = (id: string) => {
    setWish(true); // what is being read stays where it is
    actions.seen(id);
  };
  const open = wish ?? (asked !== "" || due.length > 0 || tasks.some((task) => !over(task) || isNew(task, work)));
  return (
    <section className="tray" aria-label="Tasks" data-testid="tasks">
      {some && (
        <button
          type="button"
          className="fold"
          aria-expanded={open}
          aria-controls={id}
          onClick={() => setWish(!open)}
        >
          <span className="name">Tasks</span>
          <span className="remark">{trayWords(work)}</span>
        </button>
      )}
      {problem && (
        <p className="problem" role="alert">
          Tasks could not be read: {problem}
        </p>
      )}
      <ul id={id} hidden={!open}>
        {due.map(({ id, title, due_at }) => (
          <li key={id} className="task due" data-testid="due">
            <div className="head">
              <p className="title">{visible(title)}</p>
              <button type="button" className="small" onClick={() => void actions.noted(id)}>
                Got it<span className="unseen">: {visible(title)}</span>
              </button>
            </div>
            <p className="remark">Due {agoWords(due_at, Date.now())}</p>
          </li>
        ))}
        {questions.map((question) => (
          <li key={question.id} className="task">
            <Ask
              question={question}
              acting={work.acting.includes(question.callId)}
              fault={work.faults[question.callId] ?? null}
              answer={(words) => void actions.answer(question.callId, question.id, words)}
            />
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
            seen={seen}
          />
        ))}
      </ul>
    </section>
  );
}
