/** The drawer with the conversations of before: the newest first, or what a search finds. */

import { type MouseEvent, useEffect, useId, useRef } from "react";
import {
  type Archive,
  badgeOf,
  type ConversationInfo,
  countWords,
  type History as Past,
  nameOf,
  pieces,
  previewOf,
  type SearchHit,
  whenWords,
} from "@vivavoce/client";

export type ArchiveActions = Pick<Archive, "ask" | "close" | "more" | "remove" | "search" | "show">;

const LONGEST = 200; // what the server takes

export function History({ history, archive }: { history: Past; archive: ArchiveActions }) {
  const id = useId();
  const drawer = useRef<HTMLDialogElement>(null);
  // The browser's own dialog: it keeps the focus inside, closes with Escape and gives it back.
  useEffect(() => {
    const element = drawer.current;
    if (history.open && !element?.open) element?.showModal();
    if (!history.open && element?.open) element.close();
  }, [history.open]);
  const beside = (event: MouseEvent) => {
    if (event.target === drawer.current) archive.close();
  };
  return (
    <dialog
      ref={drawer}
      className="history"
      data-testid="history"
      aria-labelledby={id}
      onClose={() => archive.close()}
      onClick={beside}
    >
      {history.open && (
        <div className="inside">
          <div className="head">
            <h2 id={id}>Conversations</h2>
            <button type="button" className="small" onClick={() => archive.close()}>
              Close
            </button>
          </div>
          <input
            type="search"
            aria-label="Search in what was said"
            placeholder="Search in what was said"
            autoComplete="off"
            maxLength={LONGEST}
            onChange={(event) => void archive.search(event.target.value)}
          />
          {history.problem && (
            <p className="problem" role="alert">
              {history.problem}
            </p>
          )}
          {history.query ? (
            <Results history={history} archive={archive} />
          ) : (
            <List history={history} archive={archive} />
          )}
        </div>
      )}
    </dialog>
  );
}

function List({ history, archive }: { history: Past; archive: ArchiveActions }) {
  const { conversations, total, reading, problem } = history;
  if (conversations.length === 0) {
    if (problem) return null;
    const words = reading ? "One moment…" : "No conversation yet. What you talk about is kept here.";
    return <p className="remark none">{words}</p>;
  }
  return (
    <div className="rows">
      <ul>
        {conversations.map((one) => (
          <li key={one.id}>
            <Row one={one} history={history} archive={archive} />
          </li>
        ))}
      </ul>
      {conversations.length < total && (
        <button
          type="button"
          className="small more"
          aria-disabled={reading}
          onClick={() => void archive.more()}
        >
          More
        </button>
      )}
    </div>
  );
}

/** A conversation, and a way to be rid of it: only after a second word. */
function Row({ one, history, archive }: { one: ConversationInfo; history: Past; archive: ArchiveActions }) {
  const bin = useRef<HTMLButtonElement>(null);
  const { doomed } = history;
  const asked = doomed?.id === one.id;
  const keep = () => {
    archive.ask(null);
    bin.current?.focus();
  };
  const remove = (event: MouseEvent) => {
    // The row goes, and what has the focus must not go with it.
    event.currentTarget.closest("dialog")?.querySelector("button")?.focus();
    void archive.remove();
  };
  return (
    <>
      <div className="row">
        <Item one={one} show={() => void archive.show(one.id, nameOf(one))} />
        <button
          type="button"
          ref={bin}
          className="bin"
          data-testid="delete"
          aria-label={`Delete ${nameOf(one)}`}
          aria-expanded={asked}
          onClick={() => archive.ask(asked ? null : one.id)}
        >
          <svg viewBox="0 0 24 24" aria-hidden="true">
            <path d="M4 7h16M10 11v6M14 11v6M6 7l1 13h10l1-13M9 7V4h6v3" />
          </svg>
        </button>
      </div>
      {asked && (
        <div className="doomed" role="group" aria-label="Delete it?">
          <p>
            {doomed.going
              ? "One moment…"
              : "Delete this conversation for good? Goals and tasks that came of it stay."}
          </p>
          <button type="button" className="small" aria-disabled={doomed.going} onClick={keep}>
            Keep
          </button>
          <button
            type="button"
            className="small sure"
            data-testid="delete for good"
            aria-disabled={doomed.going}
            onClick={remove}
          >
            Delete
          </button>
        </div>
      )}
    </>
  );
}

function Item({ one, show }: { one: ConversationInfo; show: () => void }) {
  const preview = previewOf(one);
  const badge = badgeOf(one);
  return (
    <button type="button" className="item" data-testid="conversation" onClick={show}>
      <span className="name">{nameOf(one)}</span>
      {preview && <span className="preview">{preview}</span>}
      <span className="remark">
        {badge && <span className="badge">{badge}</span>}
        {whenWords(one.last_message_at ?? one.created_at, Date.now())} ·{" "}
        {countWords(one.message_count)}
      </span>
    </button>
  );
}

function Results({ history, archive }: { history: Past; archive: ArchiveActions }) {
  const { hits, conversations, problem } = history;
  if (hits === null) return problem ? null : <p className="remark none">One moment…</p>;
  const nameFor = (hit: SearchHit) => {
    const known = conversations.find(({ id }) => id === hit.conversation_id);
    return known ? nameOf(known) : "A conversation of before";
  };
  return (
    <div className="rows">
      <p className="remark none" role="status">
        {hits.length === 0 && "Nothing was found."}
        {hits.length === 1 && "1 message"}
        {hits.length > 1 && `${hits.length} messages`}
      </p>
      <ul>
        {hits.map((hit) => (
          <li key={hit.message_id}>
            <button
              type="button"
              className="item"
              data-testid="hit"
              onClick={() => void archive.show(hit.conversation_id, nameFor(hit), hit.message_id)}
            >
              <span className="snippet">
                {pieces(hit.snippet).map(({ text, found }, at) =>
                  found ? <mark key={at}>{text}</mark> : text,
                )}
              </span>
              <span className="remark">
                {hit.role === "user" ? "You" : "Assistant"} · {whenWords(hit.created_at, Date.now())}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
