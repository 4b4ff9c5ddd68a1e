/** What stands where a past conversation has nothing, or more than is shown. */

import { useLingui } from "@lingui/react";
import type { Past } from "@vivavoce/client";
import { Button } from "../parts/button";

export function Nothing({ past }: { past: Past }) {
  const { i18n } = useLingui();
  if (past.problem) return null;
  const words = past.reading ? i18n._("One moment…") : i18n._("Nothing was said here yet.");
  return <p className="m-auto text-quiet">{words}</p>;
}

export function Older({ past, older }: { past: Past; older: () => void }) {
  const { i18n } = useLingui();
  if (!past.more) return null;
  return (
    <Button className="mx-auto mb-4 flex" aria-disabled={past.reading} onClick={older}>
      {past.reading ? i18n._("One moment…") : i18n._("Older messages")}
    </Button>
  );
}
