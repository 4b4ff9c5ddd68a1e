/** Many entries: only those near to what is looked at are in the page. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { type Line, SENDING } from "@vivavoce/client";
import { type ReactNode, type RefObject, useEffect, useLayoutEffect } from "react";
import { COLUMN } from "./column";

const GAP_PX = 16;
const LINE_PX = 29;
const LINE_CHARACTERS = 68;
const CARD_PX = { user: 20, assistant: 0, tool: 46, intent: 150, due: 34 } as const;

interface Props {
  readonly lines: readonly Line[];
  readonly list: RefObject<HTMLDivElement | null>;
  readonly top: ReactNode;
  readonly target: string | null;
  readonly draw: (line: Line) => ReactNode;
}

export default function LongList({ lines, list, top, target, draw }: Props) {
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => list.current,
    getItemKey: (at) => lines[at]?.id ?? at,
    estimateSize: (at) => guess(lines[at]),
    overscan: 8,
    gap: GAP_PX,
    paddingStart: GAP_PX,
    paddingEnd: GAP_PX,
    // Older ones that come in above push nothing away, and what is new is followed from the end.
    anchorTo: "end",
    followOnAppend: true,
    scrollEndThreshold: 80,
  });
  const sending = lines.at(-1)?.id === SENDING || lines.at(-2)?.id === SENDING;
  useLayoutEffect(() => {
    list.current?.setAttribute("tabindex", "0");
    virtual.scrollToEnd({});
  }, [virtual, list]);
  useEffect(() => {
    if (sending) virtual.scrollToEnd({}); // who writes looks there
  }, [sending, virtual]);
  const place = target === null ? -1 : lines.findIndex(({ id }) => id === target);
  useEffect(() => {
    if (place >= 0) virtual.scrollToIndex(place, { align: "center" });
  }, [place, virtual]);
  return (
    <>
      {top && <div className={COLUMN}>{top}</div>}
      <div className={COLUMN}>
        <div className="relative" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ key, index, start }) => {
            const line = lines[index];
            return (
              line && (
                <div
                  key={key}
                  ref={virtual.measureElement}
                  data-index={index}
                  className="absolute inset-x-0 top-0"
                  style={{ transform: `translateY(${start}px)` }}
                >
                  {draw(line)}
                </div>
              )
            );
          })}
        </div>
      </div>
    </>
  );
}

/** About how high it is, until it was seen. */
function guess(line: Line | undefined): number {
  if (!line) return LINE_PX;
  const rows = line.kind === "tool" || line.kind === "intent" ? 0 : Math.ceil((line.text.length + 1) / LINE_CHARACTERS);
  return CARD_PX[line.kind] + LINE_PX * rows;
}
