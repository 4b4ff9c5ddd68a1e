/** The list of conversations. Only the rows that are seen are in the document, and one more: that
 * which has the focus. */

import { useLingui } from "@lingui/react";
import { defaultRangeExtractor, useVirtualizer } from "@tanstack/react-virtual";
import type { History } from "@vivavoce/client";
import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Button } from "../parts/button";
import { Nothing } from "../parts/pane";
import { Row, type RowActions } from "./Row";

const ROW = 84; // pixels, before it is measured
const AROUND = 6; // rows that are drawn beyond the edge
const FIRST = { width: 320, height: 800 }; // before the page knows how large it is

interface Props {
  readonly history: History;
  readonly more: () => void;
  readonly actions: RowActions;
  readonly talking: boolean;
  readonly live: string | null;
  readonly here: string | null;
  readonly scroller: RefObject<HTMLDivElement | null>;
}

export function List({ history, more, actions, talking, live, here, scroller }: Props) {
  const { i18n } = useLingui();
  const { conversations, total, reading, problem } = history;
  const list = useRef<HTMLUListElement>(null);
  const [above, setAbove] = useState(0);
  const [focused, setFocused] = useState<number | null>(null);
  const rows = useVirtualizer({
    count: conversations.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    getItemKey: (at) => conversations[at]?.id ?? at,
    overscan: AROUND,
    scrollMargin: above,
    initialRect: FIRST,
    rangeExtractor: (range) => {
      const seen = defaultRangeExtractor(range);
      if (focused === null || seen.includes(focused) || focused >= range.count) return seen;
      return [...seen, focused].sort((one, other) => one - other);
    },
  });
  useLayoutEffect(() => setAbove(list.current?.offsetTop ?? 0), [problem]);
  const shown = rows.getVirtualItems();
  const last = shown.at(-1)?.index ?? -1;
  const wanted = conversations.length < total && !problem && !reading && last >= conversations.length - AROUND;
  const ask = useRef(more);
  useEffect(() => {
    ask.current = more;
  });
  useEffect(() => {
    if (wanted) ask.current();
  }, [wanted]);

  if (conversations.length === 0) {
    if (problem) return null;
    return (
      <Nothing>
        {reading ? i18n._("One moment…") : i18n._("No conversation yet. What you talk about is kept here.")}
      </Nothing>
    );
  }
  return (
    <>
      <ul
        ref={list}
        aria-label={i18n._("Conversations")}
        className="relative -mx-3"
        style={{ height: rows.getTotalSize() }}
        onBlur={() => setFocused(null)}
      >
        {shown.map(({ index, key, start }) => {
          const one = conversations[index];
          return (
            one && (
              <li
                key={key}
                ref={rows.measureElement}
                data-index={index}
                aria-setsize={total}
                aria-posinset={index + 1}
                className="absolute inset-x-0 top-0"
                style={{ transform: `translateY(${start - above}px)` }}
                onFocus={() => setFocused(index)}
              >
                <Row one={one} history={history} actions={actions} talking={talking} live={one.id === live} here={one.id === here} />
              </li>
            )
          );
        })}
      </ul>
      {problem && conversations.length < total && (
        <Button className="mt-2 w-full" aria-disabled={reading} onClick={more}>
          {i18n._("More")}
        </Button>
      )}
    </>
  );
}
