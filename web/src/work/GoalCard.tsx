/** A goal with its steps. */

import { useLingui } from "@lingui/react";
import { type GoalView, visible } from "@vivavoce/client";
import { Ellipsis, Pencil, Trash2 } from "lucide-react";
import { useId, useState } from "react";
import { Button } from "../parts/button";
import { Card } from "../parts/card";
import { cx } from "../parts/cx";
import { Menu, MenuItem } from "../parts/menu";
import { regionOf } from "../words/region";
import { planWords } from "../words/time";
import { Tick } from "./Tick";

const SHOWN = 4; // steps before one asks for more

export interface GoalActions {
  reach(goal: GoalView, done: boolean): void;
  step(goal: GoalView, id: string, done: boolean): void;
  edit(goal: GoalView): void;
  remove(goal: GoalView): void;
}

export function GoalCard({ goal, actions }: { goal: GoalView; actions: GoalActions }) {
  const { i18n } = useLingui();
  const id = useId();
  const name = visible(goal.statement);
  const done = goal.milestones.filter((step) => step.completed_at !== null).length;
  const count = goal.milestones.length;
  return (
    <li data-testid="goal" data-id={goal.id}>
      <Card className="grid gap-1 py-2.5 pr-2 pl-2">
        <div className="flex items-start gap-0.5">
          <Tick name={i18n._("Reached: {name}", { name })} done={false} tick={() => actions.reach(goal, true)} />
          <div className="min-w-0 flex-1 py-1.5">
            <h4 id={id} className="font-medium wrap-anywhere">
              {name}
            </h4>
            <Until goal={goal} />
          </div>
          <Menu
            trigger={
              <Button tone="quiet" size="small icon" data-testid="more" aria-label={i18n._("What to do with {name}", { name })}>
                <Ellipsis aria-hidden="true" />
              </Button>
            }
          >
            <MenuItem data-testid="edit" onSelect={() => actions.edit(goal)}>
              <Pencil aria-hidden="true" />
              {i18n._("Change…")}
            </MenuItem>
            <MenuItem data-testid="remove" onSelect={() => actions.remove(goal)}>
              <Trash2 aria-hidden="true" />
              {i18n._("Delete")}
            </MenuItem>
          </Menu>
        </div>
        {goal.context_notes && (
          <p className="px-2 pb-1 text-small whitespace-pre-wrap text-quiet wrap-anywhere">{visible(goal.context_notes)}</p>
        )}
        {count > 0 && (
          <>
            <div className="flex items-center gap-3 px-2">
              <progress className="bar" max={count} value={done} aria-label={i18n._("{name}, progress", { name })} />
              <span className="text-tiny whitespace-nowrap text-quiet tabular-nums">
                {i18n._("{done} of {count}", { done, count })}
              </span>
            </div>
            <Steps goal={goal} labelledBy={id} step={actions.step} />
          </>
        )}
      </Card>
    </li>
  );
}

/** In the user's words and as a date, where it is one. */
function Until({ goal }: { goal: GoalView }) {
  const { i18n } = useLingui();
  const { timeline, target_at: at } = goal;
  if (!timeline && !at) return null;
  const date = at && new Date(at).toLocaleDateString(regionOf(i18n), { dateStyle: "medium" });
  const late = at !== null && Date.parse(at) < Date.now();
  return (
    <p className={cx("text-tiny text-quiet", late && "font-medium text-bad")}>
      {[timeline && visible(timeline), date && i18n._("until {date}", { date })].filter(Boolean).join(" · ")}
    </p>
  );
}

interface StepsProps {
  readonly goal: GoalView;
  readonly labelledBy: string;
  readonly step: GoalActions["step"];
}

function Steps({ goal, labelledBy, step }: StepsProps) {
  const { i18n } = useLingui();
  const [all, setAll] = useState(false);
  const steps = [...goal.milestones].sort((one, other) => one.position - other.position);
  // Those that were done lately and those that come next: where one is.
  const first = steps.findIndex(({ completed_at: at }) => at === null);
  const from = Math.max(0, Math.min(first < 0 ? 0 : first - 1, steps.length - SHOWN));
  const shown = all ? steps : steps.slice(from, from + SHOWN);
  return (
    <>
      <ul aria-labelledby={labelledBy}>
        {shown.map(({ id, title, due_at: due, completed_at: at }) => (
          <li key={id} data-testid="step" className="flex items-start gap-0.5">
            <Tick name={visible(title)} done={at !== null} tick={(done) => step(goal, id, done)} />
            <p className={cx("min-w-0 flex-1 py-2 text-small wrap-anywhere", at !== null && "text-quiet line-through")}>
              {visible(title)}
              {due && at === null && <span className="block text-tiny text-quiet">{planWords(i18n, due)}</span>}
            </p>
          </li>
        ))}
      </ul>
      {steps.length > SHOWN && (
        <Button tone="quiet" className="ml-6 justify-self-start" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? i18n._("Fewer steps") : i18n._("All {count} steps", { count: steps.length })}
        </Button>
      )}
    </>
  );
}
