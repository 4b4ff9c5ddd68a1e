/** What a search found: the words where they stand, and in which conversation. */

import { useLingui } from "@lingui/react";
import { type History, nameOf, pieces, type SearchHit, visible } from "@vivavoce/client";
import { Nothing } from "../parts/pane";
import { exactly } from "../words/known";
import { whenWords } from "../words/time";
import type { RowActions } from "./Row";

interface Props {
  readonly history: History;
  readonly actions: Pick<RowActions, "show">;
  readonly talking: boolean;
}

export function Hits({ history, actions, talking }: Props) {
  const { i18n } = useLingui();
  const { hits, conversations, problem } = history;
  if (hits === null) return problem ? null : <Nothing>{i18n._("One moment…")}</Nothing>;
  const nameFor = (hit: SearchHit) => {
    if (hit.conversation_title) return visible(hit.conversation_title);
    const info = conversations.find(({ id }) => id === hit.conversation_id);
    return info ? exactly(i18n, nameOf(info)) : i18n._("A conversation of before");
  };
  return (
    <>
      <p className="pb-2 text-small text-quiet" role="status">
        {hits.length === 0
          ? i18n._("Nothing was found.")
          : i18n._("{count, plural, one {# message} other {# messages}}", { count: hits.length })}
      </p>
      <ul className="-mx-3">
        {hits.map((hit) => (
          <li key={hit.message_id} className="rounded-card hover:bg-well">
            <button
              type="button"
              className="grid w-full min-w-0 gap-0.5 rounded-card px-3 py-2.5 text-left"
              data-testid="hit"
              aria-disabled={talking}
              onClick={() => actions.show(hit.conversation_id, nameFor(hit), hit.message_id)}
            >
              <span className="truncate font-medium">{nameFor(hit)}</span>
              <span className="line-clamp-3 text-small wrap-anywhere">
                <Snippet hit={hit} />
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

function Snippet({ hit }: { hit: SearchHit }) {
  const parts = hit.parts?.length ? hit.parts.map((part) => ({ ...part, text: visible(part.text) })) : pieces(hit.snippet);
  return parts.map(({ text, found }, at) => (found ? <mark key={at}>{text}</mark> : text));
}
