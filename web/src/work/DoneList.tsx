/** What is done: looked at when somebody wants to. */

import { useLingui } from "@lingui/react";
import { type GoalView, visible } from "@vivavoce/client";
import { ChevronDown } from "lucide-react";
import { useState } from "react";
import { Nothing } from "../parts/pane";
import { useGoals, useTodos } from "./plans";
import { Tick } from "./Tick";
import { type TodoActions, TodoRow } from "./TodoRow";

interface Props {
  readonly todoActions: TodoActions;
  readonly reopen: (goal: GoalView) => void;
}

export function DoneList({ todoActions, reopen }: Props) {
  const { i18n } = useLingui();
  const [open, setOpen] = useState(false);
  const todos = useTodos("done", open);
  const goals = useGoals("completed", open);
  const nothing = todos.data?.tasks.length === 0 && goals.data?.goals.length === 0;
  return (
    <details className="group" data-testid="done" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="flex min-h-9 cursor-pointer list-none items-center gap-2 text-small font-semibold text-quiet">
        <ChevronDown className="size-4 -rotate-90 transition-transform group-open:rotate-0" aria-hidden="true" />
        {i18n._("Done")}
      </summary>
      {nothing && <Nothing>{i18n._("Nothing is ticked off yet.")}</Nothing>}
      <ul>
        {goals.data?.goals.map((goal) => {
          const name = visible(goal.statement);
          return (
            <li key={goal.id} data-testid="goal" className="-mx-2 flex items-start gap-0.5 rounded-card hover:bg-well">
              <Tick name={i18n._("Not reached yet: {name}", { name })} done tick={() => reopen(goal)} />
              <div className="min-w-0 py-1.5">
                <p className="text-quiet line-through wrap-anywhere">{name}</p>
                <p className="text-tiny text-quiet">{i18n._("Goal")}</p>
              </div>
            </li>
          );
        })}
        {todos.data?.tasks.map((todo) => <TodoRow key={todo.id} todo={todo} actions={todoActions} />)}
      </ul>
    </details>
  );
}
