/** When nothing was said yet: what one could say to this agent, or write with one press. */

import { useLingui } from "@lingui/react";
import { useVivavoce } from "@vivavoce/react";
import { Button } from "../parts/button";
import { cx } from "../parts/cx";
import { useHints } from "../work/hints";

export function Hints() {
  const { i18n } = useLingui();
  const client = useVivavoce();
  const own = useHints();
  const hints = own?.length === 0 ? [i18n._("What can you do?")] : own;
  return (
    <div className="mx-auto mt-auto mb-4 grid justify-items-center gap-4 text-center text-balance wide:mb-6 wide:gap-5">
      <p className="font-voice text-[2.125rem] leading-tight wide:text-display short:text-[1.875rem]">{i18n._("Say what is on your mind.")}</p>
      {/* Its room is there before the agent told what it can do. */}
      <ul className="flex min-h-20 max-w-xl flex-wrap content-start justify-center gap-2" data-testid="hints">
        {hints?.map((hint, at) => (
          // A small screen has no room for all.
          <li key={hint} className={cx("animate-fade", at > 1 && "short:hidden", at > 2 && "max-wide:hidden")}>
            <Button
              tone="plain"
              className="rounded-bubble py-1.5 font-normal whitespace-normal"
              onClick={() => void client.send(hint)}
            >
              {hint}
            </Button>
          </li>
        ))}
      </ul>
    </div>
  );
}
