/** The state in words, and in one word for style sheets and tests. */

import type { Loading, State } from "./state.js";

export type Situation =
  | "idle"
  | "loading"
  | "asking"
  | "connecting"
  | "listening"
  | "hearing"
  | "thinking"
  | "speaking"
  | "tool"
  | "reconnecting"
  | "ended"
  | "refused"
  | "locked"
  | "failed";

const VOICES: Record<string, Situation> = {
  disconnected: "connecting",
  initializing: "connecting",
  ready: "listening",
  listening: "hearing",
  processing: "thinking",
  speaking: "speaking",
  executing_tool: "tool",
  waiting_task: "listening",
  reconnecting: "reconnecting",
  terminated: "ended",
};

/** Nobody listens, and nothing is said aloud. */
const WRITING: Record<string, Situation> = {
  processing: "thinking",
  speaking: "thinking",
  executing_tool: "tool",
};

export function situation(state: State): Situation {
  if (state.stage === "writing") return WRITING[state.voice] ?? "idle";
  if (state.stage !== "live") {
    return state.stage === "connecting" && state.loading ? "loading" : state.stage;
  }
  if (!state.streaming) return "reconnecting";
  const now = VOICES[state.voice] ?? "listening";
  // The server only reckons when the sound ends that we play; and it may end before the answer does.
  const sounds = now === "speaking" || (now === "listening" && state.sounding);
  if (sounds) return state.silent ? "thinking" : "speaking";
  return now;
}

/** Why a session ended that its user went on with in another place. */
export const TAKEN_OVER = "taken_over";

/** A voice session as seed 004 §11 has it. */
export type SessionStatus = "idle" | "connecting" | "active" | "reconnecting" | "ended" | "error";

export function sessionStatus(state: State): SessionStatus {
  switch (situation(state)) {
    case "refused":
    case "locked":
    case "failed":
      return "error";
    case "ended":
      return "ended";
    case "asking":
    case "connecting":
      return "connecting";
    case "reconnecting":
      return "reconnecting";
    default:
      if (state.stage === "live") return "active";
      if (state.stage === "connecting") return "connecting"; // to a server that is not ready
      return state.stage === "idle" && state.conversation !== null ? "ended" : "idle";
  }
}

/** What is seen of it: seed 004 §11's visual states, and whether nobody hears the user. */
export type OrbState =
  | "idle"
  | "connecting"
  | "listening"
  | "speaking"
  | "processing"
  | "muted"
  | "error"
  | "ended";

export function orbState(state: State): OrbState {
  const now = situation(state);
  if (now === "speaking") return "speaking";
  if (now === "thinking" || now === "tool") return "processing";
  if (now === "listening" || now === "hearing") return state.muted ? "muted" : "listening";
  const status = sessionStatus(state);
  return status === "reconnecting" || status === "active" ? "connecting" : status;
}

/** Is a conversation on, or about to be? */
export function busy(state: State): boolean {
  return ["asking", "connecting", "live", "reconnecting"].includes(state.stage);
}

/** What pressing the one button does now. */
export function buttonWords(state: State): string {
  if (!busy(state)) {
    if (state.history.past) return "Continue by voice";
    if (state.elsewhere) return "Continue here";
    return state.ended === null ? "Start talking" : "Reconnect";
  }
  return ["asking", "connecting", "loading"].includes(situation(state)) ? "Cancel" : "Hang up";
}

export function words(state: State): string {
  switch (situation(state)) {
    case "idle":
      return "Ready when you are";
    case "loading":
      return loadingWords(state.loading);
    case "asking":
      return "May this page hear you? Your browser asks";
    case "connecting":
      return "Connecting";
    case "listening":
      if (state.muted) return "Muted";
      return toolNames(state) ? `Listening, while ${toolNames(state)} runs` : "Listening";
    case "hearing":
      return "You speak";
    case "thinking":
      return "Thinking";
    case "speaking":
      return "Speaking";
    case "tool":
      if (toolNames(state)) return `Running ${toolNames(state)}`;
      return state.work.approvals.length > 0 ? "Waiting for your yes" : "Running a tool";
    case "reconnecting":
      return "Connection lost, reconnecting";
    case "ended":
      return "The conversation has ended";
    case "refused":
      return "No microphone";
    case "locked":
      return "This server asks for a token";
    case "failed":
      return "That did not work";
  }
}

/** Those that run: one that waits for a yes does not. */
function toolNames(state: State): string {
  const asking = state.work.approvals.map((one) => one.call_id);
  return state.tools
    .filter(({ callId }) => !asking.includes(callId))
    .map(({ name, percentage }) => (percentage === null ? name : `${name} (${percentage} %)`))
    .join(", ");
}

function loadingWords(loading: Loading | null): string {
  if (!loading) return "One moment…";
  if (loading.failed) return "The models could not be fetched";
  const part = progress(loading);
  if (part !== null) return `Loading models, ${part} %`;
  return loading.models.length ? "Loading models" : "The server is not ready yet";
}

/** How far the fetching is, all models together, in percent; null while there is none. */
export function progress(loading: Loading | null): number | null {
  let received = 0;
  let total = 0;
  for (const model of loading?.models ?? []) {
    total += model.total;
    received += Math.min(model.received, model.total);
  }
  return received < total ? Math.floor((100 * received) / total) : null;
}
