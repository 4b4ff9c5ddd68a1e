/** A tool's call: one line while nobody wants to know more, and opened what it was given and gave. */

import { useLingui } from "@lingui/react";
import { useQuery } from "@tanstack/react-query";
import { argumentRows, callOf, type Line, resultsOf, type State, type ToolCall, visible } from "@vivavoce/client";
import { useVivavoceState } from "@vivavoce/react";
import { Check, ChevronDown, CircleAlert, FileDiff, Hourglass, LoaderCircle } from "lucide-react";
import { type ReactNode, useId, useState } from "react";
import { useApi } from "../app/query";
import { cx } from "../parts/cx";
import { known } from "../words/known";
import { durationWords } from "../words/time";
import { CopyButton } from "./Code";

const LONGEST = 20_000; // characters that are drawn

interface Props {
  readonly line: Line;
  readonly asks: boolean;
}

export function ToolCard({ line, asks }: Props) {
  const { call } = line;
  const [open, setOpen] = useState(false);
  const id = useId();
  const opens = call !== undefined && !asks && (line.done || Object.keys(call.given).length > 0);
  const head = <Head line={line} asks={asks} />;
  return (
    <div className="rounded-card border border-line bg-card text-small" data-testid="tool">
      {opens ? (
        <button
          type="button"
          className="flex w-full items-start gap-2.5 px-3.5 py-2.5 text-left"
          aria-expanded={open}
          aria-controls={open ? id : undefined}
          onClick={() => setOpen(!open)}
        >
          {head}
          <ChevronDown
            aria-hidden="true"
            className={cx("mt-0.5 size-4 shrink-0 text-quiet transition-transform", open && "rotate-180")}
          />
        </button>
      ) : (
        <div className="flex items-start gap-2.5 px-3.5 py-2.5">{head}</div>
      )}
      {!line.done && line.percentage !== null && <Progress line={line} percentage={line.percentage} />}
      {open && call && (
        <div id={id} className="grid gap-3 border-t border-line px-3.5 py-3">
          <Inside line={line} call={call} />
        </div>
      )}
    </div>
  );
}

function Head({ line, asks }: Props) {
  const { i18n } = useLingui();
  const { done, failed, note, text, call } = line;
  const ms = call?.ms ? Math.round(call.ms) : 0; // what took no time needs no figure
  const files = call?.files.length ?? 0;
  return (
    <>
      <Sign line={line} asks={asks} />
      <span className="min-w-0 flex-1">
        {asks ? i18n._("Waiting for your yes") : known(i18n, visible(text))}
        {done ? (
          <span className={cx("text-quiet", failed && "text-bad")}>
            {" · "}
            {failed ? i18n._("failed") : i18n._("done")}
            {note && `: ${known(i18n, note)}`}
          </span>
        ) : (
          <span role="status" aria-live="polite" className="text-quiet">
            {note && ` · ${known(i18n, note)}`}
          </span>
        )}
      </span>
      {done && (ms > 0 || files > 0) && (
        <span className="shrink-0 text-quiet tabular-nums">
          {[
            files > 0 && i18n._("{files, plural, one {# file} other {# files}}", { files }),
            ms > 0 && durationWords(i18n, ms),
          ]
            .filter(Boolean)
            .join(" · ")}
        </span>
      )}
    </>
  );
}

function Sign({ line: { done, failed }, asks }: Props) {
  const look = "mt-0.5 size-4 shrink-0";
  if (asks) return <Hourglass className={cx(look, "text-warn")} aria-hidden="true" />;
  if (!done) return <LoaderCircle className={cx(look, "animate-spin text-accent")} aria-hidden="true" />;
  if (failed) return <CircleAlert className={cx(look, "text-bad")} aria-hidden="true" />;
  return <Check className={cx(look, "text-good")} aria-hidden="true" />;
}

function Progress({ line, percentage }: { line: Line; percentage: number }) {
  const { i18n } = useLingui();
  return (
    <div className="px-3.5 pb-3">
      <progress
        className="bar"
        max={100}
        value={percentage}
        aria-label={i18n._("{name}, progress", { name: known(i18n, line.text) })}
      />
    </div>
  );
}

