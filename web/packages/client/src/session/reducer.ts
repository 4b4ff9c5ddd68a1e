/** State and a fact make the next state. The only place where either is understood. */

import { type ToolFact, tooled } from "./calls.js";
import { continued, NO_HISTORY, recalled } from "./history/history.js";
import { intentOf, type IntentFact } from "./intents.js";
import { pastLines } from "./history/past.js";
import type { Fact, ServerFact, State } from "./state.js";
import { INITIAL } from "./state.js";
import * as transcript from "./transcript.js";
import { TAKEN_OVER } from "./words.js";
import { NO_WORK, worked } from "./work/work.js";
import { heardOfWork, isWork, type WorkFact } from "./work/events.js";

export function reduce(state: State, fact: Fact): State {
  switch (fact.type) {
    case "event":
      return heard(state, fact);
    case "server.waiting":
      return { ...state, loading: fact.loading, stage: state.stage === "idle" ? "loading" : state.stage };
    case "server.asked":
      return state.stage === "idle" ? { ...state, stage: "loading" } : state;
    case "server.ready":
      return { ...state, loading: null, stage: state.stage === "loading" ? "idle" : state.stage };
    case "microphone.asked":
      return asked(state, fact.conversation ?? null);
    case "microphone.refused":
      return { ...over(state), stage: "refused", problem: fact.why };
    case "session.opened":
      return { ...state, session: fact.id, ended: null, conversation: fact.conversation ?? state.conversation };
    case "muted":
      return { ...state, muted: fact.on };
    case "writing":
      return { ...state, stage: "writing", notice: null, problem: null };
    case "conversation.begun":
      return { ...state, conversation: fact.id };
    case "written":
      return { ...state, lines: transcript.written(state.lines, fact.id, fact.text) };
    case "written.stored":
      return { ...state, lines: transcript.stored(state.lines, fact.id, fact.itemId) };
    case "written.refused":
      return { ...state, lines: transcript.refused(state.lines, fact.id, fact.why) };
    case "forgotten":
      return { ...state, stage: "idle", ended: null, conversation: null, lines: [], notice: null, problem: null };
    case "call.placing": {
      const again = state.stage === "reconnecting" || state.stage === "live";
      const retry = state.retry && { ...state.retry, at: null };
      return { ...state, stage: again ? state.stage : "connecting", transport: fact.transport, retry };
    }
    case "call.up":
      return { ...state, stage: "live", transport: fact.transport, notice: null, retry: null };
    case "call.lost":
      return {
        ...state,
        stage: "reconnecting",
        sounding: false,
        silent: false,
        tools: [],
        lines: transcript.unfollowed(state.lines),
        retry: fact.retry ?? state.retry,
      };
    case "sound":
      return { ...state, sounding: fact.on };
    case "silence":
      return { ...state, silent: fact.on };
    case "stream.up":
      return { ...state, streaming: true };
    case "stream.down":
      return { ...state, streaming: false };
    case "conversation.read":
      return state.conversation === fact.id ? { ...state, lines: transcript.before(state.lines, fact.lines) } : state;
    case "voice.read":
      return { ...state, voice: fact.voice };
    case "transcript.read":
      return { ...state, lines: transcript.reread(state.lines, fact.entries) };
    case "work":
      return { ...state, work: worked(state.work, fact.news) };
    case "history":
      return { ...state, history: recalled(state.history, fact.news) };
    case "stopped":
      // What ended by itself has said why already.
      if (state.stage === "ended") return state;
      return { ...over(state), stage: state.loading ? "loading" : "idle", ended: null, notice: null };
    case "locked":
      // Whoever has the next token may be somebody else.
      return {
        ...over(state),
        stage: "locked",
        ended: null,
        problem: fact.why,
        work: { ...NO_WORK, seen: state.work.seen },
        history: NO_HISTORY,
      };
    case "failed": {
      const failed: State = { ...over(state), stage: "failed", problem: fact.why };
      return fact.gone ? { ...failed, ended: null, conversation: null } : failed;
    }
  }
}

/** A talk begins: anew, or with the words of the one that it goes on with. */
function asked(state: State, goesOn: string | null): State {
  const { loading, work, ended, muted } = state;
  const { past } = state.history;
  const shown = goesOn === null ? ended !== null : goesOn === state.conversation;
  const here = past === null ? shown : past.live;
  const lines = here ? state.lines : past === null ? [] : pastLines(past);
  const history = continued(state.history);
  const conversation = here ? state.conversation : (past?.id ?? goesOn);
  return { ...INITIAL, loading, work, muted, lines, history, ended, conversation, stage: "asking" };
}

