/** What was said, on both sides, as it is said. It follows its end unless somebody scrolled up. */

import { memo, type RefObject, useEffect, useRef, useState } from "react";
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
  const scrolls = useScrolls(list, lines);
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
      tabIndex={scrolls ? 0 : undefined}
      onScroll={scrolled}
    >
      {lines.length === 0 && <Empty />}
      {lines.map((line) => (
        <Entry key={line.id} line={line} />
      ))}
    </div>
  );
}

/** Only what can be scrolled is worth a stop of the Tab key. */
function useScrolls(list: RefObject<HTMLDivElement | null>, lines: readonly Line[]): boolean {
  const [scrolls, setScrolls] = useState(false);
  useEffect(() => {
    const element = list.current;
    if (!element) return undefined;
    const look = () =>
      setScrolls(lines.length > 0 && element.scrollHeight > element.clientHeight);
    const watcher = new ResizeObserver(look);
    watcher.observe(element);
    look();
    return () => watcher.disconnect();
  }, [list, lines]);
  return scrolls;
}

function Empty() {
  return (
    <div className="empty">
      <p>What you say and hear appears here.</p>
      <p>Try: “What can you do?”, “What is six times seven?”, “Tell me a story.”</p>
    </div>
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
        {line.kind === "tool" && line.done && (
          <span className="outcome">{line.failed ? " · failed" : " · done"}</span>
        )}
        {line.unheard && <del>{line.unheard}</del>}
        {line.cut && <span className="cut">{shown && " · "}interrupted</span>}
      </p>
    </div>
  );
});
