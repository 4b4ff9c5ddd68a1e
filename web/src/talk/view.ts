/** Whether the voice has the whole window: who talks needs no columns beside it. */

import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";

const view = createStore<boolean>(() => false);

export function useVoiceView(): boolean {
  return useStore(view);
}

export function showVoiceView(on: boolean): void {
  view.setState(on, true);
}
