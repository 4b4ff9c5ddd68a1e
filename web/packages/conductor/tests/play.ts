/** Plays a scripted exchange (docs/conductor/conformance/exchanges.json) to a client, at the end of
 * its line and in the place of its app. The clock stands until a step moves it. */

import { isDeepStrictEqual } from "node:util";

import { vi } from "vitest";

import { BaseClient, type Options } from "../src/client.js";
import { FileMemory } from "../src/file.js";
import type { Line, Listener } from "../src/line.js";
import type { Seen } from "../src/seen.js";
import { tool, type ClientTool } from "../src/tools.js";
import { newId } from "../src/wire.js";

export const SESSION = "3f0c9f3e-51a6-4f3b-9a1d-6d2b7c8e9f10";
const PATIENCE_MS = 10_000;
vi.setConfig({ testTimeout: 30_000 }); // where a machine is busy

export type Body = Record<string, unknown>;
export interface Exchange {
  name: string;
  app?: AppTold;
  steps: Body[];
}

interface AppTold {
  tools?: string[];
  speaks?: boolean;
  confirms?: boolean;
  stub?: string;
  remembers?: boolean;
  agent?: string;
  clauses?: boolean;
  waits?: number[];
}

interface SentEvent {
  id: string;
  kind: Body;
}

class FakeLine implements Line {
  readonly sent: SentEvent[] = [];
  readonly closed: number[] = [];
  jammed = false;

  constructor(readonly listener: Listener) {}

  send(text: string): void {
    if (this.jammed) throw new Error("jammed");
    this.sent.push(JSON.parse(text) as SentEvent);
  }

  close(code: number): void {
    this.closed.push(code);
    queueMicrotask(() => this.listener.broke(code, ""));
  }
}

interface Pending<Value> {
  promise: Promise<Value>;
  resolve(value: Value): void;
  reject(fault: Error): void;
}

function pending<Value>(): Pending<Value> {
  let resolve!: (value: Value) => void;
  let reject!: (fault: Error) => void;
  const promise = new Promise<Value>((yes, no) => ([resolve, reject] = [yes, no]));
  return { promise, resolve, reject };
}

export class Play {
  readonly #app: AppTold;
  readonly #memory: FileMemory | null;
  #dials: Listener[] = [];
  #sleeps: { seconds: number; over: () => void }[] = [];
  #now = 0;
  #line: FakeLine | null = null;
  #seen: Seen[] = [];
  readonly #runs: Body[] = [];
  readonly #open = new Map<string, Pending<unknown>>();
  readonly #said: string[] = [];
  readonly #hushed: string[] = [];
  readonly #asked: string[] = [];
  readonly #confirmed: string[] = [];
  readonly #withdrawn: string[] = [];
  #spoken = pending<void>();
  #decision = pending<boolean | null>();
  #client: BaseClient | null = null;
  readonly #named = new Map<string, string>();

  constructor(app: AppTold, folder: string) {
    this.#app = app;
    this.#memory = app.remembers ? new FileMemory(`${folder}/calls.jsonl`) : null;
  }

  // --- The app ----------------------------------------------------------------------------

