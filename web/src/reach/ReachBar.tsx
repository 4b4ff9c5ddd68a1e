/** What the page says of being reached while it is closed, and of what a notice opened. */

import { useSyncExternalStore } from "react";
import type { Notices, NoticesStatus } from "@vivavoce/client";
import type { Reach } from "./reach";

export function ReachBar({ reach }: { reach: Reach }) {
  const { preloaded, installable } = useSyncExternalStore(reach.store.subscribe, reach.store.getState);
  return (
    <aside className="reach" aria-label="Notices">
      {preloaded && (
        <div className="preloaded" data-testid="preloaded" role="status">
          <strong>{preloaded.title || "What was due"}</strong>
          <button type="button" className="small" data-testid="talk-about" onClick={() => reach.talk()}>
            Talk about it
          </button>
          <button type="button" className="small" onClick={() => reach.leave()}>
            Not now
          </button>
        </div>
      )}
      <NoticesSwitch notices={reach.notices} />
      {installable && (
        <button type="button" className="small" data-testid="install" onClick={() => void reach.install()}>
          Install
        </button>
      )}
    </aside>
  );
}

/** Nothing where the server sends none; a sentence where the browser cannot. */
export function NoticesSwitch({ notices }: { notices: Notices }) {
  const { status, problem } = useSyncExternalStore(notices.store.subscribe, notices.store.getState);
  if (status === "unknown" || status === "unavailable") return null;
  const words = status === "blocked" ? BLOCKED : problem;
  return (
    <div className="notices" data-testid="notices" data-status={status}>
      {SWITCHES.includes(status) && (
        <button
          type="button"
          className="small"
          data-testid="notices-switch"
          aria-pressed={status === "on"}
          disabled={status === "asking"}
          onClick={() => void (status === "on" ? notices.turnOff() : notices.turnOn())}
        >
          {status === "on" ? "Notices are on" : "Notify me while this page is closed"}
        </button>
      )}
      {words && <small>{words}</small>}
    </div>
  );
}

const SWITCHES: readonly NoticesStatus[] = ["off", "asking", "on"];
const BLOCKED = "This browser blocks notices from this page. Allow them in its settings for this page.";
