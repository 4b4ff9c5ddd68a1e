/** Keeps one session's call up: places it, places the next beside it when the session wants to
 * move, brings it back after a loss. Knows nothing of the page, and of transports only that they connect. */

import type { Microphone } from "../audio/microphone.js";
import type { Choice } from "../transport/choice.js";
import { type Call, NoWay, type Transport } from "../transport/transport.js";
import type { Said } from "../transport/shown.js";
import { ApiError } from "../wire/api.js";
import { aborted, orAborted } from "./aborting.js";
import { faultWords } from "./faults.js";
import type { Pause } from "./readiness.js";
import type { Fact, TransportKind } from "./state.js";
import type { Move } from "./visit.js";

const FIRST_TRIES = 2;
/** After a loss: at once, then two seconds apart, then ever more slowly. Timers stand still while a
 * machine sleeps, so these are ten minutes of being awake. */
const QUICK_TRIES = 3;
const AT_ONCE_MS = 500;
const QUICK_MS = 2000;
const TRIES = 45;
const STEADY_MS = 10_000; // a call that lasted so long was no failure
const LAST_WORD_MS = 200; // behind the call, if the server ended it
const LONGEST_PAUSE_MS = 15_000;
const TRIES_BESIDE = 3;
const PAUSE_BESIDE_MS = 2000;

export interface LinePorts {
  readonly transports: Readonly<Record<TransportKind, Transport>>;
  readonly choice: Choice;
  readonly microphone: Microphone;
  readonly tell: (fact: Fact) => void;
  readonly pause: Pause;
  readonly now: () => number;
  /** Which call is the one that is heard; none while there is none. */
  readonly onCall: (call: Call | null) => void;
  /** What the call's own channel shows of the talk. */
  readonly shown: (said: Said) => void;
  /** Another key for the same session: each opens one call. `afresh`: for a new session that has
   * the context of the old one, where calls of that do not come about any more. */
  readonly newKey: (afresh: boolean) => Promise<string>;
  /** Resolves when the session wants another call, with why; "lost" where it has none any more. */
  readonly moveWanted: () => Promise<Move>;
  /** Resolves when the session went over to the call that was placed beside. */
  readonly moved: () => Promise<void>;
}

/** Runs until the signal; throws when there is no way any more. */
export async function keepCalling(
  ports: LinePorts,
  firstKey: string,
  signal: AbortSignal,
): Promise<never> {
  let key: string | null = firstKey;
  let failures = 0;
  let ways = 0; // calls that did not come about though the server answered
  let everUp = false;
  for (;;) {
    let upAt: number | null = null;
    try {
      let call: Call = await placed(ports, key, ways > QUICK_TRIES, signal);
      everUp = true;
      upAt = ports.now();
      for (;;) call = await held(ports, call, signal);
    } catch (fault) {
      signal.throwIfAborted();
      if (fault instanceof ApiError && !fault.passing) throw fault;
      if (upAt !== null && ports.now() - upAt >= STEADY_MS) failures = ways = 0;
      failures += 1;
      ways = fault instanceof ApiError ? ways : ways > QUICK_TRIES ? 0 : ways + 1;
      if (failures >= (everUp ? TRIES : FIRST_TRIES)) throw fault;
      const wait = everUp ? patience(failures, fault) : backoff(failures, fault);
      if (everUp) {
        const retry = { reason: faultWords(fault), attempt: failures, at: Date.now() + wait };
        ports.tell({ type: "call.lost", retry });
      }
      await ports.pause(wait, signal);
      key = null;
    }
  }
}

/** Before the next try of a call that was up. */
export function patience(failures: number, fault: unknown): number {
  const asked = fault instanceof ApiError ? (fault.retryAfterMs ?? 0) : 0;
  const slower = Math.max(0, failures - QUICK_TRIES);
  const usual = failures === 1 ? AT_ONCE_MS : Math.min(QUICK_MS * 2 ** slower, LONGEST_PAUSE_MS);
  return Math.max(asked, usual);
}

export function backoff(failures: number, fault: unknown): number {
  const asked = fault instanceof ApiError ? (fault.retryAfterMs ?? 0) : 0;
  return Math.max(asked, Math.min(500 * 2 ** (failures - 1), LONGEST_PAUSE_MS));
}

class CallLost extends Error {}

/** While the call is up; the one that took its place, or `CallLost`. */
async function held(ports: LinePorts, call: Call, signal: AbortSignal): Promise<Call> {
  let over = false;
  ports.onCall(call);
  // Where the server ends the session the call goes first, and why comes behind it: no loss.
  const lastWord = () => (over ? null : ports.pause(LAST_WORD_MS, signal));
  try {
    for (;;) {
      const gone = call.closed.then(lastWord).then(() => "lost" as const);
      const why = await Promise.race([gone, ports.moveWanted(), aborted(signal)]);
      if (why === "lost") throw new CallLost("The connection was lost.");
      const next = await takenOver(ports, call, why, signal);
      if (next) return next;
    }
  } finally {
    over = true;
    ports.onCall(null);
    call.close(); // the session is on the next one, so nobody hears a gap
  }
}

/** The call that the session went over to: both are up until the server has moved. None, where
 * nothing came of it and the old one goes on. */
async function takenOver(
  ports: LinePorts,
  old: Call,
  why: Move,
  signal: AbortSignal,
): Promise<Call | null> {
  const moved = ports.moved();
  moved.catch(() => undefined);
  const next = await beside(ports, old, why, signal);
  if (next === null) return null;
  try {
    const over = [moved, old.closed].map((each) => each.then(() => true));
    const failed = next.closed.then(() => false);
    if (await Promise.race([...over, failed, aborted(signal)])) return next;
  } catch (fault) {
    next.close();
    throw fault;
  }
  return null;
}

/** Before a cap it is tried again; another provider that does not want us is not asked twice. */
async function beside(
  ports: LinePorts,
  old: Call,
  why: Move,
  signal: AbortSignal,
): Promise<Call | null> {
  let up = true;
  void old.closed.then(() => (up = false));
  for (let tries = why === "cap" ? TRIES_BESIDE : 1; tries > 0 && up; tries -= 1) {
    try {
      return await placed(ports, null, false, signal);
    } catch {
      signal.throwIfAborted();
      if (tries > 1) await ports.pause(PAUSE_BESIDE_MS, signal);
    }
  }
  return null;
}

/** A call by the first transport that finds a way. */
async function placed(
  ports: LinePorts,
  given: string | null,
  afresh: boolean,
  signal: AbortSignal,
): Promise<Call> {
  let key = given;
  const reasons: string[] = [];
  let anew = afresh;
  for (const kind of ports.choice.order()) {
    ports.tell({ type: "call.placing", transport: kind });
    try {
      key ??= await ports.newKey(anew);
      anew = false;
      signal.throwIfAborted();
      const sounding = (on: boolean) => ports.tell({ type: "sound", on });
      const { microphone, shown } = ports;
      const connecting = ports.transports[kind].connect(key, microphone, signal, sounding, shown);
      const call = await orAborted(connecting, signal, (late) => late.close());
      ports.tell({ type: "call.up", transport: kind });
      return call;
    } catch (fault) {
      if (!(fault instanceof NoWay)) throw fault;
      ports.choice.noWay(kind);
      reasons.push(fault.message);
      if (fault.keySpent) key = null;
    }
  }
  throw new NoWay(reasons.join(" "), true);
}
