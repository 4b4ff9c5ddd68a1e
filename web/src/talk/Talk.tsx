/** The talk: what was said, and below it, in the thumb's reach, the orb, the button and a place to
 * write. */

import { useLingui } from "@lingui/react";
import { busy, pastLines, situation, type State } from "@vivavoce/client";
import { useVivavoce, useVivavoceState } from "@vivavoce/react";
import { SquarePen } from "lucide-react";
import { type ReactNode, useEffect, useMemo, useRef } from "react";
import { Banner } from "../banner/Banner";
import { Nothing, Older } from "../conversation/Edges";
import { Transcript } from "../conversation/Transcript";
import { Login } from "../login/Login";
import { Button } from "../parts/button";
import { Problem } from "../parts/pane";
import { goesOn } from "../words/talk";
import { Composer } from "./Composer";
import { Dock } from "./Dock";
import { Hints } from "./Hints";

const asking = (state: State) => state.work.approvals;

interface Props {
  readonly approvals: ReactNode;
  /** Before what is talked about: the page's name, where nothing else shows it. */
  readonly header?: ReactNode;
}

export function Talk({ approvals, header }: Props) {
  const { i18n } = useLingui();
  const client = useVivavoce();
  const past = useVivavoceState((state) => state.history.past);
  const lines = useVivavoceState((state) => state.lines);
  const talking = useVivavoceState(busy);
  const locked = useVivavoceState((state) => situation(state) === "locked");
  const keeps = useVivavoceState((state) => !busy(state) && goesOn(state));
  const asked = useVivavoceState(asking);
  const remembered = useMemo(() => (past && !past.live ? pastLines(past) : null), [past]);
  const shown = remembered ?? lines;
  const anew = () => {
    client.archive.leave();
    client.forget();
  };
  if (locked) return <Login header={header} />;
  return (
    <section className="flex h-full min-h-0 flex-col overflow-hidden" aria-label={i18n._("Talk")}>
      <header className="mx-auto flex min-h-16 w-full max-w-3xl items-center justify-between gap-3 px-5">
        <div className="min-w-0">{past ? <Name id={past.id} name={past.name} /> : header}</div>
        {keeps && (
          <Button tone="quiet" data-testid="new" onClick={anew}>
            <SquarePen aria-hidden="true" />
            {i18n._("New conversation")}
          </Button>
        )}
      </header>
      <Banner />
      <Transcript
        key={past?.id ?? "now"}
        lines={shown}
        asking={asked.map((one) => one.call_id)}
        written={past !== null && !talking}
        target={past?.target ?? null}
        empty={past ? <Nothing past={past} /> : asked.length === 0 && <Hints />}
        top={past && !past.live && <Older past={past} older={() => void client.archive.older()} />}
      />
      <div className="mx-auto w-full max-w-3xl px-4 pb-3 wide:px-5 wide:pb-5">
        {approvals}
        <Problem className="px-2 pb-2">{past?.problem}</Problem>
        <Dock large={shown.length === 0 && asked.length === 0} />
        <Composer />
      </div>
    </section>
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
