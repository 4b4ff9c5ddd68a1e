/** Settings: notices while the page is closed, and the page as an app. */

import { useLingui } from "@lingui/react";
import type { NoticesStatus } from "@vivavoce/client";
import { Download } from "lucide-react";
import { useId } from "react";
import { Button } from "../parts/button";
import { Switch } from "../parts/switch";
import { Section } from "../settings/Section";
import { known } from "../words/known";
import { type Reach, useNow, useReach } from "./context";

const SWITCHED: readonly NoticesStatus[] = ["off", "asking", "on"];

export function ReachSettings() {
  const reach = useReach();
  return reach && <Reached reach={reach} />;
}

function Reached({ reach }: { reach: Reach }) {
  const { i18n } = useLingui();
  const { installable } = useNow(reach.store);
  const { status } = useNow(reach.notices.store);
  const told = status !== "unknown" && status !== "unavailable";
  if (!told && !installable) return null;
  return (
    <Section title={i18n._("When this page is closed")}>
      {told && <NoticesSwitch reach={reach} />}
      {installable && (
        <Button data-testid="install" className="justify-self-start" onClick={() => void reach.install()}>
          <Download aria-hidden="true" />
          {i18n._("Install as an app")}
        </Button>
      )}
    </Section>
  );
}

/** A sentence where the browser cannot. Where the server sends none there is none. */
function NoticesSwitch({ reach: { notices } }: { reach: Reach }) {
  const { i18n } = useLingui();
  const { status, problem } = useNow(notices.store);
  const label = useId();
  const blocked = i18n._("This browser blocks notices from this page. Its settings for the page undo that.");
  const words = status === "blocked" ? blocked : problem && known(i18n, problem);
  return (
    <div className="grid gap-1.5" data-testid="notices" data-status={status}>
      <div className="flex items-center justify-between gap-4">
        <span className="grid gap-0.5">
          <span id={label} className="text-small font-medium">
            {i18n._("Notices while this page is closed")}
          </span>
          <span className="text-tiny text-quiet">{i18n._("What is due, what needs an answer, what is done")}</span>
        </span>
        {SWITCHED.includes(status) && (
          <Switch
            data-testid="notices-switch"
            aria-labelledby={label}
            checked={status === "on"}
            disabled={status === "asking"}
            onCheckedChange={(on) => void (on ? notices.turnOn() : notices.turnOff())}
          />
        )}
      </div>
      {words && (
        <p className="text-small text-quiet" role="status">
          {words}
        </p>
      )}
    </div>
  );
}
