/** A value, and those who want to know when it changes. The whole of our state library. */

export interface Store<Value> {
  get(): Value;
  set(value: Value): void;
  subscribe(listener: () => void): () => void;
}

export function createStore<Value>(initial: Value): Store<Value> {
  let value = initial;
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const listener of [...listeners]) listener();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** The value, once it is as wanted. */
export function until<Value>(
  store: Store<Value>,
  wanted: (value: Value) => boolean,
  signal: AbortSignal,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const look = () => {
      if (!wanted(store.get())) return;
      leave();
      resolve(store.get());
    };
    const stop = () => {
      leave();
      reject(signal.reason);
    };
    const unsubscribe = store.subscribe(look);
    const leave = () => {
      unsubscribe();
      signal.removeEventListener("abort", stop);
    };
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop);
    look();
  });
}
