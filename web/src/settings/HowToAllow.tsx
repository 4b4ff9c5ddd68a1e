/** Below "this page may not hear you": what to do about it in this browser, step by step. */

import { useLingui } from "@lingui/react";
import { explain } from "@vivavoce/client";
import { browserOf, stepsFor } from "./allow";

/** Is it a question of being allowed? */
export function isForbidden(problem: string): boolean {
  return problem === explain(new DOMException("", "NotAllowedError"));
}

/** Nothing where it is not a question of being allowed. */
export function HowToAllow({ problem }: { problem: string }) {
  const { i18n } = useLingui();
  if (!isForbidden(problem)) return null;
  const { userAgent = "", maxTouchPoints = 0 } = globalThis.navigator ?? {};
  return (
    <ol data-testid="how-to-allow" className="grid list-decimal gap-1 pl-5 text-small text-ink">
      {stepsFor(i18n, browserOf(userAgent, maxTouchPoints)).map((step) => (
        <li key={step}>{step}</li>
      ))}
    </ol>
  );
}
