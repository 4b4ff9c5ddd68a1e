/** Whether there is room for three columns. */

import { useSyncExternalStore } from "react";

const WIDE = "(min-width: 64rem)";

export function useWide(): boolean {
  return useMedia(WIDE);
}

export function useMedia(query: string): boolean {
  const watch = (changed: () => void) => {
    const list = matchMedia(query);
    list.addEventListener("change", changed);
    return () => list.removeEventListener("change", changed);
  };
  return useSyncExternalStore(
    watch,
    () => matchMedia(query).matches,
    () => false,
  );
}
