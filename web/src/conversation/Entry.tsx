/** One thing that was said, done or understood. */

import type { I18n } from "@lingui/core";
import { useLingui } from "@lingui/react";
import type { Line } from "@vivavoce/client";
import { AlarmClock, Mic, Wrench } from "lucide-react";
import { memo, type ReactNode } from "react";
import { cx } from "../parts/cx";
import { IntentCard } from "./IntentCard";

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
  user: "self-end max-w-[85%]",
  assistant: "self-start wide:max-w-[92%]",
  tool: "self-start",
  intent: "w-full max-w-md self-start",
  due: "self-start",
};

function Shown({ line, asks }: { line: Line; asks: boolean }) {
  const { i18n } = useLingui();
  if (line.intent) return <IntentCard intent={line.intent} />;
  switch (line.kind) {
    case "user":
      return (
        <>
          <Who>{i18n._("You")}</Who>
          <p className="rounded-bubble rounded-br-small bg-tint px-4 py-2.5 whitespace-pre-wrap">
            {line.spoken && <Spoken i18n={i18n} />}
            <Said line={line} i18n={i18n} />
          </p>
        </>
      );
    case "assistant":
      return (
        <>
          <Who>{i18n._("Assistant")}</Who>
          <p className="text-lead whitespace-pre-wrap">
            <Said line={line} i18n={i18n} />
          </p>
        </>
      );
    case "due":
      return (
        <Aside icon={<AlarmClock aria-label={i18n._("Due")} />}>
          <Said line={line} i18n={i18n} />
        </Aside>
      );
    default:
      return (
        <Aside icon={<Wrench aria-label={i18n._("Tool")} />}>
          {asks ? i18n._("Waiting for your yes") : line.text}
          <Outcome line={line} i18n={i18n} />
        </Aside>
      );
  }
}

/** The sides and the shapes tell who it was; here it is for those who do not see them. */
function Who({ children }: { children: string }) {
  return <span className="sr-only">{children}: </span>;
}

function Said({ line, i18n }: { line: Line; i18n: I18n }) {
  const shown = line.text || line.unheard;
  return (
    <>
      {line.text}
      {!shown && !line.cut && <span className="text-quiet">…</span>}
      {line.unheard && <del className="text-quiet">{line.unheard}</del>}
      {line.cut && (
        <span className="text-small text-quiet">
          {shown && " · "}
          {i18n._("interrupted")}
        </span>
      )}
    </>
  );
}

function Spoken({ i18n }: { i18n: I18n }) {
  return (
    <Mic
      className="mr-1.5 inline size-3.5 -translate-y-px text-quiet"
      role="img"
      aria-label={i18n._("by voice")}
    />
  );
}

function Aside({ icon, children }: { icon: ReactNode; children: ReactNode }) {
  return (
    <div className="flex items-baseline gap-2 text-small text-quiet [&_svg]:size-4 [&_svg]:shrink-0 [&_svg]:translate-y-0.5">
      {icon}
      <p className="min-w-0 whitespace-pre-wrap">{children}</p>
    </div>
  );
}

/** How far it is, in the tool's own words; then how it ended. */
function Outcome({ line, i18n }: { line: Line; i18n: I18n }) {
  if (line.done) {
    return (
      <span className={cx(line.failed && "text-bad")}>
        {" · "}
        {line.failed ? i18n._("failed") : i18n._("done")}
        {line.note && `: ${line.note}`}
      </span>
    );
  }
  return (
    <>
      <span role="status" aria-live="polite">
        {line.note && ` · ${line.note}`}
      </span>
      {line.percentage !== null && (
        <progress
          className="bar mt-1.5 max-w-60"
          max={100}
          value={line.percentage}
          aria-label={i18n._("{name}, progress", { name: line.text })}
        />
      )}
    </>
  );
}
