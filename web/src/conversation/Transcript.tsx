/** What was said, one entry after the other; what comes new stays in sight unless somebody reads
 * further up. A long one is drawn only where it is looked at. */

import { useLingui } from "@lingui/react";
import { type Line, SENDING } from "@vivavoce/client";
import { lazy, type ReactNode, type RefObject, Suspense, useEffect, useLayoutEffect, useRef } from "react";
import { cx } from "../parts/cx";
import { COLUMN } from "./column";
import { Entry } from "./Entry";

const LongList = lazy(() => import("./LongList")); // most talks are short

const NEAR_END_PX = 80;
const LONG = 150; // entries that are all drawn

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
  /** There is little room: the last words are what matters. */
  readonly caption?: boolean;
}

export function Transcript(props: Props) {
  const { lines, empty, top, target = null, written = false, asking = [], caption = false } = props;
  const { i18n } = useLingui();
  const list = useRef<HTMLDivElement>(null);
  const draw = (line: Line) => (
    <Entry key={line.id} line={line} found={line.id === target} asks={asking.includes(line.id)} />
  );
  const long = lines.length > LONG;
  return (
    // In a call not read out by itself: the assistant speaks already, and two voices are none.
    <div
      ref={list}
      data-testid="transcript"
      role="log"
      aria-label={i18n._("Transcript")}
      aria-live={written ? "polite" : "off"}
      className={cx(
        "min-h-0 flex-1 overflow-y-auto overscroll-contain [overflow-anchor:none]",
        caption && "fading",
      )}
    >
      {long ? (
        <Suspense fallback={<p className="py-6 text-center text-quiet">{i18n._("One moment…")}</p>}>
          <LongList lines={lines} list={list} top={top} target={target} draw={draw} />
        </Suspense>
      ) : (
        <ShortList lines={lines} list={list} target={target}>
          {top}
          {lines.length === 0 && empty}
          {lines.map(draw)}
        </ShortList>
      )}
    </div>
  );
}

interface ShortProps {
  readonly lines: readonly Line[];
  readonly list: RefObject<HTMLDivElement | null>;
  readonly target: string | null;
  readonly children: ReactNode;
}

function ShortList({ lines, list, target, children }: ShortProps) {
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
  }, [lines, list]);
  const there = target !== null && lines.some(({ id }) => id === target);
  useEffect(() => {
    if (!there) return;
    const all = list.current?.querySelectorAll<HTMLElement>("[data-id]") ?? [];
    [...all].find(({ dataset }) => dataset["id"] === target)?.scrollIntoView({ block: "center" });
  }, [there, target, list]);
  useEffect(() => {
    const element = list.current;
    const inside = element?.firstElementChild;
    if (!element || !inside) return undefined;
    const watcher = new ResizeObserver(() => {
      if (following.current) element.scrollTop = element.scrollHeight;
      tabStop(element);
    });
    watcher.observe(element);
    watcher.observe(inside); // a card was opened, or colours came
    const scrolled = () => {
      const left = element.scrollHeight - element.scrollTop - element.clientHeight;
      following.current = left < NEAR_END_PX;
    };
    element.addEventListener("scroll", scrolled, { passive: true });
    return () => {
      watcher.disconnect();
      element.removeEventListener("scroll", scrolled);
    };
  }, [list]);
  return <div className={cx(COLUMN, "flex min-h-full flex-col gap-4 py-4")}>{children}</div>;
}

/** Only what can be scrolled is worth a stop of the Tab key. Past React, since what is said
 * comes in bursts, and another round of drawing for each piece would be too many. */
function tabStop(element: HTMLElement): void {
  if (element.scrollHeight > element.clientHeight) element.tabIndex = 0;
  else element.removeAttribute("tabindex");
}