function heard(state: State, fact: ServerFact): State {
  if (isWork(fact)) return heardAtWork(state, fact);
  const { name, data } = fact;
  switch (name) {
    case "session.status":
      // The only word on the state: durable events come once they are stored, and so too late.
      return { ...state, voice: data.state };
    case "speech.started": {
      const id = data.item_id;
      const lines = id ? transcript.opened(state.lines, id, "user") : state.lines;
      return { ...state, lines, notice: null };
    }
    case "transcription.delta":
      return {
        ...state,
        lines: transcript.grown(state.lines, data.item_id, speaker(data.role), data.delta),
      };
    case "transcription.completed": {
      const said = {
        id: data.item_id,
        kind: speaker(data.role),
        text: data.transcript,
        cut: data.interrupted === true,
        spoken: data.modality !== "text",
        ...(data.previous_item_id ? { after: data.previous_item_id } : {}),
      };
      return { ...state, lines: transcript.completed(state.lines, said) };
    }
    case "assistant.heard":
      return { ...state, lines: transcript.heard(state.lines, data) };
    case "assistant.done":
      return { ...state, lines: transcript.heard(state.lines, { ...data, state: "played" }) };
    case "tool.started":
    case "tool.progress":
    case "tool.completed":
    case "tool.error":
      return tooled(state, { type: "event", name, data } as ToolFact);
    case "intent.submitted":
    case "intent.retracted": {
      const news = intentOf({ type: "event", name, data } as IntentFact);
      return { ...state, lines: transcript.understood(state.lines, data.intent_id, news) };
    }
    case "session.warning":
      // Before a cap the page goes on by itself, and nobody needs to hear of it.
      return data.action === "reconnect" ? state : { ...state, notice: warned(data) };
    case "call.wanted":
      // What is planned nobody needs to hear of; why somebody else takes over they see.
      return data.message ? { ...state, notice: data.message } : state;
    case "session.moved":
      return data.owner ? state : { ...state, notice: "This server stops. One moment, I look for another." };
    case "notification":
      return { ...state, notice: data.message };
    case "error":
      return { ...state, notice: data.message };
    case "session.expired":
      return { ...state, notice: EXPIRED[data.reason] ?? "The conversation has ended." };
    case "session.ended":
      return {
        ...over(state),
        stage: "ended",
        elsewhere: data.reason === TAKEN_OVER,
        notice: (data.reason === TAKEN_OVER ? null : state.notice) ?? ENDED[data.reason] ?? null,
      };
    default:
      return state;
  }
}


/** What was decided elsewhere is said: a card that just goes would be a riddle. */
function heardAtWork(state: State, fact: WorkFact): State {
  const work = heardOfWork(state.work, fact);
  if (fact.name === "task.due" && state.stage === "live") {
    const { reminder_id, title } = fact.data;
    return { ...state, work, lines: transcript.due(state.lines, reminder_id, title) };
  }
  if (fact.name !== "approval.resolved") return { ...state, work };
  const { approval_id, tool_name, granted, by } = fact.data;
  const shown = state.work.approvals.some((one) => one.id === approval_id);
  if (!shown || by === "click") return { ...state, work };
  const how = DECIDED[by] ?? "";
  return { ...state, work, notice: `${tool_name} was ${granted ? "allowed" : "refused"}${how}.` };
}

const DECIDED: Record<string, string> = {
  voice: " by voice",
  timeout: ": nobody answered in time",
  cancel: ": it is not wanted any more",
  restart: ": the server was restarted",
};

/** The conversation is over: what was said stays, what was going on does not. */
function over(state: State): State {
  return {
    ...state,
    voice: "disconnected",
    session: null,
    elsewhere: false,
    ended: state.lines.length > 0 ? (state.session ?? state.ended) : null,
    sounding: false,
    silent: false,
    transport: null,
    retry: null,
    tools: [],
    lines: transcript.closed(state.lines),
    streaming: true,
    problem: null,
  };
}

function speaker(role: string): "user" | "assistant" {
  return role === "user" ? "user" : "assistant";
}

function warned(data: { reason: string; seconds_remaining: number }): string {
  const seconds = data.seconds_remaining;
  return data.reason === "idle"
    ? `Still there? Without a word this ends in ${seconds} seconds.`
    : `This conversation ends in ${seconds} seconds.`;
}

const EXPIRED: Record<string, string> = {
  idle: "Ended, since nobody said a word for a while.",
  cap: "Ended: it was as long as it may be.",
  "never connected": "Ended: no call came about.",
};
const ENDED: Record<string, string> = {
  [TAKEN_OVER]: "It goes on in another window or on another device.",
  completed: "Ended: the server was shut down.",
};
