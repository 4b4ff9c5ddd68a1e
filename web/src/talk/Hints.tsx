/** When nothing was said yet: what one could say. */

import { useLingui } from "@lingui/react";

export function Hints() {
  const { i18n } = useLingui();
  const hints = [
    i18n._("What can you do?"),
    i18n._("What is six times seven?"),
    i18n._("Tell me a story."),
  ];
  return (
    <div className="m-auto grid gap-4 px-4 text-center text-balance">
      <p className="font-voice text-display">{i18n._("Say what is on your mind.")}</p>
      <ul className="grid gap-1.5 text-body text-quiet">
        {hints.map((hint) => (
          <li key={hint}>
            <q>{hint}</q>
          </li>
        ))}
      </ul>
    </div>
  );
}
