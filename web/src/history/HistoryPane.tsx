/** The conversations of before: the newest first, or what a search finds. */

import { useLingui } from "@lingui/react";
import {
  type Archive,
  badgeOf,
  busy,
  type ConversationInfo,
  type History,
  nameOf,
  pieces,
  previewOf,
  type SearchHit,
  situation,
} from "@vivavoce/client";
import { useVivavoce, useVivavoceState } from "@vivavoce/react";
import { Search, Trash2 } from "lucide-react";
import { type MouseEvent, useEffect, useRef, useState } from "react";
import { go } from "../app/place";
import { Badge } from "../parts/badge";
import { Button } from "../parts/button";
import { Input } from "../parts/input";
import { Nothing, Pane, Problem } from "../parts/pane";
import { known } from "../words/known";
import { whenWords } from "../words/time";

const LONGEST = 200; // what the server takes

export type ArchiveActions = Pick<Archive, "ask" | "more" | "remove" | "search" | "show">;

export default function HistoryPane() {
  const { i18n } = useLingui();
  const { archive } = useVivavoce();
  const history = useVivavoceState((state) => state.history);
  const talking = useVivavoceState(busy);
  const there = useVivavoceState((state) => !["locked", "loading"].includes(situation(state)));
  const conversation = useVivavoceState((state) => state.conversation);
  const [read, setRead] = useState(false);
  useEffect(() => {
    // Once the server is there, and after a talk, which is in the list now.
    if (there) void archive.refresh().then(() => setRead(true));
  }, [archive, there, talking, conversation]);
  useEffect(() => () => void archive.search(""), [archive]);
  return (
    <Pane title={i18n._("Conversations")} name="history">
      {read ? (
        <Found history={history} archive={archive} talking={talking} />
      ) : (
        <Nothing>{i18n._("One moment…")}</Nothing>
      )}
    </Pane>
  );
}

interface Props {
  readonly history: History;
  readonly archive: ArchiveActions;
  /** Then none is opened: one talk at a time. */
  readonly talking: boolean;
}

export function Found({ history, archive, talking }: Props) {
  const { i18n } = useLingui();
  return (
    <>
      <div className="relative pb-3">
        <Search className="absolute top-3 left-3.5 size-5 text-quiet" aria-hidden="true" />
        <Input
          type="search"
          aria-label={i18n._("Search in what was said")}
          placeholder={i18n._("Search in what was said")}
          maxLength={LONGEST}
          className="pl-10"
          onChange={(event) => void archive.search(event.target.value)}
        />
      </div>
      <Problem>{history.problem && known(i18n, history.problem)}</Problem>
      {history.query ? (
        <Results history={history} archive={archive} talking={talking} />
      ) : (
        <List history={history} archive={archive} talking={talking} />
      )}
    </>
  );
}

function List({ history, archive, talking }: Props) {
  const { i18n } = useLingui();
  const { conversations, total, reading, problem } = history;
  if (conversations.length === 0) {
    if (problem) return null;
    return (
      <Nothing>
        {reading
          ? i18n._("One moment…")
          : i18n._("No conversation yet. What you talk about is kept here.")}
      </Nothing>
    );
  }
  return (
    <>
      <ul className="-mx-2">
        {conversations.map((one) => (
          <li key={one.id}>
            <Row one={one} history={history} archive={archive} talking={talking} />
          </li>
        ))}
      </ul>
      {conversations.length < total && (
        <Button className="mt-2 w-full" aria-disabled={reading} onClick={() => void archive.more()}>
          {i18n._("More")}
        </Button>
      )}
    </>
  );
}

