/** When nothing was said yet: what one could say, or write with one press. */

import { useLingui } from "@lingui/react";
import { useVivavoce } from "@vivavoce/react";
import { Button } from "../parts/button";

export function Hints() {
  const { i18n } = useLingui();
  const client = useVivavoce();
  const hints = [
    i18n._("What can you do?"),
    i18n._("What is six times seven?"),
    i18n._("Tell me a story."),
  ];
  return (
    <div className="mx-auto mt-auto mb-6 grid justify-items-center gap-5 px-2 text-center text-balance">
      <p className="font-voice text-display">{i18n._("Say what is on your mind.")}</p>
      <ul className="flex flex-wrap justify-center gap-2">
        {hints.map((hint) => (
          <li key={hint}>
            <Button tone="plain" className="font-normal" onClick={() => void client.send(hint)}>
              {hint}
            </Button>
          </li>
        ))}
      </ul>
    </div>
  );
}
