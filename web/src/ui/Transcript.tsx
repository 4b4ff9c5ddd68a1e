/** What was said, on both sides, as it is said. It follows its end unless somebody scrolled up. */

import { memo, useEffect, useRef } from "react";
import type { Line } from "../session/state";

const NEAR_END_PX = 80;
const SPEAKERS: Record<Line["kind"], string> = {
  user: "You",
  assistant: "Assistant",
  tool: "Tool",
};

export function Transcript({ lines }: { lines: readonly Line[] }) {
  const list = useRef<HTMLDivElement>(null);
  const following = useRef(true);
  useEffect(() => {
    const element = list.current;
    if (!element) return;
    if (following.current) element.scrollTop = element.scrollHeight;
    tabStop(element);
  }, [lines]);
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
    // Not read out by itself: the assistant speaks already, and two voices are none.
    <div
      ref={list}
      className="transcript"
      data-testid="transcript"
      role="log"
      aria-label="Transcript"
      aria-live="off"
      onScroll={scrolled}
    >
      {lines.length === 0 && <Empty />}
      {lines.map((line) => (
        <Entry key={line.id} line={line} />
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

const Entry = memo(function Entry({ line }: { line: Line }) {
  const shown = line.text || line.unheard;
  return (
    <div className={`line ${line.kind}`} data-role={line.kind} data-done={line.done}>
      <span className="who">{SPEAKERS[line.kind]}</span>
      <p>
        {line.text}
        {!shown && !line.cut && <span className="pending">…</span>}
        {line.kind === "tool" && <ToolState line={line} />}
        {line.unheard && <del>{line.unheard}</del>}
        {line.cut && <span className="cut">{shown && " · "}interrupted</span>}
      </p>
    </div>
  );
});
