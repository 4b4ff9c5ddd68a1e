/** A conversation in writing, without a call: follows the session that answers. Such a session
 * ends by itself, and the next message has another. */

import type { SendMessageResponse } from "../wire/types.js";
import type { ServerFact, Tell } from "./state.js";
import type { VisitPorts } from "./visit.js";

type Answering = Pick<SendMessageResponse, "session_id" | "stream_token">;

/** What is news only to whoever is in a call. */
const OF_CALLS: readonly ServerFact["name"][] = [
  "session.ended",
  "session.expired",
  "session.warning",
  "session.moved",
  "call.wanted",
  "call.moved",
];

export class Correspondence {
  #session: string | null = null;
  #stream: { close(): void } | null = null;

  constructor(
    private readonly ports: Pick<VisitPorts, "api" | "openStream">,
    private readonly tell: Tell,
  ) {}

  /** From its beginning, since it may have answered already: what comes twice changes nothing. */
  follow({ session_id: sessionId, stream_token }: Answering): void {
    if (sessionId === this.#session) return;
    this.close();
    this.#session = sessionId;
    this.tell({ type: "session.opened", id: sessionId });
    this.#stream = this.ports.openStream(
      { sessionId, token: stream_token.value, lastEventId: 0 },
      {
        event: (fact) => this.#heard(fact),
        up: () => this.tell({ type: "stream.up" }),
        down: () => this.tell({ type: "stream.down" }),
        gone: () => this.close(),
      },
    );
  }

  close(): void {
    this.#stream?.close();
    this.#stream = null;
    this.#session = null;
  }

  #heard(fact: ServerFact): void {
    if (!OF_CALLS.includes(fact.name)) this.tell(fact);
    if (fact.name === "session.ended") this.close();
  }
}
