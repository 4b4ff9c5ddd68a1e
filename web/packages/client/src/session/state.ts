/** What the page knows, and what it can be told. No code of the browser's or of React's. */

import type { EventName, ModelStatus, TranscriptEntry, VoiceEvents } from "../wire/types.js";
import { type History, type HistoryNews, NO_HISTORY } from "./history/history.js";
import type { Understood } from "./intents.js";
import { NO_WORK, type Work, type WorkNews } from "./work/work.js";

export type TransportKind = "webrtc" | "websocket";

/** What the client itself is doing; while it is `live`, or `writing` without a call, `voice` tells
 * the rest. */
export type Stage =
  | "idle"
  | "loading"
  | "asking"
  | "connecting"
  | "live"
  | "writing"
  | "reconnecting"
  | "ended"
  | "refused"
  | "locked"
  | "failed";

export interface Line {
  readonly id: string;
  readonly kind: "user" | "assistant" | "tool" | "intent" | "due";
  readonly text: string;
  /** What was meant to follow, but was never heard. */
  readonly unheard: string;
  readonly cut: boolean;
  readonly done: boolean;
  readonly failed: boolean;
  /** Of a tool: how it is going, or why it failed. */
  readonly note: string;
  readonly percentage: number | null;
  /** It came by voice. */
  readonly spoken?: boolean;
  /** While an answer sounds and its provider tells how far: what of it was heard by now. */
  readonly heard?: string;
  /** Of a tool: what there is to see of its call. */
  readonly call?: ToolCall;
  /** Of an intent: what was understood. */
  readonly intent?: Understood;
}

export interface ToolCall {
  readonly tool: string;
  readonly given: Readonly<Record<string, unknown>>;
  /** What it gave, or the beginning of it: `whole` says which. */
  readonly output: string;
  readonly whole: boolean;
  readonly files: readonly string[];
  readonly ms: number | null;
}

/** What the server waits for before anyone can talk to it. */
export interface Loading {
  readonly message: string | null;
  /** They cannot be had for now; the server tries again by itself. */
  readonly failed: boolean;
  readonly models: readonly ModelStatus[];
}

/** The call was lost, and another is tried. */
export interface Retry {
  readonly reason: string;
  /** Which try it is, from 1. */
  readonly attempt: number;
  /** When it comes, in milliseconds since 1970; null: now. */
  readonly at: number | null;
}

export interface RunningTool {
  readonly callId: string;
  readonly name: string;
  readonly percentage: number | null;
}

export interface State {
  readonly stage: Stage;
  readonly voice: string;
  /** The page plays the assistant's sound itself, and some is left. */
  readonly sounding: boolean;
  /** It speaks, and has not made a sound for a while: more is to come. */
  readonly silent: boolean;
  readonly transport: TransportKind | null;
  readonly loading: Loading | null;
  readonly retry: Retry | null;
  readonly streaming: boolean;
  readonly muted: boolean;
  readonly tools: readonly RunningTool[];
  readonly lines: readonly Line[];
  readonly work: Work;
  readonly history: History;
  /** The session that is on; where it ended by itself, the next start goes on with it. */
  readonly session: string | null;
  readonly ended: string | null;
  /** Its user went on with it in another place. */
  readonly elsewhere: boolean;
  /** Whose lines are shown, once the server has one for them. */
  readonly conversation: string | null;
  readonly notice: string | null;
  readonly problem: string | null;
}

/** Nobody knows yet whether the server is ready. */
export const INITIAL: State = {
  stage: "loading",
  voice: "disconnected",
  sounding: false,
  silent: false,
  transport: null,
  loading: null,
  retry: null,
  streaming: true,
  muted: false,
  tools: [],
  lines: [],
  work: NO_WORK,
  history: NO_HISTORY,
  session: null,
  ended: null,
  elsewhere: false,
  conversation: null,
  notice: null,
  problem: null,
};

export type ServerFact = {
  [Name in EventName]: {
    readonly type: "event";
    readonly name: Name;
    readonly data: VoiceEvents[Name];
  };
}[EventName];

export type Fact =
  | ServerFact
  | { readonly type: "server.waiting"; readonly loading: Loading }
  | { readonly type: "server.asked" }
  | { readonly type: "server.ready" }
  | {
      readonly type: "microphone.asked";
      /** The conversation that goes on, where it is not what is looked at or what ended. */
      readonly conversation?: string | null;
    }
  | { readonly type: "microphone.refused"; readonly why: string }
  | {
      readonly type: "session.opened";
      readonly id: string;
      /** Left out where it goes on with the one that it had. */
      readonly conversation?: string;
    }
  | { readonly type: "muted"; readonly on: boolean }
  | { readonly type: "writing" }
  | { readonly type: "conversation.begun"; readonly id: string }
  | { readonly type: "written"; readonly id: string; readonly text: string }
  | { readonly type: "written.stored"; readonly id: string; readonly itemId: string }
  | { readonly type: "written.refused"; readonly id: string; readonly why: string }
  | { readonly type: "forgotten" }
  | { readonly type: "call.placing"; readonly transport: TransportKind | null }
  | { readonly type: "call.up"; readonly transport: TransportKind }
  | { readonly type: "call.lost"; readonly retry?: Retry }
  | { readonly type: "sound"; readonly on: boolean }
  | { readonly type: "silence"; readonly on: boolean }
  | { readonly type: "stream.up" }
  | { readonly type: "stream.down" }
  | {
      readonly type: "conversation.read";
      readonly id: string;
      readonly lines: readonly Line[];
    }
  | { readonly type: "voice.read"; readonly voice: string }
  | { readonly type: "transcript.read"; readonly entries: readonly TranscriptEntry[] }
  | { readonly type: "work"; readonly news: WorkNews }
  | { readonly type: "history"; readonly news: HistoryNews }
  | { readonly type: "stopped" }
  | { readonly type: "locked"; readonly why: string | null }
  /** `gone`: there is nothing to go on with. */
  | { readonly type: "failed"; readonly why: string; readonly gone?: true };

export type Tell = (fact: Fact) => void;
