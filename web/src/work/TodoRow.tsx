/** One task of the user's: ticked off, put off, changed or deleted here. */

import { useLingui } from "@lingui/react";
import { type TodoView, visible } from "@vivavoce/client";
import { CalendarClock, Ellipsis, MapPin, Pencil, Repeat, Trash2 } from "lucide-react";
import { Button } from "../parts/button";
import { cx } from "../parts/cx";
import { Menu, MenuItem } from "../parts/menu";
import { recurrenceWords } from "../words/recurrence";
import { clockWords, daysFrom, planWords } from "../words/time";
import { laterTimes } from "./groups";
import { Tick } from "./Tick";

export interface TodoActions {
  tick(todo: TodoView, done: boolean): void;
  move(todo: TodoView, to: string): void;
  edit(todo: TodoView): void;
  remove(todo: TodoView): void;
}

interface Props {
  readonly todo: TodoView;
  /** What it is for, where it belongs to a goal. */
  readonly goal?: string | undefined;
  readonly actions: TodoActions;
}

export function TodoRow({ todo, goal, actions }: Props) {
  const { i18n } = useLingui();
  const done = todo.status === "completed";
  const title = visible(todo.title);
  return (
    <li data-testid="todo" data-id={todo.id} className="group -mx-2 flex items-start gap-0.5 rounded-card pr-1 hover:bg-well">
      <Tick
        name={done ? i18n._("Still to do: {title}", { title }) : i18n._("Done: {title}", { title })}
        done={done}
        tick={(now) => actions.tick(todo, now)}
      />
      <div className="min-w-0 flex-1 py-1.5">
        <p className={cx("wrap-anywhere", done && "text-quiet line-through")}>{title}</p>
        <Facts todo={todo} goal={goal} />
      </div>
      {!done && <More todo={todo} title={title} actions={actions} />}
    </li>
  );
}

function Facts({ todo, goal }: Pick<Props, "todo" | "goal">) {
  const { i18n } = useLingui();
  const { scheduled_at: at, recurrence_rule: rule, location_trigger: place } = todo;
  const open = todo.status !== "completed";
  const today = at !== null && daysFrom(new Date(at), Date.now()) === 0;
  const late = open && at !== null && Date.parse(at) < Date.now();
  if (!at && !rule && !place && !goal) return null;
  return (
    <p className="flex flex-wrap items-center gap-x-2.5 text-tiny text-quiet [&_svg]:size-3.5">
      {at && (
        <time dateTime={at} className={cx("tabular-nums", late && "font-medium text-bad")}>
          {today && open ? clockWords(i18n, at) : planWords(i18n, at)}
          {late && <span> · {i18n._("overdue")}</span>}
        </time>
      )}
      {rule && (
        <span className="inline-flex items-center gap-1">
          <Repeat aria-hidden="true" />
          {visible(recurrenceWords(i18n, rule, todo.recurrence_words))}
        </span>
      )}
      {place && (
        <span className="inline-flex items-center gap-1">
          <MapPin aria-hidden="true" />
          {visible(place)}
        </span>
      )}
      {goal && <span>{i18n._("for {goal}", { goal: visible(goal) })}</span>}
    </p>
  );
}

function More({ todo, title, actions }: { todo: TodoView; title: string; actions: TodoActions }) {
  const { i18n } = useLingui();
  return (
    <Menu
      trigger={
        <Button
          tone="quiet"
          size="small icon"
          data-testid="more"
          aria-label={i18n._("What to do with {name}", { name: title })}
          className="wide:opacity-60 wide:group-hover:opacity-100 wide:focus-visible:opacity-100"
        >
          <Ellipsis aria-hidden="true" />
        </Button>
      }
    >
      {todo.scheduled_at !== null && <Times todo={todo} move={actions.move} />}
      <MenuItem data-testid="edit" onSelect={() => actions.edit(todo)}>
        <Pencil aria-hidden="true" />
        {i18n._("Change…")}
      </MenuItem>
      <MenuItem data-testid="remove" onSelect={() => actions.remove(todo)}>
        <Trash2 aria-hidden="true" />
        {i18n._("Delete")}
      </MenuItem>
    </Menu>
  );
}

function Times({ todo, move }: { todo: TodoView; move: TodoActions["move"] }) {
  const { i18n } = useLingui();
  const times = laterTimes();
  const offers: [string, string, Date | null][] = [
    ["hour", i18n._("In an hour"), times.hour],
    ["evening", i18n._("This evening"), times.evening],
    ["tomorrow", i18n._("Tomorrow morning"), times.tomorrow],
    ["week", i18n._("Next Monday"), times.week],
  ];
  return offers.map(
    ([name, words, at]) =>
      at && (
        <MenuItem key={name} data-testid={`move-${name}`} onSelect={() => move(todo, at.toISOString())}>
          <CalendarClock aria-hidden="true" />
          <span className="flex-1">{words}</span>
          <span className="text-tiny text-quiet tabular-nums">{clockWords(i18n, at.toISOString())}</span>
        </MenuItem>
      ),
  );
}
