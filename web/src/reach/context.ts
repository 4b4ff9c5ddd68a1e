/** Where components find the page's `Reach`; null where they are drawn without a page. */

import type { Readable } from "@vivavoce/client";
import { createContext, useContext, useSyncExternalStore } from "react";
import type { Reach } from "./reach";

export type { Reach };
export const ReachContext = createContext<Reach | null>(null);

export function useReach(): Reach | null {
  return useContext(ReachContext);
}

export function useNow<Value>({ subscribe, getState }: Readable<Value>): Value {
  return useSyncExternalStore(subscribe, getState, getState);
}
