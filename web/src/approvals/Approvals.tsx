/** What may only happen with a yes. One card at a time, the oldest first.
 *
 * Nothing is agreed to by accident: the card takes the focus itself and gives it to no button,
 * "No" comes before "Yes", a button counts only once it has been there for a moment, and a key
 * that is held down does not count at all. */

import { useLingui } from "@lingui/react";
import { type Approval, argumentRows, type Reach, secondsLeft, visible, type Work } from "@vivavoce/client";
import { useVivavoce, useVivavoceState } from "@vivavoce/react";
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { Button } from "../parts/button";
import { Problem } from "../parts/pane";
import { countdownWords } from "../words/time";

export const ARMED_AFTER_MS = 700; // a click that was meant for what stood here before

type Decide = (id: string, granted: boolean, reach?: Reach) => void;

export function Approvals() {
  const client = useVivavoce();
  const work = useVivavoceState((state) => state.work);
  return <Asked work={work} decide={(...what) => void client.work.decide(...what)} />;
}

export function Asked({ work, decide }: { work: Work; decide: Decide }) {
  const approval = work.approvals[0];
  return (
    <>
      {/* Always there, since a reader only hears what changes in a place that it knows. */}
      <p className="sr-only" role="alert" aria-live="assertive">
        {approval && approval.question}
      </p>
      {approval && (
        <ApprovalCard
          key={approval.id}
          approval={approval}
          more={work.approvals.length - 1}
          acting={work.acting.includes(approval.id)}
          fault={work.faults[approval.id] ?? null}
          skewMs={work.skewMs}
          decide={decide}
        />
      )}
    </>
  );
}

interface CardProps {
  approval: Approval;
  more: number;
  acting: boolean;
  fault: string | null;
  skewMs: number;
  decide: Decide;
}

export function ApprovalCard({ approval, more, acting, fault, skewMs, decide }: CardProps) {
  const { i18n } = useLingui();
  const id = useId();
  const card = useFocus();
  const left = useSecondsLeft(approval, skewMs);
  const armed = useArmed() && !acting;
  const off = !armed || left === 0;
  const press = (granted: boolean, reach?: Reach) => {
    if (!off) decide(approval.id, granted, reach);
  };
  // Where one yes is for the session anyway, the question says so.
  const lasts = approval.session_id && approval.reach !== "session";
  return (
    <div
      ref={card}
      data-testid="approval"
      role="alertdialog"
      aria-labelledby={`${id}-question`}
      aria-describedby={`${id}-what`}
      tabIndex={-1}
      className="mx-4 mb-3 grid animate-rise gap-3 rounded-card border-2 border-accent bg-card p-4 shadow-lifted wide:mx-0"
    >
      <p className="text-lead font-semibold" id={`${id}-question`}>
        {visible(approval.question)}
      </p>
      <Arguments approval={approval} id={`${id}-what`} />
      <p className="text-small text-quiet" role="timer" aria-live="off">
        {left > 0
          ? i18n._("Without an answer it is a no, in {time}.", { time: countdownWords(i18n, left) })
          : i18n._("Time is up: taken as a no.")}
        {more > 0 && ` ${i18n._("{more} more after this.", { more })}`}
      </p>
      <Problem>{fault}</Problem>
      <div className="grid grid-cols-2 gap-2">
        <Decision name="no" words={i18n._("No")} off={off} press={() => press(false)} />
        <Decision name="yes" words={i18n._("Yes")} off={off} press={() => press(true)} />
      </div>
      <div
        className="grid grid-cols-[repeat(auto-fit,minmax(9rem,1fr))] gap-2"
        role="group"
        aria-label={i18n._("A yes that goes further")}
      >
        {lasts && (
          <Decision
            name="session"
            words={i18n._("Yes, for this session")}
            off={off}
            press={() => press(true, "session")}
          />
        )}
        <Decision
          name="always"
          words={i18n._("Yes, always")}
          off={off}
          press={() => press(true, "always")}
        />
      </div>
    </div>
  );
}

const SHORT = 600; // characters that are read at a glance
const SHORT_LINES = 10;

function Arguments({ approval, id }: { approval: Approval; id: string }) {
  const { i18n } = useLingui();
  const rows = argumentRows(approval.arguments);
  const length = rows.reduce((sum, { text }) => sum + text.length, 0);
  const lines = rows.reduce((sum, { text }) => sum + text.split("\n").length, 0);
  return (
    <>
      <div
        className="max-h-48 overflow-y-auto rounded-small bg-well p-3 font-mono text-small"
        id={id}
        role="group"
        aria-label={i18n._("What would run")}
        tabIndex={0}
      >
        <p className="font-semibold">{visible(approval.tool_name)}</p>
        <dl>
          {rows.map(({ name, text }) => (
            <div key={name} className="mt-1.5">
              <dt className="text-tiny text-quiet">{name}</dt>
              <dd>
                <pre className="font-mono wrap-anywhere whitespace-pre-wrap">{text}</pre>
              </dd>
            </div>
          ))}
        </dl>
      </div>
      {(length > SHORT || lines > SHORT_LINES) && (
        <p className="text-small text-quiet">
          {i18n._("{lines} lines, {length} characters. Scroll to read all of it.", { lines, length })}
        </p>
      )}
    </>
  );
}

interface DecisionProps {
  name: string;
  words: string;
  off: boolean;
  press: () => void;
}

function Decision({ name, words, off, press }: DecisionProps) {
  const held = (event: KeyboardEvent) => {
    if (event.repeat) event.preventDefault();
  };
  const further = name === "session" || name === "always";
  return (
    // Not `disabled`: that would throw away the focus of whoever waits for it.
    <Button
      tone={name === "yes" ? "main" : further ? "quiet" : "plain"}
      size={further ? "small" : "body"}
      data-testid={`approval-${name}`}
      aria-disabled={off}
      onKeyDown={held}
      onClick={press}
    >
      {words}
    </Button>
  );
}

/** Takes the focus unless somebody is writing, and gives it back. */
function useFocus() {
  const card = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    const writing = before instanceof HTMLInputElement || before instanceof HTMLTextAreaElement;
    const element = card.current;
    if (!writing) element?.focus();
    return () => {
      // By now it is gone from the page, and the focus with it if it was inside.
      const lost = document.activeElement === document.body || element === document.activeElement;
      if (lost && before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return card;
}

function useSecondsLeft(approval: Approval, skewMs: number): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return secondsLeft(approval, now, skewMs);
}

function useArmed(): boolean {
  const [armed, setArmed] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setArmed(true), ARMED_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  return armed;
}
