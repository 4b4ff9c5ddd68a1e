/** One task: on its way, with a question, or over. */

import { useLingui } from "@lingui/react";
import { agentWords, over, statusWords, type Task } from "@vivavoce/client";
import { ChevronDown } from "lucide-react";
import { useEffect, useState } from "react";
import { Button } from "../parts/button";
import { Card } from "../parts/card";
import { cx } from "../parts/cx";
import { Problem } from "../parts/pane";
import { known } from "../words/known";
import { percentWords } from "../words/region";
import { agoWords } from "../words/time";
import { Ask } from "./Ask";
import type { WorkActions } from "./WorkPane";

const SURE_MS = 4000;

interface Props {
  task: Task;
  fresh: boolean;
  acting: boolean;
  fault: string | null;
  actions: WorkActions;
}

export function TaskCard(props: Props) {
  const { task } = props;
  return (
    <li data-status={task.status}>
      <Card>{over(task) ? <Ended {...props} /> : <Going {...props} />}</Card>
    </li>
  );
}

function Going({ task, acting, fault, actions }: Props) {
  const { i18n } = useLingui();
  const { question, percentage } = task;
  const status = known(i18n, statusWords(task));
  return (
    <div className="grid gap-2">
      <div className="flex items-start justify-between gap-3">
        <p className="font-medium">{task.title}</p>
        <Cancel title={task.title} acting={acting} cancel={() => void actions.cancel(task.id)} />
      </div>
      <p className="text-small text-quiet">
        {[agentWords(task), question ? status : task.progress || status].filter(Boolean).join(" · ")}
      </p>
      {percentage !== null && percentage !== undefined && (
        <div className="flex items-center gap-3">
          <progress
            className="bar"
            max={100}
            value={percentage}
            aria-label={i18n._("{name}, progress", { name: task.title })}
          />
          <span className="text-tiny whitespace-nowrap text-quiet tabular-nums">{percentWords(i18n, percentage)}</span>
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
        <Problem>{fault && known(i18n, fault)}</Problem>
      )}
    </div>
  );
}

/** Asks once more, since what is stopped does not come back. */
function Cancel({ title, acting, cancel }: { title: string; acting: boolean; cancel: () => void }) {
  const { i18n } = useLingui();
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
  const words = sure ? i18n._("Really cancel?") : i18n._("Cancel");
  return (
    <Button
      tone={sure ? "bad" : "quiet"}
      disabled={acting}
      className="-my-1.5 -mr-2"
      aria-label={`${words} ${title}`}
      onClick={press}
    >
      {words}
    </Button>
  );
}

function Ended({ task, fresh, actions }: Props) {
  const { i18n } = useLingui();
  return (
    <details
      className="group"
      onToggle={(event) => {
        if (event.currentTarget.open && fresh) actions.seen(task.id);
      }}
    >
      <summary className="flex cursor-pointer list-none items-center gap-2.5">
        {fresh && (
          <span
            className="size-2 shrink-0 rounded-full bg-accent"
            role="img"
            aria-label={i18n._("New:")}
          />
        )}
        <span className="min-w-0 flex-1">
          <span className="block font-medium">{task.title}</span>
          <span className={cx("block text-small text-quiet", task.status === "failed" && "text-bad")}>
            {known(i18n, statusWords(task))} · {agoWords(i18n, task.finished_at)}
          </span>
        </span>
        <ChevronDown
          className="size-5 shrink-0 text-quiet transition-transform group-open:rotate-180"
          aria-hidden="true"
        />
      </summary>
      <div className="mt-3 grid gap-2 border-t border-line pt-3 text-small wrap-anywhere">
        {task.error && <p className="whitespace-pre-wrap">{task.error}</p>}
        {task.result && <p className="whitespace-pre-wrap">{task.result}</p>}
        <Section name={i18n._("What was tried")} rows={task.details} ordered />
        <Section name={i18n._("What could help")} rows={task.suggestions} />
        <Section name={i18n._("Files changed")} rows={task.files_changed} />
        {task.description && task.description !== task.title && (
          <Section name={i18n._("What was asked for")} rows={[task.description]} />
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
      <h3 className="font-semibold">{name}</h3>
      <List className={cx("ml-5 grid gap-0.5", ordered ? "list-decimal" : "list-disc")}>
        {rows.map((row, at) => (
          // The same thing may have been tried twice.
          <li key={`${at} ${row}`}>{row}</li>
        ))}
      </List>
    </>
  );
}
