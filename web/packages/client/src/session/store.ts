/** The state and those who want to know when it changes are zustand's; here is what it leaves out. */

import { createStore, type StoreApi } from "zustand/vanilla";

/** What everybody may read and watch. */
export type Readable<Value> = Pick<StoreApi<Value>, "getState" | "subscribe">;
export type Store<Value> = StoreApi<Value>;

export function storeOf<Value>(initial: Value): Store<Value> {
  return createStore<Value>(() => initial);
}

/** The value, once it is as wanted. */
export function until<Value>(
  store: Readable<Value>,
  wanted: (value: Value) => boolean,
  signal: AbortSignal,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const look = () => {
      if (!wanted(store.getState())) return;
      leave();
      resolve(store.getState());
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
