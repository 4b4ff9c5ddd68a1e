/** What an app is told: each change of the connection, the talk, the tools and what is shown. */

/** `waiting` for the next try; `local`: no server, the app's own stub answers. */
export type ConnectionState = "connecting" | "connected" | "waiting" | "local" | "closed";
export type PhaseState = "listening" | "thinking" | "speaking" | "idle";
export const PHASES: readonly string[] = ["listening", "thinking", "speaking", "idle"];

export type Seen =
  /** `attempt` counts tries to come back, from 1; 0 is the first connection. `seconds`: how long it
   * waits. `code` and `reason`: why it is closed, a close code or a status of HTTP. */
  | {
      connection: ConnectionState;
      attempt: number;
      seconds: number;
      code: number | null;
      reason: string;
    }
  /** What the assistant does. */
  | { phase: PhaseState }
  /** What the assistant says so far, all of it; with `final`, what it says. */
  | { speech: string; final: boolean }
  /** This begins to be spoken, or is to be shown where the app has no voice: all of what the assistant
   * says, or a part of it. It comes even where the line broke and `speech` was lost. */
  | { speaking: string; text: string }
  /** What is shown beside the talk, after a change. */
  | { document: unknown }
  /** A tool of the app begins. `arguments` is JSON. */
  | { called: string; name: string; arguments: string }
  /** It has ended: `result` is JSON, or `error` says why there is none. */
  | { returned: string; name: string; result: string | null; error: string | null }
  /** The server asked for a call once more. It was not run again: it has the result it had. */
  | { repeated: string }
  /** The user spoke while the assistant was speaking. */
  | { interrupted: string | null; positionMs: number | null; positionCharacters: number | null }
  /** `fault` is one of the protocol's fifteen codes, or a newer one of a server's. */
  | { fault: string; message: string; source: "server" | "client" }
  /** So many were not read in time, and are gone. How things stand, the client still knows. */
  | { missed: number };
