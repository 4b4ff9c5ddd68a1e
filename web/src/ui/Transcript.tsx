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
    if (element && following.current) element.scrollTop = element.scrollHeight;
  }, [lines]);
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
      tabIndex={0}
      onScroll={scrolled}
    >
      {lines.length === 0 && <p className="empty">What you say and hear appears here.</p>}
      {lines.map((line) => (
        <Entry key={line.id} line={line} />
      ))}
    </div>
  );
}

const Entry = memo(function Entry({ line }: { line: Line }) {
  return (
    <div className={`line ${line.kind}`} data-role={line.kind} data-done={line.done}>
      <span className="who">{SPEAKERS[line.kind]}</span>
      <p>
        {line.text || <span className="pending">…</span>}
        {line.kind === "tool" && line.done && (
          <span className="outcome">{line.failed ? " · failed" : " · done"}</span>
        )}
        {line.unheard && <del>{line.unheard}</del>}
        {line.cut && <span className="cut"> · interrupted</span>}
      </p>
    </div>
  );
});
