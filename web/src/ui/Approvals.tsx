/** What may only happen with a yes. One card at a time, the oldest first.
 *
 * Nothing is agreed to by accident: the card takes the focus itself and gives it to no button,
 * "No" comes before "Yes", a button counts only once it has been there for a moment, and a key
 * that is held down does not count at all. */

import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import {
  type Approval,
  argumentRows,
  countdown,
  lengthWords,
  type Reach,
  secondsLeft,
  visible,
  type Work,
} from "@vivavoce/client";

export const ARMED_AFTER_MS = 700; // a click that was meant for what stood here before

type Decide = (id: string, granted: boolean, reach?: Reach) => void;

export function Approvals({ work, decide }: { work: Work; decide: Decide }) {
  const approval = work.approvals[0];
  return (
    <>
      {/* Always there, since a reader only hears what changes in a place that it knows. */}
      <p className="unseen" role="alert" aria-live="assertive">
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
      className="approval"
      data-testid="approval"
      role="alertdialog"
      aria-labelledby={`${id}-question`}
      aria-describedby={`${id}-what`}
      tabIndex={-1}
    >
      <p className="question" id={`${id}-question`}>
        {visible(approval.question)}
      </p>
      <Arguments approval={approval} id={`${id}-what`} />
      <p className="remark" role="timer" aria-live="off">
        {left > 0
          ? `Without an answer it is a no, in ${countdown(left)}.`
          : "Time is up: taken as a no."}
        {more > 0 && ` ${more} more after this.`}
      </p>
      {fault && (
        <p className="problem" role="alert">
          {fault}
        </p>
      )}
      <div className="choice">
        <Decision name="no" words="No" off={off} press={() => press(false)} />
        <Decision name="yes" words="Yes" off={off} press={() => press(true)} />
      </div>
      <div className="choice further" role="group" aria-label="A yes that goes further">
        {lasts && (
          <Decision
            name="session"
            words="Yes, for this session"
            off={off}
            press={() => press(true, "session")}
          />
        )}
        <Decision name="always" words="Yes, always" off={off} press={() => press(true, "always")} />
      </div>
    </div>
  );
}

function Arguments({ approval, id }: { approval: Approval; id: string }) {
  const rows = argumentRows(approval.arguments);
  const length = lengthWords(rows);
  return (
    <>
      <div className="arguments" id={id} role="group" aria-label="What would run" tabIndex={0}>
        <p className="tool">{visible(approval.tool_name)}</p>
        <dl>
          {rows.map(({ name, text }) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <pre>{text}</pre>
              </dd>
            </div>
          ))}
        </dl>
      </div>
      {length && <p className="remark">{length}</p>}
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
  return (
    // Not `disabled`: that would throw away the focus of whoever waits for it.
    <button
      type="button"
      className={name}
      data-testid={`approval-${name}`}
      aria-disabled={off}
      onKeyDown={held}
      onClick={press}
    >
      {words}
    </button>
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
