/** Delegated work, quietly: a line when there is nothing to do, open while something goes on. */

import { useEffect, useId, useState } from "react";
import type { Desk } from "../session/desk";
import { over, type Work } from "../session/work";
import { inOrder, isNew, questionsOf, trayWords } from "../session/work_words";
import { Ask } from "./Ask";
import { TaskCard } from "./TaskCard";

export type DeskActions = Pick<Desk, "cancel" | "answer" | "seen">;

interface Props {
  work: Work;
  desk: DeskActions;
  /** The page says already that the server is not there. */
  quiet: boolean;
}

export function Tray({ work, desk, quiet }: Props) {
  const id = useId();
  const [wish, setWish] = useState<boolean | null>(null);
  const asked = questionsOf(work).join();
  useEffect(() => {
    if (asked) setWish(null); // a new question is not missed for having put the tray away
  }, [asked]);

  const { tasks, questions, unread } = work;
  const problem = quiet ? null : unread;
  const some = tasks.length + questions.length > 0;
  if (!some && !problem) return null;
  const seen = (id: string) => {
    setWish(true); // what is being read stays where it is
    desk.seen(id);
  };
  const open = wish ?? (asked !== "" || tasks.some((task) => !over(task) || isNew(task, work)));
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
        {questions.map((question) => (
          <li key={question.id} className="task">
            <Ask
              question={question}
              acting={work.acting.includes(question.callId)}
              fault={work.faults[question.callId] ?? null}
              answer={(words) => void desk.answer(question.callId, question.id, words)}
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
            desk={desk}
            seen={seen}
          />
        ))}
      </ul>
    </section>
  );
}
