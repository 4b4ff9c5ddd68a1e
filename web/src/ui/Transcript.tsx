/** What was said, on both sides, as it is said. It follows its end unless somebody scrolled up. */

import { memo, type ReactNode, useEffect, useLayoutEffect, useRef } from "react";
import { type Line, SENDING } from "@vivavoce/client";
import { IntentCard } from "./IntentCard";

const NEAR_END_PX = 80;
const SPEAKERS: Record<Line["kind"], string> = {
  user: "You",
  assistant: "Assistant",
  tool: "Tool",
  intent: "Understood",
  due: "Due",
};

interface Props {
  lines: readonly Line[];
  /** What is said where there is nothing yet. */
  empty?: ReactNode;
  /** Above the first line: a way to older ones. */
  top?: ReactNode;
  /** A line to be looked at. */
  target?: string | null;
  /** Nobody speaks: then what comes is read out. */
  written?: boolean;
  /** Calls that wait for a yes: nothing of them runs. */
  asking?: readonly (string | null | undefined)[];
}

export function Transcript(props: Props) {
  const { lines, empty, top, target = null, written = false, asking = [] } = props;
  const list = useRef<HTMLDivElement>(null);
  const following = useRef(true);
  const before = useRef({ first: "", height: 0 });
  useLayoutEffect(() => {
    const element = list.current;
    if (!element) return;
    const { first, height } = before.current;
    const now = lines[0]?.id ?? "";
    if (lines.some(({ id }) => id === SENDING)) following.current = true; // who writes looks there
    if (following.current) element.scrollTop = element.scrollHeight;
    // Older ones came in above: what is being read stays where it is.
    else if (now !== first) element.scrollTop += element.scrollHeight - height;
    before.current = { first: now, height: element.scrollHeight };
    tabStop(element);
  }, [lines]);
  const there = target !== null && lines.some(({ id }) => id === target);
  useEffect(() => {
    if (!there) return;
    const found = [...(list.current?.children ?? [])].find(
      (child) => child instanceof HTMLElement && child.dataset["id"] === target,
    );
    found?.scrollIntoView({ block: "center" });
  }, [there, target]);
  useEffect(() => {
    const element = list.current;
    if (!element) return undefined;
    const watcher = new ResizeObserver(() => tabStop(element));
    watcher.observe(element);
    return () => watcher.disconnect();
  }, []);
  const scrolled = () => {
    const element = list.current;
    if (!element) return;
    const left = element.scrollHeight - element.scrollTop - element.clientHeight;
    following.current = left < NEAR_END_PX;
  };
  return (
    // In a call not read out by itself: the assistant speaks already, and two voices are none.
    <div
      ref={list}
      className="transcript"
      data-testid="transcript"
      role="log"
      aria-label="Transcript"
      aria-live={written ? "polite" : "off"}
      onScroll={scrolled}
    >
      {top}
      {lines.length === 0 && (empty ?? <Empty />)}
      {lines.map((line) => (
        <Entry
          key={line.id}
          line={line}
          found={line.id === target}
          asks={asking.includes(line.id)}
        />
      ))}
    </div>
  );
}

/** Only what can be scrolled is worth a stop of the Tab key. Past React, since what is said
 * comes in bursts, and another round of drawing for each piece would be too many. */
function tabStop(element: HTMLElement): void {
  if (element.scrollHeight > element.clientHeight) element.tabIndex = 0;
  else element.removeAttribute("tabindex");
}

function Empty() {
  return (
    <div className="empty">
      <p>What you say and hear appears here.</p>
      <p>Try: “What can you do?”, “What is six times seven?”, “Tell me a story.”</p>
    </div>
  );
}

/** How far it is, in the tool's own words; then how it ended. */
function ToolState({ line }: { line: Line }) {
  if (line.done) {
    const ending = line.failed ? " · failed" : " · done";
    return (
      <span className="outcome">
        {ending}
        {line.note && `: ${line.note}`}
      </span>
    );
  }
  return (
    <>
      <span className="outcome" role="status" aria-live="polite">
        {line.note && ` · ${line.note}`}
      </span>
      {line.percentage !== null && (
        <progress max={100} value={line.percentage} aria-label={`${line.text}, progress`} />
      )}
    </>
  );
}

/** It came by voice. */
function Spoken() {
  return (
    <svg className="spoken" viewBox="0 0 24 24" role="img" aria-label="by voice">
      <rect x="9" y="3" width="6" height="11" rx="3" fill="currentColor" />
      <path d="M5.5 11.5a6.5 6.5 0 0 0 13 0M12 18v3" fill="none" stroke="currentColor" strokeWidth="2" />
    </svg>
  );
}

interface EntryProps {
  line: Line;
  found: boolean;
  asks: boolean;
}

const Entry = memo(function Entry({ line, found, asks }: EntryProps) {
  const shown = line.text || line.unheard;
  const look = found ? `line ${line.kind} found` : `line ${line.kind}`;
  const marks = { "data-id": line.id, "data-role": line.kind, "data-done": line.done };
  if (line.intent) {
    return (
      <div className={look} {...marks}>
        <IntentCard intent={line.intent} />
      </div>
    );
  }
  return (
    <div className={look} {...marks}>
      <span className="who">
        {SPEAKERS[line.kind]}
        {line.spoken && line.kind === "user" && <Spoken />}
      </span>
      <p>
        {asks ? "Waiting for your yes" : line.text}
        {!shown && !line.cut && <span className="pending">…</span>}
        {line.kind === "tool" && <ToolState line={line} />}
        {line.unheard && <del>{line.unheard}</del>}
        {line.cut && <span className="cut">{shown && " · "}interrupted</span>}
      </p>
    </div>
  );
});
