/** A word about what was just done, at the edge, gone after a while. `toast("Copied")` from anywhere. */

import * as Radix from "@radix-ui/react-toast";
import { useLingui } from "@lingui/react";
import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";

interface Toast {
  readonly id: number;
  readonly words: string;
  readonly tone: "plain" | "bad";
}

const toasts = createStore<readonly Toast[]>(() => []);
const KEPT = 3;
let last = 0;

export function toast(words: string, tone: Toast["tone"] = "plain"): void {
  last += 1;
  const one = { id: last, words, tone };
  toasts.setState((before) => [...before, one].slice(-KEPT), true);
}

export function Toasts() {
  const { i18n } = useLingui();
  const shown = useStore(toasts);
  const gone = (id: number) => toasts.setState((all) => all.filter((one) => one.id !== id), true);
  return (
    <Radix.Provider label={i18n._("Message")} duration={5000}>
      {shown.map(({ id, words, tone }) => (
        <Radix.Root
          key={id}
          onOpenChange={(on) => !on && gone(id)}
          className="animate-rise rounded-card border border-line bg-card px-4 py-3 text-small shadow-lifted data-[tone=bad]:text-bad"
          data-tone={tone}
        >
          <Radix.Description>{words}</Radix.Description>
        </Radix.Root>
      ))}
      <Radix.Viewport
        label={i18n._("Messages ({hotkey})")}
        className="fixed inset-x-4 bottom-20 z-50 mx-auto grid max-w-sm gap-2 outline-none wide:bottom-6"
      />
    </Radix.Provider>
  );
}
