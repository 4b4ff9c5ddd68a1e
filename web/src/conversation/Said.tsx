/** What somebody said or wrote: as far as it was heard, with what was not heard folded away. */

import { useLingui } from "@lingui/react";
import type { Line } from "@vivavoce/client";
import { lazy, type ReactNode, Suspense, useState } from "react";
import { Button } from "../parts/button";

const Marked = lazy(() => import("./Markdown"));
/** Signs of Markdown that are no signs of plain writing. */
const MARKS = /(^|\n)(#{1,4} |[-*+] |\d+[.)] |> |\|)|`|\*\*|__|\]\(/;

/** An answer. While it sounds it is a caption: no word is there before it was said. */
export function Answer({ line }: { line: Line }) {
  const { text, heard, cut, unheard } = line;
  const shown = heard ?? text;
  const plain = <p className="whitespace-pre-wrap">{shown || (!cut && <Coming />)}</p>;
  const marked = heard === undefined && shown !== "" && MARKS.test(shown);
  return (
    <div className="grid gap-1.5 text-lead">
      {(shown || !cut) &&
        (marked ? (
          <Suspense fallback={plain}>
            <Marked text={shown} />
          </Suspense>
        ) : (
          plain
        ))}
      {cut && <Cut unheard={unheard} />}
    </div>
  );
}

function Coming() {
  return (
    <span className="inline-flex gap-1 py-2 align-middle" aria-hidden="true">
      {[0, 1, 2].map((at) => (
        <span key={at} className="dot size-1.5 rounded-full bg-quiet" />
      ))}
    </span>
  );
}

/** It was broken off: what would have come can be read, and is not in the way. */
function Cut({ unheard }: { unheard: string }): ReactNode {
  const { i18n } = useLingui();
  const [open, setOpen] = useState(false);
  const words = unheard.trim().split(/\s+/).filter(Boolean).length;
  return (
    <div className="text-small text-quiet">
      <p className="flex flex-wrap items-center gap-x-2">
        {i18n._("interrupted")}
        {words > 0 && (
          <Button
            tone="quiet"
            className="-my-1 px-2.5 text-small underline decoration-dotted underline-offset-4"
            aria-expanded={open}
            onClick={() => setOpen(!open)}
          >
            {open
              ? i18n._("Hide what was not heard")
              : i18n._("{words, plural, one {# word was not heard} other {# words were not heard}}", { words })}
          </Button>
        )}
      </p>
      {open && <del className="mt-1 block text-body no-underline opacity-90">{unheard.trim()}</del>}
    </div>
  );
}
