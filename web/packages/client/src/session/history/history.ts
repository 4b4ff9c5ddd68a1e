/** Conversations of before: the list, what was searched for, and the one that is looked at. Pure.
 *
 * Answers come when they come. Each says what it answers, and what nobody looks at any more
 * changes nothing. */

import type { ConversationInfo, IntentView, Message, SearchHit } from "../../wire/types.js";

export interface History {
  readonly open: boolean;
  readonly reading: boolean;
  readonly conversations: readonly ConversationInfo[];
  readonly total: number;
  readonly query: string;
  /** Null: nothing is searched for, or it is not there yet. */
  readonly hits: readonly SearchHit[] | null;
  readonly problem: string | null;
  readonly past: Past | null;
  /** The one that may be deleted: the user is asked, or it is being done. */
  readonly doomed: { readonly id: string; readonly going: boolean } | null;
}

/** The one that is looked at, and that a call would go on with. */
export interface Past {
  readonly id: string;
  readonly name: string;
  readonly messages: readonly Message[];
  readonly intents: readonly IntentView[];
  /** There are older messages. */
  readonly more: boolean;
  readonly reading: boolean;
  /** A message that was searched for. */
  readonly target: string | null;
  /** What was written and has no answer yet; empty once the server has it. */
  readonly sending: string | null;
  readonly problem: string | null;
  /** It goes on by voice: what is said now is in the transcript and not yet here. */
  readonly live: boolean;
}

export const NO_HISTORY: History = {
  open: false,
  reading: false,
  conversations: [],
  total: 0,
  query: "",
  hits: null,
  problem: null,
  past: null,
  doomed: null,
};

export type HistoryNews =
  | { readonly what: "opened" }
  | { readonly what: "closed" }
  | { readonly what: "listing" }
  | {
      readonly what: "listed";
      readonly conversations: readonly ConversationInfo[];
      readonly total: number;
      readonly offset: number;
    }
  | { readonly what: "searching"; readonly query: string }
  | { readonly what: "found"; readonly query: string; readonly hits: readonly SearchHit[] }
  | { readonly what: "unread"; readonly why: string }
  | { readonly what: "left" }
  | { readonly what: "asked"; readonly id: string | null }
  | { readonly what: "deleting"; readonly id: string }
  | { readonly what: "deleted"; readonly id: string }
  | { readonly what: "renamed"; readonly info: ConversationInfo }
  | { readonly what: "shown"; readonly id: string; readonly name: string; readonly target: string | null }
  | PastNews;

type PastNews = { readonly id: string } & (
  | { readonly what: "past.reading" }
  | {
      readonly what: "past.read";
      readonly messages: readonly Message[];
      readonly intents: readonly IntentView[];
      readonly more: boolean;
      /** They are those before what is here; else they are the newest. */
      readonly older: boolean;
    }
  | { readonly what: "past.said"; readonly messages: readonly Message[] }
  | { readonly what: "past.sending"; readonly text: string }
  | { readonly what: "past.problem"; readonly why: string }
);

export function recalled(history: History, news: HistoryNews): History {
  switch (news.what) {
    case "opened":
      return { ...history, open: true, query: "", hits: null, problem: null, doomed: null };
    case "closed":
      return { ...history, open: false };
    case "listing":
      return { ...history, reading: true, problem: null };
    case "listed":
      return listed(history, news.conversations, news.total, news.offset);
    case "searching":
      return { ...history, query: news.query, hits: news.query ? history.hits : null, problem: null };
    case "found":
      return news.query === history.query ? { ...history, hits: news.hits } : history;
    case "unread":
      return { ...history, reading: false, problem: news.why, doomed: null };
    case "left":
      return { ...history, past: null };
    case "asked":
      return { ...history, doomed: news.id === null ? null : { id: news.id, going: false } };
    case "deleting":
      return { ...history, doomed: { id: news.id, going: true }, problem: null };
    case "deleted":
      return without(history, news.id);
    case "renamed":
      return renamed(history, news.info);
    case "shown": {
      const { id, name, target } = news;
      return { ...history, open: false, past: { ...NEW_PAST, id, name, target } };
    }
    default: {
      const { past } = history;
      return past?.id === news.id ? { ...history, past: remembered(past, news) } : history;
    }
  }
}

/** A call begins: it goes on with what is looked at, if there is something. */
export function continued(history: History): History {
  const { past } = history;
  return { ...history, open: false, past: past && { ...past, live: true, problem: null } };
}

const NEW_PAST: Omit<Past, "id" | "name"> = {
  messages: [],
  intents: [],
  more: false,
  reading: true,
  target: null,
  sending: null,
  problem: null,
  live: false,
};

/** Of two pages that overlap, since one came in between, each conversation is there once. */
function listed(
  history: History,
  page: readonly ConversationInfo[],
  total: number,
  offset: number,
): History {
  const known = offset === 0 ? [] : history.conversations;
  const ids = new Set(known.map(({ id }) => id));
  const conversations = [...known, ...page.filter(({ id }) => !ids.has(id))];
  return { ...history, reading: false, conversations, total };
}

function without(history: History, id: string): History {
  const conversations = history.conversations.filter((one) => one.id !== id);
  return {
    ...history,
    conversations,
    total: history.total - (history.conversations.length - conversations.length),
    hits: history.hits && history.hits.filter((hit) => hit.conversation_id !== id),
    past: history.past?.id === id ? null : history.past,
    doomed: history.doomed?.id === id ? null : history.doomed,
  };
}

function renamed(history: History, info: ConversationInfo): History {
  const { past, hits } = history;
  const { id, title } = info;
  return {
    ...history,
    conversations: history.conversations.map((one) => (one.id === id ? info : one)),
    hits: hits && hits.map((hit) => (hit.conversation_id === id ? { ...hit, conversation_title: title } : hit)),
    past: past?.id === id && title ? { ...past, name: title } : past,
  };
}

function remembered(past: Past, news: PastNews): Past {
  switch (news.what) {
    case "past.reading":
      return { ...past, reading: true, problem: null };
    case "past.read": {
      const { intents } = news;
      const here = { ...past, ...paged(past, news), intents, reading: false, live: false };
      return here.messages.at(-1)?.role === "assistant" ? { ...here, sending: null } : here;
    }
    case "past.said":
      return { ...past, messages: joined(past.messages, news.messages), sending: null, live: false };
    case "past.sending":
      return { ...past, sending: news.text, problem: null };
    case "past.problem":
      return { ...past, reading: false, sending: null, problem: news.why };
  }
}

type Page = Extract<PastNews, { what: "past.read" }>;

/** The newest page read again joins what is here, unless so much was said that nothing does. */
function paged(past: Past, { messages, more, older }: Page): Pick<Past, "messages" | "more"> {
  const ids = new Set(messages.map(({ id }) => id));
  const meets = past.messages.some(({ id }) => ids.has(id));
  if (!older && !meets) return { messages, more };
  const all = joined(past.messages, messages);
  return { messages: all, more: all[0]?.id === messages[0]?.id ? more : past.more };
}

/** Each message once, as it was read last, in the order of the server's. */
function joined(known: readonly Message[], read: readonly Message[]): readonly Message[] {
  const fresh = new Set(read.map(({ id }) => id));
  const first = read[0];
  const kept = known.filter(({ id }) => !fresh.has(id));
  if (!first) return kept;
  // What is kept is older than what was read, or newer; never between.
  const older = kept.filter(({ created_at }) => created_at <= first.created_at);
  const newer = kept.filter(({ created_at }) => created_at > first.created_at);
  return [...older, ...read, ...newer];
}
