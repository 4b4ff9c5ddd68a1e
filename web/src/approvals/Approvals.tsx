/** What may only happen with a yes. One card at a time, the oldest first.
 *
 * Nothing is agreed to by accident: the card takes the focus itself and gives it to no button,
 * "No" comes before "Yes", a button counts only once it has been there for a moment, and a key
 * that is held down does not count at all. */

import { useLingui } from "@lingui/react";
import { type Approval, argumentRows, type Reach, secondsLeft, visible, type Work } from "@vivavoce/client";
import { useVivavoce, useVivavoceState } from "@vivavoce/react";
import { ShieldQuestion, TriangleAlert } from "lucide-react";
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { Button } from "../parts/button";
import { Problem } from "../parts/pane";
import { known } from "../words/known";
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
        {approval && asks(approval)}
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
  // Where one yes is for the session anyway, there is none for this once.
  const long = approval.reach === "session";
  const lasts = approval.session_id && !long;
  return (
    <div
      ref={card}
      data-testid="approval"
      role="alertdialog"
      aria-labelledby={`${id}-question`}
      aria-describedby={`${id}-what`}
      tabIndex={-1}
      className="mb-3 grid animate-rise gap-3 rounded-card border-2 border-accent bg-card p-4 shadow-lifted"
    >
      <Who approval={approval} />
      <p className="text-lead leading-snug font-semibold" id={`${id}-question`}>
        {visible(asks(approval))}
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
        <Decision
          name="yes"
          words={long ? i18n._("Yes, for this session") : i18n._("Yes, this once")}
          off={off}
          press={() => press(true)}
        />
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

/** It is said aloud, too, and there it ends with what can be answered; here there are buttons. */
function asks({ question }: Approval): string {
  return question.replace(/\s*Yes or no\?$/, "");
}

/** Who wants it, and whose words were read before: what a yes depends on. */
function Who({ approval: { asked_by: asker, because, tool_name } }: { approval: Approval }) {
  const { i18n } = useLingui();
  const who = asker ? known(i18n, asker) : i18n._("The assistant");
  return (
    <div className="grid gap-1 text-small text-quiet">
      <p className="flex items-center gap-2">
        <ShieldQuestion className="size-5 shrink-0 text-accent" aria-hidden="true" />
        <span>
          {i18n._("{who} wants to run {tool}", { who: capital(visible(who)), tool: visible(tool_name) })}
        </span>
      </p>
      {because && (
        <p className="flex items-center gap-2 text-warn">
          <TriangleAlert className="size-5 shrink-0" aria-hidden="true" />
          <span>{i18n._("It has read {source} before, and may do what is written there.", { source: known(i18n, visible(because)) })}</span>
        </p>
      )}
    </div>
  );
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
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
        <dl>
          {rows.map(({ name, text }) => (
            <div key={name} className="not-first:mt-1.5">
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