const conversationOf = (state: State) => state.history.past?.id ?? state.conversation;

/** What came over the wire was the beginning of it; the whole is read when somebody looks. */
function Inside({ line, call: told }: { line: Line; call: ToolCall }) {
  const { i18n } = useLingui();
  const whole = useWhole(line, told);
  const call = whole.call ?? told;
  const rows = argumentRows(call.given);
  return (
    <>
      {rows.length > 0 && (
        <Part title={i18n._("What it was given")}>
          <dl className="grid gap-1">
            {rows.map(({ name, text }) => (
              <div key={name} className="flex gap-3">
                <dt className="w-24 shrink-0 truncate text-quiet">{name}</dt>
                <dd className="min-w-0 font-mono whitespace-pre-wrap">{shortened(text)}</dd>
              </div>
            ))}
          </dl>
        </Part>
      )}
      {call.output && (
        <Part title={i18n._("Output")} action={<CopyButton text={call.output} />}>
          <Output text={call.output} />
        </Part>
      )}
      {call.files.length > 0 && (
        <Part title={i18n._("Files changed")}>
          <ul className="grid gap-1">
            {call.files.map((file) => (
              <li key={file} className="flex items-center gap-2 font-mono">
                <FileDiff className="size-4 shrink-0 text-quiet" aria-hidden="true" />
                {visible(file)}
              </li>
            ))}
          </ul>
        </Part>
      )}
      {whole.reading && <p className="text-quiet">{i18n._("One moment…")}</p>}
      {rows.length === 0 && !call.output && call.files.length === 0 && !whole.reading && (
        <p className="text-quiet">{i18n._("It gave nothing back.")}</p>
      )}
    </>
  );
}

function Part({ title, action, children }: { title: string; action?: ReactNode; children: ReactNode }) {
  return (
    <div className="grid min-w-0 gap-1.5" role="group" aria-label={title}>
      <div className="flex min-h-6 items-center justify-between text-tiny font-medium text-quiet">
        {title}
        {action}
      </div>
      {children}
    </div>
  );
}

/** A change of a file shows what went and what came. */
function Output({ text }: { text: string }) {
  const { i18n } = useLingui();
  const lines = visible(shortened(text)).trimEnd().split("\n");
  const diff = lines.some((line) => line.startsWith("@@ "));
  return (
    <pre
      className="max-h-80 overflow-auto rounded-small bg-well p-3 font-mono whitespace-pre-wrap"
      role="group"
      aria-label={i18n._("Output")}
      tabIndex={0}
    >
      {diff
        ? lines.map((line, at) => (
            <span key={at} className={cx("block", diffTone(line))}>
              {line || " "}
            </span>
          ))
        : lines.join("\n")}
    </pre>
  );
}

function diffTone(line: string): string {
  if (/^(\+\+\+|---|@@) /.test(line)) return "text-quiet";
  if (line.startsWith("+")) return "bg-good-tint text-good";
  return line.startsWith("-") ? "bg-bad-tint text-bad" : "";
}

function shortened(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

function useWhole(line: Line, told: ToolCall): { call: ToolCall | null; reading: boolean } {
  const api = useApi();
  const conversation = useVivavoceState(conversationOf);
  const { data, isFetching } = useQuery({
    queryKey: ["conversations", conversation, "call", line.id],
    queryFn: async () => {
      const { messages } = await api.messages(conversation ?? "", null);
      const result = resultsOf(messages).get(line.id);
      const made = messages.find(
        ({ metadata }) => metadata["entry_kind"] === "tool_call" && metadata["tool_call_id"] === line.id,
      );
      const given = made?.metadata["tool_arguments"] as Record<string, unknown> | undefined;
      return result || given ? callOf(told.tool, given, result) : null;
    },
    enabled: line.done && !told.whole && conversation !== null,
    staleTime: Number.POSITIVE_INFINITY, // it is over
  });
  return { call: data ?? null, reading: isFetching };
}
