/** `GET /events` of all the user's sessions, for work that goes on without a call.
 *
 * By fetch and not by EventSource, which cannot send the server's token and gives up on the
 * first refusal. It has no place to keep either: whoever listens reads the list when it is up. */

import type { ServerFact } from "../session/state.js";
import { type Api, ApiError } from "./api.js";
import { EVENT_NAMES, type EventName } from "./types.js";

const WANTED = "task.*,approval.*,intent.*,tool.completed,tool.error";
const OPENING_MS = 20_000;
const SILENCE_MS = 75_000; // there is a heartbeat every 30 seconds
const LONGEST = 4 * 2 ** 20; // characters of one event

export interface InboxListener {
  up(): void;
  event(fact: ServerFact): void;
}

/** Until it breaks or ends; rejects where the server refuses. */
export async function openInbox(
  api: Api,
  listener: InboxListener,
  signal: AbortSignal,
): Promise<void> {
  const patience = new AbortController();
  const giveUp = () => patience.abort(new ApiError(0, "silent", "The server does not answer."));
  let timer = setTimeout(giveUp, OPENING_MS);
  try {
    const response = await api.events(WANTED, signal, patience.signal);
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    if (!reader) return;
    listener.up();
    const frames = new Frames();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(giveUp, SILENCE_MS);
      for (const fact of frames.push(value)) listener.event(fact);
    }
  } finally {
    clearTimeout(timer);
    patience.abort();
  }
}

/** Text in pieces of any size, events out. Only what we subscribe to, with one line of data. */
export class Frames {
  #rest = "";

  push(text: string): ServerFact[] {
    const parts = (this.#rest + text).replaceAll("\r\n", "\n").split("\n\n");
    this.#rest = parts.pop() ?? "";
    if (this.#rest.length > LONGEST) throw new Error("An event was too long.");
    return parts.flatMap(fact);
  }
}

function fact(frame: string): ServerFact[] {
  const field = (name: string) =>
    frame.split("\n").find((line) => line.startsWith(`${name}:`))?.slice(name.length + 1).trim();
  const name = field("event") as EventName | undefined;
  const data = field("data");
  if (!name || !data || !EVENT_NAMES.includes(name)) return [];
  return [{ type: "event", name, data: JSON.parse(data) as unknown } as ServerFact];
}
