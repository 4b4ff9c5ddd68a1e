/** The conversations of before: the newest first, or what a search finds. */

import { useLingui } from "@lingui/react";
import { type Archive, busy, type History, situation, type State } from "@vivavoce/client";
import { useVivavoce, useVivavoceState } from "@vivavoce/react";
import { Search } from "lucide-react";
import { type RefObject, useEffect, useMemo, useRef, useState } from "react";
import { go } from "../app/place";
import { Input } from "../parts/input";
import { Nothing, Pane, Problem } from "../parts/pane";
import { toast } from "../parts/toast";
import { known } from "../words/known";
import { exported, save, share } from "./file";
import { Hits } from "./Hits";
import { List } from "./List";
import { Rename } from "./Rename";
import type { RowActions } from "./Row";

const LONGEST = 200; // what the server takes

export type ArchiveActions = Pick<Archive, "ask" | "more" | "remove" | "search" | "show">;

export default function HistoryPane() {
  const { i18n } = useLingui();
  const client = useVivavoce();
  const { archive, api } = client;
  const history = useVivavoceState((state) => state.history);
  const talking = useVivavoceState(busy);
  const there = useVivavoceState((state) => !["locked", "loading"].includes(situation(state)));
  const conversation = useVivavoceState((state) => state.conversation);
  const written = useVivavoceState(countWritten);
  const [read, setRead] = useState(false);
  const [naming, setNaming] = useState<{ readonly id: string; readonly name: string } | null>(null);
  const scroller = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // Once the server is there, and after a talk or a message, which is in the list now.
    if (there) void archive.refresh().then(() => setRead(true));
  }, [archive, there, talking, conversation, written]);
  useEffect(() => () => void archive.search(""), [archive]);

  const actions = useMemo((): RowActions => {
    const failed = () => toast(i18n._("The file could not be made. Try again."), "bad");
    return {
      show(id, name, message) {
        if (busy(client.state)) return toast(i18n._("Hang up first: one talk at a time."));
        void archive.show(id, name, message);
        go("talk");
      },
      talk(id, name) {
        go("talk");
        // What was said before is on the screen when it goes on.
        void archive.show(id, name).then(() => client.start());
      },
      rename: (id, name) => setNaming({ id, name }),
      save: (id, format) => void exported(api, id, format).then(save).catch(failed),
      async share(id, name) {
        const file = await exported(api, id, "markdown").catch(failed);
        if (file && (await share(file, name)) === "saved") toast(i18n._("Saved as a file: this browser shares none."));
      },
      ask: (id) => archive.ask(id),
      remove: () => void archive.remove(),
    };
  }, [archive, api, client, i18n]);

  return (
    <Pane title={i18n._("Conversations")} name="history" scroller={scroller}>
      {read ? (
        <Found
          history={history}
          archive={archive}
          actions={actions}
          talking={talking}
          live={talking ? conversation : null}
          here={history.past?.id ?? conversation}
          scroller={scroller}
        />
      ) : (
        <Nothing>{i18n._("One moment…")}</Nothing>
      )}
      <Rename what={naming} close={() => setNaming(null)} rename={(id, title) => archive.rename(id, title)} />
    </Pane>
  );
}

/** What the list could know of a conversation in writing: as many messages as were stored. */
function countWritten(state: State): number {
  if (busy(state)) return 0;
  const said = state.lines.filter(({ kind, done }) => done && (kind === "user" || kind === "assistant"));
  return said.length + (state.history.past?.messages.length ?? 0);
}

interface Props {
  readonly history: History;
  readonly archive: ArchiveActions;
  readonly actions: RowActions;
  /** Then none is opened: one talk at a time. */
  readonly talking: boolean;
  /** The one that goes on now. */
  readonly live?: string | null;
  /** The one that is shown. */
  readonly here?: string | null;
  readonly scroller: RefObject<HTMLDivElement | null>;
}

export function Found({ history, archive, actions, talking, live = null, here = null, scroller }: Props) {
  const { i18n } = useLingui();
  return (
    <>
      <div className="sticky top-0 z-10 -mx-2 bg-paper px-2 pt-1 pb-3">
        <div className="relative">
          <Search className="absolute top-3 left-3.5 size-5 text-quiet" aria-hidden="true" />
          <Input
            type="search"
            aria-label={i18n._("Search in what was said")}
            placeholder={i18n._("Search in what was said")}
            maxLength={LONGEST}
            className="pl-10 text-ellipsis"
            onChange={(event) => void archive.search(event.target.value)}
          />
        </div>
      </div>
      <Problem>{history.problem && known(i18n, history.problem)}</Problem>
      {history.query ? (
        <Hits history={history} actions={actions} talking={talking} />
      ) : (
        <List history={history} more={() => void archive.more()} actions={actions} talking={talking} live={live} here={here} scroller={scroller} />
      )}
    </>
  );
}
