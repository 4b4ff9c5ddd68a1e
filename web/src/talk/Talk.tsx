/** The talk: what was said, and below it, in the thumb's reach, one place for voice and writing. It
 * may have the whole window: then it is what was said last, and a large orb (seed 004 §11). */

import { useLingui } from "@lingui/react";
import { busy, pastLines, situation, type State } from "@vivavoce/client";
import { useVivavoce, useVivavoceState } from "@vivavoce/react";
import { ArrowLeft, Ellipsis, Gauge, Keyboard, Maximize2, SquarePen } from "lucide-react";
import { lazy, type ReactNode, Suspense, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useMedia } from "../app/media";
import { Banner } from "../banner/Banner";
import { Nothing, Older } from "../conversation/Edges";
import { Transcript } from "../conversation/Transcript";
import { Login } from "../login/Login";
import { Button } from "../parts/button";
import { cx } from "../parts/cx";
import { Dialog } from "../parts/dialog";
import { Menu, MenuItem } from "../parts/menu";
import { Problem } from "../parts/pane";
import { failed, goesOn } from "../words/talk";
import { HintList } from "../work/HintList";
import { Composer } from "./Composer";
import { Dock } from "./Dock";
import { Hints } from "./Hints";
import { useKeys } from "./keys";
import { Shortcuts } from "./Shortcuts";
import { showVoiceView, useVoiceView } from "./view";

const Figures = lazy(() => import("./Figures"));

const asking = (state: State) => state.work.approvals;
const FADE_MS = 1200; // in which an orb that is over is seen to go

interface Props {
  readonly approvals: ReactNode;
  /** Before what is talked about: the page's name, where nothing else shows it. */
  readonly header?: ReactNode;
}

export function Talk({ approvals, header }: Props) {
  const { i18n } = useLingui();
  const past = useVivavoceState((state) => state.history.past);
  const lines = useVivavoceState((state) => state.lines);
  const talking = useVivavoceState(busy);
  const locked = useVivavoceState((state) => situation(state) === "locked");
  const stuck = useVivavoceState(failed); // the banner says what to do, and has the room
  const asked = useVivavoceState(asking);
  const view = useView();
  const press = usePress();
  useKeys({ talk: press, view: useCallback(() => showVoiceView(!view), [view]) });
  const remembered = useMemo(() => (past && !past.live ? pastLines(past) : null), [past]);
  const shown = remembered ?? lines;
  const client = useVivavoce();
  if (locked) return <Login header={header} />;
  const bare = shown.length === 0 && asked.length === 0;
  const empty = past ? <Nothing past={past} /> : bare && !stuck && (talking ? <Could /> : <Hints />);
  const large = bare || view;
  return (
    <section
      className="flex h-full min-h-0 flex-col overflow-hidden"
      aria-label={i18n._("Talk")}
      data-view={view ? "voice" : undefined}
    >
      <Header view={view}>{past ? <Name id={past.id} name={past.name} /> : header}</Header>
      <Banner />
      <Transcript
        key={past?.id ?? "now"}
        lines={shown}
        asking={asked.map((one) => one.call_id)}
        written={past !== null && !talking}
        target={past?.target ?? null}
        caption={view}
        empty={empty}
        top={past && !past.live && <Older past={past} older={() => void client.archive.older()} />}
      />
      {large && (
        <div className={cx(bare && !view && "wide:flex-[1.5]")}>
          <Dock large view={view} press={press} />
        </div>
      )}
      <div className="mx-auto w-full max-w-3xl px-3 pb-3 wide:px-5 wide:pb-5">
        {approvals}
        <Problem className="px-2 pb-2">{past?.problem}</Problem>
        <div className="rounded-bubble border border-line bg-card shadow-lifted has-[textarea:focus-visible]:border-accent">
          {!large && <Dock large={false} view={false} press={press} />}
          <Composer />
        </div>
      </div>
    </section>
  );
}

/** The microphone is open, and nobody knows what to say. */
function Could() {
  return (
    <div className="mx-auto mt-auto mb-6 max-w-md">
      <HintList />
    </div>
  );
}

