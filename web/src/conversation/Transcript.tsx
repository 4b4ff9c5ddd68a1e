/** What was said, one entry after the other; what comes new stays in sight unless somebody reads
 * further up. */

import { useLingui } from "@lingui/react";
import { type Line, SENDING } from "@vivavoce/client";
import { type ReactNode, useEffect, useLayoutEffect, useRef } from "react";
import { Entry } from "./Entry";

const NEAR_END_PX = 80;

interface Props {
  readonly lines: readonly Line[];
  /** What is said where there is nothing yet. */
  readonly empty?: ReactNode;
  /** Above the first line: a way to older ones. */
  readonly top?: ReactNode;
  /** A line to be looked at. */
  readonly target?: string | null;
  /** Nobody speaks: then what comes is read out. */
  readonly written?: boolean;
  /** Calls that wait for a yes: nothing of them runs. */
  readonly asking?: readonly (string | null | undefined)[];
}

export function Transcript(props: Props) {
  const { lines, empty, top, target = null, written = false, asking = [] } = props;
  const { i18n } = useLingui();
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
    const all = list.current?.querySelectorAll<HTMLElement>("[data-id]") ?? [];
    [...all].find(({ dataset }) => dataset["id"] === target)?.scrollIntoView({ block: "center" });
  }, [there, target]);
  useEffect(() => {
    const element = list.current;
    if (!element) return undefined;
    const watcher = new ResizeObserver(() => {
      if (following.current) element.scrollTop = element.scrollHeight;
      tabStop(element);
    });
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
      data-testid="transcript"
      role="log"
      aria-label={i18n._("Transcript")}
      aria-live={written ? "polite" : "off"}
      onScroll={scrolled}
      className="min-h-0 flex-1 overflow-y-auto overscroll-contain [overflow-anchor:none]"
    >
      <div className="mx-auto flex min-h-full w-full max-w-3xl flex-col gap-4 px-5 py-4">
        {top}
        {lines.length === 0 && empty}
        {lines.map((line) => (
          <Entry
            key={line.id}
            line={line}
            found={line.id === target}
            asks={asking.includes(line.id)}
          />
        ))}
      </div>
    </div>
  );
}

/** Only what can be scrolled is worth a stop of the Tab key. Past React, since what is said
 * comes in bursts, and another round of drawing for each piece would be too many. */
function tabStop(element: HTMLElement): void {
  if (element.scrollHeight > element.clientHeight) element.tabIndex = 0;
  else element.removeAttribute("tabindex");
}