  #begin(): void {
    const { stub, tools = [], speaks, confirms, agent, clauses, waits } = this.#app;
    const options: Options = { sessionId: SESSION, tools: tools.map((name) => this.#tool(name)) };
    if (speaks) options.speak = (text, signal) => this.#speak(text, signal);
    if (confirms) options.confirm = (question, signal) => this.#confirm(question, signal);
    if (stub !== undefined) options.stub = (text) => (this.#asked.push(text), stub);
    if (this.#memory !== null) options.memory = this.#memory;
    if (agent !== undefined) options.agent = agent;
    if (clauses !== undefined) options.clauses = clauses;
    if (waits !== undefined) options.waits = waits;
    const client = new BaseClient("ws://nowhere/conductor", options, {
      dial: (url, _headers, listener) => {
        if (url !== `ws://nowhere/conductor?sessionId=${SESSION}`) throw new Error(url);
        this.#dials.push(listener);
        return () => {};
      },
      wait: (seconds, over) => {
        this.#sleeps.push({ seconds, over });
        return () => {};
      },
      now: () => this.#now,
    });
    this.#client = client;
    const seen = (this.#seen = [] as Seen[]);
    client.start();
    void (async () => {
      while (this.#client === client) for await (const one of client) seen.push(one);
    })();
  }

  #tool(name: string): ClientTool {
    return {
      ...tool({
        name,
        description: "Of a test.",
        inputSchema: { type: "object" },
        run: (given: Body) => {
          this.#runs.push({ [name]: given });
          const result = pending<unknown>();
          this.#open.set(name, result);
          return result.promise;
        },
      }),
    };
  }

  async #speak(text: string, signal: AbortSignal): Promise<void> {
    this.#said.push(text);
    this.#spoken = pending();
    signal.addEventListener("abort", () => {
      this.#hushed.push(text);
      this.#spoken.reject(new Error("stopped"));
    });
    await this.#spoken.promise;
  }

  async #confirm(question: string, signal: AbortSignal): Promise<boolean | null> {
    this.#confirmed.push(question);
    this.#decision = pending();
    signal.addEventListener("abort", () => {
      this.#withdrawn.push(question);
      this.#decision.reject(new Error("withdrawn"));
    });
    return this.#decision.promise;
  }

  // --- The steps --------------------------------------------------------------------------

  async play(steps: readonly Body[]): Promise<void> {
    for (const [at, step] of steps.entries()) {
      try {
        await this.#step(step);
      } catch (fault) {
        const left = JSON.stringify(this.#left());
        throw new Error(`step ${at} ${JSON.stringify(step)}: ${String(fault)}; ${left}`);
      }
    }
    await this.#quiet();
  }

  async #step(step: Body): Promise<void> {
    const [what, told] = Object.entries(step)[0]!;
    switch (what) {
      case "app":
        return this.#act(told);
      case "line":
        return this.#lineStep(told);
      case "server": {
        const event = { id: newId(), timestamp: "2025-01-15T10:30:00.000Z", kind: told };
        return this.#line!.listener.received(this.#withIds(JSON.stringify(event)));
      }
      case "raw":
        return this.#line!.listener.received(told as string);
      case "sends":
        return this.#sends(told as Body, step["id"]);
      case "sees": {
        const got = (await this.#next(this.#seen)) as Body;
        return check(isWanted(got, told as Body), got);
      }
      case "runs":
        return this.#is(this.#runs, told);
      case "speaks":
        return this.#is(this.#said, told);
      case "hushed":
        return this.#is(this.#hushed, told);
      case "asks":
        return this.#is(this.#asked, told);
      case "confirms":
        return this.#is(this.#confirmed, told);
      case "withdrawn":
        return this.#is(this.#withdrawn, told);
      case "after": {
        const { seconds, over } = await this.#next(this.#sleeps);
        check(seconds === told, seconds);
        this.#now += seconds;
        return over();
      }
      case "passes":
        this.#now += told as number;
        return;
      case "hangs_up":
        return check(this.#line!.closed.includes(told as number), this.#line!.closed);
      case "quiet":
        return this.#quiet();
      default:
        throw new Error("there is no such step");
    }
  }

  async #lineStep(told: unknown): Promise<void> {
    if (told === "jam") {
      this.#line!.jammed = true;
    } else if (told === "open") {
      const listener = await this.#next(this.#dials);
      this.#line = new FakeLine(listener);
      listener.opened(this.#line);
    } else if ("refuse" in (told as Body)) {
      const { refuse } = told as { refuse: number | null };
      (await this.#next(this.#dials)).refused("Refused.", refuse);
    } else {
      const { break: code, reason = "" } = told as { break: number; reason?: string };
      this.#line!.listener.broke(code, reason);
    }
  }

  async #sends(wanted: Body, name: unknown): Promise<void> {
    await until(() => (this.#line?.sent.length ?? 0) > 0);
    const { id, kind } = this.#line!.sent.shift()!;
    const [wantedName, wantedBody] = Object.entries(wanted)[0]!;
    check(isDeepStrictEqual(Object.keys(kind), [wantedName]), kind);
    if (wantedBody !== "any") {
      const session = wantedName === "sessionStart" ? { sessionId: SESSION } : {};
      check(isDeepStrictEqual(kind[wantedName], { ...session, ...(wantedBody as Body) }), kind);
    }
    if (typeof name === "string") {
      check((this.#named.get(name) ?? id) === id, id);
      this.#named.set(name, id);
    }
  }

  async #act(told: unknown): Promise<void> {
    if (told === "connect" || told === "restart") return this.#begin();
    const client = this.#client!;
    if (told === "close") return client.close();
    if (told === "retry") return client.retry();
    const [what, value] = Object.entries(told as Body)[0]!;
    switch (what) {
      case "say":
        return client.say(value as string);
      case "sayingSoFar":
        client.saySoFar(value as string);
        return settled();
      case "interrupt":
        return client.interrupt(value as { positionMs?: number });
      case "finish":
        return this.#open.get(value as string)!.resolve((told as Body)["with"]);
      case "fail":
        return this.#open.get(value as string)!.reject(new Error(String((told as Body)["with"])));
      case "spoken":
        return this.#spoken.resolve();
      case "mute":
        return this.#spoken.reject(new Error(value as string));
      case "decide":
        return this.#decision.resolve(value as boolean | null);
      default:
        throw new Error("an app does no such thing");
    }
  }

  #withIds(text: string): string {
    let whole = text;
    for (const [name, id] of this.#named) whole = whole.replaceAll(`"$${name}"`, `"${id}"`);
    return whole;
  }

  async #is(queue: unknown[], wanted: unknown): Promise<void> {
    const got = await this.#next(queue);
    check(isDeepStrictEqual(got, wanted), got);
  }

  async #next<Value>(queue: Value[]): Promise<Value> {
    await until(() => queue.length > 0);
    return queue.shift()!;
  }

  async #quiet(): Promise<void> {
    await settled();
    const left = this.#left();
    check(
      Object.values(left).every((each) => each === 0 || (Array.isArray(each) && each.length === 0)),
      left,
    );
  }

  #left(): Body {
    return {
      sent: this.#line?.sent ?? [],
      seen: this.#seen,
      runs: this.#runs,
      said: this.#said,
      hushed: this.#hushed,
      asked: this.#asked,
      withdrawn: this.#withdrawn,
      dials: this.#dials.length,
    };
  }
}

/** What is told besides is in words that may differ. */
function isWanted(got: Body, wanted: Body): boolean {
  return (
    Object.keys(got)[0] === Object.keys(wanted)[0] &&
    Object.entries(wanted).every(
      ([name, value]) =>
        value === "any" || (Object.hasOwn(got, name) && isDeepStrictEqual(got[name], value)),
    )
  );
}

function check(right: boolean, got: unknown): void {
  if (!right) throw new Error(`got ${JSON.stringify(got)}`);
}

export async function until(there: () => boolean): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (!there()) {
    if (performance.now() > end) throw new Error("it did not come");
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/** Long enough for all that may come to have come. */
async function settled(): Promise<void> {
  for (let at = 0; at < 20; at += 1) await new Promise((resolve) => setTimeout(resolve, 1));
}
