/** One thing that was said, done or understood. */

import { useLingui } from "@lingui/react";
import type { Line } from "@vivavoce/client";
import { AlarmClock, CircleAlert, Keyboard, Mic, Volume2 } from "lucide-react";
import { memo } from "react";
import { cx } from "../parts/cx";
import { IntentCard } from "./IntentCard";
import { Answer } from "./Said";
import { ToolCard } from "./ToolCard";

interface Props {
  readonly line: Line;
  readonly found: boolean;
  readonly asks: boolean;
}

export const Entry = memo(function Entry({ line, found, asks }: Props) {
  const marks = {
    "data-id": line.id,
    "data-role": line.kind,
    "data-done": line.done,
    "data-found": found || undefined,
  };
  const look = cx(
    "max-w-full scroll-m-8 wrap-anywhere data-found:rounded-bubble data-found:ring-2 data-found:ring-accent data-found:ring-offset-4 data-found:ring-offset-paper",
    PLACES[line.kind],
  );
  return (
    <div className={look} {...marks}>
      <Shown line={line} asks={asks} />
    </div>
  );
});

const PLACES: Readonly<Record<Line["kind"], string>> = {
  user: "ml-auto w-fit max-w-[85%]",
  assistant: "w-fit wide:max-w-[94%]",
  tool: "w-full max-w-xl",
  intent: "w-full max-w-xl",
  due: "w-fit",
};

function Shown({ line, asks }: { line: Line; asks: boolean }) {
  const { i18n } = useLingui();
  if (line.intent) return <IntentCard intent={line.intent} />;
  switch (line.kind) {
    case "user":
      return (
        <>
          <Who>{i18n._("You")}</Who>
          <div className={cx("flex items-start gap-2 rounded-bubble rounded-br-small bg-tint px-4 py-2.5", line.failed && "bg-bad-tint")}>
            <Way line={line} className="mt-1.5" />
            <p className="min-w-0 whitespace-pre-wrap">
              {line.text || <span className="text-quiet">…</span>}
              {line.cut && <span className="text-small text-quiet"> · {i18n._("interrupted")}</span>}
            </p>
          </div>
          {line.failed && (
            <p className="mt-1 flex items-center justify-end gap-1.5 text-small text-bad">
              <CircleAlert className="size-4 shrink-0" aria-hidden="true" />
              {i18n._("Not sent. {why}", { why: line.note })}
            </p>
          )}
        </>
      );
    case "assistant":
      return (
        <div className="relative">
          <Who>{i18n._("Assistant")}</Who>
          <Way line={line} className="absolute top-2 -left-5" />
          <Answer line={line} />
        </div>
      );
    case "due":
      return (
        <p className="flex items-center gap-2 rounded-full bg-warn-tint px-3.5 py-1.5 text-small text-warn">
          <AlarmClock className="size-4 shrink-0" role="img" aria-label={i18n._("Due")} />
          {line.text}
        </p>
      );
    default:
      return <ToolCard line={line} asks={asks} />;
  }
}

/** The sides and the shapes tell who it was; here it is for those who do not see them. */
function Who({ children }: { children: string }) {
  return <span className="sr-only">{children}: </span>;
}

/** By voice or in writing; nothing while nobody knows. Only what is spoken comes word by word from
 * the user: its mark is there from the first, so that no line moves at the end. */
function Way({ line, className }: { line: Line; className: string }) {
  const { i18n } = useLingui();
  const look = cx("size-3.5 shrink-0 text-quiet", className);
  const spoken = line.spoken ?? (line.kind === "user" && !line.done ? true : undefined);
  if (spoken === undefined) return null;
  if (!spoken) return <Keyboard className={look} role="img" aria-label={i18n._("in writing")} />;
  const Icon = line.kind === "user" ? Mic : Volume2;
  return <Icon className={look} role="img" aria-label={i18n._("by voice")} />;
}
