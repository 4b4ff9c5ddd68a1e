/** What a way for the sound is: a call that is up until it is closed or lost. */

import type { Microphone } from "../audio/microphone.js";
import type { TransportKind } from "../session/state.js";
import type { Said } from "./shown.js";

export interface Call {
  readonly kind: TransportKind;
  /** Settles once, when the call is lost or was closed; never rejects. */
  readonly closed: Promise<void>;
  /** How loud the assistant is right now: root mean square, 0 to 1. */
  level(): number;
  /** The answer stops, as if somebody had spoken over it. */
  interrupt(): void;
  close(): void;
}

export interface Transport {
  /** Up when it resolves. Throws `NoWay` where another transport may do better. One that plays
   * the sound itself says when it sounds; of others only the server knows. */
  connect(
    key: string,
    microphone: Microphone,
    signal: AbortSignal,
    sounding: (on: boolean) => void,
    /** What its own channel shows of the talk, where it has one. */
    shown: (said: Said) => void,
  ): Promise<Call>;
}

/** This transport cannot reach the other side from here. */
export class NoWay extends Error {
  constructor(
    message: string,
    /** Was the key used up? If not, it opens another transport. */
    readonly keySpent: boolean,
  ) {
    super(message);
    this.name = "NoWay";
  }
}

/** The promise, or the signal's reason, or `NoWay` if neither comes in time. */
export function within<Value>(
  promise: Promise<Value>,
  limit: { ms: number; message: string; signal: AbortSignal },
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(limit.signal.reason);
    const timer = setTimeout(() => reject(new NoWay(limit.message, true)), limit.ms);
    const leave = () => {
      clearTimeout(timer);
      limit.signal.removeEventListener("abort", stop);
    };
    if (limit.signal.aborted) stop();
    else limit.signal.addEventListener("abort", stop);
    promise.then(resolve, reject).finally(leave);
  });
}

/** A promise and its resolver, for what announces itself by callback. */
export function deferred<Value = void>(): {
  promise: Promise<Value>;
  resolve: (value: Value) => void;
  reject: (reason: unknown) => void;
} {
  let resolve!: (value: Value) => void;
  let reject!: (reason: unknown) => void;
  const promise = new Promise<Value>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
