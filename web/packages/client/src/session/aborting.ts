/** Not waiting for what nobody wants any more, and not leaving it open either. */

/** What comes too late is handed to `late`, so that nothing stays open. */
export function orAborted<Value>(
  promise: Promise<Value>,
  signal: AbortSignal,
  late: (value: Value) => void,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    const leave = () => signal.removeEventListener("abort", stop);
    promise.then((value) => (signal.aborted ? late(value) : resolve(value)), reject).finally(leave);
  });
}

/** Rejects with the signal's reason; never resolves. */
export function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

/** Somebody wanted it so; nothing went wrong. */
export function hungUp({ aborted, reason }: AbortSignal): boolean {
  return aborted && reason instanceof DOMException && reason.name === "AbortError";
}
