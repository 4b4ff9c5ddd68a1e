/** One task: on its way, with a question, or over. */

import { useEffect, useState } from "react";
import { agentWords, agoWords, over, statusWords, type Task } from "@vivavoce/client";
import { Ask } from "./Ask";
import type { WorkActions } from "./Tray";

const SURE_MS = 4000;

interface Props {
  task: Task;
  fresh: boolean;
  acting: boolean;
  fault: string | null;
  actions: WorkActions;
  seen: (id: string) => void;
}

export function TaskCard(props: Props) {
  const { task } = props;
  return (
    <li className={`task ${task.status}`} data-status={task.status}>
      {over(task) ? <Ended {...props} /> : <Going {...props} />}
    </li>
  );
}

function Going({ task, acting, fault, actions }: Props) {
  const { question, percentage } = task;
  return (
    <>
      <div className="head">
        <p className="title">{task.title}</p>
        <Cancel title={task.title} acting={acting} cancel={() => void actions.cancel(task.id)} />
      </div>
      <p className="remark" aria-live="polite">
        {[agentWords(task), question ? statusWords(task) : task.progress || statusWords(task)]
          .filter(Boolean)
          .join(" · ")}
      </p>
      {percentage !== null && percentage !== undefined && (
        <div className="share">
          <progress max={100} value={percentage} aria-label={`${task.title}, progress`} />
          <span className="remark">{percentage} %</span>
        </div>
      )}
      {question ? (
        <Ask
          key={question.id}
          question={question}
          acting={acting}
          fault={fault}
          answer={(words) => void actions.answer(task.id, question.id, words)}
        />
      ) : (
        fault && (
          <p className="problem" role="alert">
            {fault}
          </p>
        )
      )}
    </>
  );
}

/** Asks once more, since what is stopped does not come back. */
function Cancel({ title, acting, cancel }: { title: string; acting: boolean; cancel: () => void }) {
  const [sure, setSure] = useState(false);
  useEffect(() => {
    if (!sure) return undefined;
    const timer = setTimeout(() => setSure(false), SURE_MS);
    return () => clearTimeout(timer);
  }, [sure]);
  const press = () => {
    if (sure) cancel();
    setSure(!sure);
  };
  const words = sure ? "Really cancel?" : "Cancel";
  return (
    <button
      type="button"
      className={sure ? "small sure" : "small"}
      disabled={acting}
      aria-label={`${words} ${title}`}
      onClick={press}
    >
      {words}
    </button>
  );
}

function Ended({ task, fresh, seen }: Props) {
  return (
    <details
      onToggle={(event) => {
        if (event.currentTarget.open && fresh) seen(task.id);
      }}
    >
      <summary>
        {fresh && <span className="mark" role="img" aria-label="New:" />}
        <span className="title">{task.title}</span>
        <span className={`remark ${task.status}`}>
          {statusWords(task)} · {agoWords(task.finished_at, Date.now())}
        </span>
      </summary>
      <div className="report">
        {task.error && <p className="text">{task.error}</p>}
        {task.result && <p className="text">{task.result}</p>}
        <Section name="What was tried" rows={task.details} ordered />
        <Section name="What could help" rows={task.suggestions} />
        <Section name="Files changed" rows={task.files_changed} />
        {task.description && task.description !== task.title && (
          <Section name="What was asked for" rows={[task.description]} />
        )}
      </div>
    </details>
  );
}

interface SectionProps {
  name: string;
  rows: readonly string[];
  ordered?: boolean;
}

function Section({ name, rows, ordered = false }: SectionProps) {
  if (rows.length === 0) return null;
  const List = ordered ? "ol" : "ul";
  return (
    <>
      <h3>{name}</h3>
      <List>
        {rows.map((row, at) => (
          // The same thing may have been tried twice.
          <li key={`${at} ${row}`}>{row}</li>
        ))}
      </List>
    </>
  );
}