/** The button's work: it begins, goes on, or hangs up. */
function usePress(): () => void {
  const client = useVivavoce();
  return useCallback(() => {
    const { state } = client;
    if (busy(state)) void client.stop();
    else if (goesOn(state) && state.ended === null && !state.history.past) client.resume();
    else client.start();
  }, [client]);
}

/** When the talk is over the whole of it is to be seen again, once the orb has gone. */
function useView(): boolean {
  const view = useVoiceView();
  const over = useVivavoceState((state) => ["idle", "ended", "locked"].includes(situation(state)));
  const talked = useRef(false);
  useEffect(() => {
    if (!over) talked.current = true;
    if (!view || !over || !talked.current) return undefined;
    const timer = setTimeout(() => {
      talked.current = false;
      showVoiceView(false);
    }, FADE_MS);
    return () => clearTimeout(timer);
  }, [view, over]);
  return view;
}

function Header({ view, children }: { view: boolean; children: ReactNode }) {
  const { i18n } = useLingui();
  const client = useVivavoce();
  const keeps = useVivavoceState((state) => !busy(state) && goesOn(state));
  const conversation = useVivavoceState((state) => state.history.past?.id ?? state.conversation);
  const keyboard = useMedia("(any-hover: hover)"); // where nothing can hover there are only fingers
  const [opened, setOpened] = useState<"figures" | "keys" | null>(null);
  const anew = () => {
    client.archive.leave();
    client.forget();
  };
  const more = (
    <Button tone="quiet" size="small icon" aria-label={i18n._("More")} data-testid="more">
      <Ellipsis aria-hidden="true" />
    </Button>
  );
  return (
    <header
      className={cx(
        "mx-auto min-h-16 w-full items-center gap-2 px-5",
        view ? "grid grid-cols-[1fr_auto_1fr]" : "flex max-w-3xl justify-between",
      )}
    >
      {view ? (
        <Button tone="quiet" className="-ml-3 justify-self-start" data-testid="back" onClick={() => showVoiceView(false)}>
          <ArrowLeft aria-hidden="true" />
          {i18n._("Back")}
        </Button>
      ) : (
        <div className="min-w-0">{children}</div>
      )}
      {view && <h2 className="font-voice text-title italic">{i18n._("Voice chat")}</h2>}
      <div className="flex shrink-0 items-center justify-end gap-1">
        {keeps && !view && (
          <Button tone="quiet" data-testid="new" onClick={anew}>
            <SquarePen aria-hidden="true" />
            {i18n._("New conversation")}
          </Button>
        )}
        <Menu trigger={more}>
          <MenuItem onSelect={() => showVoiceView(!view)}>
            <Maximize2 aria-hidden="true" />
            {view ? i18n._("Small view") : i18n._("Large view")}
          </MenuItem>
          {conversation && (
            <MenuItem data-testid="open-figures" onSelect={() => setOpened("figures")}>
              <Gauge aria-hidden="true" />
              {i18n._("Cost and speed")}
            </MenuItem>
          )}
          {keyboard && (
            <MenuItem onSelect={() => setOpened("keys")}>
              <Keyboard aria-hidden="true" />
              {i18n._("Keys")}
            </MenuItem>
          )}
        </Menu>
      </div>
      <Dialog open={opened === "figures"} close={() => setOpened(null)} title={i18n._("Cost and speed")}>
        <Suspense fallback={<p className="py-6 text-center text-quiet">{i18n._("One moment…")}</p>}>
          {conversation && <Figures conversation={conversation} />}
        </Suspense>
      </Dialog>
      <Dialog open={opened === "keys"} close={() => setOpened(null)} title={i18n._("Keys")}>
        <Shortcuts />
      </Dialog>
    </header>
  );
}

/** Which one it is; who opened it is led here. */
function Name({ id, name }: { id: string; name: string }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), [id]);
  return (
    <h2 ref={heading} tabIndex={-1} className="truncate text-lead font-semibold">
      {name}
    </h2>
  );
}
