/** What a notice was about that opened the page, where one press is needed before a talk about it. */

import { useLingui } from "@lingui/react";
import { BellRing } from "lucide-react";
import { Button } from "../parts/button";
import { type Reach, useNow, useReach } from "./context";

export function Preloaded() {
  const reach = useReach();
  return reach && <About reach={reach} />;
}

function About({ reach }: { reach: Reach }) {
  const { i18n } = useLingui();
  const { preloaded } = useNow(reach.store);
  if (!preloaded) return null;
  return (
    <div className="mx-auto w-full max-w-3xl px-5">
      <div
        role="status"
        data-testid="preloaded"
        className="flex animate-rise flex-wrap items-center gap-3 rounded-card bg-tint px-4 py-2.5 text-small [&>svg]:size-5 [&>svg]:shrink-0"
      >
        <BellRing aria-hidden="true" />
        <p className="min-w-0 flex-1 basis-56 wrap-anywhere">{preloaded.title || i18n._("Something on your list is due")}</p>
        <Button data-testid="talk-about" onClick={() => reach.talk()}>
          {i18n._("Talk about it")}
        </Button>
        <Button tone="quiet" onClick={() => reach.leave()}>
          {i18n._("Not now")}
        </Button>
      </div>
    </div>
  );
}
