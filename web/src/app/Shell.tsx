/** Where everything is. Wide: history, talk and work side by side, settings in a dialog. Narrow: one
 * of them at a time, with tabs at the bottom; the talk goes on behind the others. */

import { useLingui } from "@lingui/react";
import { situation, type State } from "@vivavoce/client";
import { useVivavoceState } from "@vivavoce/react";
import { History, ListTodo, type LucideIcon, Mic, Settings } from "lucide-react";
import { lazy, type ReactNode, Suspense, useEffect } from "react";
import { Approvals } from "../approvals/Approvals";
import { Badge } from "../parts/badge";
import { Button } from "../parts/button";
import { cx } from "../parts/cx";
import { Dialog } from "../parts/dialog";
import { Nothing } from "../parts/pane";
import { Tooltip } from "../parts/tooltip";
import { Talk } from "../talk/Talk";
import { useVoiceView } from "../talk/view";
import { waiting } from "../words/work";
import { Brand } from "./Brand";
import { useWide } from "./media";
import { go, type Place, usePlace } from "./place";

// Not needed to talk: they come when they are looked at.
const HistoryPane = lazy(() => import("../history/HistoryPane"));
const WorkPane = lazy(() => import("../work/WorkPane"));
const SettingsPane = lazy(() => import("../settings/SettingsPane"));

const approving = (state: State) => state.work.approvals.length > 0;
const waits = (state: State) => waiting(state.work);

export function Shell() {
  const wide = useWide();
  useBody();
  return (
    <>
      <header className="sr-only">
        <h1>Vivavoce</h1>
      </header>
      {wide ? <Wide /> : <Narrow />}
    </>
  );
}

function Wide() {
  const { i18n } = useLingui();
  const place = usePlace();
  const locked = useVivavoceState(isLocked);
  const view = useVoiceView();
  const alone = view || locked; // empty columns tell nothing
  const columns = alone ? "grid-cols-1" : "grid-cols-[clamp(14rem,23vw,19rem)_minmax(0,1fr)_clamp(15rem,24vw,22rem)]";
  return (
    <div className={cx("grid h-dvh", columns)}>
      <aside
        className={cx("flex min-h-0 flex-col border-r border-line", alone && "hidden")}
        aria-label={i18n._("History")}
      >
        <header className="flex items-center justify-between px-5 pt-4">
          <Brand />
          {!locked && <ToSettings />}
        </header>
        <div className="min-h-0 flex-1">
          <Later>{!locked && <HistoryPane />}</Later>
        </div>
      </aside>
      <main className="relative min-h-0 min-w-0">
        <Talk approvals={<Approvals />} header={locked && <Brand />} />
        {locked && (
          <div className="absolute top-4 right-5">
            <ToSettings />
          </div>
        )}
      </main>
      <aside className={cx("min-h-0 border-l border-line", alone && "hidden")} aria-label={i18n._("Work")}>
        <Later>{!locked && <WorkPane />}</Later>
      </aside>
      <Dialog open={place === "settings"} close={() => go("talk")} title={i18n._("Settings")}>
        <Later>
          <SettingsPane />
        </Later>
      </Dialog>
    </div>
  );
}

function ToSettings() {
  const { i18n } = useLingui();
  return (
    <Tooltip words={i18n._("Settings")}>
      <Button
        tone="quiet"
        size="small icon"
        data-testid="open-settings"
        aria-label={i18n._("Settings")}
        onClick={() => go("settings")}
      >
        <Settings aria-hidden="true" />
      </Button>
    </Tooltip>
  );
}

function Narrow() {
  const { i18n } = useLingui();
  const wanted = usePlace();
  const locked = useVivavoceState(isLocked);
  const place = locked && wanted !== "settings" ? "talk" : wanted;
  const alone = useVoiceView() && place === "talk";
  return (
    <div className="flex h-dvh flex-col">
      {/* Always there: what is written in it, and how far it was read, stays. */}
      <main hidden={place !== "talk"} className="min-h-0 flex-1">
        <Talk approvals={place === "talk" && <Approvals />} header={<Brand />} />
      </main>
      {place !== "talk" && (
        <main className="min-h-0 flex-1 pt-2">
          <Later>
            {place === "history" && <HistoryPane />}
            {place === "work" && <WorkPane />}
            {place === "settings" && (
              <section aria-label={i18n._("Settings")} className="h-full overflow-y-auto px-5 pb-6">
                <h2 className="py-4 text-lead font-semibold">{i18n._("Settings")}</h2>
                <SettingsPane />
              </section>
            )}
          </Later>
        </main>
      )}
      {place !== "talk" && (
        <div className="px-3">
          <Approvals />
        </div>
      )}
      {!alone && <Tabs place={place} />}
    </div>
  );
}

function Tabs({ place }: { place: Place }) {
  const { i18n } = useLingui();
  const count = useVivavoceState(waits);
  const locked = useVivavoceState(isLocked);
  return (
    <nav
      aria-label={i18n._("Main")}
      className="grid grid-cols-4 border-t border-line bg-card pb-[env(safe-area-inset-bottom)]"
    >
      <Tab to="talk" place={place} icon={Mic} words={i18n._("Talk")} />
      <Tab to="history" place={place} icon={History} words={i18n._("History")} off={locked} />
      <Tab to="work" place={place} icon={ListTodo} words={i18n._("Work")} count={count} off={locked} />
      <Tab to="settings" place={place} icon={Settings} words={i18n._("Settings")} />
    </nav>
  );
}

interface TabProps {
  readonly to: Place;
  readonly place: Place;
  readonly icon: LucideIcon;
  readonly words: string;
  readonly count?: number;
  readonly off?: boolean;
}

function Tab({ to, place, icon: Icon, words, count = 0, off = false }: TabProps) {
  const here = place === to;
  return (
    <button
      type="button"
      data-testid={`open-${to}`}
      aria-current={here ? "page" : undefined}
      disabled={off}
      onClick={() => go(to)}
      className={cx(
        "relative flex min-h-14 flex-col items-center justify-center gap-0.5 text-tiny font-medium text-quiet -outline-offset-2 disabled:opacity-50",
        here && "text-accent",
      )}
    >
      <span className={cx("rounded-full px-4 py-0.5", here && "bg-tint")}>
        <Icon className="size-5" aria-hidden="true" />
      </span>
      {words}
      {count > 0 && (
        <Badge tone="count" className="absolute top-1 left-1/2 ml-2">
          {count}
        </Badge>
      )}
    </button>
  );
}

function Later({ children }: { children: ReactNode }) {
  const { i18n } = useLingui();
  return <Suspense fallback={<Nothing>{i18n._("One moment…")}</Nothing>}>{children}</Suspense>;
}

function isLocked(state: State): boolean {
  return situation(state) === "locked";
}

const transportOf = (state: State) => state.transport;

/** What style sheets, tests and the title of the tab tell of the talk. */
function useBody(): void {
  const { i18n } = useLingui();
  const now = useVivavoceState(situation);
  const transport = useVivavoceState(transportOf);
  const asked = useVivavoceState(approving);
  useEffect(() => {
    document.body.dataset["state"] = now;
    if (transport) document.body.dataset["transport"] = transport;
    else delete document.body.dataset["transport"];
  }, [now, transport]);
  useEffect(() => {
    document.title = asked ? `${i18n._("Yes or no?")} · Vivavoce` : "Vivavoce";
  }, [asked, i18n, i18n.locale]);
}
