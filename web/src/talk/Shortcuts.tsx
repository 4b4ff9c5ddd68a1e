/** The keys of a talk, to be read. */

import { useLingui } from "@lingui/react";
import { KEYS } from "./keys";

export function Shortcuts() {
  const { i18n } = useLingui();
  const rows: readonly (readonly [keys: string, what: string])[] = [
    [KEYS.talk, i18n._("Begin to talk, or hang up")],
    [KEYS.mute, i18n._("Mute, or let it hear you")],
    [i18n._("Hold Space"), i18n._("Speak while you are muted")],
    [i18n._("Esc"), i18n._("Stop the answer")],
    [KEYS.view, i18n._("Large view, or back")],
    ["Enter", i18n._("Send what you wrote")],
    [i18n._("Shift+Enter"), i18n._("A new line")],
  ];
  return (
    <dl className="grid gap-2.5 pt-1">
      {rows.map(([keys, what]) => (
        <div key={keys} className="flex items-baseline justify-between gap-6">
          <dt className="order-last">
            <kbd className="rounded-small border border-line bg-card px-2 py-1 font-mono text-small whitespace-nowrap">
              {keys}
            </kbd>
          </dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  );
}