/** A conversation, and a way to be rid of it: only after a second word. */
function Row({ one, history, archive, talking }: Props & { one: ConversationInfo }) {
  const { i18n } = useLingui();
  const bin = useRef<HTMLButtonElement>(null);
  const { doomed } = history;
  const asked = doomed?.id === one.id;
  const name = nameOf(one);
  const keep = () => {
    archive.ask(null);
    bin.current?.focus();
  };
  const remove = (event: MouseEvent) => {
    // The row goes, and what has the focus must not go with it.
    event.currentTarget.closest("section")?.querySelector("input")?.focus();
    void archive.remove();
  };
  return (
    <>
      <div className="group flex items-center gap-1 rounded-card pr-1 hover:bg-well has-[[aria-current]]:bg-tint">
        <Item one={one} history={history} archive={archive} talking={talking} />
        <Button
          ref={bin}
          tone="quiet"
          size="small icon"
          data-testid="delete"
          aria-label={i18n._("Delete {name}", { name })}
          aria-expanded={asked}
          className="wide:opacity-0 wide:group-focus-within:opacity-100 wide:group-hover:opacity-100"
          onClick={() => archive.ask(asked ? null : one.id)}
        >
          <Trash2 aria-hidden="true" />
        </Button>
      </div>
      {asked && (
        <div
          className="mx-2 mb-2 grid animate-rise gap-3 rounded-card bg-bad-tint p-3 text-small"
          role="group"
          aria-label={i18n._("Delete it?")}
        >
          <p>
            {doomed.going
              ? i18n._("One moment…")
              : i18n._("Delete this conversation for good? Goals and tasks that came of it stay.")}
          </p>
          <div className="flex gap-2">
            <Button aria-disabled={doomed.going} onClick={keep}>
              {i18n._("Keep")}
            </Button>
            <Button
              tone="live"
              data-testid="delete for good"
              aria-disabled={doomed.going}
              onClick={remove}
            >
              {i18n._("Delete")}
            </Button>
          </div>
        </div>
      )}
    </>
  );
}

const ITEM = "grid min-w-0 flex-1 gap-0.5 rounded-card px-3 py-2.5 text-left disabled:opacity-60";

function Item({ one, history, archive, talking }: Props & { one: ConversationInfo }) {
  const { i18n } = useLingui();
  const preview = previewOf(one);
  const badge = badgeOf(one);
  const show = () => {
    void archive.show(one.id, nameOf(one));
    go("talk");
  };
  return (
    <button
      type="button"
      className={ITEM}
      data-testid="conversation"
      aria-current={history.past?.id === one.id ? "true" : undefined}
      disabled={talking}
      onClick={show}
    >
      <span className="truncate font-medium">{known(i18n, nameOf(one))}</span>
      {preview && <span className="truncate text-small text-quiet">{preview}</span>}
      <span className="flex items-center gap-2 text-tiny text-quiet">
        {badge && <Badge tone="accent">{known(i18n, badge)}</Badge>}
        <span>
          {whenWords(i18n, one.last_message_at ?? one.created_at)} ·{" "}
          {i18n._("{count, plural, one {# message} other {# messages}}", { count: one.message_count })}
        </span>
      </span>
    </button>
  );
}

function Results({ history, archive, talking }: Props) {
  const { i18n } = useLingui();
  const { hits, conversations, problem } = history;
  if (hits === null) return problem ? null : <Nothing>{i18n._("One moment…")}</Nothing>;
  const nameFor = (hit: SearchHit) => {
    const info = conversations.find(({ id }) => id === hit.conversation_id);
    return info ? nameOf(info) : i18n._("A conversation of before");
  };
  const show = (hit: SearchHit) => {
    void archive.show(hit.conversation_id, nameFor(hit), hit.message_id);
    go("talk");
  };
  return (
    <>
      <p className="pb-2 text-small text-quiet" role="status">
        {hits.length === 0
          ? i18n._("Nothing was found.")
          : i18n._("{count, plural, one {# message} other {# messages}}", { count: hits.length })}
      </p>
      <ul className="-mx-2">
        {hits.map((hit) => (
          <li key={hit.message_id} className="rounded-card hover:bg-well">
            <button
              type="button"
              className={`${ITEM} w-full`}
              data-testid="hit"
              disabled={talking}
              onClick={() => show(hit)}
            >
              <span className="line-clamp-3 text-small">
                {pieces(hit.snippet).map(({ text, found }, at) =>
                  found ? <mark key={at}>{text}</mark> : text,
                )}
              </span>
              <span className="text-tiny text-quiet">
                {hit.role === "user" ? i18n._("You") : i18n._("Assistant")} ·{" "}
                {whenWords(i18n, hit.created_at)}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}
