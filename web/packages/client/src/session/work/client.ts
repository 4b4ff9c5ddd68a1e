/** Keeps the page's knowledge of work current, call or no call, and carries what the user decides
 * to the server. What it learns it tells; what that means is the reducer's. */

import { type Api, ApiError, type Reach } from "../../wire/api.js";
import type { InboxListener } from "../../wire/inbox.js";
import type { ApprovalListResponse } from "../../wire/types.js";
import { faultWords } from "../faults.js";
import { type IntentFact, isIntent } from "../intents.js";
import { backoff } from "../line.js";
import type { Pause } from "../readiness.js";
import type { ServerFact, State, Tell } from "../state.js";
import type { Readable } from "../store.js";
import type { WorkNews } from "./work.js";
import { isWork } from "./events.js";

export interface WorkPorts {
  readonly api: Api;
  readonly openInbox: (listener: InboxListener, signal: AbortSignal) => Promise<void>;
  readonly pause: Pause;
  /** Which ends were read already, also before a reload. */
  readonly memory: { read(): readonly string[]; write(ids: readonly string[]): void };
}

// Their answer moves a task on, and no event tells so.
const MOVERS = ["answer_task", "cancel_task"];

export class WorkClient {
  #life: AbortController | null = null;
  #approvalsHeard = 0;

  constructor(
    private readonly ports: WorkPorts,
    private readonly store: Readable<State>,
    private readonly tell: Tell,
  ) {
    this.#news({ what: "seen", ids: ports.memory.read() });
  }

  open(): void {
    if (this.#life) return;
    const life = new AbortController();
    this.#life = life;
    void this.#keep(life.signal)
      .catch(() => undefined) // closed, or nothing for us: it can be opened again
      .finally(() => {
        if (this.#life === life) this.#life = null;
      });
  }

  close(): void {
    this.#life?.abort();
    this.#life = null;
  }

  cancel(id: string): Promise<void> {
    return this.#act(id, async () => {
      this.#news({ what: "task", task: await this.ports.api.cancelTask(id) });
      this.seen(id); // nobody needs to be told what they did themselves
    });
  }

  answer(id: string, questionId: string, words: string): Promise<void> {
    return this.#act(id, async () => {
      await this.ports.api.answerTask(id, questionId, words);
      this.#news({ what: "answered", id, questionId });
    });
  }

  decide(id: string, granted: boolean, reach: Reach = "once"): Promise<void> {
    return this.#act(id, async () => {
      await this.ports.api.decide(id, granted, reach);
      this.#news({ what: "decided", id });
    });
  }

  /** What was due is read: nobody needs to say it any more. */
  noted(id: string): Promise<void> {
    this.seen(id);
    return this.#act(id, () => this.ports.api.seenReminder(id));
  }

  seen(id: string): void {
    this.#news({ what: "seen", ids: [id] });
    this.ports.memory.write(this.store.getState().work.seen);
  }

  readonly #news = (news: WorkNews) => this.tell({ type: "work", news });

  /** Once at a time; what went wrong is said where it was asked for. */
  async #act(id: string, run: () => Promise<void>): Promise<void> {
    if (this.store.getState().work.acting.includes(id)) return;
    this.#news({ what: "acting", id });
    try {
      await run();
    } catch (fault) {
      this.#news({ what: "refused", id, why: faultWords(fault) });
      // Somebody else was quicker, or it is gone: then the list knows better than we do.
      if (fault instanceof ApiError && !fault.passing) await this.#read().catch(() => undefined);
    }
  }

  async #keep(signal: AbortSignal): Promise<never> {
    for (let failures = 1; ; failures += 1) {
      const attempt = new AbortController();
      const up = () => {
        this.#news({ what: "plans" }); // nobody was listening before
        // After the stream is up, so that nothing falls between the list and the first event.
        const read = this.#readDue(signal).then(() => this.#read(signal));
        void read.then(
          () => (failures = 0),
          (fault: unknown) => attempt.abort(fault),
        );
      };
      let fault: unknown = null;
      try {
        const either = AbortSignal.any([signal, attempt.signal]);
        await this.ports.openInbox({ up, event: (fact) => this.#heard(fact) }, either);
      } catch (broken) {
        signal.throwIfAborted();
        fault = attempt.signal.aborted ? attempt.signal.reason : broken;
        if (fault instanceof ApiError && !fault.passing) throw fault; // no token yet, or no inbox
        if (fault) this.#news({ what: "unread", why: faultWords(fault) });
      }
      await this.ports.pause(backoff(Math.max(1, failures), fault), signal);
    }
  }

  async #read(signal?: AbortSignal): Promise<void> {
    const { api } = this.ports;
    const tasks = await api.tasks(signal);
    let heard: number;
    let approvals: ApprovalListResponse;
    do {
      // A list from before the last event would take away a card that just came.
      heard = this.#approvalsHeard;
      approvals = await api.approvals(signal);
    } while (heard !== this.#approvalsHeard);
    const { skewMs } = api;
    this.#news({ what: "read", tasks: tasks.tasks, approvals: approvals.approvals, skewMs });
  }

  /** Whoever has no list of such things still has tasks. */
  async #readDue(signal: AbortSignal): Promise<void> {
    const found = await this.ports.api.reminders(signal).catch(() => null);
    if (found) this.#news({ what: "due", due: found.reminders });
  }

  #heard(fact: ServerFact): void {
    if (fact.name === "approval.requested") this.#approvalsHeard += 1;
    if (fact.name === "task.due" || isIntent(fact)) this.#news({ what: "plans" });
    if (isWork(fact)) return this.tell(fact);
    if (isIntent(fact)) return this.#settled(fact);
    // The transcript has the calls of its own session; of others, only their end is ours.
    if (fact.name !== "tool.completed" && fact.name !== "tool.error") return;
    this.#news({ what: "call.over", callId: fact.data.call_id });
    if (MOVERS.includes(fact.data.tool_name)) void this.#read().catch(() => undefined);
  }

  /** The backend's word may come when the call is over: only cards that are here hear it. */
  #settled(fact: IntentFact): void {
    const { lines } = this.store.getState();
    if (lines.some(({ id }) => id === fact.data.intent_id)) this.tell(fact);
  }
}
