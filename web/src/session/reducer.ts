/** State and a fact make the next state. The only place where either is understood. */

import type { Fact, Line, ServerFact, State } from "./state";
import { INITIAL } from "./state";
import * as transcript from "./transcript";

export function reduce(state: State, fact: Fact): State {
  switch (fact.type) {
    case "event":
      return heard(state, fact);
    case "server.waiting":
      return { ...state, loading: fact.loading, stage: state.stage === "idle" ? "loading" : state.stage };
    case "server.ready":
      return { ...state, loading: null, stage: state.stage === "loading" ? "idle" : state.stage };
    case "microphone.asked":
      return { ...INITIAL, loading: state.loading, stage: "asking" };
    case "microphone.refused":
      return { ...over(state), stage: "refused", problem: fact.why };
    case "call.placing": {
      const again = state.stage === "reconnecting" || state.stage === "live";
      return { ...state, stage: again ? state.stage : "connecting", transport: fact.transport };
    }
    case "call.up":
      return { ...state, stage: "live", transport: fact.transport, notice: null };
    case "call.lost":
      return { ...state, stage: "reconnecting", sounding: false, tools: [] };
    case "sound":
      return { ...state, sounding: fact.on };
    case "stream.up":
      return { ...state, streaming: true };
    case "stream.down":
      return { ...state, streaming: false };
    case "voice.read":
      return { ...state, voice: fact.voice };
    case "transcript.read":
      return { ...state, lines: transcript.fromEntries(fact.entries) };
    case "stopped":
      // What ended by itself has said why already.
      if (state.stage === "ended") return state;
      return { ...over(state), stage: state.loading ? "loading" : "idle", notice: null };
    case "locked":
      return { ...over(state), stage: "locked", problem: fact.why };
    case "failed":
      return { ...over(state), stage: "failed", problem: fact.why };
  }
}

function heard(state: State, { name, data }: ServerFact): State {
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
        ...(data.previous_item_id ? { after: data.previous_item_id } : {}),
      };
      return { ...state, lines: transcript.completed(state.lines, said) };
    }
    case "tool.started":
    case "tool.progress":
    case "tool.completed":
    case "tool.error":
      return tooled(state, { type: "event", name, data } as ToolFact);
    case "session.warning":
      // Before a cap the page goes on by itself, and nobody needs to hear of it.
      return data.action === "reconnect" ? state : { ...state, notice: warned(data) };
    case "notification":
      return { ...state, notice: data.message };
    case "error":
      return { ...state, notice: data.message };
    case "session.expired":
      return { ...state, notice: EXPIRED[data.reason] ?? "The conversation has ended." };
    case "session.ended":
      return { ...over(state), stage: "ended", notice: state.notice ?? ENDED[data.reason] ?? null };
    default:
      return state;
  }
}

type ToolFact = Extract<
  ServerFact,
  { name: "tool.started" | "tool.progress" | "tool.completed" | "tool.error" }
>;

function tooled(state: State, { name, data }: ToolFact): State {
  const others = state.tools.filter((tool) => tool.callId !== data.call_id);
  const mark = (change: Partial<Line>) => transcript.tool(state.lines, data.call_id, change);
  switch (name) {
    case "tool.started": {
      const running = { callId: data.call_id, name: data.tool_name, percentage: null };
      const text = data.description || data.tool_name;
      return { ...state, tools: [...others, running], lines: mark({ text }) };
    }
    case "tool.progress": {
      const percentage = data.percentage ?? null;
      const running = { callId: data.call_id, name: data.tool_name, percentage };
      return { ...state, tools: [...others, running] };
    }
    case "tool.completed":
      return { ...state, tools: others, lines: mark({ done: true, failed: !data.success }) };
    case "tool.error":
      return { ...state, tools: others, lines: mark({ done: true, failed: true }) };
  }
}

/** The conversation is over: what was said stays, what was going on does not. */
function over(state: State): State {
  return {
    ...state,
    voice: "disconnected",
    sounding: false,
    transport: null,
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
  completed: "Ended: it goes on elsewhere, or the server was shut down.",
};
