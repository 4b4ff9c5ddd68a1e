/** One conversation of the list, and what can be done with it. */

import { useLingui } from "@lingui/react";
import { badgeOf, type ConversationInfo, type History, nameOf, previewOf } from "@vivavoce/client";
import { AudioLines, Braces, Ellipsis, FileText, Mic, Pencil, Share2, Trash2 } from "lucide-react";
import { type MouseEvent, useRef } from "react";
import { Badge } from "../parts/badge";
import { Button } from "../parts/button";
import { Menu, MenuItem } from "../parts/menu";
import type { I18n } from "../words/i18n";
import { exactly, known } from "../words/known";
import { whenWords } from "../words/time";
import type { Format } from "./file";
import { typeWords } from "./words";

export interface RowActions {
  /** Opens it, at a message where one was found. */
  show(id: string, name: string, message?: string): void;
  talk(id: string, name: string): void;
  rename(id: string, name: string): void;
  save(id: string, format: Format): void;
  share(id: string, name: string): Promise<void>;
  ask(id: string | null): void;
  remove(): void;
}

interface Props {
  readonly one: ConversationInfo;
  readonly history: History;
  readonly actions: RowActions;
  readonly talking: boolean;
  /** It is what is talked about now: what the list knows of it is from before. */
  readonly live: boolean;
  /** It is the one that is shown. */
  readonly here: boolean;
}

export function Row(props: Props) {
  const { one, history } = props;
  const asked = history.doomed?.id === one.id;
  return (
    <>
      <div className="group relative rounded-card hover:bg-well has-[[aria-current]]:bg-tint">
        <Item {...props} />
        <More {...props} />
      </div>
      {asked && <Doomed {...props} />}
    </>
  );
}

function Item({ one, actions, talking, live, here }: Props) {
  const { i18n } = useLingui();
  const name = shownName(i18n, one, live);
  const preview = live ? null : previewOf(one);
  const badge = badgeOf(one);
  return (
    <button
      type="button"
      className="grid w-full min-w-0 gap-0.5 rounded-card px-3 py-2.5 text-left"
      data-testid="conversation"
      aria-current={live || here ? "true" : undefined}
      aria-disabled={talking}
      onClick={() => actions.show(one.id, name)}
    >
      <span className="truncate pr-8 font-medium">{name}</span>
      {preview && <span className="truncate text-small text-quiet">{preview}</span>}
      <span className="flex flex-wrap items-center gap-x-2 gap-y-1 text-tiny text-quiet">
        <Type type={one.context_type} intent={one.extracted_intent} />
        {badge && <Badge tone="accent">{known(i18n, badge)}</Badge>}
        {live ? <Badge tone="good">{i18n._("Now")}</Badge> : <span>{sizeAndTime(i18n, one)}</span>}
      </span>
    </button>
  );
}

function shownName(i18n: I18n, one: ConversationInfo, live: boolean): string {
  return live && !one.title ? i18n._("This conversation") : exactly(i18n, nameOf(one));
}

function sizeAndTime(i18n: I18n, { last_message_at: at, created_at: begun, message_count: count }: ConversationInfo): string {
  const when = whenWords(i18n, at ?? begun);
  return count > 0 ? `${when} · ${i18n._("{count, plural, one {# message} other {# messages}}", { count })}` : when;
}

/** What kind it is, where the intent does not say the same. */
function Type({ type, intent }: { type: string; intent: string | null }) {
  const { i18n } = useLingui();
  const words = typeWords(i18n, type);
  if (type === "voice") return <AudioLines className="size-3.5" role="img" aria-label={words} />;
  return intent === INTENTS.get(type) ? null : <Badge>{words}</Badge>;
}

const INTENTS = new Map([
  ["goal", "GOAL"],
  ["task", "NEW_TASK"],
  ["reschedule", "RESCHEDULE_TASK"],
]);

function More({ one, actions, talking, live }: Props) {
  const { i18n } = useLingui();
  const name = shownName(i18n, one, live);
  return (
    <Menu
      trigger={
        <Button
          tone="quiet"
          size="small icon"
          data-testid="more"
          aria-label={i18n._("What to do with {name}", { name })}
          className="absolute top-1 right-1 wide:opacity-60 wide:group-hover:opacity-100 wide:focus-visible:opacity-100"
        >
          <Ellipsis aria-hidden="true" />
        </Button>
      }
    >
      <MenuItem disabled={talking} data-testid="resume" onSelect={() => actions.talk(one.id, name)}>
        <Mic aria-hidden="true" />
        {i18n._("Continue by voice")}
      </MenuItem>
      <MenuItem data-testid="rename" onSelect={() => actions.rename(one.id, name)}>
        <Pencil aria-hidden="true" />
        {i18n._("Rename…")}
      </MenuItem>
      <MenuItem data-testid="save-markdown" onSelect={() => actions.save(one.id, "markdown")}>
        <FileText aria-hidden="true" />
        {i18n._("Save as Markdown")}
      </MenuItem>
      <MenuItem data-testid="save-json" onSelect={() => actions.save(one.id, "json")}>
        <Braces aria-hidden="true" />
        {i18n._("Save as JSON")}
      </MenuItem>
      <MenuItem data-testid="share" onSelect={() => void actions.share(one.id, name)}>
        <Share2 aria-hidden="true" />
        {i18n._("Share as a file…")}
      </MenuItem>
      <MenuItem data-testid="delete" onSelect={() => actions.ask(one.id)}>
        <Trash2 aria-hidden="true" />
        {i18n._("Delete…")}
      </MenuItem>
    </Menu>
  );
}

/** A way to be rid of it: only after a second word. */
function Doomed({ history, actions }: Props) {
  const { i18n } = useLingui();
  const asked = useRef<HTMLDivElement>(null);
  const going = history.doomed?.going ?? false;
  const keep = () => {
    asked.current?.parentElement?.querySelector<HTMLElement>("[data-testid=more]")?.focus();
    actions.ask(null);
  };
  const remove = (event: MouseEvent) => {
    // The row goes, and what has the focus must not go with it.
    event.currentTarget.closest("section")?.querySelector("input")?.focus();
    actions.remove();
  };
  return (
    <div
      ref={asked}
      className="mx-3 mb-2 grid animate-rise gap-3 rounded-card bg-bad-tint p-3 text-small"
      role="group"
      aria-label={i18n._("Delete it?")}
    >
      <p role="status">
        {going
          ? i18n._("One moment…")
          : i18n._("Delete this conversation for good? Goals and tasks that came of it stay.")}
      </p>
      <div className="flex gap-2">
        <Button aria-disabled={going} onClick={keep}>
          {i18n._("Keep")}
        </Button>
        <Button tone="live" data-testid="delete for good" aria-disabled={going} onClick={remove}>
          {i18n._("Delete")}
        </Button>
      </div>
    </div>
  );
}
