/** What one could say to the agent, in its own words. */

import { useLingui } from "@lingui/react";
import { cx } from "../parts/cx";
import { useHints } from "./hints";

export function HintList() {
  const { i18n } = useLingui();
  const hints = useHints();
  if (!hints?.length) return null;
  return (
    <div className="grid gap-2 text-center text-small text-quiet">
      <p>{i18n._("You could say:")}</p>
      <ul className="grid gap-1.5" data-testid="hints">
        {hints.map((hint, at) => (
          <li key={hint} className={cx("text-balance text-ink", at > 1 && "short:hidden")}>
            <q>{hint}</q>
          </li>
        ))}
      </ul>
    </div>
  );
}
